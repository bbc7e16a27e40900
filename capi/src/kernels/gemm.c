// SPDX-License-Identifier: Apache-2.0
// Choice of the gemm kernels for this machine.
#include "kernels/gemm.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(gemm, GemmKernels)
