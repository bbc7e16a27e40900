// SPDX-License-Identifier: Apache-2.0
// The gradient engine on whole graphs: losses against numeric derivatives of what they report,
// tensors with many readers, weights that layers share, frozen layers, the order of updates, and
// what cannot be trained. Single operators: test_ops.c.
#include "check.h"
#include "opgraph.h"

#include "base/mem.h"
#include "compile/fuse_chain.h"
#include "compile/passes.h"
#include "ops/attrs.h"
#include "ops/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, MAX_PARAMS = 8 };

typedef struct {
  Arena arena;
  Diag diag;
  Graph g;
  GradResult r;
  GradOptions options;
  int32_t param[MAX_PARAMS];
  int n_params;
  Program *program;
  int32_t samples;
  void *block;
  void **bound;
  float learning_rate;
  int threads;
  bool joins; // convolutions in a row become one node, however small they are
} Net;

static Net *net_new(LossKind loss, bool mean)
{
  Net *n = mem_zalloc(sizeof *n);
  n->options = (GradOptions){.loss = loss, .mean = mean, .sample_rows = 1};
  n->g = (Graph){.arena = &n->arena, .name = "net"};
  return n;
}

static float *random_floats(Net *n, int64_t count, bool positive)
{
  float *p = arena_array(&n->arena, (size_t)count, sizeof *p);
  for (int64_t i = 0; i < count; ++i) {
    double v = random_value(false);
    p[i] = (float)(positive ? fabs(v) / 4 : v / 2);
  }
  return p;
}

static int32_t param(Net *n, Shape s)
{
  float *data = random_floats(n, shape_numel(&s), false);
  return n->param[n->n_params++] = test_tensor(&n->g, TK_PARAM, DT_F32, &s, data);
}

static int32_t constant(Net *n, Shape s)
{
  return test_tensor(&n->g, TK_CONST, DT_F32, &s, random_floats(n, shape_numel(&s), false));
}

static int32_t input(Net *n, Shape s)
{
  return test_tensor(&n->g, TK_INPUT, DT_F32, &s, NULL);
}

static int32_t unary(Net *n, const char *op, int32_t x)
{
  return test_node(&n->g, op, NULL, ACT_NONE, 1, &x);
}

static int32_t binary(Net *n, const char *op, int32_t a, int32_t b)
{
  return test_node(&n->g, op, NULL, ACT_NONE, 2, (int32_t[]){a, b});
}

// The attributes of FULLY_CONNECTED are one bool.
static int32_t dense(Net *n, int32_t x, int32_t w, int32_t b, bool keep_dims)
{
  void *attr = arena_copy(&n->arena, &keep_dims, sizeof keep_dims);
  return test_node(&n->g, "FULLY_CONNECTED", attr, ACT_NONE, 3, (int32_t[]){x, w, b});
}

static int32_t softmax(Net *n, int32_t x, float beta)
{
  void *attr = arena_copy(&n->arena, &(SoftmaxAttr){beta}, sizeof(SoftmaxAttr));
  return test_node(&n->g, "SOFTMAX", attr, ACT_NONE, 1, &x);
}

#define SHAPE(...)                                                                                 \
  (Shape)                                                                                          \
  {                                                                                                \
    .rank = CASE_COUNT(int32_t, __VA_ARGS__), .dim = {__VA_ARGS__}                                 \
  }

// Adds losses on these outputs, gradients and updates.
static Status net_train(Net *n, int n_outputs, const int32_t *outputs)
{
  n->g.outputs = arena_copy(&n->arena, outputs, sizeof *outputs * (size_t)n_outputs);
  n->g.n_outputs = n_outputs;
  TRY(passes_run(&n->g, &n->diag));
  if (n->joins)
    TRY(chain_pass(&n->g, &(ChainRule){.samples = 1, .is_trained = true}, &n->diag));
  return grad_pass(&n->g, &n->options, &n->r, &n->diag);
}

