// SPDX-License-Identifier: Apache-2.0
// ADD, SUB, MUL, DIV with broadcasting: float32, and int32/int64 for arithmetic on shapes.
#include "kernels/eltwise.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/window.h"

#include <math.h>
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

const OpCase binary_cases[] = {
  CASE("ADD", "same shapes", IN(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(2,
          2), VALUES(10, 20, 30, 40))), OUT(TENSOR(F32, DIMS(2, 2), VALUES(11, 22, 33, 44)))),
  CASE("ADD", "a row to rows, activated",
       IN(TENSOR(F32, DIMS(2, 2), VALUES(-4, 2, 3, 40)), TENSOR(F32, DIMS(2), VALUES(1, 3))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(0, 5, 4, 6))), .act = ACT_RELU6),
  CASE("ADD", "int32",
       IN(TENSOR(I32, DIMS(3), VALUES(1, -2, 2147483647)), TENSOR(I32, DIMS(), VALUES(1))),
       OUT(TENSOR(I32, DIMS(3), VALUES(2, -1, -2147483648.0)))),
  CASE("ADD", "activation from the options",
       IN(TENSOR(F32, DIMS(2), VALUES(-3, 1)), TENSOR(F32, DIMS(2), VALUES(1, 4))),
       OUT(TENSOR(F32, DIMS(2), VALUES(-1, 1))), OPTIONS(OPT_BYTE(0, 2)), .act = ACT_RELU_N1_TO_1),


  CASE("ADD", "rank 5 with holes", IN(RANDOM(2, 1, 3, 1, 2), RANDOM(1, 4, 1, 2, 2)),
       OUT(RANDOM(2, 4, 3, 2, 2))),
  CASE("ADD", "rank 8", IN(RANDOM(1, 2, 1, 2, 1, 2, 1, 2), RANDOM(2, 1, 2, 1)),
       OUT(RANDOM(1, 2, 1, 2, 2, 2, 2, 2))),
  CASE("ADD", "one batched row, several constant ones", IN(RANDOM(1, 3), RANDOM(4, 3)),
       OUT(RANDOM(4, 3)), .act = ACT_TANH),
  CASE("ADD", "scalars", IN(RANDOM(), RANDOM()), OUT(RANDOM())),
  CASE("ADD", "a vector to a matrix of several rows", IN(RANDOM(3), RANDOM(2, 3)),
       OUT(RANDOM(2, 3))),
  CASE("ADD", "no elements", IN(RANDOM(0, 3), RANDOM(3)), OUT(RANDOM(0, 3))),
  CASE("ADD", "refused: shapes", IN(RANDOM(2, 3), RANDOM(2)),
       .refusal = "[2,3] and [2] do not broadcast"),
  CASE("ADD", "refused: types", IN(RANDOM(2), TENSOR(I32, DIMS(2))),
       .refusal = "float32 and int32"),
  CASE("ADD", "refused: bool", IN(TENSOR(BOOL, DIMS(2)), TENSOR(BOOL, DIMS(2))),
       .refusal = "operands are bool"),
  CASE("ADD", "refused: activated integers", IN(TENSOR(I32, DIMS(2)), TENSOR(I32, DIMS(2))),
       .act = ACT_RELU, .refusal = "without activation"),
  CASE("SUB", "a column from rows",
       IN(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(2, 1), VALUES(10, 20))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(-9, -8, -17, -16)))),
  CASE("SUB", "int64",
       IN(TENSOR(I64, DIMS(2), VALUES(5, -5)), TENSOR(I64, DIMS(2), VALUES(7, -7))),
       OUT(TENSOR(I64, DIMS(2), VALUES(-2, 2)))),
  CASE("SUB", "broadcast both ways", IN(RANDOM(1, 3, 1), RANDOM(2, 1, 4)), OUT(RANDOM(2, 3, 4)),
       .act = ACT_TANH),
  CASE("SUB", "refused: shapes", IN(RANDOM(3), RANDOM(4)), .refusal = "do not broadcast"),
  CASE("MUL", "a scalar",
       IN(TENSOR(F32, DIMS(3), VALUES(1, -2, 3)), TENSOR(F32, DIMS(), VALUES(-2))),
       OUT(TENSOR(F32, DIMS(3), VALUES(-2, 4, -6)))),
  CASE("MUL", "infinity and NaN", IN(TENSOR(F32, DIMS(3), VALUES(INFINITY, INFINITY, NAN)),
          TENSOR(F32, DIMS(3), VALUES(-2, 0, 1))),
       OUT(TENSOR(F32, DIMS(3), VALUES(-INFINITY, NAN, NAN)))),
  CASE("MUL", "squeeze and excite", IN(RANDOM(1, 3, 4, 2), RANDOM(1, 1, 1, 2)),
       OUT(RANDOM(1, 3, 4, 2))),
  CASE("MUL", "several rows a sample", IN(RANDOM(3, 4), RANDOM(3, 1)), OUT(RANDOM(3, 4)),
       .act = ACT_TANH),
  CASE("MUL", "int32",
       IN(TENSOR(I32, DIMS(2), VALUES(3, 65536)), TENSOR(I32, DIMS(2), VALUES(-4, 65536))),
       OUT(TENSOR(I32, DIMS(2), VALUES(-12, 0)))),
  CASE("MUL", "refused: shapes", IN(RANDOM(2, 2), RANDOM(3, 2)), .refusal = "[2,2] and [3,2]"),
  CASE("DIV", "float32",
       IN(TENSOR(F32, DIMS(4), VALUES(1, -1, 0, 3)), TENSOR(F32, DIMS(4), VALUES(4, 0, 5, -2))),
       OUT(TENSOR(F32, DIMS(4), VALUES(0.25, -INFINITY, 0, -1.5)))),
  CASE("DIV", "integers by zero", IN(TENSOR(I32, DIMS(4), VALUES(7, -7, 5, -2147483648.0)),
          TENSOR(I32, DIMS(4), VALUES(2, 2, 0, -1))),
       OUT(TENSOR(I32, DIMS(4), VALUES(3, -3, 0, -2147483648.0)))),
  CASE("DIV", "broadcast numerator", IN(RANDOM(1, 2), RANDOM(3, 1, 2)), OUT(RANDOM(3, 1, 2))),
  CASE("DIV", "broadcast both, activated", IN(RANDOM(1, 2, 1), RANDOM(3)), OUT(RANDOM(1, 2, 3)),
       .act = ACT_TANH),
  CASE("DIV", "refused: types", IN(TENSOR(I32, DIMS(2)), TENSOR(I64, DIMS(2))),
       .refusal = "int32 and int64"),
  END_CASES};
