// SPDX-License-Identifier: Apache-2.0
#include "compile/passes.h"

Status passes_run(Graph *g, Diag *d)
{
#define PASS(name) TRY(name##_pass(g, d));
#include "compile/passes.list"
#undef PASS
  return ST_OK;
}

void graph_keep_nodes(Graph *g, const bool *keep)
{
  size_t kept = 0;
  for (size_t i = 0; i < g->n_tensors; ++i)
    g->tensors[i].producer = -1;
  for (size_t i = 0; i < g->n_nodes; ++i) {
    if (!keep[i])
      continue;
    Node *n = &g->nodes[kept];
    *n = g->nodes[i];
    for (int k = 0; k < n->n_out; ++k)
      g->tensors[n->out[k]].producer = (int32_t)kept;
    ++kept;
  }
  g->n_nodes = kept;
}

void graph_count_readers(const Graph *g, int32_t *readers)
{
  for (size_t i = 0; i < g->n_nodes; ++i) {
    const Node *n = &g->nodes[i];
    for (int k = 0; k < n->n_in; ++k)
      if (n->in[k] >= 0)
        ++readers[n->in[k]];
    if (n->acc >= 0)
      ++readers[n->acc];
  }
  for (int i = 0; i < g->n_outputs; ++i)
    ++readers[g->outputs[i]];
}
