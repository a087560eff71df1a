/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failures that an experiment asks for: "2@3:kill,1@5:stop" ends rank 2 at its
 * step 3, and stops rank 1 at its step 5. The rank does it to itself.
 */
#ifndef COMMON_FAULTS_H
#define COMMON_FAULTS_H

#include <gradwire/base.h>

enum { FAULTS_MAX = 16 };

struct rank_fault {
    unsigned rank, step;
    bool stop; /* SIGSTOP: it hangs; else SIGKILL */
};

struct rank_faults {
    struct rank_fault faults[FAULTS_MAX];
    unsigned count;
};

/* The words for one rank and one step: "stage" and "step". */
struct fault_words {
    const char *rank, *step;
};

/* Adds the faults in `text`. GW_EINVAL: a syntax error, or a rank or step out
 * of range. */
GW_MUST_CHECK enum gw_err
faults_parse(const char *text, const struct fault_words *words, unsigned ranks,
             unsigned steps, struct rank_faults *faults, struct gw_error *why);
/* Does not return from a kill. */
void fault_make(const struct rank_fault *fault);

#endif
