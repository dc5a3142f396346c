// Exponentials, tanh, sine and GELU of one native vector, and of sixteen lanes.
#pragma once
#include "vec.h"

namespace SOMAMBA_ISA {

// NaN stays NaN in all of these.
#if defined(__x86_64__) && SOMAMBA_WIDTH == 16
INLINE vf clamp(vf x, float low, float high) {
    return (vf)_mm512_min_ps(_mm512_set1_ps(high), _mm512_max_ps(_mm512_set1_ps(low), (__m512)x));
}
#elif defined(__x86_64__) && SOMAMBA_WIDTH == 8
INLINE vf clamp(vf x, float low, float high) {
    return (vf)_mm256_min_ps(_mm256_set1_ps(high), _mm256_max_ps(_mm256_set1_ps(low), (__m256)x));
}
#else
INLINE vf clamp(vf x, float low, float high) {
    vf l = low - (vf){}, h = high - (vf){};
    x = x < l ? l : x;
    return x > h ? h : x;
}
#endif

// 2^t for -126 <= t <= 127: the integer part goes to the exponent, a polynomial (own minimax fit, 8e-8) makes the rest.
INLINE vf power_of_two_(vf t) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer and leaves it in the low bits
    vf shifted = t + magic;
    vf r = t - (shifted - magic);
    vf q = 0.00132763528f * r + 0.00967565547f;
    q = q * r + 0.055507145f;
    q = q * r + 0.240221176f;
    q = q * r + 0.693146966f;
    q = q * r + 1.00000007f;
    return (vf)((vi)q + ((vi)shifted << 23));
}

// 2^t, clamped; t - t keeps a NaN, which integers would make a number.
INLINE vf exp2_(vf t) {
    t = clamp(t, -126.0f, 127.0f);
    return power_of_two_(t) + (t - t);
}

// exp with relative error below 2e-7: the logarithm of two in two parts, for what is summed over many tokens.
INLINE vf exp_(vf x) {
    x = clamp(x, -87.0f, 88.0f);
    const float magic = 12582912.0f;
    vf shifted = x * 1.44269504f + magic;
    vf n = shifted - magic;
    vf r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    vf q = 0.00139517174f * r + 0.00836959854f;
    q = q * r + 0.0416661873f;
    q = q * r + 0.166665122f;
    q = q * r + 0.5f;
    vf e = r * r * q + r + 1.0f;
    vi power = ((vi)shifted - 0x4B400000 + 127) << 23;
    return e * (vf)power;
}

// 1 + exp(-x) for what is divided by it and is NaN itself where x is; below 2^61, so that two of them can be multiplied.
INLINE vf silu_divisor_(vf x) { return 1.0f + power_of_two_(clamp(-1.44269504f * x, -60.0f, 60.0f)); }

INLINE vf sigmoid_(vf x) { return 1.0f / (1.0f + exp2_(-1.44269504f * x)); }

// tanh with full relative accuracy near zero: the rotation sums it over tens of thousands of tokens, and any bias with it.
INLINE vf tanh_(vf x) {
    vf u = x * x;
    vf q = 0.00206466205f * u - 0.00809196476f;
    q = q * u + 0.0216663443f;
    q = q * u - 0.0539405644f;
    q = q * u + 0.133331582f;
    q = q * u - 0.333333284f;
    vf near = x + x * u * q;
    vf far = 1.0f - 2.0f / (exp_(2.0f * clamp(x, -10.0f, 10.0f)) + 1.0f);
    vf limit = 0.65f * 0.65f - (vf){};
    return u < limit ? near : far;
}

// tanh of two numbers to an absolute error of 3e-7: enough where it is added to one, and less than half the work.
// One plus exp(2 x), below 2^61: two of them can be multiplied, and share a division.
INLINE vf tanh_divisor_(vf x) {
    const vf t = clamp(2.88539008f * x, -60.0f, 60.0f);
    return 1.0f + power_of_two_(t) + (t - t);
}
INLINE void tanh_near_one_(vf x, vf y, vf& of_x, vf& of_y) {
    const vf under = tanh_divisor_(x), other = tanh_divisor_(y), both = 2.0f / (under * other);
    of_x = 1.0f - both * other;
    of_y = 1.0f - both * under;
}

// exp(x) - 1 for x <= 0, with full relative accuracy near zero: a decay that differs from one by less than float32
// can hold still counts when it is applied as g + g * expm1 thousands of times.
INLINE vf expm1_(vf x) {
    vf q = 1.62104974e-4f * x + 0.00136702054f;
    q = q * x + 0.00832697004f;
    q = q * x + 0.0416657925f;
    q = q * x + 0.166666627f;
    q = q * x + 0.5f;
    vf small = x + x * x * q;
    vf bound = -0.5f - (vf){};
    return x > bound ? small : exp_(x) - 1.0f;
}

