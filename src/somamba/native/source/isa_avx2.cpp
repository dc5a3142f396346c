// x86-64 with AVX2 and FMA: 16 registers of 8 floats.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define SOMAMBA_ISA avx2
#define SOMAMBA_NAME "avx2"
#define SOMAMBA_WIDTH 8
#include "isa.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
