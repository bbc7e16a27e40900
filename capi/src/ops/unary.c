// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of one operand, and the masks of fused activations.
#include "kernels/eltwise.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/window.h"

#include <math.h>

typedef struct {
  float alpha;         // slope of LEAKY_RELU below 0
  KernelUnary function; // whose gradient UNARY_GRAD is
} UnaryAttr;

typedef struct {
  KernelUnary function;
  KernelAct act;
  float alpha;
  int64_t n;
} Args;

static const struct {
  const char *name;
  KernelUnary function;
} functions[] = {{"RELU", KUN_RELU},         {"RELU6", KUN_RELU6},
                 {"RELU_N1_TO_1", KUN_RELU_N1_TO_1}, {"LOGISTIC", KUN_LOGISTIC},
                 {"TANH", KUN_TANH},         {"LEAKY_RELU", KUN_LEAKY_RELU},
                 {"NEG", KUN_NEG}};

static KernelUnary function_of(const OpDef *op)
{
  for (size_t i = 0; i < COUNT_OF(functions); ++i)
    if (op == op_by_name(functions[i].name))
      return functions[i].function;
  return KUN_RELU;
}

static Status parse_leaky(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((UnaryAttr *)attr)->alpha = fb_f32(*options, 0, 0);
  return ST_OK;
}

static Status infer(Infer *f)
{
  for (int i = 0; i < f->node->n_in; ++i)
    TRY(infer_expect(f, i, DT_F32, -1));
  return infer_out(f, 0, DT_F32, infer_in(f, 0)->shape);
}

static Status args_of(Bind *b, Args **out)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape s = bind_out(b, 0);
  a->n = shape_numel(&s);
  *out = a;
  return ST_OK;
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  eltwise_kernels()->unary(a->function, a->alpha, c->p[0], c->p[1], a->n, c->pool);
}

static Status bind(Bind *b)
{
  Args *a = NULL;
  TRY(args_of(b, &a));
  a->function = function_of(b->node->op);
  a->alpha = b->node->op->attr_bytes ? ((const UnaryAttr *)b->node->attr)->alpha : 0;
  b->run = run;
  return ST_OK;
}

// dx = dy * f'(x), taken from y, so that x need not be kept; only LEAKY_RELU with a slope below 0
// needs x itself.
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  UnaryAttr attr = {.alpha = n->op->attr_bytes ? ((const UnaryAttr *)n->attr)->alpha : 0,
                    .function = function_of(n->op)};
  int32_t x = attr.alpha < 0 ? n->in[0] : n->out[0];
  grad_give(g, 0,
            grad_node(g, "UNARY_GRAD", &attr, 3, (int32_t[]){x, n->out[0], grad_out(g, 0)}));
  return ST_OK;
}

static Status infer_grad(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, f->node->n_in - 1)->shape);
}

static void run_unary_grad(const void *args, const Call *c)
{
  const Args *a = args;
  eltwise_kernels()->unary_grad(a->function, a->alpha, c->p[0], c->p[1], c->p[2], c->p[3],
                                c->accumulate, a->n, c->pool);
}

static Status bind_unary_grad(Bind *b)
{
  Args *a = NULL;
  TRY(args_of(b, &a));
  a->function = ((const UnaryAttr *)b->node->attr)->function;
  a->alpha = ((const UnaryAttr *)b->node->attr)->alpha;
  b->run = run_unary_grad;
  return ST_OK;
}

static void run_act_grad(const void *args, const Call *c)
{
  const Args *a = args;
  eltwise_kernels()->act_grad(a->act, c->p[1], c->p[0], c->p[2], c->accumulate, a->n, c->pool);
}

// ACT_GRAD(dy, y)
static Status bind_act_grad(Bind *b)
{
  Args *a = NULL;
  TRY(args_of(b, &a));
  a->act = kernel_act(((const ActGradAttr *)b->node->attr)->act);
  b->run = run_act_grad;
  return ST_OK;
}

#define UNARY(NAME, number)                                                                        \
  {                                                                                                \
    .name = NAME, .code = number, .min_in = 1, .max_in = 1, .n_out = 1, .flags = OP_INPLACE,       \
    .infer = infer, .merge = merge_elementwise, .bind = bind, .grad = grad                         \
  }

const OpDef unary_ops[] = {
  UNARY("RELU", 19), UNARY("RELU6", 21), UNARY("RELU_N1_TO_1", 20), UNARY("LOGISTIC", 14),
  UNARY("TANH", 28), UNARY("NEG", 59),
  {.name = "LEAKY_RELU", .code = 98, .options = 75, .min_in = 1, .max_in = 1, .n_out = 1,
   .flags = OP_INPLACE, .attr_bytes = sizeof(UnaryAttr), .parse = parse_leaky, .infer = infer,
   .merge = merge_elementwise, .bind = bind, .grad = grad},
  {.name = "UNARY_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_INPLACE | OP_ACCUMULATES,
   .attr_bytes = sizeof(UnaryAttr), .infer = infer_grad, .merge = merge_elementwise,
   .bind = bind_unary_grad},
  {.name = "ACT_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_INPLACE | OP_ACCUMULATES,
   .attr_bytes = sizeof(ActGradAttr), .infer = infer_grad, .merge = merge_elementwise,
   .bind = bind_act_grad},
  END_OPS};

#define REFUSES_INT8(NAME)                                                                         \
  {                                                                                                \
    .op = NAME, .name = "refused: int8", IN(TENSOR(I8, DIMS(2))),                                  \
    .refusal = "is int8, wanted float32"                                                           \
  }
