// SPDX-License-Identifier: Apache-2.0
#include "convcheck.h"

#include <math.h>

static double activate(KernelAct act, double v)
{
  switch (act) {
  case KACT_RELU:
    return v < 0 ? 0 : v;
  case KACT_RELU_N1_TO_1:
    return v < -1 ? -1 : v > 1 ? 1 : v;
  case KACT_RELU6:
    return v < 0 ? 0 : v > 6 ? 6 : v;
  case KACT_TANH:
    return tanh(v);
  default:
    return v;
  }
}

// Derivative of a clamp, from its result.
static double slope(KernelAct act, double y)
{
  const double lo = act == KACT_RELU_N1_TO_1 ? -1 : 0;
  const double hi = act == KACT_RELU ? INFINITY : act == KACT_RELU6 ? 6 : 1;
  return y > lo && y < hi ? 1 : 0;
}

static void add(double *sum, double *size, int64_t at, double term)
{
  sum[at] += term;
  size[at] += fabs(term);
}

static void add_all(double *sum, double *size, const float *terms, int64_t n)
{
  for (int64_t i = 0; terms && i < n; ++i)
    add(sum, size, i, terms[i]);
}

void convcheck_term(const ConvReference *r, int64_t in, int64_t at, int64_t out)
{
  add(r->y, r->y_size, out, (double)r->x[in] * r->w[at]);
  add(r->dx, r->dx_size, in, (double)r->dy[out] * r->w[at]);
  add(r->dw, r->dw_size, at, (double)r->dy[out] * r->x[in]);
}

// What was made by an activation: its bounds are frequent.
static const float *clamped(Check *c, int64_t n, KernelAct act)
{
  float *mask = check_input(c, n, -3, 9);
  for (int64_t i = 0; i < n; ++i)
    mask[i] = (float)activate(act, mask[i]);
  check_input_changed(c, mask);
  return mask;
}

// The filter for one way: as it is and packed, of a whole problem and of a piece. Results have the
// same bits.
static const float *prepared(Check *c, const ConvKernels *k, ConvShape *s, ConvWay way,
                             const float *w, int variant)
{
  // 3x3 filters of stride 1 may be transformed, pieces are not.
  s->is_piece = variant == 2 && (s->groups > 1 || s->kh != 3 || s->kw != 3);
  const size_t bytes = variant == 0 ? 0 : k->packed_bytes(s, way);
  if (!bytes)
    return w;
  void *packed = check_scratch(c, bytes);
  k->pack(s, way, w, packed);
  s->is_packed = true;
  return packed;
}

// The filter gradient of a piece sums in one go.
static void check_piece(Check *c, const ConvKernels *k, const ConvShape *s, const ConvReference *r,
                        int64_t n_w)
{
  ConvShape piece = *s;
  piece.is_piece = true;
  float *dw = check_output(c, n_w, NULL);
  k->filter_grad(&piece, r->x, r->dy, dw, NULL, false,
                 check_scratch(c, k->filter_grad_scratch(&piece, 1)), NULL);
  check_near(c, "filter_grad of a piece", dw, r->dw, r->dw_size, n_w, 1e-6);
}

// The transpose is the input gradient with a bias and an activation of its own.
static void check_transpose(Check *c, const ConvKernels *k, const ConvShape *s,
                            const ConvReference *r, const float *bias, int64_t n_x)
{
  double *want = check_doubles(c, n_x), *size = check_doubles(c, n_x);
  for (int64_t i = 0; i < n_x; ++i) {
    add(want, size, i, r->dx[i]);
    size[i] = r->dx_size[i] + (bias ? fabs(bias[i % s->ic]) : 0);
    want[i] = activate(s->act, want[i] + (bias ? bias[i % s->ic] : 0));
  }
  float *first = NULL;
  for (int p = 0; p < CHECK_POOLS; ++p) {
    Pool *pool = check_pool(c, p);
    ConvShape shape = *s;
    const float *w = prepared(c, k, &shape, CONV_INPUT_GRAD, r->w, p);
    float *y = check_output(c, n_x, NULL);
    k->transpose(&shape, r->dy, w, bias, NULL, y,
                 check_scratch(c, k->input_grad_scratch(&shape, pool_threads(pool))),
                 shape.is_piece ? NULL : pool);
    if (p == 0)
      check_near(c, "transpose", first = y, want, size, n_x, 1e-6);
    else
      check_bits(c, "transpose", y, first, (size_t)n_x * sizeof *y);
  }
}

typedef enum { ADD_NONE, ADD_APART, ADD_IN_PLACE } Adding;

