/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan file as an algorithm: "--algo mine.plan" where a command runs one
 * algorithm again and again. It is verified, and found by a name that is made
 * from the file's, like those of plug-ins (plan_plugin.h).
 */
#ifndef PLAN_FILE_H
#define PLAN_FILE_H

#include <gradwire/plan.h>

/* It has a dot or a slash, and is not a plug-in. */
bool plan_names_file(const char *algo);

/* The file's number of ranks; 0: any number, or it cannot be read. */
unsigned plan_file_ranks(const char *path);

/* The file's plan for this number of ranks, as an algorithm; *root receives its
 * root. One file per process, before any rank is forked. GW_EDATA, GW_EPLAN or
 * GW_EIO as gw_plan_load; GW_EPLAN with the sentence of the verdict. */
GW_MUST_CHECK enum gw_err plan_file(const char *path, unsigned ranks,
                                    const struct gw_algo **algo, unsigned *root,
                                    struct gw_error *why);

#endif
