// Products with the weight of a small linear layer, some rows at a time, so that a kernel can take them in its stride:
// no call, no second pass over what comes in or goes out. Weights come packed in panels of 16 columns,
// (width / 16, inner, 16), zero beyond the width.
#pragma once
#include "vec.h"

namespace SOMAMBA_ISA {

// As many sums as the registers hold, with room for a panel's row: 12 native vectors of 16, or 24 of 32.
constexpr int ROWS_AT_ONCE = SOMAMBA_WIDTH == 16 ? 24 : SOMAMBA_WIDTH == 8 ? 6 : 3;
constexpr int CHUNK = 8 * ROWS_AT_ONCE;  // rows that meet one panel after another: both stay in the first cache

// total[r] += x[r] . panel
template <int ROWS>
INLINE void accumulate(const float* x, int64_t x_row, int64_t inner, const float* panel, V (&total)[ROWS]) {
    for (int64_t k = 0; k < inner; ++k) {
        const V weight = load(panel + k * LANES);
        UNROLL for (int r = 0; r < ROWS; ++r) total[r] = fma(total[r], weight, x[r * x_row + k]);
    }
}

// Calls work<ROWS>(row) for all of `rows`: ROWS_AT_ONCE at a time, what is left over one by one.
#define SOMAMBA_BY_ROWS(rows, call)                                                          \
    {                                                                                        \
        int64_t row = 0;                                                                     \
        for (; row + ROWS_AT_ONCE <= (rows); row += ROWS_AT_ONCE) call(ROWS_AT_ONCE);        \
        for (; row < (rows); ++row) call(1);                                                 \
    }

// to = x weight^T + bias for ROWS rows and one panel; no bias where it is null.
template <int ROWS>
INLINE void panel_product(const float* x, int64_t x_row, int64_t inner, const float* panel, const float* bias, float* to,
                          int64_t to_row, int lanes) {
    V total[ROWS];
    UNROLL for (int r = 0; r < ROWS; ++r) total[r] = bias ? load(bias, lanes) : splat(0);
    accumulate<ROWS>(x, x_row, inner, panel, total);
    UNROLL for (int r = 0; r < ROWS; ++r) store(to + r * to_row, total[r], lanes);
}

// to = x weight^T + bias for up to CHUNK rows.
INLINE void product(int64_t rows, const float* x, int64_t x_row, int64_t inner, const float* packed, const float* bias,
                    int64_t width, float* to, int64_t to_row) {
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = width - j < LANES ? (int)(width - j) : LANES;
        const float *panel = packed + j * inner, *own = bias ? bias + j : nullptr;
#define CALL(R) panel_product<R>(x + row * x_row, x_row, inner, panel, own, to + row * to_row + j, to_row, lanes)
        SOMAMBA_BY_ROWS(rows, CALL)
#undef CALL
    }
}

// to = start + bias + x weight^T + y weight^T, the weight for x and y side by side: ROWS rows and one panel.
template <int ROWS>
INLINE void panel_merge(const float* start, const float* bias, const float* x, int64_t x_width, const float* y,
                        int64_t y_width, const float* panel, float* to, int64_t width, int lanes) {
    V total[ROWS];
    const V shift = load(bias, lanes);
    UNROLL for (int r = 0; r < ROWS; ++r) total[r] = load(start + r * width, lanes) + shift;
    accumulate<ROWS>(x, x_width, x_width, panel, total);
    accumulate<ROWS>(y, y_width, y_width, panel + x_width * LANES, total);
    UNROLL for (int r = 0; r < ROWS; ++r) store(to + r * width, total[r], lanes);
}

// The same for up to CHUNK rows; all rows contiguous.
INLINE void merge(int64_t rows, const float* start, const float* bias, const float* x, int64_t x_width, const float* y,
                  int64_t y_width, const float* packed, float* to, int64_t width) {
    for (int64_t j = 0; j < width; j += LANES) {
        const int lanes = width - j < LANES ? (int)(width - j) : LANES;
        const float* panel = packed + j * (x_width + y_width);
#define CALL(R)                                                                                                        \
    panel_merge<R>(start + row * width + j, bias + j, x + row * x_width, x_width, y + row * y_width, y_width, panel, \
                   to + row * width + j, width, lanes)
        SOMAMBA_BY_ROWS(rows, CALL)
#undef CALL
    }
}

}  // namespace SOMAMBA_ISA
