// SPDX-License-Identifier: Apache-2.0
// What an operator is. One file per family, ops/<family>.c, defines all about its operators as
// `const OpDef <family>_ops[]`: attributes, shapes, kernels, gradients, and `<family>_cases[]`,
// the data of their tests. ops.list names the families; nothing else is edited to add one.
#ifndef OPS_OP_H
#define OPS_OP_H

#include "base/pool.h"
#include "fb/reader.h"
#include "graph/graph.h"

enum { OP_NOT_IN_FILES = INT32_MIN, OP_MAX_OPERANDS = 1024 };

typedef enum {
  OP_FUSES_ACT = 1 << 0,   // attributes of the file hold a fused activation; the kernel applies it
  OP_ACCUMULATES = 1 << 1, // the kernel can add to output 0 (Call.accumulate)
  OP_INPLACE = 1 << 2,     // output 0 may be written over a dying input of the same size: element i
                           // of every operand of that size is read before element i is written
  OP_ALIAS = 1 << 3,       // output 0 is input 0 under another shape: no kernel, no memory
  OP_EFFECT = 1 << 4,      // kept although nobody reads its outputs (updates)
  OP_NO_FOLD = 1 << 5,     // not evaluated at compile time even where all inputs are constant
  OP_ADDS_APART = 1 << 6,  // with OP_ACCUMULATES: what is added may stand elsewhere (Call.add)
  OP_MASKS = 1 << 7,       // takes the result of a clamp as one more input at the end, Node.act being
                           // that clamp: output 0 is then multiplied by its derivative
  OP_READS_STORED = 1 << 8,  // takes quantized inputs as the integers they are, not as the reals
                             // they stand for; see compile/conversions.c
  OP_WRITES_STORED = 1 << 9, // the same of outputs
} OpFlags;

// ---- running ----

// Numbers of the current step that every kernel may need; written by train/ before each step.
typedef struct {
  float learning_rate;
  // Adam (Kingma & Ba 2015, with the bias corrections folded into alpha):
  // alpha = lr * sqrt(1 - beta2^t) / (1 - beta1^t)
  float alpha, beta1, beta2, epsilon;
} Hyper;

typedef struct {
  void *const *p;     // inputs, then outputs; NULL for an absent operand
  void *scratch;      // Bind.scratch bytes, aligned to 64
  bool accumulate;    // add to output 0 instead of overwriting it
  const void *add;    // OP_ADDS_APART: what to add to output 0, of its layout; NULL: nothing
  Pool *pool;
  const Hyper *hyper;
} Call;

typedef void (*KernelFn)(const void *args, const Call *call);

// ---- compiling ----

typedef struct {
  Graph *g;
  Node *node;
  Diag *diag;
} Infer;

// Input i, or NULL where it is absent.
const Tensor *infer_in(const Infer *f, int i);
// States output i. The sample flag is set to "some input is batched"; see infer_unbatched.
Status infer_out(Infer *f, int i, DType type, Shape shape) MUST_USE;
// Output i sums over samples: it is not batched although inputs are.
void infer_unbatched(Infer *f, int i);
// Reads the int32 or int64 constant in input i (a scalar counts as one value) into `values`, which
// has room for `room`. Refuses inputs that are not constant.
Status infer_ints(Infer *f, int i, int64_t *values, int room, int *n) MUST_USE;
// Refusals that begin with the node's text: "node 12 (CONV_2D 'x'): ".
Status infer_fail(const Infer *f, const char *format, ...) PRINTF_LIKE(2, 3) MUST_USE;
// Refuses unless input i is present, of that type (and, with rank >= 0, of that rank).
Status infer_expect(const Infer *f, int i, DType type, int rank) MUST_USE;
// Refuses unless inputs 0 and 1 are of one type and broadcast, to *out.
Status infer_operands(const Infer *f, Shape *out) MUST_USE;

typedef struct {
  const Graph *g;
  const Node *node;
  Diag *diag;
  Arena *arena;   // for args; lives as long as the kernel may run
  int32_t n;      // samples of one call: the step's batch where merged, else 1
  int32_t threads;
  bool constants_stay; // constants keep their bytes while the kernel may run: it may prepare them
  // results
  KernelFn run;
  const void *args;
  size_t scratch; // bytes
} Bind;

// Shape of operand i in one call: the tensor's shape, with dimension 0 multiplied by n where the
// tensor is batched (a batched tensor of rank 0 becomes [n]).
Shape bind_in(const Bind *b, int i);
Shape bind_out(const Bind *b, int i);
DType bind_type(const Bind *b, int i);
// Zeroed args in the arena; NULL when memory is short (then return diag_oom(b->diag)).
void *bind_args(Bind *b, size_t bytes);
// Memory that lives as long as the args, aligned to 64 bytes; NULL when memory is short.
void *bind_memory(Bind *b, size_t bytes);
// The bytes of input i where it is a constant that stays, else NULL.
const void *bind_constant(const Bind *b, int i);
Status bind_fail(const Bind *b, const char *format, ...) PRINTF_LIKE(2, 3) MUST_USE;

