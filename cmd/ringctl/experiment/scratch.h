/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A temporary directory of a command.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <gradwire/gradwire.h>

#include <limits.h>

struct scratch {
    char path[PATH_MAX]; /* "": none */
};

/* Makes a directory in $TMPDIR, else /tmp, that only this user can read. */
GW_MUST_CHECK enum gw_err scratch_begin(struct scratch *scratch,
                                        struct gw_error *why);
/* Removes it with its content; links are not followed. */
void scratch_end(struct scratch *scratch);

#endif
