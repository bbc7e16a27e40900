// SPDX-License-Identifier: Apache-2.0
// Images [images, height, width, channels] in another size.
#ifndef KERNELS_RESAMPLE_H
#define KERNELS_RESAMPLE_H

#include "kernels/kernel.h"

// One axis: element o of the result is x[lo[o]] * (1 - weight[o]) + x[hi[o]] * weight[o], where hi
// is lo or the next; both never go back.
typedef struct {
  int64_t from, to; // elements of x and of the result
  int32_t *lo, *hi; // [to]
  float *weight;    // [to]; 0 where hi is lo
  // [from] results that read element i are among first[i] .. last[i] - 1
  int32_t *first, *last;
} ResampleAxis;

typedef struct {
  int64_t images, channels;
  ResampleAxis height, width;
} ResampleShape;

// How TFLite defines the place in x of element o.
typedef struct {
  bool align_corners, half_pixel;
  bool nearest; // takes one element, else weighs two
} ResampleMode;

// Fills the five tables of an axis; sizes are set, and neither is 0.
void resample_axis(ResampleAxis *a, ResampleMode mode);
// Any element type: y = the elements that lo names.
void resample_nearest(const ResampleShape *s, const void *x, void *y, int32_t element_bytes,
                      Pool *pool);

typedef struct {
  void (*bilinear)(const ResampleShape *s, const float *x, float *y, Pool *pool);
  // dx (+)= what y gives back, also of the nearest elements
  void (*gradient)(const ResampleShape *s, const float *dy, float *dx, bool accumulate,
                   Pool *pool);
} ResampleKernels;

const ResampleKernels *resample_kernels(void);
const ResampleKernels *resample_kernels_for(Isa isa);

#endif
