// One block of tokens of one head, prepared for all its tiles: biased and rotated B and C, their products, decays.
#pragma once
#include "kernels.h"
#include "functions.h"

namespace SOMAMBA_ISA {

constexpr int BLOCK = 32;                                              // tokens; states are saved at block starts
constexpr int NT = SOMAMBA_WIDTH == 16 ? 16 : SOMAMBA_WIDTH == 8 ? 4 : 2;  // states held in registers at once

struct Shape {
    int64_t n;                // states, rounded up to NT
    int64_t row;              // states, rounded up to 16: one row of B or C
    int64_t rank, angles;
    int64_t tiles;            // tiles of 16 lanes in one head
    int64_t blocks;
    explicit Shape(const ScanCall& s)
        : n(round_up(s.n, NT)), row(round_up(s.n, LANES)), rank(s.rank), angles(s.angles),
          tiles(round_up(s.p, LANES) / LANES), blocks(round_up(s.advance, BLOCK) / BLOCK) {}
};

// Hands out aligned pieces of one allocation.
struct Arena {
    float* at;
    float* take(int64_t floats) {
        float* piece = at;
        at += round_up(floats, LANES);
        return piece;
    }
};

// Vectors `row` floats apart, whose tiles of 16 lanes are `tile` floats apart.
struct Lanes {
    const float* at;
    int64_t row, tile;
};

// to[i * rank + r] = sum over the lanes of all tiles of left[i] . right[r]; TRANSPOSED: to[r * pitch + i].
template <int RC, bool TRANSPOSED = false>
INLINE void contract(Lanes left, int64_t rows, Lanes right, int64_t rank, int64_t tiles, float* to, int64_t pitch = 0) {
    const int64_t R = RC ? RC : rank;
    constexpr int together = RC ? SOMAMBA_WIDTH / RC : 0;  // rows whose sums fill one vector
    int64_t i = 0;
    if constexpr (together > 0)
        for (; i + together <= rows; i += together) {
            vf total[SOMAMBA_WIDTH] = {};
            for (int64_t tile = 0; tile < tiles; ++tile) {
                const float *x = left.at + tile * left.tile + i * left.row, *y = right.at + tile * right.tile;
                UNROLL for (int j = 0; j < LANES; j += SOMAMBA_WIDTH)
                    UNROLL for (int r = 0; r < RC; ++r) {
                        const vf factor = *(const vfu*)(y + r * right.row + j);
                        UNROLL for (int w = 0; w < together; ++w)
                            total[TRANSPOSED ? r * together + w : w * RC + r] += *(const vfu*)(x + w * left.row + j) * factor;
                    }
            }
            const vf folded = sums(total);
            if constexpr (TRANSPOSED) {
                float scattered[SOMAMBA_WIDTH];
                *(vfu*)scattered = folded;
                UNROLL for (int r = 0; r < RC; ++r) memcpy(to + r * pitch + i, scattered + r * together, together * sizeof(float));
            } else {
                *(vfu*)(to + i * RC) = folded;
            }
        }
    for (; i < rows; ++i)
        for (int64_t r = 0; r < R; ++r) {
            V total = splat(0);
            for (int64_t tile = 0; tile < tiles; ++tile)
                total = fma(total, load(left.at + tile * left.tile + i * left.row), load(right.at + tile * right.tile + r * right.row));
            to[TRANSPOSED ? r * pitch + i : i * R + r] = sum(halves(total));
        }
}

struct Block {
    int64_t length;                          // tokens in this block
    float *q, *k, *kc;                       // BLOCK rank row; kc = (gamma + s) k
    float *qk;                               // BLOCK rank rank: q[r] . k[r']
    float *corr;                             // BLOCK rank rank: D on the diagonal, minus s qk
    float *shrink, *alpha;                   // BLOCK: decay minus one; decay
    float *gamma, *s, *c, *mixing, *dt;      // BLOCK: weights; c = gamma + s
    float *tanhs, *sine, *cosine;            // BLOCK angles
    float *with, *against;                   // BLOCK row: factors of an entry and of its partner in the rotation
    float *pair;                             // 2 row