// 2^t = power * (1 + rest): with power * h exact, power * h + power * h * rest keeps the full relative accuracy of a decay,
// be it next to one or next to nothing.
INLINE void exp2_(vf t, vf& power, vf& rest) {
    t = clamp(t, -126.0f, 127.0f);
    const float magic = 12582912.0f;
    vf shifted = t + magic;
    vf r = t - (shifted - magic);
    vf q = 0.000154035122f * r + 0.00133907353f;
    q = q * r + 0.00961823761f;
    q = q * r + 0.0555035733f;
    q = q * r + 0.240226492f;
    q = q * r + 0.693147182f;
    rest = q * r;
    power = (vf)(((vi)shifted << 23) + 0x3F800000);
}
INLINE void exp2(V t, V& power, V& rest) { EACH exp2_(t.a[j_], power.a[j_], rest.a[j_]); }

// Sine and cosine of an angle in turns, |turns| <= 1.
INLINE void sincos_(vf turns, vf& sine, vf& cosine) {
    const float magic = 12582912.0f;
    vf shifted = turns * 4.0f + magic;
    vf quarter = shifted - magic;
    vi k = (vi)shifted;
    vf r = (turns - quarter * 0.25f) * 6.28318531f;
    vf u = r * r;
    vf s = 2.75573192e-6f * u - 1.98412698e-4f;
    s = s * u + 8.33333333e-3f;
    s = s * u - 0.166666667f;
    s = r + r * u * s;
    vf c = 2.48015873e-5f * u - 1.38888889e-3f;
    c = c * u + 4.16666667e-2f;
    c = c * u - 0.5f;
    c = 1.0f + u * c;
    vi odd = (k & 1) != 0, sine_negative = (k & 2) != 0, cosine_negative = ((k + 1) & 2) != 0;
    vf s1 = odd ? c : s, c1 = odd ? s : c;
    sine = sine_negative ? -s1 : s1;
    cosine = cosine_negative ? -c1 : c1;
}

// The normal distribution: Phi(x), and x's share of GELU's slope, x phi(x).
// erf by Abramowitz and Stegun 7.1.26, absolute error below 1.5e-7; its exponential is phi's as well.
INLINE void normal_(vf x, vf& below, vf& slope) {
    vf size = x < 0.0f ? -x : x;
    vf t = 1.0f / (1.0f + 0.3275911f * 0.707106781f * size);
    vf e = exp2_(-0.721347520f * x * x);
    vf q = 1.061405429f * t - 1.453152027f;
    q = q * t + 1.421413741f;
    q = q * t - 0.284496736f;
    q = q * t + 0.254829592f;
    vf tail = 0.5f * q * t * e;  // Phi(-|x|)
    below = x < 0.0f ? tail : 1.0f - tail;
    slope = x * e * 0.398942280f;
}

// x Phi(x) = max(x, 0) - |x| Phi(-|x|)
INLINE vf gelu_(vf x) {
    vf zero = {}, size = x < zero ? -x : x;
    vf t = 1.0f / (1.0f + 0.3275911f * 0.707106781f * size);
    vf q = 0.5f * 1.061405429f * t - 0.5f * 1.453152027f;
    q = q * t + 0.5f * 1.421413741f;
    q = q * t - 0.5f * 0.284496736f;
    q = q * t + 0.5f * 0.254829592f;
    vf above = x > zero ? x : zero;
    above = x != x ? x : above;
    return above - size * (q * t) * exp2_(-0.721347520f * x * x);
}
INLINE V gelu(V x) { V r; EACH r.a[j_] = gelu_(x.a[j_]); return r; }
INLINE V gelu_slope(V x) {
    V r;
    EACH {
        vf below, slope;
        normal_(x.a[j_], below, slope);
        r.a[j_] = below + slope;
    }
    return r;
}
INLINE void gelu_with_slope(V x, V& value, V& slope) {
    EACH {
        vf below, more;
        normal_(x.a[j_], below, more);
        value.a[j_] = x.a[j_] * below;
        slope.a[j_] = below + more;
    }
}
INLINE V sigmoid(V x) { V r; EACH r.a[j_] = sigmoid_(x.a[j_]); return r; }
INLINE V silu_divisor(V x) { V r; EACH r.a[j_] = silu_divisor_(x.a[j_]); return r; }
INLINE void tanh_near_one(V x, V y, V& of_x, V& of_y) { EACH tanh_near_one_(x.a[j_], y.a[j_], of_x.a[j_], of_y.a[j_]); }

}  // namespace SOMAMBA_ISA
