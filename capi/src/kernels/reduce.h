// SPDX-License-Identifier: Apache-2.0
// Sums over axes, and their gradient: a part of rows_tmpl.c, compiled with it once per
// instruction set.
//
// Any shape is seen as `outputs` sums of `rows` rows of `width` dense elements; where the last axis
// is summed, width is 1. Rows stand in runs of neighbours. Few outputs of many rows are cut into
// chunks of rows with partial sums in scratch; everything depends on the shape only. Narrow rows
// are read several at a time as one wide row. Float sums never run over more than a hundred
// terms before they are added up in double, so that the error does not grow with the row count.
#ifndef KERNELS_REDUCE_H
#define KERNELS_REDUCE_H

#include "kernels/rows.h"

#include "kernels/span.h"
#include "kernels/vmath.h"

#include <string.h>

enum {
  REDUCE_WIDTH = 2048,      // columns of one task
  REDUCE_WIDE = 64,         // narrow rows are joined up to this width
  REDUCE_LEVEL = 512,       // rows summed in float
  REDUCE_UNITS = 64,        // tasks wanted where there are few outputs
  REDUCE_UNIT_COST = 32768, // least elements of a chunk
  REDUCE_COLUMNS = 256,     // columns of partial sums added at a time
};

typedef struct {
  Walk kept, reduced;  // axes outside the rows: kept ones, and those between runs
  int64_t outputs, rows, run, width;
  int64_t blocks, chunks, chunk_rows; // of columns, of rows
  float scale;
  const float *x;
  float *y, *partials; // y[outputs,width], partials[outputs,chunks,width]
  bool accumulate;
} Reduction;

// Joins neighbouring axes of one kind and drops those of 1. stride[0] of w: of x; reduce: kinds.
static void reduce_normalise(const ReduceShape *s, Walk *w, bool *reduce)
{
  *w = (Walk){.rank = 0};
  for (int32_t i = 0; i < s->rank; ++i) {
    if (s->dim[i] == 1)
      continue;
    if (w->rank > 0 && reduce[w->rank - 1] == s->reduce[i]) {
      w->dim[w->rank - 1] *= s->dim[i];
    } else {
      w->dim[w->rank] = s->dim[i];
      reduce[w->rank++] = s->reduce[i];
    }
  }
  int64_t stride = 1;
  for (int32_t i = w->rank - 1; i >= 0; --i) {
    w->stride[0][i] = stride;
    stride *= w->dim[i];
  }
}

static void reduce_append(Walk *to, const Walk *from, int32_t i)
{
  to->dim[to->rank] = from->dim[i];
  to->stride[0][to->rank++] = from->stride[0][i];
}

static inline int64_t reduce_ceil(int64_t a, int64_t b)
{
  return (a + b - 1) / b;
}

static Reduction reduce_plan(const ReduceShape *s)
{
  Walk w;
  bool reduce[SPAN_MAX_RANK];
  reduce_normalise(s, &w, reduce);
  Reduction r = {.run = 1, .width = 1};
  int32_t outer = w.rank;
  if (outer > 0 && !reduce[outer - 1])
    r.width = w.dim[--outer];
  if (outer > 0)
    r.run = w.dim[--outer];
  for (int32_t i = 0; i < outer; ++i)
    reduce_append(reduce[i] ? &r.reduced : &r.kept, &w, i);
  r.outputs = walk_count(&r.kept, r.kept.rank);
  r.rows = walk_count(&r.reduced, r.reduced.rank) * r.run;
  int64_t width = r.width < REDUCE_WIDTH ? r.width : REDUCE_WIDTH;
  r.blocks = reduce_ceil(r.width, REDUCE_WIDTH);
  r.chunks = 1;
  r.chunk_rows = r.rows;
  int64_t units = r.outputs * r.blocks;
  if (units > 0 && units < REDUCE_UNITS && r.rows > 0) {
    int64_t most = REDUCE_UNITS / units;
    int64_t least_rows = reduce_ceil(REDUCE_UNIT_COST, width);
    r.chunk_rows = reduce_ceil(r.rows, most);
    r.chunk_rows = r.chunk_rows < least_rows ? least_rows : r.chunk_rows;
    r.chunk_rows = r.chunk_rows > r.rows ? r.rows : r.chunk_rows;
    r.chunks = reduce_ceil(r.rows, r.chunk_rows);
  }
  return r;
}

