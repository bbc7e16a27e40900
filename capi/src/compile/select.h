// SPDX-License-Identifier: Apache-2.0
// Binds a node to a kernel for a number of samples.
#ifndef COMPILE_SELECT_H
#define COMPILE_SELECT_H

#include "ops/op.h"

typedef struct {
  KernelFn run; // NULL for aliases
  const void *args;
  size_t scratch;
  int32_t loops; // calls per step: 1 where the samples run as one call, else one call a sample
} Selected;

// What kernels are chosen for.
typedef struct {
  int32_t samples;
  int threads;
  bool constants_stay; // TK_CONST tensors keep their bytes while the kernels are in use
} SelectTarget;

// `arena` keeps the kernel's arguments.
Status select_kernel(const Graph *g, const Node *n, const SelectTarget *target, Arena *arena,
                     Selected *out, Diag *d) MUST_USE;

#endif
