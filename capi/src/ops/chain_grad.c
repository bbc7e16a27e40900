// SPDX-License-Identifier: Apache-2.0
// The gradient of CONV_CHAIN, by bands of rows as the forward pass: what was between the stages is
// computed again from x, so that neither it nor its gradients ever leave the cache.
//
// With e = act(conv(x)), d = act(depthwise(e)) and y = conv(d), for each band of rows of e:
//   the rows of d that see it, and their gradients dd = act'(d) conv^T(dy): new ones only;
//   of these, once: the filter gradients of the last stage and of the depthwise one;
//   de = act'(e) depthwise^T(dd), and with it the filter gradient of the first stage and dx.
// The first stage is 1x1 with stride 1 where dx is wanted, the last one always: their rows are
// those of their results.
//
// A task is some rows of e of one sample, cut by the problem only. Its sums for filters and biases
// stand apart; they are added up in the order of the tasks.
#include "ops/chain_rows.h"

#include "ops/bindings.h"

#include <string.h>

enum {
  DY, X, FILTERS, BIASES = FILTERS + CHAIN_STAGES, MASK = BIASES + CHAIN_STAGES, // operands
  TASKS = 8,        // wanted, if the samples are fewer
  SUMS = 2 * CHAIN_STAGES, // gradients of filters, then of biases
  SUM_BLOCK = 4096, // elements that one task adds up
};

typedef struct {
  ChainAttr chain;
  bool wants_x;
  bool wants[SUMS];
} ChainGradAttr;

// Filters that the bands use, each for one way.
typedef enum { PACK_E, PACK_DD, PACK_DX, PACKS } Pack;
static const struct {
  int stage;
  ConvWay way;
} packs[PACKS] = {
  [PACK_E] = {0, CONV_FORWARD}, [PACK_DD] = {2, CONV_INPUT_GRAD}, [PACK_DX] = {0, CONV_INPUT_GRAD}};

typedef enum { BUF_E, BUF_DE, BUF_D, BUF_DD, BUFFERS } Buffer; // rows that a worker holds

typedef struct {
  ChainStage stage[CHAIN_STAGES];
  const ChainGradAttr *attr;
  int32_t samples, tasks;       // tasks of one sample
  int32_t task_rows, band_rows; // of e
  int32_t rows[BUFFERS];        // that a buffer holds, at most
  int32_t n_in;
  KernelAct x_act;              // whose result x is, where it is the mask
  size_t kernel_scratch, worker_bytes, packed_bytes;
  int32_t out[SUMS];            // operand, or -1
  int64_t sum_at[SUMS + 1];     // floats before each sum in a task's
} Args;

typedef struct {
  Args *measured; // takes the largest sizes, or NULL: compute
  const Args *a;
  const Call *call;
  const float *const *packed; // filters, by Pack
  float *buffer[BUFFERS], *sums;
  void *scratch;
  const float *x, *dy, *mask, *add; // of the sample; mask and add: NULL without
  float *dx;                        // NULL where not wanted
  Rows task, e, d;                  // of e; that BUF_E and BUF_DD hold
} Walk;

static size_t buffer_bytes(const Args *a, Buffer i)
{
  const ConvShape *s = &a->stage[i == BUF_E || i == BUF_DE ? 0 : 1].s;
  return chain_aligned((size_t)(a->rows[i] * chain_row_out(s)) * sizeof(float));
}

static void need_rows(const Walk *w, Buffer i, int32_t rows)
{
  if (w->measured && rows > w->measured->rows[i])
    w->measured->rows[i] = rows;
}

static void need_scratch(const Walk *w, size_t bytes)
{
  if (w->measured && bytes > w->measured->kernel_scratch)
    w->measured->kernel_scratch = bytes;
}

