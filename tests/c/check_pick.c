// SPDX-License-Identifier: Apache-2.0
// Checks of rows picked by index and of their gradient: indices that repeat, that lie outside,
// tables of their own for every sample and shared ones.
#include "checkkern.h"

#include "kernels/pick.h"

#include <math.h>
#include <string.h>

static PickShape random_shape(Check *c)
{
  PickShape s = {.samples = check_int(c, 1, 3), .batch = check_int(c, 1, 3),
                 .outer = check_int(c, 1, 3), .count = check_size(c, 0, 40),
                 .inner = check_size(c, 0, 70), .depth = (int32_t)check_int(c, 0, 3),
                 .wide = check_int(c, 0, 1)};
  int64_t rows = 1;
  for (int32_t d = 0; d < s.depth; ++d)
    rows *= s.dim[d] = check_int(c, 0, 30) == 0 ? 0 : check_int(c, 1, 6);
  if (check_int(c, 0, 2))
    s.table_step = s.batch * s.outer * rows * s.inner;
  if (check_int(c, 0, 2))
    s.index_step = s.batch * s.count * s.depth;
  s.y_step = s.batch * s.outer * s.count * s.inner;
  if (s.samples == 1)
    s.table_step = s.index_step = 0;
  return s;
}

static int64_t rows_of(const PickShape *s)
{
  int64_t rows = 1;
  for (int32_t d = 0; d < s->depth; ++d)
    rows *= s->dim[d];
  return rows;
}

static int64_t table_size(const PickShape *s)
{
  int64_t one = s->batch * s->outer * rows_of(s) * s->inner;
  return s->table_step ? s->samples * one : one;
}

// Mostly inside, at times outside by little or by much.
static void *random_indices(Check *c, const PickShape *s)
{
  int64_t entries = s->batch * s->count * (s->index_step ? s->samples : 1);
  int64_t n = entries * s->depth;
  int32_t *narrow = check_input_bytes(c, s->wide ? 0 : n, 4);
  int64_t *wide = check_input_bytes(c, s->wide ? n : 0, 8);
  for (int64_t i = 0; i < n; ++i) {
    int64_t dim = s->dim[i % s->depth], v = check_int(c, 0, dim > 0 ? dim - 1 : 0);
    if (check_int(c, 0, 12) == 0)
      v = check_int(c, 0, 1) ? -1 - check_int(c, 0, 1) * INT32_MAX : dim;
    if (s->wide)
      wide[i] = v == dim && check_int(c, 0, 1) ? INT64_MAX : v;
    else
      narrow[i] = (int32_t)v;
  }
  check_input_changed(c, s->wide ? (void *)wide : narrow);
  return s->wide ? (void *)wide : narrow;
}

// Elements of y and of the table of row k, or -1 in *table.
static void places(const PickShape *s, const void *index, int64_t row, int64_t *y, int64_t *table)
{
  int64_t k = row % s->count, o = row / s->count % s->outer;
  int64_t b = row / s->count / s->outer % s->batch, sample = row / s->count / s->outer / s->batch;
  *y = row * s->inner;
  int64_t at = 0;
  for (int32_t d = 0; d < s->depth; ++d) {
    int64_t i = sample * s->index_step + (b * s->count + k) * s->depth + d;
    int64_t v = s->wide ? ((const int64_t *)index)[i] : ((const int32_t *)index)[i];
    if (v < 0 || v >= s->dim[d]) {
      *table = -1;
      return;
    }
    at = at * s->dim[d] + v;
  }
  *table = sample * s->table_step + ((b * s->outer + o) * rows_of(s) + at) * s->inner;
}

static void name(Check *c, const char *what, const PickShape *s)
{
  check_case(c, "%s %lld x %lld x %lld x %lld of %lld, depth %d, steps %lld %lld", what,
             (long long)s->samples, (long long)s->batch, (long long)s->outer, (long long)s->count,
             (long long)s->inner, s->depth, (long long)s->table_step, (long long)s->index_step);
}

static void check_rows_picked(Check *c)
{
  const PickShape s = random_shape(c);
  const int b = 1 << check_int(c, 0, 3);
  name(c, "pick_rows", &s);
  const int64_t rows = s.samples * s.batch * s.outer * s.count;
  const char *table = check_input_bytes(c, table_size(&s), b);
  const void *index = random_indices(c, &s);
  char *want = check_output_bytes(c, rows * s.inner, b, NULL);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t y, from;
    places(&s, index, i, &y, &from);
    if (from < 0)
      memset(want + y * b, 0, (size_t)(s.inner * b));
    else
      memcpy(want + y * b, table + from * b, (size_t)(s.inner * b));
  }
  for (int p = 0; p < CHECK_POOLS; ++p) {
    char *y = check_output_bytes(c, rows * s.inner, b, NULL);
    pick_rows(&s, table, index, y, b, check_pool(c, p));
    check_bits(c, "y", y, want, (size_t)(rows * s.inner * b));
  }
}

