// SPDX-License-Identifier: Apache-2.0
// UNIDIRECTIONAL_SEQUENCE_LSTM, made up of other operators, time step by time step; so its gradient
// is theirs. With p(x, h, c) = x W^T + h R^T + peephole * c + b for each gate:
//
//   i = sigmoid(p_i(x, h, c)), or 1 - f where the input gate is absent (CIFG)
//   f = sigmoid(p_f(x, h, c))
//   c = clip(f * c + i * act(p_c(x, h)))
//   o = sigmoid(p_o(x, h, new c))
//   h = clip(projection(o * act(c)))
//
// State tensors that are variables of the model are zero before the first step of every sample: a
// sample is one whole sequence.
#include "ops/op.h"

#include <math.h>

enum { X, W, R = 5, PEEPHOLE = 9, BIAS = 12, PROJECTION = 16, STATE_H = 18, STATE_C, NORM };
enum { GATE_I, GATE_F, GATE_C, GATE_O, GATES };

typedef struct {
  ActKind act;
  float cell_clip, projection_clip; // 0: none
  bool time_major;
} LstmAttr;

static Status parse(const FbTable *options, void *attr, int *act, Diag *d)
{
  LstmAttr *a = attr;
  int8_t code = fb_i8(*options, 0, 0);
  (void)act; // applies inside, not to the result
  *a = (LstmAttr){.act = (ActKind)code, .cell_clip = fb_f32(*options, 1, 0),
                  .projection_clip = fb_f32(*options, 2, 0),
                  .time_major = fb_bool(*options, 3, false)};
  if (code < ACT_NONE || code > ACT_TANH)
    return diag_fail(d, ST_ERROR, "activation %d is not supported", code);
  if (!isfinite(a->cell_clip) || a->cell_clip < 0 || !isfinite(a->projection_clip) ||
      a->projection_clip < 0)
    return diag_fail(d, ST_ERROR, "clips are %g and %g, wanted numbers from 0 on",
                     (double)a->cell_clip, (double)a->projection_clip);
  if (fb_bool(*options, 5, false))
    return diag_fail(d, ST_ERROR, "diagonal recurrent tensors are not supported");
  return ST_OK;
}

// ---- what must hold ----

typedef struct {
  int32_t steps, batch, features, cells, outputs;
} Sizes;

// An absent operand is fine here.
static Status check(Expand *e, int i, int rank, int32_t rows, int32_t columns)
{
  const Tensor *t = expand_in(e, i);
  Shape wanted = {.rank = rank, .dim = {rows}};
  if (rank == 2)
    wanted.dim[1] = columns;
  if (!t || (t->dtype == DT_F32 && shape_equal(&t->shape, &wanted)))
    return ST_OK;
  return expand_fail(e, "input %d ('%.70s') is %s %s, wanted float32 %s", i, t->name,
                     dtype_name(t->dtype), shape_text(&t->shape).text, shape_text(&wanted).text);
}

static Status need(Expand *e, int i)
{
  return expand_in(e, i) ? ST_OK : expand_fail(e, "input %d is absent", i);
}

static Status read_sizes(Expand *e, const LstmAttr *a, Sizes *s)
{
  const Tensor *x = expand_in(e, X), *w = expand_in(e, W + GATE_O), *r = expand_in(e, R + GATE_O);
  if (x->dtype != DT_F32 || x->shape.rank != 3)
    return expand_fail(e, "input 0 is %s %s, wanted float32 of rank 3", dtype_name(x->dtype),
                       shape_text(&x->shape).text);
  if (w->shape.rank != 2 || r->shape.rank != 2)
    return expand_fail(e, "weights of the output gate have shapes %s and %s, wanted rank 2",
                       shape_text(&w->shape).text, shape_text(&r->shape).text);
  *s = (Sizes){.steps = x->shape.dim[a->time_major ? 0 : 1],
               .batch = x->shape.dim[a->time_major ? 1 : 0], .features = x->shape.dim[2],
               .cells = w->shape.dim[0], .outputs = r->shape.dim[1]};
  if (s->steps < 1 || s->steps > OP_MAX_OPERANDS)
    return expand_fail(e, "%d time steps, 1 to %d are supported", s->steps, OP_MAX_OPERANDS);
  return ST_OK;
}

