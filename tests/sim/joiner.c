/* SPDX-License-Identifier: MIT
 *
 * Copying the state. It is {next op, digest}, so that one message has it; what
 * is hard about it is left: the newest result of a member is its own only until
 * everybody has completed that op. If the giver dies before, the others may
 * decide otherwise, and a joiner that went on from the giver's state would be
 * the only one in the world to have it.
 *
 *     PULL   next                          to a member
 *     STATE  next, digest | certain up to | the two newest results
 *
 * So a joiner knows whose state it has, and since when it is certain:
 *   - the giver itself says later that everybody has completed that op, as it
 *     has completed the one after; or
 *   - all members of the view that took part in it say that they have completed
 *     it with the same digest: then whoever survives holds it.
 * Until then it does not begin its first op. When the giver is gone before, it
 * begins to copy anew.
 */
#include "world.h"

enum { PULL_NS = 8000000 };

struct pull {
    uint8_t kind, zero[7];
    uint64_t next;
};

struct known_result {
    uint64_t op, contributors, hash, digest;
};

struct given {
    uint8_t kind, zero[7];
    uint64_t next, digest, certain;
    uint64_t count;
    struct known_result results[GW__BOOK_OPS];
};

static const struct gw__view *ring_of(const struct toy *toy)
{
    return &gw__member_news(toy->member)->view;
}

/* ---- giving ---- */

void joiner_pull(struct toy *toy, unsigned from, const uint8_t *bytes,
                 size_t count)
{
    const struct state *s = &toy->state;
    struct given given = {.kind = TOY_STATE, .next = s->next};
    (void)bytes;
    if (!toy->sure || count != sizeof(struct pull))
        return;
    given.digest = s->digest;
    given.certain = s->next;
    for (unsigned i = 0; i < GW__BOOK_OPS; i++) {
        const struct result *r = &toy->results[i];
        if (!r->used)
            continue;
        given.results[given.count++] =
            (struct known_result){r->op, r->contributors, r->hash, r->digest};
        if (r->op + 1 == s->next)
            given.certain = r->op; /* that it completed itself just now */
    }
    toy_send(toy, from, &given, sizeof given);
}

/* ---- taking ---- */

static bool same_giver(const struct state *s, unsigned from,
                       uint64_t incarnation)
{
    return s->giver == from && s->giver_incarnation == incarnation;
}

static void take(struct toy *toy, unsigned from, uint64_t incarnation,
                 const struct given *given)
{
    toy->state = (struct state){.known = true,
                                .next = given->next,
                                .digest = given->digest,
                                .certain = given->next <= given->certain,
                                .giver = from,
                                .giver_incarnation = incarnation,
                                .pull_ns = toy->state.pull_ns,
                                .ready_said = toy->state.ready_said};
}

/* The digest of the giver's state before op `next`; false: not known. */
static bool digest_at(const struct given *given, uint64_t next, uint64_t *out)
{
    *out = given->digest;
    if (given->next == next)
        return true;
    for (unsigned i = 0; i < given->count && i < GW__BOOK_OPS; i++)
        if (given->results[i].op + 1 == next) {
            *out = given->results[i].digest;
            return true;
        }
    return false;
}

/* Has everybody who took part in the newest op that same result? */
static void check_agreed(struct toy *toy)
{
    struct state *s = &toy->state;
    uint64_t needed = 0;
    const struct gw__view *view = ring_of(toy);
    for (unsigned i = 0; i < view->ring_count; i++)
        if (s->next && view->ring[i].from_op < s->next)
            needed |= (uint64_t)1 << view->ring[i].node;
    if (needed && (s->agreed & needed) == needed)
        s->certain = true;
}

/* A member has the same state as we. */
static void agree(struct toy *toy, unsigned from, uint64_t incarnation,
                  bool certain)
{
    struct state *s = &toy->state;
    const struct gw__view *view = ring_of(toy);
    int rank = gw__view_rank(view, from);
    if (rank >= 0 && view->ring[rank].incarnation.low == incarnation)
        s->agreed |= (uint64_t)1 << from;
    s->certain = s->certain || certain;
    check_agreed(toy);
}

