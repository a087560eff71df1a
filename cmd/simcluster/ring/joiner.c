/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copying the state. It is {next op, digest}, so that one message has it. The
 * hard part remains: the newest result of a member is its own only until all
 * members have completed that op. The library's rules decide whether a copy is
 * valid (ring/state_validity.h); this file plays the runtime that uses them.
 *
 *     PULL     next                                      to a member
 *     STATE    next, digest, epoch | the two newest results
 *     NOTHING  ring epoch           from one without state or older members
 *
 * A joiner takes the first state that it receives, and results of any member if
 * they lead to that member's digest. A joiner that finds the state lost returns
 * as another incarnation of the same process, as a runtime does.
 */
#include "ring_simcluster.h"

#include <base/mix.h>

enum { PULL_NS = 8000000, PULL_ALL = 8, PULL_MOST = 32 };

struct pull {
    uint8_t kind, zero[7];
    uint64_t next;
};

struct nothing {
    uint8_t kind, zero[7];
    uint64_t ring_epoch;
};

struct known_result {
    uint64_t op, hash, digest, epoch;
    struct gw_nodes contributors;
};

struct state_reply {
    uint8_t kind, zero[7];
    uint64_t next, digest, epoch;
    uint64_t count;
    struct known_result results[GW__OP_TABLE_OPS];
};

static const struct gw__membership_update *
update_of(const struct sim_node *node)
{
    return gw__member_update(node->member);
}

static const struct gw__view *ring_of(const struct sim_node *node)
{
    return &update_of(node)->view;
}

static struct gw__process self(const struct sim_node *node)
{
    return (struct gw__process){node->node, node->incarnation};
}

uint64_t state_digest(uint64_t digest, uint64_t op,
                      const struct gw_nodes *contributors, uint64_t hash)
{
    const uint64_t chain[3] = {digest, op, hash};
    return gw__mix_bytes(gw__mix_bytes(1, chain, sizeof chain), contributors,
                         sizeof *contributors);
}

/* ---- sending the state ---- */

static void send_state(const struct sim_node *node, unsigned to)
{
    const struct state *s = &node->state;
    struct state_reply reply = {.kind = SIM_NODE_STATE,
                                .next = s->next,
                                .digest = s->digest,
                                .epoch = s->epoch};
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) {
        const struct result *r = &node->results[i];
        if (r->used)
            reply.results[reply.count++] = (struct known_result){
                r->op, r->hash, r->digest, r->epoch, r->contributors};
    }
    sim_node_send(node, to, &reply, sizeof reply);
}

void joiner_pull(struct sim_node *node, unsigned from, const uint8_t *bytes,
                 size_t count)
{
    const struct nothing nothing = {.kind = SIM_NODE_NOTHING,
                                    .ring_epoch = ring_of(node)->ring_epoch};
    (void)bytes;
    if (count != sizeof(struct pull))
        return;
    if (node->has_state)
        send_state(node, from);
    else if (gw__state_validity_is_empty(&node->state.validity, ring_of(node),
                                         self(node)))
        sim_node_send(node, from, &nothing, sizeof nothing);
}

/* ---- receiving the state ---- */

static void forget_state(struct sim_node *node)
{
    struct state *s = &node->state;
    s->known = false;
    gw__state_validity_forget(&s->validity);
}

/* False: it is void already. */
static bool restore_state(struct sim_node *node)
{
    struct state *s = &node->state;
    const struct gw__membership_update *update = update_of(node);
    const struct gw__state_validity_copy copy = {s->next, s->digest, s->epoch};
    gw__state_validity_copied(&s->validity, &copy);
    s->known = gw__state_validity_decided(&s->validity, update->decisions,
                                          update->decision_count);
    return s->known;
}

static void copy_state(struct sim_node *node, const struct state_reply *reply)
{
    struct state *s = &node->state;
    s->next = reply->next;
    s->digest = reply->digest;
    s->epoch = reply->epoch;
    restore_state(node);
}

static bool add_result(struct state *s, const struct known_result *r)
{
    s->digest = state_digest(s->digest, r->op, &r->contributors, r->hash);
    s->epoch = r->epoch;
    s->next++;
    return s->digest == r->digest;
}

/* Applies the sender's results that follow the joiner's state. */
static void apply_later_ops(struct sim_node *node,
                            const struct state_reply *reply)
{
    struct state *s = &node->state;
    for (unsigned round = 0; round < GW__OP_TABLE_OPS; round++)
        for (unsigned i = 0; i < reply->count && i < GW__OP_TABLE_OPS; i++)
            if (s->known && reply->results[i].op == s->next &&
                (!add_result(s, &reply->results[i]) || !restore_state(node)))
                forget_state(node);
    if (s->known && reply->next > s->next)
        copy_state(node, reply);
}

static void receive_state(struct sim_node *node, unsigned from,
                          const struct state_reply *reply)
{
    struct state *s = &node->state;
    if (s->known && reply->next > s->next)
        apply_later_ops(node, reply);
    else if (!s->known || !gw__state_validity_compare(
                              &s->validity, from, reply->next, reply->digest))
        copy_state(node, reply);
}

