// SPDX-License-Identifier: Apache-2.0
// The pure part of memory planning: intervals in, offsets out.
#ifndef PLAN_OFFSETS_H
#define PLAN_OFFSETS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
  size_t bytes;
  int32_t first, last; // steps at which it must hold its bytes, both included
  size_t offset;       // result, a multiple of MEM_ALIGN
} PlanItem;

// Gives every item an offset such that items alive at the same step do not overlap; *total is the
// size of the block. Deterministic. Items of 0 bytes get offset 0.
Status plan_offsets(PlanItem *items, size_t n, size_t *total) MUST_USE;

#endif
