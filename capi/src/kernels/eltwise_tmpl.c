// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels, compiled once per instruction set. Plain loops that the compiler
// vectorises; a fused activation is a second pass over a block that is still in cache.
#include "kernels/eltwise.h"

#include "kernels/eltwise_unary.h"
#include "kernels/span.h"
#include "kernels/vmath.h"

enum {
  BLOCK = 2048,     // elements between the operation and its activation
  TILE = 512,       // a short repeated row is unrolled to about this many elements
  SHORT_ROW = 64,
};

typedef struct {
  KernelBinary op;
  KernelAct act;
  const float *a, *b;
  float *y;
  const Walk *walk; // broadcasting only
  Pieces pieces;    // of each row
} Binary;

// The larger one; NaN where either is.
static inline float larger(float a, float b)
{
  return vm_select((a > b) | (a != a), a, b);
}

static inline float square(float x)
{
  return x * x;
}

static inline float floor_mod(float a, float b) // of the sign of b
{
  const float r = fmodf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#define OPERATE(A, B)                                                                              \
  switch (op) {                                                                                    \
  case KBIN_ADD:                                                                                   \
    LOOP(n, y[i] = (A) + (B));                                                                     \
    break;                                                                                         \
  case KBIN_SUB:                                                                                   \
    LOOP(n, y[i] = (A) - (B));                                                                     \
    break;                                                                                         \
  case KBIN_MUL:                                                                                   \
    LOOP(n, y[i] = (A) * (B));                                                                     \
    break;                                                                                         \
  case KBIN_DIV:                                                                                   \
    LOOP(n, y[i] = (A) / (B));                                                                     \
    break;                                                                                         \
  case KBIN_MAXIMUM:                                                                               \
    LOOP(n, y[i] = larger(A, B));                                                                  \
    break;                                                                                         \
  case KBIN_MINIMUM:                                                                               \
    LOOP(n, y[i] = -larger(-(A), -(B)));                                                           \
    break;                                                                                         \
  case KBIN_SQUARED_DIFFERENCE:                                                                    \
    LOOP(n, y[i] = square((A) - (B)));                                                             \
    break;                                                                                         \
  case KBIN_POW:                                                                                   \
    LOOP(n, y[i] = powf(A, B));                                                                    \
    break;                                                                                         \
  case KBIN_FLOOR_DIV:                                                                             \
    LOOP(n, y[i] = floorf((A) / (B)));                                                             \
    break;                                                                                         \
  case KBIN_FLOOR_MOD:                                                                             \
    LOOP(n, y[i] = floor_mod(A, B));                                                               \
    break;                                                                                         \
  case KBIN_ATAN2:                                                                                 \
    LOOP(n, y[i] = atan2f(A, B));                                                                  \
    break;                                                                                         \
  default: /* KBIN_PRELU */                                                                        \
    LOOP(n, y[i] = vm_select((A) >= 0, (A), (A) * (B)));                                           \
    break;                                                                                         \
  }

// In simple operations.
static int64_t binary_cost(KernelBinary op)
{
  return op == KBIN_POW || op == KBIN_ATAN2 || op == KBIN_FLOOR_MOD ? 16 : 1;
}

static void operate(KernelBinary op, const float *a, int64_t as, const float *b, int64_t bs,
                    float *y, int64_t n)
{
  if (as == 1 && bs == 1) {
    OPERATE(a[i], b[i])
  } else if (as == 1 && bs == 0) {
    const float scalar = *b;
    OPERATE(a[i], scalar)
  } else if (as == 0 && bs == 1) {
    const float scalar = *a;
    OPERATE(scalar, b[i])
  } else {
    OPERATE(a[i * as], b[i * bs])
  }
}

static void operate_act(const Binary *c, const float *a, int64_t as, const float *b, int64_t bs,
                        float *y, int64_t n)
{
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t m = n - i < BLOCK ? n - i : BLOCK;
    operate(c->op, a + i * as, as, b + i * bs, bs, y + i, m);
    vm_activate(c->act, y + i, m);
  }
}

static void binary_body(void *context, int64_t first, int64_t n)
{
  const Binary *c = context;
  operate_act(c, c->a + first, 1, c->b + first, 1, c->y + first, n);
}

static void binary(KernelBinary op, KernelAct act, const float *a, const float *b, float *y,
                   int64_t n, Pool *pool)
{
  Binary c = {.op = op, .act = act, .a = a, .b = b, .y = y};
  span_run(pool, n, binary_cost(op), binary_body, &c);
}

