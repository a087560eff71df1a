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
#include "world.h"

#include <base/mix.h>

enum { PULL_NS = 8000000 };

struct pull {
    uint8_t kind, zero[7];
    uint64_t next;
};

struct nothing {
    uint8_t kind, zero[7];
    uint64_t ring_epoch;
};

struct known_result {
    uint64_t op, contributors, hash, digest, epoch;
};

struct given {
    uint8_t kind, zero[7];
    uint64_t next, digest, epoch;
    uint64_t count;
    struct known_result results[GW__OP_TABLE_OPS];
};

static const struct gw__membership_update *news_of(const struct toy *toy)
{
    return gw__member_update(toy->member);
}

static const struct gw__view *ring_of(const struct toy *toy)
{
    return &news_of(toy)->view;
}

static struct gw__process self(const struct toy *toy)
{
    return (struct gw__process){toy->node, toy->incarnation};
}

/* ---- sending the state ---- */

static void give(const struct toy *toy, unsigned to)
{
    const struct state *s = &toy->state;
    struct given given = {.kind = TOY_STATE,
                          .next = s->next,
                          .digest = s->digest,
                          .epoch = s->epoch};
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) {
        const struct result *r = &toy->results[i];
        if (r->used)
            given.results[given.count++] = (struct known_result){
                r->op, r->contributors, r->hash, r->digest, r->epoch};
    }
    toy_send(toy, to, &given, sizeof given);
}

void joiner_pull(struct toy *toy, unsigned from, const uint8_t *bytes,
                 size_t count)
{
    const struct nothing nothing = {.kind = TOY_NOTHING,
                                    .ring_epoch = ring_of(toy)->ring_epoch};
    (void)bytes;
    if (count != sizeof(struct pull))
        return;
    if (toy->sure)
        give(toy, from);
    else if (gw__state_validity_is_empty(&toy->state.validity, ring_of(toy),
                                         self(toy)))
        toy_send(toy, from, &nothing, sizeof nothing);
}

/* ---- receiving the state ---- */

static void forget_state(struct toy *toy)
{
    struct state *s = &toy->state;
    s->known = false;
    gw__state_validity_forget(&s->validity);
}

/* False: it is void already. */
static bool claim(struct toy *toy)
{
    struct state *s = &toy->state;
    const struct gw__membership_update *update = news_of(toy);
    const struct gw__state_validity_copy copy = {s->next, s->digest, s->epoch};
    gw__state_validity_copied(&s->validity, &copy);
    s->known = gw__state_validity_decided(&s->validity, update->decisions,
                                          update->decision_count);
    return s->known;
}

static void copy_state(struct toy *toy, const struct given *given)
{
    struct state *s = &toy->state;
    s->next = given->next;
    s->digest = given->digest;
    s->epoch = given->epoch;
    claim(toy);
}

static bool add_result(struct state *s, const struct known_result *r)
{
    const uint64_t chain[4] = {s->digest, r->op, r->contributors, r->hash};
    s->digest = gw__mix_bytes(1, chain, sizeof chain);
    s->epoch = r->epoch;
    s->next++;
    return s->digest == r->digest;
}

/* Applies the sender's results that follow the joiner's state. */
static void apply_later_ops(struct toy *toy, const struct given *given)
{
    struct state *s = &toy->state;
    for (unsigned round = 0; round < GW__OP_TABLE_OPS; round++)
        for (unsigned i = 0; i < given->count && i < GW__OP_TABLE_OPS; i++)
            if (s->known && given->results[i].op == s->next &&
                (!add_result(s, &given->results[i]) || !claim(toy)))
                forget_state(toy);
    if (s->known && given->next > s->next)
        copy_state(toy, given);
}

static void receive_state(struct toy *toy, unsigned from,
                          const struct given *given)
{
    struct state *s = &toy->state;
    if (s->known && given->next > s->next)
        apply_later_ops(toy, given);
    else if (!s->known || !gw__state_validity_heard(&s->validity, from,
                                                    given->next, given->digest))
        copy_state(toy, given);
}

static bool is_member_of(const struct gw__view *view, unsigned node,
                         uint64_t incarnation)
{
    int rank = gw__view_rank(view, node);
    return rank >= 0 && view->ring[rank].incarnation.low == incarnation;
}

