// The end of the scan's backward pass: what workers summed apart is added up and handed on to all arguments.
#pragma once
#include "scan_backward.h"

namespace SOMAMBA_ISA {

// First finishing pass, over tokens: add the workers' rows, and write what is then complete.
static void scan_backward_rows(const ScanCall& a, const ScanGradient& d, int workers, int index, int count) {
    const Shape shape(a);
    const Partial partial(a, shape, d.partial, workers);
    const int64_t all = a.batch * a.tokens, per_batch = a.heads * shape.tiles, size = partial.interface;
    for (int64_t at = all * index / count; at < all * (index + 1) / count; ++at) {
        const int64_t b = at / a.tokens, token = at % a.tokens;
        float* total = nullptr;
        for (int w = 0; w < workers; ++w) {
            const Share share(a, shape, w, workers);
            if (share.begin >= share.end || share.begin >= (b + 1) * per_batch || share.end <= b * per_batch) continue;
            float* row = partial.row(b + w, token);
            if (!total) { total = row; continue; }
            for (int64_t i = 0; i < partial.row_size(); ++i) total[i] += row[i];
        }
        memcpy(d.C + at * size, total, size * sizeof(float));
        memcpy(d.B + at * size, total + size, size * sizeof(float));
    }
}

// Second finishing pass, over heads: the chain rule from weights, decay and rotation to dt, adt, trap and angles.
static void scan_backward_heads(const ScanCall& a, const ScanGradient& d, int workers, int index, int count) {
    const Shape shape(a);
    const Partial partial(a, shape, d.partial, workers);
    const int64_t all = a.batch * a.heads, per_batch = a.heads * shape.tiles;
    const float pi = 3.14159265f;
    Arena arena{a.scratch + index * backward_scratch(shape, a.heads)};
    Block block(arena, shape);
    double* unused = (double*)arena.take(2 * shape.angles);
    double* turned = (double*)arena.take(2 * shape.angles);
    for (int64_t at = all * index / count; at < all * (index + 1) / count; ++at) {
        const int64_t b = at / a.heads, h = at % a.heads;
        int first = 0;
        while (Share(a, shape, first, workers).end <= b * per_batch) ++first;
        memset(turned, 0, shape.angles * sizeof(double));
        for (int64_t number = shape.blocks - 1; number >= 0; --number) {
            const int64_t start = number * BLOCK;
            memset(unused, 0, shape.angles * sizeof(double));
            block.scalars(a, shape, b, h, start, unused);
            for (int64_t t = block.length - 1; t >= 0; --t) {
                const int64_t token = start + t, to = (b * a.tokens + token) * a.heads + h;
                const float* row = partial.row(b + first, token) + 2 * partial.interface;
                const float dgamma = row[3 * h], dalpha = row[3 * h + 2], dt = block.dt[t], mixing = block.mixing[t];
                const float ds = token ? row[3 * h + 1 - partial.row_size()] : 0.0f;  // s of the token before
                float ddt = dgamma * mixing + ds * (1.0f - mixing);
                for (int64_t i = 0; i < shape.angles; ++i) {
                    const float speed = block.tanhs[t * shape.angles + i];
                    turned[i] += row[partial.scalars + h * shape.angles + i];
                    d.angle[to * shape.angles + i] = (float)turned[i] * pi * dt * (1.0f - speed * speed);
                    ddt += (float)turned[i] * pi * speed;
                }
                d.dt[to] = ddt;
                d.adt[to] = dalpha * block.alpha[t];
                d.trap[to] = dt * (dgamma - ds) * mixing * (1.0f - mixing);
            }
        }
    }
}

// Last, by one worker: the parameters.
static void scan_backward_parameters(const ScanCall& a, const ScanGradient& d, int workers) {
    const Shape shape(a);
    const Partial partial(a, shape, d.partial, workers);
    struct { float* to; int64_t size; } parts[] = {{d.C_bias, partial.bias}, {d.B_bias, partial.bias},
        {d.mimo_x, partial.lifts}, {d.mimo_z, partial.lifts}, {d.mimo_o, partial.lifts}, {d.D, a.heads}};
    int64_t offset = 0;
    for (auto& part : parts) {
        for (int64_t i = 0; i < part.size; ++i) {
            double total = 0;
            for (int w = 0; w < workers; ++w) total += (double)partial.of_worker(w)[offset + i];
            part.to[i] = (float)total;
        }
        offset += part.size;
    }
}

static ScanSizes scan_sizes(const ScanCall& a, int count) {
    const Shape shape(a);
    const int64_t starts = a.batch * a.heads * shape.blocks;
    return {starts * shape.tiles * shape.n * LANES, starts * shape.angles, forward_scratch(shape) * count,
            backward_scratch(shape, a.heads) * count, Partial(a, shape, nullptr, count).floats(count)};
}

}  // namespace SOMAMBA_ISA
