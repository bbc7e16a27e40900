// SPDX-License-Identifier: Apache-2.0
// What several operator families need when they check, bind and differentiate.
#ifndef OPS_BINDINGS_H
#define OPS_BINDINGS_H

#include "kernels/typed.h"
#include "ops/op.h"

// A view for reading constant operands again after the infer pass: nothing may be stated through
// it. A refusal needs `d`; NULL where the operands are known to be fine.
Infer infer_view(const Graph *g, const Node *n, Diag *d);

// Bias of `units` values in input i, of any shape, or absent.
Status bias_check(const Infer *f, int i, int32_t units) MUST_USE;
// db = dy [.., units] summed over all but its last axis, in the shape of the bias.
void bias_grad(Grad *g, int i, int32_t dy);

// The kernels' name of an element type.
KernelType kernel_type(DType t);
// The broadcasting of operands, all of them or those that are not NULL, to `out`.
BroadcastShape broadcast_shape(const Shape *out, const Shape *a, const Shape *b, const Shape *c);

#endif
