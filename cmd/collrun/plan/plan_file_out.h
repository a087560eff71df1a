/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files that import and export write.
 */
#ifndef PLAN_FILE_OUT_H
#define PLAN_FILE_OUT_H

#include <gradwire/base.h>

#include <stdio.h>

/* Writes with `write` to a file that is complete or unchanged; NULL: to
 * stdout. */
GW_MUST_CHECK enum gw_err plan_file_out(
    const char *path,
    enum gw_err (*write)(const void *context, FILE *file, struct gw_error *why),
    const void *context, struct gw_error *why);

#endif
