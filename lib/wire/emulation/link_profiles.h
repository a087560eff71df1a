/* SPDX-License-Identifier: MIT
 *
 * Link profiles in user space: delay, jitter, rate, loss, cut, and `pace`, the
 * slow motion. A table holds the profiles of the links to this process. The
 * receiver holds each message back until it is due, so every wire can be
 * emulated and an experiment needs no root. The table has two users: an
 * emulated wire around another wire (below), and the control channel
 * (control_channel.h).
 *
 *   due = max(sent + delay + up to jitter, end of the previous message)
 *         + bytes/rate + pace (at the first slice of a chunk)
 *
 * A lost slice of a wire counts as sent again: it is due a resend time later
 * (twice the delay, at least 2 ms), and so are all slices after it. A lost
 * control message is gone. While a link is down nothing on it is due. Messages
 * in flight are due when the link is up again (wires) or are lost (control
 * messages). Slices that wait on a wire follow a change of the profiles at
 * once.
 *
 * Times are CLOCK_MONOTONIC of the sender, in `sent_ns` of each header: one
 * clock within a host. 0: counted from when the receiver first saw the message.
 *
 * One thread writes a table and others read it. Without profiles a check costs
 * one load.
 */
#ifndef GW__WIRE_LINK_PROFILES_H
#define GW__WIRE_LINK_PROFILES_H

#include "wire/wire.h"

#include <base/nodes/nodes.h>

enum { GW__LINK_PROFILE_NODES = GW__NODES_MAX };

struct gw__link_profiles;

GW_MUST_CHECK enum gw_err
gw__link_profiles_new(uint64_t seed, struct gw__link_profiles **profiles,
                      struct gw_error *why);
void gw__link_profiles_destroy(struct gw__link_profiles **profiles);
/* Sets the profile of the link from node `from` to this process. Nodes from
 * GW__LINK_PROFILE_NODES on have none. */
void gw__link_profiles_set(struct gw__link_profiles *profiles, unsigned from,
                           const struct gw_link_profile *profile);
/* Delays every chunk to this process; 0: no delay. */
void gw__link_profiles_pace(struct gw__link_profiles *profiles, uint64_t ns);
/* Is there neither a profile nor a pace? */
bool gw__link_profiles_quiet(const struct gw__link_profiles *profiles);
bool gw__link_profiles_down(const struct gw__link_profiles *profiles,
                            unsigned from);
/* Grows with each change: recompute the due times of held messages then. */
uint64_t gw__link_profiles_changes(const struct gw__link_profiles *profiles);

/* A stream of messages that arrive in order from one node; one per reader. */
struct gw__due {
    uint64_t last_ns; /* when the previous message had passed */
};
/* The time when a message sent at `sent_ns` and first seen now is due. Call it
 * once per message, in order, or again with *due as it was before. UINT64_MAX:
 * lost (only with `may_lose`; *due is unchanged). It ignores whether the link
 * is down: check gw__link_profiles_down when the time has come. `chunk`: the
 * message is the first slice of a chunk (its number is 0), which the pace
 * delays; the later slices have no pace of their own. */
uint64_t gw__link_profiles_due(struct gw__link_profiles *profiles,
                               unsigned from, struct gw__due *due,
                               uint64_t sent_ns, size_t bytes, bool may_lose,
                               bool chunk);

/* An emulated wire around *inner, which it owns from then on; `nodes[rank]` is
 * the node of each rank. On failure *inner is closed. It has no windows. `peek`
 * of a slice that is not due returns GW_PENDING. `wait` ends when the first
 * slice is due at the latest, and within 2 ms of a change of the profiles while
 * a slice is held. All else is as on the inner wire. `peek` reports the loss of
 * a peer only after all its slices that are due before. */
GW_MUST_CHECK enum gw_err gw__wire_emulated(struct gw__wire **wrapped,
                                            struct gw__link_profiles *profiles,
                                            const unsigned *nodes,
                                            struct gw__wire **wire,
                                            struct gw_error *why);

#endif
