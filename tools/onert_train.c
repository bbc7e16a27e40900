// SPDX-License-Identifier: Apache-2.0
// onert_train: trains a model on raw data files and writes checkpoints and trained models.
//
// Exit codes: 0 done, 1 a bad value of an option, 255 everything else. Results go to stdout, errors
// to stderr, one line.
#include "tool.h"
#include "tool_json.h"
#include "tool_meter.h"
#include "tool_options.h"
#include "train_loop.h"

#include <nnfw/nnfw_internal.h>
#include <nnfw/onert_ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
  CHECKPOINT,
  EXPORT_CIRCLE,
  EXPORT_CIRCLEPLUS,
  EXPORT_CHECKPOINT,
  LOAD_INPUT,
  LOAD_EXPECTED,
  MEM_POLL,
  EPOCH,
  BATCH_SIZE,
  LEARNING_RATE,
  LOSS,
  LOSS_REDUCTION_TYPE,
  OPTIMIZER,
  METRIC,
  VALIDATION_SPLIT,
  VERBOSE_LEVEL,
  OUTPUT_SIZES,
  NUM_OF_TRAINABLE_OPS,
  NUM_THREADS,
  MEMORY_LIMIT,
  BETA1,
  BETA2,
  EPSILON,
  N_OPTIONS
};

#define ANY_INT .least = INT32_MIN, .most = INT32_MAX
#define COUNT .least = 0, .most = INT32_MAX

static Option options[N_OPTIONS] = {
  [CHECKPOINT] = {"checkpoint", .kind = OPTION_TEXT, .value = "FILE",
                  .help = "checkpoint to continue from"},
  [EXPORT_CIRCLE] = {"export_circle", .kind = OPTION_TEXT, .value = "FILE",
                     .help = "write the trained model here, after training"},
  [EXPORT_CIRCLEPLUS] = {"export_circleplus", .kind = OPTION_TEXT, .value = "FILE",
                         .help = "the same, with the training parameters in the model"},
  [EXPORT_CHECKPOINT] = {"export_checkpoint", .kind = OPTION_TEXT, .value = "FILE",
                         .help = "write a checkpoint here, after every epoch"},
  [LOAD_INPUT] = {"load_input:raw", .kind = OPTION_TEXT, .value = "FILE",
                  .help = "inputs: all samples of input 0, then of input 1, ..."},
  [LOAD_EXPECTED] = {"load_expected:raw", .kind = OPTION_TEXT, .value = "FILE",
                     .help = "what the outputs should be, in the same order"},
  [MEM_POLL] = {"mem_poll", 'm', .kind = OPTION_FLAG, .help = "watch and report memory"},
  [EPOCH] = {"epoch", .kind = OPTION_INTEGER, COUNT, .value = "N", .integer = 5,
             .help = "passes over the data (5)"},
  [BATCH_SIZE] = {"batch_size", .kind = OPTION_INTEGER, COUNT, .value = "N",
                  .help = "samples of a step (the model's)"},
  [LEARNING_RATE] = {"learning_rate", .kind = OPTION_REAL, .value = "X",
                     .help = "(the model's)"},
  [LOSS] = {"loss", .kind = OPTION_INTEGER, ANY_INT, .value = "N",
            .help = "1 mean squared error, 2 categorical crossentropy (the model's)"},
  [LOSS_REDUCTION_TYPE] = {"loss_reduction_type", .kind = OPTION_INTEGER, ANY_INT, .value = "N",
                           .help = "1 mean over the batch, 2 sum (the model's)"},
  [OPTIMIZER] = {"optimizer", .kind = OPTION_INTEGER, ANY_INT, .value = "N",
                 .help = "1 SGD, 2 Adam (the model's)"},
  [METRIC] = {"metric", .kind = OPTION_INTEGER, ANY_INT, .value = "N", .integer = -1,
              .help = "0 categorical accuracy, -1 none (-1)"},
  [VALIDATION_SPLIT] = {"validation_split", .kind = OPTION_REAL, .value = "X",
                        .help = "share of the samples, at the end, not trained on (0)"},
  [VERBOSE_LEVEL] = {"verbose_level", 'v', .kind = OPTION_INTEGER, ANY_INT, .value = "N",
                     .help = "accepted, without effect"},
  [OUTPUT_SIZES] = {"output_sizes", .kind = OPTION_TEXT, .value = "JSON",
                    .help = "[index, bytes, ...]; checked, without effect"},
  [NUM_OF_TRAINABLE_OPS] = {"num_of_trainable_ops", .kind = OPTION_INTEGER, ANY_INT, .value = "N",
                            .help = "train the last N operators, -1 all (the model's, or -1)"},
  [NUM_THREADS] = {"num_threads", .kind = OPTION_INTEGER, COUNT, .value = "N",
                   .help = "threads, 0 as many as there are processors (0)"},
  [MEMORY_LIMIT] = {"memory_limit", .kind = OPTION_INTEGER, COUNT, .value = "N",
                    .help = "MB (2^20 bytes) for intermediate tensors of a step, 0 any (0)"},
  [BETA1] = {"beta1", .kind = OPTION_REAL, .value = "X", .help = "of Adam (0.9)"},
  [BETA2] = {"beta2", .kind = OPTION_REAL, .value = "X", .help = "of Adam (0.999)"},
  [EPSILON] = {"epsilon", .kind = OPTION_REAL, .value = "X", .help = "of Adam (1e-7)"},
};

