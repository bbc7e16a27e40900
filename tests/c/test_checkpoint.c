// SPDX-License-Identifier: Apache-2.0
// Checkpoint files: recorded ones are read and written back byte for byte, and damaged ones are
// refused with a text that names the fault before anything changes.
//
//   test_checkpoint FOLDER    where FOLDER is recorded case cnn_softmax_cce_adam
#include "format/checkpoint.h"

#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "format/model.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 3, FLOATS = 4 };

static char path[PATH_MAX];
static float value[N][FLOATS], mean[N][FLOATS], variance[N][FLOATS];
static CheckpointEntry entries[N];
static uint8_t file[512];
static size_t size;

// Entries of 16, 8 and 16 bytes; the second has no state.
static void reset(void)
{
  for (int i = 0; i < N; ++i) {
    for (int k = 0; k < FLOATS; ++k) {
      value[i][k] = (float)(10 * i + k + 1);
      mean[i][k] = -value[i][k];
      variance[i][k] = 100 + value[i][k];
    }
    entries[i] = (CheckpointEntry){.tensor = 5 + i, .owner = -1, .bytes = i == 1 ? 8 : 16,
                                   .value = value[i], .m = mean[i], .v = variance[i],
                                   .has_state = true};
  }
  entries[1].m = entries[1].v = NULL;
  entries[1].has_state = false;
}

static void make(size_t n, bool adam, uint32_t step)
{
  Diag d = {0};
  uint8_t *bytes = NULL;
  CHECK_EQUAL(checkpoint_write(path, entries, n, adam, step, &d), ST_OK);
  CHECK_EQUAL(file_read(path, &bytes, &size, &d), ST_OK);
  if (size > sizeof file)
    exit(2);
  if (bytes)
    memcpy(file, bytes, size);
  mem_free(bytes);
}

static uint32_t word(size_t at)
{
  uint32_t v;
  memcpy(&v, file + at, 4);
  return v;
}

static void put(size_t at, uint32_t v)
{
  memcpy(file + at, &v, 4);
}

static Status read_back(size_t n, bool adam, uint32_t *step, Diag *d)
{
  FilePart part = {file, size};
  diag_clear(d);
  CHECK_EQUAL(file_replace(path, &part, 1, d), ST_OK);
  return checkpoint_read(path, entries, n, adam, step, d);
}

static void layout_is_onerts(void)
{
  reset();
  make(N, false, 7);
  CHECK_EQUAL(size, 20 + 12 + 40 + 8);
  static const uint8_t begin[8] = {0xad, 1, 1, 0, 72, 0, 0, 0};
  CHECK(memcmp(file, begin, 8) == 0);
  CHECK(word(8) == 0 && word(12) == 72 && word(16) == 3);
  CHECK(word(20) == 32 && word(24) == 48 && word(28) == 56 && word(72) == 7 && word(76) == 0);
  CHECK(memcmp(file + 56, value[2], 16) == 0);
  make(N, true, 8);
  CHECK_EQUAL(size, 72 + 2 * (12 + 32) + 8);
  CHECK(word(4) == 72 && word(8) == 116 && word(12) == 160 && word(160) == 8);
  CHECK(word(72) == 84 && word(76) == 100 && word(80) == 100); // no state has no bytes
  CHECK(memcmp(file + 144, variance[2], 16) == 0);
  make(0, false, 3);
  CHECK(size == 28 && word(4) == 20 && word(12) == 20 && word(20) == 3);
}

static bool untouched(void)
{
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < FLOATS; ++k)
      if (value[i][k] != 1000 || mean[i][k] != 1000 || variance[i][k] != 1000)
        return false;
  return true;
}

static void spoil(void)
{
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < FLOATS; ++k)
      value[i][k] = mean[i][k] = variance[i][k] = 1000;
}

