// SPDX-License-Identifier: Apache-2.0
// How kernels share out loops over the pool, and walk strided index spaces. Private to kernels/.
//
// Tasks are cut by the problem only, so every task computes the same bits on any pool; work that
// fills one task stays on the caller's thread.
#ifndef KERNELS_SPAN_H
#define KERNELS_SPAN_H

#include "base/pool.h"

#include <stdint.h>

// Cost of one task, in simple element operations: a few microseconds, well above what handing out
// a task takes, and its operands fit the second-level cache.
enum { SPAN_COST = 16384 };

// Units first .. first + n - 1.
typedef void (*SpanBody)(void *context, int64_t first, int64_t n);

typedef struct {
  int64_t n_units, units_per_task;
  SpanBody body;
  void *context;
} Span;

static inline void span_task(void *context, int task, int worker)
{
  const Span *s = context;
  (void)worker;
  int64_t first = task * s->units_per_task;
  int64_t left = s->n_units - first;
  s->body(s->context, first, left < s->units_per_task ? left : s->units_per_task);
}

// Runs body over n_units units of unit_cost operations each, many small ones in one task.
static inline void span_run(Pool *pool, int64_t n_units, int64_t unit_cost, SpanBody body,
                            void *context)
{
  if (n_units <= 0)
    return;
  int64_t per_task = unit_cost <= 0 ? SPAN_COST : SPAN_COST / unit_cost;
  Span s = {n_units, per_task < 1 ? 1 : per_task, body, context};
  if (n_units <= s.units_per_task)
    body(context, 0, n_units);
  else
    pool_run(pool, (int)((n_units + s.units_per_task - 1) / s.units_per_task), span_task, &s);
}

// A row of elements cut into `count` pieces of `length`, the last one maybe shorter, so that a
// piece is at most one task.
typedef struct {
  int64_t length, count;
} Pieces;

static inline Pieces span_pieces(int64_t row_length)
{
  Pieces p = {row_length < SPAN_COST ? row_length : SPAN_COST, 0};
  p.count = p.length > 0 ? (row_length + p.length - 1) / p.length : 0;
  return p;
}

// Index space of up to SPAN_MAX_RANK dimensions that two operands walk by their own strides.
enum { SPAN_MAX_RANK = 17 };
typedef struct {
  int32_t rank;
  int64_t dim[SPAN_MAX_RANK];
  int64_t stride[2][SPAN_MAX_RANK];
} Walk;

// Position in a walk over the first `rank` dimensions.
typedef struct {
  int32_t rank;
  int64_t index[SPAN_MAX_RANK];
  int64_t offset[2];
} WalkAt;

static inline int64_t walk_count(const Walk *w, int32_t rank)
{
  int64_t n = 1;
  for (int32_t i = 0; i < rank; ++i)
    n *= w->dim[i];
  return n;
}

// Drops dimensions of 1 and joins neighbours that both operands walk as one.
static inline void walk_simplify(Walk *w)
{
  int32_t rank = 0;
  for (int32_t i = 0; i < w->rank; ++i) {
    if (w->dim[i] == 1)
      continue;
    int32_t last = rank - 1;
    if (rank > 0 && w->stride[0][last] == w->stride[0][i] * w->dim[i] &&
        w->stride[1][last] == w->stride[1][i] * w->dim[i]) {
      w->dim[last] *= w->dim[i];
      w->stride[0][last] = w->stride[0][i];
      w->stride[1][last] = w->stride[1][i];
      continue;
    }
    w->dim[rank] = w->dim[i];
    w->stride[0][rank] = w->stride[0][i];
    w->stride[1][rank] = w->stride[1][i];
    ++rank;
  }
  w->rank = rank;
}

// To row-major position `at` of the first `rank` dimensions.
static inline WalkAt walk_start(const Walk *w, int32_t rank, int64_t at)
{
  WalkAt p = {.rank = rank};
  for (int32_t i = rank - 1; i >= 0; --i) {
    p.index[i] = at % w->dim[i];
    at /= w->dim[i];
    p.offset[0] += p.index[i] * w->stride[0][i];
    p.offset[1] += p.index[i] * w->stride[1][i];
  }
  return p;
}

static inline void walk_next(const Walk *w, WalkAt *p)
{
  for (int32_t i = p->rank - 1; i >= 0; --i) {
    p->offset[0] += w->stride[0][i];
    p->offset[1] += w->stride[1][i];
    if (++p->index[i] < w->dim[i])
      return;
    p->index[i] = 0;
    p->offset[0] -= w->dim[i] * w->stride[0][i];
    p->offset[1] -= w->dim[i] * w->stride[1][i];
  }
}

#endif
