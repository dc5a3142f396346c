// Memory of the scan's backward pass: sums that workers share, and the buffers of one worker.
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
    Partial(const ScanCall& a, const Shape& shape, float* memory, int count) : base(memory) {
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
    float *g, *adjoint;          // tiles BLOCK n 16: g after each token; Lambda
    float *v, *dy;               // tiles BLOCK rank 16
    float* y;                    // BLOCK rank 16: read-out of one tile, then its dv
    float* dalpha;               // BLOCK tiles 16, lanes not yet summed
    float* state;                // n 16
    float* carried;              // heads tiles n 16: alpha Lambda of the token after the block
    float *dq, *dk, *W;          // BLOCK rank row, BLOCK rank row, BLOCK rank rank: dy[r] . v[r'] at [r][r']
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
               s.n * (LANES + heads * wide) + 3 * s.rank * wide * (heads + 1) + 2 * s.angles + 16 * LANES;
    }
};

// What a tile of the backward pass has of its own: one behind the other, so that the first cache holds what comes next.
struct BackwardTile : Tile {
    const float* entering;            // n 16: g before the block
    float *g, *adjoint, *dy, *carried;  // its part of the buffers
};

INLINE int64_t backward_scratch(const Shape& shape, int64_t heads) {
    return round_up(Block::floats(shape) + Backward::floats(shape, heads), LANES);
}

}  // namespace SOMAMBA_ISA
