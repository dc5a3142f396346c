// The scan, forward. A tile is 16 lanes of p of one head: its state stays in registers for a block of tokens.
#pragma once
#include "scan_block.h"

namespace SOMAMBA_ISA {

// Where one tile reads and writes; rows are tokens.
struct Tile {
    int64_t b, h, tile;
    int lanes;                 // valid lanes; fewer than 16 only at the end of a head
    float *v, *y;              // BLOCK rank 16: lifted content; read-out before the gate
    float* state;              // n 16
    const float *mx, *mz, *mo;  // rank 16: mimo weights of these lanes
};

// Lanes of the mimo weights, zero beyond the head's width.
INLINE void gather_lift(const float* weights, const ScanCall& a, int64_t h, int64_t tile, int lanes, float* to) {
    for (int64_t r = 0; r < a.rank; ++r) store(to + r * LANES, load(weights + (h * a.rank + r) * a.p + tile * LANES, lanes));
}

// v = x * mimo_x for each rank, and y started with skip and trapezoid correction.
template <int RC>
INLINE void lift(const ScanCall& a, const Block& block, const Tile& w, int64_t start) {
    const int64_t R = RC ? RC : a.rank;
    const float* x = a.x.data + w.b * a.x.batch + start * a.x.token + w.h * a.x.head + w.tile * LANES;
    for (int64_t t = 0; t < block.length; ++t) {
        const V content = load(x + t * a.x.token, w.lanes);
        float *v = w.v + t * R * LANES, *y = w.y + t * R * LANES;
        const float* corr = block.corr + t * R * R;
        if constexpr (RC > 0) {  // the lifted vectors stay in registers
            V lifted[RC];
            UNROLL for (int r = 0; r < RC; ++r) {
                lifted[r] = content * load(w.mx + r * LANES);
                store(v + r * LANES, lifted[r]);
            }
            UNROLL for (int r = 0; r < RC; ++r) {
                V total = lifted[0] * corr[r * RC];
                UNROLL for (int u = 1; u < RC; ++u) total = fma(total, lifted[u], corr[r * RC + u]);
                store(y + r * LANES, total);
            }
            continue;
        }
        for (int64_t r = 0; r < R; ++r) store(v + r * LANES, content * load(w.mx + r * LANES));
        for (int64_t r = 0; r < R; ++r) {
            V total = load(v) * corr[r * R];
            for (int64_t u = 1; u < R; ++u) total = fma(total, load(v + u * LANES), corr[r * R + u]);
            store(y + r * LANES, total);
        }
    }
}

// h[t] = g[t] - s[t] k[t] v[t], scattered to (p, n); only for the leakage diagnostic.
static void write_states(const ScanCall& a, const Block& block, const Tile& w, int64_t token, int64_t t, int64_t n0, const V* g) {
    const int64_t R = a.rank;
    float lane[LANES];
    for (int64_t i = 0; i < NT && n0 + i < a.n; ++i) {
        V h = g[i];
        for (int64_t r = 0; r < R; ++r)
            h = fma(h, load(w.v + (t * R + r) * LANES), -block.s[t] * block.k[(t * R + r) * round_up(a.n, LANES) + n0 + i]);
        store(lane, h);
        float* to = a.states + (((w.b * a.tokens + token) * a.heads + w.h) * a.p + w.tile * LANES) * a.n + n0 + i;
        for (int j = 0; j < w.lanes; ++j) to[j * a.n] = lane[j];
    }
}

// What to do with the state at every token: nothing, keep g for the backward pass, or write h out.
enum Trajectory { FORGET, KEEP_G, WRITE_H };

// Advance the tile's state over the block and add what is read to y.
template <int RC, bool N16, Trajectory WHAT>
INLINE void advance(const ScanCall& a, const Shape& shape, const Block& block, const Tile& w, int64_t start, float* kept) {
    const int64_t R = RC ? RC : a.rank, length = block.length;
    const int64_t row = N16 ? LANES : shape.row, states = N16 ? LANES : shape.n;
    for (int64_t n0 = 0; n0 < states; n0 += NT) {
        V g[NT];
        UNROLL for (int i = 0; i < NT; ++i) g[i] = load(w.state + (n0 + i) * LANES);
        for (int64_t t = 0; t < length; ++t) {
            const float *k = block.kc + t * R * row + n0, *q = block.q + t * R * row + n0;
            const float *v = w.v + t * R * LANES, shrink = block.shrink[t];
            float* y = w.y + t * R * LANES;
            // Decay and first input are added together: alone, a decay near one would be rounded away.
            const V v0 = load(v);
            UNROLL for (int i = 0; i < NT; ++i) g[i] = g[i] + fma(v0 * k[i], g[i], shrink);
            UNROLL for (int64_t r = 1; r < R; ++r) {
                const V vr = load(v + r * LANES);
                UNROLL for (int i = 0; i < NT; ++i) g[i] = fma(g[i], vr, k[r * row + i]);
            }
            if constexpr (RC > 0) {  // the ranks take turns, so that none waits for its own sum
                V total[RC];
                UNROLL for (int r = 0; r < RC; ++r) total[r] = load(y + r * LANES);
                UNROLL for (int i = 0; i < NT; ++i)
                    UNROLL for (int r = 0; r < RC; ++r) total[r] = fma(total[r], g[i], q[r * row + i]);
                UNROLL for (int r = 0; r < RC; ++r) store(y + r * LANES, total[r]);
            } else {
                for (int64_t r = 0; r < R; ++r) {
                    V total = load(y + r * LANES);
                    UNROLL for (int i = 0; i < NT; ++i) total = fma(total, g[i], q[r * row + i]);
                    store(y + r * LANES, total);
                }
            }
            if constexpr (WHAT == KEEP_G)
                UNROLL for (int i = 0; i < NT; ++i) store(kept + (t * shape.n + n0 + i) * LANES, g[i]);
            // A copy: handing out the address of g itself would keep it out of registers.
            if constexpr (WHAT == WRITE_H) {
                V copy[NT];
                UNROLL for (int i = 0; i < NT; ++i) copy[i] = g[i];
                write_states(a, block, w, start + t, t, n0, copy);
            }
        }
        UNROLL for (int i = 0; i < NT; ++i) store(w.state + (n0 + i) * LANES, g[i]);
    }
}

// out = sum over rank of mimo_o * y * silu(z * mimo_z)
template <int RC>
INLINE void gate(const ScanCall& a, const Block& block, const Tile& w, int64_t start) {
    const int64_t R = RC ? RC : a.rank;
    const float* z = a.z.data + w.b * a.z.batch + start * a.z.token + w.h * a.z.head + w.tile * LANES;
    float* out = a.out.data + w.b * a.out.batch + start * a.out.token + w.h * a.out.head + w.tile * LANES;
    for (int64_t t = 0; t < block.length; ++t) {
        const V zt = load(z + t * a.z.token, w.lanes);
        V total = splat(0);
        if constexpr (RC > 0 && RC % 2 == 0) {  // two ranks share a division
            UNROLL for (int r = 0; r < RC; r += 2) {
                const V first = zt * load(w.mz + r * LANES), second = zt * load(w.mz + (r + 1) * LANES);
                const V under = silu_divisor(first), other = silu_divisor(second);
                const V left = load(w.y + (t * R + r) * LANES) * load(w.mo + r * LANES) * first * other;
                const V right = load(w.y + (t * R + r + 1) * LANES) * load(w.mo + (r + 1) * LANES) * second * under;
                total = total + (left + right) / (under * other);
            }
            store(out + t * a.out.token, total, w.lanes);
            continue;
        }
        UNROLL for (int64_t r = 0; r < R; ++r) {
            const V lifted = zt * load(w.mz + r * LANES);
            total = fma(total, load(w.y + (t * R + r) * LANES) * load(w.mo + r * LANES), lifted * sigmoid(lifted));
        }
        store(out + t * a.out.token, total, w.lanes);
    }
}

// Tiles are numbered (batch, head, tile); a worker takes a contiguous range.
struct Share {
    int64_t begin, end;
    Share(const ScanCall& a, const Shape& shape, int index, int count) {
        const int64_t all = a.batch * a.heads * shape.tiles;
        begin = all * index / count;
        end = all * (index + 1) / count;
    }
};

INLINE int64_t boundary_at(const ScanCall& a, const Shape& shape, int64_t b, int64_t h, int64_t block) {
    return ((b * a.heads + h) * shape.blocks + block);
}

// Rows of a block to come lie far apart, so no prefetcher of the machine finds them.
INLINE void prefetch_rows(const Strided& part, int64_t b, int64_t h, int64_t start, int64_t tokens, int64_t tile0, int64_t tile1) {
    const float* at = part.data + b * part.batch + start * part.token + h * part.head;
    for (int64_t t = 0; t < tokens; ++t)
        for (int64_t tile = tile0; tile < tile1; ++tile) __builtin_prefetch(at + t * part.token + tile * LANES, 0, 2);
}

// Floats of scratch for one worker.
INLINE int64_t forward_scratch(const Shape& shape) {
    return Block::floats(shape) + (2 * BLOCK + 3 * shape.tiles) * shape.rank * LANES + shape.n * LANES * shape.tiles +
           round_up(2 * shape.angles, LANES) + 4 * LANES;
}

template <int RC, bool N16>
static void scan_forward_rank(const ScanCall& a, int index, int count) {
    const Shape shape(a);
    const Share share(a, shape, index, count);
    const int64_t R = a.rank, state_size = shape.n * LANES;
    Arena arena{a.scratch + index * forward_scratch(shape)};
    Block block(arena, shape);
    float *v = arena.take(BLOCK * R * LANES), *y = arena.take(BLOCK * R * LANES);
    float* lifts = arena.take(3 * R * LANES * shape.tiles);
    float* states = arena.take(state_size * shape.tiles);
    double* turns = (double*)arena.take(2 * shape.angles);
    for (int64_t unit = share.begin; unit < share.end;) {  // one head at a time
        const int64_t b = unit / (a.heads * shape.tiles), h = unit / shape.tiles % a.heads, tile0 = unit % shape.tiles;
        const int64_t tile1 = least(shape.tiles, tile0 + share.end - unit);
        float* carry = a.carry ? a.carry + (b * a.heads + h) * shape.tiles * state_size : nullptr;
        if (carry) {
            memcpy(states + tile0 * state_size, carry + tile0 * state_size, (tile1 - tile0) * state_size * sizeof(float));
            memcpy(turns, a.turns_in + (b * a.heads + h) * shape.angles, shape.angles * sizeof(double));
        } else {
            memset(states, 0, state_size * shape.tiles * sizeof(float));
            memset(turns, 0, shape.angles * sizeof(double));
        }
        for (int64_t tile = tile0; tile < tile1; ++tile) {
            const int lanes = (int)least(LANES, a.p - tile * LANES);
            float* own = lifts + tile * 3 * R * LANES;
            gather_lift(a.mimo_x, a, h, tile, lanes, own);
            gather_lift(a.mimo_z, a, h, tile, lanes, own + R * LANES);
            gather_lift(a.mimo_o, a, h, tile, lanes, own + 2 * R * LANES);
        }
        for (int64_t number = 0; number < shape.blocks; ++number) {
            const int64_t start = number * BLOCK, at = boundary_at(a, shape, b, h, number);
            if (a.turns && tile0 == 0) memcpy(a.turns + at * shape.angles, turns, shape.angles * sizeof(double));
            block.template prepare<RC, N16>(a, shape, b, h, start, turns);
            const int64_t behind = start + block.length, next = least(BLOCK, a.advance - behind);
            prefetch_rows(a.x, b, h, behind, next, tile0, tile1);
            prefetch_rows(a.z, b, h, behind, next, tile0, tile1);
            for (int64_t tile = tile0; tile < tile1; ++tile) {
                const float* own = lifts + tile * 3 * R * LANES;
                float* state = states + tile * state_size;
                const Tile w{b, h, tile, (int)least(LANES, a.p - tile * LANES), v, y, state, own, own + R * LANES,
                             own + 2 * R * LANES};
                if (a.boundary) memcpy(a.boundary + (at * shape.tiles + tile) * state_size, state, state_size * sizeof(float));
                lift<RC>(a, block, w, start);
                if (a.states) advance<RC, N16, WRITE_H>(a, shape, block, w, start, nullptr);
                else advance<RC, N16, FORGET>(a, shape, block, w, start, nullptr);
                gate<RC>(a, block, w, start);
            }
        }
        if (carry) {
            memcpy(carry + tile0 * state_size, states + tile0 * state_size, (tile1 - tile0) * state_size * sizeof(float));
            // The workers of a head all come to the same rotation; one writes it, where none of them still reads.
            if (tile0 == 0) memcpy(a.turns_out + (b * a.heads + h) * shape.angles, turns, shape.angles * sizeof(double));
        }
        unit += tile1 - tile0;
    }
}

static void scan_forward(const ScanCall& a, int index, int count) {
    if (a.rank == 4 && a.n == LANES) scan_forward_rank<4, true>(a, index, count);  // the paper's shape
    else if (a.rank == 4) scan_forward_rank<4, false>(a, index, count);
    else if (a.rank == 1) scan_forward_rank<1, false>(a, index, count);
    else scan_forward_rank<0, false>(a, index, count);
}

}  // namespace SOMAMBA_ISA
