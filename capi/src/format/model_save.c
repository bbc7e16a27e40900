// SPDX-License-Identifier: Apache-2.0
// A trained model is the old file with new bytes where its constants stand. What does not fit there
// (data of tensors that shared a buffer and no longer agree, training information) goes into a new
// block in front, with a new header and Model table: all offsets of a flatbuffer are relative and
// point forward, so the new vectors can point into the old bytes, which stay as they are.
//
//   old:  [ header Model | ... ]        new:  [ header Model buffers metadata data | old bytes ]
#include "base/file.h"
#include "base/mem.h"
#include "fb/circle_schema.h"
#include "fb/writer.h"
#include "format/model_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

// Bytes that replace those of the old file at `at`.
typedef struct {
  size_t at, size;
  const void *bytes;
} Patch;

// Somebody who reads the data at `at`.
typedef struct {
  size_t at;
  int32_t tensor; // of subgraph 0, or -1: a reader that cannot be given other data
} User;

// An offset in the new block to a place in the old bytes.
typedef struct {
  size_t from, old;
} Link;

typedef struct {
  const Model *m;
  const void *const *values;
  const char *path;
  const char *identifier;
  Diag *diag;
  Arena arena;
  Patch *patches;
  size_t n_patches, cap_patches;
  User *users;
  size_t n_users, cap_users;
  int32_t *moved; // tensors that get a new buffer
  size_t n_moved, cap_moved;
  FbWriter front;
  Link *links;
  size_t n_links, cap_links;
} Save;

// Room for one more element of the array `list`, or a return with "out of memory".
#define RESERVE(s, list, n, cap)                                                                   \
  do {                                                                                             \
    void *reserved_ = arena_reserve(&(s)->arena, (s)->list, (s)->n, &(s)->cap, sizeof *(s)->list); \
    if (!reserved_)                                                                                \
      return diag_oom((s)->diag);                                                                  \
    (s)->list = reserved_;                                                                         \
  } while (0)

static Status add_patch(Save *s, size_t at, const void *bytes, size_t size)
{
  RESERVE(s, patches, n_patches, cap_patches);
  s->patches[s->n_patches++] = (Patch){at, size, bytes};
  return ST_OK;
}

// The same with bytes that the patch keeps a copy of.
static Status add_number(Save *s, size_t at, const void *number, size_t size)
{
  const void *copy = arena_copy(&s->arena, number, size);
  return copy ? add_patch(s, at, copy, size) : diag_oom(s->diag);
}

static Status add_user(Save *s, size_t at, int32_t tensor)
{
  RESERVE(s, users, n_users, cap_users);
  s->users[s->n_users++] = (User){at, tensor};
  return ST_OK;
}

static Status add_link(Save *s, size_t from, size_t old)
{
  RESERVE(s, links, n_links, cap_links);
  s->links[s->n_links++] = (Link){from, old};
  return ST_OK;
}

// ---- constants ----

static const void *old_bytes(const Save *s, int32_t t)
{
  return s->m->bytes + s->m->place[t].data_offset;
}

static const void *new_bytes(const Save *s, int32_t t)
{
  return s->values && s->values[t] ? s->values[t] : old_bytes(s, t);
}

static bool agree(const Save *s, int32_t t, const void *bytes)
{
  return memcmp(new_bytes(s, t), bytes, s->m->place[t].data_bytes) == 0;
}

static Status add_fixed_user(Save *s, uint32_t buffer)
{
  FileSpan span;
  // Other subgraphs are not checked as the main one is; a buffer that does not exist has no data.
  if (model_buffer(s->m, buffer, &span, NULL) != ST_OK || span.bytes == 0)
    return ST_OK;
  return add_user(s, span.at, -1);
}

