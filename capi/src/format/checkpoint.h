// SPDX-License-Identifier: Apache-2.0
// Checkpoint files, byte-compatible with onert 0.1.0 (magic 429, schema 1): which tensors stand in
// them and in which order, writing, and reading that checks everything before it changes anything.
#ifndef FORMAT_CHECKPOINT_H
#define FORMAT_CHECKPOINT_H

#include "base/arena.h"
#include "base/diag.h"
#include "graph/graph.h"

// One place in a checkpoint: a constant used by an operator, once per operator that uses it.
typedef struct {
  int32_t tensor;        // index in the model
  int32_t owner;         // model operator whose copy this is; -1 for the entry that keeps the tensor
  size_t bytes;
  void *value;           // the tensor's bytes; entries of one tensor share them
  float *m, *v;          // Adam state, [bytes/4] each; NULL where the tensor has none
  bool has_state;        // the file holds Adam state of this entry (zeros where m is NULL)
} CheckpointEntry;

// The entries of a model in onert's order. `model` is the graph as loaded, before any pass. value,
// m, v and has_state are left zero. Several outputs: each has a label and a loss tensor.
Status checkpoint_entries(const Graph *model, Arena *arena, CheckpointEntry **entries, size_t *n,
                          Diag *d) MUST_USE;

Status checkpoint_write(const char *path, const CheckpointEntry *entries, size_t n, bool adam,
                        uint32_t step, Diag *d) MUST_USE;

// All or nothing: on failure no value has changed. Where entries share a tensor, the entry with
// owner -1 decides its value and state.
Status checkpoint_read(const char *path, const CheckpointEntry *entries, size_t n, bool adam,
                       uint32_t *step, Diag *d) MUST_USE;

#endif
