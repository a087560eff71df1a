/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pairs of SEND and APPLY (flights.h).
 */
#include "flights.h"

#include <string.h>

static struct flight flight_of(const struct gw_event *e)
{
    bool sent = e->kind == GW_EV_SEND;
    return (struct flight){
        .epoch = e->epoch,
        .op = e->op,
        .step = e->step,
        .chunk = e->chunk,
        .src = sent ? e->rank : e->peer,
        .dst = sent ? e->peer : e->rank,
        .since_ns = e->time_ns,
        .landed = !sent,
    };
}

static bool same(const struct flight *a, const struct flight *b)
{
    return a->epoch == b->epoch && a->op == b->op && a->step == b->step &&
           a->chunk == b->chunk && a->src == b->src && a->dst == b->dst;
}

static void drop_chunk(struct flights *f, unsigned at)
{
    f->count--;
    memmove(&f->list[at], &f->list[at + 1], (f->count - at) * sizeof *f->list);
}

static void add_transfer_time(struct flights *f, const struct flight *sent,
                              const struct flight *landed)
{
    double took = landed->since_ns > sent->since_ns
                      ? (double)(landed->since_ns - sent->since_ns)
                      : 0;
    f->usual_ns += f->usual_ns > 0 ? (took - f->usual_ns) / 8 : took;
}

void flights_event(struct flights *f, const struct gw_event *event)
{
    struct flight flight = flight_of(event);
    for (unsigned i = 0; i < f->count; i++) {
        struct flight *other = &f->list[i];
        if (other->landed == flight.landed || !same(other, &flight))
            continue;
        if (flight.landed)
            add_transfer_time(f, other, &flight);
        drop_chunk(f, i);
        return;
    }
    if (f->count < FLIGHTS_MAX)
        f->list[f->count++] = flight;
    else
        f->missed++;
}

void flights_forget_op(struct flights *f, uint32_t op)
{
    for (unsigned i = f->count; i-- > 0;)
        if (f->list[i].op == op)
            drop_chunk(f, i);
}

void flights_forget_before(struct flights *f, uint32_t epoch)
{
    for (unsigned i = f->count; i-- > 0;)
        if (f->list[i].epoch < epoch)
            drop_chunk(f, i);
}

double flight_progress(const struct flights *f, const struct flight *flight,
                       uint64_t now_ns)
{
    enum { STEPS = 2 }; /* with no usual time known: half way */
    if (now_ns <= flight->since_ns)
        return 0;
    double age = (double)(now_ns - flight->since_ns);
    double whole = f->usual_ns > 0 ? f->usual_ns : STEPS * age;
    return age < whole ? age / whole : 1;
}
