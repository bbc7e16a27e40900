// SPDX-License-Identifier: Apache-2.0
// Prints the checkpoint order of graphs given as numbers on standard input, one graph a line:
//
//   TENSORS  N inputs..  N outputs..  N constants..  OPERATORS  (N inputs..  N outputs..)*
//
// Answer, one line a graph: "tensor:owner" for each entry, owner -1 for the one that keeps it.
#include "base/arena.h"
#include "base/diag.h"
#include "format/checkpoint.h"
#include "ops/op.h"

#include <stdio.h>
#include <stdlib.h>

static Arena arena;

static int number(void)
{
  int n;
  if (scanf("%d", &n) != 1)
    exit(2);
  return n;
}

static int32_t *list(int32_t *count)
{
  *count = number();
  int32_t *p = arena_array(&arena, (size_t)*count, sizeof *p);
  for (int32_t i = 0; i < *count; ++i)
    p[i] = number();
  return p;
}

static int answer(int n_tensors)
{
  static const OpDef op = {.name = "ANY"};
  Graph g = {.arena = &arena, .name = ""};
  for (int i = 0; i < n_tensors; ++i) {
    Tensor t = {.kind = TK_TEMP, .shape = {.rank = 1, .dim = {1}}, .model_tensor = i};
    t.producer = -1;
    if (graph_add_tensor(&g, &t) < 0)
      return 2;
  }
  g.n_model_tensors = n_tensors;
  g.inputs = list(&g.n_inputs);
  g.outputs = list(&g.n_outputs);
  int32_t n_constants = 0;
  int32_t *constants = list(&n_constants);
  static float value;
  for (int32_t i = 0; i < n_constants; ++i) {
    g.tensors[constants[i]].kind = TK_CONST;
    g.tensors[constants[i]].data = &value;
  }
  g.n_model_ops = number();
  for (int32_t i = 0; i < g.n_model_ops; ++i) {
    Node n = {.op = &op, .acc = -1, .model_op = i};
    n.in = list(&n.n_in);
    n.out = list(&n.n_out);
    if (graph_add_node(&g, &n) < 0)
      return 2;
  }
  CheckpointEntry *entries = NULL;
  size_t n = 0;
  Diag d = {0};
  if (checkpoint_entries(&g, &arena, &entries, &n, &d) != ST_OK) {
    fprintf(stderr, "%s\n", d.text);
    return 1;
  }
  for (size_t i = 0; i < n; ++i)
    printf("%d:%d ", entries[i].tensor, entries[i].owner);
  printf("\n");
  return 0;
}

int main(void)
{
  int n_tensors;
  while (scanf("%d", &n_tensors) == 1) {
    int status = answer(n_tensors);
    arena_drop(&arena);
    if (status)
      return status;
  }
  return 0;
}
