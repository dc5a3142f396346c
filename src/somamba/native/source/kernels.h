// The C interface of the compiled kernels. Plain pointers, sizes and strides (in floats); nothing of PyTorch.
// They are mirrored in native/structures.py and listed in layout.cpp: Python compares both when it loads the library.
#pragma once
#include <stdint.h>

extern "C" {

// What Python must know to make buffers of the right size.
struct Constants {
    int64_t lanes;         // numbers that a kernel works on together; columns of a panel of packed weights
    int64_t chunk;         // the most rows that a worker takes through a product at a time
    int64_t rows_abreast;  // rows whose modulation is projected together
    int64_t largest_radix; // of a stage of a Fourier transform
};
constexpr Constants CONSTANTS = {16, 192, 4, 31};

// One argument with axes (batch, token, head or group) and a contiguous last axis, if it has one.
struct Strided {
    float* data;
    int64_t batch, token, head;
};

// Mamba-3 MIMO scan. Shapes in the comments; the letters are those of somamba/scan/inputs.py.
struct ScanCall {
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
    Strided x, z;                             // p contiguous
    Strided readout;                          // the output, made again; null: not
    float *C, *B;                             // batch tokens rank groups n
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
    float *B, *C;                             // of the inputs
    int64_t B_row, C_row;
    float* dmodulation;                       // rows (4 vectors n)
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

// The router of one image. Weights of linear layers come packed as product.h wants them.
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
    float* kept;                              // height width 2: mean and 1 / deviation of the features; null: not kept
    float* scratch;                           // size by somamba_route_sizes
};

struct RouteGradient {
    const float* dout;                        // height width channels: what is added to the gradient of the features
    const float *dcarrier, *devidence;        // height width d: of L as restored, and of G; G's share of L is taken off
    const void *carrier_weight, *evidence_weight;  // d to channels/2
    float* dlow;                              // low_height low_width d
    float* dfiltered;                         // (height + 2) (width + 2) channels, zero at the borders
    float* dfeatures;                         // height width channels
    float* sums;                              // workers, size by somamba_route_sizes: RouteSums of route_backward.h
};

struct RouteSizes {
    int64_t forward, backward;                // floats of scratch of one worker
    int64_t sums;                             // floats of one worker
};

// The ownership block: out = features + W_o [scan(L | G), refined G]. In inference one image, in pieces; in training all
// images at once. The weights of linear layers come packed as product.h wants them.
struct Stream {
    int64_t tokens, piece;                    // tokens of a piece
    int64_t width, channels, heads;
    const float *content, *evidence;          // tokens width: L and G
    const float* gate;                        // width: how much of G is added to the content; null: none
    const float* token_gate;                  // width: its product with the normed G of a token is added to the gate; null: none
    Depthwise outlet;                         // its x is G; null: no outlet
    const float* features;                    // tokens channels
    float* out;                               // tokens channels
    const float *content_weight, *content_bias, *evidence_weight, *evidence_bias;  // of the layer norms
    const void* project_weight;               // width to columns
    int64_t columns, pitch;                   // of what is projected: z, x, B, C, dt, A, trap, angle; floats in a row
    int64_t dt_at, decay_at;                  // columns of dt and A
    const float* dt_bias;
    int64_t hidden_size;                      // 0: G does not modulate
    const void* reduce_weight;
    const float* reduce_bias;
    int64_t inner;                            // width of the read-out
    const void* merge_weight;                 // (inner width) to channels: read-out and filtered G
    const float* merge_bias;
    uint16_t* halved;                         // workers chunk (inner width), for products in bfloat16; null: in float32
    float norm_eps, decay_floor;
    int64_t decay_softplus;
    float* normed;                            // workers chunk width
    // Of the new tokens; in pieces, the row before the first is that of the token before.
    float *projected, *hidden, *readout;      // rows pitch; rows hidden_size; rows inner
    float *raw, *reduced;                     // kept in training, else null: dt and A as projected, rows (2 heads); hidden before its SiLU
    float *content_kept, *evidence_kept;      // rows 2, likewise: mean and 1 / deviation of content and evidence
    Interface interface;
    ScanCall scan;                                // in pieces, from the row before on
};

// The backward pass of a block, over all tokens.
struct StreamGradient {
    const float* dout;                        // tokens channels
    const void *read_weight, *refine_weight;  // channels to inner, channels to width
    const void* project_weight;               // columns to width
    const void *modulation_weight, *modulate_weight;  // hidden_size to (4 vectors n), and back
    const void* reduce_weight;                // hidden_size to width
    float *dreadout, *readout;                // tokens inner; may be the same, see scan_adjoint.h
    float* dfiltered;                         // batch (height + 2) (width + 2) width, zero at the borders
    float* dprojected;                        // tokens pitch
    const float *dB, *dC;                     // tokens (vectors n)
    const float *ddt, *dadt, *dtrap, *dangle; // tokens heads (angles)
    float *dcontent, *devidence;              // tokens width; in the end dcontent is what RouteGradient takes
    float *sums, *scratch;                    // workers, sizes by somamba_stream_sizes; StreamSums of stream_backward.h
};

struct StreamSizes {
    int64_t backward;                         // floats of scratch of one worker
    int64_t sums;                             // floats of one worker
};

// Phi or Psi, the ends of a stage: a linear layer between patches and features, and the layer norm of the features.
struct End {
    int64_t rows, patch, channels;            // numbers of a patch, and of its features
    const float* x;                           // rows patch for Phi, rows channels for Psi
    const void* weight;                       // packed: patch to channels for Phi, channels to patch for Psi
    const float *bias, *norm_weight, *norm_bias;
    float norm_eps;
    float* out;                               // rows channels of Phi, rows patch of Psi
    float* scratch;                           // workers (2 chunk channels)
};

struct EndGradient {
    const float* dout;
    const void* weight;                       // packed the other way
    float* dx;                                // null: not wanted, of Phi only
    float* sums;                              // workers: EndSums of ends.h
};

// A Fourier transform of `width` points in stages; native/solve.py makes the tables.
struct Transform {
    int64_t width, stages;
    const int64_t* radices;                   // stages: their product is the width
    const float *twiddles, *roots;            // of all stages, one behind the other: step (radix - 1) 2; radix 2
    int64_t twiddles_size, roots_size;        // floats
};

// Conjugate gradients of one slice of which whole columns are acquired. Images are in blocks of 16 rows: (width, 2, 16).
struct Solve {
    int64_t coils, height, blocks;
    Transform transform;
    const float* keep;                        // width: 1 / width where a column is acquired, else 0; in the transform's order
    const float* maps;                        // coils height width 2
    float* packed;                            // coils blocks width 2 16
    float *solution, *residual, *direction, *applied;  // blocks width 2 16; the right side starts in residual, the others at zero
    float* lines;                             // workers width 2 16
    double* sums;                             // workers
    float strength;
};

}  // extern "C"

