// SPDX-License-Identifier: Apache-2.0
// onert_run: runs a model on raw files or random inputs, writes its outputs and reports times.
//
// Exit codes: 0 done, 1 a bad value of an option, 255 everything else. Results go to stdout, errors
// to stderr, one line.
#include "raw_data.h"
#include "tool.h"
#include "tool_json.h"
#include "tool_meter.h"
#include "tool_options.h"

#include <nnfw/onert_ext.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  LOAD_RAW,
  DUMP_RAW,
  DUMP_INPUT_RAW,
  OUTPUT_SIZES,
  NUM_RUNS,
  WARMUP_RUNS,
  RUN_DELAY,
  MEM_POLL,
  SHAPE_PREPARE,
  NUM_THREADS,
  N_OPTIONS
};

static Option options[N_OPTIONS] = {
  [LOAD_RAW] = {"load:raw", .kind = OPTION_TEXT, .value = "PREFIX",
                .help = "read input i from the file PREFIX.i; random numbers otherwise"},
  [DUMP_RAW] = {"dump:raw", .kind = OPTION_TEXT, .value = "PREFIX",
                .help = "write output i to PREFIX.i"},
  [DUMP_INPUT_RAW] = {"dump_input:raw", .kind = OPTION_TEXT, .value = "PREFIX",
                      .help = "write input i to PREFIX.i"},
  [OUTPUT_SIZES] = {"output_sizes", .kind = OPTION_TEXT, .value = "JSON",
                    .help = "[index, bytes, ...] sizes of output buffers"},
  [NUM_RUNS] = {"num_runs", 'r', .kind = OPTION_INTEGER, .most = INT32_MAX, .value = "N",
                .integer = 1, .help = "measured runs (1)"},
  [WARMUP_RUNS] = {"warmup_runs", 'w', .kind = OPTION_INTEGER, .most = INT32_MAX, .value = "N",
                   .help = "runs before that, not measured (0, with --mem_poll at least 1)"},
  [RUN_DELAY] = {"run_delay", 't', .kind = OPTION_INTEGER, .least = -1, .most = INT32_MAX,
                 .value = "US", .integer = -1, .help = "microseconds between runs (-1, none)"},
  [MEM_POLL] = {"mem_poll", 'm', .kind = OPTION_FLAG, .help = "watch and report memory"},
  [SHAPE_PREPARE] = {"shape_prepare", .kind = OPTION_TEXT, .value = "JSON",
                     .help = "[index, [dims], ...] shapes of inputs, set before preparing"},
  [NUM_THREADS] = {"num_threads", .kind = OPTION_INTEGER, .most = INT32_MAX, .value = "N",
                   .help = "threads, 0 as many as there are processors (0)"},
};

typedef struct {
  nnfw_tensorinfo info;
  void *bytes;
  size_t n_bytes;
} Buffer;

typedef struct {
  nnfw_session *session;
  uint32_t n_inputs, n_outputs;
  Buffer *inputs, *outputs;
} Run;

// ---- shapes ----

static void set_shape(const Run *run, const Json *key, const Json *shape)
{
  nnfw_tensorinfo info = {.rank = (int32_t)shape->n_items};
  if (key->kind != JSON_UINT || shape->kind != JSON_ARRAY || shape->n_items > NNFW_MAX_RANK)
    tool_fail(EXIT_BAD_ARGUMENT, "--shape_prepare: pairs of an input index and an array of at most "
                                 "%d dimensions are wanted", NNFW_MAX_RANK);
  for (size_t i = 0; i < shape->n_items; ++i) {
    if (shape->items[i].kind != JSON_UINT || shape->items[i].number > INT32_MAX)
      tool_fail(EXIT_BAD_ARGUMENT, "--shape_prepare: dimension %zu of input %llu is not an "
                                   "unsigned 31-bit integer",
                i, (unsigned long long)key->number);
    info.dims[i] = (int32_t)shape->items[i].number;
  }
  if (key->number >= run->n_inputs)
    tool_fail(EXIT_BAD_ARGUMENT, "--shape_prepare: there is no input %llu, the model has %u",
              (unsigned long long)key->number, run->n_inputs);
  CALL(nnfw_set_input_tensorinfo, run->session, (uint32_t)key->number, &info);
}

