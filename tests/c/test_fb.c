// SPDX-License-Identifier: Apache-2.0
// The flatbuffer reader against buffers made by the writer and then damaged: each rule of the
// verifier refuses with a text that names the place, and no damage makes it read outside.
#include "fb/reader.h"
#include "fb/writer.h"

#include "base/arena.h"
#include "base/mem.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

// Every kind of field there is.
static const FbField leaf_fields[] = {{.kind = FB_SCALAR, .size = 4}, {.kind = FB_END}};
static const FbSchema leaf = {"Leaf", leaf_fields};
static const FbMember members[] = {{1, &leaf}, {0, NULL}};
static const FbField root_fields[] = {
  {.kind = FB_SCALAR, .size = 1},        {.kind = FB_SCALAR, .size = 8},
  {.kind = FB_STRING},                   {.kind = FB_VECTOR, .size = 8},
  {.kind = FB_TABLE, .child = &leaf},    {.kind = FB_TABLES, .child = &leaf},
  {.kind = FB_STRINGS},                  {.kind = FB_UNION_TAG},
  {.kind = FB_UNION, .members = members}, {.kind = FB_UNUSED},
  {.kind = FB_END},
};
static const FbSchema root_schema = {"Root", root_fields};
enum { BYTE, WIDE, TEXT, VECTOR, CHILD, CHILDREN, TEXTS, TAG, UNION, UNUSED };

static Arena arena;
static FbWriter w;
static size_t root, vector, text, child; // positions

static size_t write_leaf(int32_t value)
{
  return fb_write_table(&w, (FbSlot[]){{0, 4, &value}}, 1);
}

static void point(int field, size_t target)
{
  fb_point(&w, fb_written_field(&w, root, field), target);
}

static void build(void)
{
  int8_t byte = -3;
  int64_t wide = -5000000000;
  uint8_t tag = 1;
  w = (FbWriter){.arena = &arena};
  fb_write_header(&w, "TEST");
  root = fb_write_table(&w,
                        (FbSlot[]){{BYTE, 1, &byte},
                                   {WIDE, 8, &wide},
                                   {TEXT, 4, NULL},
                                   {VECTOR, 4, NULL},
                                   {CHILD, 4, NULL},
                                   {CHILDREN, 4, NULL},
                                   {TEXTS, 4, NULL},
                                   {TAG, 1, &tag},
                                   {UNION, 4, NULL}},
                        9);
  fb_point(&w, 0, root);
  point(TEXT, text = fb_write_vector(&w, "name", 4, 1));
  int64_t numbers[3] = {1, -2, 3};
  point(VECTOR, vector = fb_write_vector(&w, numbers, 3, 8));
  point(CHILD, child = write_leaf(7));
  size_t list = fb_write_vector(&w, NULL, 2, 4), texts = fb_write_vector(&w, NULL, 1, 4);
  point(CHILDREN, list);
  fb_point(&w, list + 4, write_leaf(8));
  fb_point(&w, list + 8, write_leaf(9));
  point(TEXTS, texts);
  fb_point(&w, texts + 4, fb_write_vector(&w, "ab", 2, 1));
  point(UNION, write_leaf(10));
  CHECK(!w.failed);
}

// Verifies a copy that ends where the buffer ends, so that a sanitizer sees every byte too far.
static Status verify(const uint8_t *bytes, size_t size, const char *identifier, Diag *d)
{
  uint8_t *copy = malloc(size ? size : 1);
  FbTable t;
  if (size)
    memcpy(copy, bytes, size);
  diag_clear(d);
  Status s = fb_verify(copy, size, identifier, &root_schema, &t, d);
  CHECK((s == ST_OK) == (d->text[0] == '\0'));
  if (s == ST_OK) { // what has been verified can be read
    size_t length;
    volatile int64_t sum = fb_i8(t, BYTE, 0) + fb_i64(t, WIDE, 0) + fb_has(t, UNUSED);
    const char *name = fb_string(t, TEXT, &length);
    sum += (int64_t)strlen(name);
    FbVector v = fb_vector(t, VECTOR);
    for (uint32_t i = 0; i < v.n; ++i)
      sum ^= fb_vec_i64(v, i);
    FbVector list = fb_vector(t, CHILDREN);
    for (uint32_t i = 0; i < list.n; ++i)
      sum += fb_i32(fb_vec_table(list, i), 0, 0);
    if (fb_u8(t, TAG, 0) == 1)
      sum += fb_i32(fb_table(t, UNION), 0, 0);
  }
  free(copy);
  return s;
}

