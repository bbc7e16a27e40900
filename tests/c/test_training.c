// SPDX-License-Identifier: Apache-2.0
// A training session from the outside, with the library's test hooks on memory: what a step
// allocates, what a failed call leaves, what threads and shorter batches change.
//
//   test_training FOLDER    where FOLDER/model.circle is recorded case cnn_softmax_cce_adam
#include "nnfw/nnfw.h"
#include "nnfw/nnfw_experimental.h"
#include "nnfw/onert_ext.h"

#include "base/mem.h"
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 3, MAX_FLOATS = 1 << 16 };

static char model_path[1024];
static float input[MAX_FLOATS], label[MAX_FLOATS];
static size_t input_floats, label_floats; // of one sample

static size_t floats_of(const nnfw_tensorinfo *info, int from)
{
  size_t n = 1;
  for (int i = from; i < info->rank; ++i)
    n *= (size_t)info->dims[i];
  return n;
}

static nnfw_train_info adam(uint32_t batch)
{
  nnfw_train_info info = {.learning_rate = 0.01f, .batch_size = batch};
  info.loss_info.loss = NNFW_TRAIN_LOSS_CATEGORICAL_CROSSENTROPY;
  info.loss_info.reduction_type = NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE;
  info.opt = NNFW_TRAIN_OPTIMIZER_ADAM;
  info.num_of_trainable_ops = NNFW_TRAIN_TRAINABLE_ALL;
  return info;
}

#define OK(call) CHECK_EQUAL(call, NNFW_STATUS_NO_ERROR)

static NNFW_STATUS start(nnfw_session **s, uint32_t batch, uint32_t threads, int gradients)
{
  NNFW_STATUS status = nnfw_create_session(s);
  nnfw_train_info info = adam(batch);
  onert_train_options options = {.struct_size = sizeof options};
  if (!status)
    status = nnfw_load_model_from_file(*s, model_path);
  if (!status)
    status = onert_set_num_threads(*s, threads);
  if (!status)
    status = onert_train_options_init(&options);
  options.keep_gradients = (uint32_t)gradients;
  if (!status)
    status = onert_train_set_options(*s, &options);
  if (!status)
    status = nnfw_train_set_traininfo(*s, &info);
  if (!status)
    status = nnfw_train_prepare(*s);
  if (!status)
    status = nnfw_train_set_input(*s, 0, input, NULL);
  if (!status)
    status = nnfw_train_set_expected(*s, 0, label, NULL);
  return status;
}

