// SPDX-License-Identifier: Apache-2.0
// The register-tiled block product that matrix products and convolutions are made of, in memory of
// the cache's size: C[m,n] (+)= A[m,k] B[k,n]. Private to kernels/; one instance per instruction
// set, defined in gemm_tmpl.c.
//
// A is read where it lies, through one pointer for each row and segment of k, so that windows of
// an image need not be copied; B comes in panels of CORE_COLS columns.
#ifndef KERNELS_GEMM_CORE_H
#define KERNELS_GEMM_CORE_H

#include "kernels/simd.h"

enum {
  CORE_ROWS = SIMD_TILE_ROWS,
  CORE_COLS = SIMD_TILE_VECTORS * SIMD_LANES,
  CORE_K = 512,               // k of one block: a strip of A stays in the first-level cache
  CORE_B_FLOATS = 64 * 1024,  // of one block of B: half of a second-level cache
  CORE_SERIAL_FLOPS = 50000,  // less work than this stays on the caller's thread
};

typedef struct {
  int64_t m, n;
  // k = n_seg * seg_len. Rows of A come in strips of core_strip_rows(m). Element (i, k) with
  // k = seg * seg_len + e of strip t is rows[t * strip_step + seg * CORE_ROWS + i][offset],
  // offset = a_offset + e * a_step.
  const float *const *rows;
  int64_t strip_step, n_seg, seg_len, a_offset, a_step;
  // Row k of panel j: CORE_COLS floats at b + j * b_panel + k * b_step. Floats beyond column n,
  // up to a full vector, are read too.
  const float *b;
  int64_t b_panel, b_step;
  // A packed panel (b_step CORE_COLS) that stands for the last one, or NULL.
  const float *b_last;
  // Row i of C: n floats at c[i].
  float *const *c;
  // Before it is stored, a sum is added to, and then masked or activated. What is added, and the
  // mask, have the layout of C and stand so many bytes behind it (0: C itself).
  bool accumulate, is_masked;
  intptr_t add_offset, mask_offset;
  bool is_streamed;  // store past the caches: rows of C are aligned to vectors
  const float *bias; // [n], or NULL
  KernelAct act;     // masked: a clamp, whose results are the mask
} CoreBlock;

// What stands `offset` bytes behind p, in a buffer of the same layout.
SIMD_INLINE const float *core_beside(const float *p, intptr_t offset)
{
  return (const float *)((uintptr_t)p + (uintptr_t)offset);
}

// The offset with which core_beside() leads from `to` to `from`.
static inline intptr_t core_offset(const float *from, const float *to)
{
  return (intptr_t)((uintptr_t)from - (uintptr_t)to);
}

// Height of the strips that m rows are cut into; the last one may be lower.
SIMD_INLINE int64_t core_strip_rows(int64_t m)
{
  int64_t strips = (m + CORE_ROWS - 1) / CORE_ROWS;
  return strips > 0 ? (m + strips - 1) / strips : 1;
}

static inline int64_t core_min(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static inline int64_t core_ceil(int64_t n, int64_t d)
{
  return (n + d - 1) / d;
}

// Floats of a panel set for k rows and n columns.
static inline int64_t core_packed_floats(int64_t k, int64_t n)
{
  return core_ceil(n, CORE_COLS) * CORE_COLS * k;
}

// Bytes rounded up so that what follows in a scratch buffer is aligned to 64 bytes.
static inline size_t core_aligned(size_t bytes)
{
  return (bytes + 63) / 64 * 64;
}

// Cuts the next piece off a scratch buffer.
static inline void *core_take(char **scratch, size_t bytes)
{
  void *p = *scratch;
  *scratch += core_aligned(bytes);
  return p;
}

#define core_block KERNEL_PASTE(core_block, KERNEL_ISA)
#define core_pack KERNEL_PASTE(core_pack, KERNEL_ISA)

void core_block(const CoreBlock *q);

// Element (k, j) of the source stands at src[k * k_step + j * j_step]. Packs k x n of it into
// panels of `panel` columns, panel p at dst + p * panel * dst_k, zeros behind column n.
void core_pack(const float *src, int64_t k_step, int64_t j_step, int64_t k, int64_t n,
               int64_t panel, int64_t dst_k, float *dst);

#endif