static Status net_program(Net *n, int32_t samples, bool positive_labels)
{
  int32_t keep[MAX_PARAMS];
  for (size_t i = 0; i < n->r.n_trained; ++i)
    keep[i] = n->r.trained[i].gradient;
  ProgramRequest r = {.graph = &n->g, .samples = samples, .threads = n->threads > 1 ? n->threads : 1,
                      .n_forward = n->r.n_forward,
                      .keep = n->r.losses, .n_keep = (size_t)n->g.n_outputs,
                      .keep_to_end = keep, .n_keep_to_end = n->r.n_trained};
  n->samples = samples;
  TRY(program_build(&r, &n->program, &n->diag));
  n->block = mem_alloc(program_bytes(n->program));
  memset(n->block, 0xFF, program_bytes(n->program));
  n->bound = arena_array(&n->arena, n->g.n_tensors, sizeof *n->bound);
  for (size_t i = 0; i < n->g.n_tensors; ++i)
    if (n->g.tensors[i].kind == TK_INPUT) {
      bool is_label = false;
      for (int k = 0; k < n->g.n_outputs; ++k)
        is_label = is_label || n->r.labels[k] == (int32_t)i;
      n->bound[i] = random_floats(n, shape_numel(&n->g.tensors[i].shape) * samples,
                                  is_label && positive_labels);
    }
  return ST_OK;
}

static void net_drop(Net *n)
{
  program_destroy(n->program);
  mem_free(n->block);
  arena_drop(&n->arena);
  mem_free(n);
}

static void run(Net *n, size_t from, size_t to)
{
  Hyper hyper = {.learning_rate = n->learning_rate};
  Pool *pool = NULL;
  if (n->threads > 1)
    CHECK_EQUAL(pool_create(n->threads, &pool), ST_OK);
  program_run(n->program,
              &(ProgramRun){.block = n->block, .inputs = n->bound, .hyper = &hyper, .pool = pool},
              from, to);
  pool_destroy(pool);
}

static void *at(const Net *n, int32_t tensor)
{
  return program_address(n->program, &(ProgramRun){.block = n->block, .inputs = n->bound}, tensor);
}

// What the losses report, all outputs together.
static double loss(Net *n)
{
  double all = 0;
  run(n, 0, n->r.n_forward);
  for (int i = 0; i < n->g.n_outputs; ++i) {
    const Tensor *t = &n->g.tensors[n->r.losses[i]];
    int64_t rows = shape_numel(&t->shape) * n->samples;
    const float *row = at(n, n->r.losses[i]);
    double sum = 0;
    for (int64_t k = 0; k < rows; ++k)
      sum += (double)row[k];
    all += n->options.mean ? sum / (double)rows : sum;
  }
  return all;
}

static double slope(Net *n, float *x, double h)
{
  float keep = *x;
  *x = (float)(keep + h);
  double up = *x, loss_up = loss(n);
  *x = (float)(keep - h);
  double down = *x, loss_down = loss(n);
  *x = keep;
  return (loss_up - loss_down) / (up - down);
}

static float *gradient(const Net *n, int32_t tensor)
{
  for (size_t i = 0; i < n->r.n_trained; ++i)
    if (n->r.trained[i].param == tensor)
      return at(n, n->r.trained[i].gradient);
  return NULL;
}

