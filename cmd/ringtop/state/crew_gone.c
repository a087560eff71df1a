/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Members of parameter servers that have gone, and the end of their failovers:
 *
 *   a server   when every slot that it served is served by another one
 *   a worker   when another one has finished a unit, since it may have been
 *              waiting for the dead one's; at once if that had none
 *
 * Both depend on the state, not on a certain event. Events and statuses
 * overtake each other, and events may be lost. A status may be the first to
 * report that a server has gone, or that its slots are served again, and a
 * failover must end in either case.
 */
#include "crew.h"

/* The time allowed for the confirmation of a death. */
static const uint64_t VERDICT_NS = 1000000000;

/* ---- gone members ---- */

static uint64_t served_by(const struct crew *crew, unsigned server)
{
    uint64_t slots = 0;
    for (unsigned i = 0; i < crew->slot_count; i++)
        if (crew->slots[i].roles[server] == GW_PS_PRIMARY)
            slots |= (uint64_t)1 << i;
    return slots;
}

/* Drops the requests to and from a gone member: they will not be answered. */
static void forget_requests(struct crew *crew, int server, int worker)
{
    for (unsigned i = 0; i < CREW_REQUESTS; i++) {
        struct crew_request *r = &crew->requests[i];
        r->used =
            r->used && (int)r->server != server && (int)r->worker != worker;
    }
}

void crew_server_goes(struct crew *crew, unsigned number, uint64_t now_ns)
{
    struct crew_server *server = &crew->servers[number];
    if (server->gone_ns > 0)
        return;
    forget_requests(crew, (int)number, -1);
    server->gone_ns = now_ns;
    server->gone_epoch = crew->epoch;
    server->served = served_by(crew, number);
}

void crew_worker_goes(struct crew *crew, unsigned number, uint64_t now_ns)
{
    struct crew_worker *worker = &crew->workers[number];
    if (worker->gone_ns > 0)
        return;
    forget_requests(crew, -1, (int)number);
    worker->gone_ns = now_ns;
    worker->gone_epoch = crew->epoch;
    worker->passed = !worker->in_hand;
}

void crew_unit_finished(struct crew *crew, unsigned worker)
{
    for (unsigned w = 0; w < crew->worker_count; w++)
        if (w != worker && crew->workers[w].gone_ns > 0)
            crew->workers[w].passed = true;
}

/* ---- the end of a failover ---- */

static bool all_served(const struct crew *crew, uint64_t slots)
{
    for (unsigned i = 0; i < crew->slot_count; i++)
        if (slots >> i & 1 && crew_primary(crew, i) < 0)
            return false;
    return true;
}

static bool has_slots(const struct crew *crew, unsigned server)
{
    for (unsigned i = 0; i < crew->slot_count; i++)
        if (crew->slots[i].roles[server] != GW_PS_NOT_HERE)
            return true;
    return false;
}

/* It was removed, though no event has reported it. */
static bool is_out(const struct crew *crew, uint64_t gone_ns,
                   uint64_t gone_epoch, uint64_t now_ns)
{
    return crew->epoch > gone_epoch && now_ns > gone_ns + VERDICT_NS;
}

static void end_member(struct failovers *failovers, uint32_t who, bool out,
                       uint64_t now_ns, struct journal *journal)
{
    if (out)
        failovers_convicted(failovers, who, now_ns);
    failovers_resume(failovers, who, now_ns, journal);
}

void crew_end_stories(const struct crew *crew, struct failovers *failovers,
                      uint64_t now_ns, struct journal *journal)
{
    if (!crew->here || failovers->count == 0)
        return;
    for (unsigned i = 0; i < crew->server_count; i++) {
        const struct crew_server *s = &crew->servers[i];
        if (s->gone_ns > 0 && !has_slots(crew, i) &&
            all_served(crew, s->served))
            end_member(failovers, CREW_SERVER_NODE + i,
                       is_out(crew, s->gone_ns, s->gone_epoch, now_ns), now_ns,
                       journal);
    }
    for (unsigned i = 0; i < crew->worker_count; i++) {
        const struct crew_worker *w = &crew->workers[i];
        if (w->gone_ns > 0 && w->passed)
            end_member(failovers, i,
                       is_out(crew, w->gone_ns, w->gone_epoch, now_ns), now_ns,
                       journal);
    }
}
