// SPDX-License-Identifier: Apache-2.0
// Shapes and types as the API states them.
#ifndef API_INFO_H
#define API_INFO_H

#include "api/session.h"

enum { MAX_NAME_BYTES = 64 };

// NNFW_TYPE of an element type; false where the API has none.
bool info_type(DType type, NNFW_TYPE *out);
// Bytes of one element, 0 for a number that is no NNFW_TYPE.
size_t info_type_bytes(NNFW_TYPE type);
// Fills in *info; the text of a refusal names the tensor.
Status info_fill(nnfw_session *s, const Tensor *t, const Shape *shape,
                 nnfw_tensorinfo *info) MUST_USE;
// Checks rank and dimensions of a caller's info and multiplies them: its size in bytes.
Status info_bytes(nnfw_session *s, const nnfw_tensorinfo *info, size_t *bytes) MUST_USE;

#endif
