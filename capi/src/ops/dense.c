// SPDX-License-Identifier: Apache-2.0
// FULLY_CONNECTED: y[R,U] = x[R,K] W[U,K]^T + b[U], where R is whatever x has besides K.
#include "kernels/gemm.h"
#include "ops/attrs.h"
#include "ops/bindings.h"
#include "ops/op.h"
#include "ops/window.h"

typedef struct {
  bool keep_dims;
} DenseAttr;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  *act = fb_i8(*options, 0, 0);
  int8_t format = fb_i8(*options, 1, 0);
  if (format != 0)
    return diag_fail(d, ST_ERROR, "weights_format is %d, only 0 (default) is supported", format);
  ((DenseAttr *)attr)->keep_dims = fb_bool(*options, 2, false);
  return ST_OK;
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, -1));
  TRY(infer_expect(f, 1, DT_F32, 2));
  const Tensor *x = infer_in(f, 0), *w = infer_in(f, 1);
  int32_t units = w->shape.dim[0], k = w->shape.dim[1];
  int64_t numel = shape_numel(&x->shape);
  if (k == 0 || numel % k != 0 || numel / k > INT32_MAX)
    return infer_fail(f, "input of shape %s does not divide into rows of %d, weights are %s",
                      shape_text(&x->shape).text, k, shape_text(&w->shape).text);
  TRY(bias_check(f, 2, units));
  if (!((const DenseAttr *)f->node->attr)->keep_dims)
    return infer_out(f, 0, DT_F32, (Shape){.rank = 2, .dim = {(int32_t)(numel / k), units}});
  Shape out = x->shape;
  if (out.rank == 0 || out.dim[out.rank - 1] != k)
    return infer_fail(f, "input of shape %s keeps its dimensions, so its last must be %d",
                      shape_text(&x->shape).text, k);
  out.dim[out.rank - 1] = units;
  return infer_out(f, 0, DT_F32, out);
}

static void run(const void *args, const Call *c)
{
  const GemmShape *s = args;
  gemm_kernels()->run(s, c->p[0], c->p[1], c->p[2], c->p[3], false, c->scratch, c->pool);
}

static void run_no_bias(const void *args, const Call *c)
{
  const GemmShape *s = args;
  gemm_kernels()->run(s, c->p[0], c->p[1], NULL, c->p[2], false, c->scratch, c->pool);
}

static GemmShape *shape_args(Bind *b, GemmShape s)
{
  GemmShape *a = bind_args(b, sizeof *a);
  if (a) {
    *a = s;
    b->scratch = gemm_kernels()->scratch_bytes(a, b->threads);
  }
  return a;
}

static Status bind(Bind *b)
{
  Shape x = bind_in(b, 0), w = bind_in(b, 1);
  int64_t k = w.dim[1], units = w.dim[0];
  GemmShape s = {.m = shape_numel(&x) / k, .n = units, .k = k, .a_row = k, .a_col = 1,
                 .b_row = 1, .b_col = k, .c_row = units, .act = kernel_act(b->node->act)};
  if (!shape_args(b, s))
    return diag_oom(b->diag);
  b->run = b->node->n_in > 2 ? run : run_no_bias;
  return ST_OK;
}

// dx = dy W, dW = dy^T x, db = sum of dy over rows
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  int32_t dy = grad_out(g, 0);
  if (grad_wants(g, 0)) {
    ReshapeToAttr attr = {.shape = grad_tensor(g, n->in[0])->shape};
    grad_give(g, 0, grad_node(g, "DENSE_INPUT_GRAD", &attr, 2, (int32_t[]){dy, n->in[1]}));
  }
  if (grad_wants(g, 1))
    grad_give(g, 1, grad_node(g, "DENSE_WEIGHT_GRAD", NULL, 3,
                              (int32_t[]){dy, n->in[0], n->in[1]}));
  bias_grad(g, 2, dy);
  return ST_OK;
}

