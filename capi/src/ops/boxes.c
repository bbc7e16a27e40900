// SPDX-License-Identifier: Apache-2.0
#include "ops/boxes.h"

Box box_whole(const Shape *s)
{
  Box b = {.rank = s->rank};
  for (int i = 0; i < s->rank; ++i) {
    b.stride[i] = 1;
    b.count[i] = s->dim[i];
  }
  return b;
}

MoveShape box_move(const Box *box, const Shape *outer, bool outer_is_src, int32_t element_bytes,
                   int64_t *offset)
{
  MoveShape m = {.rank = box->rank, .element_bytes = element_bytes};
  int64_t step[MAX_RANK], dense = 1;
  shape_strides(outer, step);
  *offset = 0;
  for (int i = box->rank - 1; i >= 0; --i) {
    m.dim[i] = box->count[i];
    *offset += (int64_t)box->begin[i] * step[i];
    int64_t outer_stride = step[i] * box->stride[i];
    m.src_stride[i] = outer_is_src ? outer_stride : dense;
    m.dst_stride[i] = outer_is_src ? dense : outer_stride;
    dense *= box->count[i];
  }
  move_simplify(&m);
  return m;
}

Status parts_bind(Bind *b, const Shape *whole, int axis, const int32_t *extent, int n,
                  bool whole_is_src, DType type, Parts *out)
{
  *out = (Parts){.n = n, .bytes = (int32_t)dtype_bytes(type)};
  out->move = arena_array(b->arena, (size_t)n, sizeof *out->move);
  out->offset = arena_array(b->arena, (size_t)n, sizeof *out->offset);
  if (!out->move || !out->offset)
    return diag_oom(b->diag);
  Box box = box_whole(whole);
  for (int i = 0; i < n; ++i) {
    box.count[axis] = extent[i];
    out->move[i] = box_move(&box, whole, whole_is_src, out->bytes, &out->offset[i]);
    out->offset[i] *= out->bytes;
    box.begin[axis] += extent[i];
  }
  return ST_OK;
}
