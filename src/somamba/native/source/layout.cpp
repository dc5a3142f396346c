// The layout of the structures of kernels.h, in words: Python compares it with its own when it loads the library.
// A field that is missing here is missed there as well, by its name or by the size of the structure.
#include <stddef.h>

#include <string>

#include "kernels.h"

namespace {

std::string field(const char* name, size_t offset) { return std::string(" ") + name + "=" + std::to_string(offset); }

#define FIELD(name) +field(#name, offsetof(Described, name))
#define BEGIN(structure) [] { typedef structure Described; return std::string(#structure "=") + std::to_string(sizeof(structure))
#define END + "\n"; }()

std::string layout() {
    return std::string()
        + BEGIN(Constants)
            FIELD(lanes) FIELD(chunk) FIELD(rows_abreast) FIELD(largest_radix) END
        + BEGIN(Strided)
            FIELD(data) FIELD(batch) FIELD(token) FIELD(head) END
        + BEGIN(ScanCall)
            FIELD(batch) FIELD(tokens) FIELD(heads) FIELD(p) FIELD(n) FIELD(rank) FIELD(groups) FIELD(angles) FIELD(C)
            FIELD(B) FIELD(C_rank) FIELD(B_rank) FIELD(x) FIELD(z) FIELD(angle) FIELD(dt) FIELD(adt) FIELD(trap)
            FIELD(C_bias) FIELD(B_bias) FIELD(mimo_x) FIELD(mimo_z) FIELD(mimo_o) FIELD(D) FIELD(out) FIELD(states)
            FIELD(boundary) FIELD(turns) FIELD(scratch) FIELD(advance) FIELD(carry) FIELD(turns_in) FIELD(turns_out) END
        + BEGIN(ScanGradient)
            FIELD(dout) FIELD(x) FIELD(z) FIELD(readout) FIELD(C) FIELD(B) FIELD(angle) FIELD(dt) FIELD(adt)
            FIELD(trap) FIELD(C_bias) FIELD(B_bias) FIELD(mimo_x) FIELD(mimo_z) FIELD(mimo_o) FIELD(D) FIELD(partial) END
        + BEGIN(ScanSizes)
            FIELD(boundary) FIELD(turns) FIELD(forward) FIELD(backward) FIELD(partial) END
        + BEGIN(Selective)
            FIELD(batch) FIELD(tokens) FIELD(groups) FIELD(channels) FIELD(n) FIELD(u) FIELD(dt) FIELD(B) FIELD(C)
            FIELD(A) FIELD(D) FIELD(out) FIELD(states) FIELD(boundary) FIELD(scratch) END
        + BEGIN(SelectiveGradient)
            FIELD(dout) FIELD(u) FIELD(dt) FIELD(A) FIELD(D) FIELD(B) FIELD(C) FIELD(partial) END
        + BEGIN(SelectiveSizes)
            FIELD(boundary) FIELD(forward) FIELD(backward) FIELD(partial) END
        + BEGIN(Interface)
            FIELD(rows) FIELD(vectors) FIELD(n) FIELD(B) FIELD(C) FIELD(B_row) FIELD(C_row) FIELD(B_weight)
            FIELD(C_weight) FIELD(hidden_size) FIELD(hidden_row) FIELD(hidden) FIELD(weight) FIELD(bias) FIELD(scale)
            FIELD(shift) FIELD(eps) FIELD(B_out) FIELD(C_out) FIELD(scratch) END
        + BEGIN(InterfaceGradient)
            FIELD(dB) FIELD(dC) FIELD(modulation) FIELD(B) FIELD(C) FIELD(B_row) FIELD(C_row) FIELD(dmodulation)
            FIELD(partial) END
        + BEGIN(DepthwiseGradient)
            FIELD(dout) FIELD(x) FIELD(filtered) FIELD(partial) END
        + BEGIN(Depthwise)
            FIELD(batch) FIELD(height) FIELD(width) FIELD(channels) FIELD(x) FIELD(weight) FIELD(bias) FIELD(out) END
        + BEGIN(Route)
            FIELD(height) FIELD(width) FIELD(channels) FIELD(d) FIELD(low_height) FIELD(low_width) FIELD(smoothing)
            FIELD(features) FIELD(norm_weight) FIELD(norm_bias) FIELD(taps) FIELD(taps_bias) FIELD(carrier_weight)
            FIELD(evidence_weight) FIELD(carrier_bias) FIELD(evidence_bias) FIELD(half) FIELD(smooth) FIELD(norm_eps)
            FIELD(carrier) FIELD(evidence) FIELD(low) FIELD(kept) FIELD(scratch) END
        + BEGIN(RouteGradient)
            FIELD(dout) FIELD(dcarrier) FIELD(devidence) FIELD(carrier_weight) FIELD(evidence_weight) FIELD(dlow)
            FIELD(dfiltered) FIELD(dfeatures) FIELD(sums) END
        + BEGIN(RouteSizes)
            FIELD(forward) FIELD(backward) FIELD(sums) END
        + BEGIN(Stream)
            FIELD(tokens) FIELD(piece) FIELD(width) FIELD(channels) FIELD(heads) FIELD(content) FIELD(evidence)
            FIELD(gate) FIELD(token_gate) FIELD(outlet) FIELD(features) FIELD(out) FIELD(content_weight) FIELD(content_bias)
            FIELD(evidence_weight) FIELD(evidence_bias) FIELD(project_weight) FIELD(columns) FIELD(pitch) FIELD(dt_at)
            FIELD(decay_at) FIELD(dt_bias) FIELD(hidden_size) FIELD(reduce_weight) FIELD(reduce_bias) FIELD(inner)
            FIELD(merge_weight) FIELD(merge_bias) FIELD(halved) FIELD(norm_eps) FIELD(decay_floor)
            FIELD(decay_softplus) FIELD(normed) FIELD(projected) FIELD(hidden) FIELD(readout) FIELD(raw)
            FIELD(reduced) FIELD(content_kept) FIELD(evidence_kept) FIELD(interface) FIELD(scan) END
        + BEGIN(StreamGradient)
            FIELD(dout) FIELD(read_weight) FIELD(refine_weight) FIELD(project_weight) FIELD(modulation_weight)
            FIELD(modulate_weight) FIELD(reduce_weight) FIELD(dreadout) FIELD(readout) FIELD(dfiltered)
            FIELD(dprojected) FIELD(dB) FIELD(dC) FIELD(ddt) FIELD(dadt) FIELD(dtrap) FIELD(dangle) FIELD(dcontent)
            FIELD(devidence) FIELD(sums) FIELD(scratch) END
        + BEGIN(StreamSizes)
            FIELD(backward) FIELD(sums) END
        + BEGIN(End)
            FIELD(rows) FIELD(patch) FIELD(channels) FIELD(x) FIELD(weight) FIELD(bias) FIELD(norm_weight)
            FIELD(norm_bias) FIELD(norm_eps) FIELD(out) FIELD(scratch) END
        + BEGIN(EndGradient)
            FIELD(dout) FIELD(weight) FIELD(dx) FIELD(sums) END
        + BEGIN(Transform)
            FIELD(width) FIELD(stages) FIELD(radices) FIELD(twiddles) FIELD(roots) FIELD(twiddles_size) FIELD(roots_size) END
        + BEGIN(Solve)
            FIELD(coils) FIELD(height) FIELD(blocks) FIELD(transform) FIELD(keep) FIELD(maps) FIELD(packed)
            FIELD(solution) FIELD(residual) FIELD(direction) FIELD(applied) FIELD(lines) FIELD(sums) FIELD(strength) END
        ;
}

}  // namespace

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

// One line for each structure: its name and size, then its fields and where they start, in bytes.
EXPORT const char* somamba_layout() {
    static const std::string text = layout();
    return text.c_str();
}

EXPORT void somamba_constants(Constants* to) { *to = CONSTANTS; }
