// SPDX-License-Identifier: Apache-2.0
// How kernels share out loops over the pool, and walk strided index spaces. Private to kernels/.
//
// Tasks are cut by the problem only, so every task computes the same bits on any pool; work that
// fills one task stays on the caller's thread.
#ifndef KERNELS_SPAN_H
#define KERNELS_SPAN_H

#include "base/pool.h"

#include <stdbool.h>
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

// Index space of up to SPAN_MAX_RANK dimensions that up to three operands walk by their own strides;
// those of an operand that is not there are 0.
enum { SPAN_MAX_RANK = 17, SPAN_OPERANDS = 3 };
typedef struct {
  int32_t rank;
  int64_t dim[SPAN_MAX_RANK];
  int64_t stride[SPAN_OPERANDS][SPAN_MAX_RANK];
} Walk;

// Position in a walk over the first `rank` dimensions.
typedef struct {
  int32_t rank;
  int64_t index[SPAN_MAX_RANK];
  int64_t offset[SPAN_OPERANDS];
} WalkAt;

static inline int64_t walk_count(const Walk *w, int32_t rank)
{
  int64_t n = 1;
  for (int32_t i = 0; i < rank; ++i)
    n *= w->dim[i];
  return n;
}

static inline bool walk_joins(const Walk *w, int32_t outer, int32_t inner)
{
  for (int k = 0; k < SPAN_OPERANDS; ++k)
    if (w->stride[k][outer] != w->stride[k][inner] * w->dim[inner])
      return false;
  return true;
}

// Drops dimensions of 1 and joins neighbours that all operands walk as one.
static inline void walk_simplify(Walk *w)
{
  int32_t rank = 0;
  for (int32_t i = 0; i < w->rank; ++i) {
    if (w->dim[i] == 1)
      continue;
    int32_t to = rank > 0 && walk_joins(w, rank - 1, i) ? rank - 1 : rank;
    w->dim[to] = to < rank ? w->dim[to] * w->dim[i] : w->dim[i];
    for (int k = 0; k < SPAN_OPERANDS; ++k)
      w->stride[k][to] = w->stride[k][i];
    rank = to + 1;
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
    for (int k = 0; k < SPAN_OPERANDS; ++k)
      p.offset[k] += p.index[i] * w->stride[k][i];
  }
  return p;
}

static inline void walk_next(const Walk *w, WalkAt *p)
{
  for (int32_t i = p->rank - 1; i >= 0; --i) {
    for (int k = 0; k < SPAN_OPERANDS; ++k)
      p->offset[k] += w->stride[k][i];
    if (++p->index[i] < w->dim[i])
      return;
    p->index[i] = 0;
    for (int k = 0; k < SPAN_OPERANDS; ++k)
      p->offset[k] -= w->dim[i] * w->stride[k][i];
  }
}

#endif