void convcheck_shape(Check *c, const ConvKernels *k, const ConvShape *s, int64_t n_w,
                     ConvTerms terms)
{
  const bool accumulate = check_int(c, 0, 1), has_bias = check_int(c, 0, 1);
  const Adding adding = (Adding)check_int(c, ADD_NONE, ADD_IN_PLACE);
  const bool is_masked = s->act != KACT_NONE && s->act != KACT_TANH && check_int(c, 0, 1);
  check_case(c, "x[%d,%d,%d,%d] y[%d,%d,%d] k%dx%d s%dx%d d%dx%d pad %d,%d groups %d act %d "
             "bias %d accumulate %d add %d mask %d swapped %d", s->n, s->ih, s->iw, s->ic, s->oh, s->ow, s->oc,
             s->kh, s->kw, s->sh, s->sw, s->dh, s->dw, s->pt, s->pl, s->groups, s->act, has_bias,
             accumulate, adding, is_masked, s->is_swapped);
  const int64_t n_x = (int64_t)s->n * s->ih * s->iw * s->ic;
  const int64_t n_y = (int64_t)s->n * s->oh * s->ow * s->oc;
  const float *old_dw = check_input(c, n_w, -1, 1), *old_db = check_input(c, s->oc, -1, 1);
  const float *bias = has_bias ? check_input(c, s->oc, -1, 1) : NULL;
  const float *add_y = adding ? check_input(c, n_y, -1, 1) : NULL;
  const float *add_dx = adding ? check_input(c, n_x, -1, 1) : NULL;
  const float *mask = is_masked ? clamped(c, n_x, s->act) : NULL;
  ConvReference r = {.x = check_input(c, n_x, -1, 1), .w = check_input(c, n_w, -1, 1),
                     .dy = check_input(c, n_y, -1, 1), .y = check_doubles(c, n_y),
                     .dx = check_doubles(c, n_x), .dw = check_doubles(c, n_w),
                     .y_size = check_doubles(c, n_y), .dx_size = check_doubles(c, n_x),
                     .dw_size = check_doubles(c, n_w)};
  double *db = check_doubles(c, s->oc), *db_size = check_doubles(c, s->oc);
  for (int64_t n = 0; n < s->n; ++n)
    for (int64_t oy = 0; oy < s->oh; ++oy)
      for (int64_t ox = 0; ox < s->ow; ++ox)
        for (int64_t o = 0; o < s->oc; ++o)
          terms(s, n, oy, ox, o, &r);
  for (int64_t i = 0; i < n_y; ++i)
    add(db, db_size, i % s->oc, r.dy[i]);
  if (k->transpose)
    check_transpose(c, k, s, &r, check_int(c, 0, 1) ? check_input(c, s->ic, -1, 1) : NULL, n_x);
  if (accumulate) {
    add_all(r.dw, r.dw_size, old_dw, n_w);
    add_all(db, db_size, old_db, s->oc);
  }
  for (int64_t i = 0; i < n_y && bias; ++i)
    add(r.y, r.y_size, i, bias[i % s->oc]);
  add_all(r.y, r.y_size, add_y, n_y);
  add_all(r.dx, r.dx_size, add_dx, n_x);
  for (int64_t i = 0; i < n_y; ++i)
    r.y[i] = activate(s->act, r.y[i]);
  for (int64_t i = 0; i < n_x && mask; ++i)
    r.dx[i] *= slope(s->act, mask[i]);

  if (!accumulate)
    check_piece(c, k, s, &r, n_w);
  float *first[4] = {0};
  for (int p = 0; p < CHECK_POOLS; ++p) {
    Pool *pool = check_pool(c, p);
    int threads = pool_threads(pool);
    const bool in_place = adding == ADD_IN_PLACE;
    float *y = check_output(c, n_y, in_place ? add_y : NULL);
    float *dx = check_output(c, n_x, in_place ? add_dx : NULL);
    float *dw = check_output(c, n_w, accumulate ? old_dw : NULL);
    float *sums = has_bias ? check_output(c, s->oc, accumulate ? old_db : NULL) : NULL;
    ConvShape forward = *s, backward = *s;
    const float *w = prepared(c, k, &forward, CONV_FORWARD, r.w, p);
    k->forward(&forward, r.x, w, bias, in_place ? y : add_y, y,
               check_scratch(c, k->forward_scratch(&forward, threads)),
               forward.is_piece ? NULL : pool);
    w = prepared(c, k, &backward, CONV_INPUT_GRAD, r.w, p);
    k->input_grad(&backward, r.dy, w, in_place ? dx : add_dx, mask, dx,
                  check_scratch(c, k->input_grad_scratch(&backward, threads)),
                  backward.is_piece ? NULL : pool);
    k->filter_grad(s, r.x, r.dy, dw, sums, accumulate,
                   check_scratch(c, k->filter_grad_scratch(s, threads)), pool);
    if (p == 0) {
      check_near(c, "forward", first[0] = y, r.y, r.y_size, n_y, 1e-6);
      check_near(c, "input_grad", first[1] = dx, r.dx, r.dx_size, n_x, 1e-6);
      check_near(c, "filter_grad", first[2] = dw, r.dw, r.dw_size, n_w, 1e-6);
      if (sums && n_w > 0)
        check_near(c, "bias_grad", first[3] = sums, db, db_size, s->oc, 1e-6);
      continue;
    }
    check_bits(c, "forward", y, first[0], (size_t)n_y * sizeof *y);
    check_bits(c, "input_grad", dx, first[1], (size_t)n_x * sizeof *dx);
    check_bits(c, "filter_grad", dw, first[2], (size_t)n_w * sizeof *dw);
    if (sums && n_w > 0)
      check_bits(c, "bias_grad", sums, first[3], (size_t)s->oc * sizeof *sums);
  }
}