#define X6 TENSOR(F32, DIMS(2, 3), VALUES(-2, -0.5, 0, 0.5, 2, 7))
#define Y6(...) TENSOR(F32, DIMS(2, 3), VALUES(__VA_ARGS__))

// 0 is a kink of most.
const OpCase unary_cases[] = {
  CASE("RELU", "values", IN(X6), OUT(Y6(0, 0, 0, 0.5, 2, 7)), .no_numeric_grad = true),
  CASE("RELU", "NaN and infinity", IN(TENSOR(F32, DIMS(3), VALUES(NAN, INFINITY, -INFINITY))),
       OUT(TENSOR(F32, DIMS(3), VALUES(NAN, INFINITY, 0)))),
  CASE("RELU", "rank 3", IN(RANDOM(2, 3, 5)), OUT(RANDOM(2, 3, 5))),
  CASE("RELU", "a scalar", IN(RANDOM()), OUT(RANDOM())),
  CASE("RELU", "no elements", IN(RANDOM(2, 0)), OUT(RANDOM(2, 0))),
  REFUSES_INT8("RELU"),
  CASE("RELU6", "values", IN(X6), OUT(Y6(0, 0, 0, 0.5, 2, 6)), .no_numeric_grad = true),
  CASE("RELU6", "bounds", IN(TENSOR(F32, DIMS(3), VALUES(6, NAN, INFINITY))),
       OUT(TENSOR(F32, DIMS(3), VALUES(6, NAN, 6)))),
  CASE("RELU6", "rank 4", IN(RANDOM(1, 3, 3, 4)), OUT(RANDOM(1, 3, 3, 4))),
  REFUSES_INT8("RELU6"),
  CASE("RELU_N1_TO_1", "values", IN(X6), OUT(Y6(-1, -0.5, 0, 0.5, 1, 1))),
  CASE("RELU_N1_TO_1", "NaN", IN(TENSOR(F32, DIMS(2), VALUES(NAN, -INFINITY))),
       OUT(TENSOR(F32, DIMS(2), VALUES(NAN, -1)))),
  CASE("RELU_N1_TO_1", "rank 2", IN(RANDOM(4, 5)), OUT(RANDOM(4, 5))),
  REFUSES_INT8("RELU_N1_TO_1"),
  CASE("LOGISTIC", "values", IN(X6),
       OUT(Y6(0.1192029220, 0.3775406688, 0.5, 0.6224593312, 0.8807970780, 0.9990889488))),
  CASE("LOGISTIC", "far out", IN(TENSOR(F32, DIMS(4), VALUES(-200, 200, INFINITY, NAN))),
       OUT(TENSOR(F32, DIMS(4), VALUES(0, 1, 1, NAN)))),
  CASE("LOGISTIC", "rank 1", IN(RANDOM(7)), OUT(RANDOM(7))),
  REFUSES_INT8("LOGISTIC"),
  CASE("TANH", "values", IN(X6),
       OUT(Y6(-0.9640275801, -0.4621171573, 0, 0.4621171573, 0.9640275801, 0.9999983369))),
  CASE("TANH", "far out", IN(TENSOR(F32, DIMS(3), VALUES(-200, INFINITY, NAN))),
       OUT(TENSOR(F32, DIMS(3), VALUES(-1, 1, NAN)))),
  CASE("TANH", "rank 5", IN(RANDOM(1, 2, 1, 3, 2)), OUT(RANDOM(1, 2, 1, 3, 2))),
  REFUSES_INT8("TANH"),
  CASE("NEG", "values", IN(X6), OUT(Y6(2, 0.5, 0, -0.5, -2, -7))),
  CASE("NEG", "infinity", IN(TENSOR(F32, DIMS(2), VALUES(INFINITY, NAN))),
       OUT(TENSOR(F32, DIMS(2), VALUES(-INFINITY, NAN)))),
  REFUSES_INT8("NEG"),
  CASE("LEAKY_RELU", "values", IN(X6), OUT(Y6(-0.5, -0.125, 0, 0.5, 2, 7)),
       ATTR(UnaryAttr, .alpha = 0.25f), .no_numeric_grad = true),
  CASE("LEAKY_RELU", "slope from the options", IN(TENSOR(F32, DIMS(3), VALUES(-4, 4, NAN))),
       OUT(TENSOR(F32, DIMS(3), VALUES(-2, 4, NAN))), OPTIONS(OPT_FLOAT(0, 0.5))),
  CASE("LEAKY_RELU", "slope above 1", IN(RANDOM(3, 4)), OUT(RANDOM(3, 4)),
       ATTR(UnaryAttr, .alpha = 1.5f)),
  CASE("LEAKY_RELU", "slope 0", IN(RANDOM(3, 4)), OUT(RANDOM(3, 4)), ATTR(UnaryAttr, .alpha = 0)),
  CASE("LEAKY_RELU", "slope below 0", IN(RANDOM(2, 3, 4)), OUT(RANDOM(2, 3, 4)),
       ATTR(UnaryAttr, .alpha = -0.5f)),
  REFUSES_INT8("LEAKY_RELU"),
  // Gradients are 0 at the bounds themselves.
  CASE("ACT_GRAD", "RELU6",
       IN(TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(4), VALUES(0, 3, 6, 5.9))),
       OUT(TENSOR(F32, DIMS(4), VALUES(0, 2, 0, 4))), ATTR(ActGradAttr, ACT_RELU6)),
  CASE("ACT_GRAD", "RELU_N1_TO_1",
       IN(TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(4), VALUES(-1, 0, 1, 0.5))),
       OUT(TENSOR(F32, DIMS(4), VALUES(0, 2, 0, 4))), ATTR(ActGradAttr, ACT_RELU_N1_TO_1)),
  END_CASES};
