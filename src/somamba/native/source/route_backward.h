// The router, backward: through the carrier's low pass, then image row by image row through the projections, the filter
// and the norm. Normed and filtered features are made again.
#pragma once
#include "route.h"
#include "scan_block.h"

namespace SOMAMBA_ISA {

// Gradients of the weights, as one worker adds them up; every part starts at a multiple of 16.
struct RouteSums {
    float *norm_weight, *norm_bias, *taps;    // channels; channels; 10 channels
    float *carrier, *carrier_bias, *evidence, *evidence_bias;  // d channels/2; d
    int64_t floats;
    RouteSums(const Route& a, float* memory) {
        Arena arena{memory};
        norm_weight = arena.take(a.channels);
        norm_bias = arena.take(a.channels);
        taps = arena.take(10 * a.channels);
        carrier = arena.take(a.d * (a.channels / 2));
        carrier_bias = arena.take(a.d);
        evidence = arena.take(a.d * (a.channels / 2));
        evidence_bias = arena.take(a.d);
        floats = arena.at - memory;
    }
};

// One worker's memory.
struct RouteMemory {
    float *ring, *taps;                       // 4 padded rows; 9 channels
    float *values, *slopes;                   // CHUNK channels
    float *blended, *candidate;               // width d, or low_width d; width d
    float* back;                              // width channels
    int64_t floats;
    RouteMemory(const Route& a, float* memory) {
        Arena arena{memory};
        ring = arena.take(Ring::floats(a.width, a.channels));
        taps = arena.take(9 * a.channels);
        values = arena.take(CHUNK * a.channels);
        slopes = arena.take(CHUNK * a.channels);
        blended = arena.take((a.width > a.low_width ? a.width : a.low_width) * a.d);
        candidate = arena.take(a.width * a.d);
        back = arena.take(a.width * a.channels);
        floats = arena.at - memory;
    }
};

static RouteSizes route_sizes(const Route& a) {
    return {route_scratch(a), RouteMemory(a, nullptr).floats, RouteSums(a, nullptr).floats};
}

// to[i] += from[i] * factor, or to[i] = ...
INLINE void add_row(int64_t size, const float* from, float factor, bool first, float* to) {
    for (int64_t i = 0; i < size; i += LANES) {
        const int lanes = (int)least(LANES, size - i);
        const V part = load(from + i, lanes) * factor;
        store(to + i, first ? part : load(to + i, lanes) + part, lanes);
    }
}

// The transpose of the bilinear interpolation: rows of the halved grid gather from the restored one.
static void route_backward_restore(const Route& a, const RouteGradient& d, int index, int count) {
    const int64_t begin = a.low_height * index / count, end = a.low_height * (index + 1) / count, C = a.d, wide = a.width * C;
    const RouteMemory m(a, a.scratch + index * route_sizes(a).backward);
    for (int64_t low = begin; low < end; ++low) {
        bool first = true;
        for (int64_t y = 0; y < a.height; ++y) {
            const Between row(y, a.low_height, a.height);
            const float factor = (row.low == low ? 1.0f - row.part : 0.0f) + (row.high == low ? row.part : 0.0f);
            if (row.low != low && row.high != low) continue;
            add_row(wide, d.dcarrier + y * wide, factor, first, m.blended);
            first = false;
        }
        float* to = d.dlow + low * a.low_width * C;
        memset(to, 0, a.low_width * C * sizeof(float));
        if (first) continue;
        for (int64_t x = 0; x < a.width; ++x) {
            const Between column(x, a.low_width, a.width);
            add_row(C, m.blended + x * C, 1.0f - column.part, false, to + column.low * C);
            add_row(C, m.blended + x * C, column.part, false, to + column.high * C);
        }
    }
}

// The gradient of row y of the carrier's candidate: what G got, and the transpose of smoothing and halving.
INLINE void candidate_row(const Route& a, const RouteGradient& d, int64_t y, float* smoothed, float* to) {
    const int64_t C = a.d, wide = a.low_width * C;
    memcpy(to, d.devidence + y * a.width * C, a.width * C * sizeof(float));
    bool first = true;
    for (int64_t low = 0; low < a.low_height; ++low)
        for (int64_t k = 0; k < a.smoothing; ++k) {
            if (reflect(2 * low + k - 2, a.height) != y) continue;
            add_row(wide, d.dlow + low * wide, a.smooth[k], first, smoothed);
            first = false;
        }
    if (first) return;
    for (int64_t low = 0; low < a.low_width; ++low)
        for (int64_t k = 0; k < a.smoothing; ++k)
            add_row(C, smoothed + low * C, a.smooth[k], false, to + reflect(2 * low + k - 2, a.width) * C);
}

// From the gradients of both candidates to that of the filtered features.
static void route_backward_project(const Route& a, const RouteGradient& d, int index, int count) {
    const int64_t begin = a.height * index / count, end = a.height * (index + 1) / count, C = a.channels, pool = C / 2;
    const RouteMemory m(a, a.scratch + index * route_sizes(a).backward);
    const RouteSums sums(a, d.sums + index * route_sizes(a).sums);
    Ring ring(m.ring, a.width, a.height, C);
    for (int64_t y = begin; y < end; ++y) {
        const Lines lines = ring.around(y, y == begin, [&](int64_t row, float* to) {
            const Norm norm{a.norm_weight, a.norm_bias, a.norm_eps};
            layer_norm_again(a.width, a.features + row * a.width * C, C, norm, a.kept + row * a.width * 2, to);
        });
        candidate_row(a, d, y, m.blended, m.candidate);
        for (int64_t x = 0; x < a.width; x += CHUNK) {
            const int64_t some = least(CHUNK, a.width - x);
            float* to = d.dfiltered + ((y + 1) * (a.width + 2) + x + 1) * C;
            const Rows<float> carrier{m.candidate + x * a.d, a.d, a.d}, evidence{d.devidence + (y * a.width + x) * a.d, a.d, a.d};
            filter_with_slopes(lines, a.taps, a.taps_bias, x, some, m.values, m.slopes);
            product(some, carrier, d.carrier_weight, {nullptr, nullptr, to, C, pool}, nullptr);
            product(some, evidence, d.evidence_weight, {nullptr, nullptr, to + pool, C, pool}, nullptr);
            outer(some, carrier, {m.values, C, pool}, sums.carrier);
            outer(some, evidence, {m.values + pool, C, pool}, sums.evidence);
            add_rows(some, carrier, sums.carrier_bias);
            add_rows(some, evidence, sums.evidence_bias);
            for (int64_t i = 0; i < some * C; i += LANES) {
                const int lanes = (int)least(LANES, some * C - i);
                store(to + i, load(to + i, lanes) * load(m.slopes + i, lanes), lanes);
            }
            taps_backward(lines, x, some, to, sums.taps);
        }
    }
}

// Through filter and norm to the features.
static void route_backward_input(const Route& a, const RouteGradient& d, int index, int count) {
    const int64_t C = a.channels, line = (a.width + 2) * C;
    const RouteMemory m(a, a.scratch + index * route_sizes(a).backward);
    const RouteSums sums(a, d.sums + index * route_sizes(a).sums);
    reverse_taps(a.taps, C, m.taps);
    for (int64_t y = a.height * index / count; y < a.height * (index + 1) / count; ++y) {
        const float* above = d.dfiltered + y * line;
        filter_lines({{above, above + line, above + 2 * line}, C}, m.taps, nullptr, 0, a.width,
                     [&](int64_t p, int64_t c, int lanes, V back) __attribute__((always_inline)) {
                         store(m.back + p * C + c, back, lanes);
                     });
        const int64_t at = y * a.width * C;
        layer_norm_backward(a.width, a.features + at, C, {a.norm_weight, a.norm_bias, a.norm_eps},
                            {m.back, d.dout + at, a.kept + y * a.width * 2, d.dfeatures + at, sums.norm_weight, sums.norm_bias});
    }
}

}  // namespace SOMAMBA_ISA
