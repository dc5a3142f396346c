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
    // A long sequence may come in pieces. Of the tokens given only the first `advance` are done; the one behind them is
    // looked at: its step decides how much the token before it weighs. All of them where a sequence comes whole.
    int64_t advance;
    float* carry;                             // batch heads tiles n 16: state in and out; null starts from zero
    const double* turns_in;                   // batch heads angles: rotation at the first token; not null with carry
    double* turns_out;                        // and behind the last
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

struct DepthwiseGradient {
    const float* dout;
    float *x, *filtered;                      // gradients of the input and, in between, of the filtered grid
    float* partial;                           // workers (10 channels): 9 taps and the bias
};

// Depthwise 3x3 with zero padding, then GELU, on a contiguous (batch, height, width, channels) grid.
struct Depthwise {
    int64_t batch, height, width, channels;
    const float *x, *weight, *bias;           // weight: 9 channels
    float* out;
};

// The router of one image, for inference. Weights of linear layers come packed as product.h wants them.
struct Route {
    int64_t height, width, channels, d;       // channels: both pools; d: of the streams
    int64_t low_height, low_width, smoothing;  // of the halved candidate; taps of the low pass
    const float* features;                    // height width channels
    const float *norm_weight, *norm_bias;
    const float *taps, *taps_bias;            // 9 channels; channels
    const void *carrier_weight, *evidence_weight;  // channels/2 to d
    const float *carrier_bias, *evidence_bias;
    int64_t half;                             // whether products are taken in bfloat16, and their weights packed so
    const float* smooth;
    float norm_eps;
    float *carrier, *evidence;                // height width d: L and G
    float* low;                               // low_height low_width d
    float* scratch;                           // size by somamba_route_scratch
};

// The ownership block of one image, for inference: out = features + W_o [scan(L | G), refined G].
// The weights of linear layers come packed as product.h wants them.
struct Stream {
    int64_t tokens, piece;                    // tokens of a piece
    int64_t width, channels, heads;
    const float *content, *evidence;          // tokens width: L and G
    Depthwise outlet;                         // its x is G
    const float* features;                    // tokens channels
    float* out;                               // tokens channels
    const float *content_weight, *content_bias, *evidence_weight, *evidence_bias;  // of the layer norms
    const void* project_weight;               // width to columns
    int64_t columns, pitch;                   // of what is projected: z, x, B, C, dt, A, trap, angle; floats in a row
    int64_t dt_at, decay_at;                  // columns of dt and A
    const float* dt_bias;
    int64_t hidden_size;
    const void* reduce_weight;
    const float* reduce_bias;
    int64_t inner;                            // width of the read-out
    const void* merge_weight;                 // (inner width) to channels: read-out and filtered G
    const float* merge_bias;
    uint16_t* halved;                         // workers 192 (inner width), for products in bfloat16; null: in float32
    float norm_eps, decay_floor;
    int64_t decay_softplus;
    float *normed, *projected, *hidden, *readout;  // workers 192 width; piece+1 pitch; piece hidden_size; piece+1 inner
    Interface interface;                      // of row 1 of the buffers and on
    Scan scan;                                // of row 0
};

}  // extern "C"

// What of a stream is being worked on: `rows` new tokens from `token` on, in rows 1.. of the buffers. Row `first` is the
// first that the scan has not done, and it does `scanned` of them.
struct Piece {
    int64_t token, rows, first, scanned;
};

// What each instruction set provides; thread `index` of `count` does its share.
struct Kernels {
    const char* name;
    void (*scan_forward)(const Scan&, int index, int count);
    void (*scan_backward)(const Scan&, const ScanGradient&, int index, int count);
    void (*scan_backward_rows)(const Scan&, const ScanGradient&, int workers, int index, int count);
    void (*scan_backward_heads)(const Scan&, const ScanGradient&, int workers, int index, int count);
    void (*scan_backward_parameters)(const Scan&, const ScanGradient&, int workers);
    ScanSizes (*scan_sizes)(const Scan&, int count);
    void (*route_project)(const Route&, int index, int count);
    void (*route_halve)(const Route&, int index, int count);
    void (*route_assign)(const Route&, int index, int count);
    int64_t (*route_scratch)(const Route&);
    void (*stream_project)(const Stream&, const Piece&, int index, int count);
    void (*stream_merge)(const Stream&, const Piece&, int index, int count);
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
