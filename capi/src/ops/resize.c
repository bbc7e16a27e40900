// SPDX-License-Identifier: Apache-2.0
// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR of images [N,H,W,C] to a constant size. The gradient
// adds up what has been read.
#include "kernels/resample.h"
#include "ops/attrs.h"
#include "ops/bindings.h"

typedef struct {
  ResampleMode mode;
} ResizeAttr;

typedef struct {
  ResampleMode mode;
  Shape from; // the input, one sample's
} ResizeGradAttr;

static Status parse_bilinear(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  const ResampleMode mode = {.align_corners = fb_bool(*options, 2, false),
                             .half_pixel = fb_bool(*options, 3, false)};
  if (mode.align_corners && mode.half_pixel)
    return diag_fail(d, ST_ERROR, "align_corners and half_pixel_centers exclude each other");
  ((ResizeAttr *)attr)->mode = mode;
  return ST_OK;
}

static Status parse_nearest(const FbTable *options, void *attr, int *act, Diag *d)
{
  (void)act;
  (void)d;
  ((ResizeAttr *)attr)->mode = (ResampleMode){.align_corners = fb_bool(*options, 0, false),
                                              .half_pixel = fb_bool(*options, 1, false),
                                              .nearest = true};
  return ST_OK;
}

static Status infer(Infer *f)
{
  const Tensor *x = infer_in(f, 0);
  int64_t size[2];
  int n = 0;
  if (x->shape.rank != 4)
    return infer_fail(f, "input 0 ('%s') has shape %s, wanted rank 4", x->name,
                      shape_text(&x->shape).text);
  if (!((const ResizeAttr *)f->node->attr)->mode.nearest)
    TRY(infer_expect(f, 0, DT_F32, 4));
  TRY(infer_ints(f, 1, size, 2, &n));
  if (n != 2)
    return infer_fail(f, "the size has %d values, wanted height and width", n);
  Shape y = x->shape;
  for (int i = 0; i < 2; ++i) {
    if (size[i] < 1 || size[i] > INT32_MAX || x->shape.dim[1 + i] < 1)
      return infer_fail(f, "an input of shape %s does not resize to %lld x %lld",
                        shape_text(&x->shape).text, (long long)size[0], (long long)size[1]);
    y.dim[1 + i] = (int32_t)size[i];
  }
  return infer_out(f, 0, x->dtype, y);
}

typedef struct {
  ResampleShape s;
  int32_t bytes;
} Args;

static bool make_axis(Arena *arena, ResampleMode mode, int32_t from, int32_t to, ResampleAxis *a)
{
  *a = (ResampleAxis){.from = from, .to = to};
  a->lo = arena_array(arena, (size_t)to, sizeof *a->lo);
  a->hi = arena_array(arena, (size_t)to, sizeof *a->hi);
  a->weight = arena_array(arena, (size_t)to, sizeof *a->weight);
  a->first = arena_array(arena, (size_t)from, sizeof *a->first);
  a->last = arena_array(arena, (size_t)from, sizeof *a->last);
  if (!a->lo || !a->hi || !a->weight || !a->first || !a->last)
    return false;
  resample_axis(a, mode);
  return true;
}

// `from` and `to` of all images of one call.
static Status bind_images(Bind *b, ResampleMode mode, const Shape *from, const Shape *to,
                          KernelFn run)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  a->bytes = (int32_t)dtype_bytes(bind_type(b, 0));
  a->s.images = from->dim[0];
  a->s.channels = from->dim[3];
  b->run = run;
  // Without images or channels there is nothing to do, and the tables need not be small.
  if (shape_numel(from) == 0)
    return ST_OK;
  if (!make_axis(b->arena, mode, from->dim[1], to->dim[1], &a->s.height) ||
      !make_axis(b->arena, mode, from->dim[2], to->dim[2], &a->s.width))
    return diag_oom(b->diag);
  return ST_OK;
}

static void run_bilinear(const void *args, const Call *c)
{
  resample_kernels()->bilinear(&((const Args *)args)->s, c->p[0], c->p[2], c->pool);
}

