// SPDX-License-Identifier: Apache-2.0
// Rows of a table picked by index, of any element type, and the sums that are the gradient. Not
// compiled per instruction set: memory decides.
#ifndef KERNELS_PICK_H
#define KERNELS_PICK_H

#include "kernels/kernel.h"

enum { PICK_MAX_DEPTH = 8 };

// For every sample, b < batch, o < outer and k < count
//   y[b][o][k][..inner] = table[b][o][i0][i1]..[..inner]   where i0, i1.. = index[b][k][..depth]
// An index outside of its dimension picks zeros, and its gradient goes nowhere.
typedef struct {
  // How many, and elements from one sample to the next of each operand; 0: samples share it.
  int64_t samples, table_step, index_step, y_step;
  int64_t batch, outer, count, inner;
  int32_t depth;
  int64_t dim[PICK_MAX_DEPTH]; // of the table, that the indices are for
  bool wide;                   // indices are int64, else int32
} PickShape;

void pick_rows(const PickShape *s, const void *table, const void *index, void *y,
               int32_t element_bytes, Pool *pool);
// float32: table += dy, to the rows that y came from, in the order of samples and indices.
void pick_add(const PickShape *s, const float *dy, const void *index, float *table, Pool *pool);

// y [outer][depth][inner] = *on where the index [outer][inner] names its place along depth, else
// *off.
typedef struct {
  int64_t outer, depth, inner;
  bool wide;
  int32_t element_bytes;
} MarkShape;

void pick_mark(const MarkShape *s, const void *index, const void *on, const void *off, void *y,
               Pool *pool);

#endif