// Every element of every parameter.
static void check_numerically(const char *what, Net *n)
{
  CHECK_EQUAL(n->r.n_trained, n->n_params);
  for (int i = 0; i < n->n_params; ++i) {
    const Tensor *t = &n->g.tensors[n->param[i]];
    int64_t count = shape_numel(&t->shape);
    run(n, 0, n->g.n_nodes);
    float *now = gradient(n, n->param[i]);
    if (!now) {
      printf("%s: parameter %d gets no gradient\n", what, i);
      ++check_failures;
      continue;
    }
    float *g = arena_copy(&n->arena, now, (size_t)count * sizeof *g);
    double largest = 0;
    for (int64_t k = 0; k < count; ++k)
      largest = fmax(largest, fabs((double)g[k]));
    for (int64_t k = 0; k < count; ++k) {
      float *x = (float *)t->data + k;
      double wanted = (4 * slope(n, x, 0.01) - slope(n, x, 0.02)) / 3;
      if (!(fabs(wanted - (double)g[k]) <= 1e-3 * largest + 2e-5)) {
        printf("%s: gradient of parameter %d, element %lld is %.7g, numerically %.7g\n", what, i,
               (long long)k, (double)g[k], wanted);
        ++check_failures;
        break;
      }
    }
  }
}

static void check_net(const char *what, Net *n, int n_outputs, const int32_t *outputs,
                      int32_t samples, bool positive_labels)
{
  Status s = net_train(n, n_outputs, outputs);
  if (s == ST_OK)
    s = net_program(n, samples, positive_labels);
  if (s == ST_OK) {
    check_numerically(what, n);
  } else {
    printf("%s: %s\n", what, n->diag.text);
    ++check_failures;
  }
  net_drop(n);
}

// ---- losses ----

// Labels do not add up to 1, so that every term counts.
static void losses_report_what_their_gradients_are_of(void)
{
  static const struct {
    const char *what;
    LossKind loss;
    float beta; // of a softmax before the loss; 0: none
  } kinds[] = {{"mse", LOSS_KIND_MSE, 0},
               {"mse of softmax", LOSS_KIND_MSE, 1.5f},
               {"cce of logits", LOSS_KIND_CCE, 0},
               {"cce of softmax", LOSS_KIND_CCE, 1},
               {"cce of softmax, beta 2", LOSS_KIND_CCE, 2}};
  for (size_t k = 0; k < COUNT_OF(kinds); ++k)
    for (int variant = 0; variant < 8; ++variant) {
      Net *n = net_new(kinds[k].loss, variant & 1);
      int32_t x = input(n, variant & 2 ? SHAPE(1, 3, 5) : SHAPE(1, 5));
      int32_t y = dense(n, x, param(n, SHAPE(4, 5)), param(n, SHAPE(4)), variant & 2);
      if (kinds[k].beta > 0)
        y = softmax(n, y, kinds[k].beta);
      check_net(kinds[k].what, n, 1, &y, variant & 4 ? SAMPLES : 1, kinds[k].loss == LOSS_KIND_CCE);
    }
}

// A file whose own batch is 2: each of its rows has a loss.
static void rows_of_a_sample_have_losses_of_their_own(void)
{
  Net *n = net_new(LOSS_KIND_MSE, true);
  n->options.sample_rows = 2;
  int32_t y = dense(n, input(n, SHAPE(2, 3)), param(n, SHAPE(4, 3)), -1, false);
  CHECK_EQUAL(net_train(n, 1, &y), ST_OK);
  CHECK_EQUAL(shape_numel(&n->g.tensors[n->r.losses[0]].shape), 2);
  CHECK_EQUAL(net_program(n, SAMPLES, false), ST_OK);
  check_numerically("rows", n);
  net_drop(n);
}

// exp underflows: the class that should win has probability 0, where a gradient through the
// probability would be 0 or infinite.
static void cce_of_a_hopeless_softmax_still_learns(void)
{
  Net *n = net_new(LOSS_KIND_CCE, true);
  int32_t w = param(n, SHAPE(1, 2));
  float *logit = n->g.tensors[w].data;
  logit[0] = -300;
  logit[1] = 300;
  int32_t x = input(n, SHAPE(1, 1));
  int32_t y = softmax(n, binary(n, "ADD", w, x), 1);
  CHECK_EQUAL(net_train(n, 1, &y), ST_OK);
  CHECK_EQUAL(net_program(n, 1, false), ST_OK);
  float *label = n->bound[n->r.labels[0]];
  label[0] = 1;
  label[1] = 0;
  run(n, 0, n->g.n_nodes);
  const float *g = gradient(n, w);
  CHECK(g[0] == -1 && g[1] == 1);
  CHECK(fabs(loss(n) + log(1e-20)) < 1e-4);
  net_drop(n);
}

