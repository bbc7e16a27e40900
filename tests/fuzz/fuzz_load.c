// SPDX-License-Identifier: Apache-2.0
// Hostile model files: whatever the bytes are, loading ends in a graph or in an error text. What
// loads is also put into checkpoint order, run, trained for two steps and, with -o, saved with
// changed weights and read back.
//
//   fuzz_load FILE..                              replays files
//   fuzz_load -n COUNT [-s SEED] [-o OUT] FILE..  mutates each file COUNT times; mutation i of a
//                                                 file depends on SEED and i only
//
// Build it with ASan and UBSan, which judge; with clang, -fsanitize=fuzzer takes the place of main
// when FUZZ_LIBRARY is defined.
#include "base/mem.h"
#include "exec/predictor.h"
#include "format/checkpoint.h"
#include "format/model.h"
#include "train/train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *out_path;

static void save_changed(const Model *m)
{
  const Graph *g = &m->graph;
  Arena arena = {0};
  const void **values = arena_array(&arena, g->n_tensors, sizeof *values);
  for (size_t i = 0; values && i < g->n_tensors; ++i) {
    size_t bytes = (size_t)shape_numel(&g->tensors[i].shape) * dtype_bytes(g->tensors[i].dtype);
    uint8_t *copy = NULL;
    if (m->place[i].data_offset && bytes)
      copy = arena_copy(&arena, g->tensors[i].data, bytes);
    if (copy)
      copy[0] = (uint8_t)(copy[0] + i);
    values[i] = copy;
  }
  int32_t ops[] = {0};
  TrainMeta train = {.present = true, .loss = 1, .reduction = 1, .optimizer = 1,
                     .trainable_ops = ops, .n_trainable_ops = 1};
  Diag d = {0};
  Model *again = NULL;
  if (model_save(m, values, &train, out_path, &d) == ST_OK &&
      model_load_path(out_path, &again, &d) == ST_OK)
    model_destroy(again);
  else if (d.text[0] == '\0')
    abort();
  arena_drop(&arena);
}

enum { ROOM = 1 << 24, MOST = 8 }; // bytes of 2 samples of a small model's largest tensor

// Models whose tensors got huge by mutation are valid, but not worth the time here.
static bool is_small(const Graph *g)
{
  int64_t total = 0;
  for (size_t i = 0; i < g->n_tensors; ++i) {
    int64_t n = shape_numel(&g->tensors[i].shape);
    if (n > 1 << 20)
      return false;
    total += n;
  }
  return total < 1 << 20 && g->n_inputs <= MOST && g->n_outputs <= MOST;
}

// Both engines on buffers of zeros; shapes they cannot work with must end in a text.
static void infer_and_train(Model *m)
{
  static _Alignas(64) uint8_t zeros[ROOM];
  const void *in[MOST], *labels[MOST];
  void *out[MOST] = {0};
  for (int i = 0; i < MOST; ++i)
    in[i] = labels[i] = zeros;
  Diag d = {0};
  Predictor *p = NULL;
  if (predictor_create(&m->graph, NULL, NULL, &p, &d) == ST_OK) {
    if (is_small(predictor_graph(p)))
      predictor_run(p, in, out);
    predictor_destroy(p);
  } else if (d.text[0] == '\0') {
    abort();
  }
  TrainConfig c = {.learning_rate = 0.01f, .batch_size = 2, .loss = LOSS_KIND_CCE, .mean = true,
                   .adam = true, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-7,
                   .trainable = {.last_n = -1}, .keep_gradients = true};
  Train *t = NULL;
  d = (Diag){0};
  if (train_create(m, NULL, &c, NULL, &t, &d) == ST_OK) {
    TrainStep step = {.samples = train_samples(t), .inputs = in, .labels = labels, .update = true};
    for (int k = 0; is_small(train_graph(t)) && k < 2; ++k)
      train_run(t, &step);
    train_destroy(t);
  } else if (d.text[0] == '\0') {
    abort();
  }
}

