// SPDX-License-Identifier: Apache-2.0
// Element-wise kernels, compiled once per instruction set. Plain loops that the compiler
// vectorises; a fused activation is a second pass over a block that is still in cache.
#include "kernels/eltwise.h"

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

#define LOOP(n, statement)                                                                         \
  do {                                                                                             \
    VM_INDEPENDENT                                                                                 \
    for (int64_t i = 0; i < (n); ++i)                                                              \
      statement;                                                                                   \
  } while (0)

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
  span_run(pool, n, 1, binary_body, &c);
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

static void binary_broadcast(KernelBinary op, KernelAct act, const BroadcastShape *s,
                             const float *a, const float *b, float *y, Pool *pool)
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
  int64_t total = walk_count(&w, w.rank);
  if (total == 0)
    return;
  Binary c = {.op = op, .act = act, .a = a, .b = b, .y = y, .walk = &w};
  if (is_short_rows(&w)) {
    split_rows(&w);
    int64_t unit = w.dim[w.rank - 1] * w.dim[w.rank - 2];
    span_run(pool, total / unit, unit, broadcast_short_body, &c);
    return;
  }
  int64_t length = w.dim[w.rank - 1];
  c.pieces = span_pieces(length);
  span_run(pool, total / length * c.pieces.count, c.pieces.length, broadcast_body, &c);
}

typedef struct {
  KernelUnary op;
  float alpha;
  const float *x, *y, *dy;
  float *dst;
  bool accumulate;
} Unary;

static void unary_body(void *context, int64_t first, int64_t n)
{
  const Unary *c = context;
  const float *x = c->x + first, alpha = c->alpha;
  float *y = c->dst + first;
  switch (c->op) {
  case KUN_RELU:
    LOOP(n, y[i] = vm_select(x[i] < 0, 0, x[i]));
    break;
  case KUN_RELU6:
    LOOP(n, y[i] = vm_clamp(x[i], 0, 6));
    break;
  case KUN_RELU_N1_TO_1:
    LOOP(n, y[i] = vm_clamp(x[i], -1, 1));
    break;
  case KUN_LOGISTIC:
    LOOP(n, y[i] = vm_logistic(x[i]));
    break;
  case KUN_TANH:
    LOOP(n, y[i] = vm_tanh(x[i]));
    break;
  case KUN_LEAKY_RELU:
    LOOP(n, y[i] = vm_select(x[i] >= 0, x[i], alpha * x[i]));
    break;
  case KUN_NEG:
    LOOP(n, y[i] = -x[i]);
    break;
  }
}

static int64_t unary_cost(KernelUnary op)
{
  return op == KUN_LOGISTIC || op == KUN_TANH ? 4 : 1;
}

static void unary(KernelUnary op, float alpha, const float *x, float *y, int64_t n, Pool *pool)
{
  Unary c = {.op = op, .alpha = alpha, .x = x, .dst = y};
  span_run(pool, n, unary_cost(op), unary_body, &c);
}

#define ASSIGN(expression)                                                                         \
  do {                                                                                             \
    if (accumulate)                                                                                \
      LOOP(n, dx[i] += (expression));                                                              \
    else                                                                                           \
      LOOP(n, dx[i] = (expression));                                                               \
  } while (0)

// g where the slope is 1; a NaN of v comes out.
static inline float gate(float v, int32_t open, float g)
{
  return vm_select(v == v, vm_select(open, g, 0), v);
}

static inline float leaky(float v, float g, float alpha)
{
  return vm_select(v == v, vm_select(v >= 0, g, alpha * g), v);
}

// f(x) = alpha x with alpha 0 gives -0 for x < 0: the sign bit tells.
static inline float leaky_sign(float y, float g)
{
  VmBits bits = {.f = y};
  return gate(y, bits.i >= 0, g);
}

static void grad_body(void *context, int64_t first, int64_t n)
{
  const Unary *c = context;
  const float *y = c->y ? c->y + first : NULL; // NEG reads none
  const float *dy = c->dy + first, alpha = c->alpha;
  float *dx = c->dst + first;
  bool accumulate = c->accumulate;
  switch (c->op) {
  case KUN_RELU:
    ASSIGN(gate(y[i], y[i] > 0, dy[i]));
    break;
  case KUN_RELU6:
    ASSIGN(gate(y[i], (y[i] > 0) & (y[i] < 6), dy[i]));
    break;
  case KUN_RELU_N1_TO_1:
    ASSIGN(gate(y[i], (y[i] > -1) & (y[i] < 1), dy[i]));
    break;
  case KUN_LOGISTIC:
    ASSIGN(dy[i] * (y[i] * (1.0f - y[i])));
    break;
  case KUN_TANH:
    ASSIGN(dy[i] * (1.0f - y[i] * y[i]));
    break;
  case KUN_LEAKY_RELU: {
    const float *v = alpha < 0 ? c->x + first : y;
    if (alpha == 0)
      ASSIGN(leaky_sign(v[i], dy[i]));
    else
      ASSIGN(leaky(v[i], dy[i], alpha));
    break;
  }
  case KUN_NEG:
    ASSIGN(-dy[i]);
    break;
  }
}

static void unary_grad(KernelUnary op, float alpha, const float *x, const float *y,
                       const float *dy, float *dx, bool accumulate, int64_t n, Pool *pool)
{
  Unary c = {.op = op, .alpha = alpha, .x = x, .y = y, .dy = dy, .dst = dx,
             .accumulate = accumulate};
  span_run(pool, n, 1, grad_body, &c);
}

static void scale_body(void *context, int64_t first, int64_t n)
{
  const Unary *c = context;
  const float *x = c->x + first, factor = c->alpha;
  float *dx = c->dst + first;
  bool accumulate = c->accumulate;
  ASSIGN(factor * x[i]);
}

static void scale(float factor, const float *x, float *y, bool accumulate, int64_t n, Pool *pool)
{
  Unary c = {.alpha = factor, .x = x, .dst = y, .accumulate = accumulate};
  span_run(pool, n, 1, scale_body, &c);
}

static void act_grad(KernelAct act, const float *y, const float *dy, float *dx, bool accumulate,
                     int64_t n, Pool *pool)
{
  static const KernelUnary same[] = {
    [KACT_RELU] = KUN_RELU,
    [KACT_RELU_N1_TO_1] = KUN_RELU_N1_TO_1,
    [KACT_RELU6] = KUN_RELU6,
    [KACT_TANH] = KUN_TANH,
  };
  if (act == KACT_NONE)
    scale(1, dy, dx, accumulate, n, pool);
  else
    unary_grad(same[act], 0, NULL, y, dy, dx, accumulate, n, pool);
}

const EltwiseKernels KERNEL_TABLE(eltwise) = {
  .binary = binary,
  .binary_broadcast = binary_broadcast,
  .unary = unary,
  .unary_grad = unary_grad,
  .act_grad = act_grad,
  .scale = scale,
};
