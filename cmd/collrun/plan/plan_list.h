/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A list of algorithms: "--algo all,mine.plan,ring". If several are listed, one
 * that fails is reported and left out.
 */
#ifndef PLAN_LIST_H
#define PLAN_LIST_H

#include "common/plan/plan_algo.h"

enum { PLAN_LIST_MAX = 64 };

struct plan_list {
    const struct gw_algo *algos[PLAN_LIST_MAX]; /* each once */
    size_t count;
    bool several; /* all, or more than one word */
};

struct plan_wanted {
    enum gw_collective collective;
    const char *words; /* NULL: all */
    unsigned ranks;    /* 0: any number */
    /* Other collectives are wanted, too: a word for one of them, or for other
     * ranks, is ignored, and the list may be empty. */
    bool others;
};

/* Finds the algorithms that support the ranks. GW_EINVAL: an unknown name, or
 * nothing remains; for a single word, also as plan_algo. */
GW_MUST_CHECK enum gw_err plan_list(const struct plan_wanted *wanted,
                                    struct plan_list *list,
                                    struct gw_error *why);

/* Call it with the error of one algorithm of a list. If others are listed, it
 * reports the error and returns GW_OK: an unsupported case (GW_EINVAL) as a
 * note, a wrong text or plan as a complaint, which is then the command's. */
GW_MUST_CHECK enum gw_err plan_leave_out(const struct plan_list *list,
                                         enum gw_err err, struct gw_error *why);

/* The number of ranks of the first file that has its own; 0: none. `words` may
 * be NULL. */
unsigned plan_list_ranks(const char *words);

#endif
