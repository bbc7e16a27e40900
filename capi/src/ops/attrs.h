// SPDX-License-Identifier: Apache-2.0
// Attributes that more than one file needs: operator families share them, the gradient engine and
// passes make nodes with them.
#ifndef OPS_ATTRS_H
#define OPS_ATTRS_H

#include "graph/graph.h"

typedef struct {
  ActKind act; // whose derivative ACT_GRAD multiplies by
} ActGradAttr;

typedef struct {
  Shape shape;       // of the result: axes that are 1 or missing there are summed
  bool over_samples; // and the samples too
} SumToAttr;

typedef struct {
  float beta;
} SoftmaxAttr;

typedef struct {
  int32_t rows; // that one sample counts for
  bool mean;    // divide by the rows of the step; else sum
  float beta;   // of the softmax that SOFTMAX_CCE_GRAD goes through
} LossAttr;

typedef struct {
  Shape whole;
  int32_t axis;
  const int32_t *extent; // of every operand along the axis, those that are absent too
} JoinAttr;

typedef struct {
  Shape shape;
} ReshapeToAttr;

#endif
