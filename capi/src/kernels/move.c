// SPDX-License-Identifier: Apache-2.0
// Strided copies. After joining dimensions the loops are ordered by the destination's strides; what
// remains is one of three: rows that both sides walk densely, a transposition, which runs in square
// blocks so that both sides touch whole cache lines, or elements one by one.
#include "kernels/move.h"

#include "kernels/span.h"
#include "kernels/vmath.h"

#include <string.h>

enum {
  SRC = 0,
  DST = 1,
  BLOCK = 16,       // side of a transposed block; 16 floats are a cache line
  PANEL = 512,      // destination elements of a panel of BLOCK rows, one task's unit
  SHORT_BYTES = 64, // runs below this are not worth a call of memcpy
};

// Elements by size, whatever type the buffers have.
typedef uint8_t __attribute__((may_alias)) Bits8;
typedef uint16_t __attribute__((may_alias)) Bits16;
typedef uint32_t __attribute__((may_alias)) Bits32;
typedef uint64_t __attribute__((may_alias)) Bits64;

typedef struct {
  Walk walk;
  int32_t element_bytes;
  bool add;
  const char *src;
  char *dst;
  Pieces pieces; // of the last dimension
} Move;

void move_simplify(MoveShape *s)
{
  Walk w = {.rank = s->rank};
  for (int32_t i = 0; i < s->rank; ++i) {
    w.dim[i] = s->dim[i];
    w.stride[SRC][i] = s->src_stride[i];
    w.stride[DST][i] = s->dst_stride[i];
  }
  walk_simplify(&w);
  s->rank = w.rank;
  for (int32_t i = 0; i < w.rank; ++i) {
    s->dim[i] = w.dim[i];
    s->src_stride[i] = w.stride[SRC][i];
    s->dst_stride[i] = w.stride[DST][i];
  }
}

static void swap_dims(Walk *w, int32_t i, int32_t j)
{
  int64_t t = w->dim[i];
  w->dim[i] = w->dim[j];
  w->dim[j] = t;
  for (int k = 0; k < 2; ++k) {
    t = w->stride[k][i];
    w->stride[k][i] = w->stride[k][j];
    w->stride[k][j] = t;
  }
}

static int64_t magnitude(int64_t v)
{
  return v < 0 ? -v : v;
}

// Largest destination stride first; what is written densely ends up innermost.
static void order_by_dst(Walk *w)
{
  for (int32_t i = 1; i < w->rank; ++i)
    for (int32_t j = i;
         j > 0 && magnitude(w->stride[DST][j - 1]) < magnitude(w->stride[DST][j]); --j)
      swap_dims(w, j - 1, j);
}

#define COPY_STRIDED(type)                                                                         \
  do {                                                                                             \
    const type *s = (const type *)src;                                                             \
    type *d = (type *)dst;                                                                         \
    for (int64_t i = 0; i < n; ++i)                                                                \
      d[i * ds] = s[i * ss];                                                                       \
  } while (0)

static void copy_strided(const void *src, int64_t ss, void *dst, int64_t ds, int64_t n,
                         int32_t element_bytes)
{
  switch (element_bytes) {
  case 1:
    COPY_STRIDED(Bits8);
    break;
  case 2:
    COPY_STRIDED(Bits16);
    break;
  case 4:
    COPY_STRIDED(Bits32);
    break;
  case 8:
    COPY_STRIDED(Bits64);
    break;
  }
}

static void fill_dense(const void *value, void *dst, int64_t n, int32_t element_bytes)
{
  if (element_bytes == 1)
    memset(dst, *(const uint8_t *)value, (size_t)n);
  else
    copy_strided(value, 0, dst, 1, n, element_bytes);
}

static void add_strided(const float *src, int64_t ss, float *dst, int64_t ds, int64_t n)
{
  if (ss == 1 && ds == 1) {
    VM_INDEPENDENT
    for (int64_t i = 0; i < n; ++i)
      dst[i] += src[i];
  } else {
    for (int64_t i = 0; i < n; ++i)
      dst[i * ds] += src[i * ss];
  }
}

