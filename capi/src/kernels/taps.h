// SPDX-License-Identifier: Apache-2.0
// Which source positions reach a result position of a convolution along one axis, forward and
// transposed. Private to kernels/.
//
// Forward, source = position * stride + tap * dilation - pad. The transpose has a whole source
// position only for some taps: result positions fall into classes by their remainder modulo the
// stride, each with its own taps, and within a class the same formula holds with stride 1. So both
// directions gather, and no product with a zero in between is ever computed.
#ifndef KERNELS_TAPS_H
#define KERNELS_TAPS_H

#include "kernels/kernel.h"

// Result positions dst0 + i * dst_step, i < n_grid, and their taps' place in tap[] and offset[].
typedef struct {
  int32_t dst0, n_grid;
  int32_t first_tap, n_taps;
} TapClass;

typedef struct {
  int32_t n_classes, dst_step, src_step, src_size;
  TapClass *classes;
  int32_t *tap;    // position in the filter, class by class, in equal steps
  int32_t *offset; // source position of i is i * src_step + offset; ascending within a class
} TapAxis;

// Sizes of the forward result are `out`, of its source `in`.
static inline TapAxis taps_axis(bool is_forward, int32_t stride, int32_t in, int32_t out)
{
  return is_forward ? (TapAxis){.n_classes = 1, .dst_step = 1, .src_step = stride, .src_size = in}
                    : (TapAxis){.n_classes = stride, .dst_step = stride, .src_step = 1,
                                .src_size = out};
}

// Fills in classes[n_classes], tap[taps] and offset[taps] of an axis of dst_size results.
static inline void taps_fill(TapAxis *a, bool is_forward, int32_t dst_size, int32_t taps,
                             int32_t stride, int32_t dilation, int32_t pad)
{
  int32_t at = 0;
  for (int32_t r = 0; r < a->n_classes; ++r) {
    TapClass *c = &a->classes[r];
    c->first_tap = at;
    if (is_forward) {
      c->dst0 = 0;
      for (int32_t t = 0; t < taps; ++t, ++at) {
        a->tap[at] = t;
        a->offset[at] = t * dilation - pad;
      }
    } else {
      // Positions with (position + pad) % stride == r have the taps with
      // tap * dilation % stride == r.
      c->dst0 = ((r - pad) % stride + stride) % stride;
      for (int32_t t = taps - 1; t >= 0; --t) {
        if (t * dilation % stride != r)
          continue;
        a->tap[at] = t;
        a->offset[at++] = (c->dst0 + pad - t * dilation) / stride;
      }
    }
    c->n_taps = at - c->first_tap;
    c->n_grid = dst_size > c->dst0 ? (dst_size - c->dst0 + a->dst_step - 1) / a->dst_step : 0;
  }
}

// Whether taps of a class are neighbours in the source.
static inline bool taps_side_by_side(bool is_forward, int32_t stride, int32_t dilation)
{
  return is_forward ? dilation == 1 : stride % dilation == 0;
}

#endif