static void run_nearest(const void *args, const Call *c)
{
  const Args *a = args;
  resample_nearest(&a->s, c->p[0], c->p[2], a->bytes, c->pool);
}

static Status bind(Bind *b)
{
  const ResampleMode mode = ((const ResizeAttr *)b->node->attr)->mode;
  const Shape x = bind_in(b, 0), y = bind_out(b, 0);
  return bind_images(b, mode, &x, &y, mode.nearest ? run_nearest : run_bilinear);
}

static Status grad(Grad *g)
{
  const Node *n = grad_of(g);
  ResizeGradAttr attr = {.mode = ((const ResizeAttr *)n->attr)->mode,
                         .from = grad_tensor(g, n->in[0])->shape};
  grad_give(g, 0, grad_node(g, "RESIZE_GRAD", &attr, 1, (int32_t[]){grad_out(g, 0)}));
  return ST_OK;
}

// RESIZE_GRAD(dy) -> dx
static Status infer_grad(Infer *f)
{
  return infer_out(f, 0, DT_F32, ((const ResizeGradAttr *)f->node->attr)->from);
}

static void run_grad(const void *args, const Call *c)
{
  resample_kernels()->gradient(&((const Args *)args)->s, c->p[0], c->p[1], c->accumulate,
                               c->pool);
}

static Status bind_grad(Bind *b)
{
  const Shape dx = bind_out(b, 0), dy = bind_in(b, 0);
  return bind_images(b, ((const ResizeGradAttr *)b->node->attr)->mode, &dx, &dy, run_grad);
}

#define RESIZE(NAME, number, tag, read)                                                            \
  {                                                                                                \
    .name = NAME, .code = number, .options = tag, .min_in = 2, .max_in = 2, .n_out = 1,            \
    .attr_bytes = sizeof(ResizeAttr), .parse = read, .infer = infer, .merge = merge_outer,         \
    .bind = bind, .grad = grad                                                                     \
  }

const OpDef resize_ops[] = {
  RESIZE("RESIZE_BILINEAR", 23, 15, parse_bilinear),
  RESIZE("RESIZE_NEAREST_NEIGHBOR", 97, 74, parse_nearest),
  {.name = "RESIZE_GRAD", .code = OP_NOT_IN_FILES, .flags = OP_ACCUMULATES,
   .attr_bytes = sizeof(ResizeGradAttr), .infer = infer_grad, .merge = merge_outer,
   .bind = bind_grad},
  END_OPS};

#define ROW TENSOR(F32, DIMS(1, 1, 2, 1), VALUES(1, 3))
#define MODE(...) ATTR(ResizeAttr, {__VA_ARGS__})

