// SPDX-License-Identifier: Apache-2.0
// SPACE_TO_DEPTH and SPACE_TO_BATCH_ND, which cut space into blocks and sort its elements by their
// places in the block, and the way back. Samples stay apart: the batch is that of one sample.
#include "ops/views.h"

typedef struct {
  int32_t block;
} BlockAttr;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  const int32_t block = fb_i32(*options, 0, 0);
  if (block < 1)
    return diag_fail(d, ST_ERROR, "block_size is %d, wanted 1 or more", block);
  ((BlockAttr *)attr)->block = block;
  return ST_OK;
}

// ---- SPACE_TO_DEPTH, DEPTH_TO_SPACE ----

static Status wants_images(const Infer *f, const View *v)
{
  if (v->from.rank != 4)
    return infer_fail(f, "input 0 has shape %s, wanted rank 4", shape_text(&v->from).text);
  return ST_OK;
}

// From space [n,h,w,c] to depth [n,h/b,w/b,(dy,dx,c)].
static Piece depth_piece(const Shape *space, const Shape *depth, int32_t block)
{
  int64_t from[MAX_RANK], to[MAX_RANK];
  shape_strides(space, from);
  shape_strides(depth, to);
  const int32_t c = space->dim[3];
  return (Piece){
    .move = {.rank = 6,
             .dim = {space->dim[0], depth->dim[1], block, depth->dim[2], block, c},
             .src_stride = {from[0], from[1] * block, from[1], from[2] * block, from[2], 1},
             .dst_stride = {to[0], to[1], (int64_t)block * c, to[2], c, 1}}};
}

static Status read_space_to_depth(Infer *f, Arena *arena, View *v)
{
  const int32_t block = ((const BlockAttr *)f->node->attr)->block;
  TRY(wants_images(f, v));
  const Shape *x = &v->from;
  const int64_t channels = (int64_t)x->dim[3] * block * block;
  if (x->dim[1] % block || x->dim[2] % block || block > INT32_MAX / block || channels > INT32_MAX)
    return infer_fail(f, "blocks of %d do not cut shape %s", block, shape_text(x).text);
  v->to = (Shape){.rank = 4,
                  .dim = {x->dim[0], x->dim[1] / block, x->dim[2] / block, (int32_t)channels}};
  const Piece p = depth_piece(x, &v->to, block);
  return view_of_piece(f->diag, arena, &p, v);
}

static Status read_depth_to_space(Infer *f, Arena *arena, View *v)
{
  const int32_t block = ((const BlockAttr *)f->node->attr)->block;
  TRY(wants_images(f, v));
  const Shape *x = &v->from;
  const int64_t h = (int64_t)x->dim[1] * block, w = (int64_t)x->dim[2] * block;
  if (block > INT32_MAX / block || x->dim[3] % (block * block) || h > INT32_MAX || w > INT32_MAX)
    return infer_fail(f, "blocks of %d cannot be made of shape %s", block, shape_text(x).text);
  v->to = (Shape){.rank = 4, .dim = {x->dim[0], (int32_t)h, (int32_t)w,
                                     x->dim[3] / (block * block)}};
  const Piece p = depth_piece(&v->to, x, block), turned = piece_turned(&p);
  return view_of_piece(f->diag, arena, &turned, v);
}

// ---- SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND ----

typedef struct {
  int n;                                  // axes that are cut, from 1 on
  int32_t block[MAX_RANK], before[MAX_RANK], after[MAX_RANK];
  int64_t blocks;                         // product of block
} Cuts;

static Status read_cuts(Infer *f, const View *v, Cuts *c)
{
  const Tensor *pads = infer_in(f, 2);
  int64_t block[MAX_RANK], pad[2 * MAX_RANK];
  int n = 0;
  TRY(infer_ints(f, 1, block, MAX_RANK, &c->n));
  TRY(infer_ints(f, 2, pad, 2 * MAX_RANK, &n));
  if (c->n > v->from.rank - 1)
    return infer_fail(f, "%d block sizes for an input of shape %s", c->n,
                      shape_text(&v->from).text);
  if (n != 2 * c->n || pads->shape.rank != 2 || pads->shape.dim[1] != 2)
    return infer_fail(f, "paddings or crops have shape %s, wanted [%d,2]",
                      shape_text(&pads->shape).text, c->n);
  c->blocks = 1;
  for (int i = 0; i < c->n; ++i) {
    if (block[i] < 1 || __builtin_mul_overflow(c->blocks, block[i], &c->blocks) ||
        c->blocks > INT32_MAX)
      return infer_fail(f, "block size %lld of axis %d is out of range", (long long)block[i],
                        1 + i);
    if (pad[2 * i] < 0 || pad[2 * i] > INT32_MAX || pad[2 * i + 1] < 0 ||
        pad[2 * i + 1] > INT32_MAX)
      return infer_fail(f, "padding or crop %lld, %lld of axis %d is out of range",
                        (long long)pad[2 * i], (long long)pad[2 * i + 1], 1 + i);
    c->block[i] = (int32_t)block[i];
    c->before[i] = (int32_t)pad[2 * i];
    c->after[i] = (int32_t)pad[2 * i + 1];
  }
  return ST_OK;
}

