// SPDX-License-Identifier: Apache-2.0
// Inner loops of depthwise convolution: some columns of results for one row of taps, all channels.
// Private to dwconv_tmpl.c.
#ifndef KERNELS_DWCONV_TILES_H
#define KERNELS_DWCONV_TILES_H

#include "kernels/simd.h"

enum {
  COLUMNS = 4,              // of a tile
  MAX_JOINED = 5,           // taps taken together
  MAX_STEP = 2,             // with source columns this far apart
  MAX_POINTERS = (COLUMNS - 1) * MAX_STEP + MAX_JOINED,
};

// Tile of `columns` results for one row of taps.
typedef struct {
  const float *const *src; // (columns - 1) * step + taps columns of the source
  const float *w;          // of the first tap
  int64_t w_step;          // from one tap to the next
  const float *init;       // what to add to
  int64_t init_step;       // from one column to the next
  float *dst;
  int64_t dst_step;
  const float *mask;       // beside dst
  int64_t c;
  float lo, hi;
} RowTile;

// What becomes of a sum before it is stored: nothing, since taps are still missing; the clamp that
// is an activation; its gradient, see simd_gate().
typedef enum { END_NONE, END_CLAMP, END_MASK } TileEnd;

// Channels c .. c+SIMD_LANES-1; columns, taps, step and end are constants.
SIMD_INLINE void tile_channels(const RowTile *t, const float *const *src, int64_t c,
                               const int columns, const int taps, const int step,
                               const TileEnd end)
{
  Vec acc[COLUMNS], in[MAX_POINTERS];
  SIMD_UNROLL
  for (int j = 0; j < columns; ++j)
    acc[j] = simd_load(t->init + j * t->init_step + c);
  SIMD_UNROLL
  for (int i = 0; i < (columns - 1) * step + taps; ++i)
    in[i] = simd_load(src[i] + c);
  SIMD_UNROLL
  for (int k = 0; k < taps; ++k) {
    Vec w = simd_load(t->w + k * t->w_step + c);
    SIMD_UNROLL
    for (int j = 0; j < columns; ++j)
      acc[j] += in[j * step + k] * w;
  }
  Vec lo = simd_splat(t->lo), hi = simd_splat(t->hi);
  SIMD_UNROLL
  for (int j = 0; j < columns; ++j) {
    if (end == END_CLAMP)
      acc[j] = simd_clamp(acc[j], lo, hi);
    if (end == END_MASK)
      acc[j] = simd_gate(simd_load(t->mask + j * t->dst_step + c), lo, hi, acc[j]);
    simd_store(t->dst + j * t->dst_step + c, acc[j]);
  }
}

// The channels from c on that do not fill a vector, of any tile.
static __attribute__((noinline)) void tile_tail(const RowTile *t, int64_t c, int columns, int taps,
                                                int step, TileEnd end)
{
  for (; c < t->c; ++c) {
    for (int j = 0; j < columns; ++j) {
      float sum = t->init[j * t->init_step + c];
      for (int k = 0; k < taps; ++k)
        sum += t->src[j * step + k][c] * t->w[k * t->w_step + c];
      if (end == END_CLAMP)
        sum = sum < t->lo ? t->lo : sum > t->hi ? t->hi : sum;
      if (end == END_MASK)
        sum = simd_gate1(t->mask[j * t->dst_step + c], t->lo, t->hi, sum);
      t->dst[j * t->dst_step + c] = sum;
    }
  }
}

SIMD_INLINE void compute_tile(const RowTile *tile, const int columns, const int taps,
                              const int step, const TileEnd end)
{
  const RowTile t = *tile;
  const float *src[MAX_POINTERS];
  SIMD_UNROLL
  for (int i = 0; i < (columns - 1) * step + taps; ++i)
    src[i] = t.src[i];
  int64_t c = 0;
  for (; c + SIMD_LANES <= t.c; c += SIMD_LANES)
    tile_channels(&t, src, c, columns, taps, step, end);
  if (c < t.c)
    tile_tail(tile, c, columns, taps, step, end);
}

// Tile of COLUMNS results for one row of taps of the filter gradient: dw[tap] += dy * x.
typedef struct {
  const float *const *src, *const *dy;
  float *dw;
  int64_t c;
} GradTile;

