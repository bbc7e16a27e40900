// SPDX-License-Identifier: Apache-2.0
// Checkpoint files, little-endian and packed:
//
//   0   u16 magic 429, u8 schema 1, u8 reserved
//   4   u32 opt1, u32 opt2, u32 other, u32 n        sections as offsets in the file, entries
//   20  u32 offset[n], then the tensors' bytes      opt1 is where they end
//   opt1   the same of Adam's m, opt2 of its v      SGD: opt1 = other, opt2 = 0
//   other  u32 step, u32 epoch                      the end of the file
//
// Sizes are not stored: an entry ends where the next one begins.
#include "format/checkpoint.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#include <string.h>

enum { MAGIC = 429, SCHEMA = 1, HEADER_BYTES = 20, FOOTER_BYTES = 8 };

typedef struct {
  uint16_t magic;
  uint8_t schema, reserved;
  uint32_t opt1, opt2, other, n;
} Header;
_Static_assert(sizeof(Header) == HEADER_BYTES, "the header has no padding");

enum Section { VALUES, MEANS, VARIANCES };

static size_t stored_bytes(const CheckpointEntry *e, enum Section section)
{
  return section == VALUES || e->has_state ? e->bytes : 0;
}

static void *stored_data(const CheckpointEntry *e, enum Section section)
{
  return section == VALUES ? e->value : section == MEANS ? (void *)e->m : (void *)e->v;
}

// ---- writing ----

typedef struct {
  const CheckpointEntry *entries;
  size_t n;
  const void *zeros; // as long as the longest tensor without data
  uint64_t end;      // of what has been laid out
  FilePart *parts;
  size_t n_parts;
} Writer;

static void add_part(Writer *w, const void *bytes, size_t size)
{
  w->parts[w->n_parts++] = (FilePart){bytes, size};
  w->end += size;
}

static void lay_out(Writer *w, enum Section section, uint32_t *table)
{
  add_part(w, table, w->n * sizeof *table);
  for (size_t i = 0; i < w->n; ++i) {
    const void *data = stored_data(&w->entries[i], section);
    table[i] = (uint32_t)w->end;
    add_part(w, data ? data : w->zeros, stored_bytes(&w->entries[i], section));
  }
}

static Status check_size(const char *path, const CheckpointEntry *entries, size_t n, bool adam,
                         Diag *d)
{
  uint64_t total = HEADER_BYTES + FOOTER_BYTES + (uint64_t)n * 4 * (adam ? 3 : 1);
  for (size_t i = 0; i < n && total <= UINT32_MAX; ++i)
    if (entries[i].bytes > UINT32_MAX)
      total = UINT64_MAX;
    else
      total += (uint64_t)entries[i].bytes + (adam ? 2 * stored_bytes(&entries[i], MEANS) : 0);
  if (n > UINT32_MAX / 4 || total > UINT32_MAX)
    return diag_fail(d, ST_ERROR,
                     "checkpoint '%s': the tensors are too big, its format holds less than 4 GB",
                     path);
  return ST_OK;
}

Status checkpoint_write(const char *path, const CheckpointEntry *entries, size_t n, bool adam,
                        uint32_t step, Diag *d)
{
  TRY(check_size(path, entries, n, adam, d));
  size_t missing = 0;
  for (size_t i = 0; i < n; ++i)
    if ((!entries[i].value || !entries[i].m || !entries[i].v) && entries[i].bytes > missing)
      missing = entries[i].bytes;
  Arena arena = {0};
  uint32_t *table = arena_array(&arena, 3 * n, sizeof *table);
  Writer w = {.entries = entries, .n = n, .zeros = arena_alloc(&arena, missing)};
  w.parts = arena_array(&arena, 3 * (n + 1) + 2, sizeof *w.parts);
  Status s = ST_OOM;
  if (table && w.zeros && w.parts) {
    Header h = {.magic = MAGIC, .schema = SCHEMA, .n = (uint32_t)n};
    add_part(&w, &h, sizeof h);
    lay_out(&w, VALUES, table);
    h.opt1 = (uint32_t)w.end;
    if (adam) {
      lay_out(&w, MEANS, table + n);
      h.opt2 = (uint32_t)w.end;
      lay_out(&w, VARIANCES, table + 2 * n);
    }
    h.other = (uint32_t)w.end;
    uint32_t footer[2] = {step, 0};
    add_part(&w, footer, sizeof footer);
    s = file_replace(path, w.parts, w.n_parts, d);
  }
  arena_drop(&arena);
  return s == ST_OOM ? diag_oom(d) : s;
}