static bool is_member_of(const struct gw__view *view, unsigned node,
                         uint64_t incarnation)
{
    int rank = gw__view_rank(view, node);
    return rank >= 0 && view->ring[rank].incarnation.low == incarnation;
}

void joiner_state(struct sim_node *node, unsigned from, uint64_t incarnation,
                  const uint8_t *bytes, size_t count)
{
    struct state_reply reply;
    if (count != sizeof reply || node->has_state ||
        !is_member_of(ring_of(node), from, incarnation))
        return;
    memcpy(&reply, bytes, sizeof reply);
    receive_state(node, from, &reply);
    if (node->state.known)
        (void)gw__state_validity_compare(&node->state.validity, from,
                                         reply.next, reply.digest);
}

void joiner_nothing(struct sim_node *node, unsigned from, const uint8_t *bytes,
                    size_t count)
{
    struct nothing nothing;
    if (count != sizeof nothing || node->has_state)
        return;
    memcpy(&nothing, bytes, sizeof nothing);
    gw__state_validity_peer_empty(&node->state.validity, from,
                                  nothing.ring_epoch);
}

void joiner_update(struct sim_node *node)
{
    const struct gw__membership_update *update = update_of(node);
    if (!gw__state_validity_lasts(&node->known, &update->view))
        node->state.over = true;
    gw__view_copy(&node->known, &update->view);
    if (!node->has_state &&
        !gw__state_validity_decided(&node->state.validity, update->decisions,
                                    update->decision_count))
        forget_state(node);
}

/* ---- requesting the state ---- */

/* In a small ring, pulls from all other members. In a large one from a few in
 * turn, first those whose answer is needed. */
static void pull(struct sim_node *node)
{
    const struct pull pull = {.kind = SIM_NODE_PULL, .next = node->state.next};
    const struct gw__view *view = ring_of(node);
    struct gw_nodes from = gw__view_nodes(view);
    unsigned most = view->ring_count;
    if (most > PULL_ALL) {
        struct gw_nodes needed = gw__state_validity_requests(
            &node->state.validity, view, self(node));
        bool any = gw__nodes_is_empty(needed);
        from = any ? from : needed;
        most = any ? PULL_ALL : PULL_MOST;
    }
    gw__nodes_remove(&from, node->node);
    for (unsigned i = 0; i < view->ring_count && most > 0; i++) {
        unsigned first =
            view->ring_count > PULL_ALL ? node->state.pull_rank : 0;
        unsigned to = view->ring[(first + i) % view->ring_count].node;
        if (!gw__nodes_has(&from, to))
            continue;
        sim_node_send(node, to, &pull, sizeof pull);
        most--;
    }
    node->state.pull_rank += PULL_ALL;
    node->state.pull_ns = node->now_ns + PULL_NS;
}

/* It is in the ring: is its state good enough to take part? A member that has
 * been removed and does not know it may have copied later results; it waits. */
static bool may_begin(struct sim_node *node)
{
    const struct state *s = &node->state;
    uint64_t from_op = node->ops.next_op;
    if (s->known && s->next > from_op && !s->over &&
        oracle_active(node->cluster, node->node, node->incarnation))
        sim_node_fail(node, "the state after op %llu, admitted from op %llu on",
                      (unsigned long long)s->next - 1,
                      (unsigned long long)from_op);
    return gw__state_validity_status(&s->validity, ring_of(node), self(node)) ==
           GW__STATE_VALIDITY_CONFIRMED;
}

static void send_ready(struct sim_node *node)
{
    struct state *s = &node->state;
    if (s->ready_sent || !s->known)
        return;
    s->ready_sent = true;
    const struct gw__member_request request = {.kind = GW__REQUEST_READY,
                                               .op = s->next};
    scripted_run(node, &request);
}

/* ---- giving up ---- */

static bool is_lost(struct sim_node *node)
{
    struct state *s = &node->state;
    if (s->over && !s->known && s->next == 0)
        s->over = false; /* nothing was copied */
    return s->over ||
           gw__state_validity_status(&s->validity, ring_of(node), self(node)) ==
               GW__STATE_VALIDITY_LOST;
}

/* Starts again from the beginning, which ends its place in the ring. */
static void give_up(struct sim_node *node)
{
    node->gone = true;
    simcluster_restart(node->cluster, node->node);
}

/* There are no older members, only their state. */
static bool is_successor(const struct sim_node *node)
{
    const struct gw__view *view = ring_of(node);
    uint64_t from_op = node->ops.next_op;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op < from_op)
            return false;
    return from_op > 0;
}

void joiner_work(struct sim_node *node)
{
    if (node->has_state)
        return;
    if (is_lost(node)) {
        if (!node->state.over)
            oracle_lost(node);
        give_up(node);
        return;
    }
    if (ring_of(node)->ring_count == 0)
        return;
    if (node->in_ring && may_begin(node)) {
        node->cluster->met.inherited += is_successor(node);
        oracle_state(node);
        node->has_state = true;
        return;
    }
    if (node->now_ns >= node->state.pull_ns)
        pull(node);
    send_ready(node);
}

uint64_t joiner_due(const struct sim_node *node)
{
    return node->has_state || ring_of(node)->ring_count == 0
               ? 0
               : node->state.pull_ns;
}