    Block(Arena& arena, const Shape& shape) : length(0) {
        const int64_t interface = shape.rank * shape.row, rr = shape.rank * shape.rank;
        q = arena.take(BLOCK * interface);
        k = arena.take(BLOCK * interface);
        kc = arena.take(BLOCK * interface);
        qk = arena.take(BLOCK * rr);
        corr = arena.take(BLOCK * rr);
        shrink = arena.take(BLOCK);
        alpha = arena.take(BLOCK);
        gamma = arena.take(BLOCK);
        s = arena.take(BLOCK);
        c = arena.take(BLOCK);
        mixing = arena.take(2 * BLOCK);
        dt = arena.take(2 * BLOCK);
        tanhs = arena.take(BLOCK * shape.angles);
        sine = arena.take(BLOCK * shape.angles);
        cosine = arena.take(BLOCK * shape.angles);
        with = arena.take(BLOCK * shape.row);
        against = arena.take(BLOCK * shape.row);
        pair = arena.take(3 * shape.row);
        memset(pair, 0, 3 * shape.row * sizeof(float));  // what lies beyond the pair is multiplied by zero: keep it finite
    }
    static int64_t floats(const Shape& s) {
        return BLOCK * (3 * s.rank * s.row + 2 * s.rank * s.rank + 10 + 3 * s.angles + 2 * s.row) + 3 * s.row + 22 * LANES;
    }

    template <int RC, bool N16>
    void prepare(const ScanCall& a, const Shape& shape, int64_t b, int64_t h, int64_t start, double* turns);
    // Weights and rotations only, without the interfaces.
    void scalars(const ScanCall& a, const Shape& shape, int64_t b, int64_t h, int64_t start, double* turns);

