// SPDX-License-Identifier: Apache-2.0
// Tensors of a model file and the bytes of its constants.
#include "base/mem.h"
#include "fb/circle_schema.h"
#include "format/model_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool spend(Loader *l, size_t bytes)
{
  if (bytes > l->budget)
    return false;
  l->budget -= bytes;
  return true;
}

static const char *const type_names[] = {
  "float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16", "complex64", "int8",
  "float64", "complex128", "uint64", "resource", "variant", "uint32", "uint16", "int4", "bfloat16",
};

static bool find_type(int8_t code, DType *type)
{
  static const struct {
    int8_t code;
    DType type;
  } rows[] = {{0, DT_F32}, {1, DT_F16}, {2, DT_I32},  {3, DT_U8}, {4, DT_I64},
              {6, DT_BOOL}, {7, DT_I16}, {9, DT_I8}, {15, DT_U32}};
  for (size_t i = 0; i < COUNT_OF(rows); ++i)
    if (rows[i].code == code) {
      *type = rows[i].type;
      return true;
    }
  return false;
}

typedef struct {
  char text[96];
} TensorText;

static TensorText tensor_text(uint32_t index, const char *name)
{
  TensorText t;
  snprintf(t.text, sizeof t.text, "tensor %u ('%.70s')", index, name);
  return t;
}

// What exporters write: `shape` has 1, sometimes 0 or -1, where `shape_signature` has -1.
static Status read_shape(Loader *l, FbTable table, const char *text, Tensor *t)
{
  FbVector shape = fb_vector(table, TENSOR_SHAPE);
  FbVector signature = fb_vector(table, TENSOR_SHAPE_SIGNATURE);
  if (signature.n == 0)
    signature = shape;
  if (shape.n == 0)
    shape = signature;
  if (shape.n != signature.n)
    return diag_fail(l->diag, ST_ERROR, "%s: its shape has rank %u, its shape signature rank %u",
                     text, shape.n, signature.n);
  if (shape.n > MAX_RANK)
    return diag_fail(l->diag, ST_ERROR, "%s: rank %u is not supported, at most %d is", text,
                     shape.n, MAX_RANK);
  t->shape.rank = t->declared.rank = (int32_t)shape.n;
  for (uint32_t i = 0; i < shape.n; ++i) {
    int32_t dim = fb_vec_i32(shape, i), declared = fb_vec_i32(signature, i);
    if (dim < -1 || declared < -1)
      return diag_fail(l->diag, ST_ERROR, "%s: dimension %u is %d", text, i,
                       dim < -1 ? dim : declared);
    if (declared >= 0 && dim >= 0 && dim != declared)
      return diag_fail(l->diag, ST_ERROR, "%s: dimension %u is %d, its shape signature says %d",
                       text, i, dim, declared);
    t->declared.dim[i] = declared;
    t->shape.dim[i] = declared >= 0 ? declared : dim > 0 ? dim : 1;
  }
  int64_t numel = 0;
  if (!shape_numel_checked(&t->shape, &numel) || numel > INT64_MAX / 16)
    return diag_fail(l->diag, ST_ERROR, "%s: shape %s has too many elements", text,
                     shape_text(&t->shape).text);
  t->has_declared = shape.n > 0 || fb_bool(table, TENSOR_HAS_RANK, false);
  return ST_OK;
}

static Status read_quantization(Loader *l, FbTable table, const char *text, Tensor *t)
{
  FbTable q = fb_table(table, TENSOR_QUANTIZATION);
  FbVector scale = fb_vector(q, QUANTIZATION_SCALE);
  FbVector zero = fb_vector(q, QUANTIZATION_ZERO_POINT);
  if (fb_u8(q, QUANTIZATION_DETAILS_TYPE, 0) != 0)
    return diag_fail(l->diag, ST_ERROR, "%s: custom, MX or blockwise quantization is not supported",
                     text);
  if (scale.n == 0 && zero.n == 0)
    return ST_OK;
  if (scale.n != zero.n)
    return diag_fail(l->diag, ST_ERROR, "%s: %u scales and %u zero points", text, scale.n, zero.n);
  int32_t axis = fb_i32(q, QUANTIZATION_DIMENSION, 0);
  // onert's own files leave the dimension out; it is the last one then.
  if (scale.n > 1 && !fb_has(q, QUANTIZATION_DIMENSION) && t->shape.rank > 1 &&
      (uint32_t)t->shape.dim[0] != scale.n)
    axis = t->shape.rank - 1;
  if (scale.n > 1 && (axis < 0 || axis >= t->shape.rank ||
                      (uint32_t)t->shape.dim[axis] != scale.n))
    return diag_fail(l->diag, ST_ERROR, "%s: %u scales for dimension %d of shape %s", text, scale.n,
                     axis, shape_text(&t->shape).text);
  if (!spend(l, (size_t)scale.n * 12))
    return diag_fail(l->diag, ST_ERROR, "%s: the file names the same scales too often", text);
  float *scales = arena_array(&l->m->arena, scale.n, sizeof *scales);
  int64_t *zeros = arena_array(&l->m->arena, zero.n, sizeof *zeros);
  if (!scales || !zeros)
    return diag_oom(l->diag);
  for (uint32_t i = 0; i < scale.n; ++i) {
    scales[i] = fb_vec_f32(scale, i);
    zeros[i] = fb_vec_i64(zero, i);
    if (!isfinite(scales[i]) || scales[i] < 0)
      return diag_fail(l->diag, ST_ERROR, "%s: scale %u is %g", text, i, (double)scales[i]);
    if (zeros[i] < INT32_MIN || zeros[i] > INT32_MAX || (t->dtype == DT_I16 && zeros[i] != 0))
      return diag_fail(l->diag, ST_ERROR, "%s: zero point %u is %lld", text, i,
                       (long long)zeros[i]);
  }
  t->quant = (Quant){(int32_t)scale.n, axis, scales, zeros};
  return ST_OK;
}

