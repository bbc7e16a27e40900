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

// A box in a larger tensor: element i of it stands at begin + i * stride, count of them, per axis.
typedef struct {
  int32_t rank;
  int32_t begin[MAX_RANK], stride[MAX_RANK], count[MAX_RANK];
} Box;

typedef struct {
  Box box;
  Shape outer; // shape of the larger tensor
  Shape inner; // shape of the result of BOX_READ (axes of one element may be dropped)
} BoxAttr;

typedef struct {
  Shape whole;
  int32_t axis;
  const int32_t *extent; // of every operand along the axis, those that are absent too
} JoinAttr;

typedef struct {
  Shape shape;
} ReshapeToAttr;

typedef struct {
  int32_t perm[MAX_RANK];
} PermAttr;

#endif