// ---- sums ----

static void a_tensor_with_many_readers_gets_their_sum(void)
{
  for (int samples = 1; samples <= SAMPLES; samples += SAMPLES - 1) {
    Net *n = net_new(LOSS_KIND_MSE, true);
    int32_t h = binary(n, "ADD", param(n, SHAPE(2, 3)), input(n, SHAPE(2, 3)));
    int32_t square = binary(n, "MUL", h, h);
    int32_t nothing = binary(n, "SUB", h, h);
    int32_t a = binary(n, "MUL", unary(n, "TANH", h), unary(n, "LOGISTIC", h));
    int32_t b = dense(n, h, param(n, SHAPE(3, 3)), -1, false);
    int32_t c = binary(n, "ADD", binary(n, "SUB", a, square), binary(n, "ADD", b, nothing));
    int32_t y = binary(n, "ADD", c, h);
    check_net("many readers", n, 1, &y, samples, false);
  }
}

// dy goes to h as it is and through a layer that reads it and adds to it.
static void a_residual_adds_up(void)
{
  static const WindowAttr window = {.same = true, .stride_h = 1, .stride_w = 1, .dilation_h = 1,
                                    .dilation_w = 1};
  for (int variant = 0; variant < 8; ++variant) {
    Net *n = net_new(LOSS_KIND_MSE, true);
    int32_t h = binary(n, "MUL", input(n, SHAPE(1, 9, 9, 3)), param(n, SHAPE(3)));
    // Where the filter is constant, dy dies at the node that reads it and adds to it.
    int32_t w = variant & 1 ? constant(n, SHAPE(3, 3, 3, 3)) : param(n, SHAPE(3, 3, 3, 3));
    int32_t inside = test_node(&n->g, "CONV_2D", &window, ACT_NONE, 2, (int32_t[]){h, w});
    int32_t y = variant & 2 ? binary(n, "ADD", h, inside) : binary(n, "ADD", inside, h);
    check_net("residual", n, 1, &y, variant & 4 ? SAMPLES : 1, false);
  }
}

static void layers_may_share_weights(void)
{
  for (int samples = 1; samples <= SAMPLES; samples += SAMPLES - 1) {
    Net *n = net_new(LOSS_KIND_MSE, true);
    int32_t w = param(n, SHAPE(3, 3)), b = param(n, SHAPE(3));
    int32_t h = unary(n, "TANH", dense(n, input(n, SHAPE(1, 3)), w, b, false));
    int32_t y = dense(n, unary(n, "LOGISTIC", dense(n, h, w, b, false)), w, b, false);
    check_net("shared weights", n, 1, &y, samples, false);
  }
}

// A weight that is made from others, and one that two operators read in different ways.
static void weights_may_be_computed(void)
{
  for (int samples = 1; samples <= SAMPLES; samples += SAMPLES - 1) {
    Net *n = net_new(LOSS_KIND_MSE, false);
    int32_t a = param(n, SHAPE(2, 3)), scale = param(n, SHAPE(2, 1)), x = input(n, SHAPE(1, 3));
    int32_t w = unary(n, "TANH", binary(n, "MUL", a, scale));
    int32_t y = dense(n, binary(n, "ADD", x, dense(n, dense(n, x, w, -1, false),
                                                   param(n, SHAPE(3, 2)), -1, false)),
                      w, scale, false);
    check_net("computed weights", n, 1, &y, samples, false);
  }
}

