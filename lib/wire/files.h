/* SPDX-License-Identifier: MIT
 *
 * File descriptors that wires and channels will need: see files.c.
 */
#ifndef GW__FILES_H
#define GW__FILES_H

#include <gradwire/base.h>

/* Reserves `count` more, raising the soft limit if needed. GW_ESYS with a
 * message: the hard limit is too low, and nothing is reserved. Any thread. */
GW_MUST_CHECK enum gw_err gw__files_reserve(unsigned count,
                                            struct gw_error *why);
void gw__files_release(unsigned count);

#endif