void joiner_state(struct toy *toy, unsigned from, uint64_t incarnation,
                  const uint8_t *bytes, size_t count)
{
    struct given given;
    if (count != sizeof given || toy->sure ||
        !is_member_of(ring_of(toy), from, incarnation))
        return;
    memcpy(&given, bytes, sizeof given);
    receive_state(toy, from, &given);
    if (toy->state.known)
        (void)gw__state_validity_heard(&toy->state.validity, from, given.next,
                                       given.digest);
}

void joiner_nothing(struct toy *toy, unsigned from, const uint8_t *bytes,
                    size_t count)
{
    struct nothing nothing;
    if (count != sizeof nothing || toy->sure)
        return;
    memcpy(&nothing, bytes, sizeof nothing);
    gw__state_validity_heard_nothing(&toy->state.validity, from,
                                     nothing.ring_epoch);
}

void joiner_news(struct toy *toy)
{
    const struct gw__membership_update *update = news_of(toy);
    if (!gw__state_validity_lasts(&toy->known, &update->view))
        toy->state.over = true;
    toy->known = update->view;
    if (!toy->sure &&
        !gw__state_validity_decided(&toy->state.validity, update->decisions,
                                    update->decision_count))
        forget_state(toy);
}

/* ---- requesting the state ---- */

static void pull(struct toy *toy)
{
    const struct pull pull = {.kind = TOY_PULL, .next = toy->state.next};
    const struct gw__view *view = ring_of(toy);
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].node != toy->node)
            toy_send(toy, view->ring[i].node, &pull, sizeof pull);
    toy->state.pull_ns = toy->now_ns + PULL_NS;
}

/* It is in the ring: is its state good enough to take part? A member that has
 * been removed and does not know it may have copied later results; it waits. */
static bool may_begin(struct toy *toy)
{
    const struct state *s = &toy->state;
    uint64_t from_op = toy->ops.next_op;
    if (s->known && s->next > from_op && !s->over &&
        oracle_active(toy->world, toy->node, toy->incarnation))
        toy_fail(toy, "the state after op %llu, admitted from op %llu on",
                 (unsigned long long)s->next - 1, (unsigned long long)from_op);
    return gw__state_validity_score(&s->validity, ring_of(toy), self(toy)) ==
           GW__STATE_VALIDITY_STANDS;
}

static void say_ready(struct toy *toy)
{
    struct state *s = &toy->state;
    const struct gw__member_request request = {.kind = GW__REQUEST_READY,
                                               .op = s->next};
    if (s->ready_said || !s->known)
        return;
    s->ready_said = true;
    toy_ask(toy, &request);
}

/* ---- giving up ---- */

static bool is_lost(struct toy *toy)
{
    struct state *s = &toy->state;
    if (s->over && !s->known && s->next == 0)
        s->over = false; /* nothing was copied */
    return s->over ||
           gw__state_validity_score(&s->validity, ring_of(toy), self(toy)) ==
               GW__STATE_VALIDITY_LOST;
}

/* Starts again from the beginning, which ends its place in the ring. */
static void give_up(struct toy *toy)
{
    toy->gone = true;
    world_restart(toy->world, toy->node);
}

/* There are no older members, only their state. */
static bool is_heir(const struct toy *toy)
{
    const struct gw__view *view = ring_of(toy);
    uint64_t from_op = toy->ops.next_op;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op < from_op)
            return false;
    return from_op > 0;
}

void joiner_work(struct toy *toy)
{
    if (toy->sure)
        return;
    if (is_lost(toy)) {
        if (!toy->state.over)
            oracle_lost(toy);
        give_up(toy);
        return;
    }
    if (ring_of(toy)->ring_count == 0)
        return;
    if (toy->in_ring && may_begin(toy)) {
        toy->world->met.inherited += is_heir(toy);
        oracle_state(toy);
        toy->sure = true;
        return;
    }
    if (toy->now_ns >= toy->state.pull_ns)
        pull(toy);
    say_ready(toy);
}

uint64_t joiner_due(const struct toy *toy)
{
    return toy->sure || ring_of(toy)->ring_count == 0 ? 0 : toy->state.pull_ns;
}
