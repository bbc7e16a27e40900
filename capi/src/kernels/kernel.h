// SPDX-License-Identifier: Apache-2.0
// What kernels share. A kernel sees raw pointers and sizes only: no tensors, no graph.
//
// Each family is a struct of function pointers. <family>_tmpl.c defines one constant instance and
// is compiled once per instruction set with -DKERNEL_ISA=<name>; <family>_kernels() returns the
// best one for this machine. All buffers are dense, row-major float32 unless said otherwise, and
// need only the alignment of their element type.
//
// No kernel allocates. Kernels with a scratch_bytes function get that much memory, aligned to 64
// bytes. Results do not depend on the pool's thread count. NaN and infinity propagate.
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "base/cpu.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_PASTE_(a, b) a##_##b
#define KERNEL_PASTE(a, b) KERNEL_PASTE_(a, b)
// Name of this compilation's instance: KERNEL_TABLE(conv) is conv_kernels_avx2.
#define KERNEL_TABLE(family) KERNEL_PASTE(family##_kernels, KERNEL_ISA)

// Activation applied to results, and the mask that its gradient takes from them.
typedef enum { KACT_NONE, KACT_RELU, KACT_RELU_N1_TO_1, KACT_RELU6, KACT_TANH } KernelAct;

// A table for a given level, or NULL where this build or machine has none: for tests.
// <family>_kernels_for(isa) is declared by each family's header.

#endif
