// The selective scan, backward: blocks in reverse, each recomputed from the state saved at its start.
//
// With a = exp(dt A) and l the adjoint of the state, l[t] = C dy + a[t+1] l[t+1]:
//   dC = sum over channels of h dy          du  = D dy + dt sum_n l B
//   dB = sum over channels of l dt u        ddt = u sum_n l B + sum_n A (a l h[t-1])          dA = sum_t dt (a l h[t-1])
#pragma once
#include "selective.h"

namespace SOMAMBA_ISA {

// Buffers of one worker.
struct SelectiveBackward {
    float* rates;             // tiles n 16
    float* carried;           // tiles n 2 16: a l of the token after, in two parts: rounded to one, a decay near one is lost
    float *dA, *dD;           // tiles n 16; tiles 16: sums of all blocks done
    float* states;            // (BLOCK + 1) n 16: trajectory of one tile
    float* dA_block;          // n 16: of this block, added up first: 25,600 small terms would lose digits in one sum
    float *dB, *dC;           // BLOCK n 16, lanes not yet summed
    float* folded;            // BLOCK n, and room for one vector
    SelectiveBackward(Arena& arena, const SelectiveShape& s) {
        rates = arena.take(s.tiles * s.state);
        carried = arena.take(2 * s.tiles * s.state);
        dA = arena.take(s.tiles * s.state);
        dD = arena.take(s.tiles * LANES);
        states = arena.take((BLOCK + 1) * s.state);
        dA_block = arena.take(s.state);
        dB = arena.take(BLOCK * s.state);
        dC = arena.take(BLOCK * s.state);
        folded = arena.take(BLOCK * s.state / LANES + LANES);
    }
    static int64_t floats(const SelectiveShape& s) {
        return (4 * s.tiles + 3 * BLOCK + 2) * s.state + s.tiles * LANES + BLOCK * s.state / LANES + LANES;
    }
};

// Go back over the block with the trajectory in `m.states`; adds to the sums.
INLINE void retreat(const Selective& a, const SelectiveGradient& d, const Strip& w, const SelectiveBackward& m,
                    int64_t tile) {
    const int64_t state = a.n * LANES;
    const float* rates = m.rates + tile * state;
    float* carried = m.carried + 2 * tile * state;
    const V skip = load(a.D + w.channel, w.lanes);
    V dD = splat(0);
    memset(m.dA_block, 0, state * sizeof(float));
    for (int64_t t = w.length - 1; t >= 0; --t) {
        const float *before = m.states + t * state, *after = before + state;
        const float *B = w.B + t * a.B.token, *C = w.C + t * a.C.token;
        float *dB = m.dB + t * state, *dC = m.dC + t * state;
        const V u = load(w.u + t * a.u.token, w.lanes), dt = load(w.dt + t * a.dt.token, w.lanes), x = dt * u;
        const V dy = load(d.dout + w.at(a, t), w.lanes);
        V written = splat(0), decayed = splat(0);
        for (int64_t i = 0; i < a.n; ++i) {
            V power, rest;
            const V rate = load(rates + i * LANES);
            exp2(dt * rate, power, rest);
            const V l = load(carried + 2 * i * LANES) + fma(load(carried + (2 * i + 1) * LANES), dy, C[i]);
            store(dC + i * LANES, fma(load(dC + i * LANES), load(after + i * LANES), dy));
            store(dB + i * LANES, fma(load(dB + i * LANES), l, x));
            written = fma(written, l, B[i]);
            const V kept = l * power, less = kept * rest, through = (kept + less) * load(before + i * LANES);
            store(carried + 2 * i * LANES, kept);
            store(carried + (2 * i + 1) * LANES, less);
            store(m.dA_block + i * LANES, fma(load(m.dA_block + i * LANES), through, dt));
            decayed = fma(decayed, through, rate);
        }
        store(d.u + w.at(a, t), fma(dy * skip, dt, written), w.lanes);
        store(d.dt + w.at(a, t), fma(u * written, decayed, LN_2), w.lanes);
        dD = fma(dD, dy, u);
    }
    float *dA = m.dA + tile * state, *total = m.dD + tile * LANES;
    for (int64_t i = 0; i < a.n; ++i) store(dA + i * LANES, load(dA + i * LANES) + load(m.dA_block + i * LANES));
    store(total, load(total) + dD);
}

// Sum 16 lanes of `rows` vectors.
INLINE void fold_lanes(const float* from, int64_t rows, float* to) {
    for (int64_t i = 0; i < rows; i += SOMAMBA_WIDTH) {
        vf some[SOMAMBA_WIDTH] = {};
        for (int64_t w = 0; w < SOMAMBA_WIDTH && i + w < rows; ++w) some[w] = halves(load(from + (i + w) * LANES));
        *(vfu*)(to + i) = sums(some);
    }
}

// dB and dC of a block: to the group's gradient if this worker began the group, else to its own rows.
INLINE void write_interfaces(const Selective& a, const SelectiveGradient& d, const Run& run, const SelectiveBackward& m,
                             int64_t start, int64_t length, float* own) {
    for (int side = 0; side < 2; ++side) {
        fold_lanes(side ? m.dC : m.dB, length * a.n, m.folded);
        float* group = (side ? d.C : d.B) + (run.b * a.tokens * a.groups + run.g) * a.n;
        for (int64_t t = 0; t < length; ++t) {
            float* to = run.tile0 == 0 ? group + (start + t) * a.groups * a.n : own + (2 * (start + t) + side) * a.n;
            memcpy(to, m.folded + t * a.n, a.n * sizeof(float));
        }
    }
}

// dA and dD of one tile, lanes first.
INLINE void write_rates(const Selective& a, const SelectiveGradient& d, const Run& run, const SelectiveBackward& m,
                        int64_t tile) {
    const int lanes = (int)least(LANES, a.channels - tile * LANES);
    const int64_t channel = (run.b * a.groups + run.g) * a.channels + tile * LANES;
    store(d.D + channel, load(m.dD + tile * LANES), lanes);
    for (int64_t i = 0; i < a.n; ++i)
        for (int j = 0; j < lanes; ++j) d.A[(channel + j) * a.n + i] = m.dA[(tile * a.n + i) * LANES + j];
}

static void selective_backward(const Selective& a, const SelectiveGradient& d, int index, int count) {
    const SelectiveShape s(a);
    Arena arena{a.scratch + index * SelectiveBackward::floats(s)};
    const SelectiveBackward m(arena, s);
    const int64_t end = first_unit(a, s, index + 1, count), all = s.tiles * s.state * sizeof(float);
    for (int64_t unit = first_unit(a, s, index, count); unit < end;) {
        const Run run(a, s, unit, end);
        for (int64_t tile = run.tile0; tile < run.tile1; ++tile) gather_rates(a, run, tile, m.rates + tile * s.state);
        memset(m.carried, 0, 2 * all);
        memset(m.dA, 0, all);
        memset(m.dD, 0, s.tiles * LANES * sizeof(float));
        for (int64_t block = s.blocks - 1; block >= 0; --block) {
            const int64_t start = block * BLOCK, length = least(BLOCK, a.tokens - start);
            memset(m.dB, 0, length * s.state * sizeof(float));
            memset(m.dC, 0, length * s.state * sizeof(float));
            for (int64_t tile = run.tile0; tile < run.tile1; ++tile) {
                const Strip w(a, run, tile, start);
                memcpy(m.states, selective_boundary(a, s, run, tile, block), s.state * sizeof(float));
                advance_selective<false>(a, w, m.rates + tile * s.state, m.states, s.state);
                retreat(a, d, w, m, tile);
            }
            write_interfaces(a, d, run, m, start, length, d.partial + index * a.tokens * 2 * a.n);
        }
        for (int64_t tile = run.tile0; tile < run.tile1; ++tile) write_rates(a, d, run, m, tile);
        unit += run.tile1 - run.tile0;
    }
}

// Add what workers found for a group that another one began; threads share the tokens.
static void selective_backward_rows(const Selective& a, const SelectiveGradient& d, int workers, int index, int count) {
    const SelectiveShape s(a);
    for (int worker = 1; worker < workers; ++worker) {
        const int64_t unit = first_unit(a, s, worker, workers), end = first_unit(a, s, worker + 1, workers);
        const Run run(a, s, unit, end);
        if (unit == end || run.tile0 == 0) continue;
        const float* own = d.partial + worker * a.tokens * 2 * a.n;
        for (int64_t t = a.tokens * index / count; t < a.tokens * (index + 1) / count; ++t)
            for (int64_t i = 0; i < a.n; ++i) {
                const int64_t at = ((run.b * a.tokens + t) * a.groups + run.g) * a.n + i;
                d.B[at] += own[2 * t * a.n + i];
                d.C[at] += own[(2 * t + 1) * a.n + i];
            }
    }
}

static SelectiveSizes selective_sizes(const Selective& a, int count) {
    const SelectiveShape s(a);
    return {a.batch * a.groups * s.blocks * s.tiles * s.state, count * selective_forward_scratch(s),
            count * SelectiveBackward::floats(s), count * a.tokens * 2 * a.n};
}

}  // namespace SOMAMBA_ISA
