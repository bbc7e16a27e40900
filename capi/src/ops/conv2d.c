// SPDX-License-Identifier: Apache-2.0
// CONV_2D, NHWC with filters [O,kh,kw,C/groups], and its gradients. Geometry and formulas:
// kernels/conv.h.
#include "ops/bindings.h"
#include "ops/convolution.h"
#include "ops/op.h"

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  return convolution_parse(options, 3, attr, act, d);
}

// Geometry from one call's x and filter shapes; false where the window does not fit.
static bool geometry(const WindowAttr *a, const Shape *x, const Shape *w, ConvShape *s)
{
  *s = (ConvShape){.n = x->dim[0], .ih = x->dim[1], .iw = x->dim[2], .ic = x->dim[3],
                   .oc = w->dim[0], .kh = w->dim[1], .kw = w->dim[2],
                   .groups = w->dim[3] ? x->dim[3] / w->dim[3] : 1};
  return convolution_fit(a, s);
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, 4));
  TRY(infer_expect(f, 1, DT_F32, 4));
  const Shape *x = &infer_in(f, 0)->shape, *w = &infer_in(f, 1)->shape;
  if (w->dim[3] == 0 || x->dim[3] % w->dim[3] != 0 || w->dim[1] == 0 || w->dim[2] == 0)
    return infer_fail(f, "filter %s does not fit input %s: it has %d channels, the input %d",
                      shape_text(w).text, shape_text(x).text, w->dim[3], x->dim[3]);
  int32_t groups = x->dim[3] / w->dim[3];
  if (groups == 0 || w->dim[0] % groups != 0)
    return infer_fail(f, "%d filters do not divide into %d groups", w->dim[0], groups);
  TRY(bias_check(f, 2, w->dim[0]));
  ConvShape s;
  if (!geometry(f->node->attr, x, w, &s))
    return infer_fail(f, "filter %s with its dilation does not fit into input %s",
                      shape_text(w).text, shape_text(x).text);
  return infer_out(f, 0, DT_F32, (Shape){.rank = 4, .dim = {s.n, s.oh, s.ow, s.oc}});
}

const ConvFamily conv2d_family = {geometry, conv_kernels, "CONV_2D_INPUT_GRAD",
                                  "CONV_2D_FILTER_GRAD"};

static Status bind(Bind *b)
{
  return convolution_bind(b, &conv2d_family);
}

static Status bind_input_grad(Bind *b)
{
  return convolution_bind_input_grad(b, &conv2d_family);
}

static Status bind_filter_grad(Bind *b)
{
  return convolution_bind_filter_grad(b, &conv2d_family);
}

static Status grad(Grad *g)
{
  return convolution_grad(g, &conv2d_family);
}

const OpDef conv2d_ops[] = {
  {.name = "CONV_2D", .code = 3, .options = 1, .min_in = 2, .max_in = 3, .n_out = 1,
   .flags = OP_FUSES_ACT | OP_ACCUMULATES | OP_ADDS_APART, .optional = 1u << 2, .params = 1u << 1 | 1u << 2,
   .attr_bytes = sizeof(WindowAttr), .parse = parse, .infer = infer, .merge = merge_outer,
   .bind = bind, .grad = grad},
  CONVOLUTION_GRADS("CONV_2D"),
  END_OPS};

#define CONV(SAME, SH, SW, DH, DW)                                                                 \
  ATTR(WindowAttr, .same = SAME, .stride_h = SH, .stride_w = SW, .dilation_h = DH, .dilation_w = DW)
#define X TENSOR(F32, DIMS(1, 3, 3, 1), VALUES(-3, 0, 3, -1, 2, -2, 1, -3, 0))
#define W TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(-2, 3, 1, -1))
#define B TENSOR(F32, DIMS(1), VALUES(0.5))
// The same with two channels in and three out.
#define X2                                                                                         \
  TENSOR(F32, DIMS(1, 3, 4, 2),                                                                    \
         VALUES(-1, 2, -2, 1, -3, 0, 3, -1, 2, -2, 1, -3, 0, 3, -1, 2, -2, 1, -3, 0, 3, -1, 2, -2))
#define W2                                                                                         \
  TENSOR(F32, DIMS(3, 2, 2, 2),                                                                    \
         VALUES(-2, 3, 1, -1, -3, 2, 0, -2, 3, 1, -1, -3, 2, 0, -2, 3, 1, -1, -3, 2, 0, -2, 3, 1))

