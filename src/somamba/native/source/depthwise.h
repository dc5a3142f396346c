// Depthwise 3x3 and GELU on a channels-last grid; the backward pass filters again instead of keeping what it needs.
#pragma once
#include "kernels.h"
#include "functions.h"

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

// As filter<1>, for ABREAST neighbouring pixels inside the grid; the lines point at the pixel left of the first, above it,
// beside it and below it.
INLINE void filter_abreast(const float* above, const float* beside, const float* below, int64_t C, const float* weight,
                           V start, V* to) {
    const float* lines[3] = {above, beside, below};
    UNROLL for (int p = 0; p < ABREAST; ++p) to[p] = start;
    UNROLL for (int i = 0; i < 3; ++i) {
        const V left = load(weight + 3 * i * C), middle = load(weight + (3 * i + 1) * C), right = load(weight + (3 * i + 2) * C);
        UNROLL for (int x = 0; x < ABREAST + 2; ++x) {
            const V value = load(lines[i] + x * C);
            if (x < ABREAST) to[x] = fma(to[x], value, left);
            if (x >= 1 && x <= ABREAST) to[x - 1] = fma(to[x - 1], value, middle);
            if (x >= 2) to[x - 2] = fma(to[x - 2], value, right);
        }
    }
}

// Pixels of all grids in the batch are numbered through; `out` gets those from begin to end.
APART void depthwise_pixels(const Depthwise& a, int64_t begin, int64_t end, float* out) {
    const int64_t C = a.channels, row = a.width * C;
    int64_t x = begin % a.width, y = begin / a.width % a.height;
    for (int64_t pixel = begin; pixel < end;) {
        const bool inside = y > 0 && y + 1 < a.height && x > 0 && x + ABREAST < a.width && pixel + ABREAST <= end;
        const Edges edges(a, y, x);
        const int64_t some = inside ? ABREAST : 1;
        for (int64_t c = 0; c < C; c += LANES) {
            const int lanes = (int)least(LANES, C - c);
            const float* at = a.x + pixel * C + c;
            float* to = out + (pixel - begin) * C + c;
            if (inside && lanes == LANES) {
                V filtered[ABREAST];
                filter_abreast(at - row - C, at - C, at + row - C, C, a.weight + c, load(a.bias + c), filtered);
                UNROLL for (int p = 0; p < ABREAST; ++p) store(to + p * C, gelu(filtered[p]));
                continue;
            }
            for (int64_t p = 0; p < some; ++p)
                store(to + p * C, gelu(filter<1>(a, edges, at + p * C, a.weight + c, load(a.bias + c, lanes), lanes)), lanes);
        }
        pixel += some;
        x += some;
        if (x == a.width) {
            x = 0;
            y = y + 1 < a.height ? y + 1 : 0;
        }
    }
}

static void depthwise_forward(const Depthwise& a, int index, int count) {
    const int64_t rows = a.batch * a.height, begin = rows * index / count * a.width, end = rows * (index + 1) / count * a.width;
    depthwise_pixels(a, begin, end, a.out + begin * a.channels);
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