// ---- reading ----

typedef struct {
  const char *path;
  const uint8_t *bytes;
  size_t size;
  Header h;
  Diag *diag;
} Reader;

static uint32_t get_u32(const Reader *r, uint64_t at)
{
  uint32_t v;
  memcpy(&v, r->bytes + at, sizeof v);
  return v;
}

static Status check_header(Reader *r)
{
  if (r->size < HEADER_BYTES)
    return diag_fail(r->diag, ST_ERROR,
                     "Invalid checkpoint file data: '%s' has %zu bytes, a header alone has %d",
                     r->path, r->size, HEADER_BYTES);
  memcpy(&r->h, r->bytes, sizeof r->h);
  if (r->h.magic != MAGIC)
    return diag_fail(r->diag, ST_ERROR, "Invalid MAGIC NUMBER: '%s' begins with %u, wanted %d",
                     r->path, r->h.magic, MAGIC);
  if (r->h.schema != SCHEMA)
    return diag_fail(r->diag, ST_ERROR, "Invalid SCHEMA VERSION: '%s' has %u, wanted %d", r->path,
                     r->h.schema, SCHEMA);
  if ((uint64_t)r->h.n * 4 > r->size - HEADER_BYTES)
    return diag_fail(r->diag, ST_ERROR,
                     "Invalid checkpoint file data: '%s' has %zu bytes, too few for %u tensors",
                     r->path, r->size, r->h.n);
  if ((uint64_t)r->h.other + FOOTER_BYTES != r->size)
    return diag_fail(r->diag, ST_ERROR,
                     "Invalid checkpoint file footer data: '%s' has its footer at offset %u and "
                     "should end %d bytes later, but has %zu bytes",
                     r->path, r->h.other, FOOTER_BYTES, r->size);
  return ST_OK;
}

static Status check_kind(const Reader *r, size_t n, bool adam)
{
  if (r->h.n != n)
    return diag_fail(r->diag, ST_ERROR,
                     "Invalid number of tensors between TrainingInfo and checkpoint file: '%s' has "
                     "%u, the model %zu",
                     r->path, r->h.n, n);
  if ((r->h.opt1 != 0 && r->h.opt2 != 0) != adam)
    return diag_fail(r->diag, ST_ERROR,
                     "Not compatible optimizer type between TrainingInfo and checkpoint file: '%s' "
                     "is of %s, the session trains with %s",
                     r->path, adam ? "SGD" : "Adam", adam ? "Adam" : "SGD");
  return ST_OK;
}

static const char *const section_names[] = {"values", "Adam's m", "Adam's v"};

static Status refuse(const Reader *r, enum Section section, size_t i, const CheckpointEntry *e,
                     uint64_t wanted, uint64_t given, const char *what)
{
  return diag_fail(r->diag, ST_ERROR,
                   "checkpoint '%s': entry %zu of %s (tensor %d): %s is %llu, wanted %llu", r->path,
                   i, section_names[section], e->tensor, what, (unsigned long long)given,
                   (unsigned long long)wanted);
}

// Whether an entry may hold this many bytes although it is not the full size: what the session has
// no use for may be there or not. Releases before onert's first wrote state of every tensor.
static bool may_differ(const CheckpointEntry *e, enum Section section, uint64_t bytes)
{
  bool unused = section != VALUES && (!e->has_state || !stored_data(e, section) || e->owner >= 0);
  return unused && (bytes == 0 || bytes == e->bytes);
}

