// The selective scan, forward. A tile is 16 channels of one group; their states stay in cache for a block of tokens.
#pragma once
#include "scan_block.h"

namespace SOMAMBA_ISA {

constexpr float LOG2_E = 1.44269504f, LN_2 = 0.693147181f;

struct SelectiveShape {
    int64_t tiles;   // of 16 channels in one group
    int64_t blocks;
    int64_t state;   // floats: n 16
    explicit SelectiveShape(const Selective& a)
        : tiles(round_up(a.channels, LANES) / LANES), blocks(round_up(a.tokens, BLOCK) / BLOCK), state(a.n * LANES) {}
};

// Neighbouring tiles of one group: tiles are numbered (batch, group, tile), and a worker takes a contiguous range.
struct Run {
    int64_t b, g, tile0, tile1;
    Run(const Selective& a, const SelectiveShape& s, int64_t unit, int64_t end)
        : b(unit / (a.groups * s.tiles)), g(unit / s.tiles % a.groups), tile0(unit % s.tiles),
          tile1(least(s.tiles, tile0 + end - unit)) {}
};

INLINE int64_t first_unit(const Selective& a, const SelectiveShape& s, int index, int count) {
    return a.batch * a.groups * s.tiles * index / count;
}

// Where one tile reads and writes in one block of tokens; rows are tokens.
struct Strip {
    int64_t length;            // tokens in this block
    int lanes;                 // valid lanes; fewer than 16 only at the end of a group
    const float *u, *dt, *B, *C;
    int64_t channel;           // of the tile's first lane, among all groups
    int64_t row;               // index of (b, first token) in what is contiguous
    Strip(const Selective& a, const Run& run, int64_t tile, int64_t start)
        : length(least(BLOCK, a.tokens - start)), lanes((int)least(LANES, a.channels - tile * LANES)),
          u(a.u.data + run.b * a.u.batch + start * a.u.token + run.g * a.u.head + tile * LANES),
          dt(a.dt.data + run.b * a.dt.batch + start * a.dt.token + run.g * a.dt.head + tile * LANES),
          B(a.B.data + run.b * a.B.batch + start * a.B.token + run.g * a.B.head),
          C(a.C.data + run.b * a.C.batch + start * a.C.token + run.g * a.C.head),
          channel(run.g * a.channels + tile * LANES), row(run.b * a.tokens + start) {}
    int64_t at(const Selective& a, int64_t t) const { return (row + t) * a.groups * a.channels + channel; }
};

// A of one tile with lanes last, in units that turn exp into 2^t; zero beyond the group's channels.
INLINE void gather_rates(const Selective& a, const Run& run, int64_t tile, float* to) {
    const int lanes = (int)least(LANES, a.channels - tile * LANES);
    const float* from = a.A + (run.g * a.channels + tile * LANES) * a.n;
    memset(to, 0, a.n * LANES * sizeof(float));
    for (int64_t i = 0; i < a.n; ++i)
        for (int j = 0; j < lanes; ++j) to[i * LANES + j] = from[j * a.n + i] * LOG2_E;
}

// The state after a token, scattered to (channel, n).
static void write_selective_state(const Selective& a, const Strip& w, int64_t t, const float* state) {
    float* to = a.states + w.at(a, t) * a.n;
    for (int64_t i = 0; i < a.n; ++i)
        for (int j = 0; j < w.lanes; ++j) to[j * a.n + i] = state[i * LANES + j];
}

// Advance the tile's state over the block. The state before token t lies at `states + t * pitch`: one place for all if
// pitch is 0, a trajectory otherwise. READ: write the read-out.
template <bool READ>
INLINE void advance_selective(const Selective& a, const Strip& w, const float* rates, float* states, int64_t pitch) {
    const V skip = READ ? load(a.D + w.channel, w.lanes) : splat(0);
    for (int64_t t = 0; t < w.length; ++t) {
        const float *before = states + t * pitch, *B = w.B + t * a.B.token, *C = w.C + t * a.C.token;
        float* after = states + (t + 1) * pitch;
        const V u = load(w.u + t * a.u.token, w.lanes), dt = load(w.dt + t * a.dt.token, w.lanes), x = dt * u;
        V y = u * skip;
        for (int64_t i = 0; i < a.n; ++i) {
            V power, rest;
            exp2(dt * load(rates + i * LANES), power, rest);
            const V kept = load(before + i * LANES) * power;
            // Decay and input are added together: alone, a decay near one would be rounded away.
            const V h = kept + fma(x * B[i], kept, rest);
            store(after + i * LANES, h);
            if constexpr (READ) y = fma(y, h, C[i]);
        }
        if constexpr (READ) {
            store(a.out + w.at(a, t), y, w.lanes);
            if (a.states) write_selective_state(a, w, t, after);
        }
    }
}

INLINE int64_t selective_forward_scratch(const SelectiveShape& s) { return 2 * s.tiles * s.state; }

INLINE float* selective_boundary(const Selective& a, const SelectiveShape& s, const Run& run, int64_t tile, int64_t block) {
    return a.boundary + (((run.b * a.groups + run.g) * s.blocks + block) * s.tiles + tile) * s.state;
}

static void selective_forward(const Selective& a, int index, int count) {
    const SelectiveShape s(a);
    Arena arena{a.scratch + index * selective_forward_scratch(s)};
    float *rates = arena.take(s.tiles * s.state), *states = arena.take(s.tiles * s.state);
    const int64_t end = first_unit(a, s, index + 1, count);
    for (int64_t unit = first_unit(a, s, index, count); unit < end;) {
        const Run run(a, s, unit, end);
        for (int64_t tile = run.tile0; tile < run.tile1; ++tile) gather_rates(a, run, tile, rates + tile * s.state);
        memset(states, 0, s.tiles * s.state * sizeof(float));
        for (int64_t block = 0; block < s.blocks; ++block)
            for (int64_t tile = run.tile0; tile < run.tile1; ++tile) {
                float* state = states + tile * s.state;
                if (a.boundary) memcpy(selective_boundary(a, s, run, tile, block), state, s.state * sizeof(float));
                advance_selective<true>(a, Strip(a, run, tile, block * BLOCK), rates + tile * s.state, state, 0);
            }
        unit += run.tile1 - run.tile0;
    }
}

}  // namespace SOMAMBA_ISA
