// Sixteen float lanes, whatever the machine's vectors are, and the few functions the kernels need on them.
// Included once for each instruction set (see isa_*.cpp); no standard header with inline functions may come in here,
// or the linker could hand a machine code of an instruction set it lacks.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"
#if defined(__x86_64__)
#if !defined(__clang__)
#pragma GCC diagnostic push  // GCC 12 warns of its own undefined vectors (its bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
#define INLINE_MEMBER inline __attribute__((always_inline))
#define INLINE static INLINE_MEMBER
#define APART static __attribute__((noinline))  // large, and called from many places: compiled once

namespace SOMAMBA_ISA {

constexpr int LANES = CONSTANTS.lanes;
constexpr int NV = LANES / SOMAMBA_WIDTH;  // native vectors in one V

typedef float vf __attribute__((vector_size(SOMAMBA_WIDTH * 4)));
typedef int32_t vi __attribute__((vector_size(SOMAMBA_WIDTH * 4)));
typedef float vfu __attribute__((vector_size(SOMAMBA_WIDTH * 4), aligned(4), may_alias));

struct V {
    vf a[NV];
};

INLINE int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

#define EACH UNROLL for (int j_ = 0; j_ < NV; ++j_)

INLINE V splat(float s) { V r; EACH r.a[j_] = s - (vf){}; return r; }
INLINE V load(const float* p) { V r; EACH r.a[j_] = *(const vfu*)(p + j_ * SOMAMBA_WIDTH); return r; }
INLINE void store(float* p, V x) { EACH *(vfu*)(p + j_ * SOMAMBA_WIDTH) = x.a[j_]; }
INLINE V operator+(V x, V y) { V r; EACH r.a[j_] = x.a[j_] + y.a[j_]; return r; }
INLINE V operator-(V x, V y) { V r; EACH r.a[j_] = x.a[j_] - y.a[j_]; return r; }
INLINE V operator*(V x, V y) { V r; EACH r.a[j_] = x.a[j_] * y.a[j_]; return r; }
INLINE V operator/(V x, V y) { V r; EACH r.a[j_] = x.a[j_] / y.a[j_]; return r; }
INLINE V operator*(V x, float s) { V r; EACH r.a[j_] = x.a[j_] * s; return r; }
INLINE V operator+(V x, float s) { V r; EACH r.a[j_] = x.a[j_] + s; return r; }
// x + y * s, one instruction where the machine has it
INLINE V fma(V x, V y, float s) { V r; EACH r.a[j_] = x.a[j_] + y.a[j_] * s; return r; }
INLINE V fma(V x, V y, V z) { V r; EACH r.a[j_] = x.a[j_] + y.a[j_] * z.a[j_]; return r; }

// The first `count` lanes; the others read as zero and are not written.
INLINE V load(const float* p, int count) {
    if (count == LANES) return load(p);
    float t[LANES] = {};
    for (int i = 0; i < count; ++i) t[i] = p[i];
    return load(t);
}
INLINE void store(float* p, V x, int count) {
    if (count == LANES) return store(p, x);
    float t[LANES];
    store(t, x);
    for (int i = 0; i < count; ++i) p[i] = t[i];
}

// ---- bfloat16: the upper half of a float; products take two neighbours at a time ------------------------------------

typedef uint16_t bf16;
typedef int32_t viu __attribute__((vector_size(SOMAMBA_WIDTH * 4), aligned(2), may_alias));

struct Pairs {
    vi a[NV];
};

INLINE Pairs load_pairs(const bf16* p) { Pairs r; EACH r.a[j_] = *(const viu*)(p + j_ * 2 * SOMAMBA_WIDTH); return r; }

// x + y[0] z[0] + y[1] z[1] in every lane
INLINE V dot(V x, Pairs y, const bf16* z) {
    int32_t pair;
    memcpy(&pair, z, sizeof pair);
    V r;
#if defined(SOMAMBA_BF16)
    r.a[0] = (vf)_mm512_dpbf16_ps((__m512)x.a[0], (__m512bh)y.a[0], (__m512bh)_mm512_set1_epi32(pair));
#else
    const vi both = pair - (vi){}, upper = (int32_t)0xffff0000 - (vi){};
    EACH r.a[j_] = x.a[j_] + (vf)(y.a[j_] << 16) * (vf)(both << 16) + (vf)(y.a[j_] & upper) * (vf)(both & upper);
#endif
    return r;
}

// To the nearest, ties to even; NaN stays NaN.
INLINE void round_row(const float* x, int64_t count, bf16* to) {
    for (int64_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        const uint32_t near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        to[i] = (bf16)(x[i] == x[i] ? near : 0x7fc0);
    }
}

// ---- sums over lanes: SOMAMBA_WIDTH vectors become one, each folded to its sum ----------------------------------

template <int... I>
struct Indices {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
    typedef Indices<I...> type;
};

// Runs of `step` lanes, in turn from x and from y, each added to its neighbour. Of both terms one keeps every lane in its
// place: that is a blend, which costs less than to move lanes.
constexpr int fold_lane(int j, int step, int width) { return j % (2 * step) < step ? j : width + j; }
constexpr int fold_neighbour(int j, int step, int width) { return j % (2 * step) < step ? j + step : width + j - step; }
template <int STEP, int... I>
INLINE vf fold(vf x, vf y, Indices<I...>) {
    return __builtin_shufflevector(x, y, fold_lane(I, STEP, SOMAMBA_WIDTH)...) +
           __builtin_shufflevector(x, y, fold_neighbour(I, STEP, SOMAMBA_WIDTH)...);
}

INLINE vf sums(const vf* x) {
    typedef Count<SOMAMBA_WIDTH>::type All;
    vf level[SOMAMBA_WIDTH];
    UNROLL for (int i = 0; i < SOMAMBA_WIDTH / 2; ++i) level[i] = fold<1>(x[2 * i], x[2 * i + 1], All());
    UNROLL for (int i = 0; i < SOMAMBA_WIDTH / 4; ++i) level[i] = fold<2>(level[2 * i], level[2 * i + 1], All());
#if SOMAMBA_WIDTH > 4
    UNROLL for (int i = 0; i < SOMAMBA_WIDTH / 8; ++i) level[i] = fold<4>(level[2 * i], level[2 * i + 1], All());
#endif
#if SOMAMBA_WIDTH > 8
    level[0] = fold<8>(level[0], level[1], All());
#endif
    return level[0];
}

INLINE vf halves(V x) {
    vf s = x.a[0];
    UNROLL for (int j = 1; j < NV; ++j) s += x.a[j];
    return s;
}

// Every lane plus the one STEP away, then half as far, down to LAST: with 1 each holds the sum of all in the end.
template <int STEP, int LAST, int... I>
INLINE vf fold_all(vf x, Indices<I...> all) {
    x = x + __builtin_shufflevector(x, x, (I ^ STEP)...);
    if constexpr (STEP > LAST) x = fold_all<STEP / 2, LAST>(x, all);
    return x;
}
INLINE float sum(vf x) { return fold_all<SOMAMBA_WIDTH / 2, 1>(x, Count<SOMAMBA_WIDTH>::type())[0]; }

// Lane i % 4 holds the sum of x[i].
INLINE vf four_sums(const V* x) {
    typedef Count<SOMAMBA_WIDTH>::type All;
    vf total = fold<2>(fold<1>(halves(x[0]), halves(x[1]), All()), fold<1>(halves(x[2]), halves(x[3]), All()), All());
    if constexpr (SOMAMBA_WIDTH > 4) total = fold_all<SOMAMBA_WIDTH / 2, 4>(total, All());
    return total;
}

INLINE vf sqrt_(vf x) {
#if defined(__x86_64__) && SOMAMBA_WIDTH == 16
    return (vf)_mm512_sqrt_ps((__m512)x);
#else
    UNROLL for (int i = 0; i < SOMAMBA_WIDTH; ++i) x[i] = sqrtf(x[i]);
    return x;
#endif
}

// Exchange lanes 0..7 with 8..15.
template <int... I>
INLINE vf exchange(vf x, Indices<I...>) {
    return __builtin_shufflevector(x, x, ((I + SOMAMBA_WIDTH / 2) % SOMAMBA_WIDTH)...);
}
INLINE V swap_halves(V x) {
    V r;
#if SOMAMBA_WIDTH == 16
    r.a[0] = exchange(x.a[0], Count<SOMAMBA_WIDTH>::type());
#else
    EACH r.a[j_] = x.a[(j_ + NV / 2) % NV];
#endif
    return r;
}

}  // namespace SOMAMBA_ISA
