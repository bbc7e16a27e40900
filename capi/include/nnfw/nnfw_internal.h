/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that tools and tests of onert use beside the published ones.
 *
 * Declared with C linkage here. onert's own library has them under their C++ names only, so
 * libonert.so exports both, and programs built against either header find what they look for.
 * States, statuses and ownership are to be read as the head of nnfw.h says.
 */
#ifndef __NNFW_INTERNAL_H__
#define __NNFW_INTERNAL_H__

#include "nnfw.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin */

/* Sets a configuration value. Keys: GRAPH_DOT_DUMP and NUM_THREADS (numbers), USE_SCHEDULER,
 * PROFILING_MODE and ENABLE_LOG (false is one of 0 OFF FALSE N NO, all else true), EXECUTOR (text).
 * ENABLE_LOG and NUM_THREADS hold for the process. ERROR for another key or a number that is none.
 * States: loaded. */
NNFW_STATUS nnfw_set_config(nnfw_session *session, const char *key, const char *value);

/* Copies a configuration value, with its 0 byte, into the `value_size` bytes at `value`. Keys:
 * BACKENDS (joined with ';') and EXECUTOR. ERROR for another key or a buffer that is too small.
 * States: loaded. */
NNFW_STATUS nnfw_get_config(nnfw_session *session, const char *key, char *value,
                            size_t value_size);

/* Loads a circle model from `size` bytes of memory. They are copied, not written to, and may be
 * freed after the call (onert keeps using them until the session is closed). Otherwise as
 * nnfw_load_model_from_file. States: new; becomes loaded. */
NNFW_STATUS nnfw_load_circle_from_buffer(nnfw_session *session, uint8_t *buffer, size_t size);

/* Writes the model with its weights as they are now and the training info as metadata
 * CIRCLE_TRAINING: a session that loads the file has the info set already. The file is replaced
 * as a whole or not at all. UNEXPECTED_NULL comes before INVALID_STATE.
 * States: training, trained. */
NNFW_STATUS nnfw_train_export_circleplus(nnfw_session *session, const char *file_path);

/* Stores type and shape of output `index` of the last run in *out_info and the address of its
 * elements in *out_buffer. The memory belongs to the session; it is valid until the next run or
 * until the session is closed. ERROR unless NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC was set before
 * nnfw_prepare. UNEXPECTED_NULL comes before INVALID_STATE. States: ran. */
NNFW_STATUS nnfw_get_output(nnfw_session *session, uint32_t index, nnfw_tensorinfo *out_info,
                            const void **out_buffer);

/* cffi: end */

#ifdef __cplusplus
}
#endif

#endif
