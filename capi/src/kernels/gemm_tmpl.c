// SPDX-License-Identifier: Apache-2.0
// Matrix multiply, compiled once per instruction set: the block product of gemm_core.h and the
// cutting of whole products into blocks.
//
// C is cut into a grid of tasks that depends on the shape only; each task walks k in blocks,
// packing what is not worth reading in place. Products with few rows go their own ways, see
// gemm_few.h.
#include "kernels/gemm.h"

#include "kernels/gemm_core.h"
#include "kernels/gemm_few.h"

// --- block product ---

// One tile: the part of a CoreBlock that does not change between tiles, and its position.
typedef struct {
  const CoreBlock *q;
  const float *const *rows;
  const float *b;
  int64_t b_step;
  float *const *c;
  int64_t column; // of C
  int width;      // columns of C, at most those of the tile
} Tile;

// Results of a tile that is not whole vectors, or whose activation is no clamp. Not inlined: many
// tiles share it.
static __attribute__((noinline)) void finish_tile(const Tile *t, int rows, const float *sums,
                                                  int sums_step)
{
  const CoreBlock *q = t->q;
  for (int i = 0; i < rows; ++i, sums += sums_step) {
    float *c = t->c[i] + t->column;
    for (int j = 0; j < t->width; ++j) {
      float v = sums[j];
      if (q->accumulate)
        v += core_beside(c, q->add_offset)[j];
      if (q->bias)
        v += q->bias[t->column + j];
      c[j] = q->is_masked ? simd_gate1(core_beside(c, q->mask_offset)[j], simd_act_lo(q->act),
                                       simd_act_hi(q->act), v)
                          : v;
    }
    if (!q->is_masked)
      vm_activate(q->act, c, t->width);
  }
}

// rows and vectors are constants: acc lives in registers.
SIMD_INLINE void compute_tile(const Tile *t, const int rows, const int vectors)
{
  const CoreBlock *q = t->q;
  Vec acc[SIMD_TILE_ROWS][SIMD_TILE_VECTORS];
  SIMD_UNROLL
  for (int i = 0; i < rows; ++i)
    SIMD_UNROLL
    for (int v = 0; v < vectors; ++v)
      acc[i][v] = (Vec){0};
  const float *b = t->b;
  const int64_t b_step = t->b_step, a_step = q->a_step, end = q->seg_len * a_step;
  const float *const *segment = t->rows;
  for (int64_t s = 0; s < q->n_seg; ++s, segment += CORE_ROWS) {
    const float *a[SIMD_TILE_ROWS];
    SIMD_UNROLL
    for (int i = 0; i < rows; ++i)
      a[i] = segment[i] + q->a_offset;
    for (int64_t e = 0; e < end; e += a_step) {
      Vec row[SIMD_TILE_VECTORS];
      SIMD_UNROLL
      for (int v = 0; v < vectors; ++v)
        row[v] = simd_load(b + v * SIMD_LANES);
      SIMD_UNROLL
      for (int i = 0; i < rows; ++i) {
        Vec x = simd_splat(a[i][e]);
        SIMD_UNROLL
        for (int v = 0; v < vectors; ++v)
          acc[i][v] += x * row[v];
      }
      b += b_step;
    }
  }
  if (t->width < vectors * SIMD_LANES || q->act == KACT_TANH) {
    float sums[SIMD_TILE_ROWS * SIMD_TILE_VECTORS * SIMD_LANES];
    SIMD_UNROLL
    for (int i = 0; i < rows; ++i)
      SIMD_UNROLL
      for (int v = 0; v < vectors; ++v)
        simd_store(sums + (i * vectors + v) * SIMD_LANES, acc[i][v]);
    finish_tile(t, rows, sums, vectors * SIMD_LANES);
    return;
  }
  if (q->accumulate) {
    SIMD_UNROLL
    for (int i = 0; i < rows; ++i)
      SIMD_UNROLL
      for (int v = 0; v < vectors; ++v)
        acc[i][v] +=
          simd_load(core_beside(t->c[i] + t->column + v * SIMD_LANES, q->add_offset));
  }
  if (q->bias) {
    SIMD_UNROLL
    for (int v = 0; v < vectors; ++v) {
      Vec bias = simd_load(q->bias + t->column + v * SIMD_LANES);
      SIMD_UNROLL
      for (int i = 0; i < rows; ++i)
        acc[i][v] += bias;
    }
  }
  if (q->is_masked) {
    Vec lo = simd_splat(simd_act_lo(q->act)), hi = simd_splat(simd_act_hi(q->act));
    SIMD_UNROLL
    for (int i = 0; i < rows; ++i)
      SIMD_UNROLL
      for (int v = 0; v < vectors; ++v) {
        const float *y = t->c[i] + t->column + v * SIMD_LANES;
        acc[i][v] = simd_gate(simd_load(core_beside(y, q->mask_offset)), lo, hi, acc[i][v]);
      }
  } else if (q->act != KACT_NONE) {
    Vec lo = simd_splat(simd_act_lo(q->act)), hi = simd_splat(simd_act_hi(q->act));
    SIMD_UNROLL
    for (int i = 0; i < rows; ++i)
      SIMD_UNROLL
      for (int v = 0; v < vectors; ++v)
        acc[i][v] = simd_clamp(acc[i][v], lo, hi);
  }
  if (q->is_streamed) {
    SIMD_UNROLL
    for (int i = 0; i < rows; ++i)
      SIMD_UNROLL
      for (int v = 0; v < vectors; ++v)
        simd_stream(t->c[i] + t->column + v * SIMD_LANES, acc[i][v]);
    return;
  }
  SIMD_UNROLL
  for (int i = 0; i < rows; ++i)
    SIMD_UNROLL
    for (int v = 0; v < vectors; ++v)
      simd_store(t->c[i] + t->column + v * SIMD_LANES, acc[i][v]);
}