static void make_data(void)
{
  nnfw_session *s = NULL;
  OK(nnfw_create_session(&s));
  OK(nnfw_load_model_from_file(s, model_path));
  nnfw_tensorinfo info;
  OK(nnfw_input_tensorinfo(s, 0, &info));
  input_floats = floats_of(&info, 1);
  OK(nnfw_output_tensorinfo(s, 0, &info));
  label_floats = floats_of(&info, 1);
  OK(nnfw_close_session(s));
  srand(7);
  for (size_t i = 0; i < BATCH * input_floats; ++i)
    input[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  for (size_t i = 0; i < BATCH; ++i)
    label[i * label_floats + i % label_floats] = 1;
}

static void steps_allocate_nothing(void)
{
  nnfw_session *s = NULL;
  OK(start(&s, BATCH, 2, 0));
  long before = mem_count();
  for (int i = 0; i < 10; ++i)
    OK(nnfw_train(s, true));
  CHECK_EQUAL(mem_count(), before);
  OK(nnfw_close_session(s));
}

// Every allocation of a whole session fails once; each time the call must say so, and the session
// must still close.
static void every_allocation_may_fail(void)
{
  long k = 0;
  for (; k < 100000; ++k) {
    nnfw_session *s = NULL;
    mem_fail_after(k);
    NNFW_STATUS status = start(&s, BATCH, 1, 1);
    mem_fail_after(-1);
    CHECK(status == NNFW_STATUS_NO_ERROR || status == NNFW_STATUS_OUT_OF_MEMORY);
    if (status == NNFW_STATUS_NO_ERROR) {
      OK(nnfw_train(s, true));
      OK(nnfw_close_session(s));
      break;
    }
    OK(nnfw_close_session(s));
  }
  CHECK(k > 20 && k < 100000);
}

static void threads_do_not_change_bits(void)
{
  static float one[MAX_FLOATS], other[MAX_FLOATS];
  const uint32_t threads[] = {1, 2, 3, 8};
  size_t total = 0;
  for (size_t i = 0; i < sizeof threads / sizeof *threads; ++i) {
    nnfw_session *s = NULL;
    OK(start(&s, BATCH, threads[i], 0));
    for (int k = 0; k < 5; ++k)
      OK(nnfw_train(s, true));
    uint32_t n = 0;
    size_t at = 0;
    OK(onert_train_parameter_count(s, &n));
    CHECK(n > 0);
    for (uint32_t p = 0; p < n; ++p) {
      onert_parameter_info info = {.struct_size = sizeof info};
      OK(onert_train_parameter_info(s, p, &info));
      size_t bytes = floats_of(&info.tensor, 0) * sizeof(float);
      OK(onert_train_get_parameter(s, p, (i ? other : one) + at, bytes));
      at += bytes / sizeof(float);
    }
    total = at;
    if (i)
      CHECK(memcmp(one, other, total * sizeof(float)) == 0);
    OK(nnfw_close_session(s));
  }
}

// A step of 2 of 3 samples is the step of a session whose batch is 2.
static void a_shorter_batch_is_its_true_size(void)
{
  float losses[3][2];
  for (int way = 0; way < 3; ++way) {
    nnfw_session *s = NULL;
    OK(start(&s, way == 0 ? 2 : BATCH, 1, 0));
    nnfw_tensorinfo info;
    if (way == 1) {
      OK(nnfw_input_tensorinfo(s, 0, &info));
      info.dims[0] = 2;
      OK(nnfw_train_set_input(s, 0, input, &info));
      OK(nnfw_input_tensorinfo(s, 1, &info));
      info.dims[0] = 2;
      OK(nnfw_train_set_expected(s, 0, label, &info));
    } else if (way == 2) {
      OK(onert_train_set_batch(s, 2));
    }
    for (int k = 0; k < 2; ++k) {
      OK(nnfw_train(s, true));
      OK(nnfw_train_get_loss(s, 0, &losses[way][k]));
    }
    OK(nnfw_close_session(s));
  }
  CHECK(memcmp(losses[0], losses[1], sizeof losses[0]) == 0);
  CHECK(memcmp(losses[0], losses[2], sizeof losses[0]) == 0);
  CHECK(losses[0][1] < losses[0][0]);
}

static void buffers_of_different_sizes_are_refused(void)
{
  nnfw_session *s = NULL;
  OK(start(&s, BATCH, 1, 0));
  nnfw_tensorinfo info;
  OK(nnfw_input_tensorinfo(s, 0, &info));
  info.dims[0] = 2;
  OK(nnfw_train_set_input(s, 0, input, &info));
  OK(nnfw_input_tensorinfo(s, 1, &info));
  OK(nnfw_train_set_expected(s, 0, label, &info));
  CHECK_EQUAL(nnfw_train(s, true), NNFW_STATUS_ERROR);
  info.dims[0] = BATCH + 1;
  CHECK_EQUAL(nnfw_train_set_expected(s, 0, label, &info), NNFW_STATUS_ERROR);
  OK(nnfw_close_session(s));
}

static void inference_sees_the_trained_weights(void)
{
  nnfw_session *s = NULL;
  float evaluated[BATCH * 64], inferred[BATCH * 64], trained[BATCH * 64];
  size_t bytes = BATCH * label_floats * sizeof(float);
  OK(start(&s, BATCH, 1, 0));
  OK(nnfw_train_set_output(s, 0, NNFW_TYPE_TENSOR_FLOAT32, trained, bytes));
  for (int i = 0; i < 3; ++i)
    OK(nnfw_train(s, true));
  OK(nnfw_train_set_output(s, 0, NNFW_TYPE_TENSOR_FLOAT32, evaluated, bytes));
  OK(nnfw_train(s, false));
  OK(nnfw_set_input(s, 0, NNFW_TYPE_TENSOR_FLOAT32, input, BATCH * input_floats * sizeof(float)));
  OK(nnfw_set_output(s, 0, NNFW_TYPE_TENSOR_FLOAT32, inferred, bytes));
  OK(nnfw_run(s));
  CHECK(memcmp(evaluated, inferred, bytes) == 0);
  CHECK(memcmp(evaluated, trained, bytes) != 0); // those are of before the last update
  OK(nnfw_train(s, true)); // and training goes on
  OK(nnfw_close_session(s));
}

static void gradients_are_readable(void)
{
  nnfw_session *s = NULL;
  OK(start(&s, BATCH, 1, 1));
  onert_parameter_info info = {.struct_size = sizeof info};
  OK(onert_train_parameter_info(s, 0, &info));
  size_t n = floats_of(&info.tensor, 0);
  float *g = malloc(n * sizeof(float));
  CHECK_EQUAL(onert_train_get_gradient(s, 0, g, n * sizeof(float)), NNFW_STATUS_INVALID_STATE);
  OK(nnfw_train(s, true));
  OK(onert_train_get_gradient(s, 0, g, n * sizeof(float)));
  double sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += fabs((double)g[i]);
  CHECK(sum > 0);
  CHECK_EQUAL(onert_train_get_gradient(s, 0, g, n * sizeof(float) - 4), NNFW_STATUS_ERROR);
  float output[BATCH * 64];
  OK(nnfw_train_set_output(s, 0, NNFW_TYPE_TENSOR_FLOAT32, output,
                           BATCH * label_floats * sizeof(float)));
  OK(nnfw_train(s, false));
  CHECK_EQUAL(onert_train_get_gradient(s, 0, g, n * sizeof(float)), NNFW_STATUS_ERROR);
  free(g);
  OK(nnfw_close_session(s));
}

static void a_failed_prepare_can_be_tried_again(void)
{
  nnfw_session *s = NULL;
  nnfw_train_info info = adam(BATCH);
  char text[512];
  OK(nnfw_create_session(&s));
  OK(nnfw_load_model_from_file(s, model_path));
  CHECK_EQUAL(nnfw_train_prepare(s), NNFW_STATUS_ERROR);
  OK(nnfw_get_last_error_message(s, text, sizeof text));
  CHECK(strstr(text, "batch size") != NULL);
  info.learning_rate = NAN;
  OK(nnfw_train_set_traininfo(s, &info));
  CHECK_EQUAL(nnfw_train_prepare(s), NNFW_STATUS_ERROR);
  info.learning_rate = 0.01f;
  info.num_of_trainable_ops = 1000;
  CHECK_EQUAL(nnfw_train_set_traininfo(s, &info), NNFW_STATUS_ERROR);
  info.num_of_trainable_ops = -1;
  OK(nnfw_train_set_traininfo(s, &info));
  OK(nnfw_train_prepare(s));
  OK(nnfw_train_get_traininfo(s, &info));
  CHECK_EQUAL(info.num_of_trainable_ops, -1);
  CHECK_EQUAL(nnfw_prepare(s), NNFW_STATUS_INVALID_STATE);
  OK(nnfw_close_session(s));
}

typedef struct {
  nnfw_session *session;
  atomic_bool stop;
} Other;

static void *train_on(void *argument)
{
  Other *o = argument;
  while (!atomic_load(&o->stop))
    (void)nnfw_train(o->session, true); // may be refused as well
  return NULL;
}

// A second thread gets an error and its text, whatever failed in the session before.
static void a_busy_session_says_so(void)
{
  Other other = {.session = NULL};
  pthread_t thread;
  char text[512] = "";
  OK(start(&other.session, BATCH, 1, 0));
  CHECK_EQUAL(nnfw_prepare(other.session), NNFW_STATUS_INVALID_STATE);
  CHECK_EQUAL(pthread_create(&thread, NULL, train_on, &other), 0);
  NNFW_STATUS status = NNFW_STATUS_NO_ERROR;
  uint32_t n = 0;
  for (long i = 0; i < 100000000 && status == NNFW_STATUS_NO_ERROR; ++i)
    status = nnfw_output_size(other.session, &n);
  CHECK_EQUAL(status, NNFW_STATUS_ERROR);
  OK(nnfw_get_last_error_message(other.session, text, sizeof text));
  CHECK(strcmp(text, "session is in use by another thread") == 0);
  atomic_store(&other.stop, true);
  pthread_join(thread, NULL);
  OK(nnfw_output_size(other.session, &n));
  OK(nnfw_close_session(other.session));
}

int main(int argc, char **argv)
{
  if (argc != 2)
    return 2;
  snprintf(model_path, sizeof model_path, "%s/model.circle", argv[1]);
  make_data();
  steps_allocate_nothing();
  every_allocation_may_fail();
  threads_do_not_change_bits();
  a_shorter_batch_is_its_true_size();
  buffers_of_different_sizes_are_refused();
  inference_sees_the_trained_weights();
  gradients_are_readable();
  a_failed_prepare_can_be_tried_again();
  a_busy_session_says_so();
  return check_result();
}
