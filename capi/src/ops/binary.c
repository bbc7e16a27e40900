// SPDX-License-Identifier: Apache-2.0
// ADD, SUB, MUL, DIV with broadcasting: float32, and int32/int64 for arithmetic on shapes.
#include "kernels/eltwise.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/window.h"

#include <string.h>

typedef struct {
  KernelBinary op;
  KernelAct act;
  bool same;          // operands of one size: no broadcasting
  int64_t n;
  BroadcastShape s;
} Args;

static KernelBinary kind(const OpDef *op)
{
  static const char *const names[] = {"ADD", "SUB", "MUL", "DIV"};
  for (int i = 0; i < 4; ++i)
    if (strcmp(op->name, names[i]) == 0)
      return (KernelBinary)i;
  return KBIN_ADD;
}

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)attr;
  (void)d;
  *act = fb_i8(*options, 0, 0);
  return ST_OK;
}

static Status infer(Infer *f)
{
  const Tensor *a = infer_in(f, 0), *b = infer_in(f, 1);
  Shape out;
  if (a->dtype != b->dtype)
    return infer_fail(f, "operands are %s and %s", dtype_name(a->dtype), dtype_name(b->dtype));
  bool integer = a->dtype == DT_I32 || a->dtype == DT_I64;
  if (a->dtype != DT_F32 && !(integer && f->node->act == ACT_NONE))
    return infer_fail(f, "operands are %s, wanted float32, or int32 or int64 without activation",
                      dtype_name(a->dtype));
  if (!shape_broadcast(&a->shape, &b->shape, &out))
    return infer_fail(f, "shapes %s and %s do not broadcast", shape_text(&a->shape).text,
                      shape_text(&b->shape).text);
  return infer_out(f, 0, a->dtype, out);
}

static void strides(const Shape *operand, const Shape *out, int64_t *stride)
{
  int64_t dense[MAX_RANK];
  shape_strides(operand, dense);
  for (int i = 0; i < out->rank; ++i) {
    int k = i - (out->rank - operand->rank);
    stride[i] = k < 0 || operand->dim[k] == 1 ? 0 : dense[k];
  }
}

static void run_float(const void *args, const Call *c)
{
  const Args *a = args;
  const EltwiseKernels *k = eltwise_kernels();
  if (a->same)
    k->binary(a->op, a->act, c->p[0], c->p[1], c->p[2], a->n, c->pool);
  else
    k->binary_broadcast(a->op, a->act, &a->s, c->p[0], c->p[1], c->p[2], c->pool);
}

// Division by zero gives 0, and overflow wraps: index arithmetic must not trap.
static int64_t integer(KernelBinary op, int64_t a, int64_t b)
{
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op) {
  case KBIN_ADD: return (int64_t)(x + y);
  case KBIN_SUB: return (int64_t)(x - y);
  case KBIN_MUL: return (int64_t)(x * y);
  default: return b == 0 ? 0 : b == -1 ? (int64_t)(0 - x) : a / b;
  }
}

#define INTEGER_RUN(name, type)                                                                    \
  static void name(const void *args, const Call *c)                                                \
  {                                                                                                \
    const Args *a = args;                                                                          \
    const type *x = c->p[0], *y = c->p[1];                                                         \
    type *z = c->p[2];                                                                             \
    for (int64_t i = 0; i < a->n; ++i) {                                                           \
      int64_t rest = i, ix = 0, iy = 0;                                                            \
      for (int d = a->s.rank - 1; d >= 0; --d) {                                                   \
        ix += rest % a->s.dim[d] * a->s.a_stride[d];                                               \
        iy += rest % a->s.dim[d] * a->s.b_stride[d];                                               \
        rest /= a->s.dim[d];                                                                       \
      }                                                                                            \
      z[i] = (type)integer(a->op, x[ix], y[iy]);                                                   \
    }                                                                                              \
  }

INTEGER_RUN(run_int32, int32_t)
INTEGER_RUN(run_int64, int64_t)

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape x = bind_in(b, 0), y = bind_in(b, 1), out = bind_out(b, 0);
  a->op = kind(b->node->op);
  a->act = kernel_act(b->node->act);
  a->same = shape_equal(&x, &y);
  a->n = shape_numel(&out);
  a->s.rank = out.rank;
  for (int i = 0; i < out.rank; ++i)
    a->s.dim[i] = out.dim[i];
  strides(&x, &out, a->s.a_stride);
  strides(&y, &out, a->s.b_stride);
  DType t = bind_type(b, 0);
  b->run = t == DT_F32 ? run_float : t == DT_I32 ? run_int32 : run_int64;
  return ST_OK;
}

// ADD: da = dy, db = dy
static Status grad_add(Grad *g)
{
  grad_give_reduced(g, 0, grad_out(g, 0));
  grad_give_reduced(g, 1, grad_out(g, 0));
  return ST_OK;
}

// SUB: da = dy, db = -dy
static Status grad_sub(Grad *g)
{
  int32_t dy = grad_out(g, 0);
  grad_give_reduced(g, 0, dy);
  if (grad_wants(g, 1))
    grad_give_reduced(g, 1, grad_node(g, "NEG", NULL, 1, &dy));
  return ST_OK;
}

// MUL: da = dy * b, db = dy * a
static Status grad_mul(Grad *g)
{
  int32_t dy = grad_out(g, 0);
  const int32_t *in = grad_of(g)->in;
  for (int i = 0; i < 2; ++i)
    if (grad_wants(g, i))
      grad_give_reduced(g, i, grad_node(g, "MUL", NULL, 2, (int32_t[]){dy, in[1 - i]}));
  return ST_OK;
}

// DIV: da = dy / b, db = -dy * (a / b) / b. The quotient is taken anew, since the output may be
// activated.
static Status grad_div(Grad *g)
{
  int32_t a = grad_of(g)->in[0], b = grad_of(g)->in[1];
  int32_t da = grad_node(g, "DIV", NULL, 2, (int32_t[]){grad_out(g, 0), b});
  if (grad_wants(g, 1)) {
    int32_t q = grad_node(g, "DIV", NULL, 2, (int32_t[]){a, b});
    int32_t t = grad_node(g, "MUL", NULL, 2, (int32_t[]){da, q});
    grad_give_reduced(g, 1, grad_node(g, "NEG", NULL, 1, &t));
  }
  grad_give_reduced(g, 0, da);
  return ST_OK;
}

#define BINARY(NAME, number, tag, gradient)                                                        \
  {                                                                                                \
    .name = NAME, .code = number, .options = tag, .min_in = 2, .max_in = 2, .n_out = 1,            \
    .flags = OP_FUSES_ACT | OP_INPLACE, .parse = parse, .infer = infer,                            \
    .merge = merge_elementwise, .bind = bind, .grad = gradient                                     \
  }

const OpDef binary_ops[] = {BINARY("ADD", 0, 11, grad_add), BINARY("SUB", 41, 28, grad_sub),
                            BINARY("MUL", 18, 21, grad_mul), BINARY("DIV", 42, 29, grad_div),
                            END_OPS};
