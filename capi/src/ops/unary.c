// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of one operand, and the masks of fused activations.
#include "kernels/eltwise.h"
#include "kernels/typed.h"
#include "ops/attrs.h"
#include "ops/op.h"
#include "ops/window.h"

#include <math.h>
#include <string.h>

typedef struct {
  KernelUnary function; // of GELU, and that whose gradient UNARY_GRAD is
  float alpha;          // slope of LEAKY_RELU below 0
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
} functions[] = {{"RELU", KUN_RELU},
                 {"RELU6", KUN_RELU6},
                 {"RELU_N1_TO_1", KUN_RELU_N1_TO_1},
                 {"RELU_0_TO_1", KUN_RELU_0_TO_1},
                 {"LOGISTIC", KUN_LOGISTIC},
                 {"TANH", KUN_TANH},
                 {"LEAKY_RELU", KUN_LEAKY_RELU},
                 {"ELU", KUN_ELU},
                 {"HARD_SWISH", KUN_HARD_SWISH},
                 {"NEG", KUN_NEG},
                 {"ABS", KUN_ABS},
                 {"SQUARE", KUN_SQUARE},
                 {"SQRT", KUN_SQRT},
                 {"RSQRT", KUN_RSQRT},
                 {"EXP", KUN_EXP},
                 {"LOG", KUN_LOG},
                 {"SIN", KUN_SIN},
                 {"COS", KUN_COS},
                 {"FLOOR", KUN_FLOOR},
                 {"CEIL", KUN_CEIL},
                 {"ROUND", KUN_ROUND},
                 {"SIGN", KUN_SIGN}};

// The function of a node and its parameter.
static UnaryAttr function_of(const Node *n)
{
  UnaryAttr a = {.function = KUN_RELU};
  if (n->op->attr_bytes)
    a = *(const UnaryAttr *)n->attr;
  for (size_t i = 0; i < COUNT_OF(functions); ++i)
    if (strcmp(n->op->name, functions[i].name) == 0)
      a.function = functions[i].function;
  return a;
}

static Status parse_leaky(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((UnaryAttr *)attr)->alpha = fb_f32(*options, 0, 0);
  return ST_OK;
}

static Status parse_gelu(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((UnaryAttr *)attr)->function = fb_bool(*options, 0, false) ? KUN_GELU_TANH : KUN_GELU;
  return ST_OK;
}

static Status infer(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, -1));
  return infer_out(f, 0, DT_F32, infer_in(f, 0)->shape);
}

// NEG and ABS, of integers too
static Status infer_number(Infer *f)
{
  const Tensor *x = infer_in(f, 0);
  if (x && x->dtype != DT_F32 && x->dtype != DT_I32 && x->dtype != DT_I64)
    return infer_fail(f, "input 0 ('%s') is %s, wanted float32, int32 or int64", x->name,
                      dtype_name(x->dtype));
  return x ? infer_out(f, 0, x->dtype, x->shape) : infer(f);
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

static void run_int32(const void *args, const Call *c)
{
  const Args *a = args;
  typed_negative(KT_I32, a->function == KUN_ABS, c->p[0], c->p[1], a->n, c->pool);
}

static void run_int64(const void *args, const Call *c)
{
  const Args *a = args;
  typed_negative(KT_I64, a->function == KUN_ABS, c->p[0], c->p[1], a->n, c->pool);
}

static Status bind(Bind *b)
{
  Args *a = NULL;
  TRY(args_of(b, &a));
  UnaryAttr attr = function_of(b->node);
  a->function = attr.function;
  a->alpha = attr.alpha;
  DType t = bind_type(b, 0);
  b->run = t == DT_I32 ? run_int32 : t == DT_I64 ? run_int64 : run;
  return ST_OK;
}

// dx = dy * f'(x)
static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  UnaryAttr attr = function_of(n);
  KernelUnaryReads reads = unary_grad_reads(attr.function, attr.alpha);
  int32_t in[] = {grad_out(g, 0), reads == KUN_READS_X ? n->in[0] : n->out[0]};
  grad_give(g, 0, grad_node(g, "UNARY_GRAD", &attr, reads == KUN_READS_NOTHING ? 1 : 2, in));
  return ST_OK;
}