// ---- differentiating ----

// Appends backward nodes for one node. dy of an output is taken before the fused activation: the
// engine has already multiplied it by the activation's derivative.
typedef struct Grad Grad;

const Node *grad_of(const Grad *g);
const Tensor *grad_tensor(const Grad *g, int32_t t);
Graph *grad_graph(Grad *g);
// Gradient of output i, or -1 where nothing downstream depends on it.
int32_t grad_out(const Grad *g, int i);
// Whether input i needs a gradient.
bool grad_wants(const Grad *g, int i);
// Appends a node of the internal or file operator `op_name` and returns its output 0, or -1 on
// failure, which the engine reports: grad functions need not check (an operand of -1 that came
// from a failed call stops the following ones). attr has the operator's attr_bytes and is copied.
int32_t grad_node(Grad *g, const char *op_name, const void *attr, int n_in, const int32_t *in);
// The same for an operator with several outputs: out[n_out] receives them.
void grad_nodes(Grad *g, const char *op_name, const void *attr, int n_in, const int32_t *in,
                int n_out, int32_t *out);
// Hands in t as a contribution to the gradient of input i. It may be any tensor of that shape, also
// the incoming gradient itself; contributions are summed, and a batched contribution to an input
// that is not batched is summed over samples.
void grad_give(Grad *g, int i, int32_t t);
// The same with broadcasting undone first: sums over the axes that broadcasting had expanded.
void grad_give_reduced(Grad *g, int i, int32_t t);
// A refusal with the node's text.
Status grad_fail(Grad *g, const char *format, ...) PRINTF_LIKE(2, 3) MUST_USE;

// ---- expanding ----

// Appends nodes in place of one that is made up of other operators: after the infer pass it is gone,
// so that it needs neither kernels nor a gradient. Its inputs have their shapes by then.
typedef struct Expand Expand;

const Node *expand_of(const Expand *e);
// Input i, or NULL where it is absent.
const Tensor *expand_in(const Expand *e, int i);
// Appends a node and returns its output 0, or -1 on failure, which the engine reports; as with
// grad_node, an operand that came from a failed call stops the following ones. Its attributes are
// those of a missing options table. in[k] is -1 where an operand is absent.
int32_t expand_node(Expand *e, const char *op_name, int n_in, const int32_t *in);
// The same for an operator with several outputs.
void expand_nodes(Expand *e, const char *op_name, int n_in, const int32_t *in, int n_out,
                  int32_t *out);
// The same, the result being output i of the expanded node.
void expand_result(Expand *e, int i, const char *op_name, int n_in, const int32_t *in);
// Constants: a vector of int32, a float32 of rank 0.
int32_t expand_ints(Expand *e, int n, const int32_t *values);
int32_t expand_float(Expand *e, float value);
// A refusal with the node's text.
Status expand_fail(Expand *e, const char *format, ...) PRINTF_LIKE(2, 3) MUST_USE;

// ---- the definition ----

struct OpDef {
  const char *name;
  int32_t code;         // builtin operator code of model files, or OP_NOT_IN_FILES
  uint8_t options;      // union tag of its options table in the file; 0 has none
  uint8_t min_in, max_in, n_out; // arity; max_in 255 and n_out 0 mean any number
  uint32_t flags;
  uint32_t optional;    // bit i: input i may be -1
  uint32_t shape_only;  // bit i: input i lends its shape, its bytes are not read
  uint32_t params;      // bit i: a float constant in input i is a parameter (weights, bias)
  uint32_t states;      // bit i: input i may be a variable of the model
  size_t attr_bytes;
  // Reads and range-checks attributes. `options` may be an absent table: every field is then its
  // default. `act` receives the fused activation's code, checked by the caller.
  Status (*parse)(const FbTable *options, void *attr, int *act, Diag *diag);
  // Shapes and types of the outputs, or a refusal with its reason.
  Status (*infer)(Infer *f);
  // Not NULL: the operator is made up of others; infer, merge, bind and grad are NULL then.
  Status (*expand)(Expand *e);
  // True where N samples may run as one call with dimension 0 multiplied by N in every batched
  // operand. NULL: never.
  bool (*merge)(const Graph *g, const Node *node);
  Status (*bind)(Bind *b);
  // NULL: no gradient. Then `no_grad` says why.
  Status (*grad)(Grad *g);
  const char *no_grad;
};

#define END_OPS                                                                                    \
  {                                                                                                \
    .name = 0                                                                                      \
  }

const OpDef *op_by_name(const char *name); // must exist
const OpDef *op_by_code(int32_t code);     // NULL: unsupported
// All definitions: calls visit for each.
void op_each(void (*visit)(const OpDef *op, void *user), void *user);
// Name of a builtin code, supported or not, for messages; NULL for a code no schema knows.
const char *op_code_name(int32_t code);

// "node 12 (CONV_2D 'block1/conv')" for messages: the name is that of the first output.
typedef struct {
  char text[160];
} NodeText;
NodeText node_text(const Graph *g, const Node *n);

