/* SPDX-License-Identifier: MIT
 *
 * The registry: the state that the controllers agree on. It is a deterministic
 * state machine whose input is their log. Replicas that apply the same commands
 * at the same indices hold the same state and give the same answers;
 * gw__registry_digest compares them. It has no clock, no random number and no
 * allocation.
 *
 * Members
 *              register            admit
 *     (no member) ----> joining ----------> active ----> declared dead | left
 *        ^                                        suspect, leave,     |
 *        |                                        deadline           |
 *        +----- register, as another incarnation --------------------+
 *
 *   REGISTER  gives a process its node number. A process that is to be in the
 *             ring is joining until it has copied the state. All others are
 *             active at once: controllers and observers hold no data, servers
 *             get their slots later, and workers pull the rows they need. A
 *             number is given to another incarnation only after the last one
 *             has left or been declared dead: two live processes must never
 *             have the same name. A process that requests any number and has
 *             one already gets the same one.
 *   ADMIT     makes joiners active, at a boundary of ops: they take part from
 *             `from_op` on. The proposer must take part in every op and must
 *             not have begun `from_op`; it does not begin it before the answer.
 *             So no member can have completed that op without the joiners, and
 *             the messages that others have sent for it carry the old epoch and
 *             are dropped. That is why a join needs no flush. All joiners of
 *             one command share one new epoch. The command counts only in the
 *             ring epoch in which it was proposed, since the proposer may have
 *             been declared dead since then and the others may be past
 *             `from_op`.
 *             It does not count for an op that is decided already.
 *   SUSPECT   an observer has not heard from a member. Two observers declare
 *             it dead, or one that knows that the process has
 *             ended because its parent saw it exit. A single observer may be
 *             the one that is cut off. Ends that are known may come together,
 *             in one command, and are one new epoch. One suspicion is enough in
 *             a run of two
 *             members, which has no second observer; controllers that register
 *             are observers too. The leader's suspicion alone is also enough
 *             for a server that gets no lease from it, whichever members still
 *             hear the server (service_observe.c), but it costs no slot its
 *             last replica. A suspicion is about an incarnation, comes from an
 *             active one, and lapses after GW__SUSPICION_LAPSE_MS unless it is
 *             repeated: two suspicions at different times are no proof.
 *   LEAVE     a member or a joiner leaves by its own decision. A server cannot
 *             leave while it has a slot that no other server has in sync; it
 *             must DRAIN first. A suspicion, or its own wish, cannot remove the
 *             last member of the ring: it holds the state. When that member is
 *             known to have ended, or the leader assumes so (GW__DESERTED_NS),
 *             the state is lost, the ring is empty, and the next ring begins at
 *             op 0. The last server can be declared dead although its slots are
 *             lost. An incarnation that its process has given up has ended as
 *             well. The proof is that a later one of the same process
 *             registers: the upper bits of an id's high half are the process's,
 *             and the GW__LIFE_BITS below count its lives.
 *
 * The view
 *   Every change among workers, servers and aggregators is a new epoch. The
 *   ring consists of the members that asked for it, in the order in which they
 *   came. The survivors of a change keep their order, so only the neighbours of
 *   the dead reconnect. Ring messages carry `ring_epoch`, so that a server's
 *   death stops no ring.
 *
 * Flush: when the ring has lost a member
 *     quiet --a ring member is removed--> flushing --all have reported-> quiet
 *                                         |      ^   (decides)
 *                                         +------+ another is removed
 *   REPORT    the values that a survivor holds (report.h). The survivor has
 *             frozen and stays so until the decision, so its report outlives
 *             further removals. The first report counts.
 *             The entry that brings the last report decides each open op by the
 *             rule of decide.h, exactly once per epoch and op. The initial
 *             members of the op are the ring before the removal that began the
 *             first flush that decided about it.
 *   DEADLINE  the leader proposes it when the reports take too long. Members
 *             that have not reported are declared dead in the same entry: one
 *             of them may have used a result that the decision is about to
 *             exclude, so it must not return with it.
 *   During a flush no member is admitted.
 *
 * The parameter server (route.h explains where its slots are)
 *   ROUTES    sets it up, once: the numbers of slots, replicas and servers.
 *   TABLE     the number of the table of that name; makes the table if there is
 *             none. Pushes and pulls name tables by it.
 *   PLACE     where slots are to be, as a placement policy has decided. The
 *             process that runs the cluster calls the policy once for all. The
 *             log carries its result, so that no replica depends on code that
 *             another one may not have.
 *   PROMOTE, HANDOVER
 *             by the slot's primary, in the slot's term.
 *   DRAIN     a server wants to leave: its slots go to others.
 *   With every change of the active servers the slots follow, in the same
 *   entry: there is no state in which a slot's primary is not active.
 *
 * Answered once
 *   A client numbers its requests from 1, has one under way at a time, and
 *   repeats it under the same number until it is answered. The registry keeps
 *   its last answer: a repetition gets that answer and changes nothing, and an
 *   earlier number is refused. If there are GW__CLIENTS_MAX clients and a new
 *   one comes, the one that was idle longest is forgotten, unless it was idle
 *   for less than GW__CLIENT_IDLE_MS; then the new one must wait. So a client
 *   stops repeating before that time is over. A client that is unknown and
 *   whose number is not 1 was forgotten and must begin again.
 */