#define TILE(rows, vectors)                                                                        \
  static void tile_##rows##x##vectors(const Tile *t)                                               \
  {                                                                                                \
    compute_tile(t, rows, vectors);                                                                \
  }
#define TILE_NAME(rows, vectors) tile_##rows##x##vectors,
#if SIMD_TILE_VECTORS == 3
#define TILE_WIDTHS(T, rows) T(rows, 1) T(rows, 2) T(rows, 3)
#else
#define TILE_WIDTHS(T, rows) T(rows, 1) T(rows, 2)
#endif
#define TILES_4(T) TILE_WIDTHS(T, 1) TILE_WIDTHS(T, 2) TILE_WIDTHS(T, 3) TILE_WIDTHS(T, 4)
#define TILES_6(T) TILES_4(T) TILE_WIDTHS(T, 5) TILE_WIDTHS(T, 6)
#define TILES_7(T) TILES_6(T) TILE_WIDTHS(T, 7)
#define TILES_14(T)                                                                                \
  TILES_7(T) TILE_WIDTHS(T, 8) TILE_WIDTHS(T, 9) TILE_WIDTHS(T, 10) TILE_WIDTHS(T, 11)             \
  TILE_WIDTHS(T, 12) TILE_WIDTHS(T, 13) TILE_WIDTHS(T, 14)
#define TILES_OF(n) KERNEL_PASTE(TILES, n)
TILES_OF(SIMD_TILE_ROWS)(TILE)
// [rows - 1][vectors - 1]
static void (*const tiles[])(const Tile *t) = {TILES_OF(SIMD_TILE_ROWS)(TILE_NAME)};