// The table at `at` describes data that follows it without gaps and ends at `end`.
static Status check_section(const Reader *r, enum Section section, uint64_t at, uint64_t end,
                            const CheckpointEntry *entries)
{
  uint64_t position = at + 4 * (uint64_t)r->h.n;
  if (end > r->h.other || position > end)
    return diag_fail(r->diag, ST_ERROR,
                     "checkpoint '%s': the section of %s, offsets %llu to %llu, has no room for "
                     "its table of %u entries",
                     r->path, section_names[section], (unsigned long long)at,
                     (unsigned long long)end, r->h.n);
  for (size_t i = 0; i < r->h.n; ++i) {
    const CheckpointEntry *e = &entries[i];
    uint64_t offset = get_u32(r, at + 4 * i);
    uint64_t next = i + 1 < r->h.n ? get_u32(r, at + 4 * (i + 1)) : end;
    if (offset != position)
      return refuse(r, section, i, e, position, offset, "its offset");
    if (next < offset || next > end)
      return refuse(r, section, i, e, offset + e->bytes, next, "the offset of its end");
    uint64_t bytes = next - offset;
    if (bytes == 0 && e->bytes && section != VALUES && !may_differ(e, section, bytes))
      return diag_fail(r->diag, ST_ERROR,
                       "checkpoint '%s': entry %zu (tensor %d) has no optimizer state, wanted %zu "
                       "bytes; the file was made with fewer trainable operators",
                       r->path, i, e->tensor, e->bytes);
    if (bytes != e->bytes && !may_differ(e, section, bytes))
      return refuse(r, section, i, e, e->bytes, bytes, "its size in bytes");
    position = next;
  }
  if (position != end)
    return diag_fail(r->diag, ST_ERROR,
                     "checkpoint '%s': the section of %s should end at offset %llu, but ends at "
                     "%llu",
                     r->path, section_names[section], (unsigned long long)end,
                     (unsigned long long)position);
  return ST_OK;
}

static void apply_section(const Reader *r, enum Section section, uint64_t at,
                          const CheckpointEntry *entries)
{
  for (size_t i = 0; i < r->h.n; ++i) {
    const CheckpointEntry *e = &entries[i];
    void *to = stored_data(e, section);
    if (e->owner < 0 && to && stored_bytes(e, section))
      memcpy(to, r->bytes + get_u32(r, at + 4 * i), e->bytes);
  }
}

// onert trains the copies of a shared tensor apart; here they are one, so some of that is lost.
static void warn_of_copies(const Reader *r, const CheckpointEntry *entries)
{
  for (size_t i = 0; i < r->h.n; ++i) {
    const CheckpointEntry *e = &entries[i];
    uint32_t at = get_u32(r, HEADER_BYTES + 4 * i);
    if (e->owner >= 0 && memcmp(e->value, r->bytes + at, e->bytes) != 0)
      log_line(LOG_WARNING,
               "checkpoint '%s': the copy of tensor %d for operator %d differs from the tensor, "
               "whose value is taken", r->path, e->tensor, e->owner);
  }
}

static Status read_all(Reader *r, const CheckpointEntry *entries, size_t n, bool adam,
                       uint32_t *step)
{
  TRY(check_header(r));
  TRY(check_kind(r, n, adam));
  const Header *h = &r->h;
  if (!adam && h->opt1 != 0 && h->opt1 != h->other)
    return diag_fail(r->diag, ST_ERROR,
                     "checkpoint '%s': its tensors end at offset %u, its footer begins at %u",
                     r->path, h->opt1, h->other);
  TRY(check_section(r, VALUES, HEADER_BYTES, adam ? h->opt1 : h->other, entries));
  if (adam) {
    TRY(check_section(r, MEANS, h->opt1, h->opt2, entries));
    TRY(check_section(r, VARIANCES, h->opt2, h->other, entries));
  }
  apply_section(r, VALUES, HEADER_BYTES, entries);
  warn_of_copies(r, entries);
  if (adam) {
    apply_section(r, MEANS, h->opt1, entries);
    apply_section(r, VARIANCES, h->opt2, entries);
  }
  *step = get_u32(r, h->other);
  return ST_OK;
}

Status checkpoint_read(const char *path, const CheckpointEntry *entries, size_t n, bool adam,
                       uint32_t *step, Diag *d)
{
  uint8_t *bytes = NULL;
  size_t size = 0;
  Diag inner = {0};
  Status s = file_read(path, &bytes, &size, &inner);
  if (s != ST_OK)
    return s == ST_OOM ? diag_oom(d)
                       : diag_fail(d, s, "Invalid checkpoint file: %s", inner.text);
  Reader r = {.path = path, .bytes = bytes, .size = size, .diag = d};
  s = read_all(&r, entries, n, adam, step);
  mem_free(bytes);
  return s;
}