static void refused(const char *word)
{
  Diag d = {0};
  CHECK_EQUAL(verify(w.bytes, w.size, "TEST", &d), ST_ERROR);
  if (!strstr(d.text, word)) {
    printf("'%s' does not say '%s'\n", d.text, word);
    ++check_failures;
  }
}

static void put(size_t at, uint32_t value)
{
  memcpy(w.bytes + at, &value, 4);
}

static size_t vtable_of(size_t table)
{
  int32_t back;
  memcpy(&back, w.bytes + table, 4);
  return table - (size_t)back;
}

static void set_slot(size_t table, int field, uint16_t distance)
{
  memcpy(w.bytes + vtable_of(table) + 4 + 2 * field, &distance, 2);
}

static void reads_what_was_written(void)
{
  FbTable t;
  Diag d = {0};
  size_t length = 0;
  build();
  CHECK_EQUAL(fb_verify(w.bytes, w.size, "TEST", &root_schema, &t, &d), ST_OK);
  CHECK_EQUAL(fb_i8(t, BYTE, 0), -3);
  CHECK_EQUAL(fb_i64(t, WIDE, 0), -5000000000);
  CHECK(strcmp(fb_string(t, TEXT, &length), "name") == 0 && length == 4);
  CHECK_EQUAL(fb_vector(t, VECTOR).n, 3);
  CHECK_EQUAL(fb_vec_i64(fb_vector(t, VECTOR), 1), -2);
  CHECK_EQUAL(fb_i32(fb_table(t, CHILD), 0, 0), 7);
  CHECK_EQUAL(fb_i32(fb_vec_table(fb_vector(t, CHILDREN), 1), 0, 0), 9);
  CHECK_EQUAL(fb_i32(fb_table(t, UNION), 0, 0), 10);
  CHECK_EQUAL(fb_field_offset(t, BYTE), fb_written_field(&w, root, BYTE));
  // Absent fields, fields beyond the vtable and absent tables have defaults.
  CHECK(!fb_has(t, UNUSED) && fb_u32(t, 40, 77) == 77);
  FbTable none = fb_table(t, UNUSED);
  CHECK(none.at == 0 && fb_f32(none, 0, 1.5f) == 1.5f && !fb_bool(none, 3, false));
  CHECK(!fb_vector(none, 0).present && fb_vector(none, 0).n == 0);
  CHECK(strcmp(fb_string(none, 0, &length), "") == 0 && length == 0);
  CHECK_EQUAL(fb_verify(w.bytes, w.size, NULL, &root_schema, &t, &d), ST_OK);
}

static void each_rule_refuses(void)
{
  Diag d = {0};
  build();
  CHECK_EQUAL(verify(w.bytes, 7, "TEST", &d), ST_ERROR);
  CHECK(strstr(d.text, "too short") != NULL);
  CHECK_EQUAL(verify(w.bytes, w.size, "CIR0", &d), ST_ERROR);
  CHECK(strstr(d.text, "identifier") && strstr(d.text, "CIR0"));
#define DAMAGED(change, word)                                                                      \
  do {                                                                                             \
    build();                                                                                       \
    change;                                                                                        \
    refused(word);                                                                                 \
  } while (0)
  DAMAGED(put(0, 0), "an offset is 0");
  DAMAGED(put(0, (uint32_t)w.size), "beyond the end");
  DAMAGED(put(0, 0xffffffff), "beyond the end");
  DAMAGED(put(0, (uint32_t)root + 2), "unaligned");
  DAMAGED(put(root, 0x7fffffff), "table Root at offset");
  DAMAGED(put(root, 0x80000000), "vtable is not inside");
  DAMAGED(put(root, (uint32_t)(root - vtable_of(root) + 1)), "vtable is not inside");
  DAMAGED(w.bytes[vtable_of(root)] = 3, "vtable does not fit");
  DAMAGED(w.bytes[vtable_of(root) + 1] = 0xff, "vtable does not fit");
  DAMAGED(w.bytes[vtable_of(root) + 2] = 2, "it does not fit");
  DAMAGED(w.bytes[vtable_of(root) + 3] = 0xff, "it does not fit");
  DAMAGED(set_slot(root, TEXT, 3), "field 2: it lies outside its table");
  DAMAGED(set_slot(root, TEXT, 0x1000), "field 2: it lies outside its table");
  DAMAGED(set_slot(root, WIDE, 12), "field 1: it is not aligned");
  DAMAGED(put(vector, 0x7fffffff), "field 3: a vector does not fit");
  DAMAGED(put(vector, 0xffffffff), "field 3: a vector does not fit");
  DAMAGED((put(vector - 4, 1), point(VECTOR, vector - 4)), "not aligned");
  DAMAGED(put(text, 3), "does not end with a zero byte");
  DAMAGED(put(text, (uint32_t)(w.size - text - 4)), "does not end with a zero byte");
  DAMAGED(point(CHILD, w.size - 2), "field 4: an offset points");
  DAMAGED(put(child, 0x40000000), "table Leaf at offset");
  DAMAGED(set_slot(root, TAG, 0), "a union has a table but no type");
  DAMAGED(set_slot(root, UNION, 0), "a union has a type but no table");
#undef DAMAGED
  // A member that the schema does not know is not followed.
  build();
  w.bytes[fb_written_field(&w, root, TAG)] = 99;
  CHECK_EQUAL(verify(w.bytes, w.size, "TEST", &d), ST_OK);
}

