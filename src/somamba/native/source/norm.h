// Layer norm of one row.
#pragma once
#include <math.h>

#include "kernels.h"
#include "vec.h"

namespace SOMAMBA_ISA {

APART void layer_norm_row(const float* x, int64_t width, const float* weight, const float* bias, float eps, float* to) {
    V total = {};
    for (int64_t j = 0; j < width; j += LANES) total = total + load(x + j, (int)least(LANES, width - j));
    const float mean = sum(halves(total)) / (float)width;
    V squares = {};
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        V off = load(x + j, lanes) + -mean;
        if (lanes < LANES) {  // lanes beyond the row are not part of the sum
            float kept[LANES];
            store(kept, off);
            off = load(kept, lanes);
        }
        squares = fma(squares, off, off);
    }
    const float inverse = 1.0f / sqrtf(sum(halves(squares)) / (float)width + eps);
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        store(to + j, fma(load(bias + j, lanes), (load(x + j, lanes) + -mean) * inverse, load(weight + j, lanes)), lanes);
    }
}

// Its gradient: to = start + dx for the gradient dy, start not where it is null; the gradients of weight and bias are
// added to theirs.
APART void layer_norm_backward_row(const float* x, int64_t width, const float* weight, float eps, const float* dy,
                                    const float* start, float* to, float* dweight, float* dbias) {
    V total = {};
    for (int64_t j = 0; j < width; j += LANES) total = total + load(x + j, (int)least(LANES, width - j));
    const float mean = sum(halves(total)) / (float)width;
    V squares = {}, along = {}, all = {};  // of x - mean; of it and dy weight; of dy weight
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        const V pull = load(dy + j, lanes) * load(weight + j, lanes);
        V off = load(x + j, lanes) + -mean;
        if (lanes < LANES) {  // lanes beyond the row are not part of the sum
            float kept[LANES];
            store(kept, off);
            off = load(kept, lanes);
        }
        along = fma(along, off, pull);
        all = all + pull;
        squares = fma(squares, off, off);
    }
    const float inverse = 1.0f / sqrtf(sum(halves(squares)) / (float)width + eps);
    const float shift = sum(halves(all)) / (float)width, turn = sum(halves(along)) * inverse * inverse / (float)width;
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        const V off = load(x + j, lanes) + -mean, d = load(dy + j, lanes);
        store(dweight + j, fma(load(dweight + j, lanes), d * inverse, off), lanes);
        store(dbias + j, load(dbias + j, lanes) + d, lanes);
        V dx = (fma(d * load(weight + j, lanes), off, -turn) + -shift) * inverse;
        if (start) dx = dx + load(start + j, lanes);
        store(to + j, dx, lanes);
    }
}

}  // namespace SOMAMBA_ISA