void core_block(const CoreBlock *q)
{
  const int64_t height = core_strip_rows(q->m);
  for (int64_t i = 0, strip = 0; i < q->m; i += height, ++strip) {
    int64_t rows = q->m - i < height ? q->m - i : height;
    Tile t = {.q = q, .rows = q->rows + strip * q->strip_step, .c = q->c + i};
    for (int64_t j = 0, panel = 0; j < q->n; j += CORE_COLS, ++panel) {
      bool last = q->b_last && j + CORE_COLS >= q->n;
      t.b = last ? q->b_last : q->b + panel * q->b_panel;
      t.b_step = last ? CORE_COLS : q->b_step;
      t.column = j;
      t.width = (int)(q->n - j < CORE_COLS ? q->n - j : CORE_COLS);
      int vectors = (t.width + SIMD_LANES - 1) / SIMD_LANES;
      tiles[(rows - 1) * SIMD_TILE_VECTORS + vectors - 1](&t);
    }
  }
}

// Whole vectors and an element-wise rest. A row of a panel lower than a vector is stored as one
// vector, whose excess the next row covers, unless it is the last.
static void pack_rows(const float *src, int64_t k_step, int64_t k, int64_t n, int64_t panel,
                      int64_t dst_k, float *dst)
{
  const bool is_narrow = panel < SIMD_LANES && k_step >= SIMD_LANES;
  // Row by row of the source: memory is read in order.
  for (int64_t e = 0; e < k; ++e, src += k_step, dst += panel) {
    float *to = dst;
    int64_t j = 0;
    if (is_narrow && e + 1 < k) {
      for (; j + panel <= n; j += panel, to += panel * dst_k)
        simd_store(to, simd_load(src + j));
    } else if (panel == CORE_COLS) {
      for (; j + CORE_COLS <= n; j += CORE_COLS, to += CORE_COLS * dst_k)
        SIMD_UNROLL
        for (int v = 0; v < SIMD_TILE_VECTORS; ++v)
          simd_store(to + v * SIMD_LANES, simd_load(src + j + v * SIMD_LANES));
    }
    for (; j < n; j += panel, to += panel * dst_k) {
      int64_t width = n - j < panel ? n - j : panel;
      simd_copy(to, src + j, width);
      simd_zero(to + width, panel - width);
    }
  }
}

static void pack_columns(const float *from, int64_t k_step, int64_t j_step, int64_t k,
                         int64_t width, int64_t panel, float *dst)
{
  int64_t e = 0;
  for (; k_step == 1 && e + 4 <= k; e += 4) {
    int64_t i = 0;
    for (; i + 4 <= width; i += 4)
      simd_transpose4(from + i * j_step + e, j_step, dst + e * panel + i, panel);
    for (; i < width; ++i)
      for (int64_t r = e; r < e + 4; ++r)
        dst[r * panel + i] = from[i * j_step + r];
  }
  for (; e < k; ++e)
    for (int64_t i = 0; i < width; ++i)
      dst[e * panel + i] = from[i * j_step + e * k_step];
  for (e = 0; e < k && width < panel; ++e)
    simd_zero(dst + e * panel + width, panel - width);
}

void core_pack(const float *src, int64_t k_step, int64_t j_step, int64_t k, int64_t n,
               int64_t panel, int64_t dst_k, float *dst)
{
  if (j_step == 1) {
    pack_rows(src, k_step, k, n, panel, dst_k, dst);
    return;
  }
  for (int64_t j = 0; j < n; j += panel, dst += panel * dst_k)
    pack_columns(src + j * j_step, k_step, j_step, k, n - j < panel ? n - j : panel, panel, dst);
}

// --- whole products ---

enum { PRODUCT_TASKS = 32 }; // wanted

typedef struct {
  const GemmShape *s;
  const float *a, *b, *bias;
  float *c;
  bool accumulate, pack_a, pack_b;
  int64_t task_rows, task_cols, row_tasks, tasks, block_k;
  size_t worker_bytes;
  char *scratch;
} Product;

// Scratch of one worker: packed A and B of a task's block, and the pointers to rows.
typedef struct {
  float *a, *b;
  const float **rows;
  float **c;
} Work;

