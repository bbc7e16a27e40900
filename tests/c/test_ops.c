// SPDX-License-Identifier: Apache-2.0
// Runs the cases that every operator family brings along (<family>_cases, ops/op.h).
//
// Each is computed and compared, refused where it should be; run with every choice of operands
// batched, three samples at once against three runs of one; and differentiated: numerically, and
// with every choice of operands constant, trained, or batched and trained.
//
//   test_ops [FOLDER [OPERATOR]]    FOLDER is not used; OPERATOR: only its cases
#include "check.h"
#include "opgraph.h"

#include "kernels/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAMILY(name) extern const OpCase name##_cases[];
#include "ops/ops.list"
#undef FAMILY
#define FAMILY(name) name##_cases,
static const OpCase *const families[] = {
#include "ops/ops.list"
};
#undef FAMILY

static const OpCase *current;

#define FAIL(...)                                                                                  \
  do {                                                                                             \
    printf("%s '%s': ", current->op, current->name);                                               \
    printf(__VA_ARGS__);                                                                           \
    printf("\n");                                                                                  \
    ++check_failures;                                                                              \
  } while (0)

// ---- comparing ----

static double load(DType type, const void *at, int64_t i)
{
  switch (type) {
  case DT_F32: return ((const float *)at)[i];
  case DT_I32: return ((const int32_t *)at)[i];
  case DT_I64: return (double)((const int64_t *)at)[i];
  case DT_I16: return ((const int16_t *)at)[i];
  case DT_I8: return ((const int8_t *)at)[i];
  case DT_U32: return ((const uint32_t *)at)[i];
  case DT_F16: return (double)half_to_float(((const uint16_t *)at)[i]);
  default: return ((const uint8_t *)at)[i];
  }
}

