// Phi and Psi, the ends of a stage: a linear layer between patches and features, and the layer norm of the features. Phi
// projects, then norms; Psi norms, then projects. What lies between both layers is made again on the way back.
#pragma once
#include "norm.h"
#include "product.h"
#include "scan_block.h"

namespace SOMAMBA_ISA {

// Gradients of the weights, as one worker adds them up; every part starts at a multiple of 16.
struct EndSums {
    float *weight, *bias, *norm_weight, *norm_bias;  // patch channels; bias_size; channels; channels
    int64_t floats;
    EndSums(const End& a, int64_t bias_size, float* memory) {
        Arena arena{memory};
        weight = arena.take(a.patch * a.channels);
        bias = arena.take(bias_size);
        norm_weight = arena.take(a.channels);
        norm_bias = arena.take(a.channels);
        floats = arena.at - memory;
    }
};

// Calls work(first row, rows) for a worker's share, some rows at a time.
template <typename F>
INLINE void each_chunk(int64_t rows, int index, int count, const F& work) {
    const int64_t end = rows * (index + 1) / count;
    for (int64_t at = rows * index / count; at < end; at += CHUNK) work(at, least(CHUNK, end - at));
}

static void embed_forward(const End& a, int index, int count) {
    const int64_t C = a.channels, P = a.patch;
    each_chunk(a.rows, index, count, [&](int64_t at, int64_t rows) {
        float* out = a.out + at * C;
        product(rows, {a.x + at * P, P, P}, a.weight, {nullptr, a.bias, out, C, C}, nullptr);
        layer_norm(rows, out, C, {a.norm_weight, a.norm_bias, a.norm_eps}, out, nullptr);
    });
}

static void embed_backward(const End& a, const EndGradient& d, int index, int count) {
    const int64_t C = a.channels, P = a.patch;
    float *projected = a.scratch + index * 2 * CHUNK * C, *back = projected + CHUNK * C;
    const EndSums own(a, C, nullptr), sums(a, C, d.sums + index * own.floats);
    each_chunk(a.rows, index, count, [&](int64_t at, int64_t rows) {
        const Rows<float> patches{a.x + at * P, P, P};
        product(rows, patches, a.weight, {nullptr, a.bias, projected, C, C}, nullptr);
        layer_norm_backward(rows, projected, C, {a.norm_weight, a.norm_bias, a.norm_eps},
                            {d.dout + at * C, nullptr, nullptr, back, sums.norm_weight, sums.norm_bias});
        outer(rows, patches, {back, C, C}, sums.weight);
        add_rows(rows, {back, C, C}, sums.bias);
        if (d.dx) product(rows, {back, C, C}, d.weight, {nullptr, nullptr, d.dx + at * P, P, P}, nullptr);
    });
}

static void decode_forward(const End& a, int index, int count) {
    const int64_t C = a.channels, P = a.patch;
    float* normed = a.scratch + index * 2 * CHUNK * C;
    each_chunk(a.rows, index, count, [&](int64_t at, int64_t rows) {
        layer_norm(rows, a.x + at * C, C, {a.norm_weight, a.norm_bias, a.norm_eps}, normed, nullptr);
        product(rows, {normed, C, C}, a.weight, {nullptr, a.bias, a.out + at * P, P, P}, nullptr);
    });
}

static void decode_backward(const End& a, const EndGradient& d, int index, int count) {
    const int64_t C = a.channels, P = a.patch;
    float *normed = a.scratch + index * 2 * CHUNK * C, *back = normed + CHUNK * C;
    const EndSums own(a, P, nullptr), sums(a, P, d.sums + index * own.floats);
    const Norm norm{a.norm_weight, a.norm_bias, a.norm_eps};
    float kept[2 * CHUNK];
    each_chunk(a.rows, index, count, [&](int64_t at, int64_t rows) {
        const Rows<float> dout{d.dout + at * P, P, P};
        layer_norm(rows, a.x + at * C, C, norm, normed, kept);
        product(rows, dout, d.weight, {nullptr, nullptr, back, C, C}, nullptr);
        outer(rows, dout, {normed, C, C}, sums.weight);
        add_rows(rows, dout, sums.bias);
        layer_norm_backward(rows, a.x + at * C, C, norm, {back, nullptr, kept, d.dx + at * C, sums.norm_weight, sums.norm_bias});
    });
}

}  // namespace SOMAMBA_ISA
