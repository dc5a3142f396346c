// x86-64 with AVX-512 and its products of bfloat16.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma,prefer-vector-width=512")
#endif
#define SOMAMBA_ISA avx512bf16
#define SOMAMBA_NAME "avx512bf16"
#define SOMAMBA_WIDTH 16
#define SOMAMBA_BF16
#include "isa.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
