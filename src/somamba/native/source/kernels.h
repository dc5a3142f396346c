// The C interface of the compiled kernels. Plain pointers, sizes and strides (in floats); nothing of PyTorch.
// The layout of these structures is mirrored by ctypes structures in Python: change both together.
#pragma once
#include <stdint.h>

extern "C" {

// One argument with axes (batch, token, head or group) and a contiguous last axis, if it has one.
struct Strided {
    float* data;
    int64_t batch, token, head;
};

// Mamba-3 MIMO scan. Shapes in the comments; the letters are those of somamba/scan/inputs.py.
struct Scan {
    int64_t batch, tokens, heads, p, n, rank, groups, angles;
    Strided C, B;  // (batch, token, group) strides; rank has its own stride, n is contiguous
    int64_t C_rank, B_rank;
    Strided x, z, angle, dt, adt, trap;
    const float *C_bias, *B_bias;             // heads rank n
    const float *mimo_x, *mimo_z, *mimo_o;    // heads rank p
    const float* D;                           // heads
    Strided out;                              // p contiguous
    float* states;                            // batch tokens heads p n, or null
    float* boundary;                          // state at the start of every block, or null; size by somamba_scan_sizes
    double* turns;                            // rotation at the start of every block, or null
    float* scratch;                           // size by somamba_scan_sizes
};

struct ScanGradient {
    Strided dout;
    float *C, *B;                             // batch tokens rank groups n
    float *x, *z;                             // batch tokens heads p
    float *angle, *dt, *adt, *trap;           // batch tokens heads (angles)
    float *C_bias, *B_bias, *mimo_x, *mimo_z, *mimo_o, *D;
    float* partial;                           // sums of single workers; size by somamba_scan_sizes
};

struct ScanSizes {
    int64_t boundary;  // floats
    int64_t turns;     // doubles
    int64_t forward;   // floats of scratch
    int64_t backward;  // floats of scratch
    int64_t partial;   // floats
};

// Selective scan of Mamba-1; the letters are those of somamba/scan/selective/inputs.py. Channels are those of one group.
struct Selective {
    int64_t batch, tokens, groups, channels, n;
    Strided u, dt, B, C;                      // (batch, token, group) strides; channels or n are contiguous
    const float *A, *D;                       // groups channels n; groups channels
    float* out;                               // batch tokens groups channels
    float* states;                            // batch tokens groups channels n, or null
    float* boundary;                          // state at the start of every block, or null; size by somamba_selective_sizes
    float* scratch;                           // size by somamba_selective_sizes
};

struct SelectiveGradient {
    const float* dout;                        // batch tokens groups channels
    float *u, *dt;                            // batch tokens groups channels
    float *A, *D;                             // batch groups channels (n): not yet summed over the batch
    float *B, *C;                             // batch tokens groups n
    float* partial;                           // workers tokens 2 n: dB and dC of a group that another worker began
};

struct SelectiveSizes {
    int64_t boundary, forward, backward, partial;  // floats
};

// B and C of one token row: RMS norm over n, then the affine modulation by G, in one pass.
struct Interface {
    int64_t rows, vectors, n;                 // vectors = rank * groups of B, and as many of C
    const float *B, *C;                       // rows (vectors n)
    int64_t B_row, C_row;
    const float *B_weight, *C_weight;         // n
    // The modulation mu_B, nu_B, mu_C, nu_C of a row, (4 vectors n) wide, is hidden . weight + bias.
    int64_t hidden_size, hidden_row;
    const float *hidden, *weight, *bias;      // rows hidden_size; hidden_size (4 vectors n); 4 vectors n
    float scale, shift, eps;
    float *B_out, *C_out;                     // rows (vectors n), contiguous
    float* scratch;                           // workers ROWS_ABREAST (4 vectors n)
};

struct InterfaceGradient {
    const float *dB, *dC;                     // of the outputs, contiguous
    const float* modulation;                  // rows (4 vectors n), with bias: made again for the backward pass
    float *B, *C, *dmodulation;               // of the inputs, contiguous
    float* partial;                           // workers (2 n + 2): weights of B and C, scale, shift
};

// Depthwise 3x3 with zero padding, then GELU, on a contiguous (batch, height, width, channels) grid.
struct Depthwise {
    int64_t batch, height, width, channels;
    const float *x, *weight, *bias;           // weight: 9 channels
    float* out;
};

struct DepthwiseGradient {
    const float* dout;
    float *x, *filtered;                      // gradients of the input and, in between, of the filtered grid
    float* partial;                           // workers (10 channels): 9 taps and the bias
};

}  // extern "C"

// What each instruction set provides; thread `index` of `count` does its share.
struct Kernels {
    const char* name;
    void (*scan_forward)(const Scan&, int index, int count);
    void (*scan_backward)(const Scan&, const ScanGradient&, int index, int count);
    void (*scan_backward_rows)(const Scan&, const ScanGradient&, int workers, int index, int count);
    void (*scan_backward_heads)(const Scan&, const ScanGradient&, int workers, int index, int count);
    void (*scan_backward_parameters)(const Scan&, const ScanGradient&, int workers);
    ScanSizes (*scan_sizes)(const Scan&, int count);
    void (*selective_forward)(const Selective&, int index, int count);
    void (*selective_backward)(const Selective&, const SelectiveGradient&, int index, int count);
    void (*selective_backward_rows)(const Selective&, const SelectiveGradient&, int workers, int index, int count);
    SelectiveSizes (*selective_sizes)(const Selective&, int count);
    void (*interface_forward)(const Interface&, int index, int count);
    void (*interface_backward)(const Interface&, const InterfaceGradient&, int index, int count);
    void (*depthwise_forward)(const Depthwise&, int index, int count);
    void (*depthwise_backward_filter)(const Depthwise&, const DepthwiseGradient&, int index, int count);
    void (*depthwise_backward_input)(const Depthwise&, const DepthwiseGradient&, int index, int count);
};
