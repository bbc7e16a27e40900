// SPDX-License-Identifier: Apache-2.0
// Sums that gradients of filters and biases are made of: over rows, and over the partial results of
// chunks of the work, in an order that depends on their number only. Private to kernels/.
#ifndef KERNELS_CHUNKS_H
#define KERNELS_CHUNKS_H

#include "kernels/simd.h"

// sum[m] = sums of the columns of k rows, `step` apart, added to what it holds unless is_first.
static inline void chunks_add_rows(const float *rows, int64_t step, int64_t k, int64_t m,
                                 bool is_first, float *sum)
{
  enum { WIDTH = 4 * SIMD_LANES };
  int64_t j = 0;
  for (; j + WIDTH <= m; j += WIDTH) {
    Vec acc[4] = {{0}};
    for (int64_t e = 0; e < k; ++e)
      SIMD_UNROLL
      for (int v = 0; v < 4; ++v)
        acc[v] += simd_load(rows + e * step + j + v * SIMD_LANES);
    SIMD_UNROLL
    for (int v = 0; v < 4; ++v) {
      float *to = sum + j + v * SIMD_LANES;
      simd_store(to, is_first ? acc[v] : simd_load(to) + acc[v]);
    }
  }
  for (; j < m; ++j) {
    float acc = 0;
    for (int64_t e = 0; e < k; ++e)
      acc += rows[e * step + j];
    sum[j] = is_first ? acc : sum[j] + acc;
  }
}

// Adds chunks of n floats, `step` apart, in pairs of neighbours, pairs of pairs and so on; the sum
// is then in the first one.
static inline void chunks_add(float *chunk, int64_t step, int64_t chunks, int64_t n)
{
  for (int64_t apart = 1; apart < chunks; apart *= 2) {
    for (int64_t i = 0; i + apart < chunks; i += 2 * apart) {
      float *a = chunk + i * step;
      const float *b = a + apart * step;
      for (int64_t k = 0; k < n; ++k)
        a[k] += b[k];
    }
  }
}

// dst (+)= the sum of the chunks; that of none is 0.
static inline void chunks_reduce(float *chunk, int64_t step, int64_t chunks, int64_t n,
                                      bool accumulate, float *dst)
{
  chunks_add(chunk, step, chunks, n);
  for (int64_t k = 0; k < n; ++k)
    dst[k] = (chunks > 0 ? chunk[k] : 0) + (accumulate ? dst[k] : 0);
}

#endif
