/* SPDX-License-Identifier: MIT
 *
 * The registry: what the controllers agree on. A deterministic state machine
 * whose input is their log: every replica that applies the same commands at the
 * same indices holds the same state and gives the same answers; gw__registry_
 * digest says whether two do. No clock, no random number, no allocation.
 *
 * Members
 *              register            admit
 *     (nobody) -------> joining ----------> active --------> convicted | left
 *        ^                                        accuse, leave,     |
 *        |                                        deadline           |
 *        +----- register, as another incarnation --------------------+
 *
 *   REGISTER  gives a process its node number. Who is to stand in the ring is
 *             joining until it has copied the state; all others are active at
 *             once: controllers and observers hold no data, servers get their
 *             slots later, workers pull what they need. A number is given to
 * another incarnation only after the last one has left or been convicted: two
 * live processes must never answer to one name. Who asks for any number and has
 * one already is told that one. ADMIT     makes joiners active, at a boundary
 * of ops: from `from_op` on they take part. Whoever proposes it must take part
 * in every op and not have begun `from_op`; it does not begin it before the
 *             answer. So nobody can have completed that op without the joiners,
 *             and what others have sent of it carries the old epoch and is
 *             dropped. That is why a join needs no flush. All joiners of one
 *             command share one new epoch. It counts only in the ring epoch
 *             in which it was proposed (the proposer may be convicted by now,
 *             and the others past `from_op`), and not for an op that is
 *             decided already.
 *   ACCUSE    an observer has not heard from the accused. Two observers
 *             convict, or one that knows for certain that the process has ended
 *             (its parent saw it exit): a single observer may be the one that
 *             is cut off. Only in a run of two members, where there is no
 *             second observer, is one guess enough; controllers that register
 *             are observers too. And of a server that gets no lease from the
 *             leader, whoever else may hear it, the leader's guess alone is
 *             enough (service_watch.c), but costs no slot its last replica. An
 *             accusation is about an incarnation, by an active one, and lapses
 *             after GW__ACCUSATION_LAPSE_MS unless it is repeated: two doubts
 *             at different times are no proof.
 *   LEAVE     a member goes of its own will, or a joiner. A server cannot while
 *             it has a slot that nobody else has in sync; it is told to DRAIN
 *             before. The last member of the ring cannot be removed by a guess
 *             or at its own wish: it holds the state. When it is certain that
 *             it has ended, or the leader takes it for certain
 *             (GW__DESERTED_NS), the state is lost, the ring is empty, and the
 *             next one begins anew, at op 0. The last server can be convicted,
 *             though its slots are lost: whoever ended it knows. An incarnation
 *             that its process has given up has ended, too, and the proof is
 *             that a later one of the same process registers: the upper bits of
 *             an id's high half are the process's, the GW__LIFE_BITS below
 *             count its lives.
 *
 * The view
 *   Every change among workers and servers is a new epoch. Members that said
 *   so stand in the ring, in the order in which they came: the survivors of a
 *   change keep their order, so only the neighbours of the dead reconnect.
 *   Ring messages carry `ring_epoch`, so that a server's death stops no ring.
 *
 * Flush: when the ring has lost a member
 *     quiet --a ring member is removed--> flushing --all have reported-> quiet
 *                                         |      ^   (decides)
 *                                         +------+ another is removed
 *   REPORT    what a survivor holds (report.h); it has frozen and stays so
 *             until the decision, so its report outlives further removals. The
 *             first counts.
 *   The entry that brings the last report decides each open op by the rule of
 *   decide.h: exactly once an (epoch, op). The origin of an op is the ring
 *   before the removal that began the first flush that decided about it.
 *   DEADLINE  the leader proposes it when the reports take too long. The
 *             silent are convicted in the same entry: one of them may have
 *             used a result that the decision is about to exclude, so it must
 *             not come back with it.
 *   While flushing nobody is admitted.
 *
 * The parameter server (route.h says where its slots are and why)
 *   ROUTES    sets it up: how many slots, replicas and servers; once.
 *   TABLE     the number of the table of that name, which is made when there is
 *             none. Pushes and pulls name tables by it.
 *   PLACE     where slots are to be: what a policy of placement has said. The
 *             policy itself is asked by whoever runs the cluster, once for all;
 *             the log carries its words, so that no replica depends on code
 * that another one may not have. PROMOTE, HANDOVER   by the slot's primary, in
 * the slot's term. DRAIN     a server wants to leave: its slots go to others.
 *   With every change of the active servers the slots follow, in the same
 *   entry: there is no state in which a slot's primary is not active.
 *
 * Link rules belong to the link from one node to another. LINK sets the fields
 * that it names and answers the whole rule; CUT takes down all links between
 * two sets of nodes, both ways; HEAL takes every link up again and leaves
 * delays, rates and losses alone.
 *
 * Answered once
 *   A client numbers its requests from 1, has one under way at a time, and
 *   repeats it under the same number until it is answered. The registry keeps
 *   its last answer: a repetition gets that and does nothing; an earlier number
 *   is refused. Of GW__CLIENTS_MAX clients the one that was idle longest is
 *   forgotten when a new one comes, but none that was idle for less than
 *   GW__CLIENT_IDLE_MS (then the new one is asked to wait). So a client stops
 *   repeating before that time is over; an unknown one whose number is not 1
 *   was forgotten and is told to begin anew.
 */
