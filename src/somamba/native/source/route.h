// The router for inference: norm, depthwise filter, GELU and the projection of both pools, image row by image row; then
// the carrier's low pass, and what it rejects added to the evidence. Nothing in between is stored at full size.
#pragma once
#include "lines.h"
#include "norm.h"
#include "product.h"

namespace SOMAMBA_ISA {

// One worker's memory: four normed rows with a zero pixel at each end (the fourth all zero), a chunk of pixels, and one
// pool of it in bfloat16.
static int64_t route_scratch(const Route& a) {
    return Ring::floats(a.width, a.channels) + CHUNK * a.channels + CHUNK * round_up(a.channels / 2, 2) / 2 + LANES;
}


// Both pools, projected: the candidate of the carrier, and what is not resident from the start.
static void route_project(const Route& a, int index, int count) {
    const int64_t begin = a.height * index / count, end = a.height * (index + 1) / count, C = a.channels, pool = C / 2;
    float* memory = a.scratch + index * route_scratch(a);
    Ring ring(memory, a.width, a.height, C);
    float* chunk = memory + Ring::floats(a.width, C);
    bf16* halved = a.half ? (bf16*)(chunk + CHUNK * C) : nullptr;
    for (int64_t y = begin; y < end; ++y) {
        const Lines lines = ring.around(y, y == begin, [&](int64_t row, float* to) {
            float* kept = a.kept && row >= begin && row < end ? a.kept + row * a.width * 2 : nullptr;
            layer_norm(a.width, a.features + row * a.width * C, C, {a.norm_weight, a.norm_bias, a.norm_eps}, to, kept);
        });
        for (int64_t x = 0; x < a.width; x += CHUNK) {
            const int64_t some = least(CHUNK, a.width - x), at = (y * a.width + x) * a.d;
            filter_lines(lines, a.taps, a.taps_bias, x, some,
                         [&](int64_t p, int64_t c, int lanes, V filtered) __attribute__((always_inline)) {
                             store(chunk + p * C + c, gelu(filtered), lanes);
                         });
            product(some, {chunk, C, pool}, a.carrier_weight, {nullptr, a.carrier_bias, a.carrier + at, a.d, a.d}, halved);
            product(some, {chunk + pool, C, pool}, a.evidence_weight, {nullptr, a.evidence_bias, a.evidence + at, a.d, a.d}, halved);
        }
    }
}

INLINE int64_t reflect(int64_t i, int64_t size) { return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i; }

// Rows of the halved candidate: smoothed down, then across.
static void route_halve(const Route& a, int index, int count) {
    const int64_t begin = a.low_height * index / count, end = a.low_height * (index + 1) / count, d = a.d, wide = a.width * d;
    float* smoothed = a.scratch + index * route_scratch(a);
    for (int64_t y = begin; y < end; ++y) {
        for (int64_t i = 0; i < wide; i += LANES) {
            const int lanes = (int)least(LANES, wide - i);
            V total = {};
            for (int64_t k = 0; k < a.smoothing; ++k)
                total = fma(total, load(a.carrier + reflect(2 * y + k - 2, a.height) * wide + i, lanes), a.smooth[k]);
            store(smoothed + i, total, lanes);
        }
        for (int64_t x = 0; x < a.low_width; ++x)
            for (int64_t c = 0; c < d; c += LANES) {
                const int lanes = (int)least(LANES, d - c);
                V total = {};
                for (int64_t k = 0; k < a.smoothing; ++k)
                    total = fma(total, load(smoothed + reflect(2 * x + k - 2, a.width) * d + c, lanes), a.smooth[k]);
                store(a.low + (y * a.low_width + x) * d + c, total, lanes);
            }
    }
}

// Where a sample of the restored axis lies between two of the halved one.
struct Between {
    int64_t low, high;
    float part;  // of the higher one
    Between(int64_t i, int64_t from, int64_t to) {
        const float at = ((float)i + 0.5f) * ((float)from / (float)to) - 0.5f, inside = at > 0 ? at : 0;
        low = (int64_t)inside;
        high = low + 1 < from ? low + 1 : low;
        part = inside - (float)low;
    }
};

// L restored in the place of its candidate; G = U_nr + (U_car - L) in the place of U_nr.
static void route_assign(const Route& a, int index, int count) {
    const int64_t begin = a.height * index / count, end = a.height * (index + 1) / count, d = a.d, wide = a.low_width * d;
    float* blended = a.scratch + index * route_scratch(a);
    for (int64_t y = begin; y < end; ++y) {
        const Between row(y, a.low_height, a.height);
        for (int64_t i = 0; i < wide; i += LANES) {
            const int lanes = (int)least(LANES, wide - i);
            const V low = load(a.low + row.low * wide + i, lanes), high = load(a.low + row.high * wide + i, lanes);
            store(blended + i, fma(low * (1.0f - row.part), high, row.part), lanes);
        }
        for (int64_t x = 0; x < a.width; ++x) {
            const Between column(x, a.low_width, a.width);
            float *carrier = a.carrier + (y * a.width + x) * d, *evidence = a.evidence + (y * a.width + x) * d;
            for (int64_t c = 0; c < d; c += LANES) {
                const int lanes = (int)least(LANES, d - c);
                const V low = load(blended + column.low * d + c, lanes), high = load(blended + column.high * d + c, lanes);
                const V resident = fma(low * (1.0f - column.part), high, column.part);
                store(evidence + c, load(evidence + c, lanes) + load(carrier + c, lanes) - resident, lanes);
                store(carrier + c, resident, lanes);
            }
        }
    }
}

}  // namespace SOMAMBA_ISA
