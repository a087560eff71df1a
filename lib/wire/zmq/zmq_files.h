/* SPDX-License-Identifier: MIT
 *
 * Open files of this process that libzmq will want; see zmq_files.c.
 */
#ifndef GW__ZMQ_FILES_H
#define GW__ZMQ_FILES_H

#include <gradwire/base.h>

/* `count` more, raising the soft limit if need be. GW_ESYS with a sentence: the
 * hard limit does not allow it; nothing is reserved. Any thread. */
GW_MUST_CHECK enum gw_err gw__files_reserve(unsigned count,
                                            struct gw_error *why);
void gw__files_release(unsigned count);

#endif