static void move_run(const Move *m, const char *src, char *dst, int64_t n)
{
  const int32_t last = m->walk.rank - 1;
  const int64_t ss = m->walk.stride[SRC][last], ds = m->walk.stride[DST][last];
  const int64_t bytes = n * m->element_bytes;
  if (m->add)
    add_strided((const float *)src, ss, (float *)dst, ds, n);
  else if (ss == 1 && ds == 1 && bytes >= SHORT_BYTES)
    memcpy(dst, src, (size_t)bytes);
  else if (ss == 0 && ds == 1)
    fill_dense(src, dst, n, m->element_bytes);
  else
    copy_strided(src, ss, dst, ds, n, m->element_bytes);
}

// Unit: a piece of a row, the last dimension.
static void rows_body(void *context, int64_t first, int64_t n)
{
  const Move *m = context;
  const int32_t last = m->walk.rank - 1;
  const int64_t ss = m->walk.stride[SRC][last] * m->element_bytes;
  const int64_t ds = m->walk.stride[DST][last] * m->element_bytes;
  const int64_t length = m->walk.dim[last];
  int64_t piece = first % m->pieces.count;
  WalkAt at = walk_start(&m->walk, last, first / m->pieces.count);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = piece * m->pieces.length;
    move_run(m, m->src + at.offset[SRC] * m->element_bytes + begin * ss,
             m->dst + at.offset[DST] * m->element_bytes + begin * ds,
             length - begin < m->pieces.length ? length - begin : m->pieces.length);
    if (++piece == m->pieces.count) {
      piece = 0;
      walk_next(&m->walk, &at);
    }
  }
}

// rows x columns elements: dst[r * ds + c] (+)= src[r + c * ss]
#define TRANSPOSE(type, OP)                                                                        \
  do {                                                                                             \
    const type *s = (const type *)src;                                                             \
    type *d = (type *)dst;                                                                         \
    if (rows == BLOCK && columns == BLOCK) {                                                       \
      for (int64_t r = 0; r < BLOCK; ++r)                                                          \
        for (int64_t c = 0; c < BLOCK; ++c)                                                        \
          d[r * ds + c] OP s[r + c * ss];                                                          \
    } else {                                                                                       \
      for (int64_t r = 0; r < rows; ++r)                                                           \
        for (int64_t c = 0; c < columns; ++c)                                                      \
          d[r * ds + c] OP s[r + c * ss];                                                          \
    }                                                                                              \
  } while (0)

static void transpose_block(const Move *m, const char *src, int64_t ss, char *dst, int64_t ds,
                            int64_t rows, int64_t columns)
{
  if (m->add) {
    TRANSPOSE(float, +=);
    return;
  }
  switch (m->element_bytes) {
  case 1:
    TRANSPOSE(Bits8, =);
    break;
  case 2:
    TRANSPOSE(Bits16, =);
    break;
  case 4:
    TRANSPOSE(Bits32, =);
    break;
  case 8:
    TRANSPOSE(Bits64, =);
    break;
  }
}

static int64_t ceil_div(int64_t a, int64_t b)
{
  return (a + b - 1) / b;
}

// The last two dimensions are (rows, dense in src) and (columns, dense in dst). Unit: BLOCK rows of
// PANEL columns.
static void transpose_body(void *context, int64_t first, int64_t n)
{
  const Move *m = context;
  const Walk *w = &m->walk;
  const int32_t i_row = w->rank - 2, i_column = w->rank - 1;
  const int64_t rows = w->dim[i_row], columns = w->dim[i_column], bytes = m->element_bytes;
  const int64_t ss = w->stride[SRC][i_column], ds = w->stride[DST][i_row];
  const int64_t row_blocks = ceil_div(rows, BLOCK), panels = ceil_div(columns, PANEL);
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t panel = unit % panels, row = unit / panels % row_blocks * BLOCK;
    const WalkAt at = walk_start(w, i_row, unit / panels / row_blocks);
    const int64_t n_rows = rows - row < BLOCK ? rows - row : BLOCK;
    const int64_t end = (panel + 1) * PANEL < columns ? (panel + 1) * PANEL : columns;
    for (int64_t column = panel * PANEL; column < end; column += BLOCK)
      transpose_block(m, m->src + (at.offset[SRC] + row + column * ss) * bytes, ss,
                      m->dst + (at.offset[DST] + row * ds + column) * bytes, ds, n_rows,
                      end - column < BLOCK ? end - column : BLOCK);
  }
}

