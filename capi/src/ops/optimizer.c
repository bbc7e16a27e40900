// SPDX-License-Identifier: Apache-2.0
// Updates as nodes: they write parameter and state in place. Formulas: kernels/update.h.
#include "kernels/update.h"
#include "ops/op.h"

typedef struct {
  int64_t n;
} Args;

static void run_sgd(const void *args, const Call *c)
{
  update_kernels()->sgd(c->hyper->learning_rate, c->p[1], c->p[0], ((const Args *)args)->n,
                        c->pool);
}

static void run_adam(const void *args, const Call *c)
{
  const Hyper *h = c->hyper;
  update_kernels()->adam(h->alpha, h->beta1, h->beta2, h->epsilon, c->p[1], c->p[2], c->p[3],
                         c->p[0], ((const Args *)args)->n, c->pool);
}

static Status bind(Bind *b, KernelFn run)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  a->n = shape_numel(&b->g->tensors[b->node->in[0]].shape);
  b->run = run;
  return ST_OK;
}

static Status bind_sgd(Bind *b)
{
  return bind(b, run_sgd);
}

static Status bind_adam(Bind *b)
{
  return bind(b, run_adam);
}

const OpDef optimizer_ops[] = {
  // (w, g)
  {.name = "SGD_UPDATE", .code = OP_NOT_IN_FILES, .flags = OP_EFFECT | OP_NO_FOLD,
   .bind = bind_sgd},
  // (w, g, m, v)
  {.name = "ADAM_UPDATE", .code = OP_NOT_IN_FILES, .flags = OP_EFFECT | OP_NO_FOLD,
   .bind = bind_adam},
  END_OPS};

// The tester's step: learning rate and alpha 0.5, beta1 0.5, beta2 0.75, epsilon 1.
const OpCase optimizer_cases[] = {
  CASE("SGD_UPDATE", "w - lr g",
       IN(TENSOR(F32, DIMS(2), VALUES(1, 2)), TENSOR(F32, DIMS(2), VALUES(0.5, -1))),
       OUT(TENSOR(F32, DIMS(2), VALUES(0.75, 2.5)))),
  CASE("ADAM_UPDATE", "w, m and v", IN(TENSOR(F32, DIMS(2), VALUES(1, 2)), TENSOR(F32, DIMS(2),
          VALUES(0.5, -1)), TENSOR(F32, DIMS(2), VALUES(0.2, 0)), TENSOR(F32, DIMS(2), VALUES(1,
          0.5))), OUT(TENSOR(F32, DIMS(2), VALUES(0.907962, 2.13962)), {0}, TENSOR(F32, DIMS(2),
          VALUES(0.35, -0.5)), TENSOR(F32, DIMS(2), VALUES(0.8125, 0.625)))),
  END_CASES};
