// SPDX-License-Identifier: Apache-2.0
// From the bytes of a circle or TFLite file to a Graph. The structure is verified first
// (fb/reader.h); here every number of the file is checked before it is used, and what a field asks
// for but this library does not honour is refused, never ignored.
#include "format/model.h"

#include "base/mem.h"
#include "fb/circle_schema.h"
#include "format/model_parts.h"
#include "ops/op.h"

#include <ctype.h>
#include <string.h>

enum { MAX_SUBGRAPHS = 65536, MAX_OPERATORS = 200000 };

// A small file can name one big vector many times. What is copied out of it in all may be this many
// times its size.
enum { MAX_AMPLIFICATION = 16, AMPLIFICATION_FLOOR = 1 << 20 };

FbTable model_root(const Model *m)
{
  uint32_t at;
  memcpy(&at, m->bytes, sizeof at);
  return (FbTable){m->bytes, at};
}

Status model_buffer(const Model *m, uint32_t buffer, FileSpan *span, Diag *d)
{
  FbVector buffers = fb_vector(model_root(m), MODEL_BUFFERS);
  *span = (FileSpan){0, 0};
  if (buffer >= buffers.n)
    return diag_fail(d, ST_ERROR, "buffer %u does not exist, there are %u", buffer, buffers.n);
  FbTable b = fb_vec_table(buffers, buffer);
  FbVector data = fb_vector(b, BUFFER_DATA);
  uint64_t offset = fb_u64(b, BUFFER_OFFSET, 0), size = fb_u64(b, BUFFER_SIZE, 0);
  // Data of files above 2 GB stands behind the flatbuffer; offsets 0 and 1 mean "not so".
  if (data.n > 0)
    *span = (FileSpan){data.at, data.n};
  else if (offset > 1 && (offset > m->size || size > m->size - offset))
    return diag_fail(d, ST_ERROR,
                     "buffer %u: %llu bytes at offset %llu are not inside the file of %zu bytes",
                     buffer, (unsigned long long)size, (unsigned long long)offset, m->size);
  else if (offset > 1)
    *span = (FileSpan){(size_t)offset, (size_t)size};
  return ST_OK;
}

int32_t model_opcode(FbTable opcode)
{
  // Codes from 127 on do not fit the old field; negative ones stand in both.
  int32_t code = fb_i32(opcode, OPCODE_BUILTIN, 0);
  return code >= 127 ? code : fb_i8(opcode, OPCODE_DEPRECATED_BUILTIN, 0);
}

// ---- operators ----

static Status read_operands(Loader *l, FbVector v, const char *text, const char *what,
                            int32_t lowest, int32_t **list, int32_t *n)
{
  if (v.n > OP_MAX_OPERANDS)
    return diag_fail(l->diag, ST_ERROR, "%s: %u %ss, at most %d are supported", text, v.n, what,
                     OP_MAX_OPERANDS);
  *n = (int32_t)v.n;
  for (uint32_t i = 0; i < v.n; ++i) {
    (*list)[i] = fb_vec_i32(v, i);
    if ((*list)[i] < lowest || (*list)[i] >= l->m->graph.n_model_tensors)
      return diag_fail(l->diag, ST_ERROR, "%s: %s %u is tensor %d, there are %d", text, what, i,
                       (*list)[i], l->m->graph.n_model_tensors);
  }
  return ST_OK;
}

static Status check_arity(Loader *l, const Node *n, const char *text)
{
  const OpDef *op = n->op;
  if (n->n_in < op->min_in || (op->max_in != 255 && n->n_in > op->max_in)) {
    if (op->max_in == 255)
      return diag_fail(l->diag, ST_ERROR, "%s: %d inputs, at least %d are wanted", text, n->n_in,
                       op->min_in);
    return diag_fail(l->diag, ST_ERROR, "%s: %d inputs, %d to %d are wanted", text, n->n_in,
                     op->min_in, op->max_in);
  }
  if (n->n_out == 0 || (op->n_out && n->n_out != op->n_out))
    return diag_fail(l->diag, ST_ERROR, "%s: %d outputs, %d wanted", text, n->n_out,
                     op->n_out ? op->n_out : 1);
  for (int i = 0; i < n->n_in; ++i)
    if (n->in[i] < 0 && (i >= 32 || !(op->optional >> i & 1)))
      return diag_fail(l->diag, ST_ERROR, "%s: input %d is absent", text, i);
  return ST_OK;
}

// Options of another operator are a broken file, unless there is nothing in them.
static bool has_fields(uint8_t tag)
{
  for (const FbMember *m = fb_builtin_options; m->tag; ++m)
    if (m->tag == tag)
      return true;
  return false;
}

