// SPDX-License-Identifier: Apache-2.0
// CONV_CHAIN, the expand - depthwise - project of an inverted residual, forward: bands of rows go
// through all three stages, and only what the next band needs again is kept. A row is computed by
// the kernels that would compute it alone, so the bits are the same.
#include "ops/chain_rows.h"

#include "kernels/dwconv.h"
#include "ops/bindings.h"

#include <string.h>

typedef struct {
  ChainStage at;
  const float *packed; // a constant filter as the kernel wants it, or NULL
} Stage;

typedef struct {
  Stage stage[CHAIN_STAGES];
  int32_t samples, tasks;        // tasks of one sample
  int32_t task_rows, band_rows;  // of the result
  int32_t bias_operand, n_in;
  int32_t rows[CHAIN_STAGES - 1]; // that a buffer between stages holds, at most
  size_t kernel_scratch, worker_bytes, packed_bytes;
} Args;

// What the walk over a task's bands does with a stage's rows.
typedef struct {
  Args *measured;      // takes the largest sizes, or NULL: compute
  const Args *a;
  const Call *call;
  const float *const *filter; // of each stage
  float *buffer[CHAIN_STAGES - 1];
  void *scratch;
  int32_t sample;
} Walk;

bool chain_stage(const ChainAttr *attr, int i, const Shape *w, Shape *x, ChainStage *stage)
{
  const ConvFamily *family = i == 1 ? &depthwise_family : &conv2d_family;
  ConvShape *s = &stage->s;
  if (!family->geometry(&attr->window[i], x, w, s))
    return false;
  stage->k = family->kernels();
  s->act = i + 1 < CHAIN_STAGES ? kernel_act(attr->act[i]) : KACT_NONE;
  for (int way = CONV_FORWARD; way <= CONV_INPUT_GRAD; ++way)
    stage->packed[way] = chain_aligned(stage->k->packed_bytes(s, (ConvWay)way));
  *x = (Shape){.rank = 4, .dim = {s->n, s->oh, s->ow, s->oc}};
  return true;
}

static const float *operand(const Walk *w, int i)
{
  return i < w->a->n_in ? w->call->p[i] : NULL;
}

// Computes rows `out` of stage i; source: row source_first and on of its input.
static void run_stage(const Walk *w, int i, Rows out, const float *source, int32_t source_first,
                      float *to)
{
  const Stage *stage = &w->a->stage[i];
  const Rows in = chain_source(&stage->at.s, out);
  ConvShape s = chain_band(&stage->at.s, out, in);
  if (w->measured) {
    const size_t bytes = stage->at.k->forward_scratch(&s, 1);
    if (bytes > w->measured->kernel_scratch)
      w->measured->kernel_scratch = bytes;
    return;
  }
  const float *x = source + (int64_t)(in.begin - source_first) * s.iw * s.ic;
  const float *add = NULL;
  if (i == CHAIN_STAGES - 1 && w->call->add)
    add = (const float *)w->call->add + (w->sample * (int64_t)stage->at.s.oh + out.begin) *
                                          chain_row_out(&s);
  stage->at.k->forward(&s, x, w->filter[i], operand(w, w->a->bias_operand + i), add, to, w->scratch,
                       NULL);
}

// Keeps what `want` shares with the rows that the buffer behind stage i holds, in its front;
// returns the rows still to compute.
static Rows keep_rows(const Walk *w, int i, Rows *have, Rows want)
{
  Rows missing = want;
  if (want.begin < have->end) {
    missing.begin = have->end;
    if (!w->measured) {
      const int64_t row = chain_row_out(&w->a->stage[i].at.s);
      memmove(w->buffer[i], w->buffer[i] + (want.begin - have->begin) * row,
              (size_t)((have->end - want.begin) * row) * sizeof(float));
    }
  }
  *have = want;
  if (w->measured && want.end - want.begin > w->measured->rows[i])
    w->measured->rows[i] = want.end - want.begin;
  return missing;
}

static float *buffer_row(const Walk *w, int i, Rows have, int32_t row)
{
  return chain_at(w->buffer[i], (row - have.begin) * chain_row_out(&w->a->stage[i].at.s));
}

// Rows `out` of the result, band by band; x, y: the sample's.
static void walk_rows(const Walk *w, Rows out, const float *x, float *y)
{
  const Stage *stage = w->a->stage;
  Rows have[CHAIN_STAGES - 1] = {{0, 0}, {0, 0}};
  for (int32_t at = out.begin; at < out.end; at += w->a->band_rows) {
    const Rows band = {at, at + w->a->band_rows < out.end ? at + w->a->band_rows : out.end};
    const Rows second = keep_rows(w, 1, &have[1], chain_source(&stage[2].at.s, band));
    if (second.begin < second.end) {
      const Rows first = keep_rows(w, 0, &have[0], chain_source(&stage[1].at.s, second));
      if (first.begin < first.end)
        run_stage(w, 0, first, x, 0, buffer_row(w, 0, have[0], first.begin));
      run_stage(w, 1, second, w->buffer[0], have[0].begin, buffer_row(w, 1, have[1], second.begin));
    }
    run_stage(w, 2, band, w->buffer[1], have[1].begin,
              chain_at(y, at * chain_row_out(&stage[2].at.s)));
  }
}