// ---- checking options ----

static void check_exists(int option, const char *what)
{
  const char *path = options[option].text;
  if (path && access(path, R_OK) != 0)
    tool_fail(EXIT_BAD_ARGUMENT, "Model %sfile not found: %s", what, path);
}

static void check_1_or_2(int option)
{
  const Option *o = &options[option];
  if (o->given && o->integer != 1 && o->integer != 2)
    tool_fail(EXIT_BAD_ARGUMENT, "%s %lld is unsupported argument", o->name,
              (long long)o->integer);
}

static void ignore_pair(void *user, uint64_t index, uint64_t bytes)
{
  (void)user;
  (void)index;
  (void)bytes;
}

static void check_options(void)
{
  check_exists(CHECKPOINT, "");
  check_exists(LOAD_INPUT, "input ");
  check_exists(LOAD_EXPECTED, "expected ");
  check_1_or_2(LOSS);
  check_1_or_2(LOSS_REDUCTION_TYPE);
  check_1_or_2(OPTIMIZER);
  if (options[VALIDATION_SPLIT].real < 0 || options[VALIDATION_SPLIT].real > 1)
    tool_fail(EXIT_BAD_ARGUMENT, "Invalid validation_split. Float between 0 and 1.");
  json_output_sizes(options[OUTPUT_SIZES].text, ignore_pair, NULL);
  if (!options[LOAD_INPUT].text || !options[LOAD_EXPECTED].text)
    tool_fail(EXIT_BAD_RUN, "E: not supported random input and expected generator");
}

// ---- training parameters ----

static const char *name_of(const char *const names[3], int value)
{
  return names[value > 0 && value < 3 ? value : 0];
}

static void print_info(const nnfw_train_info *info)
{
  static const char *const losses[] = {"undefined", "mean squared error",
                                       "categorical crossentropy"};
  static const char *const reductions[] = {"undefined", "sum over batch size", "sum"};
  static const char *const optimizers[] = {"undefined", "sgd", "adam"};
  puts("== training parameter ==");
  printf("- learning_rate        = %g\n", (double)info->learning_rate);
  printf("- batch_size           = %u\n", info->batch_size);
  printf("- loss_info            = {loss = %s, reduction = %s}\n",
         name_of(losses, (int)info->loss_info.loss),
         name_of(reductions, (int)info->loss_info.reduction_type));
  printf("- optimizer            = %s\n", name_of(optimizers, (int)info->opt));
  printf("- num_of_trainable_ops = %d\n", info->num_of_trainable_ops);
  puts("========================");
}

