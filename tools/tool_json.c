// SPDX-License-Identifier: Apache-2.0
// The little JSON that options carry.
#include "tool_json.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

static const char *skip_blank(const char *p)
{
  return p + strspn(p, " \t\r\n");
}

// Each reader returns where it stopped, or NULL where the text is no JSON.
static const char *read_value(const char *p, Json *json, int depth);

static const char *read_string(const char *p)
{
  if (*p++ != '"')
    return NULL;
  while (*p && *p != '"')
    p += *p == '\\' && p[1] ? 2 : 1;
  return *p == '"' ? p + 1 : NULL;
}

static const char *read_number(const char *p, Json *json)
{
  const char *begin = p;
  p += *p == '-';
  size_t digits = strspn(p, "0123456789");
  if (digits == 0 || (digits > 1 && *p == '0'))
    return NULL;
  p += digits;
  bool whole = *begin != '-' && digits <= 18; // 18 digits fit into 64 bits
  if (*p == '.') {
    digits = strspn(++p, "0123456789");
    if (digits == 0)
      return NULL;
    p += digits;
    whole = false;
  }
  if (*p == 'e' || *p == 'E') {
    p += p[1] == '+' || p[1] == '-' ? 2 : 1;
    digits = strspn(p, "0123456789");
    if (digits == 0)
      return NULL;
    p += digits;
    whole = false;
  }
  if (whole)
    *json = (Json){.kind = JSON_UINT, .number = strtoull(begin, NULL, 10)};
  return p;
}

static const char *read_array(const char *p, Json *json, int depth)
{
  json->kind = JSON_ARRAY;
  p = skip_blank(p + 1);
  if (*p == ']')
    return p + 1;
  for (;;) {
    Json *items = realloc(json->items, (json->n_items + 1) * sizeof *items);
    if (!items)
      tool_fail(EXIT_BAD_RUN, "E: out of memory");
    json->items = items;
    Json *item = &items[json->n_items++];
    *item = (Json){.kind = JSON_OTHER};
    p = read_value(p, item, depth + 1);
    if (!p || *p == ']')
      return p ? p + 1 : NULL;
    if (*p++ != ',')
      return NULL;
  }
}

static const char *read_object(const char *p, int depth)
{
  p = skip_blank(p + 1);
  if (*p == '}')
    return p + 1;
  for (;;) {
    p = read_string(skip_blank(p));
    if (!p || *(p = skip_blank(p)) != ':')
      return NULL;
    Json value = {.kind = JSON_OTHER};
    p = read_value(p + 1, &value, depth + 1);
    json_free(&value);
    if (!p || *p == '}')
      return p ? p + 1 : NULL;
    if (*p++ != ',')
      return NULL;
  }
}

static const char *read_value(const char *p, Json *json, int depth)
{
  static const char *const words[] = {"true", "false", "null"};
  p = skip_blank(p);
  if (depth > MAX_DEPTH)
    return NULL;
  if (*p == '[')
    p = read_array(p, json, depth);
  else if (*p == '{')
    p = read_object(p, depth);
  else if (*p == '"')
    p = read_string(p);
  else if (*p == '-' || (*p >= '0' && *p <= '9'))
    p = read_number(p, json);
  else {
    const char *end = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
      if (strncmp(p, words[i], strlen(words[i])) == 0)
        end = p + strlen(words[i]);
    p = end;
  }
  return p ? skip_blank(p) : NULL;
}

bool json_parse(const char *text, Json *json)
{
  *json = (Json){.kind = JSON_OTHER};
  const char *end = read_value(text, json, 0);
  return end && !*end;
}

void json_free(Json *json)
{
  for (size_t i = 0; i < json->n_items; ++i)
    json_free(&json->items[i]);
  free(json->items);
  *json = (Json){.kind = JSON_OTHER};
}

void json_output_sizes(const char *text, void (*take)(void *user, uint64_t index, uint64_t bytes),
                       void *user)
{
  Json json;
  if (!text)
    return;
  if (!json_parse(text, &json))
    tool_fail(EXIT_BAD_ARGUMENT, "Invalid JSON format for output_sizes \"%s\"", text);
  if (json.kind != JSON_ARRAY || json.n_items % 2)
    tool_fail(EXIT_BAD_ARGUMENT, "JSON argument must be an even-sized array in JSON");
  for (size_t i = 0; i < json.n_items; i += 2) {
    if (json.items[i].kind != JSON_UINT)
      tool_fail(EXIT_BAD_ARGUMENT,
                "Key values(values in even indices) must be unsigned integers");
    if (json.items[i + 1].kind != JSON_UINT)
      tool_fail(EXIT_BAD_ARGUMENT, "All the values in `output_sizes` must be unsigned integers");
    take(user, json.items[i].number, json.items[i + 1].number);
  }
  json_free(&json);
}