// UNARY_GRAD(dy[, v]), ACT_GRAD(dy, y)
static Status infer_grad(Infer *f)
{
  return infer_out(f, 0, DT_F32, infer_in(f, 0)->shape);
}

static void run_unary_grad(const void *args, const Call *c)
{
  const Args *a = args;
  bool reads = unary_grad_reads(a->function, a->alpha) != KUN_READS_NOTHING;
  eltwise_kernels()->unary_grad(a->function, a->alpha, reads ? c->p[1] : NULL, c->p[0],
                                c->p[reads ? 2 : 1], c->accumulate, a->n, c->pool);
}

static Status bind_unary_grad(Bind *b)
{
  Args *a = NULL;
  TRY(args_of(b, &a));
  const UnaryAttr *attr = b->node->attr;
  a->function = attr->function;
  a->alpha = attr->alpha;
  b->run = run_unary_grad;
  return ST_OK;
}

static void run_act_grad(const void *args, const Call *c)
{
  const Args *a = args;
  eltwise_kernels()->act_grad(a->act, c->p[1], c->p[0], c->p[2], c->accumulate, a->n, c->pool);
}

static Status bind_act_grad(Bind *b)
{
  Args *a = NULL;
  TRY(args_of(b, &a));
  a->act = kernel_act(((const ActGradAttr *)b->node->attr)->act);
  b->run = run_act_grad;
  return ST_OK;
}

#define UNARY(NAME, number, tag)                                                                   \
  .name = NAME, .code = number, .options = tag, .min_in = 1, .max_in = 1, .n_out = 1,              \
  .flags = OP_INPLACE, .merge = merge_elementwise, .bind = bind, .grad = grad

