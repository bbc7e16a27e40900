// SPDX-License-Identifier: Apache-2.0
// Where every tensor of a graph stands while a step runs, for one number of samples.
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/arena.h"
#include "graph/graph.h"

typedef struct {
  int32_t samples;
  // Outputs are copied out after node n_forward - 1; they are kept until then, as are `keep`.
  size_t n_forward;
  const int32_t *keep;   // tensors kept until n_forward (losses)
  size_t n_keep;
  const int32_t *keep_to_end; // tensors kept to the last node (gradients the caller reads)
  size_t n_keep_to_end;
  const size_t *scratch; // [n_nodes] bytes each node needs while it runs
} PlanRequest;

typedef struct {
  // [n_tensors] The tensor whose memory it shares: itself, or the source of an alias or of an
  // in-place result. Offsets are those of the root.
  int32_t *root;
  size_t *offset;         // [n_tensors] of TK_TEMP roots
  size_t *scratch_offset; // [n_nodes]
  size_t bytes;           // of the block
} Plan;

// Bytes of a tensor for that many samples.
size_t plan_tensor_bytes(const Tensor *t, int32_t samples);

Status plan_build(const Graph *g, const PlanRequest *request, Arena *arena, Plan *out,
                  Diag *d) MUST_USE;

#endif