static Work lay_out(const Product *p, char *scratch, size_t *bytes)
{
  char *at = scratch;
  const int64_t strips = core_ceil(p->task_rows, CORE_ROWS), k = p->block_k;
  Work w;
  w.a = core_take(&at, p->pack_a ? (size_t)(p->task_rows * k) * sizeof(float) : 0);
  int64_t cols = p->pack_b ? p->task_cols : CORE_COLS;
  w.b = core_take(&at, (size_t)core_packed_floats(k, cols) * sizeof(float));
  w.rows = core_take(&at, (size_t)(strips * CORE_ROWS) * sizeof *w.rows);
  w.c = core_take(&at, (size_t)p->task_rows * sizeof *w.c);
  *bytes = (size_t)(at - scratch);
  return w;
}

static void product_task(void *context, int task, int worker)
{
  const Product *p = context;
  const GemmShape *s = p->s;
  size_t unused;
  Work w = lay_out(p, p->scratch + (size_t)worker * p->worker_bytes, &unused);
  int64_t i0 = task % p->row_tasks * p->task_rows, j0 = task / p->row_tasks * p->task_cols;
  int64_t m = s->m - i0 < p->task_rows ? s->m - i0 : p->task_rows;
  int64_t n = s->n - j0 < p->task_cols ? s->n - j0 : p->task_cols;
  int64_t height = core_strip_rows(m);
  for (int64_t i = 0; i < m; ++i)
    w.c[i] = p->c + (i0 + i) * s->c_row + j0;
  for (int64_t k0 = 0; k0 < s->k; k0 += p->block_k) {
    int64_t k = core_min(s->k - k0, p->block_k);
    bool is_last = k0 + k == s->k;
    CoreBlock q = {.m = m, .n = n, .rows = w.rows, .strip_step = CORE_ROWS, .n_seg = 1,
                   .seg_len = k, .a_step = p->pack_a ? height : s->a_col, .c = w.c,
                   .accumulate = p->accumulate || k0 > 0,
                   .bias = is_last && p->bias ? p->bias + j0 : NULL,
                   .act = is_last ? s->act : KACT_NONE};
    const float *a = p->a + i0 * s->a_row + k0 * s->a_col;
    if (p->pack_a)
      core_pack(a, s->a_col, s->a_row, k, m, height, k, w.a);
    for (int64_t i = 0; i < m; ++i) {
      int64_t strip = i / height, row = i % height;
      w.rows[strip * CORE_ROWS + row] =
        p->pack_a ? w.a + strip * height * k + row : a + i * s->a_row;
    }
    const float *b = p->b + k0 * s->b_row + j0 * s->b_col;
    if (p->pack_b) {
      core_pack(b, s->b_row, s->b_col, k, n, CORE_COLS, k, w.b);
      q.b = w.b;
      q.b_panel = CORE_COLS * k;
      q.b_step = CORE_COLS;
    } else {
      q.b = b;
      q.b_panel = CORE_COLS;
      q.b_step = s->b_row;
      int64_t part = n % CORE_COLS;
      if (part) {
        core_pack(b + n - part, s->b_row, 1, k, part, CORE_COLS, k, w.b);
        q.b_last = w.b;
      }
    }
    core_block(&q);
  }
}

