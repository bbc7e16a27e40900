// SPDX-License-Identifier: Apache-2.0
#include "graph/shape.h"

#include <stdio.h>

Shape shape_of(int rank, const int32_t *dims)
{
  Shape s = {.rank = rank};
  for (int i = 0; i < rank; ++i)
    s.dim[i] = dims[i];
  return s;
}

bool shape_equal(const Shape *a, const Shape *b)
{
  if (a->rank != b->rank)
    return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dim[i] != b->dim[i])
      return false;
  return true;
}

bool shape_known(const Shape *s)
{
  for (int i = 0; i < s->rank; ++i)
    if (s->dim[i] < 0)
      return false;
  return true;
}

bool shape_numel_checked(const Shape *s, int64_t *n)
{
  int64_t product = 1;
  for (int i = 0; i < s->rank; ++i)
    if (s->dim[i] < 0 || __builtin_mul_overflow(product, (int64_t)s->dim[i], &product))
      return false;
  *n = product;
  return true;
}

int64_t shape_span(const Shape *s, int from, int to)
{
  int64_t product = 1;
  for (int i = from; i < to; ++i)
    product *= s->dim[i];
  return product;
}

int64_t shape_numel(const Shape *s)
{
  return shape_span(s, 0, s->rank);
}

bool shape_broadcast(const Shape *a, const Shape *b, Shape *out)
{
  Shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (int i = 0; i < r.rank; ++i) {
    int32_t x = i < a->rank ? a->dim[a->rank - 1 - i] : 1;
    int32_t y = i < b->rank ? b->dim[b->rank - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return false;
    r.dim[r.rank - 1 - i] = x == 1 ? y : x;
  }
  *out = r;
  return true;
}

ShapeText shape_text(const Shape *s)
{
  ShapeText t = {"["};
  size_t used = 1;
  for (int i = 0; i < s->rank; ++i)
    used += (size_t)snprintf(t.text + used, sizeof t.text - used, i ? ",%d" : "%d", s->dim[i]);
  snprintf(t.text + used, sizeof t.text - used, "]");
  return t;
}

void shape_strides(const Shape *s, int64_t *strides)
{
  int64_t step = 1;
  for (int i = s->rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= s->dim[i];
  }
}

bool shape_axis(int64_t axis, int rank, int *out)
{
  if (axis < -rank || axis >= rank)
    return false;
  *out = (int)(axis < 0 ? axis + rank : axis);
  return true;
}
