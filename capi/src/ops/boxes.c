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

Piece box_piece(const Box *src, const Shape *from, const Box *dst, const Shape *to)
{
  Piece p = {.move = {.rank = src->rank}};
  int64_t from_step[MAX_RANK], to_step[MAX_RANK];
  shape_strides(from, from_step);
  shape_strides(to, to_step);
  for (int i = 0; i < src->rank; ++i) {
    p.src += src->begin[i] * from_step[i];
    p.dst += dst->begin[i] * to_step[i];
    p.move.dim[i] = src->count[i];
    p.move.src_stride[i] = src->stride[i] * from_step[i];
    p.move.dst_stride[i] = dst->stride[i] * to_step[i];
  }
  return p;
}

Piece box_read(const Box *box, const Shape *from)
{
  const Shape inner = shape_of(box->rank, box->count);
  const Box dense = box_whole(&inner);
  return box_piece(box, from, &dense, &inner);
}

Piece piece_turned(const Piece *p)
{
  Piece t = {.move = p->move, .src = p->dst, .dst = p->src};
  for (int32_t i = 0; i < p->move.rank; ++i) {
    t.move.src_stride[i] = p->move.dst_stride[i];
    t.move.dst_stride[i] = p->move.src_stride[i];
  }
  return t;
}

Piece box_write(const Box *box, const Shape *to)
{
  const Piece p = box_read(box, to);
  return piece_turned(&p);
}

Status parts_bind(Bind *b, const Shape *whole, int axis, const int32_t *extent, int n,
                  bool whole_is_read, DType type, Piece **out)
{
  Piece *piece = arena_array(b->arena, (size_t)n, sizeof *piece);
  if (!piece)
    return diag_oom(b->diag);
  Box box = box_whole(whole);
  for (int i = 0; i < n; ++i) {
    box.count[axis] = extent[i];
    piece[i] = whole_is_read ? box_read(&box, whole) : box_write(&box, whole);
    piece[i].move.element_bytes = (int32_t)dtype_bytes(type);
    move_simplify(&piece[i].move);
    box.begin[axis] += extent[i];
  }
  *out = piece;
  return ST_OK;
}

void piece_run(const Piece *p, const void *src, void *dst, bool add, Pool *pool)
{
  const int64_t bytes = p->move.element_bytes;
  const void *from = (const uint8_t *)src + p->src * bytes;
  void *to = (uint8_t *)dst + p->dst * bytes;
  if (add)
    move_add(&p->move, from, to, pool);
  else
    move_copy(&p->move, from, to, pool);
}