static void reads_what_it_wrote(void)
{
  Diag d = {0};
  for (int adam = 0; adam < 2; ++adam)
    for (size_t n = 0; n <= N; ++n) {
      uint32_t step = 0;
      reset();
      make(n, adam, 41);
      spoil();
      CHECK_EQUAL(read_back(n, adam, &step, &d), ST_OK);
      CHECK_EQUAL(step, 41);
      for (int i = 0; i < (int)n; ++i) {
        CHECK(value[i][1] == (float)(10 * i + 2));
        CHECK(mean[i][1] == (adam && i != 1 ? -(float)(10 * i + 2) : 1000));
        CHECK(variance[i][1] == (adam && i != 1 ? 100 + (float)(10 * i + 2) : 1000));
      }
    }
}

static void optimizer_state_that_differs(void)
{
  uint32_t step = 0;
  Diag d = {0};
  // Files of early releases hold state of every tensor; what has no use for it ignores it.
  reset();
  entries[1].has_state = true;
  entries[1].m = mean[1];
  entries[1].v = variance[1];
  make(N, true, 1);
  CHECK_EQUAL(size, 72 + 2 * (12 + 40) + 8);
  reset();
  spoil();
  CHECK_EQUAL(read_back(N, true, &step, &d), ST_OK);
  CHECK(value[1][0] == 11 && mean[1][0] == 1000 && mean[2][3] == -24 && variance[2][3] == 124);
  // State that the file should have but that nobody keeps here is written as zeros.
  reset();
  entries[2].m = entries[2].v = NULL;
  make(N, true, 1);
  CHECK(word(100) == 0 && word(112) == 0);
  CHECK_EQUAL(read_back(N, true, &step, &d), ST_OK);
  // A file made with fewer trained operators lacks state.
  reset();
  entries[0].has_state = false;
  make(N, true, 1);
  reset();
  spoil();
  CHECK_EQUAL(read_back(N, true, &step, &d), ST_ERROR);
  CHECK(strstr(d.text, "entry 0 (tensor 5) has no optimizer state") && untouched());
  // Copies of a shared tensor: the entry without an owner decides.
  reset();
  make(N, true, 1);
  entries[2].owner = 4;
  entries[2].value = value[0];
  entries[2].m = mean[0];
  entries[2].v = variance[0];
  spoil();
  CHECK_EQUAL(read_back(N, true, &step, &d), ST_OK);
  CHECK(value[0][0] == 1 && mean[0][0] == -1 && value[2][0] == 1000);
}

static void refused(bool adam, const char *text, int line)
{
  Diag d = {0};
  uint32_t step = 99;
  spoil();
  CHECK_EQUAL(read_back(N, adam, &step, &d), ST_ERROR);
  if (!strstr(d.text, text) || !untouched() || step != 99) {
    printf("line %d: '%s' does not say '%s', or something changed\n", line, d.text, text);
    ++check_failures;
  }
}

