// SPDX-License-Identifier: Apache-2.0
#include "format/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

typedef struct {
  const char *at, *end;
  const char *label;
  int line;
  Arena *arena;
  Diag *diag;
} Parser;

static Status refuse(const Parser *p, const char *what)
{
  return diag_fail(p->diag, ST_ERROR, "%s, line %d: %s", p->label, p->line, what);
}

static void skip_space(Parser *p)
{
  for (; p->at < p->end && memchr(" \t\r\n", *p->at, 4); ++p->at)
    p->line += *p->at == '\n';
}

static bool take(Parser *p, char c)
{
  bool is = p->at < p->end && *p->at == c;
  p->at += is;
  return is;
}

static bool take_word(Parser *p, const char *word)
{
  size_t n = strlen(word);
  bool is = (size_t)(p->end - p->at) >= n && memcmp(p->at, word, n) == 0;
  p->at += is ? n : 0;
  return is;
}

static bool hex4(Parser *p, uint32_t *code)
{
  static const char digits[] = "0123456789abcdef";
  *code = 0;
  for (int i = 0; i < 4; ++i, ++p->at) {
    if (p->at == p->end || *p->at == '\0')
      return false;
    char c = *p->at;
    const char *d = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    if (!d)
      return false;
    *code = *code * 16 + (uint32_t)(d - digits);
  }
  return true;
}

static char *put_utf8(char *to, uint32_t c)
{
  if (c < 0x80) {
    *to++ = (char)c;
    return to;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  *to++ = (char)((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
  while (more-- > 0)
    *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
  return to;
}

static Status parse_escape(Parser *p, char **to)
{
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char c = p->at < p->end ? *p->at++ : '\0';
  const char *simple = c ? strchr(names, c) : NULL;
  if (simple) {
    *(*to)++ = values[simple - names];
    return ST_OK;
  }
  uint32_t code = 0, low = 0;
  if (c != 'u' || !hex4(p, &code))
    return refuse(p, "an escape in a string is wrong");
  if (code >= 0xd800 && code < 0xe000) {
    // Characters above U+FFFF are written as two surrogates.
    bool pair = code < 0xdc00 && take_word(p, "\\u") && hex4(p, &low);
    if (!pair || low < 0xdc00 || low >= 0xe000)
      return refuse(p, "a surrogate in a string has no partner");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (code == 0)
    return refuse(p, "a string holds a zero byte");
  *to = put_utf8(*to, code);
  return ST_OK;
}

// Behind the opening quote. No escape is shorter than what it stands for.
static Status parse_string(Parser *p, const char **text)
{
  const char *close = p->at;
  while (close < p->end && *close != '"')
    close += *close == '\\' && close + 1 < p->end ? 2 : 1;
  char *to = arena_alloc(p->arena, (size_t)(close - p->at) + 1);
  if (!to)
    return diag_oom(p->diag);
  *text = to;
  while (!take(p, '"')) {
    if (p->at == p->end || (unsigned char)*p->at < 0x20)
      return refuse(p, "a string does not end");
    if (take(p, '\\'))
      TRY(parse_escape(p, &to));
    else
      *to++ = *p->at++;
  }
  return ST_OK;
}

static bool take_digits(Parser *p)
{
  const char *from = p->at;
  while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
    ++p->at;
  return p->at > from;
}

static Status parse_number(Parser *p, Json *v)
{
  const char *from = p->at;
  take(p, '-');
  bool good = take(p, '0') || take_digits(p);
  if (good && take(p, '.'))
    good = take_digits(p);
  if (good && (take(p, 'e') || take(p, 'E'))) {
    if (!take(p, '+'))
      take(p, '-');
    good = take_digits(p);
  }
  if (!good)
    return refuse(p, p->at == from ? "a value is missing" : "a number is wrong");
  v->kind = JSON_NUMBER;
  v->text = arena_string(p->arena, from, (size_t)(p->at - from));
  return v->text ? ST_OK : diag_oom(p->diag);
}

static Status parse_value(Parser *p, int depth, const Json **out, const char *key);

static Status parse_members(Parser *p, int depth, Json *v, char close)
{
  if (depth == MAX_DEPTH)
    return refuse(p, "values are nested too deeply");
  const Json **last = &v->first;
  skip_space(p);
  if (take(p, close))
    return ST_OK;
  do {
    const char *key = NULL;
    if (close == '}') {
      skip_space(p);
      if (!take(p, '"'))
        return refuse(p, "a member's name is missing");
      TRY(parse_string(p, &key));
      skip_space(p);
      if (!take(p, ':'))
        return refuse(p, "':' is missing");
    }
    TRY(parse_value(p, depth + 1, last, key));
    last = (const Json **)&((Json *)*last)->next;
    skip_space(p);
  } while (take(p, ','));
  return take(p, close) ? ST_OK : refuse(p, close == '}' ? "',' or '}' is missing"
                                                         : "',' or ']' is missing");
}

static Status parse_value(Parser *p, int depth, const Json **out, const char *key)
{
  skip_space(p);
  Json *v = arena_alloc(p->arena, sizeof *v);
  if (!v)
    return diag_oom(p->diag);
  *out = v;
  v->line = p->line;
  v->key = key;
  if (take(p, '{')) {
    v->kind = JSON_OBJECT;
    return parse_members(p, depth, v, '}');
  }
  if (take(p, '[')) {
    v->kind = JSON_ARRAY;
    return parse_members(p, depth, v, ']');
  }
  if (take(p, '"')) {
    v->kind = JSON_STRING;
    return parse_string(p, &v->text);
  }
  if (take_word(p, "null"))
    return ST_OK;
  if (take_word(p, "true") || take_word(p, "false")) {
    v->kind = JSON_BOOL;
    v->text = p->at[-2] == 'u' ? "true" : "false";
    return ST_OK;
  }
  return parse_number(p, v);
}

Status json_read(const char *text, size_t length, const char *label, Arena *arena,
                  const Json **value, Diag *d)
{
  Parser p = {text, text + length, label, 1, arena, d};
  TRY(parse_value(&p, 0, value, NULL));
  skip_space(&p);
  return p.at == p.end ? ST_OK : refuse(&p, "something follows the value");
}

const Json *json_member(const Json *object, const char *key)
{
  const Json *v = object->kind == JSON_OBJECT ? object->first : NULL;
  while (v && strcmp(v->key, key) != 0)
    v = v->next;
  return v;
}
