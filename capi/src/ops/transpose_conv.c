// SPDX-License-Identifier: Apache-2.0
// TRANSPOSE_CONV(output shape, w [O,kh,kw,I], x [N,h,w,I], bias): every pixel of x adds its filter
// to a window of y [N,H,W,O]. That is the transpose of a convolution that takes images of the shape
// of y to some of the shape of x, so all of its kernels are that convolution's (kernels/conv.h),
// with the filter's first and last dimensions swapped.
#include "ops/bindings.h"
#include "ops/convolution.h"

enum { OUTPUT_SHAPE, FILTER, IMAGE, BIAS }; // operands

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  *act = fb_i8(*options, 3, 0);
  return window_parse(options, 1, attr, d);
}

// Windows along one axis: the padding of the convolution is what the result is cropped by.
static bool fit(bool same, int32_t from, int32_t to, int32_t filter, int32_t stride, int32_t *crop)
{
  const int64_t extent = from > 0 ? ((int64_t)from - 1) * stride + filter : 0;
  const int64_t excess = extent - to;
  *crop = same && excess > 0 ? (int32_t)(excess / 2) : 0;
  return extent <= 1 << 30 && to <= 1 << 30;
}

// The convolution that takes y to x.
static bool geometry(const WindowAttr *a, const Shape *y, const Shape *w, const Shape *x,
                     ConvShape *s)
{
  *s = (ConvShape){.n = y->dim[0], .ih = y->dim[1], .iw = y->dim[2], .ic = y->dim[3],
                   .oh = x->dim[1], .ow = x->dim[2], .oc = x->dim[3], .kh = w->dim[1],
                   .kw = w->dim[2], .sh = a->stride_h, .sw = a->stride_w, .dh = 1, .dw = 1,
                   .groups = 1, .is_swapped = true};
  return fit(a->same, s->oh, s->ih, s->kh, s->sh, &s->pt) &&
         fit(a->same, s->ow, s->iw, s->kw, s->sw, &s->pl);
}

static Status infer(Infer *f)
{
  int64_t dims[MAX_RANK];
  int n = 0;
  TRY(infer_ints(f, OUTPUT_SHAPE, dims, MAX_RANK, &n));
  TRY(infer_expect(f, FILTER, DT_F32, 4));
  TRY(infer_expect(f, IMAGE, DT_F32, 4));
  const Shape *w = &infer_in(f, FILTER)->shape, *x = &infer_in(f, IMAGE)->shape;
  if (n != 4)
    return infer_fail(f, "the output shape has %d dimensions, wanted 4", n);
  Shape y = {.rank = 4};
  for (int i = 0; i < 4; ++i) {
    if (dims[i] < 0 || dims[i] > INT32_MAX)
      return infer_fail(f, "dimension %d of the output shape is %lld", i, (long long)dims[i]);
    y.dim[i] = (int32_t)dims[i];
  }
  if (w->dim[3] != x->dim[3] || w->dim[1] == 0 || w->dim[2] == 0)
    return infer_fail(f, "filter %s does not fit input %s: it has %d channels, the input %d",
                      shape_text(w).text, shape_text(x).text, w->dim[3], x->dim[3]);
  if (y.dim[0] != x->dim[0] || y.dim[3] != w->dim[0])
    return infer_fail(f, "output shape %s does not fit input %s and filter %s: wanted %d images of "
                      "%d channels", shape_text(&y).text, shape_text(x).text, shape_text(w).text,
                      x->dim[0], w->dim[0]);
  TRY(bias_check(f, BIAS, w->dim[0]));
  ConvShape s;
  if (!geometry(f->node->attr, &y, w, x, &s))
    return infer_fail(f, "input %s with filter %s and strides %d, %d does not fit output %s: more "
                      "than 2^30 rows or columns", shape_text(x).text, shape_text(w).text, s.sh,
                      s.sw, shape_text(&y).text);
  return infer_out(f, 0, DT_F32, y);
}

static bool merge(const Graph *g, const Node *n)
{
  return g->tensors[n->in[IMAGE]].batched && !g->tensors[n->in[FILTER]].batched &&
         (n->n_in <= BIAS || n->in[BIAS] < 0 || !g->tensors[n->in[BIAS]].batched);
}