const OpDef unary_ops[] = {
  {UNARY("RELU", 19, 0), .infer = infer},
  {UNARY("RELU6", 21, 0), .infer = infer},
  {UNARY("RELU_N1_TO_1", 20, 0), .infer = infer},
  {UNARY("RELU_0_TO_1", 152, 0), .infer = infer},
  {UNARY("LOGISTIC", 14, 0), .infer = infer},
  {UNARY("TANH", 28, 0), .infer = infer},
  {UNARY("LEAKY_RELU", 98, 75), .infer = infer, .attr_bytes = sizeof(UnaryAttr),
   .parse = parse_leaky},
  {UNARY("ELU", 111, 0), .infer = infer},
  {UNARY("GELU", 150, 116), .infer = infer, .attr_bytes = sizeof(UnaryAttr), .parse = parse_gelu},
  {UNARY("HARD_SWISH", 117, 91), .infer = infer},
  {UNARY("NEG", 59, 42), .infer = infer_number},
  {UNARY("ABS", 101, 78), .infer = infer_number},
  {UNARY("SQUARE", 92, 66), .infer = infer},
  {UNARY("SQRT", 75, 0), .infer = infer},
  {UNARY("RSQRT", 76, 0), .infer = infer},
  {UNARY("EXP", 47, 33), .infer = infer},
  {UNARY("LOG", 73, 0), .infer = infer},
  {UNARY("SIN", 66, 0), .infer = infer},
  {UNARY("COS", 108, 84), .infer = infer},
  {UNARY("FLOOR", 8, 0), .infer = infer},
  {UNARY("CEIL", 104, 0), .infer = infer},
  {UNARY("ROUND", 116, 0), .infer = infer},
  {UNARY("SIGN", 158, 123), .infer = infer},
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
#define P6 Y6(0.25, 1.5, 1, 4, 7, 9)
#define V3(...) TENSOR(F32, DIMS(3), VALUES(__VA_ARGS__))

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
       ATTR(UnaryAttr, KUN_LEAKY_RELU, .alpha = 0.25f), .no_numeric_grad = true),
  CASE("LEAKY_RELU", "slope from the options", IN(TENSOR(F32, DIMS(3), VALUES(-4, 4, NAN))),
       OUT(TENSOR(F32, DIMS(3), VALUES(-2, 4, NAN))), OPTIONS(OPT_FLOAT(0, 0.5))),
  CASE("LEAKY_RELU", "slope above 1", IN(RANDOM(3, 4)), OUT(RANDOM(3, 4)),
       ATTR(UnaryAttr, KUN_LEAKY_RELU, .alpha = 1.5f)),
  CASE("LEAKY_RELU", "slope 0", IN(RANDOM(3, 4)), OUT(RANDOM(3, 4)), ATTR(UnaryAttr, KUN_LEAKY_RELU, .alpha = 0)),
  CASE("LEAKY_RELU", "slope below 0", IN(RANDOM(2, 3, 4)), OUT(RANDOM(2, 3, 4)),
       ATTR(UnaryAttr, KUN_LEAKY_RELU, .alpha = -0.5f)),
  REFUSES_INT8("LEAKY_RELU"),
  CASE("NEG", "int32", IN(TENSOR(I32, DIMS(3), VALUES(5, -7, -2147483648.0))),
       OUT(TENSOR(I32, DIMS(3), VALUES(-5, 7, -2147483648.0)))),
  CASE("NEG", "int64", IN(TENSOR(I64, DIMS(2), VALUES(5, -7))),
       OUT(TENSOR(I64, DIMS(2), VALUES(-5, 7)))),
  CASE("RELU_0_TO_1", "values", IN(X6), OUT(Y6(0, 0, 0, 0.5, 1, 1)), .no_numeric_grad = true),
  CASE("RELU_0_TO_1", "NaN and infinity", IN(V3(NAN, INFINITY, -INFINITY)), OUT(V3(NAN, 1, 0))),
  CASE("RELU_0_TO_1", "rank 4", IN(RANDOM(2, 1, 3, 4)), OUT(RANDOM(2, 1, 3, 4))),
  REFUSES_INT8("RELU_0_TO_1"),
  CASE("ELU", "values", IN(X6), OUT(Y6(-0.8646647168, -0.3934693403, 0, 0.5, 2, 7)),
       .no_numeric_grad = true),
  CASE("ELU", "near 0", IN(V3(-1e-5, -0.01, -0.34)),
       OUT(V3(-9.999950000e-6, -0.00995016625, -0.2882296772)), .no_numeric_grad = true),
  CASE("ELU", "far out", IN(V3(-INFINITY, INFINITY, NAN)), OUT(V3(-1, INFINITY, NAN))),
  CASE("ELU", "rank 3", IN(RANDOM(2, 3, 5)), OUT(RANDOM(2, 3, 5))),
  CASE("ELU", "a scalar", IN(RANDOM()), OUT(RANDOM())),
  REFUSES_INT8("ELU"),
  CASE("GELU", "exact", IN(X6),
       OUT(Y6(-0.0455002639, -0.1542687694, 0, 0.3457312306, 1.9544997361, 7))),
  CASE("GELU", "tanh", IN(X6),
       OUT(Y6(-0.0454022972, -0.1542859972, 0, 0.3457140028, 1.9545977028, 7)),
       OPTIONS(OPT_BYTE(0, 1))),
  CASE("GELU", "small tails", IN(V3(-5, -9, 1e-6)),
       OUT(V3(-1.4332578594e-6, -1.0157295604e-18, 5.0000039894e-7)),
       ATTR(UnaryAttr, KUN_GELU, 0)),
  CASE("GELU", "far out", IN(V3(-1e30, INFINITY, NAN)), OUT(V3(0, INFINITY, NAN))),
  CASE("GELU", "tanh, far out", IN(V3(-1e30, INFINITY, NAN)), OUT(V3(0, INFINITY, NAN)),
       ATTR(UnaryAttr, KUN_GELU_TANH, 0)),
  CASE("GELU", "exact, rank 3", IN(RANDOM(2, 3, 5)), OUT(RANDOM(2, 3, 5))),
  CASE("GELU", "tanh, rank 2", IN(RANDOM(2, 8)), OUT(RANDOM(2, 8)),
       ATTR(UnaryAttr, KUN_GELU_TANH, 0)),
  REFUSES_INT8("GELU"),
  CASE("HARD_SWISH", "values",
       IN(TENSOR(F32, DIMS(2, 3), VALUES(-4, -3, -1, 0, 2, 3.5))),
       OUT(Y6(0, 0, -0.3333333333, 0, 1.6666666667, 3.5)), .no_numeric_grad = true),
  CASE("HARD_SWISH", "far out", IN(V3(-1e30, INFINITY, NAN)), OUT(V3(0, INFINITY, NAN))),
  CASE("HARD_SWISH", "either side of the bounds", IN(V3(-3.5, 3.5, 2.5)), OUT(RANDOM(3))),
  CASE("HARD_SWISH", "rank 4", IN(RANDOM(2, 2, 3, 2)), OUT(RANDOM(2, 2, 3, 2))),
  REFUSES_INT8("HARD_SWISH"),
  CASE("ABS", "values", IN(X6), OUT(Y6(2, 0.5, 0, 0.5, 2, 7)), .no_numeric_grad = true),
  CASE("ABS", "NaN and infinity", IN(V3(NAN, -INFINITY, -0.0)), OUT(V3(NAN, INFINITY, 0))),
  CASE("ABS", "rank 2", IN(RANDOM(4, 5)), OUT(RANDOM(4, 5))),
  CASE("ABS", "int32", IN(TENSOR(I32, DIMS(3), VALUES(5, -7, -2147483648.0))),
       OUT(TENSOR(I32, DIMS(3), VALUES(5, 7, -2147483648.0)))),
  CASE("ABS", "int64", IN(TENSOR(I64, DIMS(2), VALUES(5, -7))),
       OUT(TENSOR(I64, DIMS(2), VALUES(5, 7)))),
  REFUSES_INT8("ABS"),
  CASE("SQUARE", "values", IN(X6), OUT(Y6(4, 0.25, 0, 0.25, 4, 49))),
  CASE("SQUARE", "NaN and infinity", IN(V3(NAN, -INFINITY, 1e30)),
       OUT(V3(NAN, INFINITY, INFINITY))),
  CASE("SQUARE", "no elements", IN(RANDOM(2, 0)), OUT(RANDOM(2, 0))),
  REFUSES_INT8("SQUARE"),
  CASE("SQRT", "values", IN(P6), OUT(Y6(0.5, 1.2247448714, 1, 2, 2.6457513111, 3))),
  CASE("SQRT", "outside", IN(V3(0, -1, INFINITY)), OUT(V3(0, NAN, INFINITY))),
  REFUSES_INT8("SQRT"),
  CASE("RSQRT", "values", IN(P6),
       OUT(Y6(2, 0.8164965809, 1, 0.5, 0.3779644730, 0.3333333333))),
  CASE("RSQRT", "outside", IN(V3(0, -1, INFINITY)), OUT(V3(INFINITY, NAN, 0))),
  REFUSES_INT8("RSQRT"),
  CASE("EXP", "values", IN(X6),
       OUT(Y6(0.1353352832, 0.6065306597, 1, 1.6487212707, 7.3890560989, 1096.6331584285)),
       .no_numeric_grad = true),
  CASE("EXP", "far out", IN(V3(-200, 200, NAN)), OUT(V3(0, INFINITY, NAN))),
  CASE("EXP", "rank 3", IN(RANDOM(2, 3, 4)), OUT(RANDOM(2, 3, 4))),
  REFUSES_INT8("EXP"),
  CASE("LOG", "values", IN(P6),
       OUT(Y6(-1.3862943611, 0.4054651081, 0, 1.3862943611, 1.9459101491, 2.1972245773))),
  CASE("LOG", "outside", IN(V3(0, -1, INFINITY)), OUT(V3(-INFINITY, NAN, INFINITY))),
  CASE("LOG", "tiny numbers", IN(V3(1e-38, 0x1p-140, NAN)),
       OUT(V3(-87.4982335338, -97.0406052784, NAN))),
  REFUSES_INT8("LOG"),
  CASE("SIN", "values", IN(X6),
       OUT(Y6(-0.9092974268, -0.4794255386, 0, 0.4794255386, 0.9092974268, 0.6569865987))),
  CASE("SIN", "infinity", IN(V3(INFINITY, NAN, 1e6)), OUT(V3(NAN, NAN, -0.3499935022))),
  REFUSES_INT8("SIN"),
  CASE("COS", "values", IN(X6),
       OUT(Y6(-0.4161468365, 0.8775825619, 1, 0.8775825619, -0.4161468365, 0.7539022543))),
  CASE("COS", "infinity", IN(V3(INFINITY, NAN, 1e6)), OUT(V3(NAN, NAN, 0.9367521275))),
  REFUSES_INT8("COS"),
  CASE("FLOOR", "values", IN(X6), OUT(Y6(-2, -1, 0, 0, 2, 7)), .no_numeric_grad = true),
  CASE("FLOOR", "large", IN(V3(-INFINITY, NAN, -3e9)), OUT(V3(-INFINITY, NAN, -3e9))),
  CASE("FLOOR", "rank 2", IN(RANDOM(3, 4)), OUT(RANDOM(3, 4))),
  REFUSES_INT8("FLOOR"),
  CASE("CEIL", "values", IN(X6), OUT(Y6(-2, 0, 0, 1, 2, 7)), .no_numeric_grad = true),
  CASE("CEIL", "large", IN(V3(INFINITY, NAN, 1.5e9)), OUT(V3(INFINITY, NAN, 1.5e9))),
  CASE("CEIL", "rank 2", IN(RANDOM(3, 4)), OUT(RANDOM(3, 4))),
  REFUSES_INT8("CEIL"),
  CASE("ROUND", "half to even", IN(TENSOR(F32, DIMS(2, 3), VALUES(-2.5, -1.5, 0.5, 1.5, 2.4, 2.6))),
       OUT(Y6(-2, -2, 0, 2, 2, 3)), .no_numeric_grad = true),
  CASE("ROUND", "large", IN(V3(INFINITY, NAN, 8388609)), OUT(V3(INFINITY, NAN, 8388609))),
  CASE("ROUND", "away from kinks", IN(V3(0.2, -0.7, 1.7)), OUT(V3(0, -1, 2))),
  REFUSES_INT8("ROUND"),
  CASE("SIGN", "values", IN(X6), OUT(Y6(-1, -1, 0, 1, 1, 1)), .no_numeric_grad = true),
  CASE("SIGN", "NaN and infinity", IN(V3(-INFINITY, NAN, INFINITY)), OUT(V3(-1, NAN, 1))),
  CASE("SIGN", "rank 2", IN(RANDOM(3, 4)), OUT(RANDOM(3, 4))),
  REFUSES_INT8("SIGN"),
  // Gradients are 0 at the bounds themselves.
  CASE("ACT_GRAD", "RELU6",
       IN(TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(4), VALUES(0, 3, 6, 5.9))),
       OUT(TENSOR(F32, DIMS(4), VALUES(0, 2, 0, 4))), ATTR(ActGradAttr, ACT_RELU6)),
  CASE("ACT_GRAD", "RELU_N1_TO_1",
       IN(TENSOR(F32, DIMS(4), VALUES(1, 2, 3, 4)), TENSOR(F32, DIMS(4), VALUES(-1, 0, 1, 0.5))),
       OUT(TENSOR(F32, DIMS(4), VALUES(0, 2, 0, 4))), ATTR(ActGradAttr, ACT_RELU_N1_TO_1)),
  END_CASES};