static void broadcast_body(void *context, int64_t first, int64_t n)
{
  const Binary *c = context;
  const Walk *w = c->walk;
  int32_t last = w->rank - 1;
  int64_t as = w->stride[0][last], bs = w->stride[1][last], length = w->dim[last];
  int64_t row = first / c->pieces.count, piece = first % c->pieces.count;
  WalkAt at = walk_start(w, last, row);
  float *y = c->y + row * length;
  for (int64_t i = 0; i < n; ++i) {
    int64_t begin = piece * c->pieces.length;
    int64_t count = length - begin < c->pieces.length ? length - begin : c->pieces.length;
    operate_act(c, c->a + at.offset[0] + begin * as, as, c->b + at.offset[1] + begin * bs, bs,
                y + begin, count);
    if (++piece == c->pieces.count) {
      piece = 0;
      y += length;
      walk_next(w, &at);
    }
  }
}

static void repeat_row(const float *row, int64_t length, float *tile, int64_t copies)
{
  for (int64_t k = 0; k < copies; ++k)
    for (int64_t i = 0; i < length; ++i)
      tile[k * length + i] = row[i];
}

// Dimensions (.., rows, length) where operand `repeated` walks (0, 1) and the other one densely,
// with a short length: rows are taken TILE / length at a time against a tile of copies.
static void broadcast_short_body(void *context, int64_t first, int64_t n)
{
  const Binary *c = context;
  const Walk *w = c->walk;
  int32_t last = w->rank - 1;
  int64_t length = w->dim[last], rows = w->dim[last - 1];
  bool repeats_a = w->stride[0][last - 1] == 0;
  int64_t copies = TILE / length;
  float tile[TILE];
  WalkAt at = walk_start(w, last - 1, first);
  for (int64_t i = 0; i < n; ++i) {
    const float *a = c->a + at.offset[0], *b = c->b + at.offset[1];
    float *y = c->y + (first + i) * rows * length;
    repeat_row(repeats_a ? a : b, length, tile, copies < rows ? copies : rows);
    for (int64_t r = 0; r < rows; r += copies) {
      int64_t count = (rows - r < copies ? rows - r : copies) * length;
      operate(c->op, repeats_a ? tile : a + r * length, 1, repeats_a ? b + r * length : tile, 1,
              y + r * length, count);
      vm_activate(c->act, y + r * length, count);
    }
    walk_next(w, &at);
  }
}

static bool is_short_rows(const Walk *w)
{
  int32_t i = w->rank - 1;
  if (w->rank < 2 || w->dim[i] > SHORT_ROW || w->stride[0][i] != 1 || w->stride[1][i] != 1)
    return false;
  int64_t a = w->stride[0][i - 1], b = w->stride[1][i - 1];
  return (a == 0 && b == w->dim[i]) || (b == 0 && a == w->dim[i]);
}

// One large dimension of short rows becomes two, so that tasks can share it.
static void split_rows(Walk *w)
{
  int32_t last = w->rank - 1, i = last - 1;
  int64_t group = SPAN_COST / w->dim[last];
  if (w->rank == SPAN_MAX_RANK || w->dim[i] < 2 * group)
    return;
  while (w->dim[i] % group != 0)
    --group;
  if (group * w->dim[last] < TILE)
    return;
  for (int k = 0; k < 2; ++k) {
    w->stride[k][last + 1] = w->stride[k][last];
    w->stride[k][last] = w->stride[k][i];
    w->stride[k][i] *= group;
  }
  w->dim[last + 1] = w->dim[last];
  w->dim[last] = group;
  w->dim[i] /= group;
  ++w->rank;
}

// What is left has rank 1 or more.
static Walk broadcast_walk(const BroadcastShape *s)
{
  Walk w = {.rank = s->rank};
  for (int32_t i = 0; i < s->rank; ++i) {
    w.dim[i] = s->dim[i];
    w.stride[0][i] = s->a_stride[i];
    w.stride[1][i] = s->b_stride[i];
  }
  walk_simplify(&w);
  if (w.rank == 0) {
    w.rank = 1;
    w.dim[0] = 1;
    w.stride[0][0] = w.stride[1][0] = 1;
  }
  return w;
}

static void binary_broadcast(KernelBinary op, KernelAct act, const BroadcastShape *s,
                             const float *a, const float *b, float *y, Pool *pool)
{
  Walk w = broadcast_walk(s);
  int64_t total = walk_count(&w, w.rank);
  if (total == 0)
    return;
  Binary c = {.op = op, .act = act, .a = a, .b = b, .y = y, .walk = &w};
  if (is_short_rows(&w)) {
    split_rows(&w);
    int64_t unit = w.dim[w.rank - 1] * w.dim[w.rank - 2];
    span_run(pool, total / unit, unit * binary_cost(op), broadcast_short_body, &c);
    return;
  }
  int64_t length = w.dim[w.rank - 1];
  c.pieces = span_pieces(length);
  span_run(pool, total / length * c.pieces.count, c.pieces.length * binary_cost(op),
           broadcast_body, &c);
}

// ---- derivatives ----

typedef struct {
  KernelBinary op;
  bool second; // by b
  const float *a, *b, *dy;
  float *d;
  bool accumulate;
  Walk walk;
  Pieces pieces;
} BinaryGrad;

