// SPDX-License-Identifier: Apache-2.0
// Constants between the element type of the file (float16, integers with scales) and float32.
#ifndef OPS_STORED_H
#define OPS_STORED_H

#include "graph/graph.h"

// Whether reals can be made of the tensor's elements and be stored as them again.
bool stored_converts(const Tensor *t);
// All elements of a constant of t's type, shape and scales. Storing rounds to nearest and saturates.
void stored_to_real(const Tensor *t, const void *stored, float *real);
void stored_from_real(const Tensor *t, const float *real, void *stored);

#endif
