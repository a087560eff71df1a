/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests between workers and servers, and the states of the parts of the
 * newest batch. A part is assigned when a worker has received it, pushed when
 * all its pushes are answered, and done when its worker has got another item. A
 * part of a worker that has gone is free again.
 */
#include "ps_members.h"

#include <string.h>

enum { PARTS = 64 };

static uint64_t bit(unsigned part)
{
    return part < PARTS ? UINT64_C(1) << part : 0;
}

/* ---- requests ---- */

/* A free place, or that of the oldest request, which was never answered. */
static struct ps_request *find_free_request(struct ps_members *ps)
{
    struct ps_request *oldest = &ps->requests[0];
    for (unsigned i = 0; i < PS_REQUESTS; i++) {
        struct ps_request *r = &ps->requests[i];
        if (!r->used)
            return r;
        if (r->since_ns < oldest->since_ns)
            oldest = r;
    }
    return oldest;
}

void ps_request_begins(struct ps_members *ps, const struct gw_event *e)
{
    unsigned server = e->peer - PS_SERVER_NODE;
    if (e->rank >= PS_WORKERS || e->peer < PS_SERVER_NODE ||
        server >= PS_SERVERS || e->value < 0 || e->value > 2)
        return;
    ps->here = true;
    (void)ps_worker_of(ps, e->rank);
    *find_free_request(ps) = (struct ps_request){.used = true,
                                                 .worker = e->rank,
                                                 .server = server,
                                                 .id = e->op,
                                                 .slot = e->chunk,
                                                 .kind = e->value,
                                                 .since_ns = e->time_ns};
}

static struct ps_request *find_request(struct ps_members *ps,
                                       const struct gw_event *e)
{
    for (unsigned i = 0; i < PS_REQUESTS; i++) {
        struct ps_request *r = &ps->requests[i];
        if (r->used && r->worker == e->rank && r->id == e->op)
            return r;
    }
    return NULL;
}

static bool pushes(const struct ps_members *ps, unsigned worker)
{
    for (unsigned i = 0; i < PS_REQUESTS; i++)
        if (ps->requests[i].used && ps->requests[i].worker == worker &&
            ps->requests[i].kind > 0)
            return true;
    return false;
}

static bool is_of_round(const struct ps_members *ps,
                        const struct ps_worker_state *w)
{
    return ps->round.known && w->in_hand && w->epoch == ps->round.epoch &&
           w->batch == ps->round.batch;
}

void ps_request_ends(struct ps_members *ps, const struct gw_event *e)
{
    static const double WEIGHT = 0.1;
    struct ps_request *r = find_request(ps, e);
    if (!r)
        return;
    double took_ns =
        e->time_ns > r->since_ns ? (double)(e->time_ns - r->since_ns) : 0;
    const struct ps_worker_state *w = &ps->workers[r->worker];
    bool pushed = r->kind > 0 && e->value == 0;
    r->used = false;
    ps->answer_ns += (ps->answers ? WEIGHT : 1) * (took_ns - ps->answer_ns);
    ps->answers++;
    if (pushed && is_of_round(ps, w) && !pushes(ps, e->rank))
        ps->round.pushed |= bit(w->part);
}

/* ---- the round ---- */

static bool is_later(const struct ps_worker_state *w, const struct ps_round *r)
{
    return !r->known || w->epoch > r->epoch ||
           (w->epoch == r->epoch && w->batch > r->batch);
}

void ps_round_work_item(struct ps_members *ps,
                        const struct ps_worker_state *before,
                        const struct ps_worker_state *w)
{
    struct ps_round *r = &ps->round;
    bool same = before->in_hand && w->in_hand && before->epoch == w->epoch &&
                before->batch == w->batch && before->part == w->part;
    if (!same && is_of_round(ps, before)) {
        bool finished =
            w->clocked && before->clocked && w->clock > before->clock;
        r->done |= finished ? bit(before->part) : 0;
        r->pushed &= ~bit(before->part);
    }
    if (!w->in_hand)
        return;
    if (is_later(w, r))
        *r = (struct ps_round){.known = true,
                               .epoch = w->epoch,
                               .batch = w->batch,
                               .parts = r->seen};
    if (!is_of_round(ps, w))
        return;
    unsigned parts = w->parts > w->part ? w->parts : w->part + 1;
    parts = parts < PARTS ? parts : PARTS;
    r->seen = parts > r->seen ? parts : r->seen;
    r->parts = r->seen > r->parts ? r->seen : r->parts;
}

enum ps_part ps_part_of(const struct ps_members *ps, unsigned part)
{
    const struct ps_round *r = &ps->round;
    if (r->done & bit(part))
        return PART_DONE;
    for (unsigned w = 0; w < ps->worker_count; w++)
        if (is_of_round(ps, &ps->workers[w]) && ps->workers[w].part == part)
            return r->pushed & bit(part) ? PART_PUSHED : PART_ASSIGNED;
    return PART_FREE;
}
