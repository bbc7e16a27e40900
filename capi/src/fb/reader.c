// SPDX-License-Identifier: Apache-2.0
// Verifier and accessors. All positions are computed in 64 bits before they are compared with the
// size of the buffer, so that no value in a file can wrap around.
#include "fb/reader.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "flatbuffers are little-endian, and so must be the machine that reads them in place"
#endif

static uint16_t get_u16(const uint8_t *p)
{
  uint16_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static uint32_t get_u32(const uint8_t *p)
{
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static int32_t get_i32(const uint8_t *p)
{
  int32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

// ---- accessors ----

uint32_t fb_field_offset(FbTable t, int field)
{
  if (t.at == 0)
    return 0;
  const uint8_t *vtable = t.buffer + ((int64_t)t.at - get_i32(t.buffer + t.at));
  uint32_t slot = 4 + 2 * (uint32_t)field;
  if (slot + 2 > get_u16(vtable))
    return 0;
  uint32_t distance = get_u16(vtable + slot);
  return distance ? t.at + distance : 0;
}

bool fb_has(FbTable t, int field)
{
  return fb_field_offset(t, field) != 0;
}

#define SCALAR(name, type)                                                                         \
  type fb_##name(FbTable t, int field, type otherwise)                                             \
  {                                                                                                \
    uint32_t at = fb_field_offset(t, field);                                                       \
    if (at)                                                                                        \
      memcpy(&otherwise, t.buffer + at, sizeof otherwise);                                         \
    return otherwise;                                                                              \
  }
SCALAR(u8, uint8_t)
SCALAR(i8, int8_t)
SCALAR(i32, int32_t)
SCALAR(u32, uint32_t)
SCALAR(i64, int64_t)
SCALAR(u64, uint64_t)
SCALAR(f32, float)
#undef SCALAR

bool fb_bool(FbTable t, int field, bool otherwise)
{
  return fb_u8(t, field, otherwise) != 0;
}

// Target of the offset field, or 0 where it is absent.
static uint32_t follow(FbTable t, int field)
{
  uint32_t at = fb_field_offset(t, field);
  return at ? at + get_u32(t.buffer + at) : 0;
}

FbTable fb_table(FbTable t, int field)
{
  return (FbTable){t.buffer, follow(t, field)};
}

FbVector fb_vector(FbTable t, int field)
{
  uint32_t at = follow(t, field);
  if (at == 0)
    return (FbVector){.buffer = t.buffer};
  return (FbVector){t.buffer, at + 4, get_u32(t.buffer + at), true};
}

const char *fb_string(FbTable t, int field, size_t *length)
{
  FbVector v = fb_vector(t, field);
  *length = v.n;
  return v.present ? (const char *)v.buffer + v.at : "";
}

#define ELEMENT(name, type)                                                                        \
  type fb_vec_##name(FbVector v, uint32_t i)                                                       \
  {                                                                                                \
    type value;                                                                                    \
    memcpy(&value, v.buffer + v.at + (size_t)i * sizeof value, sizeof value);                      \
    return value;                                                                                  \
  }
ELEMENT(i32, int32_t)
ELEMENT(i64, int64_t)
ELEMENT(f32, float)
#undef ELEMENT

FbTable fb_vec_table(FbVector v, uint32_t i)
{
  uint32_t at = v.at + 4 * i;
  return (FbTable){v.buffer, at + get_u32(v.buffer + at)};
}

// ---- verifying ----

// Offsets form a graph, not a tree: a small file can describe very many paths. The limits bound
// the work; real files stay far below them.
enum { MAX_DEPTH = 12, MAX_TABLES = 1000000 };

typedef struct {
  const uint8_t *buffer;
  uint64_t size;
  uint32_t visited; // tables, and strings in vectors
  Diag *diag;
} Verifier;

// What is being looked at, for messages.
typedef struct {
  const FbSchema *schema;
  uint64_t at; // of the table
  int field;
} Place;

static Status refuse(const Verifier *v, const Place *p, const char *what, uint64_t at)
{
  if (p->field < 0)
    return diag_fail(v->diag, ST_ERROR, "table %s at offset %llu: %s (offset %llu, size %llu)",
                     p->schema->name, (unsigned long long)p->at, what, (unsigned long long)at,
                     (unsigned long long)v->size);
  return diag_fail(v->diag, ST_ERROR,
                   "table %s at offset %llu, field %d: %s (offset %llu, size %llu)",
                   p->schema->name, (unsigned long long)p->at, p->field, what,
                   (unsigned long long)at, (unsigned long long)v->size);
}

// The offset stored at `at` (whose 4 bytes are inside) -> its target, which is aligned to 4 and has
// room for 4 bytes: a table's or a vector's first word.
static Status resolve(const Verifier *v, const Place *p, uint64_t at, uint64_t *target)
{
  uint32_t distance = get_u32(v->buffer + at);
  if (distance == 0)
    return refuse(v, p, "an offset is 0", at);
  *target = at + distance;
  if (*target + 4 > v->size)
    return refuse(v, p, "an offset points beyond the end", at);
  if (*target % 4 != 0)
    return refuse(v, p, "an offset points to an unaligned place", at);
  return ST_OK;
}

static Status check_vector(const Verifier *v, const Place *p, uint64_t at, unsigned element,
                           uint32_t *count)
{
  *count = get_u32(v->buffer + at);
  if ((uint64_t)*count * element > v->size - (at + 4))
    return refuse(v, p, "a vector does not fit", at);
  if (*count && (at + 4) % element != 0)
    return refuse(v, p, "the elements of a vector are not aligned", at + 4);
  return ST_OK;
}

static Status check_string(const Verifier *v, const Place *p, uint64_t at)
{
  uint32_t count = 0;
  TRY(check_vector(v, p, at, 1, &count));
  uint64_t end = at + 4 + count;
  if (end >= v->size || v->buffer[end] != 0)
    return refuse(v, p, "a string does not end with a zero byte", at);
  return ST_OK;
}

static Status check_table(Verifier *v, const FbSchema *schema, uint64_t at, int depth);

static Status count_visit(Verifier *v, const Place *p, uint64_t at)
{
  return ++v->visited > MAX_TABLES ? refuse(v, p, "there are too many tables", at) : ST_OK;
}

static Status check_vector_of_offsets(Verifier *v, const Place *p, const FbField *f, uint64_t at,
                                      int depth)
{
  uint32_t count = 0;
  TRY(check_vector(v, p, at, 4, &count));
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t target = 0;
    TRY(resolve(v, p, at + 4 + 4 * (uint64_t)i, &target));
    if (f->kind == FB_TABLES) {
      TRY(check_table(v, f->child, target, depth + 1));
    } else {
      TRY(count_visit(v, p, target));
      TRY(check_string(v, p, target));
    }
  }
  return ST_OK;
}

static Status check_union(Verifier *v, const Place *p, const FbField *f, int tag, uint64_t at,
                          int depth)
{
  if (tag == 0)
    return refuse(v, p, "a union has a table but no type", at);
  for (const FbMember *m = f->members; m && m->tag; ++m)
    if (m->tag == tag)
      return check_table(v, m->table, at, depth + 1);
  return ST_OK;
}

static unsigned field_size(const FbField *f)
{
  if (f->kind == FB_SCALAR)
    return f->size;
  return f->kind == FB_UNION_TAG ? 1 : 4;
}

static Status check_field(Verifier *v, const Place *p, const FbField *f, uint64_t at, int tag,
                          int depth)
{
  uint64_t target = 0;
  uint32_t count = 0;
  if (f->kind == FB_SCALAR || f->kind == FB_UNION_TAG)
    return ST_OK;
  TRY(resolve(v, p, at, &target));
  switch (f->kind) {
  case FB_STRING:
    return check_string(v, p, target);
  case FB_VECTOR:
    return check_vector(v, p, target, f->size, &count);
  case FB_TABLE:
    return check_table(v, f->child, target, depth + 1);
  case FB_UNION:
    return check_union(v, p, f, tag, target, depth);
  default:
    return check_vector_of_offsets(v, p, f, target, depth);
  }
}

// `at` is aligned to 4 and has room for 4 bytes.
static Status check_table(Verifier *v, const FbSchema *schema, uint64_t at, int depth)
{
  Place p = {schema, at, -1};
  TRY(count_visit(v, &p, at));
  if (depth > MAX_DEPTH)
    return refuse(v, &p, "tables are nested too deeply", at);
  int64_t vtable = (int64_t)at - get_i32(v->buffer + at);
  if (vtable < 0 || vtable % 2 != 0 || (uint64_t)vtable + 4 > v->size)
    return refuse(v, &p, "its vtable is not inside the file", at);
  unsigned vtable_bytes = get_u16(v->buffer + vtable);
  unsigned table_bytes = get_u16(v->buffer + vtable + 2);
  if (vtable_bytes < 4 || vtable_bytes % 2 != 0 || (uint64_t)vtable + vtable_bytes > v->size)
    return refuse(v, &p, "its vtable does not fit", (uint64_t)vtable);
  if (table_bytes < 4 || at + table_bytes > v->size)
    return refuse(v, &p, "it does not fit", at);
  int tag = 0;
  for (int i = 0; schema->fields[i].kind != FB_END; ++i) {
    const FbField *f = &schema->fields[i];
    p.field = i;
    unsigned slot = 4 + 2 * (unsigned)i;
    unsigned distance = slot + 2 <= vtable_bytes ? get_u16(v->buffer + vtable + slot) : 0;
    if (f->kind == FB_UNUSED)
      continue;
    if (distance == 0) {
      if (f->kind == FB_UNION && tag != 0)
        return refuse(v, &p, "a union has a type but no table", at);
      if (f->kind == FB_UNION_TAG)
        tag = 0;
      continue;
    }
    unsigned size = field_size(f);
    if (distance < 4 || distance + size > table_bytes)
      return refuse(v, &p, "it lies outside its table", at + distance);
    if ((at + distance) % size != 0)
      return refuse(v, &p, "it is not aligned", at + distance);
    if (f->kind == FB_UNION_TAG)
      tag = v->buffer[at + distance];
    TRY(check_field(v, &p, f, at + distance, tag, depth));
  }
  return ST_OK;
}

Status fb_verify(const uint8_t *buffer, size_t size, const char *identifier, const FbSchema *root,
                 FbTable *out, Diag *d)
{
  Verifier v = {buffer, size, 0, d};
  Place p = {root, 0, -1};
  if (size < 8)
    return diag_fail(d, ST_ERROR, "%zu bytes are too short, a header has 8", size);
  if (size > INT32_MAX)
    return diag_fail(d, ST_ERROR, "%zu bytes are more than a flatbuffer can have", size);
  if (identifier && memcmp(buffer + 4, identifier, 4) != 0)
    return diag_fail(d, ST_ERROR, "the identifier at offset 4 is %02x%02x%02x%02x, wanted '%.4s'",
                     buffer[4], buffer[5], buffer[6], buffer[7], identifier);
  uint64_t target = 0;
  TRY(resolve(&v, &p, 0, &target));
  TRY(check_table(&v, root, target, 1));
  *out = (FbTable){buffer, (uint32_t)target};
  return ST_OK;
}
