// SPDX-License-Identifier: Apache-2.0
// One geometric form for slicing, padding and concatenation: a box of elements inside a larger
// tensor, read or written by a strided copy.
#ifndef OPS_BOXES_H
#define OPS_BOXES_H

#include "kernels/move.h"
#include "ops/op.h"

// Element i of the box stands at begin + i * stride, count of them, per axis.
typedef struct {
  int32_t rank;
  int32_t begin[MAX_RANK], stride[MAX_RANK], count[MAX_RANK];
} Box;

// The whole of a tensor.
Box box_whole(const Shape *s);
// The strided copy between the box in `outer` and a dense tensor of the box's counts;
// `outer_is_src` says which side is which. *offset is where the box begins in outer, in elements.
MoveShape box_move(const Box *box, const Shape *outer, bool outer_is_src, int32_t element_bytes,
                   int64_t *offset);
// The strided copies between a tensor and n parts of it, which lie one behind the other along an
// axis, each dense in memory of its own.
typedef struct {
  int32_t n, bytes;
  MoveShape *move; // [n]
  int64_t *offset; // [n] where each begins in the whole, in bytes
} Parts;
Status parts_bind(Bind *b, const Shape *whole, int axis, const int32_t *extent, int n,
                  bool whole_is_src, DType type, Parts *out) MUST_USE;

#endif