static Status parse_options(Loader *l, FbTable table, Node *n, const char *text)
{
  uint8_t tag = fb_u8(table, OPERATOR_OPTIONS_TYPE, 0);
  FbTable options = fb_table(table, OPERATOR_OPTIONS);
  if (tag != n->op->options && !has_fields(tag))
    options.at = 0;
  else if (tag != n->op->options)
    return diag_fail(l->diag, ST_ERROR, "%s: its options are of type %u, wanted %u", text, tag,
                     n->op->options);
  void *attr = arena_alloc(&l->m->arena, n->op->attr_bytes);
  if (!attr)
    return diag_oom(l->diag);
  n->attr = attr;
  int act = ACT_NONE;
  Diag inner = {0};
  if (n->op->parse) {
    Status s = n->op->parse(&options, attr, &act, &inner);
    if (s != ST_OK)
      return diag_fail(l->diag, s, "%s: %s", text, inner.text);
  }
  if (act < ACT_NONE || act > ACT_TANH)
    return diag_fail(l->diag, ST_ERROR, "%s: fused activation %d is not supported", text, act);
  if (act != ACT_NONE && !(n->op->flags & OP_FUSES_ACT))
    return diag_fail(l->diag, ST_ERROR, "%s: a fused activation is not supported here", text);
  n->act = (ActKind)act;
  return ST_OK;
}

static Status load_operator(Loader *l, FbTable table, uint32_t index)
{
  Graph *g = &l->m->graph;
  FbVector opcodes = fb_vector(l->root, MODEL_OPERATOR_CODES);
  uint32_t opcode = fb_u32(table, OPERATOR_OPCODE_INDEX, 0);
  int32_t in[OP_MAX_OPERANDS], out[OP_MAX_OPERANDS];
  Node n = {.acc = -1, .model_op = (int32_t)index, .in = in, .out = out};
  n.op = op_by_code(model_opcode(fb_vec_table(opcodes, opcode)));
  NodeText text = node_text(g, &n);
  FbVector outputs = fb_vector(table, OPERATOR_OUTPUTS), inputs = fb_vector(table, OPERATOR_INPUTS);
  TRY(read_operands(l, outputs, text.text, "output", 0, &n.out, &n.n_out));
  text = node_text(g, &n);
  TRY(read_operands(l, inputs, text.text, "input", -1, &n.in, &n.n_in));
  TRY(check_arity(l, &n, text.text));
  TRY(parse_options(l, table, &n, text.text));
  // A second producer, an operator that writes its own input and the like are found by
  // model_check_graph.
  return graph_add_node(g, &n) < 0 ? diag_oom(l->diag) : ST_OK;
}

static Status load_operators(Loader *l)
{
  FbVector operators = fb_vector(l->subgraph, SUBGRAPH_OPERATORS);
  l->m->graph.n_model_ops = (int32_t)operators.n;
  for (uint32_t i = 0; i < operators.n; ++i)
    TRY(load_operator(l, fb_vec_table(operators, i), i));
  return ST_OK;
}

// ---- the graph ----

static Status load_ends(Loader *l, int field, const char *what, int32_t **list, int32_t *n)
{
  FbVector v = fb_vector(l->subgraph, field);
  if (v.n > LOADER_MAX_TENSORS)
    return diag_fail(l->diag, ST_ERROR, "%u graph %ss, at most %d are supported", v.n, what,
                     LOADER_MAX_TENSORS);
  *list = arena_array(&l->m->arena, v.n, sizeof **list);
  if (!*list)
    return diag_oom(l->diag);
  *n = (int32_t)v.n;
  for (uint32_t i = 0; i < v.n; ++i) {
    int32_t t = fb_vec_i32(v, i);
    if (t < 0 || t >= l->m->graph.n_model_tensors)
      return diag_fail(l->diag, ST_ERROR, "graph %s %u is tensor %d, there are %d", what, i, t,
                       l->m->graph.n_model_tensors);
    (*list)[i] = t;
  }
  return ST_OK;
}

// A constant of shape [0] has no bytes, so that nothing but the lack of a producer tells it.
static void find_empty_constants(Graph *g, uint8_t *somewhere)
{
  for (size_t i = 0; i < g->n_tensors; ++i) {
    Tensor *t = &g->tensors[i];
    if (t->kind == TK_TEMP && t->producer < 0 && !t->variable && shape_known(&t->declared) &&
        shape_numel(&t->shape) == 0) {
      t->kind = TK_CONST;
      t->data = somewhere;
    }
  }
}