SIMD_INLINE void grad_channels(const float *const *src, const float *const *dy, float *dw,
                               int64_t w_step, int64_t c, const int taps, const int step)
{
  Vec g[COLUMNS], in[MAX_POINTERS];
  SIMD_UNROLL
  for (int j = 0; j < COLUMNS; ++j)
    g[j] = simd_load(dy[j] + c);
  SIMD_UNROLL
  for (int i = 0; i < (COLUMNS - 1) * step + taps; ++i)
    in[i] = simd_load(src[i] + c);
  SIMD_UNROLL
  for (int k = 0; k < taps; ++k) {
    float *to = dw + k * w_step + c;
    Vec acc = simd_load(to);
    SIMD_UNROLL
    for (int j = 0; j < COLUMNS; ++j)
      acc += in[j * step + k] * g[j];
    simd_store(to, acc);
  }
}

static __attribute__((noinline)) void grad_tail(const GradTile *t, int64_t c, int taps, int step)
{
  for (; c < t->c; ++c)
    for (int k = 0; k < taps; ++k)
      for (int j = 0; j < COLUMNS; ++j)
        t->dw[k * t->c + c] += t->src[j * step + k][c] * t->dy[j][c];
}

SIMD_INLINE void compute_grad_tile(const GradTile *t, const int taps, const int step)
{
  const float *src[MAX_POINTERS], *dy[COLUMNS];
  SIMD_UNROLL
  for (int i = 0; i < (COLUMNS - 1) * step + taps; ++i)
    src[i] = t->src[i];
  SIMD_UNROLL
  for (int j = 0; j < COLUMNS; ++j)
    dy[j] = t->dy[j];
  const int64_t n = t->c;
  float *dw = t->dw;
  int64_t c = 0;
  for (; c + SIMD_LANES <= n; c += SIMD_LANES)
    grad_channels(src, dy, dw, n, c, taps, step);
  if (c < n)
    grad_tail(t, c, taps, step);
}

// (taps, step) that are taken together. One tap alone goes with any step: its source columns are
// not shared.
#define TILE_KINDS(T) T(1, 1) T(2, 1) T(3, 1) T(5, 1) T(3, 2) T(5, 2)

#define TILE(taps, step, columns, end)                                                             \
  static void tile_##taps##_##step##_##columns##_##end(const RowTile *t)                           \
  {                                                                                                \
    compute_tile(t, columns, taps, step, end);                                                     \
  }
#define TILE_ENDS(taps, step, end)                                                                 \
  TILE(taps, step, 1, end) TILE(taps, step, 2, end) TILE(taps, step, 3, end)                       \
  TILE(taps, step, 4, end)
#define TILES(taps, step)                                                                          \
  TILE_ENDS(taps, step, END_NONE)                                                                  \
  TILE_ENDS(taps, step, END_CLAMP)                                                                 \
  TILE_ENDS(taps, step, END_MASK)                                                                  \
  static void grad_tile_##taps##_##step(const GradTile *t)                                         \
  {                                                                                                \
    compute_grad_tile(t, taps, step);                                                              \
  }
TILE_KINDS(TILES)

typedef struct {
  int32_t taps, step;
  void (*tile[3][COLUMNS])(const RowTile *t); // [end][columns - 1]
  void (*grad)(const GradTile *t);
} TileKind;

#define TILE_NAMES(taps, step, end)                                                                \
  {tile_##taps##_##step##_1_##end, tile_##taps##_##step##_2_##end,                                 \
   tile_##taps##_##step##_3_##end, tile_##taps##_##step##_4_##end}
#define TILE_KIND(taps, step)                                                                      \
  {taps,                                                                                           \
   step,                                                                                           \
   {TILE_NAMES(taps, step, END_NONE), TILE_NAMES(taps, step, END_CLAMP),                           \
    TILE_NAMES(taps, step, END_MASK)},                                                             \
   grad_tile_##taps##_##step},
static const TileKind kinds[] = {TILE_KINDS(TILE_KIND)};

// The kind for n taps of a class, one by one (the first) if there is none for all together.
static const TileKind *find_kind(int32_t taps, int32_t step, bool side_by_side)
{
  for (size_t i = 1; side_by_side && i < sizeof kinds / sizeof *kinds; ++i)
    if (kinds[i].taps == taps && kinds[i].step == step)
      return &kinds[i];
  return &kinds[0];
}

#endif