static Status refuse_unhonoured(Loader *l, FbTable table, const char *text)
{
  if (fb_has(table, TENSOR_SPARSITY))
    return diag_fail(l->diag, ST_ERROR, "%s: sparse tensors are not supported", text);
  if (l->m->tflite && fb_has(table, TENSOR_COMPRESSION))
    return diag_fail(l->diag, ST_ERROR, "%s: data in another file is not supported", text);
  if (fb_u8(table, TENSOR_COMPRESSION, 0) != 0)
    return diag_fail(l->diag, ST_ERROR, "%s: compressed data (type %u) is not supported", text,
                     fb_u8(table, TENSOR_COMPRESSION, 0));
  return ST_OK;
}

static Status place_constant(Loader *l, FbTable table, const char *text, Tensor *t, TensorPlace *p)
{
  p->buffer = fb_u32(table, TENSOR_BUFFER, 0);
  p->buffer_field_offset = fb_field_offset(table, TENSOR_BUFFER);
  FileSpan span;
  Diag inner = {0};
  if (model_buffer(l->m, p->buffer, &span, &inner) != ST_OK)
    return diag_fail(l->diag, ST_ERROR, "%s: %s", text, inner.text);
  if (span.bytes == 0)
    return ST_OK;
  size_t bytes = (size_t)shape_numel(&t->shape) * dtype_bytes(t->dtype);
  // Files of onert's own tests hold longer buffers than their tensors need; the rest is not read.
  if (span.bytes < bytes)
    return diag_fail(l->diag, ST_ERROR, "%s: %zu bytes of data, %s %s has %zu", text, span.bytes,
                     dtype_name(t->dtype), shape_text(&t->shape).text, bytes);
  if (t->variable)
    return diag_fail(l->diag, ST_ERROR, "%s: variables with data are not supported", text);
  if (!spend(l, bytes))
    return diag_fail(l->diag, ST_ERROR, "%s: the file names the same data too often", text);
  p->data_offset = span.at;
  p->data_bytes = bytes;
  t->kind = TK_CONST;
  t->has_declared = true;
  return ST_OK;
}

static Status load_tensor(Loader *l, FbTable table, uint32_t index)
{
  size_t length = 0;
  const char *name = fb_string(table, TENSOR_NAME, &length);
  if (!spend(l, length))
    return diag_fail(l->diag, ST_ERROR, "tensor %u: the file uses the same name too often", index);
  Tensor t = {.model_tensor = (int32_t)index, .producer = -1, .kind = TK_TEMP};
  t.name = arena_string(&l->m->arena, name, length);
  if (!t.name)
    return diag_oom(l->diag);
  TensorText text = tensor_text(index, t.name);
  int8_t code = fb_i8(table, TENSOR_TYPE, 0);
  if (!find_type(code, &t.dtype)) {
    bool known = code >= 0 && (size_t)code < COUNT_OF(type_names);
    return diag_fail(l->diag, ST_ERROR, "%s: element type %s (code %d) is not supported", text.text,
                     known ? type_names[code] : "unknown", code);
  }
  t.variable = fb_bool(table, TENSOR_IS_VARIABLE, false);
  TRY(refuse_unhonoured(l, table, text.text));
  TRY(read_shape(l, table, text.text, &t));
  TRY(read_quantization(l, table, text.text, &t));
  TRY(place_constant(l, table, text.text, &t, &l->m->place[index]));
  return graph_add_tensor(&l->m->graph, &t) < 0 ? diag_oom(l->diag) : ST_OK;
}

Status load_tensors(Loader *l)
{
  FbVector tensors = fb_vector(l->subgraph, SUBGRAPH_TENSORS);
  if (tensors.n > LOADER_MAX_TENSORS)
    return diag_fail(l->diag, ST_ERROR, "%u tensors, at most %d are supported", tensors.n,
                     LOADER_MAX_TENSORS);
  l->m->place = arena_array(&l->m->arena, tensors.n, sizeof *l->m->place);
  if (!l->m->place)
    return diag_oom(l->diag);
  l->m->graph.n_model_tensors = (int32_t)tensors.n;
  for (uint32_t i = 0; i < tensors.n; ++i)
    TRY(load_tensor(l, fb_vec_table(tensors, i), i));
  return ST_OK;
}

// Copies all constants into one block: the file aligns them to 4 bytes only, and they get trained.
Status load_constants(Loader *l)
{
  Graph *g = &l->m->graph;
  size_t total = 0;
  for (size_t i = 0; i < g->n_tensors; ++i)
    total += mem_align_up(l->m->place[i].data_bytes);
  l->m->constants = mem_alloc(total);
  if (!l->m->constants)
    return diag_oom(l->diag);
  uint8_t *to = l->m->constants;
  for (size_t i = 0; i < g->n_tensors; ++i) {
    const TensorPlace *p = &l->m->place[i];
    if (g->tensors[i].kind != TK_CONST)
      continue;
    memcpy(to, l->m->bytes + p->data_offset, p->data_bytes);
    g->tensors[i].data = to;
    for (size_t k = 0; g->tensors[i].dtype == DT_BOOL && k < p->data_bytes; ++k)
      to[k] = to[k] != 0;
    to += mem_align_up(p->data_bytes);
  }
  return ST_OK;
}