// The filter of a stage for a way, and whether it is packed.
static const float *filter(const Walk *w, int stage, ConvWay way, ConvShape *s)
{
  for (int i = 0; i < PACKS; ++i)
    if (packs[i].stage == stage && packs[i].way == way) {
      s->is_packed = w->a->stage[stage].packed[way] > 0;
      return w->measured ? NULL : w->packed[i];
    }
  return w->measured ? NULL : w->call->p[FILTERS + stage];
}

// Rows from `at` on in a buffer whose first one is `first`.
static float *rows_of(float *buffer, const ConvShape *s, int32_t first, int32_t at)
{
  return chain_at(buffer, (at - first) * chain_row_out(s));
}

// Results `out` of stage i < 2, activated; source: from row source_first of its input on.
static void forward(const Walk *w, int i, Rows out, const float *source, int32_t source_first,
                    float *to)
{
  const ChainStage *stage = &w->a->stage[i];
  const Rows in = chain_source(&stage->s, out);
  ConvShape s = chain_band(&stage->s, out, in);
  const float *f = filter(w, i, CONV_FORWARD, &s);
  need_scratch(w, stage->k->forward_scratch(&s, 1));
  if (!w->measured)
    stage->k->forward(&s, source + (in.begin - source_first) * chain_row_in(&s), f,
                      w->call->p[BIASES + i], NULL, to, w->scratch, NULL);
}

// Adds to the sums of stage i what results `out` and their gradients give.
static void filter_grad(const Walk *w, int i, Rows out, const float *source, int32_t source_first,
                        const float *dy)
{
  const ChainStage *stage = &w->a->stage[i];
  const Rows in = chain_source(&stage->s, out);
  ConvShape s = chain_band(&stage->s, out, in);
  s.act = KACT_NONE;
  const bool *wants = w->a->attr->wants;
  if (!wants[i] && !wants[CHAIN_STAGES + i])
    return;
  need_scratch(w, stage->k->filter_grad_scratch(&s, 1));
  if (w->measured)
    return;
  const int64_t *at = w->a->sum_at;
  stage->k->filter_grad(&s, source + (in.begin - source_first) * chain_row_in(&s), dy,
                        w->sums + at[i],
                        wants[CHAIN_STAGES + i] ? w->sums + at[CHAIN_STAGES + i] : NULL, true,
                        w->scratch, NULL);
}

// Gradient of rows `in` of the input of stage i, from that of all its results that see them.
static void input_grad(const Walk *w, int i, Rows in, Rows out, const float *dy, KernelAct act,
                       const float *add, const float *mask, float *dx)
{
  const ChainStage *stage = &w->a->stage[i];
  ConvShape s = chain_band(&stage->s, out, in);
  s.act = act;
  const float *f = filter(w, i, CONV_INPUT_GRAD, &s);
  need_scratch(w, stage->k->input_grad_scratch(&s, 1));
  if (!w->measured)
    stage->k->input_grad(&s, dy, f, add, act == KACT_NONE ? NULL : mask, dx, w->scratch, NULL);
}

// Moves what `want` shares with the rows that a buffer holds to its front; returns the rows that
// it lacks.
static Rows keep_rows(const Walk *w, Buffer i, const ConvShape *s, Rows *have, Rows want)
{
  Rows missing = want;
  if (want.begin < have->end) {
    missing.begin = have->end < want.end ? have->end : want.end;
    if (!w->measured && want.begin > have->begin)
      memmove(w->buffer[i], rows_of(w->buffer[i], s, have->begin, want.begin),
              (size_t)((missing.begin - want.begin) * chain_row_out(s)) * sizeof(float));
  }
  need_rows(w, i, rows_count(want));
  *have = want;
  return missing;
}

// Rows of d whose sums this task takes: those whose windows begin in its rows of e.
static Rows owned(const Walk *w, Rows d)
{
  const ConvShape *s = &w->a->stage[1].s;
  while (d.begin < d.end && chain_source(s, (Rows){d.begin, d.begin + 1}).begin < w->task.begin)
    ++d.begin;
  while (d.begin < d.end && chain_source(s, (Rows){d.end - 1, d.end}).begin >= w->task.end)
    --d.end;
  return d;
}

