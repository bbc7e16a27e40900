// SPDX-License-Identifier: Apache-2.0
// Picking copies row by row. Adding is cut by columns of the table, never by its rows: a task sees
// all indices of its table in their order, so that rows that repeat add up the same on any pool.
#include "kernels/pick.h"

#include "kernels/move.h"
#include "kernels/span.h"

#include <string.h>

enum { COLUMNS = 32 }; // of one unit: whole cache lines, so that tasks share few

typedef struct {
  const PickShape *s;
  const char *src, *index;
  char *dst;
  int64_t rows, row_bytes; // of a table of one b and o
  int64_t blocks;          // of columns
} Pick;

// Row of the table that entry `at` names, or -1.
static int64_t row_of(const Pick *p, int64_t at)
{
  const PickShape *s = p->s;
  int64_t row = 0;
  for (int32_t d = 0; d < s->depth; ++d) {
    const int64_t i = s->wide ? ((const int64_t *)p->index)[at * s->depth + d]
                              : ((const int32_t *)p->index)[at * s->depth + d];
    if (i < 0 || i >= s->dim[d])
      return -1;
    row = row * s->dim[d] + i;
  }
  return row;
}

static Pick begin(const PickShape *s, const void *index, int32_t element_bytes)
{
  Pick p = {.s = s, .index = index, .rows = 1, .row_bytes = s->inner * element_bytes};
  for (int32_t d = 0; d < s->depth; ++d)
    p.rows *= s->dim[d];
  return p;
}

// Of sizes that the compiler knows, memcpy is a move or two.
static void copy_row(char *dst, const char *src, int64_t bytes)
{
  switch (bytes) {
  case 1:
    *dst = *src;
    break;
  case 2:
    memcpy(dst, src, 2);
    break;
  case 4:
    memcpy(dst, src, 4);
    break;
  case 8:
    memcpy(dst, src, 8);
    break;
  default:
    memcpy(dst, src, (size_t)bytes);
  }
}

// Unit: a row of y.
static void rows_body(void *context, int64_t first, int64_t n)
{
  const Pick *p = context;
  const PickShape *s = p->s;
  const int64_t element = p->row_bytes / s->inner;
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t k = unit % s->count, o = unit / s->count % s->outer;
    const int64_t b = unit / s->count / s->outer % s->batch;
    const int64_t sample = unit / s->count / s->outer / s->batch;
    // index_step counts indices, entries have `depth` of them
    Pick at = *p;
    at.index += sample * s->index_step * (s->wide ? 8 : 4);
    const int64_t row = row_of(&at, b * s->count + k);
    char *y = p->dst + sample * s->y_step * element +
              ((b * s->outer + o) * s->count + k) * p->row_bytes;
    if (row < 0)
      memset(y, 0, (size_t)p->row_bytes);
    else
      copy_row(y, p->src + sample * s->table_step * element +
                    ((b * s->outer + o) * p->rows + row) * p->row_bytes, p->row_bytes);
  }
}

void pick_rows(const PickShape *s, const void *table, const void *index, void *y,
               int32_t element_bytes, Pool *pool)
{
  Pick p = begin(s, index, element_bytes);
  p.src = table;
  p.dst = y;
  if (s->inner > 0)
    span_run(pool, s->samples * s->batch * s->outer * s->count, s->inner + s->depth, rows_body,
             &p);
}

static void add_row(float *dst, const float *src, int64_t n)
{
  for (int64_t i = 0; i < n; ++i)
    dst[i] += src[i];
}

// Adds what sample s gives to columns [from, to) of table b, o.
static void add_columns(const Pick *p, int64_t sample, int64_t b, int64_t o, int64_t from,
                        int64_t to)
{
  const PickShape *s = p->s;
  Pick at = *p;
  at.index += sample * s->index_step * (s->wide ? 8 : 4);
  const float *dy = (const float *)(const void *)p->src + sample * s->y_step +
                    (b * s->outer + o) * s->count * s->inner;
  float *table = (float *)(void *)p->dst + sample * s->table_step +
                 (b * s->outer + o) * p->rows * s->inner;
  for (int64_t k = 0; k < s->count; ++k) {
    const int64_t row = row_of(&at, b * s->count + k);
    if (row >= 0)
      add_row(table + row * s->inner + from, dy + k * s->inner + from, to - from);
  }
}

// Unit: COLUMNS columns of a table of one b and o; of one sample too where each has its own.
static void add_body(void *context, int64_t first, int64_t n)
{
  const Pick *p = context;
  const PickShape *s = p->s;
  for (int64_t unit = first; unit < first + n;) {
    const int64_t block = unit % p->blocks, table = unit / p->blocks;
    const int64_t left = first + n - unit;
    const int64_t take = left < p->blocks - block ? left : p->blocks - block;
    const int64_t from = block * COLUMNS;
    const int64_t to = from + take * COLUMNS < s->inner ? from + take * COLUMNS : s->inner;
    const int64_t o = table % s->outer, b = table / s->outer % s->batch;
    const int64_t own = table / s->outer / s->batch;
    for (int64_t sample = 0; sample < (s->table_step ? 1 : s->samples); ++sample)
      add_columns(p, own + sample, b, o, from, to);
    unit += take;
  }
}

void pick_add(const PickShape *s, const float *dy, const void *index, float *table, Pool *pool)
{
  Pick p = begin(s, index, sizeof *table);
  p.src = (const char *)dy;
  p.dst = (char *)table;
  p.blocks = (s->inner + COLUMNS - 1) / COLUMNS;
  const int64_t tables = (s->table_step ? s->samples : 1) * s->batch * s->outer;
  const int64_t width = s->inner < COLUMNS ? s->inner : COLUMNS;
  const int64_t entries = (s->table_step ? 1 : s->samples) * s->count;
  span_run(pool, tables * p.blocks, entries * (width + s->depth), add_body, &p);
}

typedef struct {
  const MarkShape *s;
  const void *index;
  const char *on;
  char *y;
} Mark;

// Unit: an index.
static void mark_body(void *context, int64_t first, int64_t n)
{
  const Mark *m = context;
  const MarkShape *s = m->s;
  for (int64_t unit = first; unit < first + n; ++unit) {
    const int64_t i = s->wide ? ((const int64_t *)m->index)[unit]
                              : ((const int32_t *)m->index)[unit];
    if (i < 0 || i >= s->depth)
      continue;
    const int64_t at = (unit / s->inner * s->depth + i) * s->inner + unit % s->inner;
    copy_row(m->y + at * s->element_bytes, m->on, s->element_bytes);
  }
}

void pick_mark(const MarkShape *s, const void *index, const void *on, const void *off, void *y,
               Pool *pool)
{
  const Mark m = {s, index, on, y};
  move_fill(y, off, s->outer * s->depth * s->inner, s->element_bytes, pool);
  span_run(pool, s->outer * s->inner, 4, mark_body, (void *)&m);
}