typedef struct {
  ConvShape s;
  const ConvKernels *k;
  const float *packed; // filters as the kernel wants them, or NULL
} Args;

// y, w, x: shapes in one call.
static Args *make_args(Bind *b, Shape y, Shape w, Shape x)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return NULL;
  geometry(b->node->attr, &y, &w, &x, &a->s);
  a->k = conv_kernels();
  return a;
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  const float *w = a->packed ? a->packed : c->p[FILTER];
  a->k->transpose(&a->s, c->p[IMAGE], w, c->p[BIAS], c->add, c->p[4], c->scratch, c->pool);
}

static void run_no_bias(const void *args, const Call *c)
{
  const Args *a = args;
  const float *w = a->packed ? a->packed : c->p[FILTER];
  a->k->transpose(&a->s, c->p[IMAGE], w, NULL, c->add, c->p[3], c->scratch, c->pool);
}

static Status bind(Bind *b)
{
  Args *a = make_args(b, bind_out(b, 0), bind_in(b, FILTER), bind_in(b, IMAGE));
  if (!a)
    return diag_oom(b->diag);
  a->s.act = kernel_act(b->node->act);
  TRY(convolution_pack(b, FILTER, a->k, CONV_INPUT_GRAD, &a->s, &a->packed));
  b->scratch = a->k->input_grad_scratch(&a->s, b->threads);
  b->run = b->node->n_in > BIAS ? run : run_no_bias;
  return ST_OK;
}

// TRANSPOSE_CONV_INPUT_GRAD(dy, w, x) -> dx, which x only lends its shape
static void run_input_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->forward(&a->s, c->p[0], c->p[1], NULL, c->add, c->p[3], c->scratch, c->pool);
}

static Status bind_input_grad(Bind *b)
{
  Args *a = make_args(b, bind_in(b, 0), bind_in(b, 1), bind_in(b, 2));
  if (!a)
    return diag_oom(b->diag);
  b->scratch = a->k->forward_scratch(&a->s, b->threads);
  b->run = run_input_grad;
  return ST_OK;
}

// TRANSPOSE_CONV_FILTER_GRAD(dy, x, w) -> dw, which w only lends its shape
static void run_filter_grad(const void *args, const Call *c)
{
  const Args *a = args;
  a->k->filter_grad(&a->s, c->p[0], c->p[1], c->p[3], NULL, c->accumulate, c->scratch, c->pool);
}

static Status bind_filter_grad(Bind *b)
{
  Args *a = make_args(b, bind_in(b, 0), bind_in(b, 2), bind_in(b, 1));
  if (!a)
    return diag_oom(b->diag);
  b->scratch = a->k->filter_grad_scratch(&a->s, b->threads);
  b->run = run_filter_grad;
  return ST_OK;
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  const int32_t dy = grad_out(g, 0), w = n->in[FILTER], x = n->in[IMAGE];
  if (grad_wants(g, IMAGE))
    grad_give(g, IMAGE,
              grad_node(g, "TRANSPOSE_CONV_INPUT_GRAD", n->attr, 3, (int32_t[]){dy, w, x}));
  if (grad_wants(g, FILTER))
    grad_give(g, FILTER,
              grad_node(g, "TRANSPOSE_CONV_FILTER_GRAD", n->attr, 3, (int32_t[]){dy, x, w}));
  bias_grad(g, BIAS, dy);
  return ST_OK;
}