// Brings a dimension that src walks densely next to the last one, which dst walks densely.
static bool find_transposition(Walk *w)
{
  const int32_t last = w->rank - 1;
  if (w->rank < 2 || w->stride[DST][last] != 1 || w->stride[SRC][last] == 1 || w->dim[last] < 4)
    return false;
  for (int32_t i = last - 1; i >= 0; --i) {
    if (w->stride[SRC][i] != 1 || w->dim[i] < 4)
      continue;
    for (; i < last - 1; ++i)
      swap_dims(w, i, i + 1);
    return true;
  }
  return false;
}

static bool has_repeated_dst(const Walk *w)
{
  for (int32_t i = 0; i < w->rank; ++i)
    if (w->stride[DST][i] == 0)
      return true;
  return false;
}

static void move_any(const MoveShape *s, const void *src, void *dst, bool add, Pool *pool)
{
  Move m = {.element_bytes = s->element_bytes, .add = add, .src = src, .dst = dst};
  MoveShape simple = *s;
  move_simplify(&simple);
  Walk *w = &m.walk;
  w->rank = simple.rank;
  for (int32_t i = 0; i < simple.rank; ++i) {
    w->dim[i] = simple.dim[i];
    w->stride[SRC][i] = simple.src_stride[i];
    w->stride[DST][i] = simple.dst_stride[i];
  }
  if (w->rank == 0) {
    w->rank = 1;
    w->dim[0] = 1;
    w->stride[SRC][0] = w->stride[DST][0] = 1;
  }
  const int64_t total = walk_count(w, w->rank);
  if (total == 0)
    return;
  // Where elements of dst repeat, the index order decides what they end as.
  const bool any_order = !has_repeated_dst(w);
  if (any_order)
    order_by_dst(w);
  else
    pool = NULL;
  const int32_t last = w->rank - 1;
  if (any_order && find_transposition(w)) {
    const int64_t rows = w->dim[last - 1], columns = w->dim[last];
    const int64_t outer = total / (rows * columns);
    const int64_t width = columns < PANEL ? columns : PANEL;
    span_run(pool, outer * ceil_div(rows, BLOCK) * ceil_div(columns, PANEL), 2 * BLOCK * width,
             transpose_body, &m);
    return;
  }
  m.pieces = span_pieces(w->dim[last]);
  span_run(pool, total / w->dim[last] * m.pieces.count, m.pieces.length, rows_body, &m);
}

void move_copy(const MoveShape *s, const void *src, void *dst, Pool *pool)
{
  move_any(s, src, dst, false, pool);
}

void move_add(const MoveShape *s, const float *src, float *dst, Pool *pool)
{
  MoveShape floats = *s;
  floats.element_bytes = sizeof *dst;
  move_any(&floats, src, dst, true, pool);
}

void move_fill(void *dst, const void *value, int64_t n, int32_t element_bytes, Pool *pool)
{
  const MoveShape s = {.rank = 1, .dim = {n}, .src_stride = {0}, .dst_stride = {1},
                       .element_bytes = element_bytes};
  move_copy(&s, value, dst, pool);
}

void move_range_f32(float *dst, float start, float step, int64_t n)
{
  for (int64_t i = 0; i < n; ++i)
    dst[i] = (float)((double)start + (double)i * (double)step);
}

void move_range_i32(int32_t *dst, int32_t start, int32_t step, int64_t n)
{
  for (int64_t i = 0; i < n; ++i)
    dst[i] = (int32_t)(start + i * step);
}

void move_range_i64(int64_t *dst, int64_t start, int64_t step, int64_t n)
{
  for (int64_t i = 0; i < n; ++i)
    dst[i] = start + i * step;
}
