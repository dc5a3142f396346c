// B and C on their way into the scan: RMS norm over n, then the modulation by G (Eq. 18), in one pass.
#pragma once
#include <math.h>

#include "kernels.h"
#include "vec.h"

namespace SOMAMBA_ISA {

constexpr int MOST_VECTORS = 256;  // vectors whose norms are taken together; more are done in turns

// 1 / rms of `count` vectors of n entries.
INLINE void inverse_rms(const float* x, int64_t count, int64_t n, float eps, float* to) {
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
        *(vfu*)folded = sums(squares);
        for (int64_t w = 0; w < SOMAMBA_WIDTH && i + w < count; ++w) to[i + w] = 1.0f / sqrtf(folded[w] / (float)n + eps);
    }
}

static void interface_forward(const Interface& a, int index, int count) {
    const int64_t width = a.vectors * a.n, begin = a.rows * index / count, end = a.rows * (index + 1) / count;
    float inverse_of[MOST_VECTORS];
    for (int64_t row = begin; row < end; ++row)
        for (int side = 0; side < 2; ++side) {
            const float* x = side ? a.C + row * a.C_row : a.B + row * a.B_row;
            const float* weight = side ? a.C_weight : a.B_weight;
            const float* mu = a.modulation + row * a.modulation_row + 2 * side * width;
            const float* bias = a.modulation_bias + 2 * side * width;
            float* out = (side ? a.C_out : a.B_out) + row * width;
            for (int64_t start = 0; start < a.vectors; start += MOST_VECTORS) {
                const int64_t some = a.vectors - start < MOST_VECTORS ? a.vectors - start : MOST_VECTORS;
                inverse_rms(x + start * a.n, some, a.n, a.eps, inverse_of);
                for (int64_t v = 0; v < some; ++v)
                    for (int64_t j = 0; j < a.n; j += LANES) {
                        const int lanes = a.n - j < LANES ? (int)(a.n - j) : LANES;
                        const int64_t at = (start + v) * a.n + j;
                        const V y = load(x + at, lanes) * load(weight + j, lanes) * inverse_of[v];
                        const V up = tanh(load(mu + at, lanes) + load(bias + at, lanes));
                        const V by = tanh(load(mu + width + at, lanes) + load(bias + width + at, lanes));
                        store(out + at, fma(by * a.shift, y, fma(splat(1), up, a.scale)), lanes);
                    }
            }
        }
}

static void interface_backward(const Interface& a, const InterfaceGradient& d, int index, int count) {
    const int64_t width = a.vectors * a.n, begin = a.rows * index / count, end = a.rows * (index + 1) / count;
    const int64_t sums = 2 * a.n + 2 + 4 * width;
    float* partial = d.partial + index * sums;
    memset(partial, 0, sums * sizeof(float));
    double dscale = 0, dshift = 0;
    float inverse_of[MOST_VECTORS];
    for (int64_t row = begin; row < end; ++row) {
        V of_scale = {}, of_shift = {};
        for (int side = 0; side < 2; ++side) {
            const float* x = side ? a.C + row * a.C_row : a.B + row * a.B_row;
            const float* weight = side ? a.C_weight : a.B_weight;
            const float* mu = a.modulation + row * a.modulation_row + 2 * side * width;
            const float* bias = a.modulation_bias + 2 * side * width;
            const float* dout = (side ? d.dC : d.dB) + row * width;
            float* dx = (side ? d.C : d.B) + row * width;
            float* dmu = d.modulation + row * 4 * width + 2 * side * width;
            float *dweight = partial + side * a.n, *dbias = partial + 2 * a.n + 2 + 2 * side * width;
            for (int64_t start = 0; start < a.vectors; start += MOST_VECTORS) {
                const int64_t some = a.vectors - start < MOST_VECTORS ? a.vectors - start : MOST_VECTORS;
                inverse_rms(x + start * a.n, some, a.n, a.eps, inverse_of);
                for (int64_t v = 0; v < some; ++v) {
                    const float inv = inverse_of[v];
                    V along = {};  // of the gradient, in the direction of x
                    for (int64_t j = 0; j < a.n; j += LANES) {
                        const int lanes = a.n - j < LANES ? (int)(a.n - j) : LANES;
                        const int64_t at = (start + v) * a.n + j;
                        const V xs = load(x + at, lanes), w = load(weight + j, lanes);
                        V g = load(dout + at, lanes);
                        const V up = tanh(load(mu + at, lanes) + load(bias + at, lanes));
                        const V by = tanh(load(mu + width + at, lanes) + load(bias + width + at, lanes));
                        const V normed = xs * w * inv, one = splat(1);
                        const V of_mu = g * normed * (one - up * up) * a.scale, of_nu = g * (one - by * by) * a.shift;
                        store(dmu + at, of_mu, lanes);
                        store(dmu + width + at, of_nu, lanes);
                        store(dbias + at, load(dbias + at, lanes) + of_mu, lanes);
                        store(dbias + width + at, load(dbias + width + at, lanes) + of_nu, lanes);
                        of_scale = fma(of_scale, g * normed, up);
                        of_shift = fma(of_shift, g, by);
                        g = g * fma(one, up, a.scale);
                        store(dweight + j, load(dweight + j, lanes) + g * xs * inv, lanes);
                        g = g * w;
                        along = fma(along, g, xs);
                        store(dx + at, g, lanes);
                    }
                    const float pull = sum(halves(along)) * inv * inv / (float)a.n;
                    for (int64_t j = 0; j < a.n; j += LANES) {
                        const int lanes = a.n - j < LANES ? (int)(a.n - j) : LANES;
                        const int64_t at = (start + v) * a.n + j;
                        store(dx + at, fma(load(dx + at, lanes), load(x + at, lanes), -pull) * inv, lanes);
                    }
                }
            }
        }
        dscale += (double)sum(halves(of_scale));
        dshift += (double)sum(halves(of_shift));
    }
    partial[2 * a.n] = (float)dscale;
    partial[2 * a.n + 1] = (float)dshift;
}

}  // namespace SOMAMBA_ISA