// Blocks [block, block + blocks) of an axis with the places [place, place + places) in each. Space
// that does not begin or end with a whole block has up to three of these.
typedef struct {
  int64_t block, blocks, place, places;
} Run;

static int cut_axis(int64_t before, int64_t length, int64_t block, Run *run)
{
  const int64_t end = before + length;
  int64_t at = before;
  int n = 0;
  while (at < end) {
    const int64_t place = at % block, left = end - at;
    Run r = {.block = at / block, .blocks = 1, .place = place, .places = block - place};
    if (place == 0 && left >= block)
      r.blocks = left / block;
    else if (r.places > left)
      r.places = left;
    run[n++] = r;
    at += place == 0 && left >= block ? r.blocks * block : r.places;
  }
  return n;
}

// The copy of one choice of runs from space to batch, where block (i0, i1..) is the batches from
// (i0 * block1 + i1) * n on.
static Piece batch_piece(const Cuts *c, const Shape *space, const Shape *batch,
                         const Run *const *chosen)
{
  int64_t from[MAX_RANK], to[MAX_RANK], apart = space->dim[0]; // of neighbouring places: batches
  Piece p = {.move = {.rank = 1, .dim = {space->dim[0]}}};
  MoveShape *m = &p.move;
  shape_strides(space, from);
  shape_strides(batch, to);
  m->src_stride[0] = from[0];
  m->dst_stride[0] = to[0];
  for (int i = c->n - 1; i >= 0; --i) {
    const Run *r = chosen[i];
    p.src += (r->block * c->block[i] + r->place - c->before[i]) * from[1 + i];
    p.dst += r->block * to[1 + i] + r->place * apart * to[0];
    m->dim[m->rank] = r->blocks;
    m->src_stride[m->rank] = c->block[i] * from[1 + i];
    m->dst_stride[m->rank++] = to[1 + i];
    m->dim[m->rank] = r->places;
    m->src_stride[m->rank] = from[1 + i];
    m->dst_stride[m->rank++] = apart * to[0];
    apart *= c->block[i];
  }
  for (int i = c->n + 1; i < space->rank; ++i) {
    m->dim[m->rank] = space->dim[i];
    m->src_stride[m->rank] = from[i];
    m->dst_stride[m->rank++] = to[i];
  }
  return p;
}

static Status cut_space(Infer *f, Arena *arena, const Cuts *c, const Shape *space,
                        const Shape *batch, View *v)
{
  Run run[MAX_RANK][3];
  int n[MAX_RANK], total = 1;
  for (int i = 0; i < c->n; ++i)
    total *= n[i] = cut_axis(c->before[i], space->dim[1 + i], c->block[i], run[i]);
  if (!view_pieces(v, arena, total))
    return diag_oom(f->diag);
  for (int number = 0; number < total; ++number) {
    const Run *chosen[MAX_RANK];
    for (int i = 0, rest = number; i < c->n; rest /= n[i++])
      chosen[i] = &run[i][rest % n[i]];
    v->piece[number] = batch_piece(c, space, batch, chosen);
  }
  return ST_OK;
}

static Status read_space_to_batch(Infer *f, Arena *arena, View *v)
{
  Cuts c;
  TRY(read_cuts(f, v, &c));
  v->to = v->from;
  for (int i = 0; i < c.n; ++i) {
    const int64_t padded = (int64_t)c.before[i] + v->from.dim[1 + i] + c.after[i];
    if (padded % c.block[i] || padded / c.block[i] > INT32_MAX)
      return infer_fail(f, "axis %d is %lld long with its padding, no multiple of block size %d",
                        1 + i, (long long)padded, c.block[i]);
    v->to.dim[1 + i] = (int32_t)(padded / c.block[i]);
  }
  if (c.blocks * v->from.dim[0] > INT32_MAX)
    return infer_fail(f, "%lld blocks of %d batches are too many", (long long)c.blocks,
                      v->from.dim[0]);
  v->to.dim[0] = (int32_t)(c.blocks * v->from.dim[0]);
  return arena ? cut_space(f, arena, &c, &v->from, &v->to, v) : ST_OK;
}