static size_t reduce_scratch(const ReduceShape *s, int threads)
{
  (void)threads;
  Reduction r = reduce_plan(s);
  return r.chunks > 1 ? (size_t)(r.outputs * r.chunks * r.width) * sizeof(float) : 0;
}

// sum[width] += n rows
static void reduce_add_rows(const float *x, int64_t stride, int64_t n, int64_t width,
                            float *restrict sum)
{
  int64_t row = 0;
  for (; row + 8 <= n; row += 8) {
    const float *a = x + row * stride, *b = a + stride, *c = b + stride, *d = c + stride;
    const float *e = d + stride, *f = e + stride, *g = f + stride, *h = g + stride;
    VM_INDEPENDENT
    for (int64_t i = 0; i < width; ++i)
      sum[i] += ((a[i] + b[i]) + (c[i] + d[i])) + ((e[i] + f[i]) + (g[i] + h[i]));
  }
  for (; row < n; ++row) {
    const float *a = x + row * stride;
    VM_INDEPENDENT
    for (int64_t i = 0; i < width; ++i)
      sum[i] += a[i];
  }
}

// total[width] += n rows that stand `stride` apart.
static void reduce_add_run(const float *x, int64_t stride, int64_t n, int64_t width, double *total)
{
  float sum[REDUCE_WIDTH];
  while (n > 0) {
    int64_t joined = 1;
    while (stride == width && 2 * joined * width <= REDUCE_WIDE && 2 * joined <= n)
      joined *= 2;
    int64_t wide = joined * width;
    int64_t count = n / joined < REDUCE_LEVEL ? n / joined : REDUCE_LEVEL;
    memset(sum, 0, (size_t)wide * sizeof *sum);
    reduce_add_rows(x, joined * stride, count, wide, sum);
    while (wide > width) {
      wide /= 2;
      for (int64_t i = 0; i < wide; ++i)
        sum[i] += sum[wide + i];
    }
    for (int64_t i = 0; i < width; ++i)
      total[i] += sum[i];
    x += count * joined * stride;
    n -= count * joined;
  }
}

// total[width] = rows first .. first + n - 1 of the output whose first column stands at x.
static void reduce_rows(const Reduction *r, const float *x, int64_t first, int64_t n,
                        int64_t width, double *total)
{
  memset(total, 0, (size_t)width * sizeof *total);
  if (n == 0)
    return;
  WalkAt at = walk_start(&r->reduced, r->reduced.rank, first / r->run);
  int64_t row = first % r->run;
  while (n > 0) {
    int64_t count = r->run - row < n ? r->run - row : n;
    reduce_add_run(x + at.offset[0] + row * r->width, r->width, count, width, total);
    walk_next(&r->reduced, &at);
    row = 0;
    n -= count;
  }
}

static void reduce_store(const Reduction *r, int64_t at, const double *total, int64_t n)
{
  float *y = r->y + at;
  if (r->accumulate) {
    for (int64_t i = 0; i < n; ++i)
      y[i] += r->scale * (float)total[i];
  } else {
    for (int64_t i = 0; i < n; ++i)
      y[i] = r->scale * (float)total[i];
  }
}

// Unit: (output, chunk of rows, block of columns).
static void reduce_body(void *context, int64_t first, int64_t n)
{
  const Reduction *r = context;
  double total[REDUCE_WIDTH];
  int64_t per_output = r->chunks * r->blocks, output = first / per_output;
  int64_t part = first % per_output;
  WalkAt at = walk_start(&r->kept, r->kept.rank, output);
  for (int64_t unit = 0; unit < n; ++unit) {
    int64_t chunk = part / r->blocks, column = part % r->blocks * REDUCE_WIDTH;
    int64_t row = chunk * r->chunk_rows;
    int64_t n_rows = r->rows - row < r->chunk_rows ? r->rows - row : r->chunk_rows;
    int64_t width = r->width - column < REDUCE_WIDTH ? r->width - column : REDUCE_WIDTH;
    const float *x = r->x + at.offset[0] + column;
    reduce_rows(r, x, row, n_rows, width, total);
    if (r->chunks > 1) {
      float *partial = r->partials + (output * r->chunks + chunk) * r->width + column;
      for (int64_t i = 0; i < width; ++i)
        partial[i] = (float)total[i];
    } else {
      reduce_store(r, output * r->width + column, total, width);
    }
    if (++part == per_output) {
      part = 0;
      ++output;
      walk_next(&r->kept, &at);
    }
  }
}

