// SPDX-License-Identifier: Apache-2.0
// Choice of the dwconv kernels for this machine.
#include "kernels/dwconv.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(dwconv, ConvKernels)
