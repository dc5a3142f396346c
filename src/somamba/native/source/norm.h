// Layer norm of one row.
#pragma once
#include <math.h>

#include "kernels.h"
#include "vec.h"

namespace SOMAMBA_ISA {

INLINE void layer_norm_row(const float* x, int64_t width, const float* weight, const float* bias, float eps, float* to) {
    V total = {};
    for (int64_t j = 0; j < width; j += LANES) total = total + load(x + j, (int)least(LANES, width - j));
    const float mean = sum(halves(total)) / (float)width;
    V squares = {};
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        V off = load(x + j, lanes) + -mean;
        if (lanes < LANES) {  // lanes beyond the row are not part of the sum
            store(to + j, off, lanes);
            off = load(to + j, lanes);
        }
        squares = fma(squares, off, off);
    }
    const float inverse = 1.0f / sqrtf(sum(halves(squares)) / (float)width + eps);
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = (int)least(LANES, width - j);
        store(to + j, fma(load(bias + j, lanes), (load(x + j, lanes) + -mean) * inverse, load(weight + j, lanes)), lanes);
    }
}

}  // namespace SOMAMBA_ISA
