// SPDX-License-Identifier: Apache-2.0
// Choice of the pool2d kernels for this machine.
#include "kernels/pool2d.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(pool2d, Pool2dKernels)