#ifndef GW__CLUSTER_REGISTRY_H
#define GW__CLUSTER_REGISTRY_H

#include "command.h"
#include "decide.h"
#include "view.h"

enum {
    /* one per process; those of ended processes are kept for a while */
    GW__CLIENTS_MAX = 4 * GW__NODES_MAX,
    GW__CLIENT_IDLE_MS = 60000,
    GW__SUSPICION_LAPSE_MS = 1000,
    GW__DECISIONS_MAX = 64,
    GW__LIFE_BITS = 24
};

enum gw__member_state {
    GW__NO_MEMBER,
    GW__JOINING,
    GW__ACTIVE,
    GW__CONFIRMED_DEAD,
    GW__LEFT,
    GW__MEMBER_STATES
};
/* "unknown", "joining", "active", "declared dead", "left" */
const char *gw__member_state_name(enum gw__member_state state);

struct gw__member {
    enum gw__member_state state;
    enum gw__role role;
    bool ring;
    struct gw__id incarnation;
    char endpoint[GW__ENDPOINT_MAX];
    /* The suspicion that waits for a second one; none: no incarnation. */
    struct gw__process suspected_by;
    uint64_t suspected_ms;
};

struct gw__flush {
    bool open;
    uint64_t since_epoch; /* reports for this and later epochs count */
    struct gw_nodes reported;
    /* The ring before the removal that began the flush: the initial members of
     * the open ops, unless an earlier flush has decided them. */
    unsigned before_count;
    struct gw__ring_member before[GW__NODES_MAX];
    /* Of the nodes in `reported`; the others are undefined. They stay for the
     * survivors to read after the decision, until the next flush. */
    struct gw__report reports[GW__NODES_MAX];
};

struct gw__client {
    struct gw__id id;
    uint64_t sequence;
    uint64_t time_ms; /* of its last request */
    unsigned answer_bytes;
    uint8_t answer[GW__ANSWER_BYTES_MAX];
};

/* Some 2 MB; its owner allocates it once. Any code may read it, but only
 * gw__registry_apply and gw__registry_restore may change it. */
struct gw__registry {
    uint64_t index; /* of the last applied entry */
    uint64_t time_ms;
    struct gw__view view;
    struct gw__member members[GW__NODES_MAX];
    struct gw_nodes known; /* the nodes of members in any state */
    struct gw__flush flush;
    unsigned decision_count;
    struct gw__decision decisions[GW__DECISIONS_MAX]; /* oldest first */
    struct gw__routes routes;
    unsigned client_count; /* an entry is replaced, but never becomes free */
    struct gw__client clients[GW__CLIENTS_MAX];
};

void gw__registry_init(struct gw__registry *registry);

/* Applies the log's entry `index` and writes the answer; returns its bytes.
 * Every index counts once; one that is not above the last is refused. An
 * invalid command is refused and changes nothing but the index. */
size_t gw__registry_apply(struct gw__registry *registry, const void *command,
                          size_t bytes, uint64_t index,
                          uint8_t answer[GW__ANSWER_BYTES_MAX]);

/* The newest decision about an op; NULL: none. */
const struct gw__decision *
gw__registry_decision(const struct gw__registry *registry, uint64_t op);

/* Encodes the whole state. Returns its size; it is written only if that is at
 * most `room`. */
size_t gw__registry_snapshot(const struct gw__registry *registry, void *out,
                             size_t room);
/* GW_EDATA if the bytes are not a snapshot; the registry is then as after
 * init. */
GW_MUST_CHECK enum gw_err gw__registry_restore(struct gw__registry *registry,
                                               const void *data, size_t bytes,
                                               struct gw_error *why);
/* Equal for equal states. */
uint64_t gw__registry_digest(const struct gw__registry *registry);

#endif