static void outputs_add_their_losses(void)
{
  for (int samples = 1; samples <= SAMPLES; samples += SAMPLES - 1) {
    Net *n = net_new(LOSS_KIND_MSE, true);
    int32_t h = dense(n, input(n, SHAPE(1, 3)), param(n, SHAPE(4, 3)), -1, false);
    int32_t outputs[2] = {unary(n, "TANH", h), h};
    outputs[1] = binary(n, "MUL", outputs[0], param(n, SHAPE(4)));
    check_net("two outputs, one feeds the other", n, 2, outputs, samples, false);
  }
}

// What Keras makes of Flatten: the shape is computed, from one that is known.
static void a_computed_shape_is_a_constant(void)
{
  for (int samples = 1; samples <= SAMPLES; samples += SAMPLES - 1) {
    Net *n = net_new(LOSS_KIND_MSE, true);
    static int32_t zero = 0, one = 1, minus_one = -1;
    const Shape vector = SHAPE(1);
    int32_t begin = test_tensor(&n->g, TK_CONST, DT_I32, &vector, &zero);
    int32_t end = test_tensor(&n->g, TK_CONST, DT_I32, &vector, &one);
    int32_t rest = test_tensor(&n->g, TK_CONST, DT_I32, NULL, &minus_one);
    static const DType type = DT_I32; // the attributes of SHAPE
    static const struct {
      int32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
      bool offset;
    } first = {.shrink_mask = 1}; // those of STRIDED_SLICE
    static const int32_t axis[2] = {0, 2}; // and of PACK
    int32_t x = binary(n, "MUL", input(n, SHAPE(1, 2, 3)), param(n, SHAPE(2, 1)));
    int32_t shape = test_node(&n->g, "SHAPE", &type, ACT_NONE, 1, &x);
    int32_t rows = test_node(&n->g, "STRIDED_SLICE", &first, ACT_NONE, 4,
                             (int32_t[]){shape, begin, end, end});
    int32_t target = test_node(&n->g, "PACK", axis, ACT_NONE, 2, (int32_t[]){rows, rest});
    static const struct {
      Shape shape;
      bool given;
    } none = {.given = false}; // and of RESHAPE
    int32_t flat = test_node(&n->g, "RESHAPE", &none, ACT_NONE, 2, (int32_t[]){x, target});
    int32_t y = dense(n, flat, param(n, SHAPE(2, 6)), -1, false);
    check_net("computed shape", n, 1, &y, samples, false);
  }
}

// ---- what is made ----

static int count_nodes(const Net *n, const char *op)
{
  int count = 0;
  for (size_t i = 0; i < n->g.n_nodes; ++i)
    count += strcmp(n->g.nodes[i].op->name, op) == 0;
  return count;
}

static void frozen_layers_cost_nothing(void)
{
  Net *n = net_new(LOSS_KIND_MSE, true);
  int32_t h = dense(n, input(n, SHAPE(1, 3)), constant(n, SHAPE(4, 3)), -1, false);
  int32_t middle = dense(n, unary(n, "TANH", h), param(n, SHAPE(4, 4)), -1, false);
  int32_t y = dense(n, middle, constant(n, SHAPE(2, 4)), constant(n, SHAPE(2)), false);
  CHECK_EQUAL(net_train(n, 1, &y), ST_OK);
  CHECK_EQUAL(count_nodes(n, "DENSE_INPUT_GRAD"), 1);
  CHECK_EQUAL(count_nodes(n, "DENSE_WEIGHT_GRAD"), 1);
  CHECK_EQUAL(count_nodes(n, "UNARY_GRAD"), 0);
  CHECK_EQUAL(count_nodes(n, "SGD_UPDATE"), 1);
  net_drop(n);
}

