// The body of one isa_*.cpp: all kernels, compiled for one instruction set and collected in one table.
#include "depthwise.h"
#include "ends.h"
#include "interface.h"
#include "route_backward.h"
#include "scan_finish.h"
#include "selective_backward.h"
#include "solve.h"
#include "stream_backward.h"

namespace SOMAMBA_ISA {
extern const Kernels kernels;
const Kernels kernels = {SOMAMBA_NAME,
                         scan_forward,
                         scan_backward,
                         scan_backward_rows,
                         scan_backward_heads,
                         scan_backward_parameters,
                         scan_sizes,
                         route_project,
                         route_halve,
                         route_assign,
                         route_backward_restore,
                         route_backward_project,
                         route_backward_input,
                         route_sizes,
                         stream_project,
                         stream_merge,
                         stream_backward_merge,
                         stream_backward_project,
                         stream_backward_streams,
                         stream_sizes,
                         embed_forward,
                         embed_backward,
                         decode_forward,
                         decode_backward,
                         solve_pack,
                         solve_apply,
                         solve_advance,
                         selective_forward,
                         selective_backward,
                         selective_backward_rows,
                         selective_sizes,
                         interface_forward,
                         interface_backward,
                         depthwise_forward,
                         depthwise_backward_filter,
                         depthwise_backward_input};
}  // namespace SOMAMBA_ISA
