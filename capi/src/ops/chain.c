// SPDX-License-Identifier: Apache-2.0
// CONV_CHAIN, the expand - depthwise - project of an inverted residual: bands of rows go through
// all three stages, and only what the next band needs again is kept. A row is computed by the
// kernels that would compute it alone, so the bits are the same.
#include "ops/chain.h"

#include "kernels/dwconv.h"
#include "ops/bindings.h"
#include "ops/convolution.h"

#include <string.h>

typedef struct {
  int32_t begin, end;
} Rows;

typedef struct {
  ConvShape s; // of a whole sample
  const ConvKernels *k;
  const float *packed; // filters as the kernel wants them, or NULL
} Stage;

typedef struct {
  Stage stage[CHAIN_STAGES];
  int32_t samples, tasks;        // tasks of one sample
  int32_t task_rows, band_rows;  // of the result
  int32_t bias_operand, n_in;
  int32_t rows[CHAIN_STAGES - 1]; // that a buffer between stages holds, at most
  size_t kernel_scratch, worker_bytes;
} Args;

static const ConvFamily *const families[CHAIN_STAGES] = {&conv2d_family, &depthwise_family,
                                                         &conv2d_family};

// Rows of a stage's input that some of its results see.
static Rows source_rows(const ConvShape *s, Rows out)
{
  const int32_t first = out.begin * s->sh - s->pt;
  const int32_t last = (out.end - 1) * s->sh - s->pt + (s->kh - 1) * s->dh;
  Rows in = {first < 0 ? 0 : first, last + 1 > s->ih ? s->ih : last + 1};
  return in;
}

// The stage as a convolution of those rows of its input.
static ConvShape band_shape(const ConvShape *s, Rows out, Rows in)
{
  ConvShape band = *s;
  band.n = 1;
  band.oh = out.end - out.begin;
  band.ih = in.end - in.begin;
  band.pt = in.begin - (out.begin * s->sh - s->pt);
  return band;
}

static int64_t row_floats(const ConvShape *s)
{
  return (int64_t)s->ow * s->oc;
}

// What the walk over a task's bands does with a stage's rows.
typedef struct {
  Args *measured;      // takes the largest sizes, or NULL: compute
  const Args *a;
  const Call *call;
  float *buffer[CHAIN_STAGES - 1];
  void *scratch;
  int32_t sample;
} Walk;

static const float *operand(const Walk *w, int i)
{
  return i < w->a->n_in ? w->call->p[i] : NULL;
}

// Computes rows `out` of stage i; source: row source_first and on of its input.
static void run_stage(const Walk *w, int i, Rows out, const float *source, int32_t source_first,
                      float *to)
{
  const Stage *stage = &w->a->stage[i];
  const Rows in = source_rows(&stage->s, out);
  ConvShape s = band_shape(&stage->s, out, in);
  if (w->measured) {
    const size_t bytes = stage->k->forward_scratch(&s, 1);
    if (bytes > w->measured->kernel_scratch)
      w->measured->kernel_scratch = bytes;
    return;
  }
  const float *x = source + (int64_t)(in.begin - source_first) * s.iw * s.ic;
  const float *filter = stage->packed ? stage->packed : operand(w, 1 + i);
  const float *add = NULL;
  if (i == CHAIN_STAGES - 1 && w->call->add)
    add = (const float *)w->call->add + (w->sample * (int64_t)stage->s.oh + out.begin) *
                                          row_floats(&s);
  stage->k->forward(&s, x, filter, operand(w, w->a->bias_operand + i), add, to, w->scratch, NULL);
}

// Keeps what `want` shares with the rows that the buffer behind stage i holds, in its front;
// returns the rows still to compute.
static Rows keep_rows(const Walk *w, int i, Rows *have, Rows want)
{
  Rows missing = want;
  if (want.begin < have->end) {
    missing.begin = have->end;
    if (!w->measured) {
      const int64_t row = row_floats(&w->a->stage[i].s);
      memmove(w->buffer[i], w->buffer[i] + (want.begin - have->begin) * row,
              (size_t)((have->end - want.begin) * row) * sizeof(float));
    }
  }
  *have = want;
  if (w->measured && want.end - want.begin > w->measured->rows[i])
    w->measured->rows[i] = want.end - want.begin;
  return missing;
}