static void run_band(Walk *w, Rows band)
{
  const ChainStage *stage = w->a->stage;
  const ConvShape *s0 = &stage[0].s, *s1 = &stage[1].s, *s2 = &stage[2].s;
  float *const *b = w->buffer;
  const Rows readers = chain_readers(s1, band);
  const Rows d = keep_rows(w, BUF_DD, s1, &w->d, readers), own = owned(w, d);
  Rows want = band;
  if (rows_count(d)) {
    const Rows seen = chain_source(s1, d);
    want.begin = seen.begin < want.begin ? seen.begin : want.begin;
    want.end = seen.end > want.end ? seen.end : want.end;
  }
  const Rows e = keep_rows(w, BUF_E, s0, &w->e, want);
  if (rows_count(e))
    forward(w, 0, e, w->x, 0, rows_of(b[BUF_E], s0, want.begin, e.begin));
  if (rows_count(d)) {
    need_rows(w, BUF_D, rows_count(d));
    float *dd = rows_of(b[BUF_DD], s1, readers.begin, d.begin);
    forward(w, 1, d, b[BUF_E], want.begin, b[BUF_D]);
    input_grad(w, 2, d, d, chain_at(w->dy, d.begin * chain_row_out(s2)), s1->act, NULL, b[BUF_D], dd);
  }
  if (rows_count(own)) {
    filter_grad(w, 2, own, b[BUF_D], d.begin, chain_at(w->dy, own.begin * chain_row_out(s2)));
    filter_grad(w, 1, own, b[BUF_E], want.begin,
                rows_of(b[BUF_DD], s1, readers.begin, own.begin));
  }
  need_rows(w, BUF_DE, rows_count(band));
  input_grad(w, 1, band, readers, b[BUF_DD], s0->act, NULL,
             rows_of(b[BUF_E], s0, want.begin, band.begin), b[BUF_DE]);
  filter_grad(w, 0, band, w->x, 0, b[BUF_DE]);
  if (w->a->attr->wants_x) {
    const int64_t at = band.begin * chain_row_in(s0);
    input_grad(w, 0, band, band, b[BUF_DE], w->a->x_act, chain_at(w->add, at),
               chain_at(w->mask, at), chain_at(w->dx, at));
  }
}

static void walk_task(Walk *w)
{
  for (int32_t at = w->task.begin; at < w->task.end; at += w->a->band_rows) {
    const int32_t end = at + w->a->band_rows;
    run_band(w, (Rows){at, end < w->task.end ? end : w->task.end});
  }
}

static Rows rows_of_task(const Args *a, int task)
{
  const int32_t begin = task % a->tasks * a->task_rows, end = begin + a->task_rows;
  return (Rows){begin, end < a->stage[0].s.oh ? end : a->stage[0].s.oh};
}

static void measure(Args *a)
{
  a->kernel_scratch = 0;
  memset(a->rows, 0, sizeof a->rows);
  for (int task = 0; task < a->tasks; ++task) {
    Walk w = {.measured = a, .a = a, .task = rows_of_task(a, task)};
    walk_task(&w);
  }
  a->worker_bytes = chain_aligned(a->kernel_scratch);
  for (int i = 0; i < BUFFERS; ++i)
    a->worker_bytes += buffer_bytes(a, (Buffer)i);
}

typedef struct {
  const Args *a;
  const Call *call;
  const float *packed[PACKS];
} Job;

// Scratch: packed filters, the sums of all tasks, then each worker's.
static float *sums_of(const Job *j, int task)
{
  return (float *)(void *)((char *)j->call->scratch + j->a->packed_bytes) +
         task * j->a->sum_at[SUMS];
}