// Chooses what to pack and how to cut, by the shape and the number of tasks wanted.
static Product plan(const GemmShape *s, int64_t wanted)
{
  Product p = {.s = s};
  // Rows of B in place cost nothing when each is read by few strips and all stay in cache.
  const bool is_low = s->m <= 4 * CORE_ROWS;
  p.pack_b = s->b_col != 1 || s->k * s->n > (is_low ? CORE_B_FLOATS : CORE_B_FLOATS / 8);
  p.pack_a = s->a_col != 1 && s->n > 2 * CORE_COLS && s->k > 4 * CORE_ROWS;
  // Packing for few rows is limited by memory: longer pieces of the rows of B, fewer of them.
  p.block_k = core_min(s->k, is_low && s->b_col == 1 ? CORE_K / 4 : CORE_K);
  p.task_cols = core_ceil(s->n, CORE_COLS) * CORE_COLS;
  p.task_rows = 32 * CORE_ROWS;
  int64_t most_cols = CORE_B_FLOATS / (p.block_k > 0 ? p.block_k : 1) / CORE_COLS * CORE_COLS;
  p.task_cols = core_min(p.task_cols, most_cols < CORE_COLS ? CORE_COLS : most_cols);
  // More tasks where each keeps enough work.
  while (core_ceil(s->m, p.task_rows) * core_ceil(s->n, p.task_cols) < wanted) {
    bool rows = core_min(s->m, p.task_rows) >= 16 * CORE_ROWS ||
                (!p.pack_b && core_min(s->m, p.task_rows) > CORE_ROWS);
    int64_t cost = 2 * core_min(s->m, p.task_rows) * core_min(s->n, p.task_cols) * s->k;
    if (cost < 4 * CORE_SERIAL_FLOPS || (!rows && p.task_cols <= 2 * CORE_COLS))
      break;
    if (rows)
      p.task_rows = core_ceil(core_ceil(core_min(s->m, p.task_rows), 2), CORE_ROWS) * CORE_ROWS;
    else
      p.task_cols = core_ceil(core_ceil(p.task_cols, 2), CORE_COLS) * CORE_COLS;
  }
  p.task_rows = core_min(p.task_rows, core_ceil(s->m, CORE_ROWS) * CORE_ROWS);
  p.row_tasks = core_ceil(s->m, p.task_rows);
  p.tasks = p.row_tasks * core_ceil(s->n, p.task_cols);
  lay_out(&p, NULL, &p.worker_bytes);
  return p;
}

static bool is_empty(const GemmShape *s)
{
  return s->m <= 0 || s->n <= 0;
}

static size_t scratch_bytes(const GemmShape *s, int threads)
{
  if (is_empty(s) || is_dot(s) || is_sum(s))
    return 0;
  return plan(s, PRODUCT_TASKS).worker_bytes * (size_t)(threads < 1 ? 1 : threads);
}

// The product of nothing is zero.
static void run_without_k(const Product *p)
{
  const GemmShape *s = p->s;
  for (int64_t i = 0; i < s->m && !p->accumulate; ++i)
    for (int64_t j = 0; j < s->n; ++j)
      p->c[i * s->c_row + j] = activate(s->act, p->bias ? p->bias[j] : 0);
}

static void run(const GemmShape *s, const float *a, const float *b, const float *bias, float *c,
                bool accumulate, void *scratch, Pool *pool)
{
  if (is_empty(s))
    return;
  if (2 * s->m * s->n * s->k < CORE_SERIAL_FLOPS)
    pool = NULL;
  FewProduct few = {.s = s, .a = a, .b = b, .bias = bias, .c = c, .accumulate = accumulate};
  if (s->k > 0 && plan_few(&few)) {
    pool_run(pool, (int)few.tasks, few.task, &few);
    return;
  }
  Product p = plan(s, PRODUCT_TASKS);
  p.a = a;
  p.b = b;
  p.bias = bias;
  p.c = c;
  p.accumulate = accumulate;
  p.scratch = scratch;
  if (s->k > 0)
    pool_run(pool, (int)p.tasks, product_task, &p);
  else
    run_without_k(&p);
}

// --- batches ---

// Some dimensions of a batch: those of results, or those that are summed over.
typedef struct {
  int rank, at[GEMM_BATCH_RANK];
  int64_t count;
} Dims;

typedef struct {
  const GemmBatch *q;
  const float *a, *b;
  float *c;
  bool accumulate;
  Dims results, sums;
  bool is_few;
  FewProduct few;  // how one product is cut
  Product product;
  int64_t grid;    // tasks of one result
  int64_t at_once; // results of one task
} Batch;

static Dims select_dims(const GemmBatch *q, bool are_sums)
{
  Dims d = {.count = 1};
  for (int i = 0; i < q->rank; ++i)
    if ((q->c_step[i] == 0) == are_sums) {
      d.at[d.rank++] = i;
      d.count *= q->dim[i];
    }
  return d;
}

// Where a product stands.
typedef struct {
  int64_t a, b, c;
} Place;

