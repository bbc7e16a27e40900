// SPDX-License-Identifier: Apache-2.0
// Choice of the conv kernels for this machine.
#include "kernels/conv.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(conv, ConvKernels)