static Status check_operands(Expand *e, const Sizes *s)
{
  const bool cifg = !expand_in(e, W + GATE_I);
  for (int gate = GATE_I; gate < GATES; ++gate) {
    if (gate == GATE_I && cifg) {
      if (expand_in(e, R) || expand_in(e, PEEPHOLE) || expand_in(e, BIAS))
        return expand_fail(e, "input 1 is absent, so inputs 5, 9 and 12 must be");
      continue;
    }
    TRY(need(e, R + gate));
    TRY(need(e, BIAS + gate));
    TRY(check(e, W + gate, 2, s->cells, s->features));
    TRY(check(e, R + gate, 2, s->cells, s->outputs));
    TRY(check(e, BIAS + gate, 1, s->cells, 0));
  }
  for (int i = 0; i < 3; ++i)
    TRY(check(e, PEEPHOLE + i, 1, s->cells, 0));
  if (!expand_in(e, PROJECTION) && (s->outputs != s->cells || expand_in(e, PROJECTION + 1)))
    return expand_fail(e, "input 16 is absent, and %s", s->outputs != s->cells
                       ? "recurrent weights are not square" : "input 17 is its bias");
  TRY(check(e, PROJECTION, 2, s->outputs, s->cells));
  TRY(check(e, PROJECTION + 1, 1, s->outputs, 0));
  TRY(check(e, STATE_H, 2, s->batch, s->outputs));
  TRY(check(e, STATE_C, 2, s->batch, s->cells));
  for (int i = NORM; i < expand_of(e)->n_in; ++i)
    if (expand_in(e, i))
      return expand_fail(e, "layer normalization (input %d) is not supported", i);
  return ST_OK;
}

// ---- the nodes ----

static int32_t unary(Expand *e, const char *name, int32_t a)
{
  return expand_node(e, name, 1, &a);
}

static int32_t binary(Expand *e, const char *name, int32_t a, int32_t b)
{
  return expand_node(e, name, 2, (int32_t[]){a, b});
}

// a or b where the other is absent (-1).
static int32_t sum(Expand *e, int32_t a, int32_t b)
{
  return a < 0 ? b : b < 0 ? a : binary(e, "ADD", a, b);
}

static int32_t clip(Expand *e, int32_t t, float limit)
{
  if (limit == 0)
    return t;
  return binary(e, "MINIMUM", binary(e, "MAXIMUM", t, expand_float(e, -limit)),
                expand_float(e, limit));
}

static int32_t activate(Expand *e, ActKind act, int32_t t)
{
  static const char *const name[] = {NULL, "RELU", "RELU_N1_TO_1", "RELU6", "TANH"};
  return act == ACT_NONE ? t : unary(e, name[act], t);
}

// x W^T + b of all time steps at once: [steps][batch, cells].
static void project_inputs(Expand *e, const Sizes *s, int gate, int32_t x, int32_t *step)
{
  const int32_t *in = expand_of(e)->in;
  int32_t rows = expand_node(e, "FULLY_CONNECTED", 3,
                             (int32_t[]){x, in[W + gate], in[BIAS + gate]});
  int32_t shape = expand_ints(e, 3, (int32_t[]){s->steps, s->batch, s->cells});
  expand_nodes(e, "UNPACK", 1, (int32_t[]){binary(e, "RESHAPE", rows, shape)}, s->steps, step);
}

// p of one gate; h or c of -1 is zero.
static int32_t gate_sum(Expand *e, int gate, int32_t x, int32_t h, int32_t c)
{
  // Peepholes are those of the gates i, f, o.
  static const int peephole[] = {PEEPHOLE, PEEPHOLE + 1, -1, PEEPHOLE + 2};
  const Node *n = expand_of(e);
  if (h >= 0)
    x = sum(e, x, expand_node(e, "FULLY_CONNECTED", 2, (int32_t[]){h, n->in[R + gate]}));
  if (c >= 0 && peephole[gate] >= 0 && n->in[peephole[gate]] >= 0)
    x = sum(e, x, binary(e, "MUL", c, n->in[peephole[gate]]));
  return x;
}

static int32_t initial(const Expand *e, int i)
{
  const Tensor *t = expand_in(e, i);
  return t && !t->variable ? expand_of(e)->in[i] : -1;
}

typedef struct {
  int32_t h, c;
} State;

static State run_step(Expand *e, const LstmAttr *a, const int32_t *x, State s)
{
  const Node *n = expand_of(e);
  int32_t f = unary(e, "LOGISTIC", gate_sum(e, GATE_F, x[GATE_F], s.h, s.c));
  int32_t i = n->in[W] >= 0 ? unary(e, "LOGISTIC", gate_sum(e, GATE_I, x[GATE_I], s.h, s.c))
                            : binary(e, "SUB", expand_float(e, 1), f);
  int32_t input = activate(e, a->act, gate_sum(e, GATE_C, x[GATE_C], s.h, -1));
  int32_t kept = s.c >= 0 ? binary(e, "MUL", f, s.c) : -1;
  State next = {.c = clip(e, sum(e, kept, binary(e, "MUL", i, input)), a->cell_clip)};
  int32_t o = unary(e, "LOGISTIC", gate_sum(e, GATE_O, x[GATE_O], s.h, next.c));
  next.h = binary(e, "MUL", o, activate(e, a->act, next.c));
  if (n->in[PROJECTION] >= 0) {
    int32_t in[] = {next.h, n->in[PROJECTION], n->in[PROJECTION + 1]};
    next.h = clip(e, expand_node(e, "FULLY_CONNECTED", in[2] >= 0 ? 3 : 2, in),
                  a->projection_clip);
  }
  return next;
}