// What the model says, overridden by options, printed and set.
static nnfw_train_info set_info(nnfw_session *session)
{
  nnfw_train_info info = {0};
  NNFW_STATUS status = nnfw_train_get_traininfo(session, &info);
  // A model may train operators that are not its last ones. That set holds as long as nothing else
  // is set in its place.
  bool own_set = status == NNFW_STATUS_INVALID_STATE &&
                 info.num_of_trainable_ops == NNFW_TRAIN_TRAINABLE_INCORRECT_STATE;
  if (!own_set)
    tool_check(session, status, "nnfw_train_get_traininfo");
  bool from_model = info.opt != NNFW_TRAIN_OPTIMIZER_UNDEFINED;
  if (options[NUM_OF_TRAINABLE_OPS].given)
    info.num_of_trainable_ops = (int32_t)options[NUM_OF_TRAINABLE_OPS].integer;
  else if (!from_model)
    info.num_of_trainable_ops = NNFW_TRAIN_TRAINABLE_ALL;
  if (options[BATCH_SIZE].given)
    info.batch_size = (uint32_t)options[BATCH_SIZE].integer;
  if (options[LEARNING_RATE].given)
    info.learning_rate = (float)options[LEARNING_RATE].real;
  if (options[LOSS].given)
    info.loss_info.loss = (NNFW_TRAIN_LOSS)options[LOSS].integer;
  if (options[LOSS_REDUCTION_TYPE].given)
    info.loss_info.reduction_type =
      (NNFW_TRAIN_LOSS_REDUCTION)options[LOSS_REDUCTION_TYPE].integer;
  if (options[OPTIMIZER].given)
    info.opt = (NNFW_TRAIN_OPTIMIZER)options[OPTIMIZER].integer;
  print_info(&info);
  bool changed = options[BATCH_SIZE].given || options[LEARNING_RATE].given ||
                 options[LOSS].given || options[LOSS_REDUCTION_TYPE].given ||
                 options[OPTIMIZER].given || options[NUM_OF_TRAINABLE_OPS].given;
  if (changed && info.num_of_trainable_ops == NNFW_TRAIN_TRAINABLE_INCORRECT_STATE)
    tool_fail(EXIT_BAD_RUN, "E: the model trains operators that are not its last ones: options "
                            "that change its training parameters need --num_of_trainable_ops too");
  if (changed)
    CALL(nnfw_train_set_traininfo, session, &info);
  return info;
}

static void set_adam(nnfw_session *session)
{
  onert_train_options o = {.struct_size = sizeof o};
  if (!options[BETA1].given && !options[BETA2].given && !options[EPSILON].given)
    return;
  tool_check(NULL, onert_train_options_init(&o), "onert_train_options_init");
  if (options[BETA1].given)
    o.adam_beta1 = options[BETA1].real;
  if (options[BETA2].given)
    o.adam_beta2 = options[BETA2].real;
  if (options[EPSILON].given)
    o.adam_epsilon = options[EPSILON].real;
  CALL(onert_train_set_options, session, &o);
}

// ---- training ----

static const char *metric_name(void)
{
  return options[METRIC].integer == 0 ? "categorical_accuracy" : "metric";
}

static void print_values(const char *prefix, const char *name, const double *values, uint32_t n)
{
  printf(" - %s%s: ", prefix, name);
  for (uint32_t i = 0; i < n; ++i)
    printf("[%u] %.4f", i, values[i]);
}

static void print_pass(const char *prefix, const Pass *pass, uint32_t n_outputs)
{
  print_values(prefix, "loss", pass->loss, n_outputs);
  if (options[METRIC].integer >= 0)
    print_values(prefix, metric_name(), pass->accuracy, n_outputs);
}

static void check_data(const TrainLoop *loop)
{
  if (loop->input_data.n_samples != loop->expected_data.n_samples)
    tool_fail(EXIT_BAD_RUN, "E: Fail to run by runtime error:The length of input data and "
                            "expected data does not match. (%llu and %llu samples)",
              (unsigned long long)loop->input_data.n_samples,
              (unsigned long long)loop->expected_data.n_samples);
  for (uint32_t i = 0; i < loop->n_outputs; ++i)
    if (options[METRIC].integer == 0 && loop->outputs[i].dtype != NNFW_TYPE_TENSOR_FLOAT32)
      tool_fail(EXIT_BAD_RUN, "E: Fail to run by runtime error:Not supported tensor type in "
                              "calculateAccuracy (output %u)", i);
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
  return value < limit ? value : limit;
}

