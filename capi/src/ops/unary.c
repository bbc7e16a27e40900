// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of one operand, and the masks of fused activations.
#include "kernels/eltwise.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/window.h"

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