static Status expand(Expand *e)
{
  const Node *n = expand_of(e);
  const LstmAttr *a = n->attr;
  Sizes s = {0};
  TRY(read_sizes(e, a, &s));
  TRY(check_operands(e, &s));
  int32_t swap = expand_ints(e, 3, (int32_t[]){1, 0, 2});
  int32_t x = a->time_major ? n->in[X] : binary(e, "TRANSPOSE", n->in[X], swap);
  int32_t gates[GATES][OP_MAX_OPERANDS], h[OP_MAX_OPERANDS];
  for (int gate = n->in[W] < 0 ? GATE_F : GATE_I; gate < GATES; ++gate)
    project_inputs(e, &s, gate, x, gates[gate]);
  State state = {initial(e, STATE_H), initial(e, STATE_C)};
  for (int t = 0; t < s.steps; ++t) {
    const int32_t now[GATES] = {n->in[W] < 0 ? -1 : gates[GATE_I][t], gates[GATE_F][t],
                                gates[GATE_C][t], gates[GATE_O][t]};
    state = run_step(e, a, now, state);
    h[t] = state.h;
  }
  if (a->time_major)
    expand_result(e, 0, "PACK", s.steps, h);
  else
    expand_result(e, 0, "TRANSPOSE", 2,
                  (int32_t[]){expand_node(e, "PACK", s.steps, h), swap});
  return ST_OK;
}

#define OPTIONAL                                                                                   \
  (1u << W | 1u << R | 7u << PEEPHOLE | 1u << BIAS | 3u << PROJECTION | 15u << NORM)

const OpDef lstm_ops[] = {
  {.name = "UNIDIRECTIONAL_SEQUENCE_LSTM", .code = 44, .options = 71, .min_in = 20, .max_in = 24,
   .n_out = 1, .optional = OPTIONAL, .params = 0x3fffeu, .states = 3u << STATE_H,
   .attr_bytes = sizeof(LstmAttr), .parse = parse, .expand = expand},
  END_OPS};

// One cell: weights 0.5, -0.25, 1, 0.75 of i, f, c, o, recurrent ones half of those, biases 0.1.
#define ONE(v) CONSTANT(F32, DIMS(1, 1), VALUES(v))
#define BIAS1 CONSTANT(F32, DIMS(1), VALUES(0.1))
#define WEIGHTS(I) I, ONE(-0.25), ONE(1), ONE(0.75)
#define RECURRENT(I) I, ONE(-0.125), ONE(0.5), ONE(0.375)
#define STATES CONSTANT(F32, DIMS(1, 1), VALUES(0.5)), CONSTANT(F32, DIMS(1, 1), VALUES(-0.5))
#define X3(...) TENSOR(F32, DIMS(__VA_ARGS__), VALUES(1, -0.5, 2))

const OpCase lstm_cases[] = {
  CASE("UNIDIRECTIONAL_SEQUENCE_LSTM", "batch first, tanh",
       IN(X3(1, 3, 1), WEIGHTS(ONE(0.5)), RECURRENT(ONE(0.25)), ABSENT, ABSENT, ABSENT, BIAS1,
          BIAS1, BIAS1, BIAS1, ABSENT, ABSENT, STATES),
       OUT(TENSOR(F32, DIMS(1, 3, 1), VALUES(0.25834767, 0.0334937262, 0.534417571))), OPTIONS(OPT_BYTE(0, 4))),
  CASE("UNIDIRECTIONAL_SEQUENCE_LSTM", "time first, CIFG, the cell clipped",
       IN(X3(3, 1, 1), WEIGHTS(ABSENT), RECURRENT(ABSENT), ABSENT, ABSENT, ABSENT, ABSENT,
          BIAS1, BIAS1, BIAS1, ABSENT, ABSENT, STATES),
       OUT(TENSOR(F32, DIMS(3, 1, 1), VALUES(0.187590693, 0.00419479918, 0.316208012))),
       OPTIONS(OPT_BYTE(0, 4), OPT_FLOAT(1, 0.4), OPT_BYTE(3, 1))),
  CASE("UNIDIRECTIONAL_SEQUENCE_LSTM", "refused: no step",
       IN(TENSOR(F32, DIMS(1, 0, 1)), WEIGHTS(ONE(0.5)), RECURRENT(ONE(0.25)), ABSENT, ABSENT,
          ABSENT, BIAS1, BIAS1, BIAS1, BIAS1, ABSENT, ABSENT, STATES),
       .refusal = "0 time steps"),
  END_CASES};
