// SPDX-License-Identifier: Apache-2.0
// Weights that a file stores as float16 or as integers with scales train as float32 copies.
#ifndef TRAIN_COPIES_H
#define TRAIN_COPIES_H

#include "graph/graph.h"

// Before any pass, in a copy of the model's graph: weights of float32 layers that are stored in
// another type, or come out of a DEQUANTIZE of their own, become float32 constants of their own, in
// the graph's arena. home[n_model_tensors]: the tensor of the file that holds the bytes of each.
Status copies_make(Graph *g, int32_t **home, Diag *d) MUST_USE;

#endif