const OpCase conv2d_cases[] = {
  CASE("CONV_2D", "VALID", IN(X, W, B),
       OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(3.5, 13.5, 12.5, -12.5))),
       CONV(false, 1, 1, 1, 1)),
  CASE("CONV_2D", "SAME, activated", IN(X, W, B),
       OUT(TENSOR(F32, DIMS(1, 3, 3, 1), VALUES(3.5, 6, 0, 6, 0, 4.5, 0, 6, 0.5))),
       CONV(true, 1, 1, 1, 1), .act = ACT_RELU6),
  CASE("CONV_2D", "options", IN(X, W, B),
       OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(3.5, 0, 0, 0.5))),
       OPTIONS(OPT_BYTE(0, 0), OPT_INT(1, 2), OPT_INT(2, 2), OPT_BYTE(3, 1)), .act = ACT_RELU),
  CASE("CONV_2D", "uneven strides, bias absent", IN(X2, W2, ABSENT),
       OUT(TENSOR(F32, DIMS(1, 2, 4, 3), VALUES(1, -9, 9, -11, 9, 15, 12, -1, -21, -2, 6, 0, 4, -2,
                                                6, 10, -9, -14, -5, 12, -6, -10, 4, 4))),
       CONV(true, 2, 1, 1, 1)),
  CASE("CONV_2D", "dilations from the options, no bias", IN(X2, W2),
       OUT(TENSOR(F32, DIMS(1, 1, 1, 3), VALUES(24, -15, -12))),
       OPTIONS(OPT_BYTE(0, 1), OPT_INT(1, 1), OPT_INT(2, 1), OPT_INT(4, 3), OPT_INT(5, 2))),
  CASE("CONV_2D", "groups",
       IN(TENSOR(F32, DIMS(1, 2, 2, 4),
                 VALUES(-2, 1, -3, 0, 3, -1, 2, -2, 1, -3, 0, 3, -1, 2, -2, 1)),
          TENSOR(F32, DIMS(4, 1, 1, 2), VALUES(-2, 0, 2, -3, -1, 1, 3, -2)),
          TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4))),
       OUT(TENSOR(F32, DIMS(1, 2, 2, 4),
                  VALUES(5, -5, 6, -5, -5, 11, -1, 14, -1, 13, 6, -2, 3, -6, 6, -4))),
       CONV(false, 1, 1, 1, 1)),
  CASE("CONV_2D", "dilated", IN(RANDOM(1, 7, 6, 2), RANDOM(3, 3, 2, 2), RANDOM(3)),
       OUT(RANDOM(1, 7, 6, 3)), CONV(true, 1, 1, 2, 3)),
  CASE("CONV_2D", "stride and dilation", IN(RANDOM(1, 8, 7, 1), RANDOM(2, 2, 3, 1), RANDOM(2)),
       OUT(RANDOM(1, 3, 1, 2)), CONV(false, 2, 3, 3, 2), .act = ACT_TANH),
  CASE("CONV_2D", "strides wider than the filter",
       IN(RANDOM(1, 6, 7, 2), RANDOM(2, 1, 1, 2), RANDOM(2)), OUT(RANDOM(1, 2, 2, 2)),
       CONV(true, 3, 4, 1, 1)),
  CASE("CONV_2D", "filter wider than the image",
       IN(RANDOM(1, 2, 2, 1), RANDOM(2, 5, 5, 1), RANDOM(2)), OUT(RANDOM(1, 2, 2, 2)),
       CONV(true, 1, 1, 1, 1), .act = ACT_RELU),
  CASE("CONV_2D", "several images a sample", IN(RANDOM(2, 4, 4, 2), RANDOM(2, 3, 3, 2), RANDOM(2)),
       OUT(RANDOM(2, 2, 2, 2)), CONV(false, 1, 1, 1, 1), .act = ACT_RELU_N1_TO_1),
  CASE("CONV_2D", "groups of several filters",
       IN(RANDOM(1, 4, 4, 4), RANDOM(6, 3, 3, 2), RANDOM(6)), OUT(RANDOM(1, 2, 2, 6)),
       CONV(true, 2, 2, 1, 1)),
  CASE("CONV_2D", "bias of another shape",
       IN(RANDOM(1, 3, 3, 2), RANDOM(3, 2, 2, 2), RANDOM(3, 1, 1)), OUT(RANDOM(1, 2, 2, 3)),
       CONV(false, 1, 1, 1, 1)),
  CASE("CONV_2D", "refused: channels", IN(RANDOM(1, 4, 4, 3), RANDOM(2, 3, 3, 2)),
       CONV(true, 1, 1, 1, 1), .refusal = "it has 2 channels, the input 3"),
  CASE("CONV_2D", "refused: groups", IN(RANDOM(1, 4, 4, 4), RANDOM(3, 3, 3, 2)),
       CONV(true, 1, 1, 1, 1), .refusal = "3 filters do not divide into 2 groups"),
  CASE("CONV_2D", "refused: bias", IN(RANDOM(1, 4, 4, 2), RANDOM(3, 3, 3, 2), RANDOM(2)),
       CONV(true, 1, 1, 1, 1), .refusal = "bias has 2 values, wanted 3"),
  CASE("CONV_2D", "refused: window", IN(RANDOM(1, 4, 4, 1), RANDOM(1, 3, 3, 1)),
       CONV(false, 1, 1, 2, 1), .refusal = "does not fit into input [1,4,4,1]"),
  CASE("CONV_2D", "refused: rank", IN(RANDOM(4, 4, 1), RANDOM(1, 3, 3, 1)), CONV(true, 1, 1, 1, 1),
       .refusal = "shape [4,4,1], wanted rank 4"),
  CASE("CONV_2D", "refused: int8 weights", IN(RANDOM(1, 4, 4, 1), TENSOR(I8, DIMS(1, 3, 3, 1))),
       CONV(true, 1, 1, 1, 1), .refusal = "is int8, wanted float32"),
  CASE("CONV_2D", "refused: stride", IN(X, W), OPTIONS(OPT_INT(1, 1), OPT_INT(2, -1)),
       .refusal = "stride_h is -1"),
  CASE("CONV_2D", "refused: no options", IN(X, W), .refusal = "stride_w is 0"),
  CASE("CONV_2D", "refused: dilation", IN(X, W),
       OPTIONS(OPT_INT(1, 1), OPT_INT(2, 1), OPT_INT(4, 0)), .refusal = "dilation_w_factor is 0"),
  CASE("CONV_2D", "refused: padding", IN(X, W),
       OPTIONS(OPT_BYTE(0, 2), OPT_INT(1, 1), OPT_INT(2, 1)), .refusal = "padding is 2"),
  END_CASES};