static Status read_batch_to_space(Infer *f, Arena *arena, View *v)
{
  Cuts c;
  TRY(read_cuts(f, v, &c));
  v->to = v->from;
  if (v->from.dim[0] % c.blocks)
    return infer_fail(f, "%d batches are no multiple of %lld blocks", v->from.dim[0],
                      (long long)c.blocks);
  v->to.dim[0] = (int32_t)(v->from.dim[0] / c.blocks);
  for (int i = 0; i < c.n; ++i) {
    const int64_t dim = (int64_t)v->from.dim[1 + i] * c.block[i] - c.before[i] - c.after[i];
    if (dim < 0 || dim > INT32_MAX)
      return infer_fail(f, "blocks of %d and crops %d, %d leave %lld of axis %d of shape %s",
                        c.block[i], c.before[i], c.after[i], (long long)dim, 1 + i,
                        shape_text(&v->from).text);
    v->to.dim[1 + i] = (int32_t)dim;
  }
  if (!arena)
    return ST_OK;
  TRY(cut_space(f, arena, &c, &v->to, &v->from, v));
  for (int32_t i = 0; i < v->n; ++i)
    v->piece[i] = piece_turned(&v->piece[i]);
  return ST_OK;
}

// ---- the operators ----

// A quantized tensor's 0 is its zero point.
static uint64_t zero_of(const Bind *b)
{
  const Quant *q = &b->g->tensors[b->node->in[0]].quant;
  return q->n > 0 ? (uint64_t)q->zero_point[0] : 0;
}

