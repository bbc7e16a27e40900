// SPDX-License-Identifier: Apache-2.0
// Drops nodes whose results nobody needs.
//
//   before: y = RELU(x); z = TANH(x) (unused); output y             after: y = RELU(x); output y
#include "compile/passes.h"
#include "ops/op.h"

Status dce_pass(Graph *g, Diag *d)
{
  bool *needed = arena_array(g->arena, g->n_tensors, sizeof *needed);
  bool *keep = arena_array(g->arena, g->n_nodes, sizeof *keep);
  if (!needed || !keep)
    return diag_oom(d);
  for (int i = 0; i < g->n_outputs; ++i)
    needed[g->outputs[i]] = true;
  for (size_t i = g->n_nodes; i-- > 0;) {
    const Node *n = &g->nodes[i];
    keep[i] = (n->op->flags & OP_EFFECT) != 0;
    for (int k = 0; k < n->n_out; ++k)
      keep[i] = keep[i] || needed[n->out[k]];
    if (!keep[i])
      continue;
    for (int k = 0; k < n->n_in; ++k)
      if (n->in[k] >= 0)
        needed[n->in[k]] = true;
    if (n->acc >= 0)
      needed[n->acc] = true;
  }
  graph_keep_nodes(g, keep);
  return ST_OK;
}