const OpCase resize_cases[] = {
  CASE("RESIZE_BILINEAR", "no options", IN(ROW, INTS(1, 4)),
       OUT(TENSOR(F32, DIMS(1, 1, 4, 1), VALUES(1, 2, 3, 3)))),
  CASE("RESIZE_BILINEAR", "options: half pixels", IN(ROW, INTS(2, 4)),
       OUT(TENSOR(F32, DIMS(1, 2, 4, 1), VALUES(1, 1.5, 2.5, 3, 1, 1.5, 2.5, 3))),
       OPTIONS(OPT_BYTE(3, 1))),
  CASE("RESIZE_BILINEAR", "options: corners", IN(ROW, CONSTANT(I64, DIMS(2), VALUES(1, 3))),
       OUT(TENSOR(F32, DIMS(1, 1, 3, 1), VALUES(1, 2, 3))), OPTIONS(OPT_BYTE(2, 1))),
  CASE("RESIZE_BILINEAR", "larger", IN(RANDOM(1, 3, 4, 2), INTS(7, 6)), OUT(RANDOM(1, 7, 6, 2)),
       MODE(.half_pixel = true)),
  CASE("RESIZE_BILINEAR", "smaller, several images a sample", IN(RANDOM(2, 5, 4, 3), INTS(2, 3)),
       OUT(RANDOM(2, 2, 3, 3)), MODE(.align_corners = true)),
  CASE("RESIZE_BILINEAR", "the same size", IN(RANDOM(1, 3, 2, 3), INTS(3, 2)),
       OUT(RANDOM(1, 3, 2, 3)), MODE(.half_pixel = true)),
  CASE("RESIZE_BILINEAR", "of one pixel", IN(RANDOM(1, 1, 1, 3), INTS(2, 3)),
       OUT(RANDOM(1, 2, 3, 3)), MODE(.align_corners = true)),
  CASE("RESIZE_BILINEAR", "to one pixel", IN(RANDOM(1, 3, 4, 3), INTS(1, 1)),
       OUT(RANDOM(1, 1, 1, 3)), MODE(.align_corners = true)),
  CASE("RESIZE_BILINEAR", "no channels", IN(RANDOM(1, 3, 4, 0), INTS(2147483647, 1)),
       OUT(RANDOM(1, 2147483647, 1, 0))),
  CASE("RESIZE_BILINEAR", "refused: both", IN(ROW, INTS(1, 4)),
       OPTIONS(OPT_BYTE(2, 1), OPT_BYTE(3, 1)), .refusal = "exclude each other"),
  CASE("RESIZE_BILINEAR", "refused: size", IN(ROW, INTS(0, 4)),
       .refusal = "an input of shape [1,1,2,1] does not resize to 0 x 4"),
  CASE("RESIZE_BILINEAR", "refused: nothing", IN(RANDOM(1, 0, 2, 1), INTS(1, 4)),
       .refusal = "does not resize to 1 x 4"),
  CASE("RESIZE_BILINEAR", "refused: rank", IN(RANDOM(1, 2, 2), INTS(1, 4)),
       .refusal = "has shape [1,2,2], wanted rank 4"),
  CASE("RESIZE_BILINEAR", "refused: bytes", IN(TENSOR(U8, DIMS(1, 1, 2, 1)), INTS(1, 4)),
       .refusal = "is uint8, wanted float32"),
  CASE("RESIZE_BILINEAR", "refused: one value", IN(ROW, INTS(4)), .refusal = "has 1 values"),
  CASE("RESIZE_NEAREST_NEIGHBOR", "no options", IN(ROW, INTS(2, 4)),
       OUT(TENSOR(F32, DIMS(1, 2, 4, 1), VALUES(1, 1, 3, 3, 1, 1, 3, 3)))),
  CASE("RESIZE_NEAREST_NEIGHBOR", "options: corners",
       IN(TENSOR(F32, DIMS(1, 1, 3, 1), VALUES(1, 2, 3)), INTS(1, 5)),
       OUT(TENSOR(F32, DIMS(1, 1, 5, 1), VALUES(1, 2, 2, 3, 3))), OPTIONS(OPT_BYTE(0, 1))),
  CASE("RESIZE_NEAREST_NEIGHBOR", "options: half pixels",
       IN(TENSOR(F32, DIMS(1, 1, 5, 1), VALUES(1, 2, 3, 4, 5)), INTS(1, 2)),
       OUT(TENSOR(F32, DIMS(1, 1, 2, 1), VALUES(2, 4))), OPTIONS(OPT_BYTE(1, 1))),
  CASE("RESIZE_NEAREST_NEIGHBOR", "bytes",
       IN(TENSOR(I8, DIMS(1, 2, 1, 2), VALUES(-1, 2, 3, 4)), INTS(3, 1)),
       OUT(TENSOR(I8, DIMS(1, 3, 1, 2), VALUES(-1, 2, -1, 2, 3, 4)))),
  CASE("RESIZE_NEAREST_NEIGHBOR", "larger", IN(RANDOM(1, 3, 4, 2), INTS(7, 6)),
       OUT(RANDOM(1, 7, 6, 2)), MODE(.half_pixel = true, .nearest = true)),
  CASE("RESIZE_NEAREST_NEIGHBOR", "smaller, several images a sample",
       IN(RANDOM(2, 5, 4, 3), INTS(2, 3)), OUT(RANDOM(2, 2, 3, 3)),
       MODE(.align_corners = true, .half_pixel = true, .nearest = true)),
  CASE("RESIZE_NEAREST_NEIGHBOR", "refused: size of the data", IN(ROW, TENSOR(I32, DIMS(2))),
       .refusal = "must be constant"),
  END_CASES};