static void damage_is_refused(void)
{
  Diag d = {0};
  uint32_t step = 0;
#define DAMAGED(adam, change, text)                                                                \
  do {                                                                                             \
    reset();                                                                                       \
    make(N, adam, 5);                                                                             \
    change;                                                                                        \
    refused(adam, text, __LINE__);                                                                 \
  } while (0)
  DAMAGED(false, size = 0, "Invalid checkpoint file data");
  DAMAGED(false, size = 19, "Invalid checkpoint file data");
  DAMAGED(false, put(0, 0x010101ac), "Invalid MAGIC NUMBER");
  DAMAGED(false, file[2] = 2, "Invalid SCHEMA VERSION");
  DAMAGED(false, size = 24, "too few for 3 tensors");
  DAMAGED(false, size -= 1, "footer");
  DAMAGED(false, size += 1, "footer");
  DAMAGED(false, put(12, 0xffffffff), "footer");
  DAMAGED(false, put(16, 2), "Invalid number of tensors");
  DAMAGED(false, put(16, 0x40000000), "too few for 1073741824 tensors");
  DAMAGED(false, put(8, 40), "Not compatible optimizer type");
  DAMAGED(true, put(8, 0), "Not compatible optimizer type");
  DAMAGED(true, put(4, 0), "Not compatible optimizer type");
  DAMAGED(false, put(4, 40), "end at offset 40");
  DAMAGED(false, put(20, 36), "entry 0 of values (tensor 5): its offset is 36, wanted 32");
  DAMAGED(false, put(24, 44), "entry 0 of values (tensor 5): its size in bytes is 12, wanted 16");
  DAMAGED(false, put(28, 0x7fffffff), "offset");
  DAMAGED(false, put(24, 0), "the offset of its end is 0");
  DAMAGED(true, put(4, 0x7fffffff), "the section of values");
  DAMAGED(true, put(4, 24), "no room for its table");
  DAMAGED(true, put(8, 0xfffffff0), "the section of Adam's m");
  DAMAGED(true, put(8, 80), "no room for its table");
  DAMAGED(true, put(76, 96), "entry 0 of Adam's m (tensor 5)");
  DAMAGED(true, put(116 + 8, 0x7fffffff), "Adam's v");
#undef DAMAGED
  // Every byte of the header and the tables, and every length.
  reset();
  make(N, true, 5);
  for (size_t at = 0; at < 160; ++at)
    for (int bit = 0; bit < 8; bit += 3) {
      file[at] ^= (uint8_t)(1 << bit);
      spoil();
      Status s = read_back(N, true, &step, &d);
      CHECK(s == ST_OK ? !untouched() : untouched() && d.text[0]);
      file[at] ^= (uint8_t)(1 << bit);
    }
  for (size_t whole = size--; size > 0; --size) {
    spoil();
    CHECK(size < whole && read_back(N, true, &step, &d) == ST_ERROR && untouched());
  }
}

static void files_that_cannot_be(void)
{
  Diag d = {0};
  uint32_t step = 0;
  reset();
  CHECK_EQUAL(checkpoint_read("", entries, N, false, &step, &d), ST_ERROR);
  CHECK(strstr(d.text, "Invalid checkpoint file: "));
  diag_clear(&d);
  CHECK_EQUAL(checkpoint_read("no/such.ckpt", entries, N, false, &step, &d), ST_ERROR);
  CHECK(strstr(d.text, "Invalid checkpoint file: ") && strstr(d.text, "no/such.ckpt"));
  diag_clear(&d);
  CHECK_EQUAL(checkpoint_write("no/such.ckpt", entries, N, false, 1, &d), ST_ERROR);
  CHECK(strstr(d.text, "no/such.ckpt"));
  // Offsets have 32 bits. The sizes are refused before any byte is read.
  for (int adam = 0; adam < 2; ++adam) {
    entries[0].bytes = adam ? 0x60000000 : (size_t)1 << 32;
    diag_clear(&d);
    CHECK_EQUAL(checkpoint_write(path, entries, N, adam, 1, &d), ST_ERROR);
    CHECK(strstr(d.text, "4 GB"));
  }
}