static Status load_graph(Loader *l)
{
  Graph *g = &l->m->graph;
  size_t length = 0;
  const char *name = fb_string(l->subgraph, SUBGRAPH_NAME, &length);
  g->arena = &l->m->arena;
  g->name = arena_string(g->arena, name, length);
  if (!g->name)
    return diag_oom(l->diag);
  TRY(model_check_supported(l->root, l->subgraph, l->diag));
  TRY(load_tensors(l));
  TRY(load_constants(l));
  TRY(load_ends(l, SUBGRAPH_INPUTS, "input", &g->inputs, &g->n_inputs));
  TRY(load_ends(l, SUBGRAPH_OUTPUTS, "output", &g->outputs, &g->n_outputs));
  for (int i = 0; i < g->n_inputs; ++i) {
    Tensor *t = &g->tensors[g->inputs[i]];
    if (t->kind != TK_TEMP)
      return diag_fail(l->diag, ST_ERROR, "graph input %d ('%.70s') %s", i, t->name,
                       t->kind == TK_INPUT ? "is listed twice" : "is a constant");
    t->kind = TK_INPUT;
  }
  TRY(load_operators(l));
  find_empty_constants(g, l->m->constants);
  return model_check_graph(g, l->diag);
}

// Flatbuffers may be built without an identifier, as those of onert's own tests are: a table stands
// in its place then, which is no text.
static Status verify(const Model *m, FbTable *root, Diag *d)
{
  // Only the flatbuffer part is verified: data behind 2 GB is reached through Buffer.offset.
  size_t size = m->size > INT32_MAX ? INT32_MAX : m->size;
  bool text = true;
  for (size_t i = 4; i < 8 && i < size; ++i)
    text = text && isalnum(m->bytes[i]);
  if (text)
    return fb_verify(m->bytes, size, m->tflite ? "TFL3" : "CIR0", &fb_Model, root, d);
  Diag inner = {0};
  if (fb_verify(m->bytes, size, NULL, &fb_Model, root, &inner) != ST_OK)
    return diag_fail(d, ST_ERROR, "no identifier CIR0 or TFL3 at offset 4; taken for circle: %s",
                     inner.text);
  return ST_OK;
}

static Status load_file(Model *m, Diag *d)
{
  Loader l = {.m = m, .diag = d};
  m->tflite = m->size >= 8 && memcmp(m->bytes + 4, "TFL3", 4) == 0;
  TRY(verify(m, &l.root, d));
  if (!mem_mul(m->size, MAX_AMPLIFICATION, &l.budget) ||
      !mem_add(l.budget, AMPLIFICATION_FLOOR, &l.budget))
    return diag_fail(d, ST_ERROR, "%zu bytes are too many", m->size);
  bool elsewhere = fb_has(l.root, MODEL_EXTERNAL_GROUPS) || fb_has(l.root, MODEL_EXTERNAL_BUFFERS);
  if (m->tflite && elsewhere)
    return diag_fail(d, ST_ERROR, "data in other files is not supported");
  FbVector subgraphs = fb_vector(l.root, MODEL_SUBGRAPHS);
  if (subgraphs.n == 0 || subgraphs.n > MAX_SUBGRAPHS)
    return diag_fail(d, ST_ERROR, "%u subgraphs, 1 to %d are wanted", subgraphs.n, MAX_SUBGRAPHS);
  m->n_subgraphs = (int32_t)subgraphs.n;
  l.subgraph = fb_vec_table(subgraphs, 0);
  FbVector operators = fb_vector(l.subgraph, SUBGRAPH_OPERATORS);
  if (operators.n > MAX_OPERATORS)
    return diag_fail(d, ST_ERROR, "%u operators, at most %d are supported", operators.n,
                     MAX_OPERATORS);
  TRY(load_graph(&l));
  return train_meta_read(m, d);
}

Status model_load(uint8_t *bytes, size_t size, const char *label, Model **out, Diag *d)
{
  *out = NULL;
  Model *m = mem_zalloc(sizeof *m);
  if (!m) {
    mem_free(bytes);
    return diag_oom(d);
  }
  m->bytes = bytes;
  m->size = size;
  Diag inner = {0};
  Status s = load_file(m, &inner);
  if (s == ST_OK) {
    *out = m;
    return ST_OK;
  }
  model_destroy(m);
  return s == ST_OOM ? diag_oom(d) : diag_fail(d, s, "%s: %s", label, inner.text);
}

void model_destroy(Model *m)
{
  if (!m)
    return;
  arena_drop(&m->arena);
  mem_free(m->bytes);
  mem_free(m->constants);
  mem_free(m);
}
