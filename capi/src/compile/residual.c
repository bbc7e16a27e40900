// SPDX-License-Identifier: Apache-2.0
// Lets the kernel that makes one operand of an addition add the other.
//
//   before: c = CONV_2D(x); y = RELU(ADD(c, r))           after: y = RELU(CONV_2D(x) + r)
#include "compile/passes.h"
#include "ops/op.h"

typedef struct {
  Graph *g;
  int32_t *readers; // see graph_count_readers
  bool *keep;       // [n_nodes]
} Residual;

// Whether the producer of c can add `other` and then stand for the addition `sum`.
static bool can_add(const Residual *r, const Node *sum, int32_t c, int32_t other)
{
  const Graph *g = r->g;
  const Tensor *y = &g->tensors[sum->out[0]], *from = &g->tensors[c], *with = &g->tensors[other];
  if (from->producer < 0 || r->readers[c] != 1 || with->kind != TK_TEMP ||
      with->producer >= from->producer)
    return false;
  const Node *n = &g->nodes[from->producer];
  return (n->op->flags & OP_FUSES_ACT) && (n->op->flags & OP_ADDS_APART) && n->act == ACT_NONE &&
         n->acc < 0 && from->dtype == y->dtype && shape_equal(&from->shape, &y->shape) &&
         shape_equal(&with->shape, &y->shape) && from->batched == y->batched &&
         with->batched == y->batched;
}

Status residual_pass(Graph *g, Diag *d)
{
  const OpDef *add = op_by_name("ADD");
  Residual r = {.g = g};
  r.readers = arena_array(g->arena, g->n_tensors, sizeof *r.readers);
  r.keep = arena_array(g->arena, g->n_nodes, sizeof *r.keep);
  if (!r.readers || !r.keep)
    return diag_oom(d);
  graph_count_readers(g, r.readers);
  for (size_t i = 0; i < g->n_nodes; ++i) {
    Node *sum = &g->nodes[i];
    r.keep[i] = true;
    for (int k = 0; k < 2 && sum->op == add && sum->acc < 0 && r.keep[i]; ++k) {
      const int32_t c = sum->in[k], other = sum->in[1 - k];
      if (!can_add(&r, sum, c, other))
        continue;
      Node *n = &g->nodes[g->tensors[c].producer];
      n->acc = other;
      n->act = sum->act;
      n->out[0] = sum->out[0];
      g->tensors[n->out[0]].producer = g->tensors[c].producer;
      g->tensors[c].producer = -1;
      r.keep[i] = false;
    }
  }
  graph_keep_nodes(g, r.keep);
  return ST_OK;
}
