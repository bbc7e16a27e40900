// SPDX-License-Identifier: Apache-2.0
// DEPTHWISE_CONV_2D, NHWC with filters [1,kh,kw,C*multiplier], and its gradients. Geometry and
// formulas: kernels/dwconv.h.
#include "kernels/dwconv.h"
#include "ops/bindings.h"
#include "ops/convolution.h"
#include "ops/op.h"

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  return convolution_parse(options, 4, attr, act, d);
}

// Geometry from one call's x and filter shapes; false where the window does not fit. The multiplier
// is what the filter's shape says, whatever the options say.
static bool geometry(const WindowAttr *a, const Shape *x, const Shape *w, ConvShape *s)
{
  *s = (ConvShape){.n = x->dim[0], .ih = x->dim[1], .iw = x->dim[2], .ic = x->dim[3],
                   .oc = w->dim[3], .kh = w->dim[1], .kw = w->dim[2], .groups = x->dim[3]};
  return convolution_fit(a, s);
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, 4));
  TRY(infer_expect(f, 1, DT_F32, 4));
  const Shape *x = &infer_in(f, 0)->shape, *w = &infer_in(f, 1)->shape;
  if (w->dim[0] != 1 || x->dim[3] == 0 || w->dim[3] % x->dim[3] != 0 || w->dim[3] == 0 ||
      w->dim[1] == 0 || w->dim[2] == 0)
    return infer_fail(f, "filter %s does not fit input %s: wanted [1,h,w,a multiple of %d]",
                      shape_text(w).text, shape_text(x).text, x->dim[3]);
  TRY(bias_check(f, 2, w->dim[3]));
  ConvShape s;
  if (!geometry(f->node->attr, x, w, &s))
    return infer_fail(f, "filter %s with its dilation does not fit into input %s",
                      shape_text(w).text, shape_text(x).text);
  return infer_out(f, 0, DT_F32, (Shape){.rank = 4, .dim = {s.n, s.oh, s.ow, w->dim[3]}});
}

const ConvFamily depthwise_family = {geometry, dwconv_kernels, "DEPTHWISE_CONV_2D_INPUT_GRAD",
                                  "DEPTHWISE_CONV_2D_FILTER_GRAD"};

static Status bind(Bind *b)
{
  return convolution_bind(b, &depthwise_family);
}

static Status bind_input_grad(Bind *b)
{
  return convolution_bind_input_grad(b, &depthwise_family);
}

static Status bind_filter_grad(Bind *b)
{
  return convolution_bind_filter_grad(b, &depthwise_family);
}

static Status grad(Grad *g)
{
  return convolution_grad(g, &depthwise_family);
}

const OpDef depthwise_ops[] = {
  {.name = "DEPTHWISE_CONV_2D", .code = 4, .options = 2, .min_in = 2, .max_in = 3, .n_out = 1,
   .flags = OP_FUSES_ACT | OP_ACCUMULATES | OP_ADDS_APART, .optional = 1u << 2, .params = 1u << 1 | 1u << 2,
   .attr_bytes = sizeof(WindowAttr), .parse = parse, .infer = infer, .merge = merge_outer,
   .bind = bind, .grad = grad},
  CONVOLUTION_GRADS("DEPTHWISE_CONV_2D"),
  END_OPS};

#define CONV(SAME, SH, SW, DH, DW)                                                                 \
  ATTR(WindowAttr, .same = SAME, .stride_h = SH, .stride_w = SW, .dilation_h = DH, .dilation_w = DW)
#define X                                                                                          \
  TENSOR(F32, DIMS(1, 3, 3, 2),                                                                    \
         VALUES(-3, 0, 3, -1, 2, -2, 1, -3, 0, 3, -1, 2, -2, 1, -3, 0, 3, -1))
#define W                                                                                          \
  TENSOR(F32, DIMS(1, 2, 2, 4), VALUES(-2, 3, 1, -1, -3, 2, 0, -2, 3, 1, -1, -3, 2, 0, -2, 3))

