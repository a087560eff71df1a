/* SPDX-License-Identifier: MIT
 *
 * The rule of decide.h, and decisions as bytes.
 */
#include "decide.h"

struct question {
    const struct gw__survivor *survivors;
    unsigned count;
    const struct gw__decision *about;
    unsigned nodes[GW__NODES_MAX]; /* the initial members, */
    struct gw__places places;      /* as places */
};

/* A survivor's holdings of the op; NULL if it began the op in another ring than
 * the origin: then it was outdated, and its chunks are different ones. */
static const struct gw__holdings *held_by(const struct question *q, unsigned i)
{
    if (q->survivors[i].from_op > q->about->op)
        return NULL;
    const struct gw__holdings *h =
        gw__report_of(q->survivors[i].report, q->about->op);
    return h && gw__holdings_match(h, &q->places, h->chunks) ? h : NULL;
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
 * is empty. */
static struct gw_nodes final_set(const struct question *q, unsigned chunk,
                                 struct gw_nodes wanted)
{
    for (unsigned i = 0; i < q->count; i++) {
        const struct gw__holdings *h = held_by(q, i);
        struct gw__held_chunk held = {.final = false};
        if (h)
            held = gw__holdings_of(h, &q->places, chunk);
        if (held.final &&
            (gw__nodes_is_empty(wanted) || gw__nodes_equal(held.set, wanted)))
            return held.set;
    }
    return (struct gw_nodes){{0}};
}

/* The set for which every chunk has a final copy, or none. */
static struct gw_nodes complete_set(const struct question *q)
{
    struct gw_nodes set = {{0}};
    unsigned chunks = chunk_count(q);
    if (chunks)
        set = final_set(q, 0, q->about->contributors);
    for (unsigned c = 1; !gw__nodes_is_empty(set) && c < chunks; c++)
        set = final_set(q, c, set);
    return set;
}

void gw__decide(const struct gw__survivor *survivors, unsigned count,
                struct gw__decision *decision)
{
    struct question q = {
        .survivors = survivors, .count = count, .about = decision};
    q.places = (struct gw__places){decision->initial_count, q.nodes};
    for (unsigned i = 0; i < decision->initial_count; i++)
        q.nodes[i] = decision->initial_members[i];
    struct gw_nodes set = complete_set(&q);
    decision->fate = gw__nodes_is_empty(set) ? GW__EXCLUDE : GW__FORWARD;
    for (unsigned i = 0; decision->fate == GW__EXCLUDE && i < count; i++)
        if (survivors[i].from_op <= decision->op)
            gw__nodes_add(&set, survivors[i].node);
    decision->contributors = set;
}

void gw__put_decision(struct gw__writer *w, const struct gw__decision *d)
{
    gw__put_u64(w, d->epoch);
    gw__put_u64(w, d->op);
    gw__put_u8(w, d->fate);
    gw__put_nodes(w, &d->contributors);
    gw__put_node_list(w, d->initial_members, d->initial_count);
}

void gw__get_decision(struct gw__reader *r, struct gw__decision *d)
{
    *d = (struct gw__decision){.epoch = gw__get_u64(r)};
    d->op = gw__get_u64(r);
    d->fate = (enum gw__fate)gw__get_u8_below(r, GW__FATES);
    d->contributors = gw__get_nodes(r);
    d->initial_count = gw__get_node_list(r, d->initial_members);
}
