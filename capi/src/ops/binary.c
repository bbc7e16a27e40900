// SPDX-License-Identifier: Apache-2.0
// Operators of two operands with broadcasting: float32, and int32/int64 for arithmetic on shapes.
// ADD_N, of any number of operands of one shape.
#include "kernels/eltwise.h"
#include "kernels/typed.h"
#include "ops/attrs.h"
#include "ops/bindings.h"
#include "ops/op.h"
#include "ops/window.h"

#include <math.h>
#include <string.h>

typedef struct {
  KernelBinary op;
  bool second; // the derivative by the second operand
} BinaryGradAttr;

typedef struct {
  KernelBinary op;
  KernelAct act;
  KernelType type;
  bool second;
  bool same;     // operands of one size: no broadcasting
  int n_in;      // of ADD_N
  int64_t n;
  BroadcastShape s;
} Args;

static const struct {
  const char *name;
  KernelBinary op;
  bool integers;
} operations[] = {{"ADD", KBIN_ADD, true},
                  {"SUB", KBIN_SUB, true},
                  {"MUL", KBIN_MUL, true},
                  {"DIV", KBIN_DIV, true},
                  {"MAXIMUM", KBIN_MAXIMUM, true},
                  {"MINIMUM", KBIN_MINIMUM, true},
                  {"SQUARED_DIFFERENCE", KBIN_SQUARED_DIFFERENCE, true},
                  {"FLOOR_DIV", KBIN_FLOOR_DIV, true},
                  {"FLOOR_MOD", KBIN_FLOOR_MOD, true},
                  {"POW", KBIN_POW, false},
                  {"ATAN2", KBIN_ATAN2, false},
                  {"PRELU", KBIN_PRELU, false}};

static size_t operation(const OpDef *op)
{
  size_t i = 0;
  while (i + 1 < COUNT_OF(operations) && strcmp(op->name, operations[i].name) != 0)
    ++i;
  return i;
}

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)attr;
  (void)d;
  *act = fb_i8(*options, 0, 0);
  return ST_OK;
}

static Status check_type(const Infer *f, DType t, bool integers)
{
  if (t == DT_F32)
    return ST_OK;
  if (!integers)
    return infer_fail(f, "operands are %s, wanted float32", dtype_name(t));
  if ((t == DT_I32 || t == DT_I64) && f->node->act == ACT_NONE)
    return ST_OK;
  return infer_fail(f, "operands are %s, wanted float32, or int32 or int64 without activation",
                    dtype_name(t));
}

static Status infer(Infer *f)
{
  const DType type = infer_in(f, 0)->dtype;
  Shape out;
  TRY(infer_operands(f, &out));
  TRY(check_type(f, type, operations[operation(f->node->op)].integers));
  return infer_out(f, 0, type, out);
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
static void run_integers(const void *args, const Call *c)
{
  const Args *a = args;
  typed_binary(a->type, a->op, &a->s, c->p[0], c->p[1], c->p[2], c->pool);
}

static Status bind_with(Bind *b, KernelBinary op, KernelFn run, Args **args)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape x = bind_in(b, 0), y = bind_in(b, 1), out = bind_out(b, 0);
  a->op = op;
  a->act = kernel_act(b->node->act);
  a->type = kernel_type(bind_type(b, 0));
  a->same = shape_equal(&x, &y);
  a->n = shape_numel(&out);
  a->s = broadcast_shape(&out, &x, &y, NULL);
  b->run = run;
  *args = a;
  return ST_OK;
}

static Status bind(Bind *b)
{
  Args *a = NULL;
  return bind_with(b, operations[operation(b->node->op)].op,
                   bind_type(b, 0) == DT_F32 ? run_float : run_integers, &a);
}

// ---- derivatives that are no operators ----

// BINARY_GRAD(a, b, dy): dy * the derivative of a op b by one of them, in the shape of dy.
static Status infer_partial(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 2)->shape);
}

static void run_partial(const void *args, const Call *c)
{
  const Args *a = args;
  eltwise_kernels()->binary_grad(a->op, a->second, &a->s, c->p[0], c->p[1], c->p[2], c->p[3],
                                 c->accumulate, c->pool);
}

static Status bind_partial(Bind *b)
{
  const BinaryGradAttr *attr = b->node->attr;
  Args *a = NULL;
  TRY(bind_with(b, attr->op, run_partial, &a));
  a->second = attr->second;
  return ST_OK;
}

