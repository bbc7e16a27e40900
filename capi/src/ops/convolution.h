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

extern const ConvFamily conv2d_family, depthwise_family;

// Padding, strides, activation and dilations; `act_field` is the number of the activation's field,
// the dilations follow it.
Status convolution_parse(const FbTable *options, int act_field, WindowAttr *w, int *act,
                         Diag *d) MUST_USE;
// Output size along both axes, from everything else in *s.
bool convolution_fit(const WindowAttr *a, ConvShape *s);
// Lays out the filters in that input as the kernel wants them for one way, where they stay and it
// does: *packed and s->is_packed are then set.
Status convolution_pack(Bind *b, int input, const ConvKernels *k, ConvWay way, ConvShape *s,
                        const float **packed) MUST_USE;
Status convolution_bind(Bind *b, const ConvFamily *f) MUST_USE;
Status convolution_bind_input_grad(Bind *b, const ConvFamily *f) MUST_USE;
Status convolution_bind_filter_grad(Bind *b, const ConvFamily *f) MUST_USE;
Status convolution_grad(Grad *g, const ConvFamily *f) MUST_USE;

// The gradient operators: INPUT_GRAD(dy, w, x[, mask]) -> dx and FILTER_GRAD(dy, x, w[, bias]) -> dw[, db].
// x there, w and bias here only lend their shapes; mask: see OP_MASKS.
Status convolution_infer_grad(Infer *f) MUST_USE;
bool convolution_merge_input_grad(const Graph *g, const Node *n);
bool convolution_merge_filter_grad(const Graph *g, const Node *n);

#define CONVOLUTION_GRAD(NAME, which, FLAGS, UNREAD)                                               \
  {                                                                                                \
    .name = NAME, .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES | (FLAGS),                      \
    .shape_only = UNREAD, .attr_bytes = sizeof(WindowAttr), .infer = convolution_infer_grad,       \
    .merge = convolution_merge_##which, .bind = bind_##which                                       \
  }
#define CONVOLUTION_GRADS(NAME)                                                                    \
  CONVOLUTION_GRAD(NAME "_INPUT_GRAD", input_grad, OP_ADDS_APART | OP_MASKS, 1u << 2),             \
  CONVOLUTION_GRAD(NAME "_FILTER_GRAD", filter_grad, 0, 1u << 2 | 1u << 3)

#endif
