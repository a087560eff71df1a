/* SPDX-License-Identifier: MIT
 *
 * The rule of decide.h.
 */
#include "decide.h"

struct question {
    const struct gw__survivor *survivors;
    unsigned count;
    uint64_t op;
};

static const struct gw__holdings *held_by(const struct question *q, unsigned i)
{
    if (q->survivors[i].from_op > q->op)
        return NULL;
    return gw__report_of(q->survivors[i].report, q->op);
}

/* The chunks of the op, or 0 when nobody began it or they cannot agree. */
static unsigned chunks_of(const struct question *q)
{
    unsigned chunks = 0;
    for (unsigned i = 0; i < q->count; i++) {
        const struct gw__holdings *h = held_by(q, i);
        if (h && chunks && h->chunks != chunks)
            return 0;
        if (h)
            chunks = h->chunks;
    }
    return chunks;
}

/* The set of a surviving final copy of the chunk: `wanted`, or any (0). */
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

/* The set of which every chunk has a final copy, or 0. */
static uint64_t complete_set(const struct question *q, uint64_t earlier)
{
    unsigned chunks = chunks_of(q);
    uint64_t set = chunks ? final_set(q, 0, earlier) : 0;
    for (unsigned c = 1; set && c < chunks; c++)
        set = final_set(q, c, set);
    return set;
}

struct gw__decision gw__decide(const struct gw__survivor *survivors,
                               unsigned count, uint64_t epoch, uint64_t op,
                               uint64_t earlier)
{
    const struct question q = {
        .survivors = survivors, .count = count, .op = op};
    uint64_t complete = complete_set(&q, earlier);
    struct gw__decision decision = {.epoch = epoch,
                                    .op = op,
                                    .fate =
                                        complete ? GW__FORWARD : GW__EXCLUDE,
                                    .contributors = complete};
    for (unsigned i = 0; !complete && i < count; i++)
        if (survivors[i].from_op <= op)
            decision.contributors |= (uint64_t)1 << survivors[i].node;
    return decision;
}