// All gradients are those at the weights before the step, also of weights that several layers read.
static void updates_follow_the_last_reader(void)
{
  Net *n = net_new(LOSS_KIND_MSE, true);
  int32_t w = param(n, SHAPE(3, 3)), v = param(n, SHAPE(3, 3));
  int32_t h = dense(n, input(n, SHAPE(1, 3)), w, -1, false);
  int32_t y = dense(n, dense(n, dense(n, h, v, -1, false), w, -1, false), v, -1, false);
  CHECK_EQUAL(net_train(n, 1, &y), ST_OK);
  CHECK_EQUAL(net_program(n, SAMPLES, false), ST_OK);
  run(n, 0, n->g.n_nodes);
  float old[2][9], g[2][9];
  const int32_t tensor[2] = {w, v};
  for (int i = 0; i < 2; ++i) {
    memcpy(old[i], n->g.tensors[tensor[i]].data, sizeof old[i]);
    memcpy(g[i], gradient(n, tensor[i]), sizeof g[i]);
  }
  n->learning_rate = 0.25f;
  run(n, 0, n->g.n_nodes);
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 9; ++k)
      CHECK(((float *)n->g.tensors[tensor[i]].data)[k] == old[i][k] - g[i][k] * 0.25f);
  net_drop(n);
}

// ---- refusals ----

static void check_refusal(Net *n, int32_t output, const char *wanted)
{
  Status s = net_train(n, 1, &output);
  if (s == ST_OK || !strstr(n->diag.text, wanted)) {
    printf("'%s', wanted a refusal with '%s'\n", n->diag.text, wanted);
    ++check_failures;
  }
  net_drop(n);
}

static void what_cannot_have_a_loss_is_refused(void)
{
  Net *n = net_new(LOSS_KIND_MSE, true);
  check_refusal(n, unary(n, "TANH", param(n, SHAPE(2))), "does not depend on any input");
  n = net_new(LOSS_KIND_MSE, true);
  int32_t x = input(n, SHAPE(2, 0));
  check_refusal(n, binary(n, "MUL", x, param(n, SHAPE(1))), "no element to take a loss of");
}

typedef struct {
  const char *what;
  int32_t rows, columns, expanded, filter, stride, dilation;
  bool same, has_residual, has_stem, has_bias;
  ActKind act; // of the first two stages
} Residual;

static int32_t convolution(Net *n, const char *op, int32_t x, Shape filter, WindowAttr w,
                           ActKind act, bool has_bias)
{
  const int32_t channels = strcmp(op, "CONV_2D") == 0 ? filter.dim[0] : filter.dim[3];
  const int32_t in[] = {x, param(n, filter), has_bias ? param(n, SHAPE(channels)) : -1};
  return test_node(&n->g, op, arena_copy(&n->arena, &w, sizeof w), act, 3, in);
}

static Net *inverted_residual(const Residual *c, bool joins, int threads)
{
  enum { CHANNELS = 5 };
  srand(7);
  Net *n = net_new(LOSS_KIND_MSE, true);
  n->joins = joins;
  n->threads = threads;
  const WindowAttr pointwise = {.same = true, .stride_h = 1, .stride_w = 1, .dilation_h = 1,
                                .dilation_w = 1};
  const WindowAttr stem = {.same = true, .stride_h = 2, .stride_w = 2, .dilation_h = 1,
                           .dilation_w = 1};
  const WindowAttr window = {.same = c->same, .stride_h = c->stride, .stride_w = c->stride,
                             .dilation_h = c->dilation, .dilation_w = c->dilation};
  int32_t x = input(n, SHAPE(1, c->rows, c->columns, 3));
  const int32_t k = c->has_stem ? 3 : 1, in_channels = c->has_stem ? 3 : CHANNELS;
  if (!c->has_stem)
    x = convolution(n, "CONV_2D", x, SHAPE(CHANNELS, 1, 1, 3), pointwise, ACT_RELU6, true);
  int32_t y = convolution(n, "CONV_2D", x, SHAPE(c->expanded, k, k, in_channels),
                          c->has_stem ? stem : pointwise, c->act, c->has_bias);
  y = convolution(n, "DEPTHWISE_CONV_2D", y, SHAPE(1, c->filter, c->filter, c->expanded), window,
                  c->act, c->has_bias);
  y = convolution(n, "CONV_2D", y, SHAPE(CHANNELS, 1, 1, c->expanded), pointwise, ACT_NONE,
                  c->has_bias);
  if (c->has_residual)
    y = binary(n, "ADD", y, x);
  CHECK_EQUAL(net_train(n, 1, &y), ST_OK);
  CHECK_EQUAL(net_program(n, SAMPLES, true), ST_OK);
  return n;
}

