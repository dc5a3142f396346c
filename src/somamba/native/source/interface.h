// B and C on their way into the scan: RMS norm over n, then the modulation by G (Eq. 18), whose last layer is part of it:
// four numbers of modulation for each of B and C would be the largest tensor of a unit, and are never stored.
#pragma once
#include <math.h>

#include "kernels.h"
#include "functions.h"

namespace SOMAMBA_ISA {

constexpr int MOST_VECTORS = 256;  // vectors whose norms are taken together; more are done in turns

// 1 / rms of `count` vectors of n entries.
INLINE void inverse_rms(const float* x, int64_t count, int64_t n, float eps, float* to) {
    if (n == LANES && count == 4) {  // the paper's shape: all in registers
        V squares[4];
        UNROLL for (int w = 0; w < 4; ++w) squares[w] = load(x + w * LANES) * load(x + w * LANES);
        const vf folded = 1.0f / sqrt_(four_sums(squares) / (float)n + eps);
        UNROLL for (int w = 0; w < 4; ++w) to[w] = folded[w];
        return;
    }
    for (int64_t i = 0; i < count; i += SOMAMBA_WIDTH) {
        vf squares[SOMAMBA_WIDTH] = {};
        for (int64_t w = 0; w < SOMAMBA_WIDTH && i + w < count; ++w) {
            const float* v = x + (i + w) * n;
            V total = {};
            int64_t j = 0;
            for (; j + LANES <= n; j += LANES) total = fma(total, load(v + j), load(v + j));
            if (j < n) {
                const V rest = load(v + j, (int)(n - j));
                total = fma(total, rest, rest);
            }
            squares[w] = halves(total);
        }
        float folded[SOMAMBA_WIDTH];
        *(vfu*)folded = 1.0f / sqrt_(sums(squares) / (float)n + eps);
        for (int64_t w = 0; w < SOMAMBA_WIDTH && i + w < count; ++w) to[i + w] = folded[w];
    }
}

constexpr int ROWS_ABREAST = CONSTANTS.rows_abreast;  // rows whose modulation is projected together: they share the loads of the weights

// to[row] = hidden[row] . weight + bias, for `rows` <= ROWS_ABREAST rows.
template <int ROWS>
INLINE void project_rows(const Interface& a, int64_t row, int64_t width, float* to) {
    const float* hidden = a.hidden + row * a.hidden_row;
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = width - j < LANES ? (int)(width - j) : LANES;
        V total[ROWS];
        UNROLL for (int r = 0; r < ROWS; ++r) total[r] = load(a.bias + j, lanes);
        for (int64_t k = 0; k < a.hidden_size; ++k) {
            const V weight = load(a.weight + k * width + j, lanes);
            UNROLL for (int r = 0; r < ROWS; ++r) total[r] = fma(total[r], weight, hidden[r * a.hidden_row + k]);
        }
        UNROLL for (int r = 0; r < ROWS; ++r) store(to + r * width + j, total[r], lanes);
    }
}

// One row: norm, then Eq. 18 with the modulation mu.
INLINE void modulate_row(const Interface& a, int64_t row, const float* modulation, float* inverse_of) {
    const int64_t width = a.vectors * a.n;
    for (int side = 0; side < 2; ++side) {
        const float* x = side ? a.C + row * a.C_row : a.B + row * a.B_row;
        const float* weight = side ? a.C_weight : a.B_weight;
        const float* mu = modulation + 2 * side * width;
        float* out = (side ? a.C_out : a.B_out) + row * width;
        for (int64_t start = 0; start < a.vectors; start += MOST_VECTORS) {
            const int64_t some = a.vectors - start < MOST_VECTORS ? a.vectors - start : MOST_VECTORS;
            inverse_rms(x + start * a.n, some, a.n, a.eps, inverse_of);
            for (int64_t v = 0; v < some; ++v)
                for (int64_t j = 0; j < a.n; j += LANES) {
                    const int lanes = a.n - j < LANES ? (int)(a.n - j) : LANES;
                    const int64_t at = (start + v) * a.n + j;
                    const V y = load(x + at, lanes) * load(weight + j, lanes) * inverse_of[v];
                    V up, by;
                    tanh_near_one(load(mu + at, lanes), load(mu + width + at, lanes), up, by);
                    store(out + at, fma(by * a.shift, y, fma(splat(1), up, a.scale)), lanes);
                }
        }
    }
}

APART void interface_rows(const Interface& a, int64_t begin, int64_t end, float* modulation) {
    const int64_t width = 4 * a.vectors * a.n;
    float inverse_of[MOST_VECTORS];
    for (int64_t row = begin; row < end;) {
        const int64_t some = end - row < ROWS_ABREAST ? 1 : ROWS_ABREAST;
        if (some == ROWS_ABREAST) project_rows<ROWS_ABREAST>(a, row, width, modulation);
        else project_rows<1>(a, row, width, modulation);
        for (int64_t r = 0; r < some; ++r) modulate_row(a, row + r, modulation + r * width, inverse_of);
        row += some;
    }
}

static void interface_forward(const Interface& a, int index, int count) {
    const int64_t begin = a.rows * index / count, end = a.rows * (index + 1) / count;
    interface_rows(a, begin, end, a.scratch + index * ROWS_ABREAST * 4 * a.vectors * a.n);
}