static void set_shapes(const Run *run)
{
  const char *text = options[SHAPE_PREPARE].text;
  Json json;
  if (!text)
    return;
  if (!json_parse(text, &json) || json.kind != JSON_ARRAY || json.n_items % 2)
    tool_fail(EXIT_BAD_ARGUMENT, "--shape_prepare: '%s' is not an even-sized array in JSON", text);
  for (size_t i = 0; i < json.n_items; i += 2)
    set_shape(run, &json.items[i], &json.items[i + 1]);
  json_free(&json);
}

// ---- inputs ----

static uint64_t next_random(void)
{
  static uint64_t state = 1; // the same numbers in every run of the program
  uint64_t z = state += 0x9e3779b97f4a7c15u; // splitmix64
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// Mean 0, standard deviation 2 (Box and Muller).
static float next_normal(void)
{
  double u = ((double)(next_random() >> 11) + 1) * 0x1p-53; // 0 < u <= 1
  double v = (double)(next_random() >> 11) * 0x1p-53;
  return (float)(2 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

static void fill_random(const Buffer *b)
{
  size_t n = b->n_bytes / tool_type_bytes(b->info.dtype);
  for (size_t i = 0; i < n; ++i)
    switch (b->info.dtype) {
    case NNFW_TYPE_TENSOR_FLOAT32: ((float *)b->bytes)[i] = next_normal(); break;
    case NNFW_TYPE_TENSOR_INT32: ((int32_t *)b->bytes)[i] = (int32_t)(next_random() % 100); break;
    case NNFW_TYPE_TENSOR_INT64: ((int64_t *)b->bytes)[i] = (int64_t)(next_random() % 100); break;
    case NNFW_TYPE_TENSOR_BOOL: ((uint8_t *)b->bytes)[i] = next_random() & 1; break;
    case NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED:
      ((uint16_t *)b->bytes)[i] = (uint16_t)next_random();
      break;
    case NNFW_TYPE_TENSOR_QUANT8_ASYMM:
    case NNFW_TYPE_TENSOR_UINT8:
    case NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED:
      ((uint8_t *)b->bytes)[i] = (uint8_t)next_random();
      break;
    }
}

static char *numbered(const char *prefix, uint32_t i)
{
  size_t n = (size_t)snprintf(NULL, 0, "%s.%u", prefix, i) + 1;
  char *path = tool_alloc(n, 1);
  snprintf(path, n, "%s.%u", prefix, i);
  return path;
}

static void bind_inputs(Run *run)
{
  run->inputs = tool_alloc(run->n_inputs, sizeof *run->inputs);
  for (uint32_t i = 0; i < run->n_inputs; ++i) {
    Buffer *b = &run->inputs[i];
    CALL(nnfw_input_tensorinfo, run->session, i, &b->info);
    b->n_bytes = tool_tensor_bytes(&b->info);
    b->bytes = tool_alloc(1, b->n_bytes);
    if (options[LOAD_RAW].text) {
      char *path = numbered(options[LOAD_RAW].text, i);
      raw_file_read(path, b->bytes, b->n_bytes);
      free(path);
    } else {
      fill_random(b);
    }
    CALL(nnfw_set_input, run->session, i, b->info.dtype, b->bytes, b->n_bytes);
  }
}

// ---- outputs ----

static void take_output_size(void *user, uint64_t index, uint64_t bytes)
{
  const Run *run = user;
  if (index >= run->n_outputs)
    tool_fail(EXIT_BAD_ARGUMENT, "--output_sizes: there is no output %llu, the model has %u",
              (unsigned long long)index, run->n_outputs);
  run->outputs[index].n_bytes = (size_t)bytes;
}

static void bind_outputs(Run *run)
{
  run->outputs = tool_alloc(run->n_outputs, sizeof *run->outputs);
  for (uint32_t i = 0; i < run->n_outputs; ++i) {
    CALL(nnfw_output_tensorinfo, run->session, i, &run->outputs[i].info);
    run->outputs[i].n_bytes = tool_tensor_bytes(&run->outputs[i].info);
  }
  json_output_sizes(options[OUTPUT_SIZES].text, take_output_size, run);
  for (uint32_t i = 0; i < run->n_outputs; ++i) {
    Buffer *b = &run->outputs[i];
    if (b->n_bytes == 0)
      tool_fail(EXIT_BAD_RUN,
                "E: Fail to run by runtime error: Cannot allocate output buffer for dynamic shape. "
                "Use --output_sizes to specify output buffer sizes");
    b->bytes = tool_alloc(1, b->n_bytes);
    CALL(nnfw_set_output, run->session, i, b->info.dtype, b->bytes, b->n_bytes);
  }
}

static void dump(const char *prefix, const Buffer *buffers, uint32_t n)
{
  for (uint32_t i = 0; prefix && i < n; ++i) {
    char *path = numbered(prefix, i);
    raw_file_write(path, buffers[i].bytes, buffers[i].n_bytes);
    free(path);
  }
}

static void free_buffers(Buffer *buffers, uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i)
    free(buffers[i].bytes);
  free(buffers);
}

// ---- running ----

typedef struct {
  double mean, max, min, geomean; // ms
} Times;

// Runs, returns the milliseconds it took, and then waits as --run_delay says.
static double run_once(const Run *run)
{
  double begin = meter_now();
  tool_check(run->session, nnfw_run(run->session), "nnfw_run");
  double ms = meter_now() - begin;
  long us = (long)options[RUN_DELAY].integer;
  if (us >= 0)
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
  return ms;
}

static Times run_all(const Run *run)
{
  int64_t warmup = options[WARMUP_RUNS].integer, n = options[NUM_RUNS].integer;
  if (options[MEM_POLL].given && warmup < 1)
    warmup = 1;
  for (int64_t i = 0; i < warmup; ++i)
    run_once(run);
  Times t = {.min = n > 0 ? INFINITY : 0};
  double logs = 0;
  for (int64_t i = 0; i < n; ++i) {
    double ms = run_once(run);
    t.mean += ms / (double)n;
    logs += log(ms) / (double)n;
    t.max = fmax(ms, t.max);
    t.min = fmin(ms, t.min);
  }
  t.geomean = n > 0 ? exp(logs) : 0;
  return t;
}

// The sizes that the last run has given the outputs.
static void measure_outputs(Run *run)
{
  for (uint32_t i = 0; i < run->n_outputs; ++i) {
    CALL(nnfw_output_tensorinfo, run->session, i, &run->outputs[i].info);
    size_t bytes = tool_tensor_bytes(&run->outputs[i].info);
    if (bytes < run->outputs[i].n_bytes)
      run->outputs[i].n_bytes = bytes;
  }
}

static void print_report(const Times *t)
{
  meter_print_rule();
  printf("%s takes %.3f ms\n", meter_name(PHASE_MODEL_LOAD), meter_time(PHASE_MODEL_LOAD));
  printf("%s takes %.3f ms\n", meter_name(PHASE_PREPARE), meter_time(PHASE_PREPARE));
  printf("%s takes %.3f ms\n", meter_name(PHASE_EXECUTE), t->mean);
  printf("- %-9s:  %.3f ms\n", "MEAN", t->mean);
  printf("- %-9s:  %.3f ms\n", "MAX", t->max);
  printf("- %-9s:  %.3f ms\n", "MIN", t->min);
  printf("- %-9s:  %.3f ms\n", "GEOMEAN", t->geomean);
  meter_print_rule();
  meter_print_memory(true);
}

int main(int argc, char **argv)
{
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *path = options_parse("onert_run", argc, argv, options, N_OPTIONS);
  tool_print_model(path);
  if (options[MEM_POLL].given)
    meter_poll_memory();

  Run run = {0};
  meter_begin(PHASE_MODEL_LOAD);
  tool_check(NULL, nnfw_create_session(&run.session), "nnfw_create_session");
  CALL(nnfw_load_model_from_file, run.session, path);
  meter_end();

  if (options[NUM_THREADS].given)
    CALL(onert_set_num_threads, run.session, (uint32_t)options[NUM_THREADS].integer);
  CALL(nnfw_input_size, run.session, &run.n_inputs);
  CALL(nnfw_output_size, run.session, &run.n_outputs);
  set_shapes(&run);

  meter_begin(PHASE_PREPARE);
  tool_check(run.session, nnfw_prepare(run.session), "nnfw_prepare");
  meter_end();

  bind_inputs(&run);
  bind_outputs(&run);
  dump(options[DUMP_INPUT_RAW].text, run.inputs, run.n_inputs);
  meter_begin(PHASE_EXECUTE);
  Times times = run_all(&run);
  meter_end();
  measure_outputs(&run);
  dump(options[DUMP_RAW].text, run.outputs, run.n_outputs);

  nnfw_close_session(run.session);
  free_buffers(run.inputs, run.n_inputs);
  free_buffers(run.outputs, run.n_outputs);
  print_report(&times);
  return 0;
}
