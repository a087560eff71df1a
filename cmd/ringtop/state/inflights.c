/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pairs of SEND and APPLY (inflights.h).
 */
#include "inflights.h"

#include <string.h>

static struct inflight inflight_of(const struct gw_event *e)
{
    bool sent = e->kind == GW_EV_SEND;
    return (struct inflight){
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

static bool same(const struct inflight *a, const struct inflight *b)
{
    return a->epoch == b->epoch && a->op == b->op && a->step == b->step &&
           a->chunk == b->chunk && a->src == b->src && a->dst == b->dst;
}

static void drop_chunk(struct inflights *f, unsigned at)
{
    f->count--;
    memmove(&f->list[at], &f->list[at + 1], (f->count - at) * sizeof *f->list);
}

static void add_transfer_time(struct inflights *f, const struct inflight *sent,
                              const struct inflight *landed)
{
    double took = landed->since_ns > sent->since_ns
                      ? (double)(landed->since_ns - sent->since_ns)
                      : 0;
    f->usual_ns += f->usual_ns > 0 ? (took - f->usual_ns) / 8 : took;
}

void inflights_event(struct inflights *f, const struct gw_event *event)
{
    struct inflight inflight = inflight_of(event);
    for (unsigned i = 0; i < f->count; i++) {
        struct inflight *other = &f->list[i];
        if (other->landed == inflight.landed || !same(other, &inflight))
            continue;
        if (inflight.landed)
            add_transfer_time(f, other, &inflight);
        drop_chunk(f, i);
        return;
    }
    if (f->count < INFLIGHTS_MAX)
        f->list[f->count++] = inflight;
    else
        f->missed++;
}

void inflights_forget_op(struct inflights *f, uint32_t op)
{
    for (unsigned i = f->count; i-- > 0;)
        if (f->list[i].op == op)
            drop_chunk(f, i);
}

void inflights_forget_before(struct inflights *f, uint32_t epoch)
{
    for (unsigned i = f->count; i-- > 0;)
        if (f->list[i].epoch < epoch)
            drop_chunk(f, i);
}

double inflight_progress(const struct inflights *f,
                         const struct inflight *inflight, uint64_t now_ns)
{
    enum { STEPS = 2 }; /* with no usual time known: half way */
    if (now_ns <= inflight->since_ns)
        return 0;
    double age = (double)(now_ns - inflight->since_ns);
    double whole = f->usual_ns > 0 ? f->usual_ns : STEPS * age;
    return age < whole ? age / whole : 1;
}
