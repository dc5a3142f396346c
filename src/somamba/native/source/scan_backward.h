// The scan, backward: blocks in reverse, each recomputed from the state saved at its start.
//
// With W[r'][r] = v[r'] . dy[r] and Lambda the adjoint of the carried state g:
//   Lambda[t] = sum_r q[r] dy[r] + alpha[t+1] Lambda[t+1]
//   dq[r]  = g dy[r] - s sum_r' k[r'] W[r'][r]          dv[r'] = sum_n c k[r'] Lambda + sum_r corr[r][r'] dy[r]
//   dk[r'] = c Lambda v[r'] - s sum_r q[r] W[r'][r]     dalpha = Lambda . g[t-1],  dc = sum_r k[r] . (Lambda v[r])
#pragma once
#include "scan_forward.h"

namespace SOMAMBA_ISA {

// Sums over p and over heads meet here. A worker owns a contiguous range of tiles, so the pairs (batch entry, worker)
// form a staircase and b + worker numbers them without gaps.
struct Partial {
    int64_t interface, scalars, phases, slot;  // floats: of dB (and of dC); of dc, ds, dalpha; of dtheta; of one slot
    int64_t bias, lifts, worker;               // floats: of dB_bias (and dC_bias); of one mimo gradient; of one worker
    int64_t slots;
    float* base;
    Partial(const Scan& a, const Shape& shape, float* memory, int count) : base(memory) {
        interface = a.rank * a.groups * a.n;
        scalars = 3 * a.heads;
        phases = a.heads * shape.angles;
        slot = a.tokens * (2 * interface + scalars + phases);
        slots = a.batch + count - 1;
        bias = a.heads * a.rank * a.n;
        lifts = a.heads * a.rank * a.p;
        worker = 2 * bias + 3 * lifts + a.heads;
    }
    int64_t floats(int count) const { return slots * slot + count * worker; }
    float* row(int64_t number, int64_t token) const {
        return base + number * slot + token * (2 * interface + scalars + phases);
    }
    int64_t row_size() const { return 2 * interface + scalars + phases; }
    float* of_worker(int index) const { return base + slots * slot + index * worker; }
};

// Buffers of one worker.
struct Backward {
    float *g, *adjoint;          // BLOCK n tiles 16: g after each token; Lambda
    float *v, *dy;               // BLOCK rank tiles 16
    float* y;                    // BLOCK rank 16: read-out of one tile, then its dv
    float* dalpha;               // BLOCK tiles 16, lanes not yet summed
    float *entering, *state;     // n tiles 16: g before the block; n 16
    float* carried;              // heads n tiles 16: alpha Lambda of the token after the block
    float *dq, *dk, *W;          // BLOCK rank row, BLOCK rank row, BLOCK rank rank: v[r'] . dy[r] at [r'][r]
    float *lifts, *dlifts;       // heads tiles 3 rank 16: mimo_x, mimo_z, mimo_o; tiles 3 rank 16: gradients of a block
    double* turns;
    Backward(Arena& arena, const Shape& s, int64_t heads) {
        const int64_t wide = s.tiles * LANES;
        g = arena.take(BLOCK * s.n * wide);
        adjoint = arena.take(BLOCK * s.n * wide);
        v = arena.take(BLOCK * s.rank * wide);
        dy = arena.take(BLOCK * s.rank * wide);
        y = arena.take(BLOCK * s.rank * LANES);
        dalpha = arena.take(BLOCK * wide);
        entering = arena.take(s.n * wide);
        state = arena.take(s.n * LANES);
        carried = arena.take(heads * s.n * wide);
        dq = arena.take(BLOCK * s.rank * s.row);
        dk = arena.take(BLOCK * s.rank * s.row);
        W = arena.take(BLOCK * s.rank * s.rank);
        lifts = arena.take(heads * 3 * s.rank * wide);
        dlifts = arena.take(3 * s.rank * wide);
        turns = (double*)arena.take(2 * s.angles);
    }
    static int64_t floats(const Shape& s, int64_t heads) {
        const int64_t wide = s.tiles * LANES;
        return BLOCK * (2 * s.n * wide + 2 * s.rank * wide + s.rank * LANES + wide + 2 * s.row * s.rank + s.rank * s.rank) +
               s.n * (wide + LANES + heads * wide) + 3 * s.rank * wide * (heads + 1) + 2 * s.angles + 16 * LANES;
    }
};

INLINE int64_t backward_scratch(const Shape& shape, int64_t heads) {
    return round_up(Block::floats(shape) + Backward::floats(shape, heads), LANES);
}

// Through gate and contraction: dy, dz, and the gradients of mimo_z and mimo_o.
template <int RC>
INLINE void gate_backward(const Scan& a, const ScanGradient& d, const Shape& shape, const Block& block, const Tile& w,
                          Backward& m, int64_t start) {
    const int64_t R = RC ? RC : a.rank, wide = shape.tiles * LANES;
    const float* z = a.z.data + w.b * a.z.batch + start * a.z.token + w.h * a.z.head + w.tile * LANES;
    const float* dout = d.dout.data + w.b * d.dout.batch + start * d.dout.token + w.h * d.dout.head + w.tile * LANES;
    float* dz = d.z.data + w.b * d.z.batch + start * d.z.token + w.h * d.z.head + w.tile * LANES;
    float* out = d.readout.data;
    if (out) out += w.b * d.readout.batch + start * d.readout.token + w.h * d.readout.head + w.tile * LANES;
    float* dmz = m.dlifts + (w.tile * 3 + 1) * R * LANES;
    float* dmo = m.dlifts + (w.tile * 3 + 2) * R * LANES;
    for (int64_t t = 0; t < block.length; ++t) {
        const V zt = load(z + t * a.z.token, w.lanes), upstream = load(dout + t * d.dout.token, w.lanes);
        V total = splat(0), read = splat(0);
        UNROLL for (int64_t r = 0; r < R; ++r) {
            const V mz = load(w.mz + r * LANES), mo = load(w.mo + r * LANES), y = load(w.y + (t * R + r) * LANES);
            const V lifted = zt * mz, on = sigmoid(lifted), gated = lifted * on;
            store(m.dy + (t * R + r) * wide + w.tile * LANES, upstream * mo * gated);
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
INLINE void adjoint(const Shape& shape, const Block& block, const Tile& w, Backward& m, float* carried, int64_t rank) {
    const int64_t R = RC ? RC : rank, wide = shape.tiles * LANES, lane0 = w.tile * LANES;
    const int64_t row = N16 ? LANES : shape.row, states = N16 ? LANES : shape.n;
    for (int64_t n0 = 0; n0 < states; n0 += NT) {
        V L[NT];
        UNROLL for (int i = 0; i < NT; ++i) L[i] = load(carried + (n0 + i) * wide + lane0);
        for (int64_t t = block.length - 1; t >= 0; --t) {
            const float *k = block.kc + t * R * row + n0, *q = block.q + t * R * row + n0;
            const float* dy = m.dy + t * R * wide + lane0;
            const float* before = (t ? m.g + (t - 1) * shape.n * wide : m.entering) + n0 * wide + lane0;
            float* dv = w.y + t * R * LANES;
            // The decay of the token after this one, added together with the first input as in advance().
            const float shrink = t + 1 < block.length ? block.shrink[t + 1] : 0.0f;
            const V dy0 = load(dy);
            UNROLL for (int i = 0; i < NT; ++i) L[i] = L[i] + fma(dy0 * q[i], L[i], shrink);
            UNROLL for (int64_t r = 1; r < R; ++r) {
                const V dyr = load(dy + r * wide);
                UNROLL for (int i = 0; i < NT; ++i) L[i] = fma(L[i], dyr, q[r * row + i]);
            }
            UNROLL for (int64_t r = 0; r < R; ++r) {
                V total = n0 ? load(dv + r * LANES) : splat(0);
                UNROLL for (int i = 0; i < NT; ++i) total = fma(total, L[i], k[r * row + i]);
                store(dv + r * LANES, total);
            }
            V da = n0 ? load(m.dalpha + t * wide + lane0) : splat(0);
            UNROLL for (int i = 0; i < NT; ++i) da = fma(da, L[i], load(before + i * wide));
            store(m.dalpha + t * wide + lane0, da);
            UNROLL for (int i = 0; i < NT; ++i) store(m.adjoint + (t * shape.n + n0 + i) * wide + lane0, L[i]);
        }
        const float shrink = block.shrink[0];
        UNROLL for (int i = 0; i < NT; ++i) store(carried + (n0 + i) * wide + lane0, fma(L[i], L[i], shrink));
    }
}

// dv completed through skip and correction, then to dx and mimo_x.
template <int RC>
INLINE void lift_backward(const Scan& a, const ScanGradient& d, const Shape& shape, const Block& block, const Tile& w,
                          Backward& m, int64_t start) {
    const int64_t R = RC ? RC : a.rank, wide = shape.tiles * LANES, lane0 = w.tile * LANES;
    const float* x = a.x.data + w.b * a.x.batch + start * a.x.token + w.h * a.x.head + lane0;
    float* dx = d.x.data + w.b * d.x.batch + start * d.x.token + w.h * d.x.head + lane0;
    float* dmx = m.dlifts + w.tile * 3 * R * LANES;
    for (int64_t t = 0; t < block.length; ++t) {
        const V xt = load(x + t * a.x.token, w.lanes);
        const float* corr = block.corr + t * R * R;
        V total = splat(0);
        UNROLL for (int64_t r = 0; r < R; ++r) {
            V dv = load(w.y + (t * R + r) * LANES);
            UNROLL for (int64_t u = 0; u < R; ++u) dv = fma(dv, load(m.dy + (t * R + u) * wide + lane0), corr[u * R + r]);
            total = fma(total, dv, load(w.mx + r * LANES));
            store(dmx + r * LANES, fma(load(dmx + r * LANES), dv, xt));
        }
        store(dx + t * d.x.token, total, w.lanes);
    }
}

// From the sums over p to the gradients of one token's interfaces, weights and rotation; `to` is its partial row.
template <int RC, bool N16>
INLINE void interface_backward(const Scan& a, const Shape& shape, const Block& block, Backward& m, const Partial& partial,
                               int64_t h, int64_t t, float* to) {
    const int64_t R = RC ? RC : a.rank, row = N16 ? LANES : shape.row, half = a.n / 2, group = h / (a.heads / a.groups);
    const float *q = block.q + t * R * row, *k = block.k + t * R * row, *qk = block.qk + t * R * R;
    float *dq = m.dq + t * R * row, *dk = m.dk + t * R * row;
    const float *W = m.W + t * R * R, s = block.s[t], c = block.c[t];
    V products = splat(0);
    for (int64_t i = 0; i < R * row; i += LANES) products = fma(products, load(k + i), load(dk + i));  // dk holds Lambda v
    const float dc = sum(halves(products));
    float ds = 0;
    for (int64_t r = 0; r < R; ++r)
        for (int64_t u = 0; u < R; ++u) ds -= qk[r * R + u] * W[u * R + r];
    for (int64_t r = 0; r < R; ++r)
        for (int64_t i = 0; i < row; i += LANES) {
            V of_q = load(dq + r * row + i), of_k = load(dk + r * row + i) * c;
            for (int64_t u = 0; u < R; ++u) {
                of_q = fma(of_q, load(k + u * row + i), -s * W[u * R + r]);
                of_k = fma(of_k, load(q + u * row + i), -s * W[r * R + u]);
            }
            store(dq + r * row + i, of_q);
            store(dk + r * row + i, of_k);
        }
    float* phases = to + 2 * partial.interface + partial.scalars + h * shape.angles;
    for (int64_t i = 0; i < shape.angles; ++i) {
        float turned = 0;
        for (int64_t r = 0; r < R; ++r) {
            const int64_t low = r * row + i, up = low + half;
            turned += dq[up] * q[low] - dq[low] * q[up] + dk[up] * k[low] - dk[low] * k[up];
        }
        phases[i] += turned;
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
INLINE void parameters_backward(const Scan& a, const Shape& shape, const Block& block, const Backward& m,
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
static void backward_head(const Scan& a, const ScanGradient& d, const Shape& shape, Block& block, Backward& m,
                          const Partial& partial, int64_t b, int64_t h, int64_t tile0, int64_t tile1, int64_t number,
                          float* rows, float* worker) {
    const int64_t R = RC ? RC : a.rank, wide = shape.tiles * LANES, row = shape.row, start = number * BLOCK;
    const int64_t at = boundary_at(a, shape, b, h, number);
    memcpy(m.turns, a.turns + at * shape.angles, shape.angles * sizeof(double));
    memset(m.dlifts, 0, 3 * R * wide * sizeof(float));
    block.template prepare<RC, N16>(a, shape, b, h, start, m.turns);
    for (int64_t tile = tile0; tile < tile1; ++tile) {
        const float* saved = a.boundary + (at * shape.tiles + tile) * shape.n * LANES;
        memcpy(m.state, saved, shape.n * LANES * sizeof(float));
        for (int64_t i = 0; i < shape.n; ++i) store(m.entering + i * wide + tile * LANES, load(saved + i * LANES));
        const float* lifts = m.lifts + (h * shape.tiles + tile) * 3 * R * LANES;
        const Tile w{b, h, tile, (int)least(LANES, a.p - tile * LANES), m.v + tile * LANES, m.y, wide, m.state, lifts,
                     lifts + R * LANES, lifts + 2 * R * LANES};
        lift<RC>(a, block, w, start);
        advance<RC, N16, KEEP_G>(a, shape, block, w, start, m.g + tile * LANES);
        gate_backward<RC>(a, d, shape, block, w, m, start);
        adjoint<RC, N16>(shape, block, w, m, m.carried + h * shape.n * wide, R);
        lift_backward<RC>(a, d, shape, block, w, m, start);
    }
    const int64_t lane0 = tile0 * LANES, lane1 = tile1 * LANES;
    for (int64_t t = 0; t < block.length; ++t) {
        const float *dy = m.dy + t * R * wide, *v = m.v + t * R * wide;
        float *dq = m.dq + t * R * row, *dk = m.dk + t * R * row;
        contract<RC, true>(m.g + t * shape.n * wide, shape.n, dy, R, wide, lane0, lane1, dq, row);
        contract<RC, true>(m.adjoint + t * shape.n * wide, shape.n, v, R, wide, lane0, lane1, dk, row);
        contract<RC>(v, R, dy, R, wide, lane0, lane1, m.W + t * R * R);
        vf total = {};
        for (int64_t lane = lane0; lane < lane1; lane += SOMAMBA_WIDTH) total += *(const vfu*)(m.dalpha + t * wide + lane);
        float* to = rows + t * partial.row_size();
        to[2 * partial.interface + 3 * h + 2] += sum(total);
        interface_backward<RC, N16>(a, shape, block, m, partial, h, t, to);
    }
    parameters_backward(a, shape, block, m, partial, h, tile0, tile1, worker);
}

template <int RC, bool N16>
static void scan_backward_rank(const Scan& a, const ScanGradient& d, int index, int count) {
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

static void scan_backward(const Scan& a, const ScanGradient& d, int index, int count) {
    if (a.rank == 4 && a.n == LANES) scan_backward_rank<4, true>(a, d, index, count);
    else if (a.rank == 4) scan_backward_rank<4, false>(a, d, index, count);
    else if (a.rank == 1) scan_backward_rank<1, false>(a, d, index, count);
    else scan_backward_rank<0, false>(a, d, index, count);
}

// First finishing pass, over tokens: add the workers' rows, and write what is then complete.
static void scan_backward_rows(const Scan& a, const ScanGradient& d, int workers, int index, int count) {
    const Shape shape(a);
    const Partial partial(a, shape, d.partial, workers);
    const int64_t all = a.batch * a.tokens, per_batch = a.heads * shape.tiles, size = partial.interface;
    for (int64_t at = all * index / count; at < all * (index + 1) / count; ++at) {
        const int64_t b = at / a.tokens, token = at % a.tokens;
        float* total = nullptr;
        for (int w = 0; w < workers; ++w) {
            const Share share(a, shape, w, workers);
            if (share.begin >= share.end || share.begin >= (b + 1) * per_batch || share.end <= b * per_batch) continue;
            float* row = partial.row(b + w, token);
            if (!total) { total = row; continue; }
            for (int64_t i = 0; i < partial.row_size(); ++i) total[i] += row[i];
        }
        memcpy(d.C + at * size, total, size * sizeof(float));
        memcpy(d.B + at * size, total + size, size * sizeof(float));
    }
}

// Second finishing pass, over heads: the chain rule from weights, decay and rotation to dt, adt, trap and angles.
static void scan_backward_heads(const Scan& a, const ScanGradient& d, int workers, int index, int count) {
    const Shape shape(a);
    const Partial partial(a, shape, d.partial, workers);
    const int64_t all = a.batch * a.heads, per_batch = a.heads * shape.tiles;
    const float pi = 3.14159265f;
    Arena arena{a.scratch + index * backward_scratch(shape, a.heads)};
    Block block(arena, shape);
    double* unused = (double*)arena.take(2 * shape.angles);
    double* turned = (double*)arena.take(2 * shape.angles);
    for (int64_t at = all * index / count; at < all * (index + 1) / count; ++at) {
        const int64_t b = at / a.heads, h = at % a.heads;
        int first = 0;
        while (Share(a, shape, first, workers).end <= b * per_batch) ++first;
        memset(turned, 0, shape.angles * sizeof(double));
        for (int64_t number = shape.blocks - 1; number >= 0; --number) {
            const int64_t start = number * BLOCK;
            memset(unused, 0, shape.angles * sizeof(double));
            block.scalars(a, shape, b, h, start, unused);
            for (int64_t t = block.length - 1; t >= 0; --t) {
                const int64_t token = start + t, to = (b * a.tokens + token) * a.heads + h;
                const float* row = partial.row(b + first, token) + 2 * partial.interface;
                const float dgamma = row[3 * h], dalpha = row[3 * h + 2], dt = block.dt[t], mixing = block.mixing[t];
                const float ds = token ? row[3 * h + 1 - partial.row_size()] : 0.0f;  // s of the token before
                float ddt = dgamma * mixing + ds * (1.0f - mixing);
                for (int64_t i = 0; i < shape.angles; ++i) {
                    const float speed = block.tanhs[t * shape.angles + i];
                    turned[i] += row[partial.scalars + h * shape.angles + i];
                    d.angle[to * shape.angles + i] = (float)turned[i] * pi * dt * (1.0f - speed * speed);
                    ddt += (float)turned[i] * pi * speed;
                }
                d.dt[to] = ddt;
                d.adt[to] = dalpha * block.alpha[t];
                d.trap[to] = dt * (dgamma - ds) * mixing * (1.0f - mixing);
            }
        }
    }
}

// Last, by one worker: the parameters.
static void scan_backward_parameters(const Scan& a, const ScanGradient& d, int workers) {
    const Shape shape(a);
    const Partial partial(a, shape, d.partial, workers);
    struct { float* to; int64_t size; } parts[] = {{d.C_bias, partial.bias}, {d.B_bias, partial.bias},
        {d.mimo_x, partial.lifts}, {d.mimo_z, partial.lifts}, {d.mimo_o, partial.lifts}, {d.D, a.heads}};
    int64_t offset = 0;
    for (auto& part : parts) {
        for (int64_t i = 0; i < part.size; ++i) {
            double total = 0;
            for (int w = 0; w < workers; ++w) total += (double)partial.of_worker(w)[offset + i];
            part.to[i] = (float)total;
        }
        offset += part.size;
    }
}

static ScanSizes scan_sizes(const Scan& a, int count) {
    const Shape shape(a);
    const int64_t starts = a.batch * a.heads * shape.blocks;
    return {starts * shape.tiles * shape.n * LANES, starts * shape.angles, forward_scratch(shape) * count,
            backward_scratch(shape, a.heads) * count, Partial(a, shape, nullptr, count).floats(count)};
}

}  // namespace SOMAMBA_ISA
