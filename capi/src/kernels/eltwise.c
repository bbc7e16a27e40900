// SPDX-License-Identifier: Apache-2.0
// Choice of the eltwise kernels for this machine.
#include "kernels/eltwise.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(eltwise, EltwiseKernels)