// What of a stream is being worked on: `rows` new tokens from `token` on. Row `first` is the first that the scan has not
// done, -1 or 0, and it does `scanned` of them.
struct Piece {
    int64_t token, rows, first, scanned;
};

// What each instruction set provides; thread `index` of `count` does its share.
struct Kernels {
    const char* name;
    void (*scan_forward)(const ScanCall&, int index, int count);
    void (*scan_backward)(const ScanCall&, const ScanGradient&, int index, int count);
    void (*scan_backward_rows)(const ScanCall&, const ScanGradient&, int workers, int index, int count);
    void (*scan_backward_heads)(const ScanCall&, const ScanGradient&, int workers, int index, int count);
    void (*scan_backward_parameters)(const ScanCall&, const ScanGradient&, int workers);
    ScanSizes (*scan_sizes)(const ScanCall&, int count);
    void (*route_project)(const Route&, int index, int count);
    void (*route_halve)(const Route&, int index, int count);
    void (*route_assign)(const Route&, int index, int count);
    void (*route_backward_restore)(const Route&, const RouteGradient&, int index, int count);
    void (*route_backward_project)(const Route&, const RouteGradient&, int index, int count);
    void (*route_backward_input)(const Route&, const RouteGradient&, int index, int count);
    RouteSizes (*route_sizes)(const Route&);
    void (*stream_project)(const Stream&, const Piece&, int index, int count);
    void (*stream_merge)(const Stream&, const Piece&, int index, int count);
    void (*stream_backward_merge)(const Stream&, const StreamGradient&, int index, int count);
    void (*stream_backward_project)(const Stream&, const StreamGradient&, int index, int count);
    void (*stream_backward_streams)(const Stream&, const StreamGradient&, int index, int count);
    StreamSizes (*stream_sizes)(const Stream&);
    void (*embed_forward)(const End&, int index, int count);
    void (*embed_backward)(const End&, const EndGradient&, int index, int count);
    void (*decode_forward)(const End&, int index, int count);
    void (*decode_backward)(const End&, const EndGradient&, int index, int count);
    void (*solve_pack)(const Solve&, int index, int count);
    void (*solve_apply)(const Solve&, float ratio, int index, int count);
    void (*solve_advance)(const Solve&, float length, int index, int count);
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
