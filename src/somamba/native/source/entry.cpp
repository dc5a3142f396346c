// The exported functions: choose the instruction set, share the work among threads.
#include <string.h>

#include <thread>
#include <utility>
#include <vector>

#include "kernels.h"

namespace base { extern const Kernels kernels; }
#if defined(__x86_64__)
namespace avx2 { extern const Kernels kernels; }
namespace avx512 { extern const Kernels kernels; }
namespace avx512bf16 { extern const Kernels kernels; }
#endif

namespace {

const Kernels* const TABLES[] = {
#if defined(__x86_64__)
    &avx512bf16::kernels, &avx512::kernels, &avx2::kernels,
#endif
    &base::kernels};

bool can_run(const Kernels* table) {
#if defined(__x86_64__)
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (table == &avx512bf16::kernels) return avx512 && __builtin_cpu_supports("avx512bf16");
    if (table == &avx512::kernels) return avx512;
    if (table == &avx2::kernels) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return table == &base::kernels;
}

const Kernels* best() {
    for (const Kernels* table : TABLES)
        if (can_run(table)) return table;
    return &base::kernels;
}

const Kernels* chosen = best();

// PyTorch's own OpenMP team, if Python found it: its threads are warm, and a second pool would fight them for cores.
typedef void (*OpenMPParallel)(void (*)(void*), void*, unsigned, unsigned);
OpenMPParallel openmp_parallel = nullptr;
int (*openmp_thread)() = nullptr;
int (*openmp_threads)() = nullptr;

template <typename F>
struct Region {
    const F& work;
    int count;
    static void enter(void* self) {
        Region& region = *static_cast<Region*>(self);
        // The team may be smaller than asked for; each member then does several shares.
        const int step = openmp_threads();
        for (int index = openmp_thread(); index < region.count; index += step) region.work(index, region.count);
    }
};

template <typename F>
void parallel(int count, const F& work) {
    if (count <= 1) return work(0, 1);
    if (openmp_parallel) {
        Region<F> region{work, count};
        return openmp_parallel(Region<F>::enter, &region, (unsigned)count, 0);
    }
    std::vector<std::thread> threads;
    for (int index = 1; index < count; ++index) threads.emplace_back([&work, index, count] { work(index, count); });
    work(0, count);
    for (std::thread& thread : threads) thread.join();
}

void run_scan_backward(const ScanCall& a, const ScanGradient& d, int workers) {
    parallel(workers, [&](int index, int count) { chosen->scan_backward(a, d, index, count); });
    parallel(workers, [&](int index, int count) { chosen->scan_backward_rows(a, d, workers, index, count); });
    parallel(workers, [&](int index, int count) { chosen->scan_backward_heads(a, d, workers, index, count); });
    chosen->scan_backward_parameters(a, d, workers);
}

}  // namespace

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

// Changes with every change of the structures in kernels.h; Python refuses a library of another number.
EXPORT int somamba_abi() { return 10; }

EXPORT const char* somamba_instruction_set() { return chosen->name; }

// Use another instruction set, for tests and benchmarks. Returns 0 if the machine lacks it.
EXPORT int somamba_use(const char* name) {
    for (const Kernels* table : TABLES) {
        const char *x = table->name, *y = name;
        while (*x && *x == *y) ++x, ++y;
        if (*x == *y && can_run(table)) {
            chosen = table;
            return 1;
        }
    }
    return 0;
}

EXPORT void somamba_share_openmp(void* parallel_, void* thread, void* threads) {
    openmp_thread = reinterpret_cast<int (*)()>(thread);
    openmp_threads = reinterpret_cast<int (*)()>(threads);
    openmp_parallel = reinterpret_cast<OpenMPParallel>(parallel_);
}

EXPORT void somamba_scan_sizes(const ScanCall* a, int workers, ScanSizes* sizes) { *sizes = chosen->scan_sizes(*a, workers); }

EXPORT void somamba_scan_forward(const ScanCall* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->scan_forward(*a, index, count); });
}

EXPORT void somamba_scan_backward(const ScanCall* a, const ScanGradient* d, int workers) { run_scan_backward(*a, *d, workers); }

