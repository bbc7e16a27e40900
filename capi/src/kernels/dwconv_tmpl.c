// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution in its three directions, compiled once per instruction set; vectors run
// over channels.
//
// All three walk rows of results in tiles of some columns, one row of taps at a time, through one
// pointer for each source column; columns outside the image point to zeros. Taps that are
// neighbours in the source are taken together, so that a loaded column serves several of them;
// others one by one. With a multiplier above 1, rows of x are first repeated, and rows of dx
// summed afterwards, so that all loops see as many channels in as out.
#include "kernels/dwconv.h"

#include "kernels/chunks.h"
#include "kernels/dwconv_tiles.h"
#include "kernels/taps.h"

enum {
  SERIAL_MULTIPLIES = 25000, // less work than this stays on the caller's thread
  TASK_MULTIPLIES = 200000,  // of one task, about
  MAX_CHUNKS = 16,          // of rows, in the filter gradient
  REDUCE = 4096,            // elements of one task of its reduction
};

typedef struct {
  const ConvShape *s;
  bool is_forward, accumulate; // accumulate: filter gradient only
  const float *src, *w, *bias; // src: x forward and for the filter gradient, else dy
  const float *add, *mask;     // of dst's layout, or NULL
  float *dst, *db;             // y, dx or dw; db: filter gradient only, or NULL
  const float *dy;             // filter gradient only
  int32_t dst_h, dst_w;
  int64_t c;                   // channels of y
  int64_t rows, rows_per_task;
  float lo, hi;                // of the activation, where it is a clamp
  TapAxis y, x;
  float *zeros, *partials;     // [c], [tasks, kh, kw, c]
  float *bias_partials;        // [tasks, c]
  char *row_buffers;           // one row of max(src_w, dst_w) * c floats for each worker
  size_t row_bytes;
} Dwconv;

// --- rows ---

