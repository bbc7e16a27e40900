// SPDX-License-Identifier: Apache-2.0
// One form for whatever puts elements of one operand elsewhere: slices, pads, permutations, blocks,
// and the gradients of all of these, which are the same the other way round.
#ifndef OPS_VIEWS_H
#define OPS_VIEWS_H

#include "ops/boxes.h"

// The result of a node as copies from its operand, both of one sample. Within a piece no element is
// written twice.
typedef struct {
  Shape from, to;
  int32_t n;
  Piece *piece;
  bool repeats; // pieces may read what others read; nothing is written twice
  bool adds;    // the other way round: what several pieces write is their sum
} View;

// How an operator's attributes and constant operands make a view. The pieces are in `arena`; where
// that is NULL, only `to` is wanted.
typedef Status (*ViewReader)(Infer *f, Arena *arena, View *v);

// Room for n pieces. False when memory is short.
bool view_pieces(View *v, Arena *arena, int32_t n);
// The view that is one piece.
Status view_of_piece(Diag *d, Arena *arena, const Piece *p, View *v) MUST_USE;

// For OpDef: infer and grad of operand 0. Samples always run as one.
Status view_infer(Infer *f, ViewReader read) MUST_USE;
Status view_grad(Grad *g, ViewReader read) MUST_USE;
// Operand 0 to output 0. What no piece writes is `hole`, bits of an element, or the value of
// operand `value` where that is not negative.
Status view_bind(Bind *b, ViewReader read, uint64_t hole, int value) MUST_USE;
// Appends the node that reads t through v.
int32_t view_node(Grad *g, const View *v, int32_t t);

#endif
