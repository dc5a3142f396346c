// Depthwise 3x3 on three neighbouring rows of a channels-last grid that have a zero pixel at each end: no edges to mind.
#pragma once
#include "depthwise.h"

namespace SOMAMBA_ISA {

// The rows above, beside and below; each points at pixel -1.
struct Lines {
    const float* row[3];
    int64_t channels;
};

// Calls emit(pixel, channel, lanes, filtered) for `count` pixels from x on, numbered from 0, 16 channels at a time.
template <typename F>
INLINE void filter_lines(const Lines& lines, const float* taps, const float* bias, int64_t x, int64_t count, const F& emit) {
    const int64_t C = lines.channels;
    for (int64_t p = 0; p < count;) {
        const int64_t some = count - p >= ABREAST ? ABREAST : 1;
        for (int64_t c = 0; c < C; c += LANES) {
            const int lanes = (int)least(LANES, C - c);
            const V start = bias ? load(bias + c, lanes) : splat(0);
            const float* at[3] = {lines.row[0] + (x + p) * C + c, lines.row[1] + (x + p) * C + c, lines.row[2] + (x + p) * C + c};
            if (some == ABREAST && lanes == LANES) {
                V filtered[ABREAST];
                filter_abreast(at[0], at[1], at[2], C, taps + c, start, filtered);
                UNROLL for (int i = 0; i < ABREAST; ++i) emit(p + i, c, LANES, filtered[i]);
                continue;
            }
            for (int64_t i = 0; i < some; ++i) {
                V total = start;
                for (int64_t tap = 0; tap < 9; ++tap)
                    total = fma(total, load(at[tap / 3] + (i + tap % 3) * C, lanes), load(taps + tap * C + c, lanes));
                emit(p + i, c, lanes, total);
            }
        }
        p += some;
    }
}

// GELU of the filtered pixels, and its slope there.
APART void filter_with_slopes(const Lines& lines, const float* taps, const float* bias, int64_t x, int64_t count,
                               float* values, float* slopes) {
    filter_lines(lines, taps, bias, x, count, [&](int64_t p, int64_t c, int lanes, V filtered) __attribute__((always_inline)) {
        V value, slope;
        gelu_with_slope(filtered, value, slope);
        store(values + p * lines.channels + c, value, lanes);
        store(slopes + p * lines.channels + c, slope, lanes);
    });
}

// The gradients of the nine taps and of the bias, from those of the filtered pixels: added to sums, 10 channels.
APART void taps_backward(const Lines& lines, int64_t x, int64_t count, const float* gradients, float* sums) {
    const int64_t C = lines.channels;
    for (int64_t c = 0; c < C; c += LANES) {
        const int lanes = (int)least(LANES, C - c);
        V total[10];
        UNROLL for (int tap = 0; tap < 10; ++tap) total[tap] = load(sums + tap * C + c, lanes);
        for (int64_t p = 0; p < count; ++p) {
            const V g = load(gradients + p * C + c, lanes);
            UNROLL for (int tap = 0; tap < 9; ++tap)
                total[tap] = fma(total[tap], g, load(lines.row[tap / 3] + (x + p + tap % 3) * C + c, lanes));
            total[9] = total[9] + g;
        }
        UNROLL for (int tap = 0; tap < 10; ++tap) store(sums + tap * C + c, total[tap], lanes);
    }
}

// The taps from last to first: the filter that carries gradients back to its input.
INLINE void reverse_taps(const float* taps, int64_t channels, float* to) {
    for (int64_t tap = 0; tap < 9; ++tap) memcpy(to + tap * channels, taps + (8 - tap) * channels, channels * sizeof(float));
}

// Rows of images kept with a zero pixel at each end, the three around one of them at a time.
struct Ring {
    float* memory;           // 4 lines: row y is in line y % 3, the last line is zero
    int64_t width, height, channels;
    Ring(float* memory_, int64_t width_, int64_t height_, int64_t channels_)
        : memory(memory_), width(width_), height(height_), channels(channels_) {
        const int64_t line = size();
        for (int64_t i = 0; i < 3; ++i) {
            memset(memory + i * line, 0, channels * sizeof(float));
            memset(memory + (i + 1) * line - channels, 0, channels * sizeof(float));
        }
        memset(memory + 3 * line, 0, line * sizeof(float));
    }
    static int64_t floats(int64_t width, int64_t channels) { return 4 * (width + 2) * channels; }
    int64_t size() const { return (width + 2) * channels; }
    // Lines around row y; fill(row, to) writes a row of the image. `fresh` where the row before was not asked for.
    template <typename F>
    INLINE_MEMBER Lines around(int64_t y, bool fresh, const F& fill) {
        const int64_t line = size();
        if (fresh)
            for (int64_t above = y > 0 ? y - 1 : y; above <= y; ++above) fill(above, memory + above % 3 * line + channels);
        if (y + 1 < height) fill(y + 1, memory + (y + 1) % 3 * line + channels);
        const float* zero = memory + 3 * line;
        return {{y > 0 ? memory + (y - 1) % 3 * line : zero, memory + y % 3 * line,
                 y + 1 < height ? memory + (y + 1) % 3 * line : zero}, channels};
    }
};

}  // namespace SOMAMBA_ISA