static bool run(const uint8_t *data, size_t size)
{
  uint8_t *bytes = mem_alloc(size);
  if (!bytes)
    return false;
  if (size)
    memcpy(bytes, data, size);
  // mem_alloc rounds up; what lies behind the file must not be read.
  ASAN_POISON_MEMORY_REGION(bytes + size, (MEM_ALIGN - size % MEM_ALIGN) % MEM_ALIGN);
  Model *m = NULL;
  Diag d = {0};
  if (model_load(bytes, size, "input", &m, &d) != ST_OK) {
    if (d.text[0] == '\0')
      abort();
    return false;
  }
  Arena arena = {0};
  CheckpointEntry *entries = NULL;
  size_t n = 0;
  if (checkpoint_entries(&m->graph, &arena, &entries, &n, &d) != ST_OK)
    abort();
  arena_drop(&arena);
  if (is_small(&m->graph))
    infer_and_train(m);
  if (out_path)
    save_changed(m);
  model_destroy(m);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  (void)run(data, size);
  return 0;
}

#ifndef FUZZ_LIBRARY

static uint64_t state;

// xorshift64*
static uint32_t draw(uint32_t below)
{
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint32_t)((state * 0x2545f4914f6cdd1dULL) >> 33) % below;
}

static void mutate_once(uint8_t *p, size_t *size)
{
  static const uint32_t words[] = {0,          1,          2,          3,         4,
                                   8,          0x7f,       0xff,       0x7fff,    0xffff,
                                   0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffc, 0x10000};
  if (*size < 8)
    return;
  // Most of the structure stands in the first and last kilobytes; weights lie between.
  uint32_t n = (uint32_t)*size, edge = n < 4096 ? n : 4096;
  uint32_t at = draw(3) == 0 ? draw(n) : draw(2) ? draw(edge) : n - 1 - draw(edge);
  uint32_t word_at = at / 4 * 4 + 4 <= n ? at / 4 * 4 : 0;
  uint32_t word = words[draw(COUNT_OF(words))];
  switch (draw(8)) {
  case 0:
    p[at] = (uint8_t)draw(256);
    break;
  case 1:
    memcpy(p + word_at, &word, 4);
    break;
  case 2: // a small change of a number
    memcpy(&word, p + word_at, 4);
    word += draw(33) - 16;
    memcpy(p + word_at, &word, 4);
    break;
  case 3: // an offset to somewhere else
    word = draw(n) / 4 * 4;
    memcpy(p + word_at, &word, 4);
    break;
  case 4: {
    uint32_t from = draw(n), length = draw(64);
    if (from + length <= n && at + length <= n)
      memmove(p + at, p + from, length);
    break;
  }
  case 5:
    if (draw(8) == 0)
      *size = draw(n);
    break;
  default:
    p[at] ^= (uint8_t)(1u << draw(8));
  }
}

static uint8_t *read_seed(const char *path, size_t *size)
{
  uint8_t *bytes = NULL;
  FILE *f = fopen(path, "rb");
  if (f && fseek(f, 0, SEEK_END) == 0 && ftell(f) >= 0) {
    *size = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*size + 1);
    if (bytes && fread(bytes, 1, *size, f) != *size) {
      free(bytes);
      bytes = NULL;
    }
  }
  if (f)
    fclose(f);
  return bytes;
}

int main(int argc, char **argv)
{
  long count = 0, seed = 1, loaded = 0, tried = 0;
  int i = 1;
  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    if (argv[i][1] == 'n')
      count = atol(argv[i + 1]);
    else if (argv[i][1] == 's')
      seed = atol(argv[i + 1]);
    else if (argv[i][1] == 'o')
      out_path = argv[i + 1];
  }
  for (; i < argc; ++i) {
    size_t size = 0;
    uint8_t *original = read_seed(argv[i], &size), *bytes = malloc(size + 1);
    if (!original || !bytes) {
      fprintf(stderr, "cannot read %s\n", argv[i]);
      return 2;
    }
    fprintf(stderr, "%s, seed %ld\n", argv[i], seed);
    for (long k = count ? 1 : 0; k <= count; ++k) {
      size_t n = size;
      memcpy(bytes, original, size);
      state = (uint64_t)seed * 0x9e3779b97f4a7c15ULL + (uint64_t)k + 1;
      for (uint32_t m = k ? 1 + draw(4) : 0; m > 0; --m)
        mutate_once(bytes, &n);
      loaded += run(bytes, n);
      ++tried;
    }
    free(original);
    free(bytes);
  }
  printf("%ld inputs, %ld loaded\n", tried, loaded);
  return 0;
}

#endif