// g to the larger operand, half of it where they are equal.
static inline float larger_slope(float a, float b, float g)
{
  return vm_select((a == a) & (b == b), vm_select(a > b, g, vm_select(a == b, 0.5f * g, 0)),
                   a + b);
}

// In double, since b - 1 is not exact in float and its error grows with ln a.
static inline float pow_slope(float a, float b, float g)
{
  return b == 0 ? 0 : (float)(g * (b * pow(a, b - 1.0)));
}

static inline float pow_exponent_slope(float a, float b, float g)
{
  return a <= 0 ? 0 : g * powf(a, b) * logf(a);
}

#define DIFFERENTIATE(A, B)                                                                        \
  switch (op) {                                                                                    \
  case KBIN_MAXIMUM:                                                                               \
    ASSIGN(larger_slope(A, B, dy[i]));                                                             \
    break;                                                                                         \
  case KBIN_MINIMUM:                                                                               \
    ASSIGN(larger_slope(-(A), -(B), dy[i]));                                                       \
    break;                                                                                         \
  case KBIN_SQUARED_DIFFERENCE:                                                                    \
    ASSIGN(2 * (dy[i] * ((A) - (B))));                                                             \
    break;                                                                                         \
  case KBIN_POW:                                                                                   \
    if (second)                                                                                    \
      ASSIGN(pow_exponent_slope(B, A, dy[i]));                                                     \
    else                                                                                           \
      ASSIGN(pow_slope(A, B, dy[i]));                                                              \
    break;                                                                                         \
  case KBIN_FLOOR_MOD: /* by the second operand; by the first one it is 1 */                       \
    ASSIGN(-dy[i] * floorf((B) / (A)));                                                            \
    break;                                                                                         \
  case KBIN_ATAN2:                                                                                 \
    if (second)                                                                                    \
      ASSIGN(-dy[i] * (B) / ((A) * (A) + (B) * (B)));                                              \
    else                                                                                           \
      ASSIGN(dy[i] * (B) / ((A) * (A) + (B) * (B)));                                               \
    break;                                                                                         \
  default: /* KBIN_PRELU */                                                                        \
    if (second)                                                                                    \
      ASSIGN(vm_select((B) >= 0, 0, dy[i] * (B)));                                                 \
    else                                                                                           \
      ASSIGN(vm_select((A) == (A), vm_select((A) >= 0, dy[i], dy[i] * (B)), (A)));                 \
    break;                                                                                         \
  }

// By A, which is the second operand of the operation if `second`.
static void differentiate(KernelBinary op, bool second, const float *a, int64_t as,
                          const float *b, int64_t bs, const float *dy, float *dx, bool accumulate,
                          int64_t n)
{
  if (as == 1 && bs == 1) {
    DIFFERENTIATE(a[i], b[i])
  } else if (as == 1 && bs == 0) {
    const float scalar = *b;
    DIFFERENTIATE(a[i], scalar)
  } else {
    DIFFERENTIATE(a[i * as], b[i * bs])
  }
}

static void binary_grad_body(void *context, int64_t first, int64_t n)
{
  const BinaryGrad *c = context;
  const Walk *w = &c->walk;
  const int32_t last = w->rank - 1, by = c->second, other = !c->second;
  const int64_t length = w->dim[last], as = w->stride[by][last], bs = w->stride[other][last];
  const float *a = c->second ? c->b : c->a, *b = c->second ? c->a : c->b;
  int64_t row = first / c->pieces.count, piece = first % c->pieces.count;
  WalkAt at = walk_start(w, last, row);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = piece * c->pieces.length, to = row * length + begin;
    const int64_t count = length - begin < c->pieces.length ? length - begin : c->pieces.length;
    differentiate(c->op, c->second, a + at.offset[by] + begin * as, as,
                  b + at.offset[other] + begin * bs, bs, c->dy + to, c->d + to, c->accumulate,
                  count);
    if (++piece == c->pieces.count) {
      piece = 0;
      ++row;
      walk_next(w, &at);
    }
  }
}

static void binary_grad(KernelBinary op, bool second, const BroadcastShape *s, const float *a,
                        const float *b, const float *dy, float *d, bool accumulate, Pool *pool)
{
  BinaryGrad c = {.op = op, .second = second, .a = a, .b = b, .dy = dy, .d = d,
                  .accumulate = accumulate, .walk = broadcast_walk(s)};
  const int64_t length = c.walk.dim[c.walk.rank - 1];
  if (length == 0)
    return;
  c.pieces = span_pieces(length);
  span_run(pool, walk_count(&c.walk, c.walk.rank - 1) * c.pieces.count,
           c.pieces.length * binary_cost(op), binary_grad_body, &c);
}

const EltwiseKernels KERNEL_TABLE(eltwise) = {
  .binary = binary,
  .binary_broadcast = binary_broadcast,
  .binary_grad = binary_grad,
  .unary = unary,
  .unary_grad = unary_grad,
  .act_grad = act_grad,
  .scale = scale,
};