static size_t sums_bytes(const Args *a)
{
  return chain_aligned((size_t)(a->samples * a->tasks * a->sum_at[SUMS]) * sizeof(float));
}

static void run_task(void *context, int task, int worker)
{
  const Job *j = context;
  const Args *a = j->a;
  const int32_t sample = task / a->tasks;
  void *const *p = j->call->p;
  char *at = (char *)j->call->scratch + a->packed_bytes + sums_bytes(a) +
             (size_t)worker * a->worker_bytes;
  Walk w = {.a = a,
            .call = j->call,
            .packed = j->packed,
            .task = rows_of_task(a, task),
            .sums = sums_of(j, task)};
  for (int i = 0; i < BUFFERS; ++i) {
    w.buffer[i] = (float *)at;
    at += buffer_bytes(a, (Buffer)i);
  }
  w.scratch = at;
  const int64_t x_floats = a->stage[0].s.ih * chain_row_in(&a->stage[0].s) * sample;
  w.x = (const float *)p[X] + x_floats;
  w.dy = (const float *)p[DY] + a->stage[2].s.oh * chain_row_out(&a->stage[2].s) * sample;
  w.mask = a->x_act == KACT_NONE ? NULL : (const float *)p[MASK] + x_floats;
  w.add = j->call->add ? (const float *)j->call->add + x_floats : NULL;
  w.dx = a->attr->wants_x ? (float *)p[a->n_in] + x_floats : NULL;
  memset(w.sums, 0, (size_t)a->sum_at[SUMS] * sizeof(float));
  walk_task(&w);
}

static void add_task(void *context, int task, int worker)
{
  const Job *j = context;
  const Args *a = j->a;
  (void)worker;
  const int64_t first = (int64_t)task * SUM_BLOCK;
  for (int i = 0; i < SUMS; ++i) {
    const int64_t from = first > a->sum_at[i] ? first : a->sum_at[i];
    const int64_t end =
      first + SUM_BLOCK < a->sum_at[i + 1] ? first + SUM_BLOCK : a->sum_at[i + 1];
    if (from >= end || a->out[i] < 0)
      continue;
    float *to = (float *)j->call->p[a->out[i]] + from - a->sum_at[i];
    memcpy(to, sums_of(j, 0) + from, (size_t)(end - from) * sizeof(float));
    for (int t = 1; t < a->samples * a->tasks; ++t) {
      const float *sums = sums_of(j, t) + from;
      for (int64_t k = 0; k < end - from; ++k)
        to[k] += sums[k];
    }
  }
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  Job job = {.a = a, .call = c};
  char *at = c->scratch;
  for (int i = 0; i < PACKS; ++i)
    if (i != PACK_DX || a->attr->wants_x)
      job.packed[i] = chain_pack(&a->stage[packs[i].stage], packs[i].way,
                                 c->p[FILTERS + packs[i].stage], &at);
  pool_run(c->pool, a->samples * a->tasks, run_task, &job);
  pool_run(c->pool, (int)((a->sum_at[SUMS] + SUM_BLOCK - 1) / SUM_BLOCK), add_task, &job);
}

static int64_t numel_of(const Bind *b, int i)
{
  const Shape s = bind_in(b, i);
  return shape_numel(&s);
}

