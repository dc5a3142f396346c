// The ownership block, backward: through W_o and the outlet's filter image row by image row, through the scan, and from
// there some tokens at a time to both streams. What is cheap to make again was not kept: norms, filters, modulation.
#pragma once
#include "lines.h"
#include "scan_finish.h"
#include "stream.h"

namespace SOMAMBA_ISA {

constexpr int64_t STRETCH = CHUNK > 96 ? 96 : CHUNK;  // tokens at a time: what belongs to them stays in the second cache

INLINE int64_t modulation_size(const Stream& a) { return 4 * a.interface.vectors * a.interface.n; }

// Gradients of the weights, as one worker adds them up; every part starts at a multiple of 16.
struct StreamSums {
    float *read, *refine, *merge_bias;        // channels inner; channels width; channels
    float *project, *dt_bias;                 // pitch width; heads
    float *modulate, *modulate_bias;          // hidden_size (4 vectors n); 4 vectors n
    float *reduce, *reduce_bias;              // hidden_size width; hidden_size
    float *content_weight, *content_bias, *evidence_weight, *evidence_bias;  // width
    float *interface, *outlet;                // 2 n + 2; 10 width
    float *gate, *token_gate;                 // width
    int64_t floats;
    StreamSums(const Stream& a, float* memory) {
        Arena arena{memory};
        read = arena.take(a.channels * a.inner);
        refine = arena.take(a.channels * a.width);
        merge_bias = arena.take(a.channels);
        project = arena.take(a.pitch * a.width);
        dt_bias = arena.take(a.heads);
        modulate = arena.take(a.hidden_size * modulation_size(a));
        modulate_bias = arena.take(modulation_size(a));
        reduce = arena.take(a.hidden_size * a.width);
        reduce_bias = arena.take(a.hidden_size);
        content_weight = arena.take(a.width);
        content_bias = arena.take(a.width);
        evidence_weight = arena.take(a.width);
        evidence_bias = arena.take(a.width);
        interface = arena.take(2 * a.interface.n + 2);
        outlet = arena.take(10 * a.width);
        gate = arena.take(a.width);
        token_gate = arena.take(a.width);
        floats = arena.at - memory;
    }
};

// One worker's memory.
struct StreamMemory {
    float *ring, *taps;                       // 4 padded rows of G; 9 width
    float *values, *slopes;                   // STRETCH width
    float *content, *normed, *back;           // STRETCH width
    float *hidden, *dhidden;                  // STRETCH hidden_size
    float *modulation, *dmodulation;          // STRETCH (4 vectors n)
    int64_t floats;
    StreamMemory(const Stream& a, float* memory) {
        Arena arena{memory};
        ring = arena.take(Ring::floats(a.outlet.width, a.width));
        taps = arena.take(9 * a.width);
        float** parts[] = {&values, &slopes, &content, &normed, &back};
        for (float** part : parts) *part = arena.take(STRETCH * a.width);
        hidden = arena.take(STRETCH * a.hidden_size);
        dhidden = arena.take(STRETCH * a.hidden_size);
        modulation = arena.take(STRETCH * modulation_size(a));
        dmodulation = arena.take(STRETCH * modulation_size(a));
        floats = arena.at - memory;
    }
};

static StreamSizes stream_sizes(const Stream& a) { return {StreamMemory(a, nullptr).floats, StreamSums(a, nullptr).floats}; }

// Pixel (x, y) of an image in a padded grid.
INLINE int64_t padded_at(const Depthwise& grid, int64_t image, int64_t y, int64_t x) {
    return ((image * (grid.height + 2) + y + 1) * (grid.width + 2) + x + 1) * grid.channels;
}

// From the gradient of the output to those of the read-out and of the filtered G.
static void stream_backward_merge(const Stream& a, const StreamGradient& d, int index, int count) {
    const Depthwise& grid = a.outlet;
    const int64_t rows = grid.batch * grid.height, begin = rows * index / count, end = rows * (index + 1) / count;
    const StreamMemory memory(a, d.scratch + index * stream_sizes(a).backward);
    const StreamSums sums(a, d.sums + index * stream_sizes(a).sums);
    const int64_t C = a.width, line = grid.width * C;
    Ring ring(memory.ring, grid.width, grid.height, C);
    for (int64_t row = begin; row < end; ++row) {
        const int64_t y = row % grid.height, image = row / grid.height;
        Lines lines{};
        if (grid.x)
            lines = ring.around(y, row == begin || y == 0, [&](int64_t which, float* to) {
                memcpy(to, grid.x + (image * grid.height + which) * line, line * sizeof(float));
            });
        for (int64_t x = 0; x < grid.width; x += STRETCH) {
            const int64_t some = least(STRETCH, grid.width - x), token = row * grid.width + x;
            const Rows<float> dout{d.dout + token * a.channels, a.channels, a.channels};
            product(some, dout, d.read_weight, {nullptr, nullptr, d.dreadout + token * a.inner, a.inner, a.inner}, nullptr);
            add_rows(some, dout, sums.merge_bias);
            if (!grid.x) continue;
            float* dfiltered = d.dfiltered + padded_at(grid, image, y, x);
            filter_with_slopes(lines, grid.weight, grid.bias, x, some, memory.values, memory.slopes);
            product(some, dout, d.refine_weight, {nullptr, nullptr, dfiltered, C, C}, nullptr);
            outer(some, dout, {memory.values, C, C}, sums.refine);
            for (int64_t i = 0; i < some * C; i += LANES) {
                const int lanes = (int)least(LANES, some * C - i);
                store(dfiltered + i, load(dfiltered + i, lanes) * load(memory.slopes + i, lanes), lanes);
            }
            taps_backward(lines, x, some, dfiltered, sums.outlet);
        }
    }
}

// dt and A of one row: from the gradients of what steps_row() made to those of what it took.
INLINE void steps_backward_row(const Stream& a, const float* raw, const float* ddt, const float* dadt, float* to, float* dt_bias) {
    for (int64_t h = 0; h < a.heads; h += SOMAMBA_WIDTH) {
        const int64_t some = least(SOMAMBA_WIDTH, a.heads - h);
        float steps[SOMAMBA_WIDTH] = {}, rates[SOMAMBA_WIDTH] = {}, of_dt[SOMAMBA_WIDTH] = {}, of_adt[SOMAMBA_WIDTH] = {};
        for (int64_t i = 0; i < some; ++i) {
            steps[i] = raw[h + i] + a.dt_bias[h + i], rates[i] = raw[a.heads + h + i];
            of_dt[i] = ddt[h + i], of_adt[i] = dadt[h + i];
        }
        const vf before = *(const vfu*)steps, speed = *(const vfu*)rates, step = softplus_(before);
        const vf floor = a.decay_floor - (vf){}, zero = {}, one = 1.0f - (vf){};
        vf rate = a.decay_softplus ? softplus_(speed) : speed_(speed);
        vf slope = a.decay_softplus ? sigmoid_(speed) : speed >= zero ? one : rate * rate;
        slope = rate < floor ? zero : slope;
        rate = rate < floor ? floor : rate;
        *(vfu*)rates = *(const vfu*)of_adt * -step * slope;
        *(vfu*)steps = (*(const vfu*)of_dt - *(const vfu*)of_adt * rate) * sigmoid_(before);
        for (int64_t i = 0; i < some; ++i) {
            to[a.dt_at + h + i] = steps[i], to[a.decay_at + h + i] = rates[i];
            dt_bias[h + i] += steps[i];
        }
    }
}

// dt, A, trap and the angles, which all heads share, of one row; and nothing beyond the last column.
INLINE void scalars_backward_row(const Stream& a, const StreamGradient& d, int64_t token, float* to, float* dt_bias) {
    const int64_t heads = a.heads, trap_at = a.decay_at + heads, angle_at = trap_at + heads, angles = a.columns - angle_at;
    steps_backward_row(a, a.raw + token * 2 * heads, d.ddt + token * heads, d.dadt + token * heads, to, dt_bias);
    memcpy(to + trap_at, d.dtrap + token * heads, heads * sizeof(float));
    for (int64_t i = 0; i < angles; ++i) {
        float total = 0;
        for (int64_t h = 0; h < heads; ++h) total += d.dangle[(token * heads + h) * angles + i];
        to[angle_at + i] = total;
    }
    for (int64_t i = a.columns; i < a.pitch; ++i) to[i] = 0;
}

// Through norm and modulation of B and C, and from the modulation to G.
INLINE void modulation_backward(const Stream& a, const StreamGradient& d, const StreamMemory& m, const StreamSums& sums,
                                int64_t token, int64_t rows) {
    const int64_t wide = a.interface.vectors * a.interface.n, size = 4 * wide, H = a.hidden_size, C = a.width;
    Interface part = a.interface;
    part.B += token * part.B_row;
    part.C += token * part.C_row;
    const float* reduced = a.reduced + token * H;
    float* to = d.dprojected + token * a.pitch + 2 * a.inner;
    const InterfaceGradient gradient{d.dB + token * wide, d.dC + token * wide, m.modulation, to, to + wide, a.pitch, a.pitch,
                                     m.dmodulation, nullptr};
    if (!H) {
        memset(m.modulation, 0, rows * size * sizeof(float));
        memset(d.devidence + token * C, 0, rows * C * sizeof(float));
        return interface_backward_rows(part, gradient, 0, rows, sums.interface);
    }
    memcpy(m.hidden, reduced, rows * H * sizeof(float));
    silu_rows(m.hidden, rows * H);
    product(rows, {m.hidden, H, H}, d.modulation_weight, {nullptr, part.bias, m.modulation, size, size}, nullptr);
    interface_backward_rows(part, gradient, 0, rows, sums.interface);
    outer(rows, {m.hidden, H, H}, {m.dmodulation, size, size}, sums.modulate);
    add_rows(rows, {m.dmodulation, size, size}, sums.modulate_bias);
    product(rows, {m.dmodulation, size, size}, d.modulate_weight, {nullptr, nullptr, m.dhidden, H, H}, nullptr);
    for (int64_t i = 0; i < rows * H; i += LANES) {
        const int lanes = (int)least(LANES, rows * H - i);
        const V x = load(reduced + i, lanes), on = sigmoid(x);
        store(m.dhidden + i, load(m.dhidden + i, lanes) * on * (splat(1) + x * (splat(1) - on)), lanes);
    }
    const float* evidence = a.evidence + token * C;
    const Norm norm{a.evidence_weight, a.evidence_bias, a.norm_eps};
    const float* kept = a.evidence_kept + token * 2;
    layer_norm_again(rows, evidence, C, norm, kept, m.normed);
    outer(rows, {m.dhidden, H, H}, {m.normed, C, C}, sums.reduce);
    add_rows(rows, {m.dhidden, H, H}, sums.reduce_bias);
    product(rows, {m.dhidden, H, H}, d.reduce_weight, {nullptr, nullptr, m.back, C, C}, nullptr);
    layer_norm_backward(rows, evidence, C, norm,
                        {m.back, nullptr, kept, d.devidence + token * C, sums.evidence_weight, sums.evidence_bias});
}

// From the gradients of the scan's arguments to those of content and evidence.
static void stream_backward_project(const Stream& a, const StreamGradient& d, int index, int count) {
    const int64_t begin = a.tokens * index / count, end = a.tokens * (index + 1) / count, C = a.width;
    const StreamMemory m(a, d.scratch + index * stream_sizes(a).backward);
    const StreamSums sums(a, d.sums + index * stream_sizes(a).sums);
    for (int64_t token = begin; token < end; token += STRETCH) {
        const int64_t rows = least(STRETCH, end - token);
        float* dprojected = d.dprojected + token * a.pitch;
        modulation_backward(a, d, m, sums, token, rows);
        for (int64_t r = 0; r < rows; ++r) scalars_backward_row(a, d, token + r, dprojected + r * a.pitch, sums.dt_bias);
        const float* content = stream_content(a, token, rows, m.content);
        const Norm norm{a.content_weight, a.content_bias, a.norm_eps};
        const float* kept = a.content_kept + token * 2;
        layer_norm_again(rows, content, C, norm, kept, m.normed);
        outer(rows, {dprojected, a.pitch, a.pitch}, {m.normed, C, C}, sums.project);
        product(rows, {dprojected, a.pitch, a.columns}, d.project_weight, {nullptr, nullptr, m.back, C, C}, nullptr);
        layer_norm_backward(rows, content, C, norm,
                            {m.back, nullptr, kept, d.dcontent + token * C, sums.content_weight, sums.content_bias});
        outer(rows, {d.dout + token * a.channels, a.channels, a.channels}, {d.readout + token * a.inner, a.inner, a.inner}, sums.read);
    }
}

// What a token adds to its gate lets more of its G into the content, and is itself a function of that G, through its norm.
INLINE void token_gate_backward(const Stream& a, const float* evidence, const float* of_content, float* of_evidence, float* sums) {
    const TokenGate token(a, evidence);
    V along = {}, weights = {};
    for (int64_t c = 0; c < a.width; c += LANES) {
        const int lanes = (int)least(LANES, a.width - c);
        along = fma(along, load(of_content + c, lanes), load(evidence + c, lanes));
        weights = weights + load(a.token_gate + c, lanes);
    }
    float of_share, weight;
    totals<1>(&along, &of_share);
    totals<1>(&weights, &weight);
    const float shift = weight / (float)a.width, turn = token.share / (float)a.width;
    for (int64_t c = 0; c < a.width; c += LANES) {
        const int lanes = (int)least(LANES, a.width - c);
        const V normed = off_mean(evidence + c, token.mean, lanes) * token.inverse;
        const V of_normed = fma(load(a.token_gate + c, lanes) + -shift, normed, -turn) * (of_share * token.inverse);
        store(of_evidence + c, fma(load(of_evidence + c, lanes) + of_normed, load(of_content + c, lanes), token.share), lanes);
        store(sums + c, fma(load(sums + c, lanes), normed, of_share), lanes);
    }
}

// G has further ways to the output: the outlet, and the content where a gate lets it in. And since G = U_nr + (U_car - L),
// what it gets is taken off L.
static void stream_backward_streams(const Stream& a, const StreamGradient& d, int index, int count) {
    const Depthwise& grid = a.outlet;
    const int64_t rows = grid.batch * grid.height, C = a.width, line = (grid.width + 2) * C;
    const StreamMemory m(a, d.scratch + index * stream_sizes(a).backward);
    const StreamSums sums(a, d.sums + index * stream_sizes(a).sums);
    if (grid.x) reverse_taps(grid.weight, C, m.taps);
    for (int64_t row = rows * index / count; row < rows * (index + 1) / count; ++row) {
        float *content = d.dcontent + row * grid.width * C, *evidence = d.devidence + row * grid.width * C;
        if (grid.x) {
            const float* above = d.dfiltered + padded_at(grid, row / grid.height, row % grid.height - 1, -1);
            filter_lines({{above, above + line, above + 2 * line}, C}, m.taps, nullptr, 0, grid.width,
                         [&](int64_t p, int64_t c, int lanes, V back) __attribute__((always_inline)) {
                             float* to = evidence + p * C + c;
                             store(to, load(to, lanes) + back, lanes);
                         });
        }
        if (a.token_gate)
            for (int64_t at = 0; at < grid.width * C; at += C)
                token_gate_backward(a, a.evidence + row * grid.width * C + at, content + at, evidence + at, sums.token_gate);
        for (int64_t c = 0; c < C; c += LANES) {
            const int lanes = (int)least(LANES, C - c);
            const V gate = a.gate ? load(a.gate + c, lanes) : splat(0);
            V of_gate = load(sums.gate + c, lanes);
            for (int64_t at = c; at < grid.width * C; at += C) {
                const V of_content = load(content + at, lanes);
                const V of_evidence = a.gate ? fma(load(evidence + at, lanes), of_content, gate) : load(evidence + at, lanes);
                if (a.gate) of_gate = fma(of_gate, of_content, load(a.evidence + row * grid.width * C + at, lanes));
                store(evidence + at, of_evidence, lanes);
                store(content + at, of_content - of_evidence, lanes);
            }
            store(sums.gate + c, of_gate, lanes);
        }
    }
}

}  // namespace SOMAMBA_ISA
