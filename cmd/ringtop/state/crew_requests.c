/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests between workers and servers, and the states of the parts of the
 * newest batch. A part is assigned when a worker has received it, pushed when
 * all its pushes are answered, and done when its worker has got another unit. A
 * part of a worker that has gone is free again.
 */
#include "crew.h"

#include <string.h>

enum { PARTS = 64 };

static uint64_t bit(unsigned part)
{
    return part < PARTS ? UINT64_C(1) << part : 0;
}

/* ---- requests ---- */

/* A free place, or that of the oldest request, which was never answered. */
static struct crew_request *find_place(struct crew *crew)
{
    struct crew_request *oldest = &crew->requests[0];
    for (unsigned i = 0; i < CREW_REQUESTS; i++) {
        struct crew_request *r = &crew->requests[i];
        if (!r->used)
            return r;
        if (r->since_ns < oldest->since_ns)
            oldest = r;
    }
    return oldest;
}

void crew_request_begins(struct crew *crew, const struct gw_event *e)
{
    unsigned server = e->peer - CREW_SERVER_NODE;
    if (e->rank >= CREW_WORKERS || e->peer < CREW_SERVER_NODE ||
        server >= CREW_SERVERS || e->value < 0 || e->value > 2)
        return;
    crew->here = true;
    (void)crew_meet_worker(crew, e->rank);
    *find_place(crew) = (struct crew_request){.used = true,
                                              .worker = e->rank,
                                              .server = server,
                                              .id = e->op,
                                              .slot = e->chunk,
                                              .kind = e->value,
                                              .since_ns = e->time_ns};
}

static struct crew_request *find_request(struct crew *crew,
                                         const struct gw_event *e)
{
    for (unsigned i = 0; i < CREW_REQUESTS; i++) {
        struct crew_request *r = &crew->requests[i];
        if (r->used && r->worker == e->rank && r->id == e->op)
            return r;
    }
    return NULL;
}

static bool pushes(const struct crew *crew, unsigned worker)
{
    for (unsigned i = 0; i < CREW_REQUESTS; i++)
        if (crew->requests[i].used && crew->requests[i].worker == worker &&
            crew->requests[i].kind > 0)
            return true;
    return false;
}

static bool is_of_round(const struct crew *crew, const struct crew_worker *w)
{
    return crew->round.known && w->in_hand && w->epoch == crew->round.epoch &&
           w->batch == crew->round.batch;
}

void crew_request_ends(struct crew *crew, const struct gw_event *e)
{
    static const double WEIGHT = 0.1;
    struct crew_request *r = find_request(crew, e);
    if (!r)
        return;
    double took_ns =
        e->time_ns > r->since_ns ? (double)(e->time_ns - r->since_ns) : 0;
    const struct crew_worker *w = &crew->workers[r->worker];
    bool pushed = r->kind > 0 && e->value == 0;
    r->used = false;
    crew->answer_ns +=
        (crew->answers ? WEIGHT : 1) * (took_ns - crew->answer_ns);
    crew->answers++;
    if (pushed && is_of_round(crew, w) && !pushes(crew, e->rank))
        crew->round.pushed |= bit(w->part);
}

/* ---- the round ---- */

static bool is_later(const struct crew_worker *w, const struct crew_round *r)
{
    return !r->known || w->epoch > r->epoch ||
           (w->epoch == r->epoch && w->batch > r->batch);
}

void crew_round_unit(struct crew *crew, const struct crew_worker *before,
                     const struct crew_worker *w)
{
    struct crew_round *r = &crew->round;
    bool same = before->in_hand && w->in_hand && before->epoch == w->epoch &&
                before->batch == w->batch && before->part == w->part;
    if (!same && is_of_round(crew, before)) {
        bool finished =
            w->clocked && before->clocked && w->clock > before->clock;
        r->done |= finished ? bit(before->part) : 0;
        r->pushed &= ~bit(before->part);
    }
    if (!w->in_hand)
        return;
    if (is_later(w, r))
        *r = (struct crew_round){.known = true,
                                 .epoch = w->epoch,
                                 .batch = w->batch,
                                 .parts = r->seen};
    if (!is_of_round(crew, w))
        return;
    unsigned parts = w->parts > w->part ? w->parts : w->part + 1;
    parts = parts < PARTS ? parts : PARTS;
    r->seen = parts > r->seen ? parts : r->seen;
    r->parts = r->seen > r->parts ? r->seen : r->parts;
}

enum crew_part crew_part_of(const struct crew *crew, unsigned part)
{
    const struct crew_round *r = &crew->round;
    if (r->done & bit(part))
        return PART_DONE;
    for (unsigned w = 0; w < crew->worker_count; w++)
        if (is_of_round(crew, &crew->workers[w]) &&
            crew->workers[w].part == part)
            return r->pushed & bit(part) ? PART_PUSHED : PART_ASSIGNED;
    return PART_FREE;
}
