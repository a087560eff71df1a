/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by verify.c (some plans), verify_all.c (every algorithm) and
 * verify_variants.c (one algorithm at one number of ranks).
 */
#ifndef VERIFY_H
#define VERIFY_H

#include <gradwire/plan.h>

/* Reports a wrong plan: sentence, then its history. `where` names the plan or
 * the command that makes it. Returns the exit status. */
int verify_complain(const char *where, const struct gw_verdict *verdict);

/* The algorithms to verify for each number of ranks that they support. */
struct verify_which {
    const struct gw_algo *const *algos;
    size_t count;
    unsigned ranks_max;
    unsigned link_chunks;
};

/* Returns the exit status. */
int verify_all(const struct verify_which *which);

struct verify_tally {
    uint64_t plans, transfers, wrong;
    struct gw_error error;     /* an error such as out of memory; else GW_OK */
    char command[256];         /* reproduces the first fault, if any */
    struct gw_verdict verdict; /* of the first fault */
};

/* Verifies `algo` among `ranks` ranks for several roots, segment counts and
 * rack sizes; adds to *tally. Ends early when interrupted. */
void verify_variants(const struct gw_algo *algo, unsigned ranks,
                     unsigned link_chunks, struct verify_tally *tally);

#endif
