// SPDX-License-Identifier: Apache-2.0
// What the graph of a model file must satisfy beyond being well-formed operator by operator.
#include "fb/circle_schema.h"
#include "format/model_parts.h"
#include "ops/op.h"

#include <stdio.h>
#include <string.h>

// ---- unsupported operators ----

typedef struct {
  char text[800]; // leaves room for the file's name in Diag.text
  size_t used;
  unsigned found, shown;
} Report;

static void report(Report *r, const char *one)
{
  size_t length = strlen(one);
  r->found++;
  // The rest of the list is counted only.
  if (r->shown + 1 != r->found || r->used + length + 2 >= sizeof r->text)
    return;
  r->used += (size_t)snprintf(r->text + r->used, sizeof r->text - r->used, "%s%s",
                              r->shown ? ", " : "", one);
  r->shown++;
}

typedef struct {
  char text[200];
} OperatorText;

static OperatorText operator_text(uint32_t i, FbTable opcode, const char *output)
{
  enum { CUSTOM = 32 };
  OperatorText t;
  size_t length = 0;
  int32_t code = model_opcode(opcode);
  const char *name = op_code_name(code);
  if (code == CUSTOM)
    snprintf(t.text, sizeof t.text, "node %u (%s '%.70s', code '%.40s')", i, name, output,
             fb_string(opcode, OPCODE_CUSTOM, &length));
  else if (name)
    snprintf(t.text, sizeof t.text, "node %u (%s '%.70s')", i, name, output);
  else
    snprintf(t.text, sizeof t.text, "node %u (operator code %d '%.70s')", i, code, output);
  return t;
}

// Name of the first output, for messages; "" where there is none.
static const char *output_name(FbTable subgraph, FbTable operator)
{
  FbVector tensors = fb_vector(subgraph, SUBGRAPH_TENSORS);
  FbVector outputs = fb_vector(operator, OPERATOR_OUTPUTS);
  if (outputs.n == 0 || fb_vec_i32(outputs, 0) < 0 ||
      (uint32_t)fb_vec_i32(outputs, 0) >= tensors.n)
    return "";
  size_t length = 0;
  return fb_string(fb_vec_table(tensors, (uint32_t)fb_vec_i32(outputs, 0)), TENSOR_NAME, &length);
}

Status model_check_supported(FbTable root, FbTable subgraph, Diag *d)
{
  FbVector opcodes = fb_vector(root, MODEL_OPERATOR_CODES);
  FbVector operators = fb_vector(subgraph, SUBGRAPH_OPERATORS);
  Report r = {.text = ""};
  for (uint32_t i = 0; i < operators.n; ++i) {
    FbTable operator = fb_vec_table(operators, i);
    uint32_t index = fb_u32(operator, OPERATOR_OPCODE_INDEX, 0);
    if (index >= opcodes.n)
      return diag_fail(d, ST_ERROR, "node %u: operator code %u does not exist, there are %u", i,
                       index, opcodes.n);
    FbTable opcode = fb_vec_table(opcodes, index);
    if (!op_by_code(model_opcode(opcode)))
      report(&r, operator_text(i, opcode, output_name(subgraph, operator)).text);
  }
  if (r.found == 0)
    return ST_OK;
  if (r.shown < r.found)
    return diag_fail(d, ST_ERROR, "unsupported operators: %s and %u more", r.text,
                     r.found - r.shown);
  return diag_fail(d, ST_ERROR, "unsupported operators: %s", r.text);
}

// ---- definition and use ----

static Status check_uses(const Graph *g, const Node *n, const bool *defined, Diag *d)
{
  for (int i = 0; i < n->n_in; ++i) {
    if (n->in[i] < 0 || defined[n->in[i]])
      continue;
    const Tensor *t = &g->tensors[n->in[i]];
    if (t->variable && i < 32 && n->op->states >> i & 1)
      continue;
    if (t->producer < 0)
      return diag_fail(d, ST_ERROR,
                       "%s: input %d ('%.70s') is no constant, no graph input and made by no "
                       "operator",
                       node_text(g, n).text, i, t->name);
    return diag_fail(d, ST_ERROR, "%s: input %d ('%.70s') is made by a later operator, node %d",
                     node_text(g, n).text, i, t->name, g->nodes[t->producer].model_op);
  }
  return ST_OK;
}

static Status define_outputs(const Graph *g, const Node *n, bool *defined, Diag *d)
{
  for (int i = 0; i < n->n_out; ++i) {
    const Tensor *t = &g->tensors[n->out[i]];
    if (defined[n->out[i]])
      return diag_fail(d, ST_ERROR, "%s: output %d ('%.70s') is %s", node_text(g, n).text, i,
                       t->name,
                       t->kind == TK_CONST   ? "a constant"
                       : t->kind == TK_INPUT ? "a graph input"
                                             : "made by another operator too");
    defined[n->out[i]] = true;
  }
  return ST_OK;
}

// ---- types ----

// Operators whose output has the element type of their first `inputs` inputs.
static const struct {
  const char *name;
  int inputs;
} same_type[] = {
  {"ADD", 2},       {"SUB", 2},      {"MUL", 2},  {"DIV", 2},   {"CONV_2D", 1},
  {"RELU", 1},      {"RELU6", 1},    {"PAD", 1},  {"PADV2", 1}, {"DEPTHWISE_CONV_2D", 1},
  {"LOGISTIC", 1},  {"TANH", 1},     {"NEG", 1},  {"SLICE", 1}, {"RELU_N1_TO_1", 1},
  {"LEAKY_RELU", 1}, {"SOFTMAX", 1}, {"TRANSPOSE", 1},
};

static Status check_types(const Graph *g, const Node *n, Diag *d)
{
  size_t row = 0;
  while (row < COUNT_OF(same_type) && strcmp(n->op->name, same_type[row].name) != 0)
    ++row;
  if (row == COUNT_OF(same_type))
    return ST_OK;
  DType out = g->tensors[n->out[0]].dtype;
  for (int i = 0; i < same_type[row].inputs && i < n->n_in; ++i) {
    if (n->in[i] < 0 || g->tensors[n->in[i]].dtype == out)
      continue;
    return diag_fail(d, ST_ERROR, "%s: output 0 is %s, input %d is %s", node_text(g, n).text,
                     dtype_name(out), i, dtype_name(g->tensors[n->in[i]].dtype));
  }
  return ST_OK;
}

Status model_check_graph(const Graph *g, Diag *d)
{
  Arena scratch = {0};
  bool *defined = arena_array(&scratch, g->n_tensors, sizeof *defined);
  Status s = defined ? ST_OK : diag_oom(d);
  for (size_t i = 0; s == ST_OK && i < g->n_tensors; ++i)
    defined[i] = g->tensors[i].kind == TK_CONST || g->tensors[i].kind == TK_INPUT;
  for (size_t i = 0; s == ST_OK && i < g->n_nodes; ++i) {
    s = check_uses(g, &g->nodes[i], defined, d);
    if (s == ST_OK)
      s = define_outputs(g, &g->nodes[i], defined, d);
    if (s == ST_OK)
      s = check_types(g, &g->nodes[i], d);
  }
  for (int i = 0; s == ST_OK && i < g->n_outputs; ++i)
    if (!defined[g->outputs[i]])
      s = diag_fail(d, ST_ERROR, "graph output %d ('%.70s') is made by no operator", i,
                    g->tensors[g->outputs[i]].name);
  arena_drop(&scratch);
  return s;
}
