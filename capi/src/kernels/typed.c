// SPDX-License-Identifier: Apache-2.0
// Every operation is a function that runs over a row of elements; rows are found by walking the
// broadcast shape.
#include "kernels/typed.h"

#include "kernels/half.h"
#include "kernels/span.h"

#include <string.h>

enum { BLOCK = 256 }; // elements converted at a time

// p and stride: three operands, strides in elements.
typedef void (*RowFn)(const char *const *p, const int64_t *stride, void *y, int64_t n);

typedef struct {
  RowFn row;
  Walk walk;
  Pieces pieces; // of the last dimension
  const char *operand[SPAN_OPERANDS];
  int64_t bytes[SPAN_OPERANDS], y_bytes; // of an element
  char *y;
} Rows;

static void rows_body(void *context, int64_t first, int64_t n)
{
  const Rows *c = context;
  const Walk *w = &c->walk;
  const int32_t last = w->rank - 1;
  const int64_t length = w->dim[last];
  int64_t row = first / c->pieces.count, piece = first % c->pieces.count, stride[SPAN_OPERANDS];
  for (int k = 0; k < SPAN_OPERANDS; ++k)
    stride[k] = w->stride[k][last];
  WalkAt at = walk_start(w, last, row);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = piece * c->pieces.length;
    const int64_t count = length - begin < c->pieces.length ? length - begin : c->pieces.length;
    const char *p[SPAN_OPERANDS];
    for (int k = 0; k < SPAN_OPERANDS; ++k)
      p[k] = c->operand[k] + (at.offset[k] + begin * stride[k]) * c->bytes[k];
    c->row(p, stride, c->y + (row * length + begin) * c->y_bytes, count);
    if (++piece == c->pieces.count) {
      piece = 0;
      ++row;
      walk_next(w, &at);
    }
  }
}

// An operand that is not there is given as another one, of 0 bytes.
static void run_rows(Rows *c, const BroadcastShape *s, Pool *pool)
{
  Walk *w = &c->walk;
  *w = (Walk){.rank = s->rank};
  for (int32_t i = 0; i < s->rank; ++i) {
    w->dim[i] = s->dim[i];
    w->stride[0][i] = s->a_stride[i];
    w->stride[1][i] = s->b_stride[i];
    w->stride[2][i] = s->c_stride[i];
  }
  walk_simplify(w);
  if (w->rank == 0)
    *w = (Walk){.rank = 1, .dim = {1}, .stride = {{1}, {1}, {1}}};
  if (walk_count(w, w->rank) == 0)
    return;
  c->pieces = span_pieces(w->dim[w->rank - 1]);
  span_run(pool, walk_count(w, w->rank - 1) * c->pieces.count, c->pieces.length, rows_body, c);
}

// Over n elements that stand next to each other.
static void run_dense(Rows *c, int64_t n, Pool *pool)
{
  run_rows(c, &(BroadcastShape){.rank = 1, .dim = {n}, .a_stride = {1}}, pool);
}

// ---- two operands ----

// Defines a RowFn; in `expression`, u and v are elements of a and b.
#define DEFINE_BINARY(name, type, result, expression)                                              \
  static void name(const char *const *p, const int64_t *stride, void *out, int64_t n)              \
  {                                                                                                \
    const type *a = (const void *)p[0], *b = (const void *)p[1];                                   \
    result *y = out;                                                                               \
    if (stride[0] == 1 && stride[1] == 1) {                                                        \
      for (int64_t i = 0; i < n; ++i) {                                                            \
        const type u = a[i], v = b[i];                                                             \
        y[i] = (result)(expression);                                                               \
      }                                                                                            \
    } else if (stride[0] == 1 && stride[1] == 0) {                                                 \
      const type v = *b;                                                                           \
      for (int64_t i = 0; i < n; ++i) {                                                            \
        const type u = a[i];                                                                       \
        y[i] = (result)(expression);                                                               \
      }                                                                                            \
    } else {                                                                                       \
      for (int64_t i = 0; i < n; ++i) {                                                            \
        const type u = a[i * stride[0]], v = b[i * stride[1]];                                     \
        y[i] = (result)(expression);                                                               \
      }                                                                                            \
    }                                                                                              \
  }

