// Products with the weight of a small linear layer, some rows at a time, so that a kernel can take them in its stride:
// no call, no second pass over what comes in or goes out. Weights come packed in panels of 16 columns, zero beyond the
// width: (width / 16, inner, 16) floats, or (width / 16, inner / 2, 16, 2) bfloat16, zero beyond an odd inner size.
#pragma once
#include "vec.h"

namespace SOMAMBA_ISA {

// As many sums as the registers hold, with room for a row of the panels: 12 native vectors of 16, or 24 of 32. Two panels
// abreast share the numbers of x, and half as many rows are few enough for their addresses to stay in registers, too.
constexpr int PANELS_ABREAST = SOMAMBA_WIDTH == 16 ? 2 : 1;
constexpr int ROWS_AT_ONCE = SOMAMBA_WIDTH == 16 ? 12 : SOMAMBA_WIDTH == 8 ? 6 : 3;
constexpr int ROWS_LEFT = SOMAMBA_WIDTH == 16 ? 4 : 2;  // of what is left over: enough sums to hide what one waits for
constexpr int CHUNK = SOMAMBA_WIDTH == 16 ? 192 : 8 * ROWS_AT_ONCE;  // rows that meet all panels before the next: both stay in the first cache
static_assert(CHUNK <= CONSTANTS.chunk, "buffers would be too small");

// The left factor: rows `step` apart, of `inner` numbers. Of bfloat16 both are even.
template <typename T>
struct Rows {
    const T* at;
    int64_t step, inner;
};

// Where the product goes: to = start + bias + product, neither start nor bias where it is null.
struct Sum {
    const float *start, *bias;
    float* to;
    int64_t row, width;  // the distance of rows, of start and to alike; how many columns there are
};

// total[p][r] += x[r] . panel p, the panels `next` numbers apart
template <int PANELS, int ROWS>
INLINE void accumulate(Rows<float> x, const float* panel, int64_t next, V (&total)[PANELS][ROWS]) {
    for (int64_t k = 0; k < x.inner; ++k) {
        V weight[PANELS];
        UNROLL for (int p = 0; p < PANELS; ++p) weight[p] = load(panel + p * next + k * LANES);
        UNROLL for (int r = 0; r < ROWS; ++r)
            UNROLL for (int p = 0; p < PANELS; ++p) total[p][r] = fma(total[p][r], weight[p], x.at[r * x.step + k]);
    }
}
template <int PANELS, int ROWS>
INLINE void accumulate(Rows<bf16> x, const bf16* panel, int64_t next, V (&total)[PANELS][ROWS]) {
    for (int64_t k = 0; k < x.inner; k += 2) {
        Pairs weight[PANELS];
        UNROLL for (int p = 0; p < PANELS; ++p) weight[p] = load_pairs(panel + p * next + k * LANES);
        UNROLL for (int r = 0; r < ROWS; ++r)
            UNROLL for (int p = 0; p < PANELS; ++p) total[p][r] = dot(total[p][r], weight[p], x.at + r * x.step + k);
    }
}

// ROWS rows and PANELS panels, of which the last may be narrow; the weight for x and y side by side.
template <int PANELS, int ROWS, typename T>
INLINE void panel_product(Rows<T> x, Rows<T> y, const T* panel, const Sum& sum, int64_t row, int64_t column) {
    const int64_t at = row * sum.row + column, next = (x.inner + y.inner) * LANES;
    const int last = (int)least(LANES, sum.width - column - (PANELS - 1) * LANES);
    V total[PANELS][ROWS];
    UNROLL for (int p = 0; p < PANELS; ++p) {
        const int lanes = p + 1 < PANELS ? LANES : last;
        const V shift = sum.bias ? load(sum.bias + column + p * LANES, lanes) : splat(0);
        UNROLL for (int r = 0; r < ROWS; ++r)
            total[p][r] = sum.start ? load(sum.start + at + r * sum.row + p * LANES, lanes) + shift : shift;
    }
    accumulate({x.at + row * x.step, x.step, x.inner}, panel, next, total);
    accumulate({y.at + row * y.step, y.step, y.inner}, panel + x.inner * LANES, next, total);
    UNROLL for (int p = 0; p < PANELS; ++p) {
        const int lanes = p + 1 < PANELS ? LANES : last;
        UNROLL for (int r = 0; r < ROWS; ++r) store(sum.to + at + r * sum.row + p * LANES, total[p][r], lanes);
    }
}
template <int PANELS, typename T>
INLINE void all_rows(int64_t rows, Rows<T> x, Rows<T> y, const T* panel, const Sum& sum, int64_t column) {
    int64_t row = 0;
    for (; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE) panel_product<PANELS, ROWS_AT_ONCE>(x, y, panel, sum, row, column);
    for (; row + ROWS_LEFT <= rows; row += ROWS_LEFT) panel_product<PANELS, ROWS_LEFT>(x, y, panel, sum, row, column);
    for (; row < rows; ++row) panel_product<PANELS, 1>(x, y, panel, sum, row, column);
}

// start + bias + [x, y] weight^T for up to CHUNK rows.
template <typename T>
APART void panels(int64_t rows, Rows<T> x, Rows<T> y, const T* packed, const Sum& sum) {
    constexpr int64_t ABREAST_WIDTH = PANELS_ABREAST * LANES;
    int64_t column = 0;
    for (; column + ABREAST_WIDTH - LANES < sum.width; column += ABREAST_WIDTH)
        all_rows<PANELS_ABREAST>(rows, x, y, packed + column * (x.inner + y.inner), sum, column);
    if (column < sum.width) all_rows<1>(rows, x, y, packed + column * (x.inner + y.inner), sum, column);
}

// The gradient of a weight, ROWS of its rows and PANELS of its panels: to += x^T y over `rows` rows.
template <int PANELS, int ROWS>
INLINE void outer_tile(int64_t rows, Rows<float> x, Rows<float> y, float* to, int64_t pitch, int last) {
    V total[PANELS][ROWS];
    UNROLL for (int r = 0; r < ROWS; ++r)
        UNROLL for (int p = 0; p < PANELS; ++p) total[p][r] = load(to + r * pitch + p * LANES, p + 1 < PANELS ? LANES : last);
    for (int64_t k = 0; k < rows; ++k) {
        V right[PANELS];
        UNROLL for (int p = 0; p < PANELS; ++p) right[p] = load(y.at + k * y.step + p * LANES, p + 1 < PANELS ? LANES : last);
        UNROLL for (int r = 0; r < ROWS; ++r)
            UNROLL for (int p = 0; p < PANELS; ++p) total[p][r] = fma(total[p][r], right[p], x.at[k * x.step + r]);
    }
    UNROLL for (int r = 0; r < ROWS; ++r)
        UNROLL for (int p = 0; p < PANELS; ++p) store(to + r * pitch + p * LANES, total[p][r], p + 1 < PANELS ? LANES : last);
}
template <int PANELS>
INLINE void outer_columns(int64_t rows, Rows<float> x, Rows<float> y, float* to, int64_t pitch, int last) {
    int64_t row = 0;
    for (; row + ROWS_AT_ONCE <= x.inner; row += ROWS_AT_ONCE)
        outer_tile<PANELS, ROWS_AT_ONCE>(rows, {x.at + row, x.step, 0}, y, to + row * pitch, pitch, last);
    for (; row + ROWS_LEFT <= x.inner; row += ROWS_LEFT)
        outer_tile<PANELS, ROWS_LEFT>(rows, {x.at + row, x.step, 0}, y, to + row * pitch, pitch, last);
    for (; row < x.inner; ++row) outer_tile<PANELS, 1>(rows, {x.at + row, x.step, 0}, y, to + row * pitch, pitch, last);
}

// to[i][j] += sum over rows of x[i] y[j], for i < x.inner and j < y.inner; rows of `to` follow each other.
APART void outer(int64_t rows, Rows<float> x, Rows<float> y, float* to) {
    constexpr int64_t ABREAST_WIDTH = PANELS_ABREAST * LANES;
    int64_t column = 0;
    for (; column + ABREAST_WIDTH <= y.inner; column += ABREAST_WIDTH)
        outer_columns<PANELS_ABREAST>(rows, x, {y.at + column, y.step, 0}, to + column, y.inner, LANES);
    for (; column < y.inner; column += LANES)
        outer_columns<1>(rows, x, {y.at + column, y.step, 0}, to + column, y.inner, (int)least(LANES, y.inner - column));
}

// to[i] += sum over rows of x[i]: the gradient of a bias.
APART void add_rows(int64_t rows, Rows<float> x, float* to) {
    for (int64_t i = 0; i < x.inner; i += LANES) {
        const int lanes = (int)least(LANES, x.inner - i);
        V total = load(to + i, lanes);
        for (int64_t r = 0; r < rows; ++r) total = total + load(x.at + r * x.step + i, lanes);
        store(to + i, total, lanes);
    }
}

// Rows rounded to bfloat16, with a zero behind an odd number of them; `to` is moved behind them.
APART Rows<bf16> rounded(int64_t rows, Rows<float> x, bf16*& to) {
    const Rows<bf16> result{to, round_up(x.inner, 2), round_up(x.inner, 2)};
    for (int64_t r = 0; r < rows; ++r, to += result.step) {
        round_row(x.at + r * x.step, x.inner, to);
        if (x.inner < result.inner) to[x.inner] = 0;
    }
    return result;
}

// The same in float32, or in bfloat16 where there is memory for the rounded rows: CHUNK of x and y, even sizes.
INLINE void product(int64_t rows, Rows<float> x, Rows<float> y, const void* packed, const Sum& sum, bf16* memory) {
    if (!memory) return panels(rows, x, y, (const float*)packed, sum);
    const Rows<bf16> left = rounded(rows, x, memory), right = rounded(rows, y, memory);
    panels(rows, left, right, (const bf16*)packed, sum);
}
INLINE void product(int64_t rows, Rows<float> x, const void* packed, const Sum& sum, bf16* memory) {
    product(rows, x, {x.at, 0, 0}, packed, sum, memory);
}

}  // namespace SOMAMBA_ISA
