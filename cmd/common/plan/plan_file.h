/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan file as an algorithm: "--algo mine.plan". It is read when it is first
 * named, before any rank is forked, and kept. Then all look-ups of algorithms
 * find it by a name that is made from the file's, like those of plug-ins
 * (plan_plugin.h).
 */
#ifndef PLAN_FILE_H
#define PLAN_FILE_H

#include <gradwire/plan.h>

/* It has a dot or a slash, and is not a plug-in. */
bool plan_names_file(const char *algo);

/* The file's number of ranks; 0: any number, or it cannot be read. */
unsigned plan_file_ranks(const char *path);

/* The file as an algorithm, if it has a plan for `ranks` (0: for its own, or
 * for any number). GW_EDATA as gw_plan_load; GW_EINVAL: too
 * many files. */
GW_MUST_CHECK enum gw_err plan_file(const char *path, unsigned ranks,
                                    const struct gw_algo **algo,
                                    struct gw_error *why);

/* The path as on the command line; NULL: the algorithm is not of a file. */
const char *plan_file_path(const struct gw_algo *algo);

/* The plan of a file's algorithm, with the root of the file. GW_EDATA as
 * gw_plan_load. */
GW_MUST_CHECK enum gw_err plan_file_make(const struct gw_algo *algo,
                                         unsigned ranks, struct gw_plan **plan,
                                         struct gw_error *why);

#endif