// Usual answers for OpDef.merge.
// Element-wise over operands of one size: all batched operands have the output's shape, all others
// broadcast without touching dimension 0.
bool merge_elementwise(const Graph *g, const Node *n);
// Rows: dimension 0 is outer in input 0 and output 0, other inputs are not batched.
bool merge_outer(const Graph *g, const Node *n);
// Always, e.g. for copies.
bool merge_always(const Graph *g, const Node *n);

// ---- test data, see tests/c/test_ops.c; dropped from the library by the linker ----

typedef struct {
  DType type;
  int32_t rank;
  int32_t dim[MAX_RANK];
  int32_t n;             // values given; 0: the tester fills in random ones
  const double *value;
  bool constant;         // axes, paddings, shapes: not an activation
  bool present;
  bool absent;           // an operand that is counted but left out: index -1
  Quant quant;
} CaseTensor;

typedef enum { CASE_BYTE, CASE_INT, CASE_FLOAT, CASE_INTS } CaseOptionKind;

typedef struct {
  int32_t field;         // its number in the options table
  CaseOptionKind kind;
  double value;
  int32_t n;             // CASE_INTS: a vector
  const int32_t *ints;
} CaseOption;

typedef struct {
  const char *op, *name;
  CaseTensor in[20];
  // Expected; n = 0 checks shape and type only. For an operator without outputs: what in[i] holds
  // afterwards.
  CaseTensor out[4];
  const void *attr;          // the operator's attribute struct; NULL: `options` are parsed
  const CaseOption *options; // NULL: no options table
  int32_t n_options;
  ActKind act;
  const char *refusal;       // not NULL: parse, infer or bind must refuse with a text that has this
  bool no_numeric_grad;      // a kink is where the values are
} OpCase;

#define CASE_COUNT(type, ...) (int32_t)(sizeof((const type[]){__VA_ARGS__}) / sizeof(type))
#define DIMS(...) .rank = CASE_COUNT(int32_t, __VA_ARGS__), .dim = {__VA_ARGS__}
#define VALUES(...) .n = CASE_COUNT(double, __VA_ARGS__), .value = (const double[]){__VA_ARGS__}
// TENSOR(F32, DIMS(2,1), VALUES(1, 2)), where VALUES may be missing
#define TENSOR(TYPE, ...)                                                                          \
  {                                                                                                \
    .type = DT_##TYPE, .present = true, __VA_ARGS__                                                \
  }
#define RANDOM(...) TENSOR(F32, DIMS(__VA_ARGS__))
#define CONSTANT(TYPE, ...) TENSOR(TYPE, .constant = true, __VA_ARGS__)
#define INTS(...)                                                                                  \
  CONSTANT(I32, .rank = 1, .dim = {CASE_COUNT(double, __VA_ARGS__)}, VALUES(__VA_ARGS__))
#define ABSENT                                                                                     \
  {                                                                                                \
    .absent = true                                                                                 \
  }
#define ATTR(TYPE, ...) .attr = &(const TYPE) { __VA_ARGS__ }
// TENSOR(I8, DIMS(2), SCALED(0.5f, 3)): one scale, one zero point. CHANNELS(AXIS, N, SCALES, ZEROS)
#define SCALED(SCALE, ZERO) CHANNELS(0, 1, L(SCALE), L(ZERO))
#define L(...) {__VA_ARGS__}
#define CHANNELS(AXIS, N, SCALES, ZEROS)                                                           \
  .quant = {N, AXIS, (const float[])SCALES, (const int64_t[])ZEROS}
// OPTIONS(OPT_BYTE(0, 1), OPT_INT(3, 2)): field 0 is a byte of 1, field 3 an int of 2.
#define OPT_BYTE(number, v) {.field = number, .kind = CASE_BYTE, .value = v}
#define OPT_INT(number, v) {.field = number, .kind = CASE_INT, .value = v}
#define OPT_FLOAT(number, v) {.field = number, .kind = CASE_FLOAT, .value = v}
#define OPT_INTS(number, ...)                                                                      \
  {                                                                                                \
    .field = number, .kind = CASE_INTS, .n = CASE_COUNT(int32_t, __VA_ARGS__),                     \
    .ints = (const int32_t[]) { __VA_ARGS__ }                                                      \
  }
#define OPTIONS(...)                                                                               \
  .n_options = CASE_COUNT(CaseOption, __VA_ARGS__), .options = (const CaseOption[])                \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }
#define IN(...) .in = {__VA_ARGS__}
#define OUT(...) .out = {__VA_ARGS__}
// CASE("ADD", "what it shows", IN(RANDOM(2, 3), RANDOM(3)), OUT(RANDOM(2, 3)), .act = ACT_RELU)
#define CASE(OPERATOR, TITLE, ...)                                                                 \
  {                                                                                                \
    .op = OPERATOR, .name = TITLE, __VA_ARGS__                                                     \
  }
#define END_CASES                                                                                  \
  {                                                                                                \
    .op = 0                                                                                        \
  }

#endif
