// The scan, backward: blocks in reverse, each recomputed from the state saved at its start.
//
// With W[r][r'] = dy[r] . v[r'] and Lambda the adjoint of the carried state g:
//   Lambda[t] = sum_r q[r] dy[r] + alpha[t+1] Lambda[t+1]
//   dq[r]  = g dy[r] - s sum_r' k[r'] W[r][r']          dv[r'] = sum_n c k[r'] Lambda + sum_r corr[r][r'] dy[r]
//   dk[r'] = c Lambda v[r'] - s sum_r q[r] W[r][r']     dalpha = Lambda . g[t-1],  dc = sum_r k[r] . (Lambda v[r])
#pragma once
#include "scan_adjoint.h"

namespace SOMAMBA_ISA {

// From the sums over p to the gradients of one token's interfaces, weights and rotation; `to` is its partial row.
template <int RC, bool N16>
INLINE void interface_backward(const ScanCall& a, const Shape& shape, const Block& block, Backward& m, const Partial& partial,
                               int64_t h, int64_t t, float* to) {
    const int64_t R = RC ? RC : a.rank, row = N16 ? LANES : shape.row, half = a.n / 2, group = h / (a.heads / a.groups);
    const float *q = block.q + t * R * row, *k = block.k + t * R * row, *qk = block.qk + t * R * R;
    float *dq = m.dq + t * R * row, *dk = m.dk + t * R * row;
    const float *W = m.W + t * R * R, s = block.s[t], c = block.c[t];
    V products = splat(0);
    for (int64_t i = 0; i < R * row; i += LANES) products = fma(products, load(k + i), load(dk + i));  // dk holds Lambda v
    const float dc = sum(halves(products));
    V weighed = splat(0);
    for (int64_t i = 0; i < R * R; i += LANES) {
        const int lanes = (int)least(LANES, R * R - i);
        weighed = fma(weighed, load(qk + i, lanes), load(W + i, lanes));
    }
    const float ds = -sum(halves(weighed));
    for (int64_t r = 0; r < R; ++r)
        for (int64_t i = 0; i < row; i += LANES) {
            V of_q = load(dq + r * row + i), of_k = load(dk + r * row + i) * c;
            for (int64_t u = 0; u < R; ++u) {
                of_q = fma(of_q, load(k + u * row + i), -s * W[r * R + u]);
                of_k = fma(of_k, load(q + u * row + i), -s * W[u * R + r]);
            }
            store(dq + r * row + i, of_q);
            store(dk + r * row + i, of_k);
        }
    float* phases = to + 2 * partial.interface + partial.scalars + h * shape.angles;
    if constexpr (N16) {
        V turned = splat(0);
        for (int64_t r = 0; r < R; ++r) {
            turned = fma(turned, load(dq + r * row), swap_halves(load(q + r * row)));
            turned = fma(turned, load(dk + r * row), swap_halves(load(k + r * row)));
        }
        float both[LANES];
        store(both, turned);
        for (int64_t i = 0; i < shape.angles; ++i) phases[i] += both[i + LANES / 2] - both[i];
    } else {
        for (int64_t i = 0; i < shape.angles; ++i) {
            float turned = 0;
            for (int64_t r = 0; r < R; ++r) {
                const int64_t low = r * row + i, up = low + half;
                turned += dq[up] * q[low] - dq[low] * q[up] + dk[up] * k[low] - dk[low] * k[up];
            }
            phases[i] += turned;
        }
    }
    // Turned back: the transpose of turn() has the partner's factor with the other sign.
    const float *with = block.with + t * row, *against = block.against + t * row;
    for (int64_t r = 0; r < R; ++r) {
        float *dC = to + (r * a.groups + group) * a.n, *dB = dC + partial.interface;
        for (int side = 0; side < 2; ++side) {
            float *from = (side ? dk : dq) + r * row, *sum_ = side ? dB : dC;
            for (int64_t i = 0; i < row; i += LANES) {
                const int lanes = (int)least(LANES, a.n - i);
                const V other = partner<N16>(from, a.n, i, block.pair), own = load(from + i);
                const V turned = fma(own * load(with + i), other, load(against + i) * -1.0f);
                store(from + i, turned);
                store(sum_ + i, load(sum_ + i, lanes) + turned, lanes);
            }
        }
    }
    float* scalars = to + 2 * partial.interface + 3 * h;
    scalars[0] += dc;
    scalars[1] += dc + ds;
}

// Gradients of the parameters, summed over one block and added to the worker's own.
INLINE void parameters_backward(const ScanCall& a, const Shape& shape, const Block& block, const Backward& m,
                                const Partial& partial, int64_t h, int64_t tile0, int64_t tile1, float* worker) {
    const int64_t R = a.rank, n = a.n;
    float *dC_bias = worker + h * R * n, *dB_bias = dC_bias + partial.bias;
    float* dmimo = worker + 2 * partial.bias + h * R * a.p;
    float dD = 0;
    for (int64_t r = 0; r < R; ++r)
        for (int64_t i = 0; i < n; i += LANES) {
            const int lanes = (int)least(LANES, n - i);
            V q = splat(0), k = splat(0);
            for (int64_t t = 0; t < block.length; ++t) {
                q = q + load(m.dq + (t * R + r) * shape.row + i);
                k = k + load(m.dk + (t * R + r) * shape.row + i);
            }
            store(dC_bias + r * n + i, load(dC_bias + r * n + i, lanes) + q, lanes);
            store(dB_bias + r * n + i, load(dB_bias + r * n + i, lanes) + k, lanes);
        }
    for (int64_t t = 0; t < block.length; ++t)
        for (int64_t r = 0; r < R; ++r) dD += m.W[t * R * R + r * R + r];
    worker[2 * partial.bias + 3 * partial.lifts + h] += dD;
    for (int64_t tile = tile0; tile < tile1; ++tile) {
        const int lanes = (int)least(LANES, a.p - tile * LANES);
        for (int64_t which = 0; which < 3; ++which)
            for (int64_t r = 0; r < R; ++r) {
                float* to = dmimo + which * partial.lifts + r * a.p + tile * LANES;
                store(to, load(to, lanes) + load(m.dlifts + ((tile * 3 + which) * R + r) * LANES), lanes);
            }
    }
}

template <int RC, bool N16>
static void backward_head(const ScanCall& a, const ScanGradient& d, const Shape& shape, Block& block, Backward& m,
                          const Partial& partial, int64_t b, int64_t h, int64_t tile0, int64_t tile1, int64_t number,
                          float* rows, float* worker) {
    const int64_t R = RC ? RC : a.rank, wide = shape.tiles * LANES, row = shape.row, start = number * BLOCK;
    const int64_t state = shape.n * LANES, at = boundary_at(a, shape, b, h, number);
    memcpy(m.turns, a.turns + at * shape.angles, shape.angles * sizeof(double));
    memset(m.dlifts, 0, 3 * R * wide * sizeof(float));
    block.template prepare<RC, N16>(a, shape, b, h, start, m.turns);
    if (number) {
        const Strided ahead[] = {a.x, a.z, d.dout, d.x, d.z};
        for (const Strided& part : ahead) prefetch_rows(part, b, h, start - BLOCK, BLOCK, tile0, tile1);
    }
    for (int64_t tile = tile0; tile < tile1; ++tile) {
        const float* saved = a.boundary + (at * shape.tiles + tile) * state;
        memcpy(m.state, saved, state * sizeof(float));
        const float* lifts = m.lifts + (h * shape.tiles + tile) * 3 * R * LANES;
        const BackwardTile w{{b, h, tile, (int)least(LANES, a.p - tile * LANES), m.v + tile * BLOCK * R * LANES, m.y, m.state,
                              lifts, lifts + R * LANES, lifts + 2 * R * LANES},
                             saved, m.g + tile * BLOCK * state, m.adjoint + tile * BLOCK * state,
                             m.dy + tile * BLOCK * R * LANES, m.carried + (h * shape.tiles + tile) * state};
        lift<RC>(a, block, w, start);
        advance<RC, N16, KEEP_G>(a, shape, block, w, start, w.g);
        gate_backward<RC>(a, d, block, w, m, start);
        adjoint<RC, N16>(shape, block, w, m, R);
        lift_backward<RC>(a, d, block, w, m, start);
    }
    const int64_t lane0 = tile0 * LANES, lane1 = tile1 * LANES, tiles = tile1 - tile0;
    for (int64_t t = 0; t < block.length; ++t) {
        const int64_t of_rank = (tile0 * BLOCK + t) * R * LANES, of_state = (tile0 * BLOCK + t) * state;
        const Lanes dy{m.dy + of_rank, LANES, BLOCK * R * LANES}, v{m.v + of_rank, LANES, BLOCK * R * LANES};
        const Lanes g{m.g + of_state, LANES, BLOCK * state}, adjoint{m.adjoint + of_state, LANES, BLOCK * state};
        contract<RC, true>(g, shape.n, dy, R, tiles, m.dq + t * R * row, row);
        contract<RC, true>(adjoint, shape.n, v, R, tiles, m.dk + t * R * row, row);
        contract<RC>(dy, R, v, R, tiles, m.W + t * R * R);
        vf total = {};
        for (int64_t lane = lane0; lane < lane1; lane += SOMAMBA_WIDTH) total += *(const vfu*)(m.dalpha + t * wide + lane);
        float* to = rows + t * partial.row_size();
        to[2 * partial.interface + 3 * h + 2] += sum(total);
        interface_backward<RC, N16>(a, shape, block, m, partial, h, t, to);
    }
    parameters_backward(a, shape, block, m, partial, h, tile0, tile1, worker);
}

template <int RC, bool N16>
static void scan_backward_rank(const ScanCall& a, const ScanGradient& d, int index, int count) {
    const Shape shape(a);
    const Share share(a, shape, index, count);
    const Partial partial(a, shape, d.partial, count);
    Arena arena{a.scratch + index * backward_scratch(shape, a.heads)};
    Block block(arena, shape);
    Backward m(arena, shape, a.heads);
    memset(m.dq, 0, BLOCK * shape.rank * shape.row * sizeof(float));  // entries beyond n are read, never written
    memset(m.dk, 0, BLOCK * shape.rank * shape.row * sizeof(float));
    const int64_t R = a.rank, wide = shape.tiles * LANES, per_batch = a.heads * shape.tiles;
    float* worker = partial.of_worker(index);
    memset(worker, 0, partial.worker * sizeof(float));
    for (int64_t h = 0; h < a.heads; ++h)
        for (int64_t tile = 0; tile < shape.tiles; ++tile) {
            const int lanes = (int)least(LANES, a.p - tile * LANES);
            float* own = m.lifts + (h * shape.tiles + tile) * 3 * R * LANES;
            gather_lift(a.mimo_x, a, h, tile, lanes, own);
            gather_lift(a.mimo_z, a, h, tile, lanes, own + R * LANES);
            gather_lift(a.mimo_o, a, h, tile, lanes, own + 2 * R * LANES);
        }
    if (share.begin == share.end) return;
    for (int64_t b = share.begin / per_batch; b <= (share.end - 1) / per_batch; ++b) {
        memset(m.carried, 0, a.heads * shape.n * wide * sizeof(float));
        for (int64_t number = shape.blocks - 1; number >= 0; --number) {
            const int64_t start = number * BLOCK;
            float* rows = partial.row(b + index, start);
            memset(rows, 0, least(BLOCK, a.tokens - start) * partial.row_size() * sizeof(float));
            for (int64_t h = 0; h < a.heads; ++h) {
                const int64_t unit = (b * a.heads + h) * shape.tiles;
                const int64_t tile0 = share.begin > unit ? least(shape.tiles, share.begin - unit) : 0;
                const int64_t tile1 = share.end > unit ? least(shape.tiles, share.end - unit) : 0;
                if (tile0 < tile1) backward_head<RC, N16>(a, d, shape, block, m, partial, b, h, tile0, tile1, number, rows, worker);
            }
        }
    }
}

static void scan_backward(const ScanCall& a, const ScanGradient& d, int index, int count) {
    if (a.rank == 4 && a.n == LANES) scan_backward_rank<4, true>(a, d, index, count);
    else if (a.rank == 4) scan_backward_rank<4, false>(a, d, index, count);
    else if (a.rank == 1) scan_backward_rank<1, false>(a, d, index, count);
    else scan_backward_rank<0, false>(a, d, index, count);
}

}  // namespace SOMAMBA_ISA