const OpCase depthwise_cases[] = {
  CASE("DEPTHWISE_CONV_2D", "two outputs a channel",
       IN(X, W, TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4))), OUT(TENSOR(F32, DIMS(1, 2, 2, 4),
          VALUES(1, 0, 0, 24, -13, 15, -5, 6, -13, 3, -1, -2, 1, -3, 8, -6))),
       CONV(false, 1, 1, 1, 1)),
  // depth_multiplier is wrong here: the filter's shape decides.
  CASE("DEPTHWISE_CONV_2D", "options", IN(X, W), OUT(TENSOR(F32, DIMS(1, 2, 2, 4), VALUES(0, 0, 0,
          20, 0, 5, 0, 0, 13, 0, 1, 0, 0, 9, 0, 1))),
       OPTIONS(OPT_BYTE(0, 0), OPT_INT(1, 2), OPT_INT(2, 2), OPT_INT(3, 7), OPT_BYTE(4, 1)),
       .act = ACT_RELU,
       .no_numeric_grad = true),
  CASE("DEPTHWISE_CONV_2D", "dilations from the options",
       IN(X, TENSOR(F32, DIMS(1, 2, 2, 2), VALUES(-1, -3, 2, 0, -2, 3, 1, -1)), ABSENT),
       OUT(TENSOR(F32, DIMS(1, 1, 1, 2), VALUES(14, 4))),
       OPTIONS(OPT_BYTE(0, 1), OPT_INT(1, 1), OPT_INT(2, 1), OPT_INT(5, 2), OPT_INT(6, 2))),
  CASE("DEPTHWISE_CONV_2D", "uneven strides",
       IN(RANDOM(1, 7, 6, 3), RANDOM(1, 3, 2, 3), RANDOM(3)), OUT(RANDOM(1, 4, 2, 3)),
       CONV(true, 2, 3, 1, 1), .act = ACT_TANH),
  CASE("DEPTHWISE_CONV_2D", "dilated", IN(RANDOM(1, 7, 8, 2), RANDOM(1, 3, 3, 6), RANDOM(6)),
       OUT(RANDOM(1, 3, 2, 6)), CONV(false, 1, 1, 2, 3), .act = ACT_RELU),
  CASE("DEPTHWISE_CONV_2D", "stride and dilation",
       IN(RANDOM(1, 6, 7, 2), RANDOM(1, 2, 3, 2), RANDOM(2)), OUT(RANDOM(1, 3, 4, 2)),
       CONV(true, 2, 2, 3, 2)),
  CASE("DEPTHWISE_CONV_2D", "one channel in, many out",
       IN(RANDOM(1, 4, 4, 1), RANDOM(1, 2, 2, 5), RANDOM(5)), OUT(RANDOM(1, 4, 4, 5)),
       CONV(true, 1, 1, 1, 1), .act = ACT_RELU_N1_TO_1),
  CASE("DEPTHWISE_CONV_2D", "several images a sample",
       IN(RANDOM(2, 5, 4, 17), RANDOM(1, 3, 3, 17), RANDOM(17)), OUT(RANDOM(2, 3, 2, 17)),
       CONV(false, 1, 1, 1, 1), .act = ACT_RELU6),
  CASE("DEPTHWISE_CONV_2D", "bias of another shape",
       IN(RANDOM(1, 3, 3, 2), RANDOM(1, 2, 2, 2), RANDOM(2, 1)), OUT(RANDOM(1, 3, 3, 2)),
       CONV(true, 1, 1, 1, 1)),
  CASE("DEPTHWISE_CONV_2D", "refused: filter", IN(RANDOM(1, 4, 4, 2), RANDOM(1, 3, 3, 3)),
       CONV(true, 1, 1, 1, 1), .refusal = "wanted [1,h,w,a multiple of 2]"),
  CASE("DEPTHWISE_CONV_2D", "refused: leading dimension",
       IN(RANDOM(1, 4, 4, 2), RANDOM(2, 3, 3, 2)), CONV(true, 1, 1, 1, 1),
       .refusal = "filter [2,3,3,2]"),
  CASE("DEPTHWISE_CONV_2D", "refused: bias", IN(RANDOM(1, 4, 4, 2), RANDOM(1, 3, 3, 4), RANDOM(2)),
       CONV(true, 1, 1, 1, 1), .refusal = "bias has 2 values, wanted 4"),
  CASE("DEPTHWISE_CONV_2D", "refused: dilation", IN(X, W),
       OPTIONS(OPT_INT(1, 1), OPT_INT(2, 1), OPT_INT(6, -2)),
       .refusal = "dilation_h_factor is -2"),
  END_CASES};
