/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version of the API that these headers describe. The library's own version is the answer of
 * nnfw_query_info_u32(session, NNFW_INFO_ID_VERSION, &version), in the same form.
 */
#ifndef __NNFW_VERSION_H__
#define __NNFW_VERSION_H__

/* cffi: begin */

/* 0xMMmmmmPP: 8 bits major, 16 bits minor, 8 bits patch. */
#define NNFW_VERSION 0x01001f00

/* cffi: end */

#endif
