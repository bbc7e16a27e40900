// SPDX-License-Identifier: Apache-2.0
// Choice of a family's table at run time: KERNEL_DISPATCH(gemm, GemmKernels) defines
// gemm_kernels() and gemm_kernels_for(isa). Private to kernels/.
//
// KERNEL_HAVE_<name> (0 or 1, from the build) tells which rows of isa.list were compiled.
#ifndef KERNELS_DISPATCH_H
#define KERNELS_DISPATCH_H

#include "kernels/kernel.h"

// In order of preference.
static const Isa kernel_isas[] = {
#define ISA_ROW(name, isa) isa,
#include "kernels/isa.list"
#undef ISA_ROW
};
enum { KERNEL_N_ISAS = sizeof kernel_isas / sizeof *kernel_isas };

// A list cannot be included from within a macro, so its names stand here again.
#define KERNEL_ISA_NAMES(ROW, family, Type)                                                        \
  ROW(avx512, family, Type) ROW(avx2, family, Type) ROW(neon, family, Type) ROW(base, family, Type)
#define KERNEL_COUNT_NAME(name, family, Type) +1
_Static_assert(KERNEL_ISA_NAMES(KERNEL_COUNT_NAME, , ) == KERNEL_N_ISAS,
               "KERNEL_ISA_NAMES and isa.list differ");

#define KERNEL_DECLARE_0(family, Type, name)
#define KERNEL_DECLARE_1(family, Type, name) extern const Type family##_kernels_##name;
#define KERNEL_DECLARE_(have, family, Type, name) KERNEL_DECLARE_##have(family, Type, name)
#define KERNEL_DECLARE(have, family, Type, name) KERNEL_DECLARE_(have, family, Type, name)
#define KERNEL_DECLARE_ROW(name, family, Type)                                                     \
  KERNEL_DECLARE(KERNEL_HAVE_##name, family, Type, name)

#define KERNEL_ADDRESS_0(symbol) NULL
#define KERNEL_ADDRESS_1(symbol) &symbol
#define KERNEL_ADDRESS_(have, symbol) KERNEL_ADDRESS_##have(symbol)
#define KERNEL_ADDRESS(have, symbol) KERNEL_ADDRESS_(have, symbol)
#define KERNEL_ADDRESS_ROW(name, family, Type)                                                     \
  KERNEL_ADDRESS(KERNEL_HAVE_##name, family##_kernels_##name),

#define KERNEL_DISPATCH(family, Type)                                                              \
  KERNEL_ISA_NAMES(KERNEL_DECLARE_ROW, family, Type)                                               \
  static const Type *const family##_tables[KERNEL_N_ISAS] = {                                      \
    KERNEL_ISA_NAMES(KERNEL_ADDRESS_ROW, family, Type)};                                           \
  const Type *family##_kernels_for(Isa isa)                                                        \
  {                                                                                                \
    for (int i = 0; i < KERNEL_N_ISAS; ++i)                                                        \
      if (kernel_isas[i] == isa)                                                                   \
        return cpu_supports(isa) ? family##_tables[i] : NULL;                                      \
    return NULL;                                                                                   \
  }                                                                                                \
  /* From the allowed level downwards, the first one that was compiled. */                         \
  const Type *family##_kernels(void)                                                               \
  {                                                                                                \
    Isa best = cpu_isa();                                                                          \
    bool allowed = false;                                                                          \
    for (int i = 0; i < KERNEL_N_ISAS; ++i) {                                                      \
      allowed |= kernel_isas[i] == best;                                                           \
      const Type *table = allowed ? family##_kernels_for(kernel_isas[i]) : NULL;                   \
      if (table)                                                                                   \
        return table;                                                                              \
    }                                                                                              \
    return NULL;                                                                                   \
  }

#endif