static void add_result(struct state *s, const struct known_result *r)
{
    const uint64_t chain[4] = {s->digest, r->op, r->contributors, r->hash};
    s->digest = gw_hash(chain, sizeof chain, 1);
    s->next++;
}

/* Results of the giver that come after our state. */
static void follow(struct toy *toy, unsigned from, uint64_t incarnation,
                   const struct given *given)
{
    struct state *s = &toy->state;
    for (unsigned round = 0; round < GW__BOOK_OPS; round++)
        for (unsigned i = 0; i < given->count && i < GW__BOOK_OPS; i++)
            if (given->results[i].op == s->next)
                add_result(s, &given->results[i]);
    s->giver = from;
    s->giver_incarnation = incarnation;
    s->certain = s->next <= given->certain;
    s->agreed = 0;
    agree(toy, from, incarnation, s->certain);
}

static void hear(struct toy *toy, unsigned from, uint64_t incarnation,
                 const struct given *given)
{
    struct state *s = &toy->state;
    uint64_t digest;
    bool theirs_is_certain = s->next <= given->certain;
    bool same = same_giver(s, from, incarnation);
    if (!s->known || !digest_at(given, s->next, &digest)) {
        if (!s->known || given->next > s->next)
            take(toy, from, incarnation, given);
    } else if (digest == s->digest) {
        agree(toy, from, incarnation, theirs_is_certain);
        if (given->next > s->next && (same || s->certain))
            follow(toy, from, incarnation, given);
    } else if (theirs_is_certain) {
        take(toy, from, incarnation, given); /* ours was never to be */
    } else if (same)
        toy_fail(toy, "node %u has another state before op %llu than it had",
                 from, (unsigned long long)s->next);
}

void joiner_state(struct toy *toy, unsigned from, uint64_t incarnation,
                  const uint8_t *bytes, size_t count)
{
    struct given given;
    if (count != sizeof given || toy->sure)
        return;
    memcpy(&given, bytes, sizeof given);
    hear(toy, from, incarnation, &given);
}

/* ---- asking ---- */

static void pull(struct toy *toy)
{
    const struct pull pull = {.kind = TOY_PULL, .next = toy->state.next};
    const struct gw__view *view = ring_of(toy);
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].node != toy->node)
            toy_send(toy, view->ring[i].node, &pull, sizeof pull);
    toy->state.pull_ns = toy->now_ns + PULL_NS;
}

/* The giver of what is not certain is gone: begin anew. */
static void check_giver(struct toy *toy)
{
    struct state *s = &toy->state;
    const struct gw__view *view = ring_of(toy);
    int rank = gw__view_rank(view, s->giver);
    bool there =
        rank >= 0 && view->ring[rank].incarnation.low == s->giver_incarnation;
    if (s->known && !s->certain && !there)
        s->known = false;
}

/* It is in the ring: may it take part, as far as its state goes? */
static bool may_begin(struct toy *toy)
{
    const struct state *s = &toy->state;
    uint64_t from_op = toy->book.next_op;
    if (s->known && s->next > from_op)
        toy_fail(toy, "the state after op %llu, admitted from op %llu on",
                 (unsigned long long)s->next - 1, (unsigned long long)from_op);
    return s->known && s->certain && s->next == from_op;
}

static void say_ready(struct toy *toy)
{
    uint8_t ask[GW__MEMBER_ASK_MAX];
    struct state *s = &toy->state;
    if (s->ready_said || !s->known)
        return;
    s->ready_said = true;
    toy_ask(toy, ask, gw__member_ask_ready(ask, s->next));
}

void joiner_work(struct toy *toy)
{
    if (toy->sure || ring_of(toy)->ring_count == 0)
        return;
    check_giver(toy);
    if (toy->in_ring && may_begin(toy)) {
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