static Status bind(Bind *b)
{
  const ChainGradAttr *attr = b->node->attr;
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape x = bind_in(b, X);
  a->attr = attr;
  a->samples = x.dim[0];
  a->n_in = b->node->n_in;
  a->x_act = a->n_in > MASK ? kernel_act(b->node->act) : KACT_NONE;
  for (int i = 0; i < CHAIN_STAGES; ++i) {
    const Shape w = bind_in(b, FILTERS + i);
    if (!chain_stage(&attr->chain, i, &w, &x, &a->stage[i]))
      return bind_fail(b, "stage %d does not fit its input", i);
  }
  int32_t out = a->n_in + attr->wants_x;
  for (int i = 0; i < SUMS; ++i) {
    // A filter's kernel computes its gradient together with that of the bias.
    const bool has_sum =
      attr->wants[i] || (i < CHAIN_STAGES && attr->wants[CHAIN_STAGES + i]);
    a->out[i] = attr->wants[i] ? out++ : -1;
    a->sum_at[i + 1] = a->sum_at[i] + (has_sum ? numel_of(b, FILTERS + i) : 0);
  }
  const int32_t rows = a->stage[0].s.oh, step = a->stage[1].s.sh;
  const int32_t wanted = a->samples < TASKS ? TASKS / (a->samples ? a->samples : 1) : 1;
  a->task_rows = ((rows + wanted - 1) / wanted + step - 1) / step * step;
  a->tasks = (rows + a->task_rows - 1) / a->task_rows;
  for (a->band_rows = a->task_rows;; a->band_rows = (a->band_rows / step + 1) / 2 * step) {
    measure(a);
    if (a->band_rows <= step || a->worker_bytes - a->kernel_scratch <= CHAIN_CACHE)
      break;
  }
  for (int i = 0; i < PACKS; ++i)
    if (i != PACK_DX || attr->wants_x)
      a->packed_bytes += a->stage[packs[i].stage].packed[packs[i].way];
  b->scratch = a->packed_bytes + sums_bytes(a) +
               a->worker_bytes * (size_t)(b->threads < 1 ? 1 : b->threads);
  b->run = run;
  return ST_OK;
}

static Status infer(Infer *f)
{
  const ChainGradAttr *attr = f->node->attr;
  int out = 0;
  if (attr->wants_x)
    TRY(infer_out(f, out++, DT_F32, infer_in(f, X)->shape));
  for (int i = 0; i < SUMS; ++i) {
    if (!attr->wants[i])
      continue;
    TRY(infer_out(f, out, DT_F32, infer_in(f, FILTERS + i)->shape));
    infer_unbatched(f, out++);
  }
  return ST_OK;
}

Status chain_grad(Grad *g)
{
  const Node *n = grad_of(g);
  ChainGradAttr attr = {.chain = *(const ChainAttr *)n->attr, .wants_x = grad_wants(g, 0)};
  int32_t in[MASK] = {grad_out(g, 0)}, out[1 + SUMS];
  int n_out = attr.wants_x;
  for (int i = 0; i < 1 + SUMS; ++i)
    in[X + i] = n->in[i];
  for (int i = 0; i < SUMS; ++i) {
    attr.wants[i] = grad_wants(g, 1 + i);
    n_out += attr.wants[i];
  }
  grad_nodes(g, attr.wants_x ? "CONV_CHAIN_GRAD" : "CONV_CHAIN_FILTER_GRAD", &attr, MASK, in, n_out,
             out);
  n_out = 0;
  if (attr.wants_x)
    grad_give(g, 0, out[n_out++]);
  for (int i = 0; i < SUMS; ++i)
    if (attr.wants[i])
      grad_give(g, 1 + i, out[n_out++]);
  return ST_OK;
}

#define CHAIN_GRAD(NAME, FLAGS)                                                                    \
  {                                                                                                \
    .name = NAME, .code = OP_NOT_IN_FILES, .min_in = MASK, .max_in = MASK + 1, .n_out = 0,         \
    .optional = 7u << BIASES, .flags = FLAGS, .attr_bytes = sizeof(ChainGradAttr), .infer = infer, \
    .merge = merge_always, .bind = bind                                                            \
  }

const OpDef chain_grad_ops[] = {
  CHAIN_GRAD("CONV_CHAIN_GRAD", OP_ACCUMULATES | OP_ADDS_APART | OP_MASKS),
  CHAIN_GRAD("CONV_CHAIN_FILTER_GRAD", 0),
  END_OPS};

const OpCase chain_grad_cases[] = {END_CASES};
