/* SPDX-License-Identifier: MIT
 *
 * The rule of decide.h, and decisions as bytes.
 */
#include "decide.h"

struct question {
    const struct gw__survivor *survivors;
    unsigned count;
    const struct gw__decision *about;
};

/* A survivor's holdings of the op; NULL if it began the op in another ring than
 * the origin: then it was outdated, and its chunks are different ones. */
static const struct gw__holdings *held_by(const struct question *q, unsigned i)
{
    if (q->survivors[i].from_op > q->about->op)
        return NULL;
    const struct gw__holdings *h =
        gw__report_of(q->survivors[i].report, q->about->op);
    return h && h->members == q->about->initial_count ? h : NULL;
}

/* The chunks of the op, which all survivors cut alike; 0: none has begun it. */
static unsigned chunk_count(const struct question *q)
{
    for (unsigned i = 0; i < q->count; i++) {
        const struct gw__holdings *h = held_by(q, i);
        if (h)
            return h->chunks;
    }
    return 0;
}

/* The set of a surviving final copy of the chunk: `wanted`, or any if `wanted`
 * is 0. */
static uint64_t final_set(const struct question *q, unsigned chunk,
                          uint64_t wanted)
{
    for (unsigned i = 0; i < q->count; i++) {
        const struct gw__holdings *h = held_by(q, i);
        if (!h || !gw__holdings_final(h, chunk))
            continue;
        if (!wanted || h->sets[chunk] == wanted)
            return h->sets[chunk];
    }
    return 0;
}

/* The set for which every chunk has a final copy, or 0. */
static uint64_t complete_set(const struct question *q)
{
    unsigned chunks = chunk_count(q);
    uint64_t set = chunks ? final_set(q, 0, q->about->contributors) : 0;
    for (unsigned c = 1; set && c < chunks; c++)
        set = final_set(q, c, set);
    return set;
}

void gw__decide(const struct gw__survivor *survivors, unsigned count,
                struct gw__decision *decision)
{
    const struct question q = {
        .survivors = survivors, .count = count, .about = decision};
    uint64_t set = complete_set(&q);
    decision->fate = set ? GW__FORWARD : GW__EXCLUDE;
    for (unsigned i = 0; decision->fate == GW__EXCLUDE && i < count; i++)
        if (survivors[i].from_op <= decision->op)
            set |= (uint64_t)1 << survivors[i].node;
    decision->contributors = set;
}

void gw__put_decision(struct gw__writer *w, const struct gw__decision *d)
{
    gw__put_u64(w, d->epoch);
    gw__put_u64(w, d->op);
    gw__put_u8(w, d->fate);
    gw__put_u64(w, d->contributors);
    gw__put_u8(w, d->initial_count);
    gw__put_bytes(w, d->initial_members, d->initial_count);
}

void gw__get_decision(struct gw__reader *r, struct gw__decision *d)
{
    uint64_t members = 0;
    *d = (struct gw__decision){.epoch = gw__get_u64(r)};
    d->op = gw__get_u64(r);
    d->fate = (enum gw__fate)gw__get_u8_below(r, GW__FATES);
    d->contributors = gw__get_u64(r);
    d->initial_count = gw__get_u8_below(r, GW__NODES_MAX + 1);
    for (unsigned i = 0; i < d->initial_count; i++) {
        d->initial_members[i] = (uint8_t)gw__get_u8_below(r, GW__NODES_MAX);
        gw__reader_demand(r, r->bad || !(members >> d->initial_members[i] & 1));
        members |= (uint64_t)1 << d->initial_members[i];
    }
}