EXPORT void somamba_route_sizes(const Route* a, RouteSizes* sizes) { *sizes = chosen->route_sizes(*a); }

EXPORT void somamba_route(const Route* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->route_project(*a, index, count); });
    parallel(workers, [a](int index, int count) { chosen->route_halve(*a, index, count); });
    parallel(workers, [a](int index, int count) { chosen->route_assign(*a, index, count); });
}

EXPORT void somamba_route_backward(const Route* a, const RouteGradient* d, int workers) {
    parallel(workers, [=](int index, int count) { chosen->route_backward_restore(*a, *d, index, count); });
    parallel(workers, [=](int index, int count) { chosen->route_backward_project(*a, *d, index, count); });
    parallel(workers, [=](int index, int count) { chosen->route_backward_input(*a, *d, index, count); });
}

// One piece of the sequence after another. State and rotations in a.scan must be zero.
EXPORT void somamba_stream(const Stream* a, int workers, int scan_workers) {
    const int64_t wide = a->interface.vectors * a->interface.n;
    double* turns[2] = {const_cast<double*>(a->scan.turns_in), a->scan.turns_out};
    for (int64_t token = 0; token < a->tokens; token += a->piece) {
        const int64_t left = a->tokens - token, rows = left < a->piece ? left : a->piece;
        // The last row waits for the one behind it, unless there is none.
        const int64_t first = token == 0 ? 0 : -1, end = rows == left ? rows : rows - 1;
        const Piece piece{token, rows, first, end - first};
        parallel(workers, [&](int index, int count) { chosen->stream_project(*a, piece, index, count); });
        if (piece.scanned > 0) {
            ScanCall scan = a->scan;
            scan.tokens = rows - first;
            scan.advance = piece.scanned;
            for (Strided* part : {&scan.C, &scan.B, &scan.x, &scan.z, &scan.angle, &scan.dt, &scan.adt, &scan.trap, &scan.out})
                part->data += (first + 1) * part->token;
            scan.turns_in = turns[0];
            scan.turns_out = turns[1];
            parallel(scan_workers, [&](int index, int count) { chosen->scan_forward(scan, index, count); });
            std::swap(turns[0], turns[1]);
            parallel(workers, [&](int index, int count) { chosen->stream_merge(*a, piece, index, count); });
        }
        // The row that waits comes before the first of the next piece.
        memcpy(a->projected - a->pitch, a->projected + (rows - 1) * a->pitch, a->pitch * sizeof(float));
        for (float* out : {a->interface.B_out, a->interface.C_out}) memcpy(out - wide, out + (rows - 1) * wide, wide * sizeof(float));
    }
}

EXPORT void somamba_stream_sizes(const Stream* a, StreamSizes* sizes) { *sizes = chosen->stream_sizes(*a); }

// All tokens of all images; what the backward pass needs is kept.
EXPORT void somamba_stream_training(const Stream* a, int workers, int scan_workers) {
    const Piece all{0, a->tokens, 0, a->tokens};
    parallel(workers, [&](int index, int count) { chosen->stream_project(*a, all, index, count); });
    parallel(scan_workers, [&](int index, int count) { chosen->scan_forward(a->scan, index, count); });
    parallel(workers, [&](int index, int count) { chosen->stream_merge(*a, all, index, count); });
}

// The gradients of the scan, from d.dout of the read-out on, and those of the block around it.
EXPORT void somamba_stream_backward(const Stream* a, const StreamGradient* d, const ScanGradient* scan, int workers,
                                    int scan_workers) {
    parallel(workers, [&](int index, int count) { chosen->stream_backward_merge(*a, *d, index, count); });
    run_scan_backward(a->scan, *scan, scan_workers);
    parallel(workers, [&](int index, int count) { chosen->stream_backward_project(*a, *d, index, count); });
    parallel(workers, [&](int index, int count) { chosen->stream_backward_streams(*a, *d, index, count); });
}

EXPORT void somamba_embed_forward(const End* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->embed_forward(*a, index, count); });
}