// DENSE_INPUT_GRAD(dy, W) -> dx
static Status infer_input_grad(Infer *f)
{
  return infer_out(f, 0, DT_F32, ((const ReshapeToAttr *)f->node->attr)->shape);
}

static void run_input_grad(const void *args, const Call *c)
{
  gemm_kernels()->run(args, c->p[0], c->p[1], NULL, c->p[2], c->accumulate, c->scratch, c->pool);
}

static Status bind_input_grad(Bind *b)
{
  Shape dy = bind_in(b, 0), w = bind_in(b, 1);
  int64_t k = w.dim[1], units = w.dim[0];
  GemmShape s = {.m = units ? shape_numel(&dy) / units : 0, .n = k, .k = units, .a_row = units,
                 .a_col = 1, .b_row = k, .b_col = 1, .c_row = k};
  if (!shape_args(b, s))
    return diag_oom(b->diag);
  b->run = run_input_grad;
  return ST_OK;
}

// DENSE_WEIGHT_GRAD(dy, x, W) -> dW; W only lends its shape
static Status infer_weight_grad(Infer *f)
{
  TRY(infer_out(f, 0, DT_F32, infer_in(f, 2)->shape));
  if (!infer_in(f, 2)->batched)
    infer_unbatched(f, 0);
  return ST_OK;
}

static bool merge_weight_grad(const Graph *g, const Node *n)
{
  return g->tensors[n->in[0]].batched && g->tensors[n->in[1]].batched &&
         !g->tensors[n->in[2]].batched;
}

static void run_weight_grad(const void *args, const Call *c)
{
  gemm_kernels()->run(args, c->p[0], c->p[1], NULL, c->p[3], c->accumulate, c->scratch, c->pool);
}

static Status bind_weight_grad(Bind *b)
{
  Shape dy = bind_in(b, 0), w = bind_in(b, 2);
  int64_t k = w.dim[1], units = w.dim[0];
  GemmShape s = {.m = units, .n = k, .k = units ? shape_numel(&dy) / units : 0, .a_row = 1,
                 .a_col = units, .b_row = k, .b_col = 1, .c_row = k};
  if (!shape_args(b, s))
    return diag_oom(b->diag);
  b->run = run_weight_grad;
  return ST_OK;
}

const OpDef dense_ops[] = {
  {.name = "FULLY_CONNECTED", .code = 9, .options = 8, .min_in = 2, .max_in = 3, .n_out = 1,
   .flags = OP_FUSES_ACT, .optional = 1u << 2, .params = 1u << 1 | 1u << 2,
   .attr_bytes = sizeof(DenseAttr), .parse = parse, .infer = infer, .merge = merge_outer,
   .bind = bind, .grad = grad},
  {.name = "DENSE_INPUT_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(ReshapeToAttr), .infer = infer_input_grad, .merge = merge_outer,
   .bind = bind_input_grad},
  {.name = "DENSE_WEIGHT_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .shape_only = 1u << 2, .infer = infer_weight_grad,
   .merge = merge_weight_grad, .bind = bind_weight_grad},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 3), VALUES(-2, 1, -3, 0, 3, -1))
#define W TENSOR(F32, DIMS(4, 3), VALUES(-3, 2, 0, -2, 3, 1, -1, -3, 2, 0, -2, 3))
#define B TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4))

