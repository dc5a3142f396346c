// One tile of the scan, backward, over a block of tokens: gate, adjoint recurrence and lift. The formulas are in
// scan_backward.h.
#pragma once
#include "scan_partial.h"

namespace SOMAMBA_ISA {

// Through gate and contraction: dy, dz, and the gradients of mimo_z and mimo_o. The read-out, made again, is written after
// its gradient is read, and nothing reads that again: both may lie in the same place.
template <int RC>
INLINE void gate_backward(const ScanCall& a, const ScanGradient& d, const Block& block, const BackwardTile& w, Backward& m,
                          int64_t start) {
    const int64_t R = RC ? RC : a.rank;
    const float* z = a.z.data + w.b * a.z.batch + start * a.z.token + w.h * a.z.head + w.tile * LANES;
    const float* dout = d.dout.data + w.b * d.dout.batch + start * d.dout.token + w.h * d.dout.head + w.tile * LANES;
    float* dz = d.z.data + w.b * d.z.batch + start * d.z.token + w.h * d.z.head + w.tile * LANES;
    float* out = d.readout.data;
    if (out) out += w.b * d.readout.batch + start * d.readout.token + w.h * d.readout.head + w.tile * LANES;
    float* dmz = m.dlifts + (w.tile * 3 + 1) * R * LANES;
    float* dmo = m.dlifts + (w.tile * 3 + 2) * R * LANES;
    if constexpr (RC > 0 && RC % 2 == 0) {  // two ranks share a division, and all sums stay in registers
        V of_mz[RC], of_mo[RC];
        UNROLL for (int r = 0; r < RC; ++r) of_mz[r] = load(dmz + r * LANES), of_mo[r] = load(dmo + r * LANES);
        for (int64_t t = 0; t < block.length; ++t) {
            const V zt = load(z + t * a.z.token, w.lanes), upstream = load(dout + t * d.dout.token, w.lanes);
            V total = splat(0), read = splat(0);
            UNROLL for (int r = 0; r < RC; r += 2) {
                V lifted[2], under[2];
                UNROLL for (int i = 0; i < 2; ++i) {
                    lifted[i] = zt * load(w.mz + (r + i) * LANES);
                    under[i] = silu_divisor(lifted[i]);
                }
                const V both = splat(1) / (under[0] * under[1]);
                UNROLL for (int i = 0; i < 2; ++i) {
                    const V on = both * under[1 - i], gated = lifted[i] * on, mo = load(w.mo + (r + i) * LANES);
                    const V y = load(w.y + (t * R + r + i) * LANES), weighed = upstream * mo;
                    store(w.dy + (t * R + r + i) * LANES, weighed * gated);
                    read = fma(read, y * mo, gated);
                    of_mo[r + i] = fma(of_mo[r + i], upstream * y, gated);
                    const V dlifted = weighed * y * (on + gated * (splat(1) - on));
                    total = fma(total, dlifted, load(w.mz + (r + i) * LANES));
                    of_mz[r + i] = fma(of_mz[r + i], dlifted, zt);
                }
            }
            store(dz + t * d.z.token, total, w.lanes);
            if (out) store(out + t * d.readout.token, read, w.lanes);
        }
        UNROLL for (int r = 0; r < RC; ++r) store(dmz + r * LANES, of_mz[r]), store(dmo + r * LANES, of_mo[r]);
        return;
    }
    for (int64_t t = 0; t < block.length; ++t) {
        const V zt = load(z + t * a.z.token, w.lanes), upstream = load(dout + t * d.dout.token, w.lanes);
        V total = splat(0), read = splat(0);
        UNROLL for (int64_t r = 0; r < R; ++r) {
            const V mz = load(w.mz + r * LANES), mo = load(w.mo + r * LANES), y = load(w.y + (t * R + r) * LANES);
            const V lifted = zt * mz, on = sigmoid(lifted), gated = lifted * on;
            store(w.dy + (t * R + r) * LANES, upstream * mo * gated);
            read = fma(read, y * mo, gated);
            store(dmo + r * LANES, fma(load(dmo + r * LANES), upstream * y, gated));
            const V slope = on * (splat(1) + lifted * (splat(1) - on));
            const V dlifted = upstream * mo * y * slope;
            total = fma(total, dlifted, mz);
            store(dmz + r * LANES, fma(load(dmz + r * LANES), dlifted, zt));
        }
        store(dz + t * d.z.token, total, w.lanes);
        if (out) store(out + t * d.readout.token, read, w.lanes);
    }
}

// The adjoint recurrence of one tile: Lambda at every token, its share of dv (into y), and dalpha.
template <int RC, bool N16>
INLINE void adjoint(const Shape& shape, const Block& block, const BackwardTile& w, Backward& m, int64_t rank) {
    const int64_t R = RC ? RC : rank, wide = shape.tiles * LANES, lane0 = w.tile * LANES;
    const int64_t row = N16 ? LANES : shape.row, states = N16 ? LANES : shape.n;
    for (int64_t n0 = 0; n0 < states; n0 += NT) {
        V L[NT];
        UNROLL for (int i = 0; i < NT; ++i) L[i] = load(w.carried + (n0 + i) * LANES);
        for (int64_t t = block.length - 1; t >= 0; --t) {
            const float *k = block.kc + t * R * row + n0, *q = block.q + t * R * row + n0;
            const float* dy = w.dy + t * R * LANES;
            const float* before = (t ? w.g + (t - 1) * shape.n * LANES : w.entering) + n0 * LANES;
            float* dv = w.y + t * R * LANES;
            // The decay of the token after this one, added together with the first input as in advance().
            const float shrink = t + 1 < block.length ? block.shrink[t + 1] : 0.0f;
            const V dy0 = load(dy);
            UNROLL for (int i = 0; i < NT; ++i) L[i] = L[i] + fma(dy0 * q[i], L[i], shrink);
            UNROLL for (int64_t r = 1; r < R; ++r) {
                const V dyr = load(dy + r * LANES);
                UNROLL for (int i = 0; i < NT; ++i) L[i] = fma(L[i], dyr, q[r * row + i]);
            }
            V da = n0 ? load(m.dalpha + t * wide + lane0) : splat(0);
            if constexpr (RC > 0) {  // the ranks take turns, so that none waits for its own sum
                V total[RC];
                UNROLL for (int r = 0; r < RC; ++r) total[r] = n0 ? load(dv + r * LANES) : splat(0);
                UNROLL for (int i = 0; i < NT; ++i) {
                    UNROLL for (int r = 0; r < RC; ++r) total[r] = fma(total[r], L[i], k[r * row + i]);
                    da = fma(da, L[i], load(before + i * LANES));
                }
                UNROLL for (int r = 0; r < RC; ++r) store(dv + r * LANES, total[r]);
            } else {
                for (int64_t r = 0; r < R; ++r) {
                    V total = n0 ? load(dv + r * LANES) : splat(0);
                    UNROLL for (int i = 0; i < NT; ++i) total = fma(total, L[i], k[r * row + i]);
                    store(dv + r * LANES, total);
                }
                UNROLL for (int i = 0; i < NT; ++i) da = fma(da, L[i], load(before + i * LANES));
            }
            store(m.dalpha + t * wide + lane0, da);
            UNROLL for (int i = 0; i < NT; ++i) store(w.adjoint + (t * shape.n + n0 + i) * LANES, L[i]);
        }
        const float shrink = block.shrink[0];
        UNROLL for (int i = 0; i < NT; ++i) store(w.carried + (n0 + i) * LANES, fma(L[i], L[i], shrink));
    }
}

// dv completed through skip and correction, then to dx and mimo_x.
template <int RC>
INLINE void lift_backward(const ScanCall& a, const ScanGradient& d, const Block& block, const BackwardTile& w, Backward& m,
                          int64_t start) {
    const int64_t R = RC ? RC : a.rank, lane0 = w.tile * LANES;
    const float* x = a.x.data + w.b * a.x.batch + start * a.x.token + w.h * a.x.head + lane0;
    float* dx = d.x.data + w.b * d.x.batch + start * d.x.token + w.h * d.x.head + lane0;
    float* dmx = m.dlifts + w.tile * 3 * R * LANES;
    if constexpr (RC > 0) {  // the sums and the gradients of one token stay in registers
        V of_mx[RC];
        UNROLL for (int r = 0; r < RC; ++r) of_mx[r] = load(dmx + r * LANES);
        for (int64_t t = 0; t < block.length; ++t) {
            const V xt = load(x + t * a.x.token, w.lanes);
            const float* corr = block.corr + t * R * R;
            V dy[RC], total = splat(0);
            UNROLL for (int u = 0; u < RC; ++u) dy[u] = load(w.dy + (t * R + u) * LANES);
            UNROLL for (int r = 0; r < RC; ++r) {
                V dv = load(w.y + (t * R + r) * LANES);
                UNROLL for (int u = 0; u < RC; ++u) dv = fma(dv, dy[u], corr[u * RC + r]);
                total = fma(total, dv, load(w.mx + r * LANES));
                of_mx[r] = fma(of_mx[r], dv, xt);
            }
            store(dx + t * d.x.token, total, w.lanes);
        }
        UNROLL for (int r = 0; r < RC; ++r) store(dmx + r * LANES, of_mx[r]);
        return;
    }
    for (int64_t t = 0; t < block.length; ++t) {
        const V xt = load(x + t * a.x.token, w.lanes);
        const float* corr = block.corr + t * R * R;
        V total = splat(0);
        UNROLL for (int64_t r = 0; r < R; ++r) {
            V dv = load(w.y + (t * R + r) * LANES);
            UNROLL for (int64_t u = 0; u < R; ++u) dv = fma(dv, load(w.dy + (t * R + u) * LANES), corr[u * R + r]);
            total = fma(total, dv, load(w.mx + r * LANES));
            store(dmx + r * LANES, fma(load(dmx + r * LANES), dv, xt));
        }
        store(dx + t * d.x.token, total, w.lanes);
    }
}

}  // namespace SOMAMBA_ISA
