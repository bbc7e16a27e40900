// SPDX-License-Identifier: Apache-2.0
// Joins convolution, depthwise convolution and convolution in a row into one node, where the
// tensors in between are too large for a cache. For inference only: training needs them.
//
//   before: e = CONV_2D(x); d = DEPTHWISE_CONV_2D(e); y = CONV_2D(d)      after: y = CONV_CHAIN(x)
#ifndef COMPILE_FUSE_CHAIN_H
#define COMPILE_FUSE_CHAIN_H

#include "graph/graph.h"

// What is worth it: bytes of one sample of both tensors in between.
enum { CHAIN_MIN_BYTES = 1024 * 1024 };

Status chain_pass(Graph *g, size_t min_bytes, Diag *d) MUST_USE;

#endif
