/* SPDX-License-Identifier: MIT
 *
 * The validity of a joiner's copy of the state. Pure: lib/ring's runtime and
 * the simulator's joiners use the same rules.
 *
 * A joiner whose first op is m needs the state after op m - 1, and that result
 * must be valid. The earlier members are those that took
 * part in op m - 1.
 *
 *   m is 0           no member to ask: the state is the initial one
 *   earlier members  one of them may have been the only one that had
 *                    completed m - 1; if it dies, the others may decide that
 *                    op otherwise. When all of them have completed it, with
 *                    the same digest, it is valid, whichever dies then.
 *   none left        no member is left that could decide m - 1 otherwise: a
 *                    copy of it is valid, unless that op was decided otherwise
 *                    after the donor had completed it. All copies are the
 *                    same, and the other joiners get it from their owners. If
 *                    there is no copy, the state is lost: each joiner must
 *                    receive that from all others in the same ring.
 *
 *     waits --all earlier members have the same, or they are gone--> valid
 *       |  \-- no earlier members, and no joiner has it -----------> lost
 *       +--- decided otherwise, or another is right: copy again
 *
 * All members without the state have the same first op: no joiner is admitted
 * until the previous joiners have completed an op. So once the earlier members
 * are gone there will be none.
 *
 * No joiner misses a decision that makes its copy void. Members that have yet
 * to begin report in each flush like others, so between two decisions each gets
 * an update; and an update contains the last decision until the next one.
 */
#ifndef GW__STATE_VALIDITY_H
#define GW__STATE_VALIDITY_H

#include <cluster/registry/command.h>
#include <cluster/registry/decide.h>
#include <cluster/registry/view.h>

enum gw__validity_status {
    GW__STATE_VALIDITY_UNKNOWN,
    GW__STATE_VALIDITY_CONFIRMED, /* it may begin */
    GW__STATE_VALIDITY_LOST       /* no member has the state any more */
};

/* A copy: the number of ops in it, a digest over them, and the epoch of the
 * view in which the newest of them was completed at its first donor. */
struct gw__state_validity_copy {
    uint64_t ops, digest, epoch;
};

struct gw__state_validity {
    bool copied;
    struct gw__state_validity_copy copy;
    struct gw_nodes same; /* members with the same copy */
    /* Members that have nothing either, in this ring epoch. */
    struct gw_nodes nothing;
    uint64_t nothing_epoch;
};

/* Another copy than before. */
void gw__state_validity_copied(struct gw__state_validity *validity,
                               const struct gw__state_validity_copy *copy);
void gw__state_validity_forget(struct gw__state_validity *validity);
/* An update. False: a decision has made the copy void, and it is forgotten. */
bool gw__state_validity_decided(struct gw__state_validity *validity,
                                const struct gw__decision *decisions,
                                unsigned count);
/* `from` has the state after so many ops. False: it differs from ours, which
 * must be copied again from there. */
bool gw__state_validity_compare(struct gw__state_validity *validity,
                                unsigned from, uint64_t ops, uint64_t digest);
/* `from` has no state and there are no earlier members in the ring of that
 * epoch. */
void gw__state_validity_peer_empty(struct gw__state_validity *validity,
                                   unsigned from, uint64_t ring_epoch);

/* Is `now` a continuation of the ring `before`? Members come and go one after
 * the other. If none of the former is left, the ring may have been started
 * again, and no copy from the former one is valid. */
bool gw__state_validity_lasts(const struct gw__view *before,
                              const struct gw__view *now);

/* The following take the newest view of the log that `self` knows, decided or
 * not. If `self` is not in it, it waits. The place of an earlier incarnation is
 * not its own: that ring may be gone, and another may have begun. */
enum gw__validity_status
gw__state_validity_status(const struct gw__state_validity *validity,
                          const struct gw__view *view, struct gw__process self);
/* The members whose answer is missing. */
struct gw_nodes
gw__state_validity_requests(const struct gw__state_validity *validity,
                            const struct gw__view *view,
                            struct gw__process self);
/* May `self` report that it has nothing? After that it must not use data from a
 * member that is gone. */
bool gw__state_validity_is_empty(const struct gw__state_validity *validity,
                                 const struct gw__view *view,
                                 struct gw__process self);

#endif
