// SPDX-License-Identifier: Apache-2.0
// Losses as nodes. Each gives one number a row: the squared error's mean over the row, or the
// cross-entropy of the row. Their gradients scale by 1 / (rows of the step), or by 1 for a sum.
#include "kernels/rows.h"
#include "ops/attrs.h"
#include "ops/op.h"

typedef struct {
  int64_t rows, n;
  float scale;
} Args;

static Status infer_loss(Infer *f)
{
  const LossAttr *a = f->node->attr;
  return infer_out(f, 0, DT_F32, (Shape){.rank = 1, .dim = {a->rows}});
}

static Status infer_grad(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 0)->shape);
}

static Args *rows_args(Bind *b)
{
  const LossAttr *attr = b->node->attr;
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return NULL;
  Shape p = bind_in(b, 0);
  a->rows = (int64_t)attr->rows * b->n;
  a->n = shape_numel(&p) / a->rows;
  a->scale = attr->mean ? 1.0f / (float)a->rows : 1;
  return a;
}

#define LOSS(name, kernel)                                                                         \
  static void run_##name(const void *args, const Call *c)                                          \
  {                                                                                                \
    const Args *a = args;                                                                          \
    rows_kernels()->kernel(c->p[0], c->p[1], c->p[2], a->rows, a->n, c->pool);                     \
  }                                                                                                \
  static Status bind_##name(Bind *b)                                                               \
  {                                                                                                \
    b->run = run_##name;                                                                           \
    return rows_args(b) ? ST_OK : diag_oom(b->diag);                                               \
  }

LOSS(mse, mse)
LOSS(cce, cce)
LOSS(cce_logits, cce_logits)

// (p, label) -> dp = 2 (p - t) / F * scale, F elements a row
static void run_mse_grad(const void *args, const Call *c)
{
  const Args *a = args;
  rows_kernels()->mse_grad(2.0f / (float)a->n * a->scale, c->p[0], c->p[1], c->p[2],
                           c->accumulate, a->rows * a->n, c->pool);
}

static Status bind_mse_grad(Bind *b)
{
  b->run = run_mse_grad;
  return rows_args(b) ? ST_OK : diag_oom(b->diag);
}

// (z, label) -> dz = (softmax(z) sum(t) - t) * scale
static void run_cce_logits_grad(const void *args, const Call *c)
{
  const Args *a = args;
  rows_kernels()->cce_logits_grad(a->scale, c->p[0], c->p[1], c->p[2], c->accumulate, a->rows,
                                  a->n, c->pool);
}

static Status bind_cce_logits_grad(Bind *b)
{
  b->run = run_cce_logits_grad;
  return rows_args(b) ? ST_OK : diag_oom(b->diag);
}

// (p, label), p = softmax(beta z) -> dz = beta (p sum(t) - t) * scale
static void run_softmax_cce_grad(const void *args, const Call *c)
{
  const Args *a = args;
  rows_kernels()->softmax_cce_grad(a->scale, c->p[0], c->p[1], c->p[2], c->accumulate, a->rows,
                                   a->n, c->pool);
}

static Status bind_softmax_cce_grad(Bind *b)
{
  Args *a = rows_args(b);
  if (!a)
    return diag_oom(b->diag);
  a->scale *= ((const LossAttr *)b->node->attr)->beta;
  b->run = run_softmax_cce_grad;
  return ST_OK;
}

#define LOSS_OP(NAME, binder)                                                                      \
  {                                                                                                \
    .name = NAME, .code = OP_NOT_IN_FILES, .attr_bytes = sizeof(LossAttr), .infer = infer_loss,    \
    .merge = merge_always, .bind = binder, .no_grad = "a loss is what gradients are taken of"      \
  }
#define LOSS_GRAD(NAME, binder)                                                                    \
  {                                                                                                \
    .name = NAME, .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,                                \
    .attr_bytes = sizeof(LossAttr), .infer = infer_grad, .merge = merge_always, .bind = binder     \
  }

const OpDef loss_ops[] = {LOSS_OP("LOSS_MSE", bind_mse),
                          LOSS_OP("LOSS_CCE", bind_cce),
                          LOSS_OP("LOSS_CCE_LOGITS", bind_cce_logits),
                          LOSS_GRAD("LOSS_MSE_GRAD", bind_mse_grad),
                          LOSS_GRAD("LOSS_CCE_LOGITS_GRAD", bind_cce_logits_grad),
                          LOSS_GRAD("SOFTMAX_CCE_GRAD", bind_softmax_cce_grad),
                          END_OPS};

#define P TENSOR(F32, DIMS(2, 3), VALUES(0.2, 0.3, 0.5, 0.6, 0.3, 0.1))
#define Z TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 3, -1, 0, 5))
#define T TENSOR(F32, DIMS(2, 3), VALUES(0, 1, 0, 0.5, 0.5, 0))
#define ROWS(...) OUT(TENSOR(F32, DIMS(CASE_COUNT(double, __VA_ARGS__)), VALUES(__VA_ARGS__)))
#define LIKE(...) OUT(TENSOR(F32, DIMS(2, 3), VALUES(__VA_ARGS__)))

// Formulas: training.md 3; the gradients of whole models are in tests/c/test_gradients.c.
const OpCase loss_cases[] = {
  CASE("LOSS_MSE", "two rows", IN(P, T), ROWS(0.26, 0.02), ATTR(LossAttr, .rows = 2)),
  CASE("LOSS_MSE", "one row", IN(P, T), ROWS(0.14), ATTR(LossAttr, .rows = 1)),
  CASE("LOSS_MSE_GRAD", "mean", IN(P, T),
       LIKE(0.06666667, -0.23333333, 0.16666667, 0.03333333, -0.06666667, 0.03333333),
       ATTR(LossAttr, .rows = 2, .mean = true)),
  CASE("LOSS_MSE_GRAD", "sum", IN(P, T),
       LIKE(0.13333333, -0.46666667, 0.33333333, 0.06666667, -0.13333333, 0.06666667),
       ATTR(LossAttr, .rows = 2)),
  CASE("LOSS_CCE", "probabilities", IN(P, T), ROWS(1.203973, 0.8573992),
       ATTR(LossAttr, .rows = 2)),
  CASE("LOSS_CCE", "at most -ln 1e-20",
       IN(TENSOR(F32, DIMS(1, 2), VALUES(0, 1)), TENSOR(F32, DIMS(1, 2), VALUES(1, 0))),
       ROWS(46.0517019), ATTR(LossAttr, .rows = 1)),
  CASE("LOSS_CCE_LOGITS", "logits", IN(Z, T), ROWS(1.407606, 5.509174), ATTR(LossAttr, .rows = 2)),

  CASE("LOSS_CCE_LOGITS_GRAD", "mean", IN(Z, T),
       LIKE(0.04501529, -0.3776358, 0.3326205, -0.2487719, -0.2466618, 0.4954337),
       ATTR(LossAttr, .rows = 2, .mean = true)),
  CASE("SOFTMAX_CCE_GRAD", "mean, beta", IN(P, T), LIKE(0.2, -0.7, 0.5, 0.1, -0.2, 0.1),
       ATTR(LossAttr, .rows = 2, .mean = true, .beta = 2)),
  END_CASES};
