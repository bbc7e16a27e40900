// SPDX-License-Identifier: Apache-2.0
// Choice of the rows kernels for this machine.
#include "kernels/rows.h"

#include "kernels/dispatch.h"

KERNEL_DISPATCH(rows, RowsKernels)