static int64_t min64(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static int64_t ceil_div(int64_t n, int64_t d)
{
  return (n + d - 1) / d;
}

// dst[i * mult + q] = src[i]
static void repeat(const float *src, int64_t n, int32_t mult, float *dst)
{
  for (int64_t i = 0; i < n; ++i)
    for (int32_t q = 0; q < mult; ++q)
      *dst++ = src[i];
}

// dst[at + i] = sum over q of src[i * mult + q], + add, masked
static void fold(const Dwconv *p, const float *src, int64_t at, int64_t n, int32_t mult)
{
  for (int64_t i = at; i < at + n; ++i) {
    float sum = p->add ? p->add[i] : 0;
    for (int32_t q = 0; q < mult; ++q)
      sum += *src++;
    p->dst[i] = p->mask ? simd_gate1(p->mask[i], p->lo, p->hi, sum) : sum;
  }
}

// A row of results before its taps: what is added, and the bias.
static void begin_row(const Dwconv *p, int64_t at)
{
  const int64_t size = p->dst_w * p->c;
  const float *add = p->add + at * size;
  float *dst = p->dst + at * size;
  if (!p->bias) {
    if (add != dst)
      simd_copy(dst, add, size);
    return;
  }
  for (int64_t i = 0; i < size; i += p->c)
    for (int64_t c = 0; c < p->c; ++c)
      dst[i + c] = add[i + c] + p->bias[c];
}

// Pointers to n source columns from sx on, `step` apart.
static inline void point(const Dwconv *p, const float *row, int64_t sx, int64_t step, int n,
                         const float **to)
{
  for (int i = 0; i < n; ++i, sx += step)
    to[i] = row && sx >= 0 && sx < p->x.src_size ? row + sx * p->c : p->zeros;
}

// A row of taps of one class of columns, for results dst[grid], every dst_step-th column of a row.
// row: of the source, NULL: none. is_first: begins from init (one column for all, or NULL: dst).
// mask: beside dst, where `end` says so.
static void sweep_row(const Dwconv *p, const TapClass *x, const float *row, int32_t ky,
                      const float *init, float *dst, const float *mask, bool is_first, TileEnd end)
{
  const int32_t *tap = p->x.tap + x->first_tap, *offset = p->x.offset + x->first_tap;
  const TileKind *kind =
    find_kind(x->n_taps, p->x.src_step,
              taps_side_by_side(p->is_forward, p->s->sw, p->s->dw));
  const int64_t dst_step = p->x.dst_step * p->c;
  const int32_t passes = row && x->n_taps > 0 ? x->n_taps / kind->taps : 1;
  const bool is_joined = kind->taps > 1;
  const float *src[MAX_POINTERS];
  RowTile t = {.src = src, .w = p->zeros, .dst_step = dst_step, .c = p->c, .lo = p->lo,
               .hi = p->hi};
  for (int32_t gx = 0; gx < x->n_grid; gx += COLUMNS) {
    const int columns = (int)min64(COLUMNS, x->n_grid - gx);
    t.dst = dst + gx * dst_step;
    t.mask = mask ? mask + gx * dst_step : NULL;
    for (int32_t pass = 0; pass < passes; ++pass) {
      const bool from_init = is_first && pass == 0 && init;
      t.init = from_init ? init : t.dst;
      t.init_step = from_init ? 0 : dst_step;
      if (row && x->n_taps > 0) {
        t.w = p->w + ((int64_t)ky * p->s->kw + tap[pass]) * p->c;
        t.w_step = is_joined ? (tap[1] - tap[0]) * p->c : 0;
        point(p, row, (int64_t)gx * p->x.src_step + offset[pass], is_joined ? 1 : p->x.src_step,
              is_joined ? (columns - 1) * kind->step + kind->taps : columns, src);
      } else {
        point(p, NULL, 0, 0, columns, src);
      }
      const TileKind *use = row && x->n_taps > 0 ? kind : &kinds[0];
      use->tile[pass == passes - 1 ? end : END_NONE][columns - 1](&t);
    }
  }
}

// Row `at` of all samples' results.
static void compute_row(const Dwconv *p, int64_t at, float *buffer)
{
  const ConvShape *s = p->s;
  const int64_t sample = at / p->dst_h, dst_y = at % p->dst_h;
  const int32_t r = p->is_forward ? 0 : (int32_t)((dst_y + s->pt) % s->sh);
  const TapClass *y = &p->y.classes[r];
  const int64_t gy = (dst_y - y->dst0) / p->y.dst_step;
  const int32_t multiplier = dwconv_multiplier(s);
  const bool is_repeated = p->is_forward && multiplier > 1;
  const bool is_folded = !p->is_forward && multiplier != 1;
  const int64_t src_row = (int64_t)p->x.src_size * (is_repeated ? s->ic : p->c);
  const float *image = p->src + sample * p->y.src_size * src_row;
  float *dst = is_folded ? buffer : p->dst + at * p->dst_w * p->c;
  const float *init = p->add && !is_folded ? NULL : p->bias ? p->bias : p->zeros;
  const float *mask = p->mask && !is_folded ? p->mask + at * p->dst_w * p->c : NULL;
  if (p->add && !is_folded)
    begin_row(p, at);
  // Taps inside the image; without any, one that adds zeros.
  int32_t first = 0, end = y->n_taps;
  while (first < end && gy * p->y.src_step + p->y.offset[y->first_tap + first] < 0)
    ++first;
  while (end > first &&
         gy * p->y.src_step + p->y.offset[y->first_tap + end - 1] >= p->y.src_size)
    --end;
  const bool is_clamp = s->act != KACT_NONE && s->act != KACT_TANH && p->is_forward;
  const TileEnd last = is_clamp ? END_CLAMP : mask ? END_MASK : END_NONE;
  int32_t t = first;
  do {
    const float *row = NULL;
    int32_t ky = 0;
    if (t < end) {
      row = image + (gy * p->y.src_step + p->y.offset[y->first_tap + t]) * src_row;
      ky = p->y.tap[y->first_tap + t];
      if (is_repeated) {
        repeat(row, src_row, dwconv_multiplier(s), buffer);
        row = buffer;
      }
    }
    for (int32_t i = 0; i < p->x.n_classes; ++i) {
      const int64_t dst0 = p->x.classes[i].dst0 * p->c;
      sweep_row(p, &p->x.classes[i], row, ky, init, dst + dst0, mask ? mask + dst0 : NULL,
                t == first, t + 1 >= end ? last : END_NONE);
    }
    ++t;
  } while (t < end);
  if (p->is_forward && s->act == KACT_TANH)
    vm_activate(KACT_TANH, dst, p->dst_w * p->c);
  if (is_folded)
    fold(p, buffer, at * p->dst_w * s->ic, (int64_t)p->dst_w * s->ic, multiplier);
}

static float *row_buffer(const Dwconv *p, int worker)
{
  return (float *)(p->row_buffers + (size_t)worker * p->row_bytes);
}

static void rows_task(void *context, int task, int worker)
{
  const Dwconv *p = context;
  const int64_t first = task * p->rows_per_task, end = min64(p->rows, first + p->rows_per_task);
  for (int64_t at = first; at < end; ++at)
    compute_row(p, at, row_buffer(p, worker));
}

// --- filter gradient ---

// Adds the products of one row of dy and one of x to dw[kw,c].
static void add_row(const Dwconv *p, const float *dy, const float *row, float *dw)
{
  const ConvShape *s = p->s;
  const TapClass *x = &p->x.classes[0];
  const TileKind *kind = find_kind(s->kw, s->sw, taps_side_by_side(true, s->sw, s->dw));
  const bool is_joined = kind->taps > 1;
  const float *src[MAX_POINTERS], *g[COLUMNS];
  GradTile t = {.src = src, .dy = g, .c = p->c};
  for (int32_t gx = 0; gx < x->n_grid; gx += COLUMNS) {
    for (int32_t j = 0; j < COLUMNS; ++j)
      g[j] = gx + j < x->n_grid ? dy + (gx + j) * p->c : p->zeros;
    for (int32_t pass = 0; pass < s->kw / kind->taps; ++pass) {
      t.dw = dw + pass * p->c;
      point(p, row, (int64_t)gx * s->sw + p->x.offset[pass], is_joined ? 1 : s->sw,
            is_joined ? (COLUMNS - 1) * kind->step + kind->taps : COLUMNS, src);
      kind->grad(&t);
    }
  }
}

static void filter_task(void *context, int task, int worker)
{
  const Dwconv *p = context;
  const ConvShape *s = p->s;
  const int64_t size = (int64_t)s->kh * s->kw * p->c;
  float *dw = p->partials + task * size, *buffer = row_buffer(p, worker);
  memset(dw, 0, (size_t)size * sizeof *dw);
  const int64_t first = task * p->rows_per_task, end = min64(p->rows, first + p->rows_per_task);
  for (int64_t at = first; at < end; ++at) {
    const int64_t sample = at / s->oh, oy = at % s->oh;
    const float *dy = p->dy + at * s->ow * p->c;
    if (p->db)
      chunks_add_rows(dy, p->c, s->ow, p->c, at == first, p->bias_partials + task * p->c);
    for (int32_t ky = 0; ky < s->kh; ++ky) {
      const int64_t iy = oy * s->sh + ky * s->dh - s->pt;
      if (iy < 0 || iy >= s->ih)
        continue;
      const float *row = p->src + (sample * s->ih + iy) * s->iw * s->ic;
      if (dwconv_multiplier(s) > 1) {
        repeat(row, (int64_t)s->iw * s->ic, dwconv_multiplier(s), buffer);
        row = buffer;
      }
      add_row(p, dy, row, dw + (int64_t)ky * s->kw * p->c);
    }
  }
}

static void reduce_task(void *context, int task, int worker)
{
  const Dwconv *p = context;
  (void)worker;
  const int64_t size = (int64_t)p->s->kh * p->s->kw * p->c, from = (int64_t)task * REDUCE;
  const int64_t chunks = ceil_div(p->rows, p->rows_per_task);
  chunks_reduce(p->partials + from, size, chunks, min64(REDUCE, size - from), p->accumulate,
                     p->dst + from);
}

// --- interface ---

typedef enum { FORWARD, INPUT_GRAD, FILTER_GRAD } Way;

static int64_t multiplies_per_row(const ConvShape *s)
{
  return (int64_t)s->ow * s->oc * s->kh * s->kw;
}

static Dwconv plan(const ConvShape *s, Way way)
{
  Dwconv p = {.s = s, .is_forward = way != INPUT_GRAD, .c = (int64_t)s->oc,
              .lo = simd_act_lo(s->act), .hi = simd_act_hi(s->act)};
  p.dst_h = p.is_forward ? s->oh : s->ih;
  p.dst_w = p.is_forward ? s->ow : s->iw;
  p.y = taps_axis(p.is_forward, s->sh, s->ih, s->oh);
  p.x = taps_axis(p.is_forward, s->sw, s->iw, s->ow);
  p.rows = (int64_t)s->n * p.dst_h;
  const int64_t cost = multiplies_per_row(s) + 1;
  p.rows_per_task = ceil_div(TASK_MULTIPLIES, cost);
  if (s->is_piece)
    p.rows_per_task = p.rows > 0 ? p.rows : 1;
  else if (way == FILTER_GRAD && p.rows > p.rows_per_task * MAX_CHUNKS)
    p.rows_per_task = ceil_div(p.rows, MAX_CHUNKS);
  return p;
}

static char *take(char **scratch, size_t bytes)
{
  char *p = *scratch;
  *scratch += (bytes + 63) / 64 * 64;
  return p;
}

static size_t lay_out(Dwconv *p, Way way, char *scratch, int threads)
{
  const ConvShape *s = p->s;
  char *at = scratch;
  TapAxis *const axes[] = {&p->y, &p->x};
  for (int i = 0; i < 2; ++i) {
    size_t taps = (size_t)(i == 0 ? s->kh : s->kw) * sizeof(int32_t);
    axes[i]->classes = (TapClass *)take(&at, (size_t)axes[i]->n_classes * sizeof(TapClass));
    axes[i]->tap = (int32_t *)take(&at, taps);
    axes[i]->offset = (int32_t *)take(&at, taps);
  }
  p->zeros = (float *)take(&at, (size_t)p->c * sizeof(float));
  if (way == FILTER_GRAD)
  {
    const size_t chunks = (size_t)(ceil_div(p->rows, p->rows_per_task) * p->c) * sizeof(float);
    p->partials = (float *)take(&at, chunks * (size_t)s->kh * (size_t)s->kw);
    p->bias_partials = (float *)take(&at, chunks);
  }
  p->row_buffers = at;
  size_t columns = (size_t)(s->iw > s->ow ? s->iw : s->ow);
  p->row_bytes =
    dwconv_multiplier(s) != 1 ? (columns * (size_t)p->c * sizeof(float) + 63) / 64 * 64 : 0;
  return (size_t)(at - scratch) + p->row_bytes * (size_t)(threads < 1 ? 1 : threads);
}

static bool is_empty(const ConvShape *s, Way way)
{
  int64_t c = (int64_t)s->oc;
  switch (way) {
  case FORWARD:
    return s->n <= 0 || s->oh <= 0 || s->ow <= 0 || c <= 0;
  case INPUT_GRAD:
    return s->n <= 0 || s->ih <= 0 || s->iw <= 0 || s->ic <= 0;
  default:
    return s->kh <= 0 || s->kw <= 0 || c <= 0;
  }
}

static size_t scratch_bytes(const ConvShape *s, Way way, int threads)
{
  if (is_empty(s, way))
    return 0;
  Dwconv p = plan(s, way);
  return lay_out(&p, way, NULL, threads);
}

static size_t forward_scratch(const ConvShape *s, int threads)
{
  return scratch_bytes(s, FORWARD, threads);
}

static size_t input_grad_scratch(const ConvShape *s, int threads)
{
  return scratch_bytes(s, INPUT_GRAD, threads);
}

static size_t filter_grad_scratch(const ConvShape *s, int threads)
{
  return scratch_bytes(s, FILTER_GRAD, threads);
}

static void run(Dwconv *p, Way way, void *scratch, Pool *pool)
{
  const ConvShape *s = p->s;
  lay_out(p, way, scratch, pool_threads(pool));
  taps_fill(&p->y, p->is_forward, p->dst_h, s->kh, s->sh, s->dh, s->pt);
  taps_fill(&p->x, p->is_forward, p->dst_w, s->kw, s->sw, s->dw, s->pl);
  memset(p->zeros, 0, (size_t)p->c * sizeof(float));
  if (s->n * s->oh * multiplies_per_row(s) < SERIAL_MULTIPLIES)
    pool = NULL;
  pool_run(pool, (int)ceil_div(p->rows, p->rows_per_task),
           way == FILTER_GRAD ? filter_task : rows_task, p);
  if (way == FILTER_GRAD)
    pool_run(pool, (int)ceil_div((int64_t)s->kh * s->kw * p->c, REDUCE), reduce_task, p);
  if (p->db)
    chunks_reduce(p->bias_partials, p->c, ceil_div(p->rows, p->rows_per_task), p->c,
                       p->accumulate, p->db);
}

static size_t packed_bytes(const ConvShape *s, ConvWay way)
{
  (void)s;
  (void)way;
  return 0;
}

static void forward(const ConvShape *s, const float *x, const float *w, const float *bias,
                    const float *add, float *y, void *scratch, Pool *pool)
{
  if (is_empty(s, FORWARD))
    return;
  Dwconv p = plan(s, FORWARD);
  p.src = x;
  p.w = w;
  p.bias = bias;
  p.add = add;
  p.dst = y;
  run(&p, FORWARD, scratch, pool);
}

static void input_grad(const ConvShape *s, const float *dy, const float *w, const float *add,
                       const float *mask, float *dx, void *scratch, Pool *pool)
{
  if (is_empty(s, INPUT_GRAD))
    return;
  Dwconv p = plan(s, INPUT_GRAD);
  p.src = dy;
  p.w = w;
  p.dst = dx;
  p.add = add;
  p.mask = mask;
  run(&p, INPUT_GRAD, scratch, pool);
}

static void filter_grad(const ConvShape *s, const float *x, const float *dy, float *dw, float *db,
                        bool accumulate, void *scratch, Pool *pool)
{
  if (is_empty(s, FILTER_GRAD))
    return;
  Dwconv p = plan(s, FILTER_GRAD);
  p.src = x;
  p.dy = dy;
  p.dst = dw;
  p.db = db;
  p.accumulate = accumulate;
  run(&p, FILTER_GRAD, scratch, pool);
}

extern const ConvKernels KERNEL_TABLE(dwconv);
const ConvKernels KERNEL_TABLE(dwconv) = {
  .packed_bytes = packed_bytes,
  .forward_scratch = forward_scratch,
  .forward = forward,
  .input_grad_scratch = input_grad_scratch,
  .input_grad = input_grad,
  .filter_grad_scratch = filter_grad_scratch,
  .filter_grad = filter_grad,
};
