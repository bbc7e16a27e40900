// SPDX-License-Identifier: Apache-2.0
// What the command line tools share.
#include "tool.h"

#include <nnfw/onert_ext.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void tool_fail(int exit_code, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(exit_code);
}

static const char *status_name(NNFW_STATUS status)
{
  static const char *const names[] = {
    "NO_ERROR",      "ERROR",         "UNEXPECTED_NULL",
    "INVALID_STATE", "OUT_OF_MEMORY", "INSUFFICIENT_OUTPUT_SIZE",
    "DEPRECATED_API"};
  return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

void tool_check(nnfw_session *session, NNFW_STATUS status, const char *call)
{
  if (status == NNFW_STATUS_NO_ERROR)
    return;
  char text[8192] = "";
  NNFW_STATUS got = session ? nnfw_get_last_error_message(session, text, sizeof text)
                            : onert_get_thread_error_message(text, sizeof text);
  if (got == NNFW_STATUS_NO_ERROR && text[0])
    tool_fail(EXIT_BAD_RUN, "E: %s", text);
  tool_fail(EXIT_BAD_RUN, "E: %s: %s", call, status_name(status));
}

void *tool_alloc(size_t count, size_t bytes)
{
  void *memory = calloc(count ? count : 1, bytes ? bytes : 1);
  if (!memory)
    tool_fail(EXIT_BAD_RUN, "E: out of memory: %zu times %zu bytes", count, bytes);
  return memory;
}

void tool_print_model(const char *path)
{
  struct stat st;
  if (stat(path, &st) != 0)
    tool_fail(EXIT_BAD_ARGUMENT, "Cannot find: %s", path);
  printf("%s Filename %s\n", S_ISDIR(st.st_mode) ? "Package" : "Model", path);
}

void tool_print_version(const char *program)
{
  uint32_t v = 0;
  tool_check(NULL, nnfw_query_info_u32(NULL, NNFW_INFO_ID_VERSION, &v), "nnfw_query_info_u32");
  printf("%s (nnfw runtime: v%u.%u.%u)\n", program, v >> 24, v >> 8 & 0xffff, v & 0xff);
}

size_t tool_type_bytes(NNFW_TYPE type)
{
  switch (type) {
  case NNFW_TYPE_TENSOR_FLOAT32:
  case NNFW_TYPE_TENSOR_INT32: return 4;
  case NNFW_TYPE_TENSOR_INT64: return 8;
  case NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED: return 2;
  case NNFW_TYPE_TENSOR_QUANT8_ASYMM:
  case NNFW_TYPE_TENSOR_BOOL:
  case NNFW_TYPE_TENSOR_UINT8:
  case NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED: return 1;
  }
  return 0;
}

size_t tool_tensor_bytes(const nnfw_tensorinfo *info)
{
  size_t bytes = tool_type_bytes(info->dtype);
  for (int32_t i = 0; i < info->rank; ++i) {
    size_t dim = info->dims[i] < 0 ? 0 : (size_t)info->dims[i];
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      tool_fail(EXIT_BAD_RUN, "E: a tensor of the model is larger than memory can be");
  }
  return bytes;
}
