// SPDX-License-Identifier: Apache-2.0
// Checks of the rotation of pairs.
#include "checkkern.h"

#include "kernels/rotate.h"

#include <math.h>

void check_rotate(Check *c)
{
  if (c->isa != ISA_BASE) // compiled once
    return;
  for (int round = 0; round < c->rounds; ++round) {
    RotateShape s = {.width = 2 * check_size(c, 0, 70), .is_interleaved = check_int(c, 0, 1),
                     .rank = (int32_t)check_int(c, 0, 4)};
    int64_t rows = 1, sin_floats = s.width, cos_floats = s.width;
    for (int i = s.rank; i-- > 0;) {
      s.dim[i] = check_int(c, 1, round % 5 ? 4 : 12);
      s.sin_stride[i] = check_int(c, 0, 1) ? sin_floats : 0;
      s.cos_stride[i] = check_int(c, 0, 1) ? cos_floats : 0;
      rows *= s.dim[i];
      sin_floats *= s.sin_stride[i] ? s.dim[i] : 1;
      cos_floats *= s.cos_stride[i] ? s.dim[i] : 1;
    }
    const bool accumulate = check_int(c, 0, 1);
    const int64_t n = rows * s.width;
    check_case(c, "rows %d width %d interleaved %d accumulate %d", (int)rows, (int)s.width,
               s.is_interleaved, accumulate);
    const float *x = check_input(c, n, -1, 1), *old = check_input(c, n, -1, 1);
    const float *sin = check_input(c, sin_floats, -1, 1), *cos = check_input(c, cos_floats, -1, 1);
    double *y = check_doubles(c, n), *dx = check_doubles(c, n), *turned = check_doubles(c, n);
    double *size = check_doubles(c, n);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = i / s.width, e = i % s.width, half = s.width / 2;
      const bool is_first = s.is_interleaved ? e % 2 == 0 : e < half;
      const int64_t apart = s.is_interleaved ? 1 : half, other = is_first ? e + apart : e - apart;
      int64_t at_sin = 0, at_cos = 0, left = row;
      for (int k = s.rank; k-- > 0; left /= s.dim[k]) {
        at_sin += left % s.dim[k] * s.sin_stride[k];
        at_cos += left % s.dim[k] * s.cos_stride[k];
      }
      const double sign = is_first ? -1 : 1, v = x[i], w = x[row * s.width + other];
      y[i] = v * cos[at_cos + e] + sign * w * sin[at_sin + e];
      dx[i] = v * cos[at_cos + e] - sign * w * sin[at_sin + other] + (accumulate ? old[i] : 0);
      turned[i] = sign * w;
      size[i] = 3;
    }
    for (int p = 0; p < CHECK_POOLS; ++p) {
      float *got = check_output(c, n, NULL);
      rotate(&s, x, sin, cos, got, check_pool(c, p));
      check_near(c, "rotate", got, y, size, n, 1e-6);
      got = check_output(c, n, accumulate ? old : NULL);
      rotate_grad(&s, x, sin, cos, got, accumulate, check_pool(c, p));
      check_near(c, "rotate_grad", got, dx, size, n, 1e-6);
      got = check_output(c, n, NULL);
      rotate_right_angle(&s, x, got, check_pool(c, p));
      check_near(c, "rotate_right_angle", got, turned, size, n, 0);
    }
  }
}