// Unit: (output, REDUCE_COLUMNS columns); adds the chunks up.
static void reduce_combine(void *context, int64_t first, int64_t n)
{
  const Reduction *r = context;
  int64_t blocks = reduce_ceil(r->width, REDUCE_COLUMNS);
  for (int64_t unit = first; unit < first + n; ++unit) {
    int64_t output = unit / blocks, column = unit % blocks * REDUCE_COLUMNS;
    int64_t width = r->width - column < REDUCE_COLUMNS ? r->width - column : REDUCE_COLUMNS;
    double total[REDUCE_COLUMNS] = {0};
    for (int64_t chunk = 0; chunk < r->chunks; ++chunk) {
      const float *partial = r->partials + (output * r->chunks + chunk) * r->width + column;
      for (int64_t i = 0; i < width; ++i)
        total[i] += partial[i];
    }
    reduce_store(r, output * r->width + column, total, width);
  }
}

static void reduce_sum(const ReduceShape *s, float scale, const float *x, float *y,
                       bool accumulate, void *scratch, Pool *pool)
{
  Reduction r = reduce_plan(s);
  r.scale = scale;
  r.x = x;
  r.y = y;
  r.partials = scratch;
  r.accumulate = accumulate;
  int64_t width = r.width < REDUCE_WIDTH ? r.width : REDUCE_WIDTH;
  span_run(pool, r.outputs * r.chunks * r.blocks, r.chunk_rows * width, reduce_body, &r);
  if (r.chunks > 1)
    span_run(pool, r.outputs * reduce_ceil(r.width, REDUCE_COLUMNS), r.chunks * REDUCE_COLUMNS,
             reduce_combine, &r);
}

typedef struct {
  Walk walk; // of x; stride[0] those of y
  Pieces pieces;
  float scale;
  const float *y;
  float *x;
  bool accumulate;
} Spread;

static void reduce_repeat(const Spread *c, const float *y, bool dense, float *x, int64_t n)
{
  const float scale = c->scale, value = scale * *y;
  if (c->accumulate && dense) {
    for (int64_t i = 0; i < n; ++i)
      x[i] += scale * y[i];
  } else if (c->accumulate) {
    for (int64_t i = 0; i < n; ++i)
      x[i] += value;
  } else if (dense) {
    for (int64_t i = 0; i < n; ++i)
      x[i] = scale * y[i];
  } else {
    for (int64_t i = 0; i < n; ++i)
      x[i] = value;
  }
}

static void reduce_spread_body(void *context, int64_t first, int64_t n)
{
  const Spread *c = context;
  int32_t last = c->walk.rank - 1;
  int64_t length = c->walk.dim[last], stride = c->walk.stride[0][last];
  int64_t row = first / c->pieces.count, piece = first % c->pieces.count;
  WalkAt at = walk_start(&c->walk, last, row);
  for (int64_t i = 0; i < n; ++i) {
    int64_t begin = piece * c->pieces.length;
    int64_t count = length - begin < c->pieces.length ? length - begin : c->pieces.length;
    reduce_repeat(c, c->y + at.offset[0] + begin * stride, stride == 1,
                  c->x + row * length + begin, count);
    if (++piece == c->pieces.count) {
      piece = 0;
      ++row;
      walk_next(&c->walk, &at);
    }
  }
}

static void reduce_spread(const ReduceShape *s, float scale, const float *y, float *x,
                          bool accumulate, Pool *pool)
{
  Spread c = {.scale = scale, .y = y, .x = x, .accumulate = accumulate};
  bool reduce[SPAN_MAX_RANK];
  reduce_normalise(s, &c.walk, reduce);
  if (c.walk.rank == 0) {
    c.walk.dim[c.walk.rank] = 1;
    reduce[c.walk.rank++] = false;
  }
  int64_t stride = 1;
  for (int32_t i = c.walk.rank - 1; i >= 0; --i) {
    c.walk.stride[0][i] = reduce[i] ? 0 : stride;
    stride *= reduce[i] ? 1 : c.walk.dim[i];
  }
  int64_t length = c.walk.dim[c.walk.rank - 1];
  if (length == 0)
    return;
  c.pieces = span_pieces(length);
  span_run(pool, walk_count(&c.walk, c.walk.rank - 1) * c.pieces.count, c.pieces.length,
           reduce_spread_body, &c);
}

#endif
