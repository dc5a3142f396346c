// Layer norm over the channels of tokens, and its gradient; four tokens at a time, so that none waits for its own sums.
#pragma once
#include <math.h>

#include "kernels.h"
#include "vec.h"

namespace SOMAMBA_ISA {

struct Norm {
    const float *weight, *bias;
    float eps;
};

constexpr int TOKENS_ABREAST = 4;

// The sums of TOKENS vectors.
template <int TOKENS>
INLINE void totals(const V* x, float* to) {
    if constexpr (TOKENS == TOKENS_ABREAST) {
        const vf four = four_sums(x);
        UNROLL for (int t = 0; t < TOKENS; ++t) to[t] = four[t];
    } else {
        UNROLL for (int t = 0; t < TOKENS; ++t) to[t] = sum(halves(x[t]));
    }
}

template <int TOKENS>
INLINE void means(const float* x, int64_t width, float* to) {
    V total[TOKENS] = {};
    for (int64_t j = 0; j < width; j += LANES)
        UNROLL for (int t = 0; t < TOKENS; ++t) total[t] = total[t] + load(x + t * width + j, (int)least(LANES, width - j));
    totals<TOKENS>(total, to);
    UNROLL for (int t = 0; t < TOKENS; ++t) to[t] = to[t] / (float)width;
}

// x - mean; lanes beyond the row are zero: they are not part of any sum.
INLINE V off_mean(const float* x, float mean, int lanes) {
    const V off = load(x, lanes) + -mean;
    if (lanes == LANES) return off;
    float kept[LANES];
    store(kept, off);
    return load(kept, lanes);
}

// Mean and 1 / deviation of every token.
template <int TOKENS>
INLINE void measure_tokens(const float* x, int64_t width, float eps, float* mean, float* inverse) {
    means<TOKENS>(x, width, mean);
    V squares[TOKENS] = {};
    for (int64_t j = 0; j < width; j += LANES)
        UNROLL for (int t = 0; t < TOKENS; ++t) {
            const V off = off_mean(x + t * width + j, mean[t], (int)least(LANES, width - j));
            squares[t] = fma(squares[t], off, off);
        }
    totals<TOKENS>(squares, inverse);
    UNROLL for (int t = 0; t < TOKENS; ++t) inverse[t] = 1.0f / sqrtf(inverse[t] / (float)width + eps);
}

// The same, of which a forward pass kept pairs.
template <int TOKENS>
INLINE void recall_tokens(const float* kept, float* mean, float* inverse) {
    UNROLL for (int t = 0; t < TOKENS; ++t) mean[t] = kept[2 * t], inverse[t] = kept[2 * t + 1];
}

template <int TOKENS>
INLINE void norm_tokens(const float* x, int64_t width, const Norm& norm, const float* mean, const float* inverse, float* to) {
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        const V weight = load(norm.weight + j, lanes), bias = load(norm.bias + j, lanes);
        UNROLL for (int t = 0; t < TOKENS; ++t) {
            const V off = load(x + t * width + j, lanes) + -mean[t];
            store(to + t * width + j, fma(bias, off * inverse[t], weight), lanes);
        }
    }
}

template <int TOKENS>
INLINE void norm_first(const float* x, int64_t width, const Norm& norm, float* to, float* kept) {
    float mean[TOKENS], inverse[TOKENS];
    measure_tokens<TOKENS>(x, width, norm.eps, mean, inverse);
    norm_tokens<TOKENS>(x, width, norm, mean, inverse, to);
    if (kept)
        UNROLL for (int t = 0; t < TOKENS; ++t) kept[2 * t] = mean[t], kept[2 * t + 1] = inverse[t];
}
template <int TOKENS>
INLINE void norm_again(const float* x, int64_t width, const Norm& norm, const float* kept, float* to) {
    float mean[TOKENS], inverse[TOKENS];
    recall_tokens<TOKENS>(kept, mean, inverse);
    norm_tokens<TOKENS>(x, width, norm, mean, inverse, to);
}

