// SPDX-License-Identifier: Apache-2.0
// Which constants of a model a session trains.
#ifndef TRAIN_TRAINABLE_H
#define TRAIN_TRAINABLE_H

#include "graph/graph.h"

typedef struct {
  // Operators of the file whose weights and biases are trained. last_n: -1 all, else the last n in
  // file order; used where `ops` is NULL.
  int32_t last_n;
  const int32_t *ops;
  size_t n_ops;
  // Not NULL: patterns over tensor names decide instead (see onert_train_options.trainable).
  const char *patterns;
} TrainableChoice;

bool trainable_has_op(const TrainableChoice *c, int32_t n_model_ops, int32_t op);

// Marks the chosen constants of a freshly loaded graph as TK_PARAM. A pattern that matches no
// float32 constant is an error; so is a layer of integers that is chosen by itself, or with nothing
// else that trains.
Status trainable_mark(Graph *g, const TrainableChoice *c, Diag *d) MUST_USE;

// Whether onert keeps optimizer state for each operator's weights: those of dense and convolution
// layers from the first trained operator on that reach an output. [n_model_ops], in `arena`.
Status trainable_state_ops(const Graph *model, const TrainableChoice *c, Arena *arena,
                           bool **has_state, Diag *d) MUST_USE;

#endif
