/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plans of tasks. All members make the plan of an op from the same input,
 * so each input is planned once. The input is identified by a hash of all that
 * the plan depends on; members with another input get another plan, which the
 * oracle compares (oracle_plan).
 */
#ifndef SIMCLUSTER_PLANS_H
#define SIMCLUSTER_PLANS_H

#include <ring/recover.h>

/* The plan of an input, and the hashes of both. */
struct planned {
    bool made;
    uint64_t input, hash;
    struct gw__recovery recovery;
};

enum { PLANS_KEPT = 4 };
struct plans {
    struct planned kept[PLANS_KEPT];
    unsigned next; /* to be replaced */
};

/* The plan of this input; it lasts until the next call. NULL: there is none,
 * for the reason in *why. */
const struct planned *plans_find(struct plans *plans,
                                 const struct gw__recovery_case *c,
                                 struct gw_error *why);
void plans_fini(struct plans *plans);

#endif