  private:
    void weights(const ScanCall& a, int64_t b, int64_t h, int64_t start);
    void rotations(const ScanCall& a, const Shape& shape, int64_t b, int64_t h, int64_t start, double* turns);
};

// The partners of one vector of a row: entry i meets entry i + n/2. `pair` keeps the whole row from before it was turned.
template <bool N16>
INLINE V partner(const float* from, int64_t n, int64_t i, float* pair) {
    if (N16) return swap_halves(load(from));
    const int64_t half = n / 2;
    if (i == 0) {
        memcpy(pair, from, 2 * half * sizeof(float));
        memcpy(pair + 2 * half, from, 2 * half * sizeof(float));
    }
    return load(pair + half + i);
}

// Add the bias and turn: to = with * x + against * partner(x), for one row.
template <bool N16>
INLINE void turn(const float* x, const float* bias, int64_t n, int64_t row, const float* with, const float* against,
                 float* pair, float* to) {
    if (N16) {
        const V own = load(x) + load(bias);
        return store(to, fma(own * load(with), swap_halves(own), load(against)));
    }
    for (int64_t i = 0; i < row; i += LANES) {
        const int lanes = (int)least(LANES, n - i);
        store(to + i, load(x + i, lanes) + load(bias + i, lanes));
    }
    for (int64_t i = 0; i < row; i += LANES) {
        const V other = partner<false>(to, n, i, pair), own = load(to + i);
        store(to + i, fma(own * load(with + i), other, load(against + i)));
    }
}

template <int RC, bool N16>
inline void Block::prepare(const ScanCall& a, const Shape& shape, int64_t b, int64_t h, int64_t start, double* turns) {
    scalars(a, shape, b, h, start, turns);
    const int64_t R = RC ? RC : a.rank, group = h / (a.heads / a.groups), row = N16 ? LANES : shape.row;
    const float* C = a.C.data + b * a.C.batch + start * a.C.token + group * a.C.head;
    const float* B = a.B.data + b * a.B.batch + start * a.B.token + group * a.B.head;
    for (int64_t t = 0; t < length; ++t) {
        float *qt = q + t * R * row, *kt = k + t * R * row, *kct = kc + t * R * row, *products = qk + t * R * R;
        for (int64_t r = 0; r < R; ++r) {
            const float* bias = a.C_bias + (h * R + r) * a.n;
            turn<N16>(C + t * a.C.token + r * a.C_rank, bias, a.n, row, with + t * row, against + t * row, pair, qt + r * row);
            bias = a.B_bias + (h * R + r) * a.n;
            turn<N16>(B + t * a.B.token + r * a.B_rank, bias, a.n, row, with + t * row, against + t * row, pair, kt + r * row);
        }
        for (int64_t i = 0; i < R * row; i += LANES) store(kct + i, load(kt + i) * c[t]);
        contract<RC>({qt, row, LANES}, R, {kt, row, LANES}, R, row / LANES, products);
        for (int64_t i = 0; i < R * R; ++i) corr[t * R * R + i] = -s[t] * products[i];
        for (int64_t r = 0; r < R; ++r) corr[t * R * R + r * R + r] += a.D[h];
    }
}

inline void Block::scalars(const ScanCall& a, const Shape& shape, int64_t b, int64_t h, int64_t start, double* turns) {
    length = least(BLOCK, a.advance - start);
    weights(a, b, h, start);
    rotations(a, shape, b, h, start, turns);
}

inline void Block::weights(const ScanCall& a, int64_t b, int64_t h, int64_t start) {
    float logits[2 * BLOCK] = {}, logs[BLOCK] = {};
    const int64_t seen = least(BLOCK + 1, a.tokens - start);  // one token ahead, for s
    for (int64_t t = 0; t < seen; ++t) {
        logits[t] = a.trap.data[b * a.trap.batch + (start + t) * a.trap.token + h * a.trap.head];
        dt[t] = a.dt.data[b * a.dt.batch + (start + t) * a.dt.token + h * a.dt.head];
    }
    for (int64_t t = 0; t < length; ++t)
        logs[t] = a.adt.data[b * a.adt.batch + (start + t) * a.adt.token + h * a.adt.head];
    for (int64_t t = 0; t < 2 * BLOCK; t += SOMAMBA_WIDTH) *(vfu*)(mixing + t) = sigmoid_(*(const vfu*)(logits + t));
    for (int64_t t = 0; t < BLOCK; t += SOMAMBA_WIDTH) {
        *(vfu*)(shrink + t) = expm1_(*(const vfu*)(logs + t));
        *(vfu*)(alpha + t) = exp_(*(const vfu*)(logs + t));
    }
    for (int64_t t = 0; t < length; ++t) {
        gamma[t] = mixing[t] * dt[t];
        s[t] = t + 1 < seen ? (1.0f - mixing[t + 1]) * dt[t + 1] : 0.0f;
        c[t] = gamma[t] + s[t];
    }
}

inline void Block::rotations(const ScanCall& a, const Shape& shape, int64_t b, int64_t h, int64_t start, double* turns) {
    const int64_t count = length * shape.angles, full = round_up(BLOCK * shape.angles, LANES);
    for (int64_t t = 0; t < length; ++t)
        for (int64_t i = 0; i < shape.angles; ++i)
            tanhs[t * shape.angles + i] = a.angle.data[b * a.angle.batch + (start + t) * a.angle.token + h * a.angle.head + i];
    for (int64_t i = count; i < full; ++i) tanhs[i] = 0;
    for (int64_t i = 0; i < full; i += SOMAMBA_WIDTH) *(vfu*)(tanhs + i) = tanh_(*(const vfu*)(tanhs + i));
    // Summed in float64; only the fraction of a turn is kept, rounded by adding and taking away 1.5 * 2^52.
    const double magic = 6755399441055744.0;
    for (int64_t t = 0; t < length; ++t)
        for (int64_t i = 0; i < shape.angles; ++i) {
            turns[i] += 0.5 * (double)tanhs[t * shape.angles + i] * (double)dt[t];
            sine[t * shape.angles + i] = (float)(turns[i] - ((turns[i] + magic) - magic));
        }
    for (int64_t i = 0; i < shape.angles; ++i) turns[i] -= (turns[i] + magic) - magic;
    for (int64_t i = count; i < full; ++i) sine[i] = 0;
    for (int64_t i = 0; i < full; i += SOMAMBA_WIDTH) {
        vf s, c;
        sincos_(*(const vfu*)(sine + i), s, c);
        *(vfu*)(sine + i) = s;
        *(vfu*)(cosine + i) = c;
    }
    const int64_t half = a.n / 2;
    for (int64_t t = 0; t < length; ++t) {
        float *own = with + t * shape.row, *other = against + t * shape.row;
        for (int64_t i = 0; i < shape.row; i += LANES) store(own + i, splat(1)), store(other + i, splat(0));
        for (int64_t i = 0; i < shape.angles; ++i) {
            own[i] = own[i + half] = cosine[t * shape.angles + i];
            other[i + half] = sine[t * shape.angles + i];
            other[i] = -other[i + half];
        }
    }
}

}  // namespace SOMAMBA_ISA
