// SPDX-License-Identifier: Apache-2.0
// QUANTIZE and DEQUANTIZE: between reals and int8, uint8, int16 with scales; DEQUANTIZE also takes
// float16, and the int32 and int64 that biases are stored as. compile/conversions.c puts them around
// operators of quantized models.
#include "kernels/quant.h"
#include "ops/bindings.h"
#include "ops/op.h"
#include "ops/stored.h"

#include <math.h>

typedef struct {
  KernelType type; // the one that is not float32
  QuantScale scale;
  int64_t n;
} Args;

// The file's scales are for the file's shape; what the operators make may be another.
static Status check_channels(const Infer *f, const Tensor *quantized, const Shape *s)
{
  const Quant *q = &quantized->quant;
  if (q->n > 1 && (q->axis >= s->rank || s->dim[q->axis] != q->n))
    return infer_fail(f, "'%s' has %d scales for dimension %d of shape %s", quantized->name, q->n,
                      q->axis, shape_text(s).text);
  return ST_OK;
}

static Status infer_dequantize(Infer *f)
{
  const Tensor *x = infer_in(f, 0);
  if (x->dtype != DT_F16 && !quant_is_read(kernel_type(x->dtype)))
    return infer_fail(f, "input 0 ('%s') is %s, wanted float16 or a quantized integer", x->name,
                      dtype_name(x->dtype));
  if (x->dtype != DT_F16 && x->quant.n == 0)
    return infer_fail(f, "input 0 ('%s') is %s without a scale", x->name, dtype_name(x->dtype));
  TRY(check_channels(f, x, &x->shape));
  return infer_out(f, 0, DT_F32, x->shape);
}

// Zero points need not be values of the type, but steps are counted in float32.
static bool is_counted(int64_t zero)
{
  return zero >= -(1 << 23) && zero <= 1 << 23;
}

static Status infer_quantize(Infer *f)
{
  TRY(infer_expect(f, 0, DT_F32, -1));
  const Tensor *y = &f->g->tensors[f->node->out[0]];
  if (!quant_is_made(kernel_type(y->dtype), &(int32_t){0}, &(int32_t){0}))
    return infer_fail(f, "output 0 ('%s') is %s, wanted int8, uint8 or int16", y->name,
                      dtype_name(y->dtype));
  if (y->quant.n == 0)
    return infer_fail(f, "output 0 ('%s') is %s without a scale", y->name, dtype_name(y->dtype));
  for (int32_t i = 0; i < y->quant.n; ++i) {
    if (!(y->quant.scale[i] > 0))
      return infer_fail(f, "output 0 ('%s') has scale %g, wanted one above 0", y->name,
                        (double)y->quant.scale[i]);
    if (!is_counted(y->quant.zero_point[i]))
      return infer_fail(f, "output 0 ('%s') has zero point %lld, wanted one of 23 bits", y->name,
                        (long long)y->quant.zero_point[i]);
  }
  TRY(check_channels(f, y, &infer_in(f, 0)->shape));
  return infer_out(f, 0, y->dtype, infer_in(f, 0)->shape);
}

static void run_dequantize(const void *args, const Call *c)
{
  const Args *a = args;
  quant_to_real(a->type, &a->scale, c->p[0], c->p[1], a->n, c->pool);
}

static void run_half(const void *args, const Call *c)
{
  const Args *a = args;
  typed_cast(KT_F16, KT_F32, c->p[0], c->p[1], a->n, c->pool);
}

static void run_quantize(const void *args, const Call *c)
{
  const Args *a = args;
  quant_from_real(a->type, &a->scale, c->p[0], c->p[1], a->n, c->pool);
}

static QuantScale scale_of(const Tensor *t, const Shape *s)
{
  QuantScale scale = {.channels = t->quant.n, .run = shape_numel(s), .scale = t->quant.scale,
                      .zero = t->quant.zero_point};
  if (t->quant.n > 1)
    scale.run = shape_span(s, t->quant.axis + 1, s->rank);
  return scale;
}