// Joined or not, and with any number of threads: the same losses to the bit, the same gradients but
// for the order of sums.
static void inverted_residuals_train_by_bands(void)
{
  static const Residual cases[] = {
    {"stride 1", 13, 11, 16, 3, 1, 1, true, true, false, true, ACT_RELU6},
    {"stride 2", 14, 9, 20, 3, 2, 1, true, false, false, true, ACT_RELU6},
    {"odd rows, stride 2", 15, 9, 7, 3, 2, 1, true, false, false, true, ACT_RELU},
    {"no padding", 12, 12, 9, 3, 1, 1, false, false, false, true, ACT_NONE},
    {"no padding, stride 2", 12, 10, 9, 3, 2, 1, false, false, false, true, ACT_RELU6},
    {"large filter", 17, 8, 8, 5, 2, 1, true, false, false, true, ACT_RELU},
    {"dilated", 18, 8, 8, 3, 1, 2, true, true, false, true, ACT_RELU6},
    {"stem", 32, 20, 8, 3, 1, 1, true, false, true, true, ACT_RELU6},
    {"no biases", 13, 11, 16, 3, 1, 1, true, true, false, false, ACT_RELU6},
    {"more rows than a cache holds", 96, 64, 48, 3, 1, 1, true, true, false, true, ACT_RELU6},
    {"one row", 1, 9, 8, 3, 1, 1, true, true, false, true, ACT_RELU6},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const Residual *c = &cases[i];
    Net *apart = inverted_residual(c, false, 1);
    const double wanted = loss(apart);
    run(apart, 0, apart->g.n_nodes);
    for (int threads = 1; threads <= 3; threads += 2) {
      Net *joined = inverted_residual(c, true, threads);
      CHECK_EQUAL(count_nodes(joined, "CONV_CHAIN"), 1);
      CHECK_EQUAL(count_nodes(joined, "DEPTHWISE_CONV_2D"), 0);
      CHECK_EQUAL(joined->n_params, apart->n_params);
      const double now = loss(joined);
      if (now != wanted) {
        printf("%s: loss %.9g joined, %.9g apart\n", c->what, now, wanted);
        ++check_failures;
      }
      run(joined, 0, joined->g.n_nodes);
      for (int p = 0; p < apart->n_params; ++p) {
        const int64_t size = shape_numel(&apart->g.tensors[apart->param[p]].shape);
        const float *a = gradient(apart, apart->param[p]), *b = gradient(joined, joined->param[p]);
        double largest = 0, off = 0;
        for (int64_t k = 0; k < size; ++k) {
          largest = fmax(largest, fabs((double)a[k]));
          off = fmax(off, fabs((double)a[k] - (double)b[k]));
        }
        if (!(off <= 2e-5 * largest)) {
          printf("%s, %d threads: gradient %d is off by %g of %g\n", c->what, threads, p, off,
                 largest);
          ++check_failures;
        }
      }
      net_drop(joined);
    }
    net_drop(apart);
  }
}

int main(void)
{
  srand(3);
  losses_report_what_their_gradients_are_of();
  rows_of_a_sample_have_losses_of_their_own();
  cce_of_a_hopeless_softmax_still_learns();
  a_tensor_with_many_readers_gets_their_sum();
  a_residual_adds_up();
  layers_may_share_weights();
  weights_may_be_computed();
  outputs_add_their_losses();
  a_computed_shape_is_a_constant();
  frozen_layers_cost_nothing();
  updates_follow_the_last_reader();
  what_cannot_have_a_loss_is_refused();
  inverted_residuals_train_by_bands();
  return check_result();
}