// Rows of `width` numbers, one behind the other; `to` may be x. Mean and 1 / deviation of the rows go to `kept`, if not null.
APART void layer_norm(int64_t rows, const float* x, int64_t width, const Norm& norm, float* to, float* kept) {
    for (int64_t row = 0; row < rows;) {
        const int64_t some = rows - row >= TOKENS_ABREAST ? TOKENS_ABREAST : 1, step = some * width;
        if (some > 1) norm_first<TOKENS_ABREAST>(x, width, norm, to, kept);
        else norm_first<1>(x, width, norm, to, kept);
        x += step, to += step, row += some;
        if (kept) kept += 2 * some;
    }
}

// The same rows once more, from what was kept of them.
APART void layer_norm_again(int64_t rows, const float* x, int64_t width, const Norm& norm, const float* kept, float* to) {
    for (int64_t row = 0; row < rows;) {
        const int64_t some = rows - row >= TOKENS_ABREAST ? TOKENS_ABREAST : 1, step = some * width;
        if (some > 1) norm_again<TOKENS_ABREAST>(x, width, norm, kept, to);
        else norm_again<1>(x, width, norm, kept, to);
        x += step, to += step, kept += 2 * some, row += some;
    }
}

// Where the gradient of a layer norm goes: to = start + dx, start not where it is null; weight and bias are added to.
// `kept` as layer_norm() left it, null: it is made again.
struct NormGradient {
    const float *dy, *start, *kept;
    float *to, *weight, *bias;
};

template <int TOKENS>
INLINE void norm_tokens_backward(const float* x, int64_t width, const Norm& norm, const NormGradient& d) {
    float mean[TOKENS], inverse[TOKENS], shift[TOKENS], turn[TOKENS];
    if (d.kept) recall_tokens<TOKENS>(d.kept, mean, inverse);
    else measure_tokens<TOKENS>(x, width, norm.eps, mean, inverse);
    V along[TOKENS] = {}, all[TOKENS] = {};  // of x - mean and dy weight; of dy weight
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        const V weight = load(norm.weight + j, lanes);
        UNROLL for (int t = 0; t < TOKENS; ++t) {
            const V pull = load(d.dy + t * width + j, lanes) * weight, off = off_mean(x + t * width + j, mean[t], lanes);
            along[t] = fma(along[t], off, pull);
            all[t] = all[t] + pull;
        }
    }
    totals<TOKENS>(all, shift);
    totals<TOKENS>(along, turn);
    UNROLL for (int t = 0; t < TOKENS; ++t) {
        shift[t] = shift[t] / (float)width;
        turn[t] = turn[t] * inverse[t] * inverse[t] / (float)width;
    }
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        const V weight = load(norm.weight + j, lanes);
        V of_weight = load(d.weight + j, lanes), of_bias = load(d.bias + j, lanes);
        UNROLL for (int t = 0; t < TOKENS; ++t) {
            const int64_t at = t * width + j;
            const V off = load(x + at, lanes) + -mean[t], dy = load(d.dy + at, lanes);
            of_weight = fma(of_weight, dy * inverse[t], off);
            of_bias = of_bias + dy;
            const V dx = (fma(dy * weight, off, -turn[t]) + -shift[t]) * inverse[t];
            store(d.to + at, d.start ? dx + load(d.start + at, lanes) : dx, lanes);
        }
        store(d.weight + j, of_weight, lanes);
        store(d.bias + j, of_bias, lanes);
    }
}

APART void layer_norm_backward(int64_t rows, const float* x, int64_t width, const Norm& norm, NormGradient d) {
    for (int64_t row = 0; row < rows;) {
        const int64_t some = rows - row >= TOKENS_ABREAST ? TOKENS_ABREAST : 1, step = some * width;
        if (some > 1) norm_tokens_backward<TOKENS_ABREAST>(x, width, norm, d);
        else norm_tokens_backward<1>(x, width, norm, d);
        x += step, d.dy += step, d.to += step, row += some;
        if (d.start) d.start += step;
        if (d.kept) d.kept += 2 * some;
    }
}

}  // namespace SOMAMBA_ISA