static Status bind_conversion(Bind *b, int32_t quantized, KernelFn run)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  const Tensor *t = &b->g->tensors[quantized];
  const Shape s = bind_out(b, 0);
  *a = (Args){kernel_type(t->dtype), scale_of(t, &s), shape_numel(&s)};
  b->run = run;
  return ST_OK;
}

static Status bind_dequantize(Bind *b)
{
  return bind_conversion(b, b->node->in[0],
                         bind_type(b, 0) == DT_F16 ? run_half : run_dequantize);
}

static Status bind_quantize(Bind *b)
{
  return bind_conversion(b, b->node->out[0], run_quantize);
}

bool stored_converts(const Tensor *t)
{
  if (t->dtype == DT_F16)
    return true;
  if (t->quant.n == 0 || !quant_is_made(kernel_type(t->dtype), &(int32_t){0}, &(int32_t){0}))
    return false;
  for (int32_t i = 0; i < t->quant.n; ++i)
    if (!(t->quant.scale[i] > 0) || !is_counted(t->quant.zero_point[i]))
      return false;
  return true;
}

void stored_to_real(const Tensor *t, const void *stored, float *real)
{
  const QuantScale scale = scale_of(t, &t->shape);
  const int64_t n = shape_numel(&t->shape);
  if (t->dtype == DT_F16)
    typed_cast(KT_F16, KT_F32, stored, real, n, NULL);
  else
    quant_to_real(kernel_type(t->dtype), &scale, stored, real, n, NULL);
}

void stored_from_real(const Tensor *t, const float *real, void *stored)
{
  const QuantScale scale = scale_of(t, &t->shape);
  const int64_t n = shape_numel(&t->shape);
  if (t->dtype == DT_F16)
    typed_cast(KT_F32, KT_F16, real, stored, n, NULL);
  else
    quant_from_real(kernel_type(t->dtype), &scale, real, stored, n, NULL);
}

const OpDef quantize_ops[] = {
  {.name = "DEQUANTIZE", .code = 6, .options = 38, .min_in = 1, .max_in = 1, .n_out = 1,
   .flags = OP_READS_STORED, .infer = infer_dequantize, .merge = merge_always,
   .bind = bind_dequantize, .no_grad = "quantized values are steps, which have no gradient"},
  {.name = "QUANTIZE", .code = 114, .options = 89, .min_in = 1, .max_in = 1, .n_out = 1,
   .flags = OP_WRITES_STORED, .infer = infer_quantize, .merge = merge_always,
   .bind = bind_quantize, .no_grad = "quantized values are steps, which have no gradient"},
  END_OPS};

// 0.5 is between two steps, and 0x1.fffffep-2 is the float below it: only that is nearer to 0.
#define REALS                                                                                      \
  TENSOR(F32, DIMS(8), VALUES(0.5, -0.5, 0.49999997, -1.5, 1000, -INFINITY, NAN, 2.4))
#define MADE(TYPE, SCALE, ZERO, ...)                                                               \
  CASE("QUANTIZE", "to " #TYPE, IN(REALS),                                                         \
       OUT(TENSOR(TYPE, DIMS(8), SCALED(SCALE, ZERO), VALUES(__VA_ARGS__))))
#define READ(TYPE, SCALE, ZERO, A, B, Y, Z)                                                        \
  CASE("DEQUANTIZE", #TYPE, IN(TENSOR(TYPE, DIMS(2), SCALED(SCALE, ZERO), VALUES(A, B))),          \
       OUT(TENSOR(F32, DIMS(2), VALUES(Y, Z))))