const OpCase dense_cases[] = {
  CASE("FULLY_CONNECTED", "bias", IN(X, W, B),
       OUT(TENSOR(F32, DIMS(2, 4), VALUES(9, 6, -4, -7, 7, 10, -8, -5))), ATTR(DenseAttr, false)),
  CASE("FULLY_CONNECTED", "bias absent", IN(X, W, ABSENT),
       OUT(TENSOR(F32, DIMS(2, 4), VALUES(8, 4, -7, -11, 6, 8, -11, -9)))),
  CASE("FULLY_CONNECTED", "options",
       IN(TENSOR(F32, DIMS(1, 2, 3), VALUES(-2, 1, -3, 0, 3, -1)), W, B),
       OUT(TENSOR(F32, DIMS(1, 2, 4), VALUES(9, 6, 0, 0, 7, 10, 0, 0))),
       OPTIONS(OPT_BYTE(0, 1), OPT_BYTE(2, 1)), .act = ACT_RELU),
  CASE("FULLY_CONNECTED", "rows over two dimensions", IN(RANDOM(2, 3, 4), RANDOM(5, 4), RANDOM(5)),
       OUT(RANDOM(6, 5)), ATTR(DenseAttr, false), .act = ACT_TANH),
  CASE("FULLY_CONNECTED", "K over two dimensions", IN(RANDOM(1, 3, 4), RANDOM(5, 12), RANDOM(5)),
       OUT(RANDOM(1, 5)), ATTR(DenseAttr, false), .act = ACT_RELU_N1_TO_1),
  CASE("FULLY_CONNECTED", "K is the whole of several rows",
       IN(RANDOM(2, 3), RANDOM(4, 6), RANDOM(4)), OUT(RANDOM(1, 4)), ATTR(DenseAttr, false)),
  CASE("FULLY_CONNECTED", "keeps rank 4", IN(RANDOM(1, 2, 2, 3), RANDOM(2, 3)),
       OUT(RANDOM(1, 2, 2, 2)), ATTR(DenseAttr, true), .act = ACT_RELU6),
  CASE("FULLY_CONNECTED", "a vector", IN(RANDOM(3), RANDOM(2, 3), RANDOM(2)), OUT(RANDOM(1, 2)),
       ATTR(DenseAttr, false)),
  CASE("FULLY_CONNECTED", "keeps rank 1", IN(RANDOM(3), RANDOM(2, 3), RANDOM(2)), OUT(RANDOM(2)),
       ATTR(DenseAttr, true)),
  CASE("FULLY_CONNECTED", "one unit", IN(RANDOM(1, 9), RANDOM(1, 9), RANDOM(1)), OUT(RANDOM(1, 1)),
       ATTR(DenseAttr, false)),
  CASE("FULLY_CONNECTED", "many units", IN(RANDOM(1, 33), RANDOM(35, 33), RANDOM(35)),
       OUT(RANDOM(1, 35)), ATTR(DenseAttr, false), .act = ACT_RELU),
  CASE("FULLY_CONNECTED", "bias of another shape", IN(RANDOM(1, 3), RANDOM(2, 3), RANDOM(2, 1)),
       OUT(RANDOM(1, 2)), ATTR(DenseAttr, false)),
  CASE("FULLY_CONNECTED", "refused: rows", IN(RANDOM(2, 3), RANDOM(4, 5)),
       .refusal = "[2,3] does not divide into rows of 5"),
  CASE("FULLY_CONNECTED", "refused: keeps dimensions", IN(RANDOM(2, 6), RANDOM(4, 3)),
       ATTR(DenseAttr, true), .refusal = "so its last must be 3"),
  CASE("FULLY_CONNECTED", "refused: bias", IN(RANDOM(2, 3), RANDOM(4, 3), RANDOM(3)),
       .refusal = "bias has 3 values, wanted 4"),
  CASE("FULLY_CONNECTED", "refused: weights' rank", IN(RANDOM(2, 3), RANDOM(1, 4, 3)),
       .refusal = "wanted rank 2"),
  CASE("FULLY_CONNECTED", "refused: weights_format", IN(X, W), OPTIONS(OPT_BYTE(1, 1)),
       .refusal = "weights_format is 1"),
  CASE("FULLY_CONNECTED", "refused: int8 weights", IN(RANDOM(2, 3), TENSOR(I8, DIMS(4, 3))),
       .refusal = "is int8, wanted float32"),
  END_CASES};
