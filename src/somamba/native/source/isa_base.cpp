// Any machine: vectors of 4 floats, which are NEON on ARM and SSE2 on x86-64.
#define SOMAMBA_ISA base
#define SOMAMBA_NAME "base"
#define SOMAMBA_WIDTH 4
#include "isa.h"