EXPORT void somamba_embed_backward(const End* a, const EndGradient* d, int workers) {
    parallel(workers, [=](int index, int count) { chosen->embed_backward(*a, *d, index, count); });
}

EXPORT void somamba_decode_forward(const End* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->decode_forward(*a, index, count); });
}

EXPORT void somamba_decode_backward(const End* a, const EndGradient* d, int workers) {
    parallel(workers, [=](int index, int count) { chosen->decode_backward(*a, *d, index, count); });
}

EXPORT void somamba_solve_pack(const Solve* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->solve_pack(*a, index, count); });
}

// applied = S^H F^H M F S residual: the system without its strength, which must be zero, and so must direction.
EXPORT void somamba_solve_gram(const Solve* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->solve_apply(*a, 0.0f, index, count); });
}

// Until the residual is `tolerance` times its first, at most so many iterations; returns how many it took.
EXPORT int64_t somamba_solve(const Solve* a, int64_t iterations, double tolerance, int workers) {
    const auto total = [&] {
        double sum = 0;
        for (int index = 0; index < workers; ++index) sum += a->sums[index];
        return sum;
    };
    const auto advance = [&](double length) {
        parallel(workers, [&](int index, int count) { chosen->solve_advance(*a, (float)length, index, count); });
        return total();
    };
    double energy = advance(0), ratio = 0;
    const double goal = tolerance * tolerance * energy;
    for (int64_t iteration = 0; iteration < iterations; ++iteration) {
        if (energy <= goal) return iteration;
        parallel(workers, [&](int index, int count) { chosen->solve_apply(*a, (float)ratio, index, count); });
        const double left = advance(energy / total());
        ratio = left / energy;
        energy = left;
    }
    return iterations;
}

// A weight (width, inner), its rows and columns so many floats apart, into panels of 16 columns as product.h wants them:
// (width / 16, depth, 16), of which it fills `inner` rows of `depth`. What lies beyond the width becomes zero.
EXPORT void somamba_pack(const float* weight, int64_t width, int64_t inner, int64_t row, int64_t column, int64_t depth, float* to) {
    const int64_t lanes = CONSTANTS.lanes;
    for (int64_t panel = 0; panel * lanes < width; ++panel) {
        const float* from = weight + panel * lanes * row;
        const int64_t some = width - panel * lanes < lanes ? width - panel * lanes : lanes;
        for (int64_t k = 0; k < inner; ++k) {
            float* out = to + (panel * depth + k) * lanes;
            if (row == 1 && some == lanes) memcpy(out, from + k * column, lanes * sizeof(float));
            else
                for (int64_t lane = 0; lane < lanes; ++lane) out[lane] = lane < some ? from[lane * row + k * column] : 0.0f;
        }
    }
}

EXPORT void somamba_selective_sizes(const Selective* a, int workers, SelectiveSizes* sizes) {
    *sizes = chosen->selective_sizes(*a, workers);
}

EXPORT void somamba_selective_forward(const Selective* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->selective_forward(*a, index, count); });
}

EXPORT void somamba_selective_backward(const Selective* a, const SelectiveGradient* d, int workers) {
    parallel(workers, [=](int index, int count) { chosen->selective_backward(*a, *d, index, count); });
    parallel(workers, [=](int index, int count) { chosen->selective_backward_rows(*a, *d, workers, index, count); });
}

EXPORT void somamba_interface_forward(const Interface* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->interface_forward(*a, index, count); });
}

EXPORT void somamba_interface_backward(const Interface* a, const InterfaceGradient* d, int workers) {
    parallel(workers, [=](int index, int count) { chosen->interface_backward(*a, *d, index, count); });
}

EXPORT void somamba_depthwise_forward(const Depthwise* a, int workers) {
    parallel(workers, [a](int index, int count) { chosen->depthwise_forward(*a, index, count); });
}

EXPORT void somamba_depthwise_backward(const Depthwise* a, const DepthwiseGradient* d, int workers) {
    parallel(workers, [=](int index, int count) { chosen->depthwise_backward_filter(*a, *d, index, count); });
    parallel(workers, [=](int index, int count) { chosen->depthwise_backward_input(*a, *d, index, count); });
}
