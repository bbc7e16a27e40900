// SPDX-License-Identifier: Apache-2.0
// Choice of the update kernels for this machine.
#include "kernels/update.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(update, UpdateKernels)
