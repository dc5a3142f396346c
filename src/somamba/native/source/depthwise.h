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

static void depthwise_forward(const Depthwise& a, int index, int count) {
    each_pixel(a, index, count, [&](const Edges& edges, int64_t at, int64_t c, int lanes) __attribute__((always_inline)) {
        store(a.out + at, gelu(filter<1>(a, edges, a.x + at, a.weight + c, load(a.bias + c, lanes), lanes)), lanes);
    });
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