static void give_partial(Grad *g, int i)
{
  const Node *n = grad_of(g);
  if (!grad_wants(g, i))
    return;
  BinaryGradAttr attr = {.op = operations[operation(n->op)].op, .second = i == 1};
  int32_t in[] = {n->in[0], n->in[1], grad_out(g, 0)};
  grad_give_reduced(g, i, grad_node(g, "BINARY_GRAD", &attr, 3, in));
}

static Status grad_partials(Grad *g)
{
  give_partial(g, 0);
  give_partial(g, 1);
  return ST_OK;
}

// FLOOR_MOD = a - b * floor(a / b): da = dy
static Status grad_floor_mod(Grad *g)
{
  grad_give_reduced(g, 0, grad_out(g, 0));
  give_partial(g, 1);
  return ST_OK;
}

static Status grad_floor_div(Grad *g)
{
  for (int i = 0; i < 2; ++i)
    if (grad_wants(g, i))
      grad_give(g, i, grad_node(g, "ZEROS_LIKE", NULL, 1, &grad_of(g)->in[i]));
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

// ---- ADD_N ----

static Status infer_add_n(Infer *f)
{
  const Tensor *x = infer_in(f, 0);
  TRY(check_type(f, x->dtype, true));
  for (int i = 1; i < f->node->n_in; ++i) {
    const Tensor *t = infer_in(f, i);
    if (t->dtype != x->dtype || !shape_equal(&t->shape, &x->shape))
      return infer_fail(f, "input %d is %s %s, input 0 is %s %s", i, dtype_name(t->dtype),
                        shape_text(&t->shape).text, dtype_name(x->dtype),
                        shape_text(&x->shape).text);
  }
  return infer_out(f, 0, x->dtype, x->shape);
}

static bool merge_add_n(const Graph *g, const Node *n)
{
  for (int i = 0; i < n->n_in; ++i)
    if (!g->tensors[n->in[i]].batched)
      return false;
  return true;
}

static void add_two(const Args *a, const Call *c, const void *x, const void *y)
{
  if (a->type == KT_F32)
    eltwise_kernels()->binary(KBIN_ADD, KACT_NONE, x, y, c->p[a->n_in], a->n, c->pool);
  else
    typed_binary(a->type, KBIN_ADD, &a->s, x, y, c->p[a->n_in], c->pool);
}

static void run_add_n(const void *args, const Call *c)
{
  const Args *a = args;
  size_t bytes = (size_t)a->n * (a->type == KT_I64 ? 8 : 4);
  if (a->n_in == 1)
    memcpy(c->p[1], c->p[0], bytes);
  for (int i = 1; i < a->n_in; ++i)
    add_two(a, c, i == 1 ? c->p[0] : c->p[a->n_in], c->p[i]);
}

static Status bind_add_n(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape out = bind_out(b, 0);
  a->type = kernel_type(bind_type(b, 0));
  a->n_in = b->node->n_in;
  a->n = shape_numel(&out);
  a->s = broadcast_shape(&out, &out, &out, NULL);
  b->run = run_add_n;
  return ST_OK;
}

static Status grad_add_n(Grad *g)
{
  for (int i = 0; i < grad_of(g)->n_in; ++i)
    grad_give(g, i, grad_out(g, 0));
  return ST_OK;
}

#define BINARY(NAME, number, tag)                                                                  \
  .name = NAME, .code = number, .options = tag, .min_in = 2, .max_in = 2, .n_out = 1,              \
  .infer = infer, .merge = merge_elementwise, .bind = bind
#define ACTIVATED .flags = OP_FUSES_ACT | OP_INPLACE, .parse = parse
#define PLAIN .flags = OP_INPLACE

const OpDef binary_ops[] = {
  {BINARY("ADD", 0, 11), ACTIVATED, .grad = grad_add},
  {BINARY("SUB", 41, 28), ACTIVATED, .grad = grad_sub},
  {BINARY("MUL", 18, 21), ACTIVATED, .grad = grad_mul},
  {BINARY("DIV", 42, 29), ACTIVATED, .grad = grad_div},
  {BINARY("MAXIMUM", 55, 39), PLAIN, .grad = grad_partials},
  {BINARY("MINIMUM", 57, 39), PLAIN, .grad = grad_partials},
  {BINARY("SQUARED_DIFFERENCE", 99, 76), PLAIN, .grad = grad_partials},
  {BINARY("POW", 78, 56), PLAIN, .grad = grad_partials},
  {BINARY("FLOOR_DIV", 90, 65), PLAIN, .grad = grad_floor_div},
  {BINARY("FLOOR_MOD", 95, 72), PLAIN, .grad = grad_floor_mod},
  {BINARY("ATAN2", 156, 122), PLAIN, .grad = grad_partials},
  {BINARY("PRELU", 54, 0), PLAIN, .params = 1u << 1, .grad = grad_partials},
  {.name = "ADD_N", .code = 106, .options = 82, .min_in = 1, .max_in = 255, .n_out = 1,
   .infer = infer_add_n, .merge = merge_add_n, .bind = bind_add_n, .grad = grad_add_n},
  {.name = "BINARY_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_INPLACE | OP_ACCUMULATES,
   .attr_bytes = sizeof(BinaryGradAttr), .infer = infer_partial, .merge = merge_elementwise,
   .bind = bind_partial},
  END_OPS};

#define F4(...) TENSOR(F32, DIMS(4), VALUES(__VA_ARGS__))
#define I5(TYPE, ...) TENSOR(TYPE, DIMS(5), VALUES(__VA_ARGS__))
#define LEAST32 -2147483648.0
#define BROADCASTS(OP)                                                                             \
  CASE(OP, "a row", IN(RANDOM(2, 3, 4), RANDOM(4)), OUT(RANDOM(2, 3, 4))),                         \
  CASE(OP, "a row first", IN(RANDOM(4), RANDOM(3, 4)), OUT(RANDOM(3, 4))),                         \
  CASE(OP, "channels", IN(RANDOM(1, 2, 2, 3), RANDOM(1, 1, 1, 3)), OUT(RANDOM(1, 2, 2, 3))),       \
  CASE(OP, "a scalar", IN(RANDOM(2, 3), RANDOM()), OUT(RANDOM(2, 3))),                             \
  CASE(OP, "no elements", IN(RANDOM(0, 3), RANDOM(3)), OUT(RANDOM(0, 3))),                         \
  CASE(OP, "refused: shapes", IN(RANDOM(2, 3), RANDOM(2)),                                         \
       .refusal = "[2,3] and [2] do not broadcast"),                                               \
  CASE(OP, "refused: types", IN(RANDOM(2), TENSOR(I32, DIMS(2))), .refusal = "float32 and int32"), \
  CASE(OP, "refused: bool", IN(TENSOR(BOOL, DIMS(2)), TENSOR(BOOL, DIMS(2))),                      \
       .refusal = "operands are bool, wanted float32")
#define WIDE_BROADCASTS(OP)                                                                        \
  CASE(OP, "broadcast both ways", IN(RANDOM(1, 3, 1), RANDOM(2, 1, 4)), OUT(RANDOM(2, 3, 4))),     \
  CASE(OP, "rank 8", IN(RANDOM(1, 2, 1, 2, 1, 2, 1, 2), RANDOM(2, 1, 2, 1)),                       \
       OUT(RANDOM(1, 2, 1, 2, 2, 2, 2, 2)))
// The same for operators with kinks where operands are equal.
#define EVEN(...) TENSOR(F32, DIMS(__VA_ARGS__), VALUES(0.2, -0.4, 1.0, 0.6, -0.8, 1.4, 1.8, -1.2))
#define ODD(...) TENSOR(F32, DIMS(__VA_ARGS__), VALUES(0.7, -0.1, -0.5, 0.9))
#define DISTINCT_BROADCASTS(OP)                                                                    \
  CASE(OP, "broadcast both ways", IN(ODD(1, 4, 1), EVEN(2, 1, 4)), OUT(RANDOM(2, 4, 4))),          \
  CASE(OP, "rank 8", IN(EVEN(1, 2, 1, 1, 1, 2, 1, 2), ODD(2, 1, 2, 1)),                            \
       OUT(RANDOM(1, 2, 1, 1, 2, 2, 2, 2)))
// Operands whose powers and angles are far from singular.
#define POSITIVE(...) TENSOR(F32, DIMS(__VA_ARGS__), VALUES(0.5, 1.25, 2, 0.75, 1.5, 3))

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
  BROADCASTS("MAXIMUM"),
  DISTINCT_BROADCASTS("MAXIMUM"),
  CASE("MAXIMUM", "values", IN(F4(1, -2, NAN, 3), F4(0.5, 4, 0, NAN)), OUT(F4(1, 4, NAN, NAN))),
  CASE("MAXIMUM", "equal operands share", IN(F4(1, -2, 0, 3), F4(1, -2, 0, 3)),
       OUT(F4(1, -2, 0, 3)), .no_numeric_grad = true),
  CASE("MAXIMUM", "int32", IN(I5(I32, 1, -5, 7, LEAST32, 0), TENSOR(I32, DIMS(), VALUES(-1))),
       OUT(I5(I32, 1, -1, 7, -1, 0))),
  CASE("MAXIMUM", "int64", IN(I5(I64, 1, -5, 7, -8e15, 0), I5(I64, 2, -6, 7, 8e15, -1)),
       OUT(I5(I64, 2, -5, 7, 8e15, 0))),
  BROADCASTS("MINIMUM"),
  DISTINCT_BROADCASTS("MINIMUM"),
  CASE("MINIMUM", "values", IN(F4(1, -2, NAN, 3), F4(0.5, 4, 0, NAN)), OUT(F4(0.5, -2, NAN, NAN))),
  CASE("MINIMUM", "equal operands share", IN(F4(1, -2, 0, 3), F4(1, -2, 0, 3)),
       OUT(F4(1, -2, 0, 3)), .no_numeric_grad = true),
  CASE("MINIMUM", "int32", IN(I5(I32, 1, -5, 7, LEAST32, 0), TENSOR(I32, DIMS(), VALUES(-1))),
       OUT(I5(I32, -1, -5, -1, LEAST32, -1))),
  BROADCASTS("SQUARED_DIFFERENCE"),
  WIDE_BROADCASTS("SQUARED_DIFFERENCE"),
  CASE("SQUARED_DIFFERENCE", "values", IN(F4(1, -2, NAN, 3), F4(0.5, 4, 0, INFINITY)),
       OUT(F4(0.25, 36, NAN, INFINITY))),
  CASE("SQUARED_DIFFERENCE", "equal operands", IN(F4(1, -2, 0, 3), F4(1, -2, 0, 3)),
       OUT(F4(0, 0, 0, 0))),
  CASE("SQUARED_DIFFERENCE", "int32", IN(I5(I32, 1, -5, 7, 65536, 0), I5(I32, 3, 5, 7, 0, 1)),
       OUT(I5(I32, 4, 100, 0, 0, 1))),
  CASE("POW", "values", IN(F4(2, 9, 4, 1), F4(10, 0.5, -1.5, 3)), OUT(F4(1024, 3, 0.125, 1)),
       .no_numeric_grad = true),
  CASE("POW", "of negative numbers", IN(F4(-2, -2, 0, NAN), F4(3, 4, 0, 1)),
       OUT(F4(-8, 16, 1, NAN))),
  CASE("POW", "outside", IN(F4(-2, 0, NAN, 0), F4(0.5, -1, 0, 2)), OUT(F4(NAN, INFINITY, 1, 0))),
  CASE("POW", "both trained", IN(POSITIVE(2, 3), POSITIVE(2, 3)), OUT(RANDOM(2, 3))),
  CASE("POW", "a square of any sign", IN(RANDOM(2, 3), CONSTANT(F32, DIMS(), VALUES(2))),
       OUT(RANDOM(2, 3))),
  CASE("POW", "a root of rows", IN(POSITIVE(2, 3), TENSOR(F32, DIMS(2, 1), VALUES(0.5, -1.5))),
       OUT(RANDOM(2, 3))),
  CASE("POW", "of a column", IN(TENSOR(F32, DIMS(2, 1), VALUES(0.5, 1.5)), POSITIVE(3, 1, 2)),
       OUT(RANDOM(3, 2, 2))),
  CASE("POW", "refused: shapes", IN(RANDOM(2, 3), RANDOM(2)), .refusal = "do not broadcast"),
  CASE("POW", "refused: int32", IN(TENSOR(I32, DIMS(2)), TENSOR(I32, DIMS(2))),
       .refusal = "operands are int32, wanted float32"),
  CASE("FLOOR_DIV", "values", IN(F4(7, -7, 1, 6), F4(2, 2, 0, -4)), OUT(F4(3, -4, INFINITY, -2))),
  CASE("FLOOR_DIV", "has slope 0", IN(F4(7.2, -7.2, 1.3, 6.1), F4(2.1, 2.3, 0.7, -4.2)),
       OUT(F4(3, -4, 1, -2))),
  CASE("FLOOR_DIV", "broadcast", IN(TENSOR(F32, DIMS(2, 1), VALUES(5.3, -3.1)), RANDOM(2, 1, 3)),
       OUT(RANDOM(2, 2, 3))),
  CASE("FLOOR_DIV", "int32", IN(I5(I32, 7, -7, 5, LEAST32, -6), I5(I32, 2, 2, 0, -1, 3)),
       OUT(I5(I32, 3, -4, 0, LEAST32, -2))),
  CASE("FLOOR_DIV", "int64", IN(I5(I64, 7, -7, 5, -9223372036854775808.0, 7),
          I5(I64, -2, 2, 0, -1, -7)), OUT(I5(I64, -4, -4, 0, -9223372036854775808.0, -1))),
  CASE("FLOOR_DIV", "refused: shapes", IN(RANDOM(2, 3), RANDOM(2)), .refusal = "do not broadcast"),
  CASE("FLOOR_MOD", "values", IN(F4(7, -7, 7, -7), F4(3, 3, -3, -3)), OUT(F4(1, 2, -2, -1)),
       .no_numeric_grad = true),
  CASE("FLOOR_MOD", "outside", IN(F4(1, INFINITY, NAN, 0), F4(0, 2, 1, 5)),
       OUT(F4(NAN, NAN, NAN, 0))),
  CASE("FLOOR_MOD", "both trained", IN(F4(7.2, -7.2, 1.3, 6.1), F4(2.1, 2.3, 0.7, -4.2)),
       OUT(F4(0.9, 2, 0.6, -2.3))),
  CASE("FLOOR_MOD", "broadcast", IN(TENSOR(F32, DIMS(2, 1), VALUES(5.3, -3.1)),
          TENSOR(F32, DIMS(3), VALUES(2.2, 0.9, -1.7))), OUT(RANDOM(2, 3))),
  CASE("FLOOR_MOD", "int32", IN(I5(I32, 7, -7, 5, LEAST32, -6), I5(I32, 3, 3, 0, -1, 3)),
       OUT(I5(I32, 1, 2, 0, 0, 0))),
  CASE("FLOOR_MOD", "int64", IN(I5(I64, 7, -7, 5, -9223372036854775808.0, 7),
          I5(I64, -3, -3, 0, -1, 7)), OUT(I5(I64, -2, -1, 0, 0, 0))),
  CASE("FLOOR_MOD", "refused: shapes", IN(RANDOM(2, 3), RANDOM(2)), .refusal = "do not broadcast"),
  BROADCASTS("ATAN2"),
  WIDE_BROADCASTS("ATAN2"),
  CASE("ATAN2", "values", IN(F4(1, -1, 2, 3), F4(1, -1, -2, 4)),
       OUT(F4(0.7853981634, -2.3561944902, 2.3561944902, 0.6435011088))),
  CASE("ATAN2", "axes", IN(F4(0, 2, -2, NAN), F4(-1, 0, 0, 1)),
       OUT(F4(3.1415926536, 1.5707963268, -1.5707963268, NAN))),
  CASE("ATAN2", "infinity", IN(F4(INFINITY, NAN, 1, 0), F4(INFINITY, 1, INFINITY, 0)),
       OUT(F4(0.7853981634, NAN, 0, 0))),
  BROADCASTS("PRELU"),
  WIDE_BROADCASTS("PRELU"),
  CASE("PRELU", "values", IN(F4(1, -2, 0, -4), F4(0.5, 0.25, 3, -1)), OUT(F4(1, -0.5, 0, 4)),
       .no_numeric_grad = true),
  CASE("PRELU", "NaN and infinity", IN(F4(NAN, -INFINITY, INFINITY, -1), F4(1, 0.5, 0, NAN)),
       OUT(F4(NAN, -INFINITY, INFINITY, NAN))),
  CASE("PRELU", "a slope for each channel", IN(RANDOM(1, 3, 3, 4), RANDOM(1, 1, 4)),
       OUT(RANDOM(1, 3, 3, 4))),
  CASE("ADD_N", "three", IN(F4(1, 2, 3, NAN), F4(10, 20, 30, 1), F4(-1, -1, INFINITY, 1)),
       OUT(F4(10, 21, INFINITY, NAN))),
  CASE("ADD_N", "one", IN(F4(1, 2, 3, 4)), OUT(F4(1, 2, 3, 4))),
  CASE("ADD_N", "int32", IN(I5(I32, 1, 2, 3, 4, 2147483647), I5(I32, 1, 1, 1, 1, 1)),
       OUT(I5(I32, 2, 3, 4, 5, LEAST32))),
  CASE("ADD_N", "rank 3", IN(RANDOM(2, 3, 4), RANDOM(2, 3, 4), RANDOM(2, 3, 4)),
       OUT(RANDOM(2, 3, 4))),
  CASE("ADD_N", "scalars", IN(RANDOM(), RANDOM()), OUT(RANDOM())),
  CASE("ADD_N", "refused: shapes", IN(RANDOM(2, 3), RANDOM(3)), .refusal = "input 1 is float32 [3]"),
  CASE("ADD_N", "refused: types", IN(RANDOM(2), TENSOR(I32, DIMS(2))),
       .refusal = "input 1 is int32 [2], input 0 is float32 [2]"),
  CASE("ADD_N", "refused: bool", IN(TENSOR(BOOL, DIMS(2))), .refusal = "operands are bool"),
  END_CASES};
