/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The algorithms that --algo can name: those of the library, of plug-ins
 * (plan_plugin.h) and of plan files (plan_file.h).
 */
#ifndef PLAN_ALGO_H
#define PLAN_ALGO_H

#include <gradwire/plan.h>

enum { PLAN_RANKS_DEFAULT = 4 };

/* The algorithm of a name, a plug-in or a file, for this collective. ranks 0:
 * any number, as in plan_file. GW_EINVAL: an unknown name, with a suggestion,
 * or another collective; GW_EDATA: see plan_plugin and plan_file. */
GW_MUST_CHECK enum gw_err plan_algo(enum gw_collective collective,
                                    const char *word, unsigned ranks,
                                    const struct gw_algo **algo,
                                    struct gw_error *why);

/* The word that selects the algorithm in a command: its name, or the path of
 * its plug-in or file. */
const char *plan_algo_word(const struct gw_algo *algo);
/* The algorithm in a table: the path of a file, or its name. */
const char *plan_algo_label(const struct gw_algo *algo);
/* It is not of the library, whose algorithms the tests verify. */
bool plan_algo_is_added(const struct gw_algo *algo);

/* Makes the plan; a file's has its own root. GW_EINVAL: the ranks are not
 * supported, or a file has another root than a given one, other segments or
 * groups; GW_EDATA as plan_file_make. */
GW_MUST_CHECK enum gw_err plan_make(const struct gw_algo *algo,
                                    const struct gw_algo_args *args,
                                    struct gw_plan **plan,
                                    struct gw_error *why);

/* Verifies an algorithm that is not of the library. args->root receives the
 * root of a file. GW_EPLAN with the sentence of the verdict; others as
 * plan_make. */
GW_MUST_CHECK enum gw_err plan_prove(const struct gw_algo *algo,
                                     struct gw_algo_args *args,
                                     struct gw_error *why);

#endif
