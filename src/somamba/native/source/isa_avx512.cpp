// x86-64 with AVX-512: 32 registers of 16 floats.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512")
#endif
#define SOMAMBA_ISA avx512
#define SOMAMBA_NAME "avx512"
#define SOMAMBA_WIDTH 16
#include "isa.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
