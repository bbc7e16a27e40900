// SPDX-License-Identifier: Apache-2.0
// Geometry of sliding windows, shared by convolution and pooling (TFLite's rules: SAME gives
// ceil(in/stride) outputs, the odd cell of padding goes behind).
#ifndef OPS_WINDOW_H
#define OPS_WINDOW_H

#include "base/diag.h"
#include "kernels/kernel.h"
#include "ops/op.h"

typedef struct {
  bool same; // padding; else VALID
  int32_t stride_h, stride_w;
  int32_t dilation_h, dilation_w;
  int32_t filter_h, filter_w; // pooling only
} WindowAttr;

// Output size and padding before, along one axis; false where the window does not fit, or is wider
// than 2^30 cells.
bool window_axis(bool same, int32_t in, int32_t filter, int32_t stride, int32_t dilation,
                 int32_t *out, int32_t *before);
// Reads padding, strides (fields w, h) from an options table and checks them.
Status window_parse(const FbTable *options, int stride_w_field, WindowAttr *w, Diag *d) MUST_USE;
Status window_positive(int32_t value, const char *name, Diag *d) MUST_USE;

// The kernels' name of an activation.
KernelAct kernel_act(ActKind act);

#endif