// In 64 bits: the low half of a 64-bit result is that of 32-bit operands.
static inline int64_t add(int64_t a, int64_t b)
{
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t subtract(int64_t a, int64_t b)
{
  return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t multiply(int64_t a, int64_t b)
{
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t divide(int64_t a, int64_t b)
{
  return b == 0 ? 0 : b == -1 ? subtract(0, a) : a / b;
}

static inline int64_t remainder_of(int64_t a, int64_t b) // of the sign of b
{
  const int64_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline int64_t floor_divide(int64_t a, int64_t b)
{
  return divide(subtract(a, remainder_of(a, b)), b);
}

static inline int64_t squared_difference(int64_t a, int64_t b)
{
  return multiply(subtract(a, b), subtract(a, b));
}

#define DEFINE_ARITHMETIC(suffix, type)                                                            \
  DEFINE_BINARY(add_##suffix, type, type, add(u, v))                                               \
  DEFINE_BINARY(subtract_##suffix, type, type, subtract(u, v))                                     \
  DEFINE_BINARY(multiply_##suffix, type, type, multiply(u, v))                                     \
  DEFINE_BINARY(divide_##suffix, type, type, divide(u, v))                                         \
  DEFINE_BINARY(maximum_##suffix, type, type, u > v ? u : v)                                       \
  DEFINE_BINARY(minimum_##suffix, type, type, u < v ? u : v)                                       \
  DEFINE_BINARY(floor_divide_##suffix, type, type, floor_divide(u, v))                             \
  DEFINE_BINARY(remainder_##suffix, type, type, remainder_of(u, v))                                \
  DEFINE_BINARY(squared_difference_##suffix, type, type, squared_difference(u, v))

#define ARITHMETIC_ROW(suffix)                                                                     \
  {                                                                                                \
    [KBIN_ADD] = add_##suffix, [KBIN_SUB] = subtract_##suffix, [KBIN_MUL] = multiply_##suffix,     \
    [KBIN_DIV] = divide_##suffix, [KBIN_MAXIMUM] = maximum_##suffix,                               \
    [KBIN_MINIMUM] = minimum_##suffix, [KBIN_FLOOR_DIV] = floor_divide_##suffix,                   \
    [KBIN_FLOOR_MOD] = remainder_##suffix,                                                         \
    [KBIN_SQUARED_DIFFERENCE] = squared_difference_##suffix,                                       \
  }

DEFINE_ARITHMETIC(i32, int32_t)
DEFINE_ARITHMETIC(i64, int64_t)

void typed_binary(KernelType type, KernelBinary op, const BroadcastShape *s, const void *a,
                  const void *b, void *y, Pool *pool)
{
  static const RowFn fns[2][KBIN_COUNT] = {ARITHMETIC_ROW(i32), ARITHMETIC_ROW(i64)};
  const int64_t bytes = type == KT_I32 ? 4 : 8;
  Rows c = {.row = fns[type != KT_I32][op], .operand = {a, b, a}, .bytes = {bytes, bytes, 0},
            .y_bytes = bytes, .y = y};
  run_rows(&c, s, pool);
}

#define DEFINE_COMPARISONS(suffix, type)                                                           \
  DEFINE_BINARY(equal_##suffix, type, uint8_t, u == v)                                             \
  DEFINE_BINARY(not_equal_##suffix, type, uint8_t, u != v)                                         \
  DEFINE_BINARY(less_##suffix, type, uint8_t, u < v)                                               \
  DEFINE_BINARY(less_equal_##suffix, type, uint8_t, u <= v)                                        \
  DEFINE_BINARY(greater_##suffix, type, uint8_t, u > v)                                            \
  DEFINE_BINARY(greater_equal_##suffix, type, uint8_t, u >= v)

#define COMPARISON_ROW(suffix)                                                                     \
  {                                                                                                \
    [KCMP_EQUAL] = equal_##suffix, [KCMP_NOT_EQUAL] = not_equal_##suffix,                          \
    [KCMP_LESS] = less_##suffix, [KCMP_LESS_EQUAL] = less_equal_##suffix,                          \
    [KCMP_GREATER] = greater_##suffix, [KCMP_GREATER_EQUAL] = greater_equal_##suffix,              \
  }

DEFINE_COMPARISONS(f32, float)
DEFINE_COMPARISONS(i32, int32_t)
DEFINE_COMPARISONS(i64, int64_t)
DEFINE_COMPARISONS(u8, uint8_t)
DEFINE_COMPARISONS(i8, int8_t)
DEFINE_COMPARISONS(i16, int16_t)
DEFINE_BINARY(equal_bool, uint8_t, uint8_t, (u != 0) == (v != 0))
DEFINE_BINARY(not_equal_bool, uint8_t, uint8_t, (u != 0) != (v != 0))
DEFINE_BINARY(and_bool, uint8_t, uint8_t, (u != 0) & (v != 0))
DEFINE_BINARY(or_bool, uint8_t, uint8_t, (u | v) != 0)

static int64_t bytes_of(KernelType type)
{
  static const int64_t bytes[] = {[KT_F32] = 4, [KT_F16] = 2, [KT_I32] = 4, [KT_U32] = 4,
                                  [KT_I64] = 8, [KT_U8] = 1,  [KT_I8] = 1,  [KT_I16] = 2,
                                  [KT_BOOL] = 1};
  return bytes[type];
}

void typed_compare(KernelType type, KernelCompare op, const BroadcastShape *s, const void *a,
                   const void *b, void *y, Pool *pool)
{
  static const RowFn fns[][KCMP_OR + 1] = {
    [KT_F32] = COMPARISON_ROW(f32),
    [KT_I32] = COMPARISON_ROW(i32),
    [KT_I64] = COMPARISON_ROW(i64),
    [KT_U8] = COMPARISON_ROW(u8),
    [KT_I8] = COMPARISON_ROW(i8),
    [KT_I16] = COMPARISON_ROW(i16),
    [KT_BOOL] = {[KCMP_EQUAL] = equal_bool, [KCMP_NOT_EQUAL] = not_equal_bool,
                 [KCMP_AND] = and_bool, [KCMP_OR] = or_bool},
  };
  const int64_t bytes = bytes_of(type);
  Rows c = {.row = fns[type][op], .operand = {a, b, a}, .bytes = {bytes, bytes, 0}, .y_bytes = 1,
            .y = y};
  run_rows(&c, s, pool);
}

// ---- one operand ----

static void not_row(const char *const *p, const int64_t *stride, void *out, int64_t n)
{
  const char *x = p[0];
  uint8_t *y = out;
  (void)stride;
  for (int64_t i = 0; i < n; ++i)
    y[i] = x[i] == 0;
}

void typed_not(const void *x, void *y, int64_t n, Pool *pool)
{
  Rows c = {.row = not_row, .operand = {x, x, x}, .bytes = {1, 0, 0}, .y_bytes = 1, .y = y};
  run_dense(&c, n, pool);
}

#define DEFINE_NEGATIVE(name, type, expression)                                                    \
  static void name(const char *const *p, const int64_t *stride, void *out, int64_t n)              \
  {                                                                                                \
    const type *x = (const void *)p[0];                                                            \
    type *y = out;                                                                                 \
    (void)stride;                                                                                  \
    for (int64_t i = 0; i < n; ++i) {                                                              \
      const type u = x[i];                                                                         \
      y[i] = (type)(expression);                                                                   \
    }                                                                                              \
  }

DEFINE_NEGATIVE(negative_i32, int32_t, subtract(0, u))
DEFINE_NEGATIVE(negative_i64, int64_t, subtract(0, u))
DEFINE_NEGATIVE(absolute_i32, int32_t, u < 0 ? subtract(0, u) : u)
DEFINE_NEGATIVE(absolute_i64, int64_t, u < 0 ? subtract(0, u) : u)

void typed_negative(KernelType type, bool absolute, const void *x, void *y, int64_t n, Pool *pool)
{
  static const RowFn fns[2][2] = {{negative_i32, absolute_i32}, {negative_i64, absolute_i64}};
  const int64_t bytes = bytes_of(type);
  Rows c = {.row = fns[type != KT_I32][absolute], .operand = {x, x, x}, .bytes = {bytes, 0, 0},
            .y_bytes = bytes, .y = y};
  run_dense(&c, n, pool);
}

// ---- selection ----

// The usual strides apart, so that they vectorise: a mask along both, or along a scalar.
#define DEFINE_SELECT(name, type)                                                                  \
  static void name(const char *const *p, const int64_t *stride, void *out, int64_t n)              \
  {                                                                                                \
    const uint8_t *a = (const uint8_t *)p[0];                                                      \
    const type *b = (const void *)p[1], *c = (const void *)p[2];                                   \
    type *y = out;                                                                                 \
    if (stride[0] == 1 && stride[1] == 1 && stride[2] == 1) {                                      \
      for (int64_t i = 0; i < n; ++i) {                                                            \
        const type u = b[i], v = c[i];                                                             \
        y[i] = a[i] ? u : v;                                                                       \
      }                                                                                            \
    } else if (stride[0] == 1 && stride[1] == 0 && stride[2] == 1) {                               \
      const type u = *b;                                                                           \
      for (int64_t i = 0; i < n; ++i) {                                                            \
        const type v = c[i];                                                                       \
        y[i] = a[i] ? u : v;                                                                       \
      }                                                                                            \
    } else if (stride[0] == 1 && stride[1] == 1 && stride[2] == 0) {                               \
      const type v = *c;                                                                           \
      for (int64_t i = 0; i < n; ++i) {                                                            \
        const type u = b[i];                                                                       \
        y[i] = a[i] ? u : v;                                                                       \
      }                                                                                            \
    } else {                                                                                       \
      for (int64_t i = 0; i < n; ++i)                                                              \
        y[i] = a[i * stride[0]] ? b[i * stride[1]] : c[i * stride[2]];                             \
    }                                                                                              \
  }

// Elements by size, whatever type the buffers have.
typedef uint8_t __attribute__((may_alias)) Bits8;
typedef uint16_t __attribute__((may_alias)) Bits16;
typedef uint32_t __attribute__((may_alias)) Bits32;
typedef uint64_t __attribute__((may_alias)) Bits64;

DEFINE_SELECT(select_1, Bits8)
DEFINE_SELECT(select_2, Bits16)
DEFINE_SELECT(select_4, Bits32)
DEFINE_SELECT(select_8, Bits64)

void typed_select(int32_t element_bytes, const BroadcastShape *s, const void *a, const void *b,
                  const void *c, void *y, Pool *pool)
{
  static const RowFn fns[] = {[1] = select_1, [2] = select_2, [4] = select_4, [8] = select_8};
  Rows rows = {.row = fns[element_bytes], .operand = {a, b, c},
               .bytes = {1, element_bytes, element_bytes}, .y_bytes = element_bytes, .y = y};
  run_rows(&rows, s, pool);
}

// ---- casts ----

typedef struct {
  KernelType from, to;
  const char *x;
  char *y;
} Cast;

#define LOAD(type, number)                                                                         \
  for (int64_t i = 0; i < n; ++i)                                                                  \
    to[i] = (number)((const type *)x)[i]

static void load_integers(KernelType type, const void *x, int64_t *to, int64_t n)
{
  switch (type) {
  case KT_I32: LOAD(int32_t, int64_t); break;
  case KT_U32: LOAD(uint32_t, int64_t); break;
  case KT_I64: LOAD(int64_t, int64_t); break;
  case KT_I8: LOAD(int8_t, int64_t); break;
  case KT_I16: LOAD(int16_t, int64_t); break;
  case KT_BOOL:
    for (int64_t i = 0; i < n; ++i)
      to[i] = ((const uint8_t *)x)[i] != 0;
    break;
  default: LOAD(uint8_t, int64_t); break;
  }
}

static void load_floats(KernelType type, const void *x, float *to, int64_t n)
{
  if (type == KT_F32)
    LOAD(float, float);
  else
    for (int64_t i = 0; i < n; ++i)
      to[i] = half_to_float(((const uint16_t *)x)[i]);
}

#define STORE(type, value)                                                                         \
  for (int64_t i = 0; i < n; ++i)                                                                  \
    ((type *)y)[i] = (type)(value)

static void store_integers(KernelType type, const int64_t *from, void *y, int64_t n)
{
  switch (type) {
  case KT_F32: STORE(float, from[i]); break;
  case KT_F16: STORE(uint16_t, half_from_float((float)from[i])); break;
  case KT_I32:
  case KT_U32: STORE(uint32_t, from[i]); break;
  case KT_I64: STORE(int64_t, from[i]); break;
  case KT_I16: STORE(uint16_t, from[i]); break;
  case KT_BOOL: STORE(uint8_t, from[i] != 0); break;
  default: STORE(uint8_t, from[i]); break;
  }
}

// Cut towards 0; lo and hi are powers of two or 0, hi the first number beyond the range.
static inline int64_t cut(float v, float lo, float hi, int64_t least, int64_t most)
{
  return v != v ? 0 : v < lo ? least : v >= hi ? most : (int64_t)v;
}

static void store_floats(KernelType type, const float *from, void *y, int64_t n)
{
  switch (type) {
  case KT_F32: STORE(float, from[i]); break;
  case KT_F16: STORE(uint16_t, half_from_float(from[i])); break;
  case KT_I32:
    STORE(int32_t, cut(from[i], -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX));
    break;
  case KT_U32: STORE(uint32_t, cut(from[i], 0, 0x1p32f, 0, UINT32_MAX)); break;
  case KT_I64:
    STORE(int64_t, cut(from[i], -0x1p63f, 0x1p63f, INT64_MIN, INT64_MAX));
    break;
  case KT_I8: STORE(int8_t, cut(from[i], -128, 128, INT8_MIN, INT8_MAX)); break;
  case KT_I16: STORE(int16_t, cut(from[i], -32768, 32768, INT16_MIN, INT16_MAX)); break;
  case KT_BOOL: STORE(uint8_t, from[i] != 0); break;
  default: STORE(uint8_t, cut(from[i], 0, 256, 0, UINT8_MAX)); break;
  }
}

static void cast_body(void *context, int64_t first, int64_t n)
{
  const Cast *c = context;
  const int64_t from = bytes_of(c->from), to = bytes_of(c->to);
  union {
    int64_t integer[BLOCK];
    float number[BLOCK];
  } buffer;
  for (int64_t at = first; at < first + n; at += BLOCK) {
    const int64_t count = first + n - at < BLOCK ? first + n - at : BLOCK;
    if (c->from == KT_F32 || c->from == KT_F16) {
      load_floats(c->from, c->x + at * from, buffer.number, count);
      store_floats(c->to, buffer.number, c->y + at * to, count);
    } else {
      load_integers(c->from, c->x + at * from, buffer.integer, count);
      store_integers(c->to, buffer.integer, c->y + at * to, count);
    }
  }
}

void typed_cast(KernelType from, KernelType to, const void *x, void *y, int64_t n, Pool *pool)
{
  Cast c = {.from = from, .to = to, .x = x, .y = y};
  span_run(pool, n, 2, cast_body, &c);
}