// One side, B or C, of a row, backward.
struct Side {
    const float *x, *weight, *mu, *dout;      // vectors n; n; mu, and behind it nu; vectors n
    float *dx, *dmu, *dweight;
};

// What the gradient g of one vector's output gives: to the modulation, to the sums, and to the normed vector (returned).
INLINE V unmodulated(const Interface& a, const Side& side, int64_t at, int lanes, V normed, V& of_scale, V& of_shift) {
    const int64_t width = a.vectors * a.n;
    const V g = load(side.dout + at, lanes), one = splat(1);
    V up, by;
    tanh_near_one(load(side.mu + at, lanes), load(side.mu + width + at, lanes), up, by);
    store(side.dmu + at, g * normed * (one - up * up) * a.scale, lanes);
    store(side.dmu + width + at, g * (one - by * by) * a.shift, lanes);
    of_scale = fma(of_scale, g * normed, up);
    of_shift = fma(of_shift, g, by);
    return g * fma(one, up, a.scale);
}

// Four vectors of 16 entries from `start` on: the paper's shape, all in registers.
INLINE void four_backward(const Interface& a, const Side& side, int64_t start, const float* inverse_of, V& of_scale, V& of_shift) {
    const V weight = load(side.weight);
    V dweight = load(side.dweight), dnormed[4], along[4];
    UNROLL for (int v = 0; v < 4; ++v) {
        const int64_t at = (start + v) * LANES;
        const V x = load(side.x + at) * inverse_of[v];
        const V g = unmodulated(a, side, at, LANES, x * weight, of_scale, of_shift);
        dweight = fma(dweight, g, x);
        dnormed[v] = g * weight;
        along[v] = dnormed[v] * x;
    }
    store(side.dweight, dweight);
    const vf pull = four_sums(along) / (float)LANES;
    UNROLL for (int v = 0; v < 4; ++v) {
        const int64_t at = (start + v) * LANES;
        const V x = load(side.x + at) * inverse_of[v];
        store(side.dx + at, fma(dnormed[v], x, -pull[v]) * inverse_of[v]);
    }
}

// One vector of n entries.
INLINE void vector_backward(const Interface& a, const Side& side, int64_t start, float inv, V& of_scale, V& of_shift) {
    V along = {};  // of the gradient, in the direction of x
    for (int64_t j = 0; j < a.n; j += LANES) {
        const int lanes = a.n - j < LANES ? (int)(a.n - j) : LANES;
        const int64_t at = start * a.n + j;
        const V xs = load(side.x + at, lanes), w = load(side.weight + j, lanes);
        const V g = unmodulated(a, side, at, lanes, xs * w * inv, of_scale, of_shift);
        store(side.dweight + j, load(side.dweight + j, lanes) + g * xs * inv, lanes);
        along = fma(along, g * w, xs);
        store(side.dx + at, g * w, lanes);
    }
    const float pull = sum(halves(along)) * inv * inv / (float)a.n;
    for (int64_t j = 0; j < a.n; j += LANES) {
        const int lanes = a.n - j < LANES ? (int)(a.n - j) : LANES;
        const int64_t at = start * a.n + j;
        store(side.dx + at, fma(load(side.dx + at, lanes), load(side.x + at, lanes), -pull) * inv, lanes);
    }
}

// Rows from begin to end; the sums are added to partial, (2 n + 2) numbers.
APART void interface_backward_rows(const Interface& a, const InterfaceGradient& d, int64_t begin, int64_t end, float* partial) {
    const int64_t width = a.vectors * a.n;
    double dscale = 0, dshift = 0;
    float inverse_of[MOST_VECTORS];
    for (int64_t row = begin; row < end; ++row) {
        V of_scale = {}, of_shift = {};
        for (int which = 0; which < 2; ++which) {
            const int64_t modulated = row * 4 * width + 2 * which * width;
            const Side side{which ? a.C + row * a.C_row : a.B + row * a.B_row, which ? a.C_weight : a.B_weight,
                            d.modulation + modulated, (which ? d.dC : d.dB) + row * width,
                            which ? d.C + row * d.C_row : d.B + row * d.B_row, d.dmodulation + modulated, partial + which * a.n};
            for (int64_t start = 0; start < a.vectors; start += MOST_VECTORS) {
                const int64_t some = a.vectors - start < MOST_VECTORS ? a.vectors - start : MOST_VECTORS;
                inverse_rms(side.x + start * a.n, some, a.n, a.eps, inverse_of);
                int64_t v = 0;
                if (a.n == LANES)
                    for (; v + 4 <= some; v += 4) four_backward(a, side, start + v, inverse_of + v, of_scale, of_shift);
                for (; v < some; ++v) vector_backward(a, side, start + v, inverse_of[v], of_scale, of_shift);
            }
        }
        dscale += (double)sum(halves(of_scale));
        dshift += (double)sum(halves(of_shift));
    }
    partial[2 * a.n] += (float)dscale;
    partial[2 * a.n + 1] += (float)dshift;
}

static void interface_backward(const Interface& a, const InterfaceGradient& d, int index, int count) {
    float* partial = d.partial + index * (2 * a.n + 2);
    memset(partial, 0, (2 * a.n + 2) * sizeof(float));
    interface_backward_rows(a, d, a.rows * index / count, a.rows * (index + 1) / count, partial);
}

}  // namespace SOMAMBA_ISA