// Rows `out` of the result, band by band; x, y: the sample's.
static void walk_rows(const Walk *w, Rows out, const float *x, float *y)
{
  const Stage *stage = w->a->stage;
  Rows have[CHAIN_STAGES - 1] = {{0, 0}, {0, 0}};
  for (int32_t at = out.begin; at < out.end; at += w->a->band_rows) {
    const Rows band = {at, at + w->a->band_rows < out.end ? at + w->a->band_rows : out.end};
    const Rows second = keep_rows(w, 1, &have[1], source_rows(&stage[2].s, band));
    if (second.begin < second.end) {
      const Rows first = keep_rows(w, 0, &have[0], source_rows(&stage[1].s, second));
      if (first.begin < first.end)
        run_stage(w, 0, first, x, 0,
                  w->buffer[0] + (first.begin - have[0].begin) * row_floats(&stage[0].s));
      run_stage(w, 1, second, w->buffer[0], have[0].begin,
                w->buffer[1] + (second.begin - have[1].begin) * row_floats(&stage[1].s));
    }
    run_stage(w, 2, band, w->buffer[1], have[1].begin, y + at * row_floats(&stage[2].s));
  }
}

static Rows task_rows(const Args *a, int task)
{
  const int32_t begin = task % a->tasks * a->task_rows, oh = a->stage[CHAIN_STAGES - 1].s.oh;
  return (Rows){begin, begin + a->task_rows < oh ? begin + a->task_rows : oh};
}

static size_t aligned(size_t bytes)
{
  return (bytes + 63) / 64 * 64;
}

static size_t buffer_bytes(const Args *a, int i)
{
  return aligned((size_t)(a->rows[i] * row_floats(&a->stage[i].s)) * sizeof(float));
}

static void measure(Args *a)
{
  a->kernel_scratch = 0;
  a->rows[0] = a->rows[1] = 0;
  const Walk w = {.measured = a, .a = a};
  for (int task = 0; task < a->tasks; ++task)
    walk_rows(&w, task_rows(a, task), NULL, NULL);
  a->worker_bytes = buffer_bytes(a, 0) + buffer_bytes(a, 1) + aligned(a->kernel_scratch);
}

typedef struct {
  const Args *a;
  const Call *call;
} Job;

static void run_task(void *context, int task, int worker)
{
  const Job *job = context;
  const Args *a = job->a;
  char *scratch = (char *)job->call->scratch + (size_t)worker * a->worker_bytes;
  const int32_t sample = task / a->tasks;
  const Walk w = {.a = a,
                  .call = job->call,
                  .buffer = {(float *)scratch, (float *)(scratch + buffer_bytes(a, 0))},
                  .scratch = scratch + buffer_bytes(a, 0) + buffer_bytes(a, 1),
                  .sample = sample};
  const ConvShape *first = &a->stage[0].s, *last = &a->stage[CHAIN_STAGES - 1].s;
  const float *x = job->call->p[0];
  float *y = job->call->p[a->n_in];
  walk_rows(&w, task_rows(a, task), x + (int64_t)sample * first->ih * first->iw * first->ic,
            y + sample * last->oh * row_floats(last));
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  Job job = {a, c};
  pool_run(c->pool, a->samples * a->tasks, run_task, &job);
}

static Status bind_stage(Bind *b, int i, const Shape *x, Stage *stage)
{
  const ChainAttr *attr = b->node->attr;
  const Shape w = bind_in(b, 1 + i);
  if (!families[i]->geometry(&attr->window[i], x, &w, &stage->s))
    return bind_fail(b, "stage %d does not fit its input", i);
  stage->k = families[i]->kernels();
  stage->s.act = kernel_act(i + 1 < CHAIN_STAGES ? attr->act[i] : b->node->act);
  return convolution_pack(b, 1 + i, stage->k, &stage->s, &stage->packed);
}

