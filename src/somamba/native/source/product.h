// Products with the weight of a small linear layer, some rows at a time, so that a kernel can take them in its stride:
// no call, no second pass over what comes in or goes out. Weights come packed in panels of 16 columns, zero beyond the
// width: (width / 16, inner, 16) floats, or (width / 16, inner / 2, 16, 2) bfloat16, zero beyond an odd inner size.
#pragma once
#include "vec.h"

namespace SOMAMBA_ISA {

// As many sums as the registers hold, with room for a panel's row: 12 native vectors of 16, or 24 of 32.
constexpr int ROWS_AT_ONCE = SOMAMBA_WIDTH == 16 ? 24 : SOMAMBA_WIDTH == 8 ? 6 : 3;
constexpr int ROWS_LEFT = SOMAMBA_WIDTH == 16 ? 8 : 2;  // of what is left over: enough sums to hide what one waits for
constexpr int CHUNK = 8 * ROWS_AT_ONCE;  // rows that meet one panel after another: both stay in the first cache

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

// total[r] += x[r] . panel
template <int ROWS>
INLINE void accumulate(const float* x, int64_t x_row, int64_t inner, const float* panel, V (&total)[ROWS]) {
    for (int64_t k = 0; k < inner; ++k) {
        const V weight = load(panel + k * LANES);
        UNROLL for (int r = 0; r < ROWS; ++r) total[r] = fma(total[r], weight, x[r * x_row + k]);
    }
}
template <int ROWS>
INLINE void accumulate(const bf16* x, int64_t x_row, int64_t inner, const bf16* panel, V (&total)[ROWS]) {
    for (int64_t k = 0; k < inner; k += 2) {
        const Pairs weight = load_pairs(panel + k * LANES);
        UNROLL for (int r = 0; r < ROWS; ++r) total[r] = dot(total[r], weight, x + r * x_row + k);
    }
}

// ROWS rows and one panel; the weight for x and y side by side.
template <int ROWS, typename T>
INLINE void panel_product(Rows<T> x, Rows<T> y, const T* panel, const Sum& sum, int64_t row, int64_t column) {
    const int lanes = sum.width - column < LANES ? (int)(sum.width - column) : LANES;
    const int64_t at = row * sum.row + column;
    V total[ROWS];
    const V shift = sum.bias ? load(sum.bias + column, lanes) : splat(0);
    UNROLL for (int r = 0; r < ROWS; ++r)
        total[r] = sum.start ? load(sum.start + at + r * sum.row, lanes) + shift : shift;
    accumulate<ROWS>(x.at + row * x.step, x.step, x.inner, panel, total);
    accumulate<ROWS>(y.at + row * y.step, y.step, y.inner, panel + x.inner * LANES, total);
    UNROLL for (int r = 0; r < ROWS; ++r) store(sum.to + at + r * sum.row, total[r], lanes);
}

// start + bias + [x, y] weight^T for up to CHUNK rows.
template <typename T>
INLINE void panels(int64_t rows, Rows<T> x, Rows<T> y, const T* packed, const Sum& sum) {
    for (int64_t column = 0; column < sum.width; column += LANES) {
        const T* panel = packed + column * (x.inner + y.inner);
        int64_t row = 0;
        for (; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE) panel_product<ROWS_AT_ONCE>(x, y, panel, sum, row, column);
        for (; row + ROWS_LEFT <= rows; row += ROWS_LEFT) panel_product<ROWS_LEFT>(x, y, panel, sum, row, column);
        for (; row < rows; ++row) panel_product<1>(x, y, panel, sum, row, column);
    }
}

// Rows rounded to bfloat16, with a zero behind an odd number of them; `to` is moved behind them.
INLINE Rows<bf16> rounded(int64_t rows, Rows<float> x, bf16*& to) {
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
