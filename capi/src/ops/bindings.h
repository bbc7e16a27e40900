// SPDX-License-Identifier: Apache-2.0
// What several operator families need when they check, bind and differentiate.
#ifndef OPS_BINDINGS_H
#define OPS_BINDINGS_H

#include "ops/op.h"

// A view for reading constant operands again after the infer pass: nothing may be stated through
// it. A refusal needs `d`; NULL where the operands are known to be fine.
Infer infer_view(const Graph *g, const Node *n, Diag *d);

// Bias of `units` values in input i, of any shape, or absent.
Status bias_check(const Infer *f, int i, int32_t units) MUST_USE;
// db = dy [.., units] summed over all but its last axis, in the shape of the bias.
void bias_grad(Grad *g, int i, int32_t dy);

#endif