static void no_damage_is_read_past(void)
{
  Diag d = {0};
  build();
  for (size_t size = 0; size < w.size; ++size)
    (void)verify(w.bytes, size, "TEST", &d);
  static const uint8_t values[] = {0, 1, 2, 3, 4, 0x7f, 0x80, 0xfc, 0xff};
  size_t accepted = 0;
  for (size_t at = 0; at < w.size; ++at)
    for (size_t k = 0; k < COUNT_OF(values); ++k) {
      uint8_t old = w.bytes[at];
      w.bytes[at] = values[k];
      accepted += verify(w.bytes, w.size, "TEST", &d) == ST_OK;
      w.bytes[at] = old;
    }
  CHECK(accepted > 0 && accepted < w.size * COUNT_OF(values));
}

// A few kilobytes that describe 2000 * 2000 tables must not take their time.
static void many_paths_are_cut(void)
{
  static const FbField inner_fields[] = {{.kind = FB_TABLES, .child = &leaf}, {.kind = FB_END}};
  static const FbSchema inner = {"Inner", inner_fields};
  static const FbField outer_fields[] = {{.kind = FB_TABLES, .child = &inner}, {.kind = FB_END}};
  static const FbSchema outer = {"Outer", outer_fields};
  enum { N = 2000 };
  w = (FbWriter){.arena = &arena};
  fb_write_header(&w, "TEST");
  size_t top = fb_write_table(&w, (FbSlot[]){{0, 4, NULL}}, 1);
  fb_point(&w, 0, top);
  size_t list = fb_write_vector(&w, NULL, N, 4);
  fb_point(&w, fb_written_field(&w, top, 0), list);
  size_t middle = fb_write_table(&w, (FbSlot[]){{0, 4, NULL}}, 1);
  size_t lower = fb_write_vector(&w, NULL, N, 4);
  fb_point(&w, fb_written_field(&w, middle, 0), lower);
  size_t last = write_leaf(1);
  for (size_t i = 0; i < N; ++i) {
    fb_point(&w, list + 4 + 4 * i, middle);
    fb_point(&w, lower + 4 + 4 * i, last);
  }
  FbTable t;
  Diag d = {0};
  CHECK_EQUAL(fb_verify(w.bytes, w.size, "TEST", &outer, &t, &d), ST_ERROR);
  CHECK(strstr(d.text, "too many tables") != NULL);
}

// Tables one inside the other, deeper than any model is.
static void deep_nesting_is_cut(void)
{
  static FbField fields[] = {{.kind = FB_TABLE}, {.kind = FB_END}};
  static const FbSchema nested = {"Nested", fields};
  fields[0].child = &nested;
  for (int depth = 1; depth < 40; depth += 38) {
    FbTable t;
    Diag d = {0};
    w = (FbWriter){.arena = &arena};
    fb_write_header(&w, "TEST");
    size_t at = 0;
    for (int i = 0; i < depth; ++i) {
      size_t inner = fb_write_table(&w, (FbSlot[]){{0, 4, NULL}}, i + 1 < depth);
      fb_point(&w, at, inner);
      at = i + 1 < depth ? fb_written_field(&w, inner, 0) : 0;
    }
    CHECK_EQUAL(fb_verify(w.bytes, w.size, "TEST", &nested, &t, &d), depth == 1 ? ST_OK : ST_ERROR);
    CHECK(depth == 1 || strstr(d.text, "nested too deeply"));
  }
}

int main(void)
{
  reads_what_was_written();
  each_rule_refuses();
  no_damage_is_read_past();
  many_paths_are_cut();
  deep_nesting_is_cut();
  arena_drop(&arena);
  return check_result();
}
