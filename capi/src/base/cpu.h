// SPDX-License-Identifier: Apache-2.0
// Which instruction sets the kernels may use on this machine.
#ifndef BASE_CPU_H
#define BASE_CPU_H

// Levels are cumulative within one architecture; kernels/isa.list names them in order of
// preference.
typedef enum {
  ISA_BASE = 0,   // what the compiler targets by default
  ISA_AVX2 = 1,   // AVX2 + FMA
  ISA_AVX512 = 2, // AVX-512 F, VL, DQ, BW
  ISA_NEON = 3,   // aarch64 Advanced SIMD
} Isa;

// Best level that CPU and operating system support, lowered by the environment variable
// ONERT_ISA (base, avx2, avx512, neon). Read once per process.
Isa cpu_isa(void);
// Whether this machine can run code of that level (the environment does not matter).
int cpu_supports(Isa isa);
const char *cpu_isa_name(Isa isa);

#endif
