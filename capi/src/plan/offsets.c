// SPDX-License-Identifier: Apache-2.0
// Greedy by size: the largest item first, each at the lowest place that is free during its life.
#include "plan/offsets.h"

#include "base/mem.h"

#include <stdlib.h>

typedef struct {
  PlanItem *item;
  size_t index;
} Ref;

static int larger_first(const void *a, const void *b)
{
  const Ref *x = a, *y = b;
  if (x->item->bytes != y->item->bytes)
    return x->item->bytes < y->item->bytes ? 1 : -1;
  if (x->item->first != y->item->first)
    return x->item->first < y->item->first ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int lower_first(const void *a, const void *b)
{
  const PlanItem *x = *(PlanItem *const *)a, *y = *(PlanItem *const *)b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

Status plan_offsets(PlanItem *items, size_t n, size_t *total)
{
  *total = 0;
  Ref *order = mem_alloc(sizeof(Ref) * n);
  PlanItem **busy = mem_alloc(sizeof(PlanItem *) * n);
  if (!order || !busy) {
    mem_free(order);
    mem_free(busy);
    return ST_OOM;
  }
  for (size_t i = 0; i < n; ++i)
    order[i] = (Ref){&items[i], i};
  qsort(order, n, sizeof *order, larger_first);
  for (size_t i = 0; i < n; ++i) {
    PlanItem *it = order[i].item;
    it->offset = 0;
    if (it->bytes == 0)
      continue;
    size_t n_busy = 0;
    for (size_t k = 0; k < i; ++k) {
      PlanItem *other = order[k].item;
      if (other->bytes && other->first <= it->last && it->first <= other->last)
        busy[n_busy++] = other;
    }
    qsort(busy, n_busy, sizeof *busy, lower_first);
    size_t at = 0;
    for (size_t k = 0; k < n_busy && busy[k]->offset < at + it->bytes; ++k) {
      size_t end = mem_align_up(busy[k]->offset + busy[k]->bytes);
      if (end > at)
        at = end;
    }
    it->offset = at;
    if (at + it->bytes > *total)
      *total = at + it->bytes;
  }
  mem_free(order);
  mem_free(busy);
  return ST_OK;
}
