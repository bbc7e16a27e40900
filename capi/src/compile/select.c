// SPDX-License-Identifier: Apache-2.0
#include "compile/select.h"

static bool touches_samples(const Graph *g, const Node *n)
{
  for (int i = 0; i < n->n_in; ++i)
    if (n->in[i] >= 0 && g->tensors[n->in[i]].batched)
      return true;
  for (int i = 0; i < n->n_out; ++i)
    if (g->tensors[n->out[i]].batched)
      return true;
  return false;
}

Status select_kernel(const Graph *g, const Node *n, const SelectTarget *target, Arena *arena,
                     Selected *out, Diag *d)
{
  *out = (Selected){.loops = 1};
  if (n->op->flags & OP_ALIAS)
    return ST_OK;
  bool batched = touches_samples(g, n);
  bool merged = batched && n->op->merge && n->op->merge(g, n);
  Bind b = {.g = g,
            .node = n,
            .diag = d,
            .arena = arena,
            .n = merged ? target->samples : 1,
            .threads = target->threads,
            .constants_stay = target->constants_stay};
  if (!n->op->bind)
    return bind_fail(&b, "this operator has no kernel");
  TRY(n->op->bind(&b));
  *out = (Selected){b.run, b.args, b.scratch, batched && !merged ? target->samples : 1};
  return ST_OK;
}
