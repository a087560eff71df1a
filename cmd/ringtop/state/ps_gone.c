/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Members of parameter servers that have gone, and the end of their failovers:
 *
 *   a server   when every slot that it served is served by another one
 *   a worker   when another one has finished an item, since it may have been
 *              waiting for the dead one's; at once if that had none
 *
 * Both depend on the state, not on a certain event. Events and statuses
 * overtake each other, and events may be lost. A status may be the first to
 * report that a server has gone, or that its slots are served again, and a
 * failover must end in either case.
 */
#include "ps_members.h"

/* The time allowed for the confirmation of a death. */
static const uint64_t VERDICT_NS = 1000000000;

/* ---- gone members ---- */

static uint64_t served_by(const struct ps_members *ps, unsigned server)
{
    uint64_t slots = 0;
    for (unsigned i = 0; i < ps->slot_count; i++)
        if (ps->slots[i].roles[server] == GW_PS_PRIMARY)
            slots |= (uint64_t)1 << i;
    return slots;
}

/* Drops the requests to and from a gone member: they will not be answered. */
static void forget_requests(struct ps_members *ps, int server, int worker)
{
    for (unsigned i = 0; i < PS_REQUESTS; i++) {
        struct ps_request *r = &ps->requests[i];
        r->used =
            r->used && (int)r->server != server && (int)r->worker != worker;
    }
}

void ps_server_goes(struct ps_members *ps, unsigned number, uint64_t now_ns)
{
    struct ps_server *server = &ps->servers[number];
    if (server->gone_ns > 0)
        return;
    forget_requests(ps, (int)number, -1);
    server->gone_ns = now_ns;
    server->gone_epoch = ps->epoch;
    server->served = served_by(ps, number);
}

void ps_worker_goes(struct ps_members *ps, unsigned number, uint64_t now_ns)
{
    struct ps_worker_state *worker = &ps->workers[number];
    if (worker->gone_ns > 0)
        return;
    forget_requests(ps, -1, (int)number);
    worker->gone_ns = now_ns;
    worker->gone_epoch = ps->epoch;
    worker->passed = !worker->in_hand;
}

void ps_work_item_finished(struct ps_members *ps, unsigned worker)
{
    for (unsigned w = 0; w < ps->worker_count; w++)
        if (w != worker && ps->workers[w].gone_ns > 0)
            ps->workers[w].passed = true;
}

/* ---- the end of a failover ---- */

static bool all_served(const struct ps_members *ps, uint64_t slots)
{
    for (unsigned i = 0; i < ps->slot_count; i++)
        if (slots >> i & 1 && ps_primary(ps, i) < 0)
            return false;
    return true;
}

static bool has_slots(const struct ps_members *ps, unsigned server)
{
    for (unsigned i = 0; i < ps->slot_count; i++)
        if (ps->slots[i].roles[server] != GW_PS_NOT_HERE)
            return true;
    return false;
}

/* It was removed, though no event has reported it. */
static bool is_out(const struct ps_members *ps, uint64_t gone_ns,
                   uint64_t gone_epoch, uint64_t now_ns)
{
    return ps->epoch > gone_epoch && now_ns > gone_ns + VERDICT_NS;
}

static void end_member(struct failovers *failovers, uint32_t who, bool out,
                       uint64_t now_ns, struct event_log *log)
{
    if (out)
        failovers_declared_dead(failovers, who, now_ns);
    failovers_resume(failovers, who, now_ns, log);
}

void ps_end_failovers(const struct ps_members *ps, struct failovers *failovers,
                      uint64_t now_ns, struct event_log *log)
{
    if (!ps->here || failovers->count == 0)
        return;
    for (unsigned i = 0; i < ps->server_count; i++) {
        const struct ps_server *s = &ps->servers[i];
        if (s->gone_ns > 0 && !has_slots(ps, i) && all_served(ps, s->served))
            end_member(failovers, PS_SERVER_NODE + i,
                       is_out(ps, s->gone_ns, s->gone_epoch, now_ns), now_ns,
                       log);
    }
    for (unsigned i = 0; i < ps->worker_count; i++) {
        const struct ps_worker_state *w = &ps->workers[i];
        if (w->gone_ns > 0 && w->passed)
            end_member(failovers, i,
                       is_out(ps, w->gone_ns, w->gone_epoch, now_ns), now_ns,
                       log);
    }
}