static bool close_to(double a, double b, double tolerance)
{
  return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static void compare(const char *what, DType type, const void *got, const void *wanted, int64_t n)
{
  for (int64_t i = 0; i < n; ++i) {
    double a = load(type, got, i), b = load(type, wanted, i);
    if (!close_to(a, b, type == DT_F32 ? 1e-5 : 0)) {
      FAIL("%s: element %lld is %.9g, wanted %.9g", what, (long long)i, a, b);
      return;
    }
  }
}

static void compare_expected(const char *what, const OpGraph *o, int32_t tensor,
                             const CaseTensor *wanted)
{
  const Tensor *t = &o->g.tensors[tensor];
  Shape shape = shape_of(wanted->rank, wanted->dim);
  if (t->dtype != wanted->type || !shape_equal(&t->shape, &shape)) {
    FAIL("%s: output is %s %s, wanted %s %s", what, dtype_name(t->dtype),
         shape_text(&t->shape).text, dtype_name(wanted->type), shape_text(&shape).text);
    return;
  }
  if (wanted->n && wanted->n != case_numel(wanted))
    FAIL("the case states %d values for shape %s", wanted->n, shape_text(&shape).text);
  const void *got = opgraph_at(o, tensor);
  for (int64_t i = 0; i < wanted->n; ++i)
    if (!close_to(load(t->dtype, got, i), wanted->value[i], t->dtype == DT_F32 ? 2e-6 : 0)) {
      FAIL("%s: element %lld is %.9g, wanted %.9g", what, (long long)i, load(t->dtype, got, i),
           wanted->value[i]);
      return;
    }
}

// ---- roles ----

// Operands that may be batched: all but axes, shapes and the like.
static int free_operands(const OpCase *c, int *operand)
{
  int n = 0;
  for (int i = 0; i < case_inputs(c); ++i)
    if (c->in[i].present && !c->in[i].constant)
      operand[n++] = i;
  return n;
}

// Digit k of `choice`, in the given base, picks the role of free operand k.
static void set_roles(const OpCase *c, int choice, const Role *roles, int base, Role *role)
{
  int operand[OP_INPUTS], n = free_operands(c, operand);
  for (int i = 0; i < OP_INPUTS; ++i)
    role[i] = c->in[i].present ? ROLE_CONST : ROLE_ABSENT;
  for (int k = 0; k < n; ++k, choice /= base) {
    Role r = roles[choice % base];
    if (c->in[operand[k]].type == DT_F32)
      role[operand[k]] = r;
    else if (r == ROLE_INPUT || r == ROLE_SCALED) // integers are batched or constant
      role[operand[k]] = ROLE_INPUT;
  }
}

static int power(int base, int n)
{
  int p = 1;
  while (n-- > 0)
    p *= base;
  return p;
}

// ---- forward ----

static void check_refusal(const OpCase *c)
{
  Arena arena = {0};
  OpData data;
  Diag d = {0};
  Role role[OP_INPUTS];
  Status s = opdata_make(c, &arena, &data, &d);
  if (s == ST_OK) {
    OpGraph o;
    set_roles(c, 1, (Role[]){ROLE_INPUT}, 1, role);
    s = opgraph_build(&o, c, &data, role, PLAIN);
    if (s == ST_OK)
      s = opgraph_program(&o, 1);
    d = o.diag;
    if (s != ST_OK && strncmp(d.text, "node 0 (", 8) != 0)
      FAIL("refused without the node's text: %s", d.text);
    opgraph_drop(&o);
  }
  if (s == ST_OK)
    FAIL("accepted, wanted a refusal with '%s'", c->refusal);
  else if (!strstr(d.text, c->refusal))
    FAIL("refused with '%s', wanted '%s' in it", d.text, c->refusal);
  arena_drop(&arena);
}

// One run of one sample with operands of these roles; compares with what the case expects.
static void run_expecting(const OpCase *c, const OpData *data, const Role *role, const char *what)
{
  OpGraph o;
  if (opgraph_build(&o, c, data, role, PLAIN) != ST_OK || opgraph_program(&o, 1) != ST_OK) {
    FAIL("%s: %s", what, o.diag.text);
  } else {
    opgraph_run(&o, 0, 0, o.g.n_nodes);
    bool effect = op_by_name(c->op)->flags & OP_EFFECT;
    for (int i = 0; i < case_outputs(c); ++i)
      if (c->out[i].present)
        compare_expected(what, &o, effect ? o.source[i] : o.y[i], &c->out[i]);
  }
  opgraph_drop(&o);
}

static void check_values(const OpCase *c, const OpData *data)
{
  Role role[OP_INPUTS];
  bool effect = op_by_name(c->op)->flags & OP_EFFECT;
  set_roles(c, 0, (Role[]){effect ? ROLE_PARAM : ROLE_INPUT}, 1, role);
  run_expecting(c, data, role, "run");
  if (op_by_name(c->op)->code == OP_NOT_IN_FILES)
    return;
  set_roles(c, 0, (Role[]){ROLE_CONST}, 1, role);
  run_expecting(c, data, role, "folded");
}

// ---- samples ----

static void compare_sample(const OpGraph *all, const OpGraph *one, int output, int sample)
{
  const Tensor *y = &all->g.tensors[all->y[output]];
  int64_t n = shape_numel(&y->shape);
  size_t at = (size_t)sample * (size_t)n * dtype_bytes(y->dtype);
  if (!y->batched)
    FAIL("samples: output %d does not depend on them", output);
  else
    compare("samples", y->dtype, (uint8_t *)opgraph_at(all, all->y[output]) + at,
            opgraph_at(one, one->y[output]), n);
}

// Three samples at once against three runs of one.
static void check_samples_with(const OpCase *c, const OpData *data, const Role *role)
{
  OpGraph one, all;
  Status s = opgraph_build(&one, c, data, role, PLAIN);
  s = s == ST_OK ? opgraph_program(&one, 1) : s;
  Status t = opgraph_build(&all, c, data, role, PLAIN);
  t = t == ST_OK ? opgraph_program(&all, OP_SAMPLES) : t;
  if (s != ST_OK || t != ST_OK) {
    FAIL("samples: %s", s != ST_OK ? one.diag.text : all.diag.text);
  } else {
    opgraph_run(&all, 0, 0, all.g.n_nodes);
    for (int i = 0; i < OP_SAMPLES; ++i) {
      opgraph_run(&one, i, 0, one.g.n_nodes);
      for (int k = 0; k < all.g.n_outputs; ++k)
        compare_sample(&all, &one, k, i);
    }
  }
  opgraph_drop(&one);
  opgraph_drop(&all);
}

// Of one operand that only lends its shape: the result does not depend on the samples.
static bool reads_nothing(const OpDef *op)
{
  return op->max_in == 1 && op->shape_only == 1;
}

static void check_samples(const OpCase *c, const OpData *data)
{
  int operand[OP_INPUTS], n = free_operands(c, operand);
  Role role[OP_INPUTS];
  const OpDef *op = op_by_name(c->op);
  if (op->code == OP_NOT_IN_FILES || reads_nothing(op))
    return;
  for (int choice = 1; choice < power(2, n); ++choice) {
    set_roles(c, choice, (Role[]){ROLE_CONST, ROLE_INPUT}, 2, role);
    check_samples_with(c, data, role);
    set_roles(c, choice, (Role[]){ROLE_CONST, ROLE_TEMP}, 2, role);
    bool any = false;
    for (int i = 0; i < OP_INPUTS; ++i)
      any = any || role[i] == ROLE_TEMP;
    if (any)
      check_samples_with(c, data, role);
  }
}

// ---- gradients ----

// Infinity and NaN are for values only: their differences say nothing.
static bool is_finite(const CaseTensor *t)
{
  for (int32_t i = 0; i < t->n; ++i)
    if (!isfinite(t->value[i]))
      return false;
  return true;
}

static bool differentiable(const OpCase *c)
{
  const OpDef *op = op_by_name(c->op);
  int operand[OP_INPUTS], n = free_operands(c, operand);
  bool any = false, has_loss = false;
  for (int k = 0; k < n; ++k)
    any = any || c->in[operand[k]].type == DT_F32;
  for (int i = 0; i < OP_OUTPUTS; ++i)
    has_loss = has_loss || (c->out[i].present && c->out[i].type == DT_F32);
  any = any && has_loss;
  for (int i = 0; i < OP_INPUTS; ++i)
    any = any && is_finite(&c->in[i]) && (i >= OP_OUTPUTS || is_finite(&c->out[i]));
  return any && op->grad && op->code != OP_NOT_IN_FILES && !reads_nothing(op);
}

// Gradient of operand i in a trained graph, or NULL.
static const float *gradient_of(const OpGraph *o, int i)
{
  for (size_t k = 0; k < o->r.n_trained; ++k)
    if (o->r.trained[k].param == o->source[i])
      return opgraph_at(o, o->r.trained[k].gradient);
  return NULL;
}

// The loss of sample 0, from the outputs, in double.
static double loss_of(OpGraph *o)
{
  double loss = 0;
  opgraph_run(o, 0, 0, o->r.n_forward);
  for (int k = 0; k < o->g.n_outputs; ++k) {
    int64_t n = shape_numel(&o->g.tensors[o->g.outputs[k]].shape);
    const float *y = opgraph_at(o, o->g.outputs[k]), *t = o->data->label[k];
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += ((double)y[i] - (double)t[i]) * ((double)y[i] - (double)t[i]);
    loss += sum / (double)n;
  }
  return loss;
}

static double slope(OpGraph *o, float *x, double h)
{
  float keep = *x;
  *x = (float)(keep + h);
  double up = *x, loss_up = loss_of(o);
  *x = (float)(keep - h);
  double down = *x, loss_down = loss_of(o);
  *x = keep;
  return (loss_up - loss_down) / (up - down);
}

// Central differences, extrapolated from two steps; elements where those disagree stand at a kink.
static void check_numerically(OpGraph *o, int i)
{
  enum { AT_MOST = 24 };
  const float *gradient = gradient_of(o, i);
  int64_t n = case_numel(&o->c->in[i]);
  float *x = o->g.tensors[o->source[i]].data;
  float *g = arena_copy(&o->arena, gradient, (size_t)n * sizeof *g);
  double largest = 0;
  int checked = 0, kinks = 0;
  for (int64_t k = 0; k < n; ++k)
    largest = fmax(largest, fabs((double)g[k]));
  for (int64_t e = 0; e < n && e < AT_MOST; ++e) {
    int64_t k = n <= AT_MOST ? e : rand() % n;
    double wide = slope(o, &x[k], 0.02), narrow = slope(o, &x[k], 0.01);
    if (fabs(wide - narrow) > 2.5e-3 * largest + 1e-4) {
      ++kinks;
      continue;
    }
    double wanted = (4 * narrow - wide) / 3;
    ++checked;
    if (!(fabs(wanted - (double)g[k]) <= 1e-3 * largest + 5e-5)) {
      FAIL("gradient of input %d, element %lld is %.7g, numerically %.7g (largest %.3g)", i,
           (long long)k, (double)g[k], wanted, largest);
      return;
    }
  }
  if (kinks > checked)
    FAIL("gradient of input %d: %d of %d elements stand at a kink", i, kinks, kinks + checked);
}

// Adds the gradients of one run to sum[i], the operands' places.
static void add_gradients(const OpGraph *o, double *const *sum)
{
  for (int i = 0; i < case_inputs(o->c); ++i) {
    const float *g = sum[i] ? gradient_of(o, i) : NULL;
    for (int64_t k = 0; g && k < case_numel(&o->c->in[i]); ++k)
      sum[i][k] += (double)g[k];
  }
}

static void compare_gradients(const char *what, const OpGraph *o, double *const *wanted)
{
  for (int i = 0; i < case_inputs(o->c); ++i) {
    const float *g = wanted[i] ? gradient_of(o, i) : NULL;
    int64_t n = g ? case_numel(&o->c->in[i]) : 0;
    double largest = 0;
    for (int64_t k = 0; k < n; ++k)
      largest = fmax(largest, fabs(wanted[i][k]));
    for (int64_t k = 0; k < n; ++k)
      if (!(fabs((double)g[k] - wanted[i][k]) <= 2e-5 * largest + 1e-7)) {
        FAIL("%s: gradient of input %d, element %lld is %.9g, wanted %.9g", what, i, (long long)k,
             (double)g[k], wanted[i][k]);
        return;
      }
  }
}

static void clear(const OpCase *c, Arena *arena, double **sum, const Role *role)
{
  for (int i = 0; i < OP_INPUTS; ++i) {
    bool trained = role[i] == ROLE_PARAM || role[i] == ROLE_SCALED;
    sum[i] = trained ? arena_array(arena, (size_t)case_numel(&c->in[i]), sizeof **sum) : NULL;
  }
}

static void run_all(OpGraph *o, int first)
{
  opgraph_run(o, first, 0, o->g.n_nodes);
}

// One choice of roles: sample 0 gives the gradients `base` (of all operands, whatever their roles),
// and three samples at once the sum of three runs.
static void check_roles(const OpCase *c, OpData *data, const Role *role, double *const *base)
{
  OpGraph one, all;
  Arena arena = {0};
  double *sum[OP_INPUTS];
  clear(c, &arena, sum, role);
  Status s = opgraph_build(&one, c, data, role, TRAINED);
  s = s == ST_OK ? opgraph_program(&one, 1) : s;
  Status t = opgraph_build(&all, c, data, role, TRAINED);
  t = t == ST_OK ? opgraph_program(&all, OP_SAMPLES) : t;
  if (s != ST_OK || t != ST_OK) {
    FAIL("gradient: %s", s != ST_OK ? one.diag.text : all.diag.text);
  } else {
    for (int i = 0; i < case_inputs(c); ++i)
      if (sum[i] && !gradient_of(&one, i) && shape_numel(&one.g.tensors[one.source[i]].shape))
        FAIL("input %d gets no gradient", i);
    for (int i = 0; i < OP_SAMPLES; ++i) {
      run_all(&one, i);
      if (i == 0)
        compare_gradients("other roles", &one, base);
      add_gradients(&one, sum);
    }
    run_all(&all, 0);
    compare_gradients("three samples", &all, sum);
  }
  opgraph_drop(&one);
  opgraph_drop(&all);
  arena_drop(&arena);
}

// Two operators that read the same operands add up what they give them; so does one whose result is
// taken twice.
static void check_pair(const OpCase *c, const OpData *data, const Role *role)
{
  OpGraph sum, pair;
  Arena arena = {0};
  double *wanted[OP_INPUTS];
  clear(c, &arena, wanted, role);
  Status s = opgraph_build(&sum, c, data, role, TRAINED_SUM);
  s = s == ST_OK ? opgraph_program(&sum, OP_SAMPLES) : s;
  Status t = opgraph_build(&pair, c, data, role, TRAINED_PAIR);
  t = t == ST_OK ? opgraph_program(&pair, OP_SAMPLES) : t;
  if (s != ST_OK || t != ST_OK) {
    FAIL("pair: %s", s != ST_OK ? sum.diag.text : pair.diag.text);
  } else {
    run_all(&sum, 0);
    add_gradients(&sum, wanted);
    run_all(&pair, 0);
    compare_gradients("pair", &pair, wanted);
  }
  opgraph_drop(&sum);
  opgraph_drop(&pair);
  arena_drop(&arena);
}

static void check_gradients_of(const OpCase *c, OpData *data, Arena *arena)
{
  static const Role roles[] = {ROLE_PARAM, ROLE_SCALED, ROLE_CONST};
  int operand[OP_INPUTS], n = free_operands(c, operand);
  double *base[OP_INPUTS];
  Role role[OP_INPUTS];
  OpGraph o;
  set_roles(c, 0, roles, 3, role);
  clear(c, arena, base, role);
  Status s = opgraph_build(&o, c, data, role, TRAINED);
  if (s != ST_OK) {
    // An output without elements can have no loss.
    if (!strstr(o.diag.text, "no element"))
      FAIL("gradient: %s", o.diag.text);
    opgraph_drop(&o);
    return;
  }
  for (int k = 0; k < o.g.n_outputs; ++k) {
    int64_t labels = OP_SAMPLES * shape_numel(&o.g.tensors[o.g.outputs[k]].shape);
    data->label[k] = arena_array(arena, (size_t)labels, sizeof **data->label);
    for (int64_t i = 0; i < labels; ++i)
      data->label[k][i] = (float)random_value(false);
  }
  if (opgraph_program(&o, 1) != ST_OK) {
    FAIL("gradient: %s", o.diag.text);
    opgraph_drop(&o);
    return;
  }
  run_all(&o, 0);
  add_gradients(&o, base);
  for (int k = 0; k < n && !c->no_numeric_grad; ++k)
    if (gradient_of(&o, operand[k])) {
      run_all(&o, 0);
      check_numerically(&o, operand[k]);
    }
  opgraph_drop(&o);
  // The last choice has everything constant.
  for (int choice = 0; choice < power(3, n) - 1; ++choice) {
    set_roles(c, choice, roles, 3, role);
    bool any = false;
    for (int i = 0; i < OP_INPUTS; ++i)
      any = any || role[i] == ROLE_PARAM || role[i] == ROLE_SCALED;
    if (any) {
      check_roles(c, data, role, base);
      check_pair(c, data, role);
    }
  }
}

// With a loss of every output, and of each one alone: the others get no gradient then.
static void check_gradients(const OpCase *c, OpData *data, Arena *arena)
{
  int n = case_outputs(c);
  for (data->only = -1; data->only < (n > 1 ? n : 0); ++data->only)
    if (data->only < 0 || c->out[data->only].type == DT_F32)
      check_gradients_of(c, data, arena);
}

static void check_case(const OpCase *c)
{
  current = c;
  unsigned seed = 5; // of its own for every case, whatever others there are
  for (const char *p = c->name; *p; ++p)
    seed = 31 * seed + (unsigned char)*p;
  srand(seed);
  if (!op_by_name(c->op)) {
    FAIL("no such operator");
    return;
  }
  if (c->refusal) {
    check_refusal(c);
    return;
  }
  Arena arena = {0};
  OpData data;
  Diag d = {0};
  if (opdata_make(c, &arena, &data, &d) != ST_OK) {
    FAIL("%s", d.text);
  } else {
    check_values(c, &data);
    check_samples(c, &data);
    if (differentiable(c))
      check_gradients(c, &data, &arena);
  }
  arena_drop(&arena);
}

// ---- completeness ----

static bool refuses_nothing(const OpDef *op)
{
  return op == op_by_name("CAST") || op == op_by_name("ZEROS_LIKE");
}

static void has_cases(const OpDef *op, void *user)
{
  int values = 0, refusals = refuses_nothing(op);
  (void)user;
  for (size_t f = 0; f < COUNT_OF(families); ++f)
    for (const OpCase *c = families[f]; c->op; ++c)
      if (strcmp(c->op, op->name) == 0) {
        refusals += c->refusal != NULL;
        values += !c->refusal && c->out[0].n > 0;
      }
  // Any tensor has a shape.
  bool refuses_nothing = reads_nothing(op) && op->attr_bytes == 0;
  if (op->code != OP_NOT_IN_FILES && (values < 2 || (refusals < 1 && !refuses_nothing))) {
    printf("%s has %d cases with values and %d refusals\n", op->name, values, refusals);
    ++check_failures;
  }
}

int main(int argc, char **argv)
{
  int n = 0;
  for (size_t f = 0; f < COUNT_OF(families); ++f)
    for (const OpCase *c = families[f]; c->op; ++c)
      if (argc < 3 || strcmp(argv[2], c->op) == 0) {
        check_case(c);
        ++n;
      }
  if (argc < 3)
    op_each(has_cases, NULL);
  printf("%d cases\n", n);
  return check_result();
}