const OpCase quantize_cases[] = {
  CASE("DEQUANTIZE", "float16", IN(TENSOR(F16, DIMS(2, 2), VALUES(1.5, -2, 0, 65504))),
       OUT(TENSOR(F32, DIMS(2, 2), VALUES(1.5, -2, 0, 65504)))),
  READ(I8, 0.5f, -3, -128, 127, -62.5, 65),
  READ(U8, 0.25f, 128, 0, 255, -32, 31.75),
  READ(I16, 0.5f, 0, -32768, 32767, -16384, 16383.5),
  READ(I32, 0.5f, 0, -2147483648.0, 3, -1073741824, 1.5),
  READ(I64, 2, 0, -4294967296.0, 3, -8589934592.0, 6),
  CASE("DEQUANTIZE", "channels in front",
       IN(TENSOR(I8, DIMS(2, 3), CHANNELS(0, 2, L(0.5f, 2), L(0, 1)), VALUES(1, 2, 3, 4, 5, 6))),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(0.5, 1, 1.5, 6, 8, 10)))),
  CASE("DEQUANTIZE", "channels last",
       IN(TENSOR(U8, DIMS(2, 3), CHANNELS(1, 3, L(1, 2, 4), L(0, 1, 2)), VALUES(1, 2, 3, 4, 5, 6))),
       OUT(TENSOR(F32, DIMS(2, 3), VALUES(1, 2, 4, 4, 8, 16)))),
  CASE("DEQUANTIZE", "no elements", IN(TENSOR(F16, DIMS(0, 2))), OUT(RANDOM(0, 2))),
  CASE("DEQUANTIZE", "no elements of channels",
       IN(TENSOR(I8, DIMS(2, 0), CHANNELS(0, 2, L(0.5f, 2), L(0, 1)))), OUT(RANDOM(2, 0))),
  CASE("DEQUANTIZE", "refused: no scale", IN(TENSOR(I8, DIMS(2))),
       .refusal = "is int8 without a scale"),
  CASE("DEQUANTIZE", "refused: bool", IN(TENSOR(BOOL, DIMS(2))),
       .refusal = "is bool, wanted float16 or a quantized integer"),
  MADE(I8, 1, -2, -1, -3, -2, -4, 127, -128, -128, 0),
  MADE(U8, 0.5f, 10, 11, 9, 11, 7, 255, 0, 0, 15),
  MADE(I16, 0.125f, 0, 4, -4, 4, -12, 8000, -32768, -32768, 19),
  CASE("QUANTIZE", "channels",
       IN(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4))),
       OUT(TENSOR(I8, DIMS(2, 2), CHANNELS(1, 2, L(1, 0.5f), L(0, 1)), VALUES(1, 5, 3, 9)))),
  CASE("QUANTIZE", "refused: no scale", IN(RANDOM(2)), OUT(TENSOR(I8, DIMS(2))),
       .refusal = "is int8 without a scale"),
  CASE("QUANTIZE", "refused: scale", IN(RANDOM(2)), OUT(TENSOR(I8, DIMS(2), SCALED(0, 0))),
       .refusal = "has scale 0, wanted one above 0"),
  CASE("QUANTIZE", "a zero point that the type does not have",
       IN(TENSOR(F32, DIMS(4), VALUES(-1, 1, 2, 258))),
       OUT(TENSOR(U8, DIMS(4), VALUES(0, 0, 0, 255), SCALED(1, -2)))),
  CASE("QUANTIZE", "refused: zero point", IN(RANDOM(2)),
       OUT(TENSOR(U8, DIMS(2), SCALED(1, 16777216))), .refusal = "has zero point 16777216"),
  CASE("QUANTIZE", "refused: scales", IN(RANDOM(2, 3)),
       OUT(TENSOR(I8, DIMS(2, 2), CHANNELS(1, 2, L(1, 2), L(0, 0)))),
       .refusal = "has 2 scales for dimension 1 of shape [2,3]"),
  CASE("DEQUANTIZE", "refused: scales",
       IN(TENSOR(I8, DIMS(2), CHANNELS(1, 2, L(1, 2), L(0, 0)))),
       .refusal = "has 2 scales for dimension 1 of shape [2]"),
  CASE("QUANTIZE", "refused: to float32", IN(RANDOM(2)), OUT(RANDOM(2)),
       .refusal = "is float32, wanted int8, uint8 or int16"),
  END_CASES};
