// SPDX-License-Identifier: Apache-2.0
// What CONV_2D and DEPTHWISE_CONV_2D share: binding and differentiating. They differ in how filters
// fit inputs and in their kernels.
#ifndef OPS_CONVOLUTION_H
#define OPS_CONVOLUTION_H

#include "kernels/conv.h"
#include "ops/window.h"

typedef struct {
  // Geometry from the shapes of x and filter in one call; false where the window does not fit.
  bool (*geometry)(const WindowAttr *a, const Shape *x, const Shape *w, ConvShape *s);
  const ConvKernels *(*kernels)(void);
  const char *input_grad, *filter_grad; // names of the gradient operators
} ConvFamily;

// Padding, strides, activation and dilations; `act_field` is the number of the activation's field,
// the dilations follow it.
Status convolution_parse(const FbTable *options, int act_field, WindowAttr *w, int *act,
                         Diag *d) MUST_USE;
// Output size along both axes, from everything else in *s.
bool convolution_fit(const WindowAttr *a, ConvShape *s);
Status convolution_bind(Bind *b, const ConvFamily *f) MUST_USE;
Status convolution_bind_input_grad(Bind *b, const ConvFamily *f) MUST_USE;
Status convolution_bind_filter_grad(Bind *b, const ConvFamily *f) MUST_USE;
Status convolution_grad(Grad *g, const ConvFamily *f) MUST_USE;

// The gradient operators: INPUT_GRAD(dy, w, x) -> dx and FILTER_GRAD(dy, x, w) -> dw. The last
// operand only lends its shape.
Status convolution_infer_grad(Infer *f) MUST_USE;
bool convolution_merge_input_grad(const Graph *g, const Node *n);
bool convolution_merge_filter_grad(const Graph *g, const Node *n);

#define CONVOLUTION_GRAD(NAME, which)                                                              \
  {                                                                                                \
    .name = NAME, .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES, .shape_only = 1u << 2,         \
    .attr_bytes = sizeof(WindowAttr), .infer = convolution_infer_grad,                             \
    .merge = convolution_merge_##which, .bind = bind_##which                                       \
  }

#endif