static Place place_of(const GemmBatch *q, const Dims *d, int64_t index, Place p)
{
  for (int i = d->rank; i-- > 0;) {
    const int at = d->at[i];
    const int64_t k = index % q->dim[at];
    p.a += k * q->a_step[at];
    p.b += k * q->b_step[at];
    p.c += k * q->c_step[at];
    index /= q->dim[at];
  }
  return p;
}

static Batch plan_batch(const GemmBatch *q)
{
  const GemmShape *s = &q->one;
  Batch p = {.q = q, .results = select_dims(q, false), .sums = select_dims(q, true)};
  p.few.s = s;
  p.is_few = plan_few(&p.few);
  if (!p.is_few)
    p.product = plan(s, core_ceil(PRODUCT_TASKS, p.results.count));
  p.grid = p.is_few ? p.few.tasks : p.product.tasks;
  const double cost = 2.0 * (double)s->m * (double)s->n * (double)s->k * (double)p.sums.count;
  p.at_once = p.grid == 1 && cost < CORE_SERIAL_FLOPS ? (int64_t)(CORE_SERIAL_FLOPS / cost) : 1;
  return p;
}

static bool batch_is_empty(const GemmBatch *q)
{
  return is_empty(&q->one) || select_dims(q, false).count == 0;
}

static bool batch_has_terms(const GemmBatch *q)
{
  return q->one.k > 0 && select_dims(q, true).count > 0;
}

static void batch_task(void *context, int task, int worker)
{
  const Batch *p = context;
  const int block = (int)(task % p->grid);
  const int64_t first = task / p->grid * p->at_once;
  const int64_t end = core_min(first + p->at_once, p->results.count);
  FewProduct few = p->few;
  Product product = p->product;
  for (int64_t i = first; i < end; ++i) {
    const Place result = place_of(p->q, &p->results, i, (Place){0});
    for (int64_t k = 0; k < p->sums.count; ++k) {
      const Place at = place_of(p->q, &p->sums, k, result);
      if (p->is_few) {
        few.a = p->a + at.a;
        few.b = p->b + at.b;
        few.c = p->c + at.c;
        few.accumulate = p->accumulate || k > 0;
        few.task(&few, block, worker);
      } else {
        product.a = p->a + at.a;
        product.b = p->b + at.b;
        product.c = p->c + at.c;
        product.accumulate = p->accumulate || k > 0;
        product_task(&product, block, worker);
      }
    }
  }
}

static size_t batch_scratch(const GemmBatch *q, int threads)
{
  if (batch_is_empty(q) || !batch_has_terms(q))
    return 0;
  if (q->rank == 0)
    return scratch_bytes(&q->one, threads);
  const Batch p = plan_batch(q);
  return p.is_few ? 0 : p.product.worker_bytes * (size_t)(threads < 1 ? 1 : threads);
}

static void run_batch(const GemmBatch *q, const float *a, const float *b, float *c,
                      bool accumulate, void *scratch, Pool *pool)
{
  if (batch_is_empty(q))
    return;
  if (q->rank == 0) {
    run(&q->one, a, b, NULL, c, accumulate, scratch, pool);
    return;
  }
  if (!batch_has_terms(q)) {
    const Dims results = select_dims(q, false);
    Product nothing = {.s = &q->one, .accumulate = accumulate};
    for (int64_t i = 0; i < results.count; ++i) {
      nothing.c = c + place_of(q, &results, i, (Place){0}).c;
      run_without_k(&nothing);
    }
    return;
  }
  Batch p = plan_batch(q);
  p.a = a;
  p.b = b;
  p.c = c;
  p.accumulate = accumulate;
  p.product.scratch = scratch;
  pool_run(pool, (int)(p.grid * core_ceil(p.results.count, p.at_once)), batch_task, &p);
}

extern const GemmKernels KERNEL_TABLE(gemm);
const GemmKernels KERNEL_TABLE(gemm) = {.scratch_bytes = scratch_bytes,
                                        .run = run,
                                        .batch_scratch = batch_scratch,
                                        .run_batch = run_batch};