#define FUNCTIONS(kind)                                                                            \
  static Status infer_##kind(Infer *f)                                                             \
  {                                                                                                \
    return view_infer(f, read_##kind);                                                             \
  }                                                                                                \
  static Status bind_##kind(Bind *b)                                                               \
  {                                                                                                \
    return view_bind(b, read_##kind, zero_of(b), -1);                                              \
  }                                                                                                \
  static Status grad_##kind(Grad *g)                                                               \
  {                                                                                                \
    return view_grad(g, read_##kind);                                                              \
  }

FUNCTIONS(space_to_depth)
FUNCTIONS(depth_to_space)
FUNCTIONS(space_to_batch)
FUNCTIONS(batch_to_space)

#define OPERATOR(kind, inputs)                                                                     \
  .min_in = inputs, .max_in = inputs, .n_out = 1, .infer = infer_##kind, .merge = merge_always,    \
  .bind = bind_##kind, .grad = grad_##kind

const OpDef blocks_ops[] = {
  {.name = "SPACE_TO_DEPTH", .code = 26, .options = 19, .attr_bytes = sizeof(BlockAttr),
   .parse = parse, OPERATOR(space_to_depth, 1)},
  {.name = "DEPTH_TO_SPACE", .code = 5, .options = 94, .attr_bytes = sizeof(BlockAttr),
   .parse = parse, OPERATOR(depth_to_space, 1)},
  {.name = "SPACE_TO_BATCH_ND", .code = 38, .options = 25, OPERATOR(space_to_batch, 3)},
  {.name = "BATCH_TO_SPACE_ND", .code = 37, .options = 24, OPERATOR(batch_to_space, 3)},
  END_OPS};

#define BLOCK(n) ATTR(BlockAttr, n)
#define PAIRS(n, ...) CONSTANT(I32, DIMS(n, 2), VALUES(__VA_ARGS__))

const OpCase blocks_cases[] = {
  CASE("SPACE_TO_DEPTH", "options",
       IN(TENSOR(F32, DIMS(1, 2, 4, 1), VALUES(1, 2, 3, 4, 5, 6, 7, 8))),
       OUT(TENSOR(F32, DIMS(1, 1, 2, 4), VALUES(1, 2, 5, 6, 3, 4, 7, 8))), OPTIONS(OPT_INT(0, 2))),
  CASE("SPACE_TO_DEPTH", "int64",
       IN(TENSOR(I64, DIMS(1, 2, 2, 2), VALUES(1, 2, 3, 4, 5, 6, 7, -8))),
       OUT(TENSOR(I64, DIMS(1, 1, 1, 8), VALUES(1, 2, 3, 4, 5, 6, 7, -8))), BLOCK(2)),
  CASE("SPACE_TO_DEPTH", "an image", IN(RANDOM(1, 6, 3, 2)), OUT(RANDOM(1, 2, 1, 18)), BLOCK(3)),
  CASE("SPACE_TO_DEPTH", "several images a sample", IN(RANDOM(2, 2, 4, 3)),
       OUT(RANDOM(2, 1, 2, 12)), BLOCK(2)),
  CASE("SPACE_TO_DEPTH", "blocks of one", IN(RANDOM(1, 2, 3, 2)), OUT(RANDOM(1, 2, 3, 2)),
       BLOCK(1)),
  CASE("SPACE_TO_DEPTH", "refused: remainder", IN(RANDOM(1, 4, 3, 1)), BLOCK(2),
       .refusal = "blocks of 2 do not cut shape [1,4,3,1]"),
  CASE("SPACE_TO_DEPTH", "refused: no block", IN(RANDOM(1, 2, 2, 1)),
       .refusal = "block_size is 0, wanted 1 or more"),
  CASE("SPACE_TO_DEPTH", "refused: huge", IN(RANDOM(1, 0, 0, 1)), BLOCK(65536),
       .refusal = "blocks of 65536 do not cut"),
  CASE("SPACE_TO_DEPTH", "refused: rank", IN(RANDOM(2, 2, 1)), BLOCK(1),
       .refusal = "has shape [2,2,1], wanted rank 4"),
  CASE("DEPTH_TO_SPACE", "options",
       IN(TENSOR(F32, DIMS(1, 1, 2, 4), VALUES(1, 2, 5, 6, 3, 4, 7, 8))),
       OUT(TENSOR(F32, DIMS(1, 2, 4, 1), VALUES(1, 2, 3, 4, 5, 6, 7, 8))), OPTIONS(OPT_INT(0, 2))),
  CASE("DEPTH_TO_SPACE", "bytes", IN(TENSOR(U8, DIMS(1, 1, 1, 8), VALUES(1, 2, 3, 4, 5, 6, 7, 8))),
       OUT(TENSOR(U8, DIMS(1, 2, 2, 2), VALUES(1, 2, 3, 4, 5, 6, 7, 8))), BLOCK(2)),
  CASE("DEPTH_TO_SPACE", "several images a sample", IN(RANDOM(2, 2, 3, 8)),
       OUT(RANDOM(2, 4, 6, 2)), BLOCK(2)),
  CASE("DEPTH_TO_SPACE", "refused: channels", IN(RANDOM(1, 2, 2, 6)), BLOCK(2),
       .refusal = "blocks of 2 cannot be made of shape [1,2,2,6]"),
  CASE("DEPTH_TO_SPACE", "refused: huge", IN(RANDOM(1, 1, 1, 4)), BLOCK(2147483647),
       .refusal = "blocks of 2147483647"),
  CASE("SPACE_TO_BATCH_ND", "whole blocks",
       IN(TENSOR(F32, DIMS(1, 2, 4, 1), VALUES(1, 2, 3, 4, 5, 6, 7, 8)), INTS(2, 2),
          PAIRS(2, 0, 0, 0, 0)),
       OUT(TENSOR(F32, DIMS(4, 1, 2, 1), VALUES(1, 3, 2, 4, 5, 7, 6, 8)))),
  CASE("SPACE_TO_BATCH_ND", "padded, one axis, int64",
       IN(TENSOR(I64, DIMS(1, 3), VALUES(1, 2, 3)), CONSTANT(I64, DIMS(1), VALUES(2)),
          CONSTANT(I64, DIMS(1, 2), VALUES(1, 2))),
       OUT(TENSOR(I64, DIMS(2, 3), VALUES(0, 2, 0, 1, 3, 0)))),
  CASE("SPACE_TO_BATCH_ND", "of two batches",
       IN(TENSOR(F32, DIMS(2, 2), VALUES(1, 2, 3, 4)), INTS(2), PAIRS(1, 0, 0)),
       OUT(TENSOR(F32, DIMS(4, 1), VALUES(1, 3, 2, 4)))),
  CASE("SPACE_TO_BATCH_ND", "of a dilated convolution",
       IN(RANDOM(1, 7, 5, 2), INTS(2, 3), PAIRS(2, 2, 3, 1, 3)), OUT(RANDOM(6, 6, 3, 2))),
  CASE("SPACE_TO_BATCH_ND", "blocks larger than space",
       IN(RANDOM(1, 2, 3, 2), INTS(5, 2), PAIRS(2, 2, 1, 0, 1)), OUT(RANDOM(10, 1, 2, 2))),
  CASE("SPACE_TO_BATCH_ND", "padding of whole blocks", IN(RANDOM(2, 2, 2), INTS(2),
          PAIRS(1, 4, 2)), OUT(RANDOM(4, 4, 2))),
  CASE("SPACE_TO_BATCH_ND", "three axes", IN(RANDOM(1, 3, 2, 3, 2), INTS(2, 2, 2),
          PAIRS(3, 1, 0, 0, 0, 0, 1)), OUT(RANDOM(8, 2, 1, 2, 2))),
  CASE("SPACE_TO_BATCH_ND", "no axis", IN(RANDOM(2, 3), CONSTANT(I32, DIMS(0)),
          CONSTANT(I32, DIMS(0, 2))), OUT(RANDOM(2, 3))),
  CASE("SPACE_TO_BATCH_ND", "nothing", IN(RANDOM(1, 0, 2), INTS(2), PAIRS(1, 1, 1)),
       OUT(RANDOM(2, 1, 2))),
  CASE("SPACE_TO_BATCH_ND", "refused: remainder", IN(RANDOM(1, 3), INTS(2), PAIRS(1, 0, 0)),
       .refusal = "axis 1 is 3 long with its padding, no multiple of block size 2"),
  CASE("SPACE_TO_BATCH_ND", "refused: axes", IN(RANDOM(1, 3), INTS(1, 1), PAIRS(2, 0, 0, 0, 0)),
       .refusal = "2 block sizes for an input of shape [1,3]"),
  CASE("SPACE_TO_BATCH_ND", "refused: pairs", IN(RANDOM(1, 3), INTS(1), PAIRS(2, 0, 0, 0, 0)),
       .refusal = "have shape [2,2], wanted [1,2]"),
  CASE("SPACE_TO_BATCH_ND", "refused: no block", IN(RANDOM(1, 3), INTS(0), PAIRS(1, 0, 0)),
       .refusal = "block size 0 of axis 1"),
  CASE("SPACE_TO_BATCH_ND", "refused: padding", IN(RANDOM(1, 3), INTS(1), PAIRS(1, -1, 1)),
       .refusal = "padding or crop -1, 1 of axis 1"),
  CASE("SPACE_TO_BATCH_ND", "refused: too many", IN(RANDOM(4, 0), INTS(2147483647),
          PAIRS(1, 0, 0)), .refusal = "2147483647 blocks of 4 batches are too many"),
  CASE("BATCH_TO_SPACE_ND", "whole blocks",
       IN(TENSOR(F32, DIMS(4, 1, 2, 1), VALUES(1, 3, 2, 4, 5, 7, 6, 8)), INTS(2, 2),
          PAIRS(2, 0, 0, 0, 0)),
       OUT(TENSOR(F32, DIMS(1, 2, 4, 1), VALUES(1, 2, 3, 4, 5, 6, 7, 8)))),
  CASE("BATCH_TO_SPACE_ND", "cropped, int16",
       IN(TENSOR(I16, DIMS(2, 3), VALUES(0, 2, 0, 1, 3, 0)), INTS(2), PAIRS(1, 1, 2)),
       OUT(TENSOR(I16, DIMS(1, 3), VALUES(1, 2, 3)))),
  CASE("BATCH_TO_SPACE_ND", "of a dilated convolution",
       IN(RANDOM(6, 4, 3, 2), INTS(2, 3), PAIRS(2, 1, 0, 0, 2)), OUT(RANDOM(1, 7, 7, 2))),
  CASE("BATCH_TO_SPACE_ND", "to several batches", IN(RANDOM(6, 2, 2), INTS(3), PAIRS(1, 0, 1)),
       OUT(RANDOM(2, 5, 2))),
  CASE("BATCH_TO_SPACE_ND", "all cropped", IN(RANDOM(2, 1), INTS(2), PAIRS(1, 1, 1)),
       OUT(RANDOM(1, 0))),
  CASE("BATCH_TO_SPACE_ND", "refused: batches", IN(RANDOM(3, 2), INTS(2), PAIRS(1, 0, 0)),
       .refusal = "3 batches are no multiple of 2 blocks"),
  CASE("BATCH_TO_SPACE_ND", "refused: crops", IN(RANDOM(2, 2), INTS(2), PAIRS(1, 3, 2)),
       .refusal = "crops 3, 2 leave -1 of axis 1 of shape [2,2]"),
  CASE("BATCH_TO_SPACE_ND", "refused: not constant", IN(RANDOM(2, 2), TENSOR(I32, DIMS(1)),
          PAIRS(1, 0, 0)), .refusal = "must be constant"),
  END_CASES};