static Rows task_rows(const Args *a, int task)
{
  const int32_t begin = task % a->tasks * a->task_rows, oh = a->stage[CHAIN_STAGES - 1].at.s.oh;
  return (Rows){begin, begin + a->task_rows < oh ? begin + a->task_rows : oh};
}

static size_t buffer_bytes(const Args *a, int i)
{
  return chain_aligned((size_t)(a->rows[i] * chain_row_out(&a->stage[i].at.s)) * sizeof(float));
}

static void measure(Args *a)
{
  a->kernel_scratch = 0;
  a->rows[0] = a->rows[1] = 0;
  const Walk w = {.measured = a, .a = a};
  for (int task = 0; task < a->tasks; ++task)
    walk_rows(&w, task_rows(a, task), NULL, NULL);
  a->worker_bytes = buffer_bytes(a, 0) + buffer_bytes(a, 1) + chain_aligned(a->kernel_scratch);
}

typedef struct {
  const Args *a;
  const Call *call;
  const float *filter[CHAIN_STAGES];
} Job;

static void run_task(void *context, int task, int worker)
{
  const Job *job = context;
  const Args *a = job->a;
  char *scratch =
    (char *)job->call->scratch + a->packed_bytes + (size_t)worker * a->worker_bytes;
  const int32_t sample = task / a->tasks;
  const Walk w = {.a = a,
                  .call = job->call,
                  .filter = job->filter,
                  .buffer = {(float *)scratch, (float *)(scratch + buffer_bytes(a, 0))},
                  .scratch = scratch + buffer_bytes(a, 0) + buffer_bytes(a, 1),
                  .sample = sample};
  const ConvShape *first = &a->stage[0].at.s, *last = &a->stage[CHAIN_STAGES - 1].at.s;
  const float *x = job->call->p[0];
  float *y = job->call->p[a->n_in];
  walk_rows(&w, task_rows(a, task), x + (int64_t)sample * first->ih * first->iw * first->ic,
            y + sample * last->oh * chain_row_out(last));
}

static void run(const void *args, const Call *c)
{
  const Args *a = args;
  Job job = {.a = a, .call = c};
  char *at = c->scratch;
  for (int i = 0; i < CHAIN_STAGES; ++i)
    job.filter[i] = a->stage[i].packed ? a->stage[i].packed
                                       : chain_pack(&a->stage[i].at, CONV_FORWARD, c->p[1 + i], &at);
  pool_run(c->pool, a->samples * a->tasks, run_task, &job);
}

static Status bind_stage(Bind *b, int i, Shape *x, Stage *stage)
{
  const ChainAttr *attr = b->node->attr;
  const Shape w = bind_in(b, 1 + i);
  if (!chain_stage(attr, i, &w, x, &stage->at))
    return bind_fail(b, "stage %d does not fit its input", i);
  if (i + 1 == CHAIN_STAGES)
    stage->at.s.act = kernel_act(b->node->act);
  TRY(convolution_pack(b, 1 + i, stage->at.k, CONV_FORWARD, &stage->at.s, &stage->packed));
  stage->at.s.is_packed = stage->at.packed[CONV_FORWARD] > 0;
  return ST_OK;
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
    a->packed_bytes += a->stage[i].packed ? 0 : a->stage[i].at.packed[CONV_FORWARD];
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
  b->scratch = a->packed_bytes + a->worker_bytes * (size_t)(b->threads < 1 ? 1 : b->threads);
  b->run = run;
  return ST_OK;
}

static Status infer(Infer *f)
{
  const ChainAttr *attr = f->node->attr;
  Shape x = infer_in(f, 0)->shape;
  for (int i = 0; i < CHAIN_STAGES; ++i) {
    ChainStage stage;
    TRY(infer_expect(f, 1 + i, DT_F32, 4));
    if (!chain_stage(attr, i, &infer_in(f, 1 + i)->shape, &x, &stage))
      return infer_fail(f, "stage %d does not fit its input", i);
  }
  return infer_out(f, 0, DT_F32, x);
}

const OpDef chain_ops[] = {
  {.name = "CONV_CHAIN", .code = OP_NOT_IN_FILES, .min_in = 1 + CHAIN_STAGES,
   .max_in = 1 + 2 * CHAIN_STAGES, .n_out = 1, .optional = 7u << (1 + CHAIN_STAGES),
   .flags = OP_FUSES_ACT | OP_ACCUMULATES | OP_ADDS_APART, .attr_bytes = sizeof(ChainAttr),
   .infer = infer, .merge = merge_outer, .bind = bind, .grad = chain_grad},
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
