// SPDX-License-Identifier: Apache-2.0
// Loading, refusing and saving model files and packages.
#include "format/model.h"

#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "format/json.h"
#include "tiny_model.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Arena arena;
static char folder[64];
static Tiny t;

static const char *path_of(const char *name)
{
  static char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void says(const Diag *d, const char *word, int line)
{
  if (strstr(d->text, word))
    return;
  printf("line %d: '%s' does not say '%s'\n", line, d->text, word);
  ++check_failures;
}

static Status load(Model **m, Diag *d)
{
  diag_clear(d);
  uint8_t *bytes = mem_alloc(t.w.size);
  memcpy(bytes, t.w.bytes, t.w.size);
  return model_load(bytes, t.w.size, "tiny", m, d);
}

static void accepted(int line)
{
  Diag d = {0};
  Model *m = NULL;
  if (load(&m, &d) != ST_OK) {
    printf("line %d: refused: %s\n", line, d.text);
    ++check_failures;
  }
  model_destroy(m);
}

static void refused(const char *word, int line)
{
  Diag d = {0};
  Model *m = NULL;
  if (load(&m, &d) != ST_ERROR) {
    printf("line %d: accepted, should say '%s'\n", line, word);
    ++check_failures;
  }
  says(&d, "tiny: ", line);
  says(&d, word, line);
  model_destroy(m);
}

// A tiny model with a change.
#define ACCEPTED(start, change)                                                                    \
  do {                                                                                             \
    t = (Tiny){start};                                                                             \
    tiny_build(&t, &arena);                                                                        \
    change;                                                                                        \
    accepted(__LINE__);                                                                            \
  } while (0)
#define REFUSED(start, change, word)                                                               \
  do {                                                                                             \
    t = (Tiny){start};                                                                             \
    tiny_build(&t, &arena);                                                                        \
    change;                                                                                        \
    refused(word, __LINE__);                                                                       \
  } while (0)
#define PLAIN .compression = false
#define TFLITE_COMPRESSION .identifier = "TFL3", .compression = true
#define QUANTIZATION_DETAILS_SET .quantized = true, .details = true

static void set_code(int i, uint8_t code)
{
  tiny_set_byte(&t, t.opcode[i], OPCODE_DEPRECATED_BUILTIN, code);
}

static void loads_what_is_there(void)
{
  t = (Tiny){PLAIN};
  Diag d = {0};
  Model *m = NULL;
  tiny_build(&t, &arena);
  CHECK_EQUAL(load(&m, &d), ST_OK);
  if (!m)
    return;
  const Graph *g = &m->graph;
  CHECK(!m->tflite && m->n_subgraphs == 1 && !m->train.present);
  CHECK(g->n_tensors == TENSORS && g->n_nodes == 2 && g->n_inputs == 1 && g->n_outputs == 1);
  CHECK(strcmp(g->tensors[B2].name, "b2") == 0 && g->tensors[W].kind == TK_CONST);
  CHECK(g->tensors[X].kind == TK_INPUT && g->tensors[H].producer == 0);
  CHECK(g->tensors[X].declared.dim[0] == -1 && g->tensors[X].shape.dim[0] == 1);
  CHECK(memcmp(g->tensors[W].data, tiny_w, sizeof tiny_w) == 0);
  for (int i = W; i <= B2; ++i)
    CHECK(i == H || ((uintptr_t)g->tensors[i].data % 64 == 0 && m->place[i].data_offset));
  CHECK(g->tensors[B].data != g->tensors[B2].data);
  CHECK(g->nodes[0].act == ACT_NONE && g->nodes[1].in[1] == B2 && g->nodes[1].model_op == 1);
  model_destroy(m);

  ACCEPTED(.identifier = "TFL3", (void)0);
  ACCEPTED(PLAIN, tiny_put(&t, t.in[0] + 12, -1)); // no bias
  ACCEPTED(PLAIN, tiny_set_byte(&t, t.options[1], 0, ACT_RELU6));
  ACCEPTED(PLAIN, tiny_put(&t, t.shape[X] + 4, -1)); // what some exporters write for "unknown"
  ACCEPTED(PLAIN, tiny_put(&t, t.shape[X] + 4, 0));
  ACCEPTED(PLAIN, tiny_put(&t, t.signature[B], 0)); // no signature
  ACCEPTED(.compression = true, (void)0);
  ACCEPTED(.quantized = true, (void)0);
  ACCEPTED(.outside = true, (void)0);
  // Options without fields say nothing, whoever's they are: 26 is TRANSPOSE's.
  ACCEPTED(PLAIN, tiny_set_byte(&t, t.op[0], OPERATOR_OPTIONS_TYPE, 26));
  // Code 127 in the old field refers to the new one, which counts from 127 on.
  REFUSED(PLAIN, set_code(1, 127), "PLACEHOLDER");
  REFUSED(PLAIN, tiny_set(&t, t.opcode[1], OPCODE_BUILTIN, 131), "RFFT2D");
}

static void refuses_files(void)
{
  Diag d = {0};
  Model *m = NULL;
  REFUSED(.identifier = "CIR1", (void)0, "identifier");
  REFUSED(PLAIN, memset(t.w.bytes, 0, 8), "no identifier CIR0 or TFL3");
  REFUSED(PLAIN, t.w.size = 0, "too short");
  REFUSED(PLAIN, t.w.size = 8, "table Model");
  REFUSED(PLAIN, tiny_put(&t, t.shape[W], 0x1fffffff), "table Tensor");
  CHECK_EQUAL(model_load_path(path_of("none.circle"), &m, &d), ST_ERROR);
  says(&d, "none.circle", __LINE__);
  CHECK(m == NULL);
}

static void refuses_tensors(void)
{
  REFUSED(.compression = true, tiny_set_byte(&t, t.tensor[W], TENSOR_COMPRESSION, 1), "compressed");
  REFUSED(TFLITE_COMPRESSION, (void)0, "in another file");
  REFUSED(.sparse = true, (void)0, "tensor 1 ('w'): sparse");
  REFUSED(QUANTIZATION_DETAILS_SET, (void)0, "quantization");
  REFUSED(.quantized = true, tiny_put(&t, t.scale, 1), "1 scales and 2 zero points");
  REFUSED(.quantized = true, tiny_put(&t, t.scale + 4, 0x7fc00000), "scale 0 is nan");
  REFUSED(.quantized = true, tiny_put(&t, t.zero + 8, 1), "zero point 0 is 4294967296");
  REFUSED(.quantized = true, (tiny_put(&t, t.scale, 3), tiny_put(&t, t.zero, 3)), "3 scales");
  REFUSED(PLAIN, tiny_set_byte(&t, t.tensor[Z], TENSOR_TYPE, 5),
          "tensor 6 ('z'): element type string");
  REFUSED(PLAIN, tiny_set_byte(&t, t.tensor[Z], TENSOR_TYPE, 10), "float64");
  REFUSED(PLAIN, tiny_set_byte(&t, t.tensor[Z], TENSOR_TYPE, 250), "unknown (code -6)");
  REFUSED(PLAIN, tiny_set_byte(&t, t.tensor[W], TENSOR_IS_VARIABLE, 1), "variables with data");
  REFUSED(PLAIN, tiny_set(&t, t.tensor[W], TENSOR_BUFFER, 99), "buffer 99 does not exist");
  REFUSED(PLAIN, (tiny_put(&t, t.shape[W] + 4, 3), tiny_put(&t, t.signature[W] + 4, 3)),
          "24 bytes of data, float32 [3,3] has 36");
  REFUSED(PLAIN, tiny_put(&t, t.shape[W] + 4, 3), "dimension 0 is 3, its shape signature says 2");
  REFUSED(PLAIN, tiny_put(&t, t.shape[X] + 8, -2), "dimension 1 is -2");
  REFUSED(PLAIN, tiny_put(&t, t.shape[X], 3), "rank 3, its shape signature rank 2");
  REFUSED(PLAIN, (tiny_put(&t, t.shape[X], 9), tiny_put(&t, t.signature[X], 9)), "rank 9");
  REFUSED(.outside = true, tiny_set(&t, t.buffer[1], BUFFER_SIZE, 1 << 30), "not inside the file");
  REFUSED(.outside = true, tiny_set(&t, t.buffer[1], BUFFER_OFFSET, -1), "not inside the file");
}

static void refuses_graphs(void)
{
  REFUSED(PLAIN, tiny_set(&t, t.op[1], OPERATOR_OPCODE_INDEX, 2), "operator code 2 does not exist");
  REFUSED(PLAIN, (set_code(0, 119), set_code(1, 32)),
          "unsupported operators: node 0 (WHILE 'h'), node 1 (CUSTOM 'y', code '')");
  REFUSED(PLAIN, tiny_set(&t, t.opcode[0], OPCODE_BUILTIN, 999), "node 0 (operator code 999 'h')");
  REFUSED(PLAIN, tiny_put(&t, t.in[0] + 8, TENSORS), "input 1 is tensor 7");
  REFUSED(PLAIN, tiny_put(&t, t.in[0] + 8, -2), "input 1 is tensor -2");
  REFUSED(PLAIN, tiny_put(&t, t.in[0] + 8, -1), "input 1 is absent");
  REFUSED(PLAIN, tiny_put(&t, t.out[0] + 4, -1), "output 0 is tensor -1");
  REFUSED(PLAIN, tiny_put(&t, t.in[0], 4), "node 0 (FULLY_CONNECTED 'h'): 4 inputs");
  REFUSED(PLAIN, tiny_put(&t, t.out[1], 2), "2 outputs, 1 wanted");
  REFUSED(PLAIN, tiny_put(&t, t.in[0] + 4, Y), "input 0 ('y') is made by a later operator, node 1");
  REFUSED(PLAIN, tiny_put(&t, t.in[0] + 4, Z), "('z') is no constant");
  REFUSED(PLAIN, tiny_put(&t, t.out[1] + 4, H), "('h') is made by another operator too");
  REFUSED(PLAIN, tiny_put(&t, t.out[1] + 4, W), "('w') is a constant");
  REFUSED(PLAIN, tiny_put(&t, t.out[1] + 4, X), "('x') is a graph input");
  REFUSED(PLAIN, tiny_put(&t, t.outputs + 4, Z), "graph output 0 ('z') is made by no operator");
  REFUSED(PLAIN, tiny_put(&t, t.outputs + 4, TENSORS), "graph output 0 is tensor 7");
  REFUSED(PLAIN, tiny_put(&t, t.inputs + 4, -1), "graph input 0 is tensor -1");
  REFUSED(PLAIN, tiny_put(&t, t.inputs + 4, W), "graph input 0 ('w') is a constant");
  REFUSED(PLAIN, (tiny_put(&t, t.inputs, 2), tiny_put(&t, t.inputs + 8, X)), "listed twice");
  REFUSED(PLAIN, tiny_set_byte(&t, t.op[0], OPERATOR_OPTIONS_TYPE, 29),
          "options are of type 29, wanted 8");
  REFUSED(PLAIN, tiny_set_byte(&t, t.options[1], 0, 5), "fused activation 5");
  REFUSED(PLAIN, tiny_set_byte(&t, t.tensor[Y], TENSOR_TYPE, 2),
          "output 0 is int32, input 0 is float32");
}

// Every allocation of a load fails once.
static void every_allocation_may_fail(void)
{
  t = (Tiny){.quantized = true};
  tiny_build(&t, &arena);
  long k = 0;
  for (Status s = ST_OOM; s == ST_OOM && k < 1000; ++k) {
    Diag d = {0};
    Model *m = NULL;
    uint8_t *bytes = mem_alloc(t.w.size);
    memcpy(bytes, t.w.bytes, t.w.size);
    mem_fail_after(k);
    s = model_load(bytes, t.w.size, "tiny", &m, &d);
    mem_fail_after(-1);
    CHECK(s == ST_OK || s == ST_OOM);
    model_destroy(m);
  }
  CHECK(k > 3 && k < 1000);
}

// The same of a save that needs a new front block.
static void every_allocation_of_a_save_may_fail(void)
{
  static const float b[2] = {7, 8};
  const void *values[TENSORS] = {[B] = b};
  TrainMeta info = {.present = true, .loss = 1, .reduction = 1, .optimizer = 1};
  Diag d = {0};
  Model *m = NULL;
  t = (Tiny){PLAIN};
  tiny_build(&t, &arena);
  CHECK_EQUAL(load(&m, &d), ST_OK);
  long k = 0;
  for (Status s = ST_OOM; m && s == ST_OOM && k < 1000; ++k) {
    diag_clear(&d);
    mem_fail_after(k);
    s = model_save(m, values, &info, path_of("plus.circle"), &d);
    mem_fail_after(-1);
    CHECK(s == ST_OK || (s == ST_OOM && access(path_of("plus.circle"), F_OK) != 0));
  }
  CHECK(k > 1 && k < 1000);
  model_destroy(m);
}

// ---- saving ----

static Model *save_and_load(const Model *m, const void *const *values, const TrainMeta *train,
                            const char *name)
{
  Diag d = {0};
  Model *again = NULL;
  if (model_save(m, values, train, path_of(name), &d) != ST_OK ||
      model_load_path(path_of(name), &again, &d) != ST_OK) {
    printf("%s: %s\n", name, d.text);
    ++check_failures;
  }
  return again;
}

#define HOLDS(m, tensor, bytes) (memcmp((m)->graph.tensors[tensor].data, bytes, sizeof bytes) == 0)

static void saves_constants(void)
{
  static const float w[6] = {6, 5, 4, 3, 2, 1}, b[2] = {7, 8};
  for (int kind = 0; kind < 3; ++kind) {
    t = (Tiny){.identifier = kind == 1 ? "TFL3" : "CIR0", .outside = kind == 2};
    Diag d = {0};
    Model *m = NULL;
    tiny_build(&t, &arena);
    if (load(&m, &d) != ST_OK)
      continue;
    const void *values[TENSORS] = {NULL};
    Model *same = save_and_load(m, values, NULL, "same.circle");
    if (same)
      CHECK(same->size == m->size && memcmp(same->bytes + 8, m->bytes + 8, m->size - 8) == 0 &&
            !same->tflite);
    model_destroy(same);
    values[W] = w;
    values[B] = values[B2] = b; // the two that share a buffer still agree
    const char *name = kind == 1 ? "patched.tflite" : "patched.circle";
    Model *patched = save_and_load(m, values, NULL, name);
    if (patched)
      CHECK(patched->size == m->size && patched->tflite == (kind == 1) && HOLDS(patched, W, w) &&
            HOLDS(patched, B, b) && HOLDS(patched, B2, b));
    model_destroy(patched);
    values[B2] = NULL;
    Model *apart = save_and_load(m, values, NULL, "apart.circle");
    if (apart)
      CHECK(HOLDS(apart, W, w) && HOLDS(apart, B, b) && HOLDS(apart, B2, tiny_b));
    model_destroy(apart);
    CHECK_EQUAL(model_save(m, values, NULL, path_of("no/folder.circle"), &d), ST_ERROR);
    says(&d, "no/folder.circle", __LINE__);
    model_destroy(m);
  }
}

// Flatbuffers without an identifier have something else at its place.
static void saves_with_an_identifier(void)
{
  Diag d = {0};
  Model *m = NULL;
  t = (Tiny){PLAIN};
  tiny_build(&t, &arena);
  memset(t.w.bytes + 4, 0, 4);
  CHECK_EQUAL(load(&m, &d), ST_OK);
  Model *again = m ? save_and_load(m, NULL, NULL, "same.circle") : NULL;
  CHECK(again && memcmp(again->bytes + 4, "CIR0", 4) == 0 && HOLDS(again, W, tiny_w));
  CHECK(again && memcmp(again->bytes + again->size - m->size, m->bytes, m->size) == 0);
  model_destroy(again);
  model_destroy(m);
}

// A graph without operators whose file has no list of buffers at all.
static void saves_a_model_without_buffers(void)
{
  TrainMeta info = {.present = true, .loss = 1, .reduction = 1, .optimizer = 1, .batch_size = 4};
  Diag d = {0};
  Model *m = NULL;
  t = (Tiny){.empty = true};
  tiny_build(&t, &arena);
  CHECK_EQUAL(load(&m, &d), ST_OK);
  Model *again = m ? save_and_load(m, NULL, &info, "plus.circle") : NULL;
  CHECK(again && again->train.present && again->train.batch_size == 4);
  model_destroy(again);
  model_destroy(m);
}

static void saves_training_information(void)
{
  int32_t ops[3] = {0, 1, 77};
  TrainMeta info = {.present = true, .version = 5, .learning_rate = 0.25f, .has_adam = true,
                    .beta1 = 0.5f, .beta2 = 0.75f, .epsilon = 0.125f, .loss = 2, .reduction = 2,
                    .optimizer = 2, .batch_size = 9, .trainable_ops = ops, .n_trainable_ops = 3};
  static const float b[2] = {7, 8};
  const void *values[TENSORS] = {[B] = b};
  t = (Tiny){.outside = true};
  Diag d = {0};
  Model *m = NULL;
  tiny_build(&t, &arena);
  CHECK_EQUAL(load(&m, &d), ST_OK);
  if (!m)
    return;
  for (int round = 0; round < 3; ++round) {
    info.batch_size = round;
    info.loss = 1 + round % 2;
    info.optimizer = 1 + (round + 1) % 2;
    info.has_adam = info.optimizer == 2;
    Model *again = save_and_load(m, round == 1 ? values : NULL, &info, "plus.circle");
    model_destroy(m);
    m = again;
    if (!m)
      return;
    const TrainMeta *r = &m->train;
    CHECK(r->present && r->version == 5 && r->learning_rate == 0.25f && r->loss == info.loss);
    CHECK(r->reduction == 2 && r->optimizer == info.optimizer && r->batch_size == round);
    CHECK(r->has_adam == info.has_adam && (!r->has_adam || r->beta2 == 0.75f));
    CHECK(!r->has_adam || (r->beta1 == 0.5f && r->epsilon == 0.125f));
    CHECK(r->n_trainable_ops == 3 && memcmp(r->trainable_ops, ops, sizeof ops) == 0);
    CHECK(HOLDS(m, W, tiny_w) && HOLDS(m, B2, tiny_b));
    CHECK(round == 0 ? HOLDS(m, B, tiny_b) : HOLDS(m, B, b));
    uint32_t root;
    memcpy(&root, m->bytes, 4);
    CHECK_EQUAL(fb_vector((FbTable){m->bytes, root}, MODEL_METADATA).n, 1); // replaced, not added
  }
  // A blob whose every byte has been damaged loads or is refused with the metadata's name.
  size_t refusals = 0;
  for (size_t at = 0; at < 512 && at < m->size; ++at) {
    uint8_t *bytes = mem_alloc(m->size);
    memcpy(bytes, m->bytes, m->size);
    bytes[at] ^= 0x81;
    Model *damaged = NULL;
    diag_clear(&d);
    Status s = model_load(bytes, m->size, "plus", &damaged, &d);
    refusals += s != ST_OK && strstr(d.text, "CIRCLE_TRAINING");
    model_destroy(damaged);
  }
  CHECK(refusals > 20);
  model_destroy(m);
  REFUSED(.training = true, (void)0, "metadata CIRCLE_TRAINING at offset 0: 0 bytes are too short");
}

// ---- packages and paths ----

static void write_file(const char *name, const void *bytes, size_t size)
{
  Diag d = {0};
  CHECK_EQUAL(file_replace(path_of(name), &(FilePart){bytes, size}, 1, &d), ST_OK);
}

static void package_refused(const char *manifest, const char *word, int line)
{
  Diag d = {0};
  Model *m = NULL;
  write_file("pkg/metadata/MANIFEST", manifest, strlen(manifest));
  CHECK_EQUAL(model_load_path(path_of("pkg"), &m, &d), ST_ERROR);
  says(&d, "MANIFEST", line);
  says(&d, word, line);
}

static void opens_paths_and_packages(void)
{
  t = (Tiny){PLAIN};
  Diag d = {0};
  Model *m = NULL;
  tiny_build(&t, &arena);
  write_file("a.CIRCLE", t.w.bytes, t.w.size);
  CHECK_EQUAL(model_load_path(path_of("a.CIRCLE"), &m, &d), ST_OK);
  model_destroy(m);
  CHECK_EQUAL(model_load_path(path_of("model"), &m, &d), ST_ERROR);
  says(&d, "Cannot determine model type from file name extension '", __LINE__);
  diag_clear(&d);
  CHECK_EQUAL(model_load_path(path_of("a.tvn"), &m, &d), ST_ERROR);
  says(&d, "Failed to open tvn loader", __LINE__);
  CHECK(mkdir(path_of("pkg"), 0777) == 0 && mkdir(path_of("pkg/metadata"), 0777) == 0);
  diag_clear(&d);
  CHECK_EQUAL(model_load_path(path_of("pkg"), &m, &d), ST_ERROR);
  says(&d, "metadata/MANIFEST", __LINE__);
  write_file("pkg/m.tflite", t.w.bytes, t.w.size);
  static const char *const good[] = {
    "{\"models\": [\"m.tflite\"], \"model-types\": [\"tflite\"], \"major-version\": \"1\"}",
    "\n{ \"configs\" : [ ], \"models\":[\"./m\\u002Etflite\"] , "
    "\"x\": {\"y\": [1.5e-3, null, true]} }\n",
  };
  for (size_t i = 0; i < COUNT_OF(good); ++i) {
    write_file("pkg/metadata/MANIFEST", good[i], strlen(good[i]));
    diag_clear(&d);
    CHECK_EQUAL(model_load_path(path_of("pkg"), &m, &d), ST_OK);
    model_destroy(m);
    m = NULL;
  }
#define PACKAGE(manifest, word) package_refused(manifest, word, __LINE__)
  PACKAGE("", "line 1: a value is missing");
  PACKAGE("{\n\n\"models\": [\"m.tflite\",]}", "line 3: a value is missing");
  PACKAGE("{\"models\": [\"m.tflite\"]} x", "something follows");
  PACKAGE("{\"models\": [\"m.tflite]}", "does not end");
  PACKAGE("{\"models\": [\"\\q\"]}", "escape");
  PACKAGE("{\"models\": [01]}", "missing");
  PACKAGE("{\"models\": \"m.tflite\"}", "no array \"models\"");
  PACKAGE("[]", "no array \"models\"");
  PACKAGE("{\"models\": []}", "Invalid model size : 0");
  PACKAGE("{\"models\": [\"m.tflite\", \"n.tflite\"]}", "2 models");
  PACKAGE("{\"models\": [3]}", "must be a path");
  PACKAGE("{\"models\": [\"../pkg/m.tflite\"]}", "not a path inside the package");
  PACKAGE("{\"models\": [\"metadata/..\"]}", "not a path inside the package");
  PACKAGE("{\"models\": [\"/m.tflite\"]}", "not a path inside the package");
  PACKAGE("{\"models\": [\"m.tflite\"], \"model-types\": [\"tvn\"]}", "type 'tvn'");
  char deep[200] = "";
  memset(deep, '[', sizeof deep - 1);
  PACKAGE(deep, "nested too deeply");
#undef PACKAGE
}

static void reads_json_text(void)
{
  static const char text[] = "{\"a\\n\\u00e9\\ud83d\\ude00\": -0.5E+2}";
  const Json *root = NULL;
  Diag d = {0};
  CHECK_EQUAL(json_read(text, strlen(text), "text", &arena, &root, &d), ST_OK);
  const Json *v = root ? json_member(root, "a\n\xc3\xa9\xf0\x9f\x98\x80") : NULL;
  CHECK(v && v->kind == JSON_NUMBER && strcmp(v->text, "-0.5E+2") == 0);
  static const char *const bad[] = {
    "\"\\ud800\"", "\"\\u0000\"", "-", "1.", "nul", "{\"a\" 1}", "{1:2}"};
  for (size_t i = 0; i < COUNT_OF(bad); ++i)
    CHECK_EQUAL(json_read(bad[i], strlen(bad[i]), "text", &arena, &root, &d), ST_ERROR);
}

int main(void)
{
  snprintf(folder, sizeof folder, "%s/test_format.XXXXXX", P_tmpdir);
  if (!mkdtemp(folder))
    return 2;
  loads_what_is_there();
  refuses_files();
  refuses_tensors();
  refuses_graphs();
  every_allocation_may_fail();
  every_allocation_of_a_save_may_fail();
  saves_constants();
  saves_with_an_identifier();
  saves_a_model_without_buffers();
  saves_training_information();
  opens_paths_and_packages();
  reads_json_text();
  static const char *const files[] = {
    "same.circle", "patched.circle", "patched.tflite", "apart.circle", "plus.circle", "a.CIRCLE",
    "pkg/metadata/MANIFEST", "pkg/metadata", "pkg/m.tflite", "pkg", "."};
  for (size_t i = 0; i < COUNT_OF(files); ++i)
    (void)remove(path_of(files[i]));
  CHECK(rmdir(folder) == 0 || access(folder, F_OK) != 0);
  arena_drop(&arena);
  return check_result();
}
