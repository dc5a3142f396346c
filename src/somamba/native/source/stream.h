// The ownership block for inference, as a stream: norms, projections, modulation, scan and merge of some hundred tokens
// after another, so that what one step writes is still in the cache when the next one reads it.
#pragma once
#include "depthwise.h"
#include "interface.h"
#include "norm.h"
#include "product.h"
#include "scan_forward.h"

namespace SOMAMBA_ISA {

// log(1 + exp(x)), by max(x, 0) + 2 atanh(e / (2 + e)) with e = exp(-|x|); the series ends at 5e-10.
INLINE vf softplus_(vf x) {
    vf zero = {}, size = x < zero ? -x : x;
    vf e = exp_(-size), s = e / (2.0f + e), u = s * s;
    vf q = 0.133333333f * u + 0.153846154f;  // 2/15, 2/13, ... 2/3, 2
    q = q * u + 0.181818182f;
    q = q * u + 0.222222222f;
    q = q * u + 0.285714286f;
    q = q * u + 0.4f;
    q = q * u + 0.666666667f;
    q = q * u + 2.0f;
    return (x > zero ? x : zero) + q * s + (x - x);  // x - x keeps a NaN
}

// f(v) > 0, the negative of A: 1 + v for v >= 0 and 1 / (1 - v) below.
INLINE vf speed_(vf raw) {
    vf zero = {}, below = raw < zero ? raw : zero;
    return raw >= zero ? 1.0f + raw : 1.0f / (1.0f - below) + (raw - raw);
}

// dt and A of one row, in place: dt = softplus(dt + bias), and A becomes A dt.
APART void steps_row(const Stream& a, float* row) {
    float *dt = row + a.dt_at, *decay = row + a.decay_at;
    for (int64_t h = 0; h < a.heads; h += SOMAMBA_WIDTH) {
        const int64_t some = least(SOMAMBA_WIDTH, a.heads - h);
        float steps[SOMAMBA_WIDTH] = {}, rates[SOMAMBA_WIDTH] = {};
        for (int64_t i = 0; i < some; ++i) steps[i] = dt[h + i] + a.dt_bias[h + i], rates[i] = decay[h + i];
        const vf step = softplus_(*(const vfu*)steps), raw = *(const vfu*)rates, floor = a.decay_floor - (vf){};
        vf rate = a.decay_softplus ? softplus_(raw) : speed_(raw);
        rate = rate < floor ? floor : rate;
        *(vfu*)steps = step;
        *(vfu*)rates = -rate * step;
        for (int64_t i = 0; i < some; ++i) dt[h + i] = steps[i], decay[h + i] = rates[i];
    }
}

APART void silu_rows(float* x, int64_t count) {
    for (int64_t i = 0; i < count; i += LANES) {
        const int lanes = (int)least(LANES, count - i);
        const V v = load(x + i, lanes);
        store(x + i, v * sigmoid(v), lanes);
    }
}

// A worker's memory for rows in bfloat16; null where products are taken in float32.
INLINE bf16* stream_halved(const Stream& a, int index) {
    return a.halved ? a.halved + index * CHUNK * (round_up(a.inner, 2) + round_up(a.width, 2)) : nullptr;
}

// What a token adds to its gate, with mean and 1 / deviation of its G.
struct TokenGate {
    float mean, inverse, share;
    TokenGate(const Stream& a, const float* evidence) {
        measure_tokens<1>(evidence, a.width, a.norm_eps, &mean, &inverse);
        V total = {};
        for (int64_t c = 0; c < a.width; c += LANES) {
            const int lanes = (int)least(LANES, a.width - c);
            total = fma(total, load(a.token_gate + c, lanes), off_mean(evidence + c, mean, lanes));
        }
        totals<1>(&total, &share);
        share *= inverse;
    }
};

// The content of `rows` tokens from `token` on, where it lies or, with what enters of G, in `to`.
INLINE const float* stream_content(const Stream& a, int64_t token, int64_t rows, float* to) {
    const int64_t C = a.width;
    const float *content = a.content + token * C, *evidence = a.evidence + token * C;
    if (!a.gate) return content;
    for (int64_t at = 0; at < rows * C; at += C) {
        const float share = a.token_gate ? TokenGate(a, evidence + at).share : 0.0f;
        for (int64_t c = 0; c < C; c += LANES) {
            const int lanes = (int)least(LANES, C - c);
            const V gate = load(a.gate + c, lanes) + share;
            store(to + at + c, fma(load(content + at + c, lanes), load(evidence + at + c, lanes), gate), lanes);
        }
    }
    return to;
}

// First half of a piece: content and evidence of `piece.rows` tokens to the arguments of the scan.
static void stream_project(const Stream& a, const Piece& piece, int index, int count) {
    const int64_t begin = piece.rows * index / count, end = piece.rows * (index + 1) / count, heads = a.heads;
    float* normed = a.normed + index * CHUNK * a.width;
    bf16* halved = stream_halved(a, index);
    float* modulation = a.interface.scratch + index * ROWS_ABREAST * 4 * a.interface.vectors * a.interface.n;
    for (int64_t at = begin; at < end; at += CHUNK) {
        const int64_t rows = least(CHUNK, end - at);
        const float* content = stream_content(a, piece.token + at, rows, normed);
        float* projected = a.projected + at * a.pitch;
        layer_norm(rows, content, a.width, {a.content_weight, a.content_bias, a.norm_eps}, normed,
                   a.content_kept ? a.content_kept + at * 2 : nullptr);
        product(rows, {normed, a.width, a.width}, a.project_weight, {nullptr, nullptr, projected, a.pitch, a.columns}, halved);
        if (a.raw)
            for (int64_t r = 0; r < rows; ++r) {
                memcpy(a.raw + (at + r) * 2 * heads, projected + r * a.pitch + a.dt_at, heads * sizeof(float));
                memcpy(a.raw + ((at + r) * 2 + 1) * heads, projected + r * a.pitch + a.decay_at, heads * sizeof(float));
            }
        for (int64_t r = 0; r < rows; ++r) steps_row(a, projected + r * a.pitch);
        if (a.hidden_size) {
            const float* evidence = a.evidence + (piece.token + at) * a.width;
            float* hidden = a.hidden + at * a.hidden_size;
            layer_norm(rows, evidence, a.width, {a.evidence_weight, a.evidence_bias, a.norm_eps}, normed,
                       a.evidence_kept ? a.evidence_kept + at * 2 : nullptr);
            product(rows, {normed, a.width, a.width}, a.reduce_weight,
                    {nullptr, a.reduce_bias, hidden, a.hidden_size, a.hidden_size}, halved);
            if (a.reduced) memcpy(a.reduced + at * a.hidden_size, hidden, rows * a.hidden_size * sizeof(float));
            silu_rows(hidden, rows * a.hidden_size);
        }
        interface_rows(a.interface, at, at + rows, modulation);
    }
}

// Second half: read-out and refined evidence to the output, for the tokens that the scan has done. The outlet's filter
// is taken here: the evidence around a token is still near.
static void stream_merge(const Stream& a, const Piece& piece, int index, int count) {
    const int64_t begin = piece.scanned * index / count, end = piece.scanned * (index + 1) / count;
    float* refined = a.normed + index * CHUNK * a.width;
    bf16* halved = stream_halved(a, index);
    for (int64_t at = begin; at < end; at += CHUNK) {
        const int64_t rows = least(CHUNK, end - at), token = piece.token + piece.first + at;
        const int64_t filtered = a.outlet.x ? a.width : 0;
        if (filtered) depthwise_pixels(a.outlet, token, token + rows, refined);
        const Rows<float> readout{a.readout + (piece.first + at) * a.inner, a.inner, a.inner};
        const int64_t to = token * a.channels;
        product(rows, readout, {refined, filtered, filtered}, a.merge_weight,
                {a.features + to, a.merge_bias, a.out + to, a.channels, a.channels}, halved);
    }
}

}  // namespace SOMAMBA_ISA
