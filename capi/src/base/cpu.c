// SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

#include "base/env.h"

#include <stdatomic.h>
#include <string.h>

int cpu_supports(Isa isa)
{
  switch (isa) {
  case ISA_BASE:
    return 1;
#if defined(__x86_64__) || defined(__i386__)
  case ISA_AVX2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  case ISA_AVX512:
    return cpu_supports(ISA_AVX2) && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
#elif defined(__aarch64__)
  case ISA_NEON:
    return 1;
#endif
  default:
    return 0;
  }
}

const char *cpu_isa_name(Isa isa)
{
  static const char *const names[] = {"base", "avx2", "avx512", "neon"};
  return names[isa];
}

Isa cpu_isa(void)
{
  static atomic_int cached = -1;
  int isa = atomic_load_explicit(&cached, memory_order_relaxed);
  if (isa >= 0)
    return (Isa)isa;
  static const Isa preference[] = {ISA_AVX512, ISA_AVX2, ISA_NEON, ISA_BASE};
  const char *mask = env_text(ENV_ISA);
  int allowed = mask == NULL;
  isa = ISA_BASE;
  for (unsigned i = 0; i < sizeof preference / sizeof *preference; ++i) {
    if (mask && strcmp(mask, cpu_isa_name(preference[i])) == 0)
      allowed = 1;
    if (allowed && cpu_supports(preference[i])) {
      isa = (int)preference[i];
      break;
    }
  }
  atomic_store(&cached, isa);
  return (Isa)isa;
}