const OpDef transpose_conv_ops[] = {
  {.name = "TRANSPOSE_CONV", .code = 67, .options = 49, .min_in = 3, .max_in = 4, .n_out = 1,
   .flags = OP_FUSES_ACT | OP_ACCUMULATES | OP_ADDS_APART, .optional = 1u << BIAS,
   .params = 1u << FILTER | 1u << BIAS, .attr_bytes = sizeof(WindowAttr), .parse = parse,
   .infer = infer, .merge = merge, .bind = bind, .grad = grad},
  {.name = "TRANSPOSE_CONV_INPUT_GRAD", .code = OP_NOT_IN_FILES,
   .flags = OP_ACCUMULATES | OP_ADDS_APART, .shape_only = 1u << 2,
   .attr_bytes = sizeof(WindowAttr), .infer = convolution_infer_grad,
   .merge = convolution_merge_input_grad, .bind = bind_input_grad},
  {.name = "TRANSPOSE_CONV_FILTER_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .shape_only = 1u << 2, .attr_bytes = sizeof(WindowAttr), .infer = convolution_infer_grad,
   .merge = convolution_merge_filter_grad, .bind = bind_filter_grad},
  END_OPS};

#define STRIDES(SAME, SH, SW)                                                                      \
  ATTR(WindowAttr, .same = SAME, .stride_h = SH, .stride_w = SW, .dilation_h = 1, .dilation_w = 1)
#define X TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(1, 2, 3, -1))
#define W TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(1, 2, 3, 4))
#define W3 TENSOR(F32, DIMS(1, 3, 3, 1), VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9))

