// SPDX-License-Identifier: Apache-2.0
// What the command line tools share: how they end, talk to the library and name a model.
//
// A tool that meets an error prints one line to stderr and exits; nothing here returns a failure.
#ifndef TOOL_H
#define TOOL_H

#include <nnfw/nnfw.h>

#include <stdnoreturn.h>

enum {
  EXIT_BAD_ARGUMENT = 1, // the value of an option or a path given on the command line
  EXIT_BAD_RUN = 255,    // everything else: the command line as such, data, the library
};

// Prints one line to stderr and exits.
noreturn void tool_fail(int exit_code, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

// Exits with the library's text unless `status` is NO_ERROR. `call` names what was called.
void tool_check(nnfw_session *session, NNFW_STATUS status, const char *call);
#define CALL(function, session, ...) tool_check(session, function(session, __VA_ARGS__), #function)

// Memory that is there, filled with 0.
void *tool_alloc(size_t count, size_t bytes);

// Prints "Model Filename <path>", or "Package ..." for a directory. Exits if there is none.
void tool_print_model(const char *path);
// Prints program and version of the library.
void tool_print_version(const char *program);

// Bytes of an element; 0 for a type that is none.
size_t tool_type_bytes(NNFW_TYPE type);
// Bytes of a tensor; 0 where a dimension is not known.
size_t tool_tensor_bytes(const nnfw_tensorinfo *info);

#endif
