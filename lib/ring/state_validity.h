/* SPDX-License-Identifier: MIT
 *
 * What a joiner's copy of the state is worth. Pure; lib/ring's runtime and the
 * simulator's joiners ask the same.
 *
 * A joiner that takes part from op m on needs the state after op m - 1, and
 * that result has to stand. Its elders are the members that took part in m - 1.
 *
 *   first member   nobody has to be asked: m is 0, the state is the initial one
 *   with elders    one of them may have been the only one that had completed
 *                  m - 1; if it dies, the others may decide that op otherwise.
 *                  When all of them have completed it, with the same digest,
 *                  it stands, whoever dies then.
 *   without        nobody is left who could decide m - 1 otherwise: a copy of
 *                  it stands, unless that op was decided otherwise after its
 *                  giver had completed it. All that have one have the same;
 *                  the rest copy it from them. If nobody has one, the state is
 *                  lost: each must hear that from all others in the same ring.
 *
 *     waits --all elders have the same, or they are gone--> stands
 *       |  \-- no elders, and nobody here has it ---------> lost
 *       +--- decided otherwise, or another is right: copied anew
 *
 * All who lack the state have the same first op: nobody is admitted before the
 * joiners of before have completed an op. So elders are who took part earlier,
 * and once they are gone there will be none.
 *
 * Nobody misses a decision that makes its copy void. Members that have yet to
 * begin report in each flush like others, so between two decisions each hears
 * news; and an earlier decision is in the news until the next one.
 */
#ifndef GW__STATE_VALIDITY_H
#define GW__STATE_VALIDITY_H

#include <cluster/registry/command.h>
#include <cluster/registry/decide.h>
#include <cluster/registry/view.h>

enum gw__worth {
    GW__STATE_VALIDITY_WAITS,
    GW__STATE_VALIDITY_STANDS, /* it may begin */
    GW__STATE_VALIDITY_LOST    /* nobody has the state any more */
};

/* What is copied: ops that are in it, a digest over them, and the epoch of the
 * view in which its giver (or who gave it to that one) had completed the newest
 * of them. */
struct gw__state_validity_copy {
    uint64_t ops, digest, epoch;
};

struct gw__state_validity {
    bool copied;
    struct gw__state_validity_copy copy;
    uint64_t same; /* members that have the same: nodes as bits */
    /* Members that have nothing either, in this ring epoch. */
    uint64_t nothing, nothing_epoch;
};

/* Another copy than before. */
void gw__state_validity_copied(struct gw__state_validity *claim,
                               const struct gw__state_validity_copy *copy);
void gw__state_validity_forget(struct gw__state_validity *claim);
/* News. False: the copy is void by a decision and is forgotten. */
bool gw__state_validity_decided(struct gw__state_validity *claim,
                                const struct gw__decision *decisions,
                                unsigned count);
/* Would a copy be void by these? */
bool gw__copy_is_void(const struct gw__state_validity_copy *copy,
                      const struct gw__decision *decisions, unsigned count);
/* `from` has the state after so many ops. False: it differs from ours, which is
 * to be copied anew from there. */
bool gw__state_validity_heard(struct gw__state_validity *claim, unsigned from,
                              uint64_t ops, uint64_t digest);
/* `from` has neither the state nor elders, in the ring of that epoch. */
void gw__state_validity_heard_nothing(struct gw__state_validity *claim,
                                      unsigned from, uint64_t ring_epoch);

/* Is `now` a ring that has come of `before`? Members go and come one after the
 * other; when none of the former is there the ring may have been begun anew,
 * and nothing that was copied in it counts. */
bool gw__state_validity_lasts(const struct gw__view *before,
                              const struct gw__view *now);

/* The rest is asked with the newest view of the log that `self` knows, decided
 * in or not; not in it: it waits. The place of an earlier life is not its own:
 * that ring may be no more, and another have begun. */
enum gw__worth gw__state_validity_worth(const struct gw__state_validity *claim,
                                        const struct gw__view *view,
                                        struct gw__process self);
/* Whose word is missing: nodes as bits. */
uint64_t gw__state_validity_asks(const struct gw__state_validity *claim,
                                 const struct gw__view *view,
                                 struct gw__process self);
/* May `self` tell others that it has nothing? It must not use what a member
 * that is gone has sent afterwards. */
bool gw__state_validity_is_empty(const struct gw__state_validity *claim,
                                 const struct gw__view *view,
                                 struct gw__process self);

#endif
