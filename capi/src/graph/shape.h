// SPDX-License-Identifier: Apache-2.0
// Shapes, and the only place where dimensions are multiplied: with overflow checks.
#ifndef GRAPH_SHAPE_H
#define GRAPH_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_RANK = 8 };

typedef struct {
  int32_t rank;
  int32_t dim[MAX_RANK]; // row-major: the last one varies fastest; -1 is unknown
} Shape;

typedef struct {
  char text[MAX_RANK * 12 + 3];
} ShapeText;

Shape shape_of(int rank, const int32_t *dims);
bool shape_equal(const Shape *a, const Shape *b);
// True where every dimension is known.
bool shape_known(const Shape *s);
// Number of elements; false where it does not fit int64 or a dimension is unknown. Rank 0 has 1.
bool shape_numel_checked(const Shape *s, int64_t *n);
// The same for a shape that is known to be valid.
int64_t shape_numel(const Shape *s);
// Elements of dimensions [from, to).
int64_t shape_span(const Shape *s, int from, int to);
// Numpy broadcasting of right-aligned shapes; false where they do not fit.
bool shape_broadcast(const Shape *a, const Shape *b, Shape *out);
// "[1,28,28,3]", for messages: shape_text(&s).text
ShapeText shape_text(const Shape *s);
// Element strides of a dense row-major tensor.
void shape_strides(const Shape *s, int64_t *strides);
// A negative axis counts from the end; false outside [-rank, rank).
bool shape_axis(int64_t axis, int rank, int *out);

#endif
