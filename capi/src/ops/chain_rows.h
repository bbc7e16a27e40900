// SPDX-License-Identifier: Apache-2.0
// Bands of rows of a CONV_CHAIN: which rows of one stage's input its results see, and the stage as
// a convolution of just those.
#ifndef OPS_CHAIN_ROWS_H
#define OPS_CHAIN_ROWS_H

#include "ops/chain.h"
#include "ops/convolution.h"

typedef struct {
  int32_t begin, end;
} Rows;

typedef struct {
  ConvShape s; // of a whole sample
  const ConvKernels *k;
  size_t packed[2]; // by ConvWay: bytes of the filter as the kernel wants it, 0: as it is
} ChainStage;

static inline int32_t rows_count(Rows r)
{
  return r.end > r.begin ? r.end - r.begin : 0;
}

// Floats of a row of a stage's input and result.
static inline int64_t chain_row_in(const ConvShape *s)
{
  return (int64_t)s->iw * s->ic;
}

static inline int64_t chain_row_out(const ConvShape *s)
{
  return (int64_t)s->ow * s->oc;
}

// Rows of a stage's input that some of its results see.
static inline Rows chain_source(const ConvShape *s, Rows out)
{
  const int32_t first = out.begin * s->sh - s->pt;
  const int32_t last = (out.end - 1) * s->sh - s->pt + (s->kh - 1) * s->dh;
  return (Rows){first < 0 ? 0 : first, last + 1 > s->ih ? s->ih : last + 1};
}

// Results of a stage that see some of those rows of its input.
static inline Rows chain_readers(const ConvShape *s, Rows in)
{
  const int32_t reach = in.begin + s->pt - (s->kh - 1) * s->dh;
  const int32_t last = (in.end - 1 + s->pt) / s->sh;
  return (Rows){reach > 0 ? (reach + s->sh - 1) / s->sh : 0, last + 1 > s->oh ? s->oh : last + 1};
}

// The stage as a convolution from rows `in` to rows `out`, as if its input had no others.
static inline ConvShape chain_band(const ConvShape *s, Rows out, Rows in)
{
  ConvShape band = *s;
  band.n = 1;
  band.is_piece = true;
  band.oh = out.end - out.begin;
  band.ih = in.end - in.begin;
  band.pt = in.begin - (out.begin * s->sh - s->pt);
  return band;
}

// floats behind p; NULL for NULL, where sizes are only measured.
static inline float *chain_at(const float *p, int64_t floats)
{
  return p ? (float *)(uintptr_t)(p + floats) : NULL;
}

static inline size_t chain_aligned(size_t bytes)
{
  return (bytes + 63) / 64 * 64;
}

// Stage i from the shapes of its filter and of its input, which becomes that of its result; false
// where it does not fit. The activation of the last stage is not set.
bool chain_stage(const ChainAttr *attr, int i, const Shape *w, Shape *x, ChainStage *stage);

// The stage's filter as its kernel wants it, packed once for all bands; `at` moves on behind it.
static inline const float *chain_pack(const ChainStage *stage, ConvWay way, const float *w, char **at)
{
  if (!stage->packed[way])
    return w;
  char *to = *at;
  stage->k->pack(&stage->s, way, w, to);
  *at += stage->packed[way];
  return (const float *)(void *)to;
}

// The gradient of CONV_CHAIN, see chain_grad.c.
Status chain_grad(Grad *g) MUST_USE;

#endif
