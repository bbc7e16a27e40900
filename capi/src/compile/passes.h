// SPDX-License-Identifier: Apache-2.0
// Passes: each turns a graph into a better one that computes the same. passes.list names those that
// every session runs, in order; the gradient pass (grad.h) runs for training only, after them.
#ifndef COMPILE_PASSES_H
#define COMPILE_PASSES_H

#include "graph/graph.h"

#define PASS(name) Status name##_pass(Graph *g, Diag *d) MUST_USE;
#include "compile/passes.list"
#undef PASS

// Runs them all.
Status passes_run(Graph *g, Diag *d) MUST_USE;

// Keeps the nodes with keep[i], in order, and renumbers producers. Shared by passes.
void graph_keep_nodes(Graph *g, const bool *keep);
// readers[n_tensors], zeroed: how often nodes read each tensor; being a graph output counts too.
void graph_count_readers(const Graph *g, int32_t *readers);

#endif