static Status collect_users(Save *s)
{
  FbTable root = model_root(s->m);
  for (int32_t t = 0; t < s->m->graph.n_model_tensors; ++t)
    if (s->m->place[t].data_bytes)
      TRY(add_user(s, s->m->place[t].data_offset, t));
  FbVector subgraphs = fb_vector(root, MODEL_SUBGRAPHS);
  for (uint32_t i = 1; i < subgraphs.n; ++i) {
    FbVector tensors = fb_vector(fb_vec_table(subgraphs, i), SUBGRAPH_TENSORS);
    for (uint32_t k = 0; k < tensors.n; ++k)
      TRY(add_fixed_user(s, fb_u32(fb_vec_table(tensors, k), TENSOR_BUFFER, 0)));
  }
  FbVector metadata = fb_vector(root, MODEL_METADATA);
  for (uint32_t i = 0; i < metadata.n; ++i)
    TRY(add_fixed_user(s, fb_u32(fb_vec_table(metadata, i), METADATA_BUFFER, 0)));
  return ST_OK;
}

static int compare_users(const void *a, const void *b)
{
  const User *x = a, *y = b;
  if (x->at != y->at)
    return x->at < y->at ? -1 : 1;
  return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

// Users [from, to) read the same data: they are patched where they stand if they still agree.
static Status place_data(Save *s, size_t from, size_t to)
{
  const User *u = s->users;
  bool same = u[from].tensor >= 0; // fixed users stand first
  for (size_t i = from + 1; same && i < to; ++i)
    same = s->m->place[u[i].tensor].data_bytes == s->m->place[u[from].tensor].data_bytes &&
           agree(s, u[i].tensor, new_bytes(s, u[from].tensor));
  if (same) {
    int32_t t = u[from].tensor;
    if (agree(s, t, old_bytes(s, t)))
      return ST_OK;
    return add_patch(s, s->m->place[t].data_offset, new_bytes(s, t), s->m->place[t].data_bytes);
  }
  for (size_t i = from; i < to; ++i) {
    if (u[i].tensor < 0 || agree(s, u[i].tensor, old_bytes(s, u[i].tensor)))
      continue;
    RESERVE(s, moved, n_moved, cap_moved);
    s->moved[s->n_moved++] = u[i].tensor;
  }
  return ST_OK;
}

static Status place_constants(Save *s)
{
  TRY(collect_users(s));
  if (s->n_users)
    qsort(s->users, s->n_users, sizeof *s->users, compare_users);
  for (size_t from = 0, to = 0; from < s->n_users; from = to) {
    while (to < s->n_users && s->users[to].at == s->users[from].at)
      ++to;
    TRY(place_data(s, from, to));
  }
  return ST_OK;
}

// ---- the block in front ----

// Position of the table or vector that an offset field points to; 0 where the field is absent.
static size_t target(FbTable t, int field)
{
  return fb_table(t, field).at;
}

static Status write_model_table(Save *s, bool with_metadata, size_t *table)
{
  FbTable root = model_root(s->m);
  uint32_t version = fb_u32(root, MODEL_VERSION, 0);
  FbSlot slots[MODEL_SIGNATURES + 1];
  size_t n = 0;
  slots[n++] = (FbSlot){MODEL_VERSION, 4, &version};
  for (int f = MODEL_OPERATOR_CODES; f <= MODEL_SIGNATURES; ++f)
    if (fb_has(root, f) || f == MODEL_BUFFERS || (f == MODEL_METADATA && with_metadata))
      slots[n++] = (FbSlot){(uint8_t)f, 4, NULL};
  *table = fb_write_table(&s->front, slots, n);
  for (int f = MODEL_OPERATOR_CODES; f <= MODEL_SIGNATURES; ++f)
    if (fb_has(root, f) && f != MODEL_BUFFERS && f != MODEL_METADATA)
      TRY(add_link(s, fb_written_field(&s->front, *table, f), target(root, f)));
  return ST_OK;
}

// Copies an old vector of tables with room for `added` more, and says where those begin.
static Status extend_vector(Save *s, size_t model, int field, uint32_t added, size_t *first_added)
{
  FbVector old = fb_vector(model_root(s->m), field);
  size_t at = fb_write_vector(&s->front, NULL, (size_t)old.n + added, 4) + 4;
  fb_point(&s->front, fb_written_field(&s->front, model, field), at - 4);
  for (uint32_t i = 0; i < old.n; ++i)
    TRY(add_link(s, at + 4 * (size_t)i, fb_vec_table(old, i).at));
  *first_added = at + 4 * (size_t)old.n;
  return ST_OK;
}

static void write_buffer(Save *s, size_t element, const void *bytes, size_t size)
{
  size_t table = fb_write_table(&s->front, (FbSlot[]){{BUFFER_DATA, 4, NULL}}, 1);
  fb_point(&s->front, element, table);
  fb_point(&s->front, fb_written_field(&s->front, table, BUFFER_DATA),
           fb_write_vector(&s->front, bytes, size, 1));
}

static Status write_metadata(Save *s, size_t model, uint32_t buffer)
{
  int32_t old = train_meta_find(s->m);
  size_t element = 0;
  TRY(extend_vector(s, model, MODEL_METADATA, old < 0, &element));
  if (old >= 0) {
    // The old entry's link is taken back, its place in the vector is the new entry's.
    uint32_t n = fb_vector(model_root(s->m), MODEL_METADATA).n;
    Link *links = s->links + s->n_links - n;
    element = links[old].from;
    links[old] = s->links[--s->n_links];
  }
  size_t table = fb_write_table(
    &s->front, (FbSlot[]){{METADATA_NAME, 4, NULL}, {METADATA_BUFFER, 4, &buffer}}, 2);
  fb_point(&s->front, element, table);
  fb_point(&s->front, fb_written_field(&s->front, table, METADATA_NAME),
           fb_write_vector(&s->front, TRAIN_METADATA, strlen(TRAIN_METADATA), 1));
  return ST_OK;
}

// Places counted from the start of the file move by the size of the block in front.
static Status shift_places(Save *s, FbTable table, int field, size_t by, uint64_t *lowest)
{
  uint64_t place = fb_u64(table, field, 0);
  if (place <= 1)
    return ST_OK;
  if (place < *lowest)
    *lowest = place;
  place += by;
  return add_number(s, fb_field_offset(table, field), &place, sizeof place);
}

static Status shift_all_places(Save *s, size_t by, uint64_t *lowest)
{
  FbVector buffers = fb_vector(model_root(s->m), MODEL_BUFFERS);
  for (uint32_t i = 0; i < buffers.n; ++i)
    TRY(shift_places(s, fb_vec_table(buffers, i), BUFFER_OFFSET, by, lowest));
  FbVector subgraphs = fb_vector(model_root(s->m), MODEL_SUBGRAPHS);
  for (uint32_t i = 0; i < subgraphs.n; ++i) {
    FbVector operators = fb_vector(fb_vec_table(subgraphs, i), SUBGRAPH_OPERATORS);
    for (uint32_t k = 0; k < operators.n; ++k)
      TRY(shift_places(s, fb_vec_table(operators, k), OPERATOR_LARGE_OPTIONS_OFFSET, by, lowest));
  }
  return ST_OK;
}

static Status write_front(Save *s, const TrainMeta *train)
{
  uint32_t n_buffers = fb_vector(model_root(s->m), MODEL_BUFFERS).n;
  uint32_t added = (uint32_t)s->n_moved + (train != NULL);
  size_t model = 0, element = 0;
  s->front.arena = &s->arena;
  fb_write_header(&s->front, s->identifier);
  TRY(write_model_table(s, train != NULL, &model));
  fb_point(&s->front, 0, model);
  TRY(extend_vector(s, model, MODEL_BUFFERS, added, &element));
  for (size_t i = 0; i < s->n_moved; ++i) {
    int32_t t = s->moved[i];
    uint32_t buffer = n_buffers + (uint32_t)i;
    if (s->m->place[t].buffer_field_offset == 0)
      return diag_fail(s->diag, ST_ERROR,
                       "'%s': tensor %d ('%.70s') shares buffer 0 with others, it cannot be given "
                       "data of its own",
                       s->path, t, s->m->graph.tensors[t].name);
    TRY(add_number(s, s->m->place[t].buffer_field_offset, &buffer, sizeof buffer));
    write_buffer(s, element + 4 * i, new_bytes(s, t), s->m->place[t].data_bytes);
  }
  if (train) {
    const uint8_t *blob = NULL;
    size_t size = 0;
    TRY(train_meta_write(train, &s->arena, &blob, &size, s->diag));
    write_buffer(s, element + 4 * s->n_moved, blob, size);
    TRY(write_metadata(s, model, n_buffers + added - 1));
  } else if (fb_has(model_root(s->m), MODEL_METADATA)) {
    TRY(add_link(s, fb_written_field(&s->front, model, MODEL_METADATA),
                 target(model_root(s->m), MODEL_METADATA)));
  }
  // Every alignment in the old bytes stays what it was.
  fb_write_align(&s->front, 16);
  uint64_t end = s->m->size;
  TRY(shift_all_places(s, s->front.size, &end));
  // Where data begins behind 2 GB, the flatbuffer has ended long before.
  if (end <= INT32_MAX && end + s->front.size > INT32_MAX)
    return diag_fail(s->diag, ST_ERROR,
                     "'%s': the model would become bigger than the 2 GB a file can have", s->path);
  for (size_t i = 0; i < s->n_links; ++i)
    fb_point(&s->front, s->links[i].from, s->front.size + s->links[i].old);
  return s->front.failed ? diag_oom(s->diag) : ST_OK;
}

// ---- the file ----

static int compare_patches(const void *a, const void *b)
{
  const Patch *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

static Status write_file(Save *s)
{
  FilePart *parts = arena_array(&s->arena, 2 * s->n_patches + 2, sizeof *parts);
  if (!parts)
    return diag_oom(s->diag);
  size_t n = 0, done = 0;
  if (s->n_patches)
    qsort(s->patches, s->n_patches, sizeof *s->patches, compare_patches);
  parts[n++] = (FilePart){s->front.bytes, s->front.size};
  for (size_t i = 0; i < s->n_patches; ++i) {
    const Patch *p = &s->patches[i];
    if (p->at < done)
      return diag_fail(s->diag, ST_ERROR,
                       "'%s': the model file uses the bytes at offset %zu for two things", s->path,
                       p->at);
    parts[n++] = (FilePart){s->m->bytes + done, p->at - done};
    parts[n++] = (FilePart){p->bytes, p->size};
    done = p->at + p->size;
  }
  parts[n++] = (FilePart){s->m->bytes + done, s->m->size - done};
  return file_replace(s->path, parts, n, s->diag);
}

static Status save(Save *s, const TrainMeta *train)
{
  // A file without an identifier has something else in its place and gets a new header.
  const uint8_t *old = s->m->bytes + 4;
  bool named = memcmp(old, "CIR0", 4) == 0 || memcmp(old, "TFL3", 4) == 0;
  TRY(place_constants(s));
  if (s->n_moved || train || !named)
    TRY(write_front(s, train));
  else
    TRY(add_patch(s, 4, s->identifier, 4));
  return write_file(s);
}

Status model_save(const Model *m, const void *const *values, const TrainMeta *train,
                  const char *path, Diag *d)
{
  const char *dot = strrchr(path, '.');
  bool tflite = m->tflite && dot && strcasecmp(dot, ".tflite") == 0;
  Save s = {.m = m, .values = values, .path = path, .diag = d};
  s.identifier = tflite ? "TFL3" : "CIR0";
  Status status = save(&s, train);
  arena_drop(&s.arena);
  return status;
}