#ifndef GW__CLUSTER_REGISTRY_H
#define GW__CLUSTER_REGISTRY_H

#include "command.h"
#include "decide.h"
#include "view.h"

enum {
    GW__CLIENTS_MAX = 256,
    GW__CLIENT_IDLE_MS = 60000,
    GW__ACCUSATION_LAPSE_MS = 1000,
    GW__DECISIONS_MAX = 64,
    GW__LIFE_BITS = 24
};

enum gw__member_state {
    GW__NO_MEMBER,
    GW__JOINING,
    GW__ACTIVE,
    GW__CONVICTED,
    GW__LEFT,
    GW__MEMBER_STATES
};
/* "unknown", "joining", "active", "convicted", "left" */
const char *gw__member_state_name(enum gw__member_state state);

struct gw__member {
    enum gw__member_state state;
    enum gw__role role;
    bool ring;
    struct gw__id incarnation;
    char endpoint[GW__ENDPOINT_MAX];
    /* The accusation that waits for a second one; without an incarnation:
     * none. */
    struct gw__process accuser;
    uint64_t accused_ms;
};

struct gw__flush {
    bool open;
    uint64_t since_epoch; /* reports for this and later epochs count */
    uint64_t reported;    /* nodes as bits */
    /* Of those nodes; they stay for the survivors to read after the decision,
     * until the next flush. */
    struct gw__report reports[GW__NODES_MAX];
    /* The ring before the removal that began the flush: where the open ops
     * began, unless an earlier flush has decided about them. */
    unsigned before_count;
    struct gw__ring_member before[GW__NODES_MAX];
};

struct gw__client {
    struct gw__id id; /* none: this entry is free */
    uint64_t sequence;
    uint64_t time_ms; /* of its last request */
    unsigned answer_bytes;
    uint8_t answer[GW__ANSWER_BYTES_MAX];
};

/* Some 500 KB; its owner allocates it once. To be read by anybody, changed by
 * nobody but gw__registry_apply and gw__registry_restore. */
struct gw__registry {
    uint64_t index; /* of the entry applied last */
    uint64_t time_ms;
    struct gw__view view;
    struct gw__member members[GW__NODES_MAX];
    struct gw__flush flush;
    unsigned decision_count;
    struct gw__decision decisions[GW__DECISIONS_MAX]; /* oldest first */
    struct gw__routes routes;
    struct gw__rule links[GW__NODES_MAX][GW__NODES_MAX]; /* from, to */
    struct gw__client clients[GW__CLIENTS_MAX];
};

void gw__registry_init(struct gw__registry *registry);

/* Applies the log's entry `index` and writes the answer; returns its bytes.
 * Every index counts once; one that is not above the last is refused. Bytes
 * that are no command are refused and change nothing but the index. */
size_t gw__registry_apply(struct gw__registry *registry, const void *command,
                          size_t bytes, uint64_t index,
                          uint8_t answer[GW__ANSWER_BYTES_MAX]);

/* The newest decision about an op; NULL when there is none. */
const struct gw__decision *
gw__registry_decision(const struct gw__registry *registry, uint64_t op);

/* The whole state as bytes. Returns how many it takes; they are written only
 * when that is at most `room`. */
size_t gw__registry_snapshot(const struct gw__registry *registry, void *out,
                             size_t room);
/* GW_EDATA for what no snapshot is; the registry is then as after init. */
GW_MUST_CHECK enum gw_err gw__registry_restore(struct gw__registry *registry,
                                               const void *data, size_t bytes,
                                               struct gw_error *why);
/* Equal for equal states. */
uint64_t gw__registry_digest(const struct gw__registry *registry);

#endif
