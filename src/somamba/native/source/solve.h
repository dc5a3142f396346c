// The parts of conjugate gradients for (S^H F^H M F S + s) d = r where whole columns are acquired: the transforms along
// columns cancel, every image row is on its own, and sixteen rows fill the lanes. A block of rows meets all coils while it
// is in the first cache. Rows beyond the image are zero, and stay it.
#pragma once
#include "transform.h"

namespace SOMAMBA_ISA {

INLINE int64_t block_size(const Solve& a) { return a.transform.width * 2 * LANES; }

template <typename F>
INLINE void each_block(const Solve& a, int index, int count, const F& work) {
    for (int64_t block = a.blocks * index / count; block < a.blocks * (index + 1) / count; ++block) work(block);
}

// Maps (coils, height, width) of complex numbers to blocks of rows.
static void solve_pack(const Solve& a, int index, int count) {
    const int64_t W = a.transform.width, size = block_size(a);
    each_block(a, index, count, [&](int64_t block) {
        for (int64_t c = 0; c < a.coils; ++c) {
            float* to = a.packed + (c * a.blocks + block) * size;
            for (int64_t r = 0; r < LANES; ++r) {
                const int64_t y = block * LANES + r;
                const float* from = a.maps + (c * a.height + y) * W * 2;
                for (int64_t i = 0; i < 2 * W; ++i) to[i * LANES + r] = y < a.height ? from[i] : 0.0f;
            }
        }
    });
}

INLINE double total(V x) {
    float lanes[LANES];
    store(lanes, x);
    double result = 0;
    for (int i = 0; i < LANES; ++i) result += (double)lanes[i];
    return result;
}

// direction = residual + ratio direction, and what the system makes of it; their inner product goes to sums.
static void solve_apply(const Solve& a, float ratio, int index, int count) {
    const int64_t W = a.transform.width, size = block_size(a);
    float* line = a.lines + index * size;
    double product = 0;
    each_block(a, index, count, [&](int64_t block) {
        const float* residual = a.residual + block * size;
        float *direction = a.direction + block * size, *applied = a.applied + block * size;
        for (int64_t i = 0; i < size; i += LANES) {
            const V now = fma(load(residual + i), load(direction + i), ratio);
            store(direction + i, now);
            store(applied + i, now * a.strength);
        }
        for (int64_t c = 0; c < a.coils; ++c) {
            const float* map = a.packed + (c * a.blocks + block) * size;
            for (int64_t i = 0; i < size; i += 2 * LANES) store_complex(line + i, times(load_complex(map + i), load_complex(direction + i)));
            transform(a.transform, line);
            for (int64_t x = 0; x < W; ++x) {
                const Z z = load_complex(line + x * 2 * LANES);
                store_complex(line + x * 2 * LANES, {z.re * a.keep[x], z.im * a.keep[x]});
            }
            transform_adjoint(a.transform, line);
            for (int64_t i = 0; i < size; i += 2 * LANES)
                store_complex(applied + i, load_complex(applied + i) + times_conjugate(load_complex(line + i), load_complex(map + i)));
        }
        V along = splat(0);
        for (int64_t i = 0; i < size; i += LANES) along = fma(along, load(direction + i), load(applied + i));
        product += total(along);
    });
    a.sums[index] = product;
}

// A step of this length; the energy of what is left goes to sums.
static void solve_advance(const Solve& a, float length, int index, int count) {
    const int64_t size = block_size(a);
    double energy = 0;
    each_block(a, index, count, [&](int64_t block) {
        V squares = splat(0);
        for (int64_t i = block * size; i < (block + 1) * size; i += LANES) {
            store(a.solution + i, fma(load(a.solution + i), load(a.direction + i), length));
            const V left = fma(load(a.residual + i), load(a.applied + i), -length);
            store(a.residual + i, left);
            squares = fma(squares, left, left);
        }
        energy += total(squares);
    });
    a.sums[index] = energy;
}

}  // namespace SOMAMBA_ISA
