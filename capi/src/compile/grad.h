// SPDX-License-Identifier: Apache-2.0
// The gradient pass: appends losses, backward nodes and update nodes to a graph whose trained
// constants are marked TK_PARAM.
//
//   before: x, w -> DENSE -> y (output)
//   after:  x, w -> DENSE -> y;  y, label -> LOSS -> l;  y, label -> LOSS_GRAD -> dy;
//           x, dy -> DENSE_WEIGHT_GRAD -> dw;  w, dw -> SGD_UPDATE
#ifndef COMPILE_GRAD_H
#define COMPILE_GRAD_H

#include "graph/graph.h"

typedef enum { LOSS_KIND_MSE, LOSS_KIND_CCE } LossKind;

typedef struct {
  LossKind loss;
  bool mean;           // divide by the number of rows in the step; else sum
  bool adam;           // else SGD
  int32_t sample_rows; // dimension 0 of the file's inputs: rows that one sample counts for
} GradOptions;

typedef struct {
  int32_t param;    // tensor, TK_PARAM
  int32_t gradient; // tensor of the same shape
  int32_t m, v;     // Adam: tensors TK_STATE whose data the caller provides; else -1
} Trained;

typedef struct {
  int32_t *labels; // [n_outputs] tensors TK_INPUT, shaped like the outputs
  int32_t *losses; // [n_outputs] tensors [rows of one sample], batched
  Trained *trained;
  size_t n_trained;
  size_t n_forward; // nodes before the first backward node: forward and losses
} GradResult;

// Fails with a text that names the node where no gradient exists, or where an output cannot have
// a loss. The graph is then unusable.
Status grad_pass(Graph *g, const GradOptions *o, GradResult *result, Diag *d) MUST_USE;

#endif
