// SPDX-License-Identifier: Apache-2.0
// Finding the model file: a path names it, or a package directory whose metadata/MANIFEST does.
#include "format/model.h"

#include "base/file.h"
#include "base/mem.h"
#include "format/json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static Status load_file(const char *path, Model **out, Diag *d)
{
  uint8_t *bytes = NULL;
  size_t size = 0;
  TRY(file_read(path, &bytes, &size, d));
  return model_load(bytes, size, path, out, d);
}

// Lower-cased text behind the last dot of the file's name; "" where there is none.
static void find_extension(const char *path, char *extension, size_t size)
{
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash ? slash : path, '.');
  snprintf(extension, size, "%s", dot ? dot + 1 : "");
  for (char *c = extension; *c; ++c)
    *c = (char)tolower((unsigned char)*c);
}

static bool is_model_type(const char *type)
{
  return strcmp(type, "circle") == 0 || strcmp(type, "tflite") == 0;
}

static Status load_by_extension(const char *path, Model **out, Diag *d)
{
  char extension[32];
  find_extension(path, extension, sizeof extension);
  if (extension[0] == '\0')
    return diag_fail(d, ST_ERROR, "Cannot determine model type from file name extension '%s'",
                     path);
  if (!is_model_type(extension))
    return diag_fail(d, ST_ERROR,
                     "Failed to load model : Failed to open %s loader ('%s': .circle and .tflite "
                     "files are supported)",
                     extension, path);
  return load_file(path, out, d);
}

// ---- packages ----

typedef struct {
  const char *folder;
  char *manifest; // path
  Arena *arena;
  Diag *diag;
} Package;

static char *join(Arena *arena, const char *folder, const char *name)
{
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = arena_alloc(arena, size);
  if (path)
    snprintf(path, size, "%s/%s", folder, name);
  return path;
}

static int count(const Json *array)
{
  int n = 0;
  for (const Json *v = array->first; v; v = v->next)
    ++n;
  return n;
}

// A relative path without "..": a package must not name files outside itself.
static bool stays_inside(const char *path)
{
  if (path[0] == '/' || path[0] == '\0')
    return false;
  for (const char *part = path; *part;) {
    size_t n = strcspn(part, "/");
    if (n == 2 && part[0] == '.' && part[1] == '.')
      return false;
    part += n + (part[n] == '/');
  }
  return true;
}

static Status find_model(const Package *p, const Json *root, const char **name)
{
  const Json *models = json_member(root, "models");
  if (!models || models->kind != JSON_ARRAY)
    return diag_fail(p->diag, ST_ERROR, "%s: it has no array \"models\"", p->manifest);
  int n = count(models);
  if (n == 0)
    return diag_fail(p->diag, ST_ERROR, "%s, line %d: Invalid model size : 0", p->manifest,
                     models->line);
  if (n > 1)
    return diag_fail(p->diag, ST_ERROR,
                     "%s, line %d: %d models; packages with more than one are not supported yet",
                     p->manifest, models->line, n);
  const Json *model = models->first;
  if (model->kind != JSON_STRING)
    return diag_fail(p->diag, ST_ERROR, "%s, line %d: a model must be a path", p->manifest,
                     model->line);
  if (!stays_inside(model->text))
    return diag_fail(p->diag, ST_ERROR,
                     "%s, line %d: model '%s' is not a path inside the package", p->manifest,
                     model->line, model->text);
  *name = model->text;
  return ST_OK;
}

// Optional; what the file holds decides how it is read, so the type only has to be one we know.
static Status check_type(const Package *p, const Json *root, const char *name)
{
  char type[32];
  const Json *types = json_member(root, "model-types");
  if (types && types->kind != JSON_ARRAY)
    return diag_fail(p->diag, ST_ERROR, "%s, line %d: \"model-types\" is no array", p->manifest,
                     types->line);
  const Json *first = types ? types->first : NULL;
  if (first && first->kind != JSON_STRING)
    return diag_fail(p->diag, ST_ERROR, "%s, line %d: a model type must be a string", p->manifest,
                     first->line);
  if (first)
    snprintf(type, sizeof type, "%s", first->text);
  else
    find_extension(name, type, sizeof type);
  if (!is_model_type(type))
    return diag_fail(p->diag, ST_ERROR,
                     "%s, line %d: model type '%s' is not supported, circle and tflite are",
                     p->manifest, first ? first->line : 1, type);
  return ST_OK;
}

static Status load_package(Package *p, Model **out)
{
  uint8_t *text = NULL;
  size_t size = 0;
  p->manifest = join(p->arena, p->folder, "metadata/MANIFEST");
  if (!p->manifest)
    return diag_oom(p->diag);
  TRY(file_read(p->manifest, &text, &size, p->diag));
  const Json *root = NULL;
  Status s = json_read((const char *)text, size, p->manifest, p->arena, &root, p->diag);
  mem_free(text);
  TRY(s);
  const char *name = NULL;
  TRY(find_model(p, root, &name));
  TRY(check_type(p, root, name));
  const char *path = join(p->arena, p->folder, name);
  return path ? load_file(path, out, p->diag) : diag_oom(p->diag);
}

Status model_load_path(const char *path, Model **out, Diag *d)
{
  struct stat st;
  *out = NULL;
  if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
    return load_by_extension(path, out, d);
  Arena arena = {0};
  Status s = load_package(&(Package){.folder = path, .arena = &arena, .diag = d}, out);
  arena_drop(&arena);
  return s;
}
