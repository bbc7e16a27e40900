// SPDX-License-Identifier: Apache-2.0
// onert declares five functions without extern "C", so programs built against it ask for the
// names of the Itanium C++ ABI. Both names lead to the same code. size_t is `m` on LP64, `j` on
// ILP32.
#include "api/session.h"

#if __SIZEOF_POINTER__ == 8
#define MANGLED_SIZE "m"
#else
#define MANGLED_SIZE "j"
#endif

#define MANGLED(name, label, parameters, arguments)                                                \
  NNFW_STATUS mangled_##name parameters __asm__(label) __attribute__((visibility("default")));     \
  NNFW_STATUS mangled_##name parameters                                                            \
  {                                                                                                \
    return nnfw_##name arguments;                                                                  \
  }

MANGLED(set_config, "_Z15nnfw_set_configP12nnfw_sessionPKcS2_",
        (nnfw_session * session, const char *key, const char *value), (session, key, value))
MANGLED(get_config, "_Z15nnfw_get_configP12nnfw_sessionPKcPc" MANGLED_SIZE,
        (nnfw_session * session, const char *key, char *value, size_t value_size),
        (session, key, value, value_size))
MANGLED(load_circle_from_buffer,
        "_Z28nnfw_load_circle_from_bufferP12nnfw_sessionPh" MANGLED_SIZE,
        (nnfw_session * session, uint8_t *buffer, size_t size), (session, buffer, size))
MANGLED(train_export_circleplus, "_Z28nnfw_train_export_circleplusP12nnfw_sessionPKc",
        (nnfw_session * session, const char *file_path), (session, file_path))
MANGLED(get_output, "_Z15nnfw_get_outputP12nnfw_sessionjP15nnfw_tensorinfoPPKv",
        (nnfw_session * session, uint32_t index, nnfw_tensorinfo *out_info,
         const void **out_buffer),
        (session, index, out_info, out_buffer))
