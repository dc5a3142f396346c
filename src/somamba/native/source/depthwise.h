// Depthwise 3x3 and GELU on a channels-last grid; the backward pass filters again instead of keeping what it needs.
#pragma once
#include "kernels.h"
#include "vec.h"

namespace SOMAMBA_ISA {

struct Edges {
    int64_t top, bottom, left, right;  // taps inside the grid: rows top..bottom, columns left..right, of 0..2
    Edges(const Depthwise& a, int64_t y, int64_t x)
        : top(y == 0), bottom(y + 1 == a.height ? 1 : 2), left(x == 0), right(x + 1 == a.width ? 1 : 2) {}
    bool inside() const { return top == 0 && left == 0 && bottom == 2 && right == 2; }
};

// sum of weight[tap] * x[neighbour] for 16 channels; `at` points at the centre, STEP -1 turns the filter around.
template <int STEP>
INLINE V filter(const Depthwise& a, const Edges& edges, const float* at, const float* weight, V start, int lanes) {
    const int64_t C = a.channels, row = a.width * C;
    if (edges.inside() && lanes == LANES) {
        UNROLL for (int i = 0; i < 3; ++i)
            UNROLL for (int j = 0; j < 3; ++j)
                start = fma(start, load(at + STEP * ((i - 1) * row + (j - 1) * C)), load(weight + (i * 3 + j) * C));
        return start;
    }
    const int64_t top = STEP > 0 ? edges.top : 2 - edges.bottom, bottom = STEP > 0 ? edges.bottom : 2 - edges.top;
    const int64_t left = STEP > 0 ? edges.left : 2 - edges.right, right = STEP > 0 ? edges.right : 2 - edges.left;
    for (int64_t i = top; i <= bottom; ++i)
        for (int64_t j = left; j <= right; ++j)
            start = fma(start, load(at + STEP * ((i - 1) * row + (j - 1) * C), lanes), load(weight + (i * 3 + j) * C, lanes));
    return start;
}

// Rows of all grids in the batch are numbered through; a worker takes a range.
template <typename F>
INLINE void each_pixel(const Depthwise& a, int index, int count, const F& work) {
    const int64_t rows = a.batch * a.height;
    for (int64_t row = rows * index / count; row < rows * (index + 1) / count; ++row)
        for (int64_t x = 0; x < a.width; ++x) {
            const Edges edges(a, row % a.height, x);
            for (int64_t c = 0; c < a.channels; c += LANES)
                work(edges, (row * a.width + x) * a.channels + c, c, a.channels - c < LANES ? (int)(a.channels - c) : LANES);
        }
}

constexpr int ABREAST = 4;  // pixels of a row filtered together: their taps and most of their neighbours are shared

// As filter<1>, for ABREAST neighbouring pixels inside the grid.
INLINE void filter_abreast(const Depthwise& a, const float* at, const float* weight, V start, V* to) {
    const int64_t C = a.channels, row = a.width * C;
    UNROLL for (int p = 0; p < ABREAST; ++p) to[p] = start;
    UNROLL for (int i = 0; i < 3; ++i) {
        const float* line = at + (i - 1) * row - C;
        const V left = load(weight + 3 * i * C), middle = load(weight + (3 * i + 1) * C), right = load(weight + (3 * i + 2) * C);
        UNROLL for (int x = 0; x < ABREAST + 2; ++x) {
            const V value = load(line + x * C);
            if (x < ABREAST) to[x] = fma(to[x], value, left);
            if (x >= 1 && x <= ABREAST) to[x - 1] = fma(to[x - 1], value, middle);
            if (x >= 2) to[x - 2] = fma(to[x - 2], value, right);
        }
    }
}

static void depthwise_forward(const Depthwise& a, int index, int count) {
    const int64_t rows = a.batch * a.height, C = a.channels;
    for (int64_t row = rows * index / count; row < rows * (index + 1) / count; ++row) {
        const int64_t y = row % a.height;
        for (int64_t x = 0; x < a.width;) {
            const bool inside = y > 0 && y + 1 < a.height && x > 0 && x + ABREAST < a.width;
            const int64_t at = (row * a.width + x) * C;
            const Edges edges(a, y, x);
            for (int64_t c = 0; c < C; c += LANES) {
                const int lanes = C - c < LANES ? (int)(C - c) : LANES;
                if (inside && lanes == LANES) {
                    V filtered[ABREAST];
                    filter_abreast(a, a.x + at + c, a.weight + c, load(a.bias + c), filtered);
                    UNROLL for (int p = 0; p < ABREAST; ++p) store(a.out + at + p * C + c, gelu(filtered[p]));
                    continue;
                }
                for (int p = 0; p < (inside ? ABREAST : 1); ++p) {
                    const V start = load(a.bias + c, lanes);
                    const V filtered = filter<1>(a, edges, a.x + at + p * C + c, a.weight + c, start, lanes);
                    store(a.out + at + p * C + c, gelu(filtered), lanes);
                }
            }
            x += inside ? ABREAST : 1;
        }
    }
}

// Through the GELU to the filtered grid, and from there to the taps and the bias.
static void depthwise_backward_filter(const Depthwise& a, const DepthwiseGradient& d, int index, int count) {
    const int64_t C = a.channels, row = a.width * C;
    float* partial = d.partial + index * 10 * C;
    memset(partial, 0, 10 * C * sizeof(float));
    each_pixel(a, index, count, [&](const Edges& edges, int64_t at, int64_t c, int lanes) __attribute__((always_inline)) {
        const V filtered = filter<1>(a, edges, a.x + at, a.weight + c, load(a.bias + c, lanes), lanes);
        const V g = load(d.dout + at, lanes) * gelu_slope(filtered);
        store(d.filtered + at, g, lanes);
        for (int64_t i = edges.top; i <= edges.bottom; ++i)
            for (int64_t j = edges.left; j <= edges.right; ++j) {
                float* tap = partial + (i * 3 + j) * C + c;
                store(tap, fma(load(tap, lanes), g, load(a.x + at + (i - 1) * row + (j - 1) * C, lanes)), lanes);
            }
        store(partial + 9 * C + c, load(partial + 9 * C + c, lanes) + g, lanes);
    });
}

static void depthwise_backward_input(const Depthwise& a, const DepthwiseGradient& d, int index, int count) {
    each_pixel(a, index, count, [&](const Edges& edges, int64_t at, int64_t c, int lanes) __attribute__((always_inline)) {
        store(d.x + at, filter<-1>(a, edges, d.filtered + at, a.weight + c, splat(0), lanes), lanes);
    });
}

}  // namespace SOMAMBA_ISA