static void check_rows_added(Check *c, int round)
{
  PickShape s = random_shape(c);
  if (round % 10 == 0) // more than one task
    s = (PickShape){.samples = 4, .index_step = 64, .y_step = 64 * 200, .batch = 1, .outer = 1,
                    .count = 64, .inner = 200, .depth = 1, .dim = {30}};
  name(c, "pick_add", &s);
  const int64_t rows = s.samples * s.batch * s.outer * s.count, n = table_size(&s);
  const float *dy = check_input(c, rows * s.inner, -1, 1), *old = check_input(c, n, -1, 1);
  const void *index = random_indices(c, &s);
  float *want = check_output(c, n, old);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t y, to;
    places(&s, index, i, &y, &to);
    for (int64_t k = 0; to >= 0 && k < s.inner; ++k)
      want[to + k] += dy[y + k];
  }
  for (int p = 0; p < CHECK_POOLS; ++p) {
    float *table = check_output(c, n, old);
    pick_add(&s, dy, index, table, check_pool(c, p));
    check_bits(c, "table", table, want, (size_t)n * sizeof *want);
  }
}

static void check_marks(Check *c)
{
  const MarkShape s = {.outer = check_size(c, 0, 300), .depth = check_size(c, 0, 40),
                       .inner = check_size(c, 0, 20), .wide = check_int(c, 0, 1),
                       .element_bytes = 1 << check_int(c, 0, 3)};
  const int b = s.element_bytes;
  check_case(c, "pick_mark %lld x %lld x %lld", (long long)s.outer, (long long)s.depth,
             (long long)s.inner);
  const PickShape indices = {.samples = 1, .batch = 1, .count = s.outer * s.inner, .depth = 1,
                             .dim = {s.depth}, .wide = s.wide};
  const void *index = random_indices(c, &indices);
  const char *on = check_input_bytes(c, 1, b), *off = check_input_bytes(c, 1, b);
  const int64_t n = s.outer * s.depth * s.inner;
  char *want = check_output_bytes(c, n, b, NULL);
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = i / s.inner / s.depth * s.inner + i % s.inner;
    int64_t v = s.wide ? ((const int64_t *)index)[at] : ((const int32_t *)index)[at];
    memcpy(want + i * b, v == i / s.inner % s.depth ? on : off, (size_t)b);
  }
  for (int p = 0; p < CHECK_POOLS; ++p) {
    char *y = check_output_bytes(c, n, b, NULL);
    pick_mark(&s, index, on, off, y, check_pool(c, p));
    check_bits(c, "y", y, want, (size_t)(n * b));
  }
}

static void bench(Check *c)
{
  enum { WORDS = 30000, WIDTH = 128, TOKENS = 4096 };
  const PickShape s = {.samples = 32, .index_step = TOKENS / 32, .y_step = TOKENS / 32 * WIDTH,
                       .batch = 1, .outer = 1, .count = TOKENS / 32, .inner = WIDTH, .depth = 1,
                       .dim = {WORDS}};
  check_case(c, "bench");
  float *table = check_output(c, WORDS * WIDTH, NULL), *y = check_output(c, TOKENS * WIDTH, NULL);
  memset(table, 0, sizeof *table * WORDS * WIDTH);
  const void *index = random_indices(c, &s);
  for (int p = 0; p < 2; ++p) {
    CheckBench t = {0};
    while (check_bench_next(&t))
      pick_rows(&s, table, index, y, 4, check_pool(c, p));
    check_bench_report(c, &t, 0, 8.0 * TOKENS * WIDTH, "4096 rows of 128, %d threads", p + 1);
    t = (CheckBench){0};
    while (check_bench_next(&t))
      pick_add(&s, y, index, table, check_pool(c, p));
    check_bench_report(c, &t, 0, 12.0 * TOKENS * WIDTH, "add 4096 rows of 128, %d threads", p + 1);
  }
}

void check_pick(Check *c)
{
  if (c->isa != ISA_BASE) // compiled once
    return;
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_rows_picked(c);
  for (int round = 0; round < 3 * c->rounds; ++round)
    check_rows_added(c, round);
  for (int round = 0; round < 2 * c->rounds; ++round)
    check_marks(c);
  if (c->bench)
    bench(c);
}
