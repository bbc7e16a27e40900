// SPDX-License-Identifier: Apache-2.0
// SOFTMAX over the last axis: y = exp(beta (x - max x)) / sum.
#include "kernels/rows.h"
#include "ops/attrs.h"
#include "ops/op.h"

#include <math.h>

typedef struct {
  float beta;
  int64_t rows, n;
} Args;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  // An absent options table means defaults, and a beta of 0 could mean nothing else.
  ((SoftmaxAttr *)attr)->beta = options->at ? fb_f32(*options, 0, 0) : 1;
  return ST_OK;
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, -1));
  if (infer_in(f, 0)->shape.rank == 0)
    return infer_fail(f, "the input has rank 0, wanted 1 or more");
  return infer_out(f, 0, DT_F32, infer_in(f, 0)->shape);
}

static Status infer_grad(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 0)->shape);
}

// With rank 1 dimension 0 is the row itself.
static bool merge(const Graph *g, const Node *n)
{
  for (int i = 0; i < n->n_in; ++i)
    if (!g->tensors[n->in[i]].batched || g->tensors[n->in[i]].shape.rank < 2)
      return false;
  return true;
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  rows_kernels()->softmax(a->beta, c->p[0], c->p[1], a->rows, a->n, c->pool);
}

// SOFTMAX_GRAD(y, dy)
static void run_grad(const void *args, const Call *c)
{
  const Args *a = args;
  rows_kernels()->softmax_grad(a->beta, c->p[0], c->p[1], c->p[2], c->accumulate, a->rows, a->n,
                               c->pool);
}

static Status bind_rows(Bind *b, KernelFn fn)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape s = bind_out(b, 0);
  a->beta = ((const SoftmaxAttr *)b->node->attr)->beta;
  a->n = s.dim[s.rank - 1];
  a->rows = shape_span(&s, 0, s.rank - 1);
  b->run = fn;
  return ST_OK;
}

static Status bind(Bind *b)
{
  return bind_rows(b, run);
}

static Status bind_grad(Bind *b)
{
  return bind_rows(b, run_grad);
}

// dx = beta * y * (dy - sum(dy * y))
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  grad_give(g, 0,
            grad_node(g, "SOFTMAX_GRAD", n->attr, 2, (int32_t[]){n->out[0], grad_out(g, 0)}));
  return ST_OK;
}

const OpDef softmax_ops[] = {
  {.name = "SOFTMAX", .code = 25, .options = 9, .min_in = 1, .max_in = 1, .n_out = 1,
   .flags = OP_INPLACE, .attr_bytes = sizeof(SoftmaxAttr), .parse = parse, .infer = infer,
   .merge = merge, .bind = bind, .grad = grad},
  {.name = "SOFTMAX_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(SoftmaxAttr), .infer = infer_grad, .merge = merge, .bind = bind_grad},
  END_OPS};

#define X TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, -1, 0, 5))

const OpCase softmax_cases[] = {
  CASE("SOFTMAX", "no options", IN(X), OUT(TENSOR(F32, DIMS(2, 3), VALUES(0.09003057, 0.2447285,
          0.665241, 0.002456115, 0.006676413, 0.9908675)))),
  CASE("SOFTMAX", "beta", IN(X), OUT(TENSOR(F32, DIMS(2, 3), VALUES(0.1863237, 0.3071959,
          0.5064804, 0.04398648, 0.07252145, 0.8834921))), OPTIONS(OPT_FLOAT(0, 0.5))),
  CASE("SOFTMAX", "large numbers", IN(TENSOR(F32, DIMS(3), VALUES(1000, 1001, -1000))),
       OUT(TENSOR(F32, DIMS(3), VALUES(0.2689414, 0.7310586, 0))), ATTR(SoftmaxAttr, 1)),
  CASE("SOFTMAX", "masked", IN(TENSOR(F32, DIMS(1, 3), VALUES(-INFINITY, 0, 0))),
       OUT(TENSOR(F32, DIMS(1, 3), VALUES(0, 0.5, 0.5))), ATTR(SoftmaxAttr, 1)),
  CASE("SOFTMAX", "NaN stays in its row", IN(TENSOR(F32, DIMS(2, 2), VALUES(NAN, 0, 1, 1))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(NAN, NAN, 0.5, 0.5))), ATTR(SoftmaxAttr, 1)),
  CASE("SOFTMAX", "rank 1", IN(RANDOM(5)), OUT(RANDOM(5)), ATTR(SoftmaxAttr, 1.5f)),
  CASE("SOFTMAX", "rank 3", IN(RANDOM(1, 3, 4)), OUT(RANDOM(1, 3, 4)), ATTR(SoftmaxAttr, 1)),
  CASE("SOFTMAX", "rank 4, several rows a sample", IN(RANDOM(2, 2, 3, 5)), OUT(RANDOM(2, 2, 3, 5)),
       ATTR(SoftmaxAttr, 0.5f)),
  CASE("SOFTMAX", "beta below 0", IN(RANDOM(2, 7)), OUT(RANDOM(2, 7)), ATTR(SoftmaxAttr, -0.5f)),
  CASE("SOFTMAX", "one class", IN(RANDOM(3, 1)), OUT(TENSOR(F32, DIMS(3, 1), VALUES(1, 1, 1))),
       ATTR(SoftmaxAttr, 1)),
  CASE("SOFTMAX", "refused: scalar", IN(RANDOM()), .refusal = "rank 0, wanted 1 or more"),
  CASE("SOFTMAX", "refused: int8", IN(TENSOR(I8, DIMS(2))), .refusal = "is int8, wanted float32"),
  END_CASES};
