// The discrete Fourier transform of sixteen lines at once, in place, one line in each lane. It leaves the frequencies in
// the order of their digits, turned around; its adjoint takes them in that order. What is between both, a filter, can be
// arranged in that order once, so nothing is ever sorted.
#pragma once
#include "kernels.h"
#include "vec.h"

namespace SOMAMBA_ISA {

constexpr int LARGEST_RADIX = CONSTANTS.largest_radix;

struct Z {
    V re, im;
};

INLINE Z load_complex(const float* p) { return {load(p), load(p + LANES)}; }
INLINE void store_complex(float* p, Z z) { store(p, z.re), store(p + LANES, z.im); }
INLINE Z operator+(Z x, Z y) { return {x.re + y.re, x.im + y.im}; }
INLINE Z operator-(Z x, Z y) { return {x.re - y.re, x.im - y.im}; }
INLINE Z times(Z x, Z y) { return {fma(x.re * y.re, x.im * -1.0f, y.im), fma(x.re * y.im, x.im, y.re)}; }
INLINE Z times_conjugate(Z x, Z y) { return {fma(x.re * y.re, x.im, y.im), fma(x.im * y.re, x.re * -1.0f, y.im)}; }

// z times a number w, or times its conjugate.
template <bool CONJUGATE>
INLINE Z turned(Z z, const float* w) {
    const float c = w[0], s = CONJUGATE ? -w[1] : w[1];
    return {fma(z.re * c, z.im, -s), fma(z.im * c, z.re, s)};
}
// z times -i, or times i.
template <bool CONJUGATE>
INLINE Z quarter_turned(Z z) {
    if (CONJUGATE) return {z.im * -1.0f, z.re};
    return {z.im, z.re * -1.0f};
}

// The transform of R points, or of `radix` where R is 0; its roots of unity follow each other.
template <int R, bool CONJUGATE>
INLINE void transform_points(Z* z, int64_t radix, const float* roots) {
    if constexpr (R == 2) {
        const Z difference = z[0] - z[1];
        z[0] = z[0] + z[1];
        z[1] = difference;
    } else if constexpr (R == 3) {
        const Z both = z[1] + z[2], apart = quarter_turned<CONJUGATE>(z[1] - z[2]);
        const Z middle{fma(z[0].re, both.re, -0.5f), fma(z[0].im, both.im, -0.5f)};
        z[0] = z[0] + both;
        z[1] = {fma(middle.re, apart.re, 0.866025404f), fma(middle.im, apart.im, 0.866025404f)};
        z[2] = {fma(middle.re, apart.re, -0.866025404f), fma(middle.im, apart.im, -0.866025404f)};
    } else if constexpr (R == 4) {
        const Z even = z[0] + z[2], odd = z[1] + z[3], left = z[0] - z[2], right = quarter_turned<CONJUGATE>(z[1] - z[3]);
        z[0] = even + odd;
        z[1] = left + right;
        z[2] = even - odd;
        z[3] = left - right;
    } else {
        Z out[LARGEST_RADIX];
        for (int64_t q = 0; q < radix; ++q) {
            out[q] = z[0];
            for (int64_t k = 1, at = q; k < radix; ++k, at = at + q < radix ? at + q : at + q - radix)
                out[q] = out[q] + turned<CONJUGATE>(z[k], roots + 2 * at);
        }
        for (int64_t q = 0; q < radix; ++q) z[q] = out[q];
    }
}

// One stage: parts of `part` points are split into `radix` of them. The adjoint joins them again.
template <int R, bool CONJUGATE>
APART void transform_stage(float* line, int64_t width, int64_t part, int64_t radix, const float* twiddles, const float* roots) {
    const int64_t count = R ? R : radix, step = part / count;
    for (int64_t start = 0; start < width; start += part)
        for (int64_t j = 0; j < step; ++j) {
            float* at = line + (start + j) * 2 * LANES;
            const float* w = twiddles + j * (count - 1) * 2;
            Z z[R ? R : LARGEST_RADIX];
            for (int64_t k = 0; k < count; ++k) z[k] = load_complex(at + k * step * 2 * LANES);
            if (CONJUGATE)
                for (int64_t k = 1; k < count; ++k) z[k] = turned<true>(z[k], w + 2 * (k - 1));
            transform_points<R, CONJUGATE>(z, count, roots);
            if (!CONJUGATE)
                for (int64_t k = 1; k < count; ++k) z[k] = turned<false>(z[k], w + 2 * (k - 1));
            for (int64_t k = 0; k < count; ++k) store_complex(at + k * step * 2 * LANES, z[k]);
        }
}

template <bool CONJUGATE>
INLINE void any_stage(float* line, int64_t width, int64_t part, int64_t radix, const float* twiddles, const float* roots) {
    if (radix == 4) transform_stage<4, CONJUGATE>(line, width, part, radix, twiddles, roots);
    else if (radix == 3) transform_stage<3, CONJUGATE>(line, width, part, radix, twiddles, roots);
    else if (radix == 2) transform_stage<2, CONJUGATE>(line, width, part, radix, twiddles, roots);
    else transform_stage<0, CONJUGATE>(line, width, part, radix, twiddles, roots);
}

INLINE void transform(const Transform& a, float* line) {
    const float *twiddles = a.twiddles, *roots = a.roots;
    for (int64_t s = 0, part = a.width; s < a.stages; ++s) {
        const int64_t radix = a.radices[s], step = part / radix;
        any_stage<false>(line, a.width, part, radix, twiddles, roots);
        twiddles += step * (radix - 1) * 2;
        roots += 2 * radix;
        part = step;
    }
}

INLINE void transform_adjoint(const Transform& a, float* line) {
    const float *twiddles = a.twiddles + a.twiddles_size, *roots = a.roots + a.roots_size;
    for (int64_t s = a.stages - 1, step = 1; s >= 0; --s) {
        const int64_t radix = a.radices[s], part = step * radix;
        twiddles -= step * (radix - 1) * 2;
        roots -= 2 * radix;
        any_stage<true>(line, a.width, part, radix, twiddles, roots);
        step = part;
    }
}

}  // namespace SOMAMBA_ISA