static Status bind(Bind *b)
{
  Args *a = bind_args(b, sizeof *a);
  if (!a)
    return diag_oom(b->diag);
  Shape x = bind_in(b, 0);
  a->samples = x.dim[0];
  a->n_in = b->node->n_in;
  a->bias_operand = 1 + CHAIN_STAGES;
  for (int i = 0; i < CHAIN_STAGES; ++i) {
    TRY(bind_stage(b, i, &x, &a->stage[i]));
    const ConvShape *s = &a->stage[i].s;
    x = (Shape){.rank = 4, .dim = {s->n, s->oh, s->ow, s->oc}};
  }
  // Rows are the same bits however they are cut: as few tasks as keep all threads busy, since
  // each begins with rows that its neighbour computes too.
  const int32_t oh = x.dim[1], wanted = (b->threads + a->samples - 1) / (a->samples ? a->samples : 1);
  a->task_rows = wanted > 0 && oh > wanted ? (oh + wanted - 1) / wanted : oh > 0 ? oh : 1;
  a->tasks = (oh + a->task_rows - 1) / a->task_rows;
  for (a->band_rows = a->task_rows;; a->band_rows = (a->band_rows + 1) / 2) {
    measure(a);
    if (a->band_rows == 1 || buffer_bytes(a, 0) + buffer_bytes(a, 1) <= CHAIN_CACHE)
      break;
  }
  b->scratch = a->worker_bytes * (size_t)(b->threads < 1 ? 1 : b->threads);
  b->run = run;
  return ST_OK;
}

static Status infer(Infer *f)
{
  const ChainAttr *attr = f->node->attr;
  Shape x = infer_in(f, 0)->shape;
  for (int i = 0; i < CHAIN_STAGES; ++i) {
    ConvShape s;
    TRY(infer_expect(f, 1 + i, DT_F32, 4));
    if (!families[i]->geometry(&attr->window[i], &x, &infer_in(f, 1 + i)->shape, &s))
      return infer_fail(f, "stage %d does not fit its input", i);
    x = (Shape){.rank = 4, .dim = {s.n, s.oh, s.ow, s.oc}};
  }
  return infer_out(f, 0, DT_F32, x);
}

const OpDef chain_ops[] = {
  {.name = "CONV_CHAIN", .code = OP_NOT_IN_FILES, .min_in = 1 + CHAIN_STAGES,
   .max_in = 1 + 2 * CHAIN_STAGES, .n_out = 1, .optional = 7u << (1 + CHAIN_STAGES),
   .flags = OP_FUSES_ACT | OP_ACCUMULATES | OP_ADDS_APART, .attr_bytes = sizeof(ChainAttr),
   .infer = infer, .merge = merge_outer, .bind = bind,
   .no_grad = "made for inference only"},
  END_OPS};

#define WINDOW(SAME, S) {.same = SAME, .stride_h = S, .stride_w = S, .dilation_h = 1, .dilation_w = 1}

const OpCase chain_cases[] = {
  // 1x1 doubling, 3x3 SAME summing, 1x1 adding both channels: sums of neighbours, times 4.
  CASE("CONV_CHAIN", "values",
       IN(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(1, 2, 3, 4)),
          TENSOR(F32, DIMS(2, 1, 1, 1), VALUES(2, 2)),
          TENSOR(F32, DIMS(1, 3, 3, 2),
                 VALUES(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)),
          TENSOR(F32, DIMS(1, 1, 1, 2), VALUES(1, 1)), TENSOR(F32, DIMS(2), VALUES(0, 1)),
          ABSENT),
       OUT(TENSOR(F32, DIMS(1, 2, 2, 1), VALUES(44, 44, 44, 44))),
       ATTR(ChainAttr, {WINDOW(true, 1), WINDOW(true, 1), WINDOW(false, 1)},
            {ACT_RELU, ACT_NONE, ACT_NONE})),
  END_CASES};