const OpCase transpose_conv_cases[] = {
  CASE("TRANSPOSE_CONV", "windows side by side", IN(INTS(1, 4, 4, 1), W, X),
       OUT(TENSOR(F32, DIMS(1, 4, 4, 1),
                  VALUES(1, 2, 2, 4, 3, 4, 6, 8, 3, 6, -1, -2, 9, 12, -3, -4))),
       STRIDES(false, 2, 2)),
  CASE("TRANSPOSE_CONV", "windows that overlap, bias",
       IN(INTS(1, 3, 3, 1), W, X, TENSOR(F32, DIMS(1), VALUES(10))),
       OUT(TENSOR(F32, DIMS(1, 3, 3, 1), VALUES(11, 14, 14, 16, 25, 16, 19, 19, 6))),
       STRIDES(false, 1, 1)),
  CASE("TRANSPOSE_CONV", "cropped to SAME", IN(INTS(1, 2, 2, 1), W3, X),
       OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(18, 23, 33, 38))), STRIDES(true, 1, 1)),
  CASE("TRANSPOSE_CONV", "SAME with strides, activated by options",
       IN(INTS(1, 4, 4, 1), W3, X),
       OUT(TENSOR(F32, DIMS(1, 4, 4, 1),
                  VALUES(1, 2, 5, 4, 4, 5, 14, 10, 10, 14, 31, 14, 12, 15, 14, 0))),
       OPTIONS(OPT_BYTE(0, 0), OPT_INT(1, 2), OPT_INT(2, 2), OPT_BYTE(3, 1)), .act = ACT_RELU),
  CASE("TRANSPOSE_CONV", "two channels to two",
       IN(INTS(1, 1, 2, 2), TENSOR(F32, DIMS(2, 1, 2, 2), VALUES(1, 2, 3, 4, 5, 6, 7, 8)),
          TENSOR(F32, DIMS(1, 1, 1, 2), VALUES(1, -10))),
       OUT(TENSOR(F32, DIMS(1, 1, 2, 2), VALUES(-19, -55, -37, -73))), STRIDES(false, 1, 1)),
  CASE("TRANSPOSE_CONV", "larger than its windows", IN(INTS(1, 5, 6, 1), W, X),
       OUT(TENSOR(F32, DIMS(1, 5, 6, 1),
                  VALUES(1, 2, 2, 4, 0, 0, 3, 4, 6, 8, 0, 0, 3, 6, -1, -2, 0, 0, 9, 12, -3, -4, 0,
                         0, 0, 0, 0, 0, 0, 0))),
       STRIDES(false, 2, 2)),
  CASE("TRANSPOSE_CONV", "smaller than its windows",
       IN(INTS(1, 2, 3, 2), RANDOM(2, 3, 2, 3), RANDOM(1, 3, 3, 3), RANDOM(2)),
       OUT(RANDOM(1, 2, 3, 2)), STRIDES(false, 2, 1)),
  CASE("TRANSPOSE_CONV", "VALID",
       IN(INTS(1, 7, 6, 2), RANDOM(2, 3, 2, 3), RANDOM(1, 3, 3, 3), RANDOM(2)),
       OUT(RANDOM(1, 7, 6, 2)), STRIDES(false, 2, 2), .act = ACT_TANH),
  CASE("TRANSPOSE_CONV", "uneven strides",
       IN(INTS(1, 6, 3, 3), RANDOM(3, 3, 3, 2), RANDOM(1, 2, 3, 2), RANDOM(3)),
       OUT(RANDOM(1, 6, 3, 3)), STRIDES(true, 3, 1), .act = ACT_RELU6),
  CASE("TRANSPOSE_CONV", "strides wider than the filter, bias absent",
       IN(INTS(1, 6, 8, 2), RANDOM(2, 1, 2, 2), RANDOM(1, 2, 2, 2), ABSENT),
       OUT(RANDOM(1, 6, 8, 2)), STRIDES(false, 3, 4)),
  CASE("TRANSPOSE_CONV", "several images a sample, bias of rank 4",
       IN(INTS(2, 4, 4, 2), RANDOM(2, 2, 2, 3), RANDOM(2, 2, 2, 3), RANDOM(1, 1, 1, 2)),
       OUT(RANDOM(2, 4, 4, 2)), STRIDES(true, 2, 2)),
  CASE("TRANSPOSE_CONV", "many channels",
       IN(INTS(1, 4, 4, 19), RANDOM(19, 2, 2, 37), RANDOM(1, 2, 2, 37)),
       OUT(RANDOM(1, 4, 4, 19)), STRIDES(true, 2, 2)),
  CASE("TRANSPOSE_CONV", "no pixels", IN(INTS(1, 2, 2, 1), W, RANDOM(1, 0, 2, 1)),
       OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(0, 0, 0, 0))), STRIDES(true, 2, 2)),
  CASE("TRANSPOSE_CONV", "refused: channels", IN(INTS(1, 4, 4, 1), RANDOM(1, 2, 2, 2), X),
       STRIDES(true, 2, 2), .refusal = "it has 2 channels, the input 1"),
  CASE("TRANSPOSE_CONV", "refused: output shape", IN(INTS(1, 4, 4, 2), W, X), STRIDES(true, 2, 2),
       .refusal = "[1,4,4,2] does not fit input [1,2,2,1] and filter [1,2,2,1]: wanted 1 images of 1"),
  CASE("TRANSPOSE_CONV", "refused: images", IN(INTS(2, 4, 4, 1), W, X), STRIDES(true, 2, 2),
       .refusal = "wanted 1 images of 1 channels"),
  CASE("TRANSPOSE_CONV", "refused: rank of the output shape", IN(INTS(4, 4, 1), W, X),
       STRIDES(true, 2, 2), .refusal = "has 3 dimensions, wanted 4"),
  CASE("TRANSPOSE_CONV", "refused: negative output", IN(INTS(1, -4, 4, 1), W, X),
       STRIDES(true, 2, 2), .refusal = "dimension 1 of the output shape is -4"),
  CASE("TRANSPOSE_CONV", "refused: huge output", IN(INTS(1, 2000000000, 1, 1), W, X),
       STRIDES(true, 2, 2), .refusal = "more than 2^30 rows"),
  CASE("TRANSPOSE_CONV", "refused: an output shape from the data",
       IN(TENSOR(I32, DIMS(4), VALUES(1, 4, 4, 1)), W, X), STRIDES(true, 2, 2),
       .refusal = "must be constant"),
  CASE("TRANSPOSE_CONV", "refused: bias", IN(INTS(1, 4, 4, 1), W, X, RANDOM(2)),
       STRIDES(true, 2, 2), .refusal = "bias has 2 values, wanted 1"),
  CASE("TRANSPOSE_CONV", "refused: rank", IN(INTS(1, 4, 4, 1), W, RANDOM(2, 2, 1)),
       STRIDES(true, 2, 2), .refusal = "wanted rank 4"),
  CASE("TRANSPOSE_CONV", "refused: stride", IN(INTS(1, 4, 4, 1), W, X), .refusal = "stride_w is 0"),
  END_CASES};