// Runs all epochs; epoch_ms[e] becomes the time of the training steps of epoch e.
static void run_epochs(TrainLoop *loop, double *epoch_ms)
{
  int n_epochs = (int)options[EPOCH].integer;
  const char *checkpoint = options[EXPORT_CHECKPOINT].text;
  bool accuracy = options[METRIC].integer == 0;
  // The border is where the published float32 arithmetic puts it; no sample falls between the parts.
  float split = (float)options[VALIDATION_SPLIT].real, n = (float)loop->input_data.n_samples;
  uint64_t n_train = at_most((uint64_t)(n * (1 - split)), loop->input_data.n_samples);
  uint64_t n_validate = loop->input_data.n_samples - n_train;
  if (n_train == 0)
    tool_fail(EXIT_BAD_RUN, "E: training data is not enough for training."
                            "Reduce batch_size or add more data");
  Pass training = pass_alloc(loop), validation = pass_alloc(loop);
  for (int e = 0; e < n_epochs; ++e) {
    train_loop_pass(loop, 0, n_train, true, accuracy, &training);
    epoch_ms[e] = training.step_ms;
    if (checkpoint)
      CALL(nnfw_train_export_checkpoint, loop->session, checkpoint);
    printf("Epoch %d/%d - time: %.3fms/step", e + 1, n_epochs,
           training.step_ms / (double)training.n_steps);
    print_pass("", &training, loop->n_outputs);
    if (n_validate > 0) {
      train_loop_pass(loop, n_train, n_validate, false, accuracy, &validation);
      print_pass("val_", &validation, loop->n_outputs);
    }
    putchar('\n');
  }
  pass_free(&training);
  pass_free(&validation);
}

static void check_types(nnfw_session *session, uint32_t n_inputs, uint32_t n_outputs)
{
  nnfw_tensorinfo info;
  for (uint32_t i = 0; i < n_inputs; ++i) {
    CALL(nnfw_input_tensorinfo, session, i, &info);
    if (tool_type_bytes(info.dtype) == 0)
      tool_fail(EXIT_BAD_RUN, "E: not supported input type");
  }
  for (uint32_t i = 0; i < n_outputs; ++i) {
    CALL(nnfw_output_tensorinfo, session, i, &info);
    if (tool_type_bytes(info.dtype) == 0)
      tool_fail(EXIT_BAD_RUN, "E: not supported output type");
  }
}

static void print_times(const double *epoch_ms, int n_epochs)
{
  meter_print_rule();
  for (Phase p = 0; p < PHASE_COUNT; ++p)
    printf("%s takes %.4f ms\n", meter_name(p), meter_time(p));
  for (int e = 0; e < n_epochs; ++e)
    printf("- Epoch %d%12s%.4f ms\n", e + 1, " takes ", epoch_ms[e]);
  meter_print_rule();
}

int main(int argc, char **argv)
{
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *path = options_parse("onert_train", argc, argv, options, N_OPTIONS);
  tool_print_model(path);
  check_options();
  if (options[MEM_POLL].given)
    meter_poll_memory();

  TrainLoop loop = {0};
  meter_begin(PHASE_MODEL_LOAD);
  tool_check(NULL, nnfw_create_session(&loop.session), "nnfw_create_session");
  nnfw_session *session = loop.session;
  CALL(nnfw_load_model_from_file, session, path);
  meter_end();

  CALL(nnfw_set_available_backends, session, "train");
  if (options[NUM_THREADS].given)
    CALL(onert_set_num_threads, session, (uint32_t)options[NUM_THREADS].integer);
  CALL(nnfw_input_size, session, &loop.n_inputs);
  CALL(nnfw_output_size, session, &loop.n_outputs);
  check_types(session, loop.n_inputs, loop.n_outputs);
  loop.batch = set_info(session).batch_size;
  set_adam(session);
  if (options[MEMORY_LIMIT].given)
    CALL(onert_train_set_memory_limit, session, (uint64_t)options[MEMORY_LIMIT].integer << 20);

  meter_begin(PHASE_PREPARE);
  tool_check(session, nnfw_train_prepare(session), "nnfw_train_prepare");
  if (options[CHECKPOINT].text)
    CALL(nnfw_train_import_checkpoint, session, options[CHECKPOINT].text);
  meter_end();

  train_loop_open(&loop, options[LOAD_INPUT].text, options[LOAD_EXPECTED].text);
  check_data(&loop);

  int n_epochs = (int)options[EPOCH].integer;
  double *epoch_ms = tool_alloc((size_t)n_epochs, sizeof *epoch_ms);
  meter_begin(PHASE_EXECUTE);
  run_epochs(&loop, epoch_ms);
  meter_end();

  if (options[EXPORT_CIRCLE].text)
    CALL(nnfw_train_export_circle, session, options[EXPORT_CIRCLE].text);
  if (options[EXPORT_CIRCLEPLUS].text)
    CALL(nnfw_train_export_circleplus, session, options[EXPORT_CIRCLEPLUS].text);
  train_loop_close(&loop);
  nnfw_close_session(session);
  print_times(epoch_ms, n_epochs);
  meter_print_memory(false);
  free(epoch_ms);
  return 0;
}