// Recorded files, with all their float tensors trained.
static void recorded_files_round_trip(const char *folder)
{
  static const char *const names[] = {"step4.ckpt", "step8.ckpt"};
  char name[PATH_MAX];
  Diag d = {0};
  Model *m = NULL;
  Arena arena = {0};
  CheckpointEntry *e = NULL;
  size_t n = 0;
  snprintf(name, sizeof name, "%s/model.circle", folder);
  CHECK_EQUAL(model_load_path(name, &m, &d), ST_OK);
  if (!m)
    return;
  CHECK_EQUAL(checkpoint_entries(&m->graph, &arena, &e, &n, &d), ST_OK);
  CHECK(n > 4);
  for (size_t i = 0; i < n; ++i) {
    const Tensor *t = &m->graph.tensors[e[i].tensor];
    e[i].value = t->data;
    e[i].has_state = t->dtype == DT_F32;
    e[i].m = e[i].has_state ? arena_alloc(&arena, e[i].bytes) : NULL;
    e[i].v = e[i].has_state ? arena_alloc(&arena, e[i].bytes) : NULL;
  }
  for (size_t f = 0; f < COUNT_OF(names); ++f) {
    uint8_t *old = NULL, *new = NULL;
    size_t old_size = 0, new_size = 0;
    uint32_t step = 0;
    snprintf(name, sizeof name, "%s/%s", folder, names[f]);
    CHECK_EQUAL(checkpoint_read(name, e, n, true, &step, &d), ST_OK);
    CHECK_EQUAL(step, 4 * (f + 1));
    CHECK_EQUAL(checkpoint_write(path, e, n, true, step, &d), ST_OK);
    CHECK_EQUAL(file_read(name, &old, &old_size, &d), ST_OK);
    CHECK_EQUAL(file_read(path, &new, &new_size, &d), ST_OK);
    CHECK(old_size == new_size && old_size && memcmp(old, new, old_size) == 0);
    mem_free(old);
    mem_free(new);
  }
  arena_drop(&arena);
  model_destroy(m);
}

// Thousands of tensors, shared and not, in reasonable time, each once.
static void big_graphs_have_an_order(void)
{
  enum { OPS = 20000 };
  Arena arena = {0};
  Graph g = {.arena = &arena, .name = ""};
  CheckpointEntry *e = NULL;
  size_t n = 0;
  Diag d = {0};
  // Operator i reads tensor i, a constant of its own and one that all share; it makes tensor i+1.
  for (int32_t i = 0; i < 2 * OPS + 2; ++i) {
    Tensor t = {.shape = {.rank = 1, .dim = {1}}, .producer = -1, .model_tensor = i,
                .kind = i == 0 ? TK_INPUT : i <= OPS ? TK_TEMP : TK_CONST};
    CHECK(graph_add_tensor(&g, &t) == i);
  }
  int32_t input = 0, output = OPS;
  g.inputs = &input;
  g.outputs = &output;
  g.n_inputs = g.n_outputs = 1;
  for (int32_t i = 0; i < OPS; ++i) {
    int32_t in[3] = {i, OPS + 1 + i, 2 * OPS + 1}, out = i + 1;
    Node node = {.in = in, .n_in = 3, .out = &out, .n_out = 1, .acc = -1, .model_op = i};
    CHECK(graph_add_node(&g, &node) == i);
  }
  g.n_model_ops = OPS;
  g.n_model_tensors = (int32_t)g.n_tensors;
  CHECK_EQUAL(checkpoint_entries(&g, &arena, &e, &n, &d), ST_OK);
  CHECK_EQUAL(n, 2 * OPS);
  size_t kept = 0, shared = 0;
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    kept += e[i].owner < 0;
    shared += e[i].tensor == 2 * OPS + 1;
    sum += e[i].tensor == 2 * OPS + 1 ? 0 : e[i].tensor;
    CHECK(e[i].bytes == 4);
  }
  CHECK(kept == OPS + 1 && shared == OPS);
  CHECK_EQUAL(sum, (int64_t)OPS * (OPS + 1) + (int64_t)OPS * (OPS - 1) / 2);
  arena_drop(&arena);
}

int main(int argc, char **argv)
{
  snprintf(path, sizeof path, "%s/test_checkpoint.XXXXXX", P_tmpdir);
  int fd = mkstemp(path);
  if (fd < 0)
    return 2;
  close(fd);
  layout_is_onerts();
  reads_what_it_wrote();
  optimizer_state_that_differs();
  damage_is_refused();
  files_that_cannot_be();
  if (argc > 1)
    recorded_files_round_trip(argv[1]);
  big_graphs_have_an_order();
  unlink(path);
  return check_result();
}
