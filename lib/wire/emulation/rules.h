/* SPDX-License-Identifier: MIT
 *
 * Link rules in user space: delay, jitter, rate, loss, cut, and
 * `pace`, the slow motion. A table holds the rules of the links that lead to
 * this process; the receiver keeps back what has come until it is due, so that
 * any wire obeys and an experiment needs no root. Two things look at it: a wire
 * wrapped around a wire (below), and the control messages (mesh.h).
 *
 *   due = max(sent + delay + up to jitter, end of the one before)
 *         + bytes/rate + pace (at the first slice of a chunk)
 *
 * A lost slice of a wire is one that was sent again: it is due a resend time
 * later (twice the delay, at least 2 ms), and so is all behind it. A lost
 * control message is gone. While a link is down nothing on it is due; what was
 * under way is due when it is up again (wires), or gone (messages). What waits
 * on a wire obeys a change of the rules at once.
 *
 * Times are CLOCK_MONOTONIC of the sender, in `sent_ns` of each header: within
 * a host one clock. 0: counted from when the receiver first saw it.
 *
 * A table is written by one thread and read by others; without rules a look at
 * it costs one load.
 */
#ifndef GW__WIRE_RULES_H
#define GW__WIRE_RULES_H

#include "wire/wire.h"

#include <base/rule.h>

enum { GW__RULE_NODES = 64 };

struct gw__rules;

GW_MUST_CHECK enum gw_err gw__rules_new(uint64_t seed, struct gw__rules **rules,
                                        struct gw_error *why);
void gw__rules_destroy(struct gw__rules **rules);
/* The rule of the link from node `from` to us. A node that is not below
 * GW__RULE_NODES has none. */
void gw__rules_set(struct gw__rules *rules, unsigned from,
                   const struct gw__rule *rule);
/* Every chunk that comes to us takes so long; 0: as fast as it goes. */
void gw__rules_pace(struct gw__rules *rules, uint64_t ns);
/* No rule and no pace. */
bool gw__rules_quiet(const struct gw__rules *rules);
bool gw__rules_down(const struct gw__rules *rules, unsigned from);
/* Grows with each change: who holds something back asks again then. */
uint64_t gw__rules_changes(const struct gw__rules *rules);

/* A stream of messages that arrive in order from one node; one a reader. */
struct gw__due {
    uint64_t last_ns; /* when the one before was through */
};
/* When a message that was sent at `sent_ns` and seen now first is through:
 * asked once a message, in order, or again with *due as it was before.
 * UINT64_MAX: lost (only when `may_lose`; *due is unchanged). A link that is
 * down is asked about by gw__rules_down, when the time has come. `chunk`: the
 * message is the first slice of a chunk (its number is 0), which pace slows
 * down; those behind it follow as they are. */
uint64_t gw__rules_due(struct gw__rules *rules, unsigned from,
                       struct gw__due *due, uint64_t sent_ns, size_t bytes,
                       bool may_lose, bool chunk);

/* A wire that obeys the rules, around *inner, which it owns from then on;
 * `nodes[rank]` is who the ranks are. On failure *inner is closed. It has no
 * windows. `peek` of a slice that is not due answers GW_PENDING, `wait` ends no
 * later than the first one is due, and within 2 ms of a change of the rules
 * while something is held back. Everything else is the inner wire's; the loss
 * of a peer shows to `peek` only after what is due before it. */
GW_MUST_CHECK enum gw_err gw__wire_ruled(struct gw__wire **inner,
                                         struct gw__rules *rules,
                                         const unsigned *nodes,
                                         struct gw__wire **wire,
                                         struct gw_error *why);

#endif
