// SPDX-License-Identifier: Apache-2.0
// Boxes of elements inside a tensor, and the strided copies between them.
#ifndef OPS_BOXES_H
#define OPS_BOXES_H

#include "kernels/move.h"
#include "ops/op.h"

// Element i of the box stands at begin + i * stride, count of them, per axis.
typedef struct {
  int32_t rank;
  int32_t begin[MAX_RANK], stride[MAX_RANK], count[MAX_RANK];
} Box;

// A strided copy whose strides count elements, as do the places of its first element.
typedef struct {
  MoveShape move;
  int64_t src, dst;
} Piece;

// The whole of a tensor.
Box box_whole(const Shape *s);
// The copy from a box in one tensor to a box of the same counts in another.
Piece box_piece(const Box *src, const Shape *from, const Box *dst, const Shape *to);
// The copy between a box and a dense tensor of its counts.
Piece box_read(const Box *box, const Shape *from);
Piece box_write(const Box *box, const Shape *to);
// The same the other way round.
Piece piece_turned(const Piece *p);

// The copies between a tensor and n parts of it, which lie one behind the other along an axis, each
// dense in memory of its own. Read from or written to the whole.
Status parts_bind(Bind *b, const Shape *whole, int axis, const int32_t *extent, int n,
                  bool whole_is_read, DType type, Piece **out) MUST_USE;
// Runs one; `add` sums float32 instead.
void piece_run(const Piece *p, const void *src, void *dst, bool add, Pool *pool);

#endif
