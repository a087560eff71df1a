/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events that the supervisor makes for a run of parameter servers, so that a
 * recording alone shows the history of members, slots and clocks: MEMBER and
 * EPOCH when the members change, SLOT when a server gets another role in a
 * slot, CLOCK when a worker has another item.
 *
 * The last reported values are kept, and only differences are reported. A
 * server is reported as primary after it has confirmed the role, in the slot's
 * term: until then it is one of those in sync, and the slot is not served. A
 * new recording begins with all values.
 */
#include "supervisor_parts.h"

#include <string.h>

static void emit_event(struct run *run, struct gw_event event)
{
    event.time_ns = gw_now_ns();
    if (event.kind != GW_EV_CLOCK) /* CLOCK has the data epoch */
        event.epoch = (uint32_t)run->update.view.epoch;
    event.peer = GW_NONE;
    events_publish(run, &event, 1);
}

/* ---- members ---- */

static void report_member(struct run *run, unsigned node, enum gw_membership is)
{
    emit_event(run, (struct gw_event){.kind = GW_EV_MEMBER,
                                      .value = is,
                                      .rank = node,
                                      .op = GW_NONE,
                                      .step = GW_NONE,
                                      .chunk = GW_NONE});
}

static void report_epoch(struct run *run)
{
    emit_event(run, (struct gw_event){.kind = GW_EV_EPOCH,
                                      .value = run->update.ps_member_count,
                                      .rank = GW_NONE,
                                      .op = GW_NONE,
                                      .step = GW_NONE,
                                      .chunk = GW_NONE});
}

static bool is_in(const struct gw__membership_update *update,
                  const struct gw__ps_member *m)
{
    const struct gw__ps_member *now = ps_members_find(update, m->node);
    return now && gw__id_equal(now->incarnation, m->incarnation);
}

static void report_members(struct run *run,
                           const struct gw__membership_update *before)
{
    const struct gw__membership_update *now = &run->update;
    for (unsigned i = 0; i < before->ps_member_count; i++) {
        const struct gw__ps_member *m = &before->ps_members[i];
        const struct child *child = child_of_node(run, m->node);
        bool went = child && (child->left || child->leaving);
        if (child && !is_in(now, m))
            report_member(run, m->node, went ? GW_MEMBER_LEFT : GW_MEMBER_DEAD);
    }
    for (unsigned i = 0; i < now->ps_member_count; i++)
        if (child_of_node(run, now->ps_members[i].node) &&
            !is_in(before, &now->ps_members[i]))
            report_member(run, now->ps_members[i].node, GW_MEMBER_ALIVE);
    if (before->view.epoch != now->view.epoch)
        report_epoch(run);
}

/* ---- slots ---- */

static enum gw_ps_role role_of(const struct run *run, unsigned slot,
                               unsigned server)
{
    const struct gw__slot_route *route = &run->update.routes.slots[slot];
    unsigned node = SERVER_NODE + server;
    if (slot >= run->update.routes.slot_count || route->primary == GW__NO_NODE)
        return GW_PS_NOT_HERE;
    if (route->primary == node && ps_members_serves_slot(run, slot))
        return GW_PS_PRIMARY;
    if (gw__route_in_sync(route, node))
        return GW_PS_SECONDARY;
    return route->learner == node ? GW_PS_LEARNER : GW_PS_NOT_HERE;
}

static void report_role(struct run *run, unsigned slot, unsigned server,
                        enum gw_ps_role role)
{
    run->reported.roles[slot][server] = (unsigned char)role;
    emit_event(run, (struct gw_event){.kind = GW_EV_SLOT,
                                      .value = role,
                                      .rank = SERVER_NODE + server,
                                      .chunk = slot,
                                      .op = GW_NONE,
                                      .step = GW_NONE});
}

/* New roles are reported before lost ones, so that a moving slot always has a
 * server in the events. */
static void report_roles(struct run *run, unsigned slot, bool gone)
{
    for (unsigned server = 0; server < RUN_SERVERS_MAX; server++) {
        enum gw_ps_role role = role_of(run, slot, server);
        if (run->reported.roles[slot][server] != role &&
            (role == GW_PS_NOT_HERE) == gone)
            report_role(run, slot, server, role);
    }
}

static void report_slot(struct run *run, unsigned slot)
{
    report_roles(run, slot, false);
    report_roles(run, slot, true);
}

static void report_slots(struct run *run)
{
    for (unsigned slot = 0; slot < run->update.routes.slot_count; slot++)
        report_slot(run, slot);
}

/* A server's own status matters for the slots that it is to serve. */
static void report_slots_of(struct run *run, const struct child *server)
{
    const struct gw__routes *routes = &run->update.routes;
    for (unsigned slot = 0; slot < routes->slot_count; slot++)
        if (routes->slots[slot].primary == server->node)
            report_slot(run, slot);
}

/* ---- clocks ---- */

static bool is_in_hand(const struct child *child)
{
    return child->pid > 0 && child->status.worker.work_item.parts > 0 &&
           !child->status.worker.work_item.done && !child->status.done;
}

static void report_clock(struct run *run, const struct child *child)
{
    struct reported_clock *reported = &run->reported.clocks[child->number];
    const struct gw_ps_work *item = &child->status.worker.work_item;
    const struct gw_ps_worker_status *at = servers_clock_of(run, child->node);
    bool hand = is_in_hand(child);
    const struct reported_clock now = {
        .known = at != NULL,
        .clock = at ? at->clock : 0,
        .epoch = hand ? (uint32_t)item->epoch : GW_NONE,
        .batch = hand ? (uint32_t)item->batch : GW_NONE,
        .part = hand ? item->part : GW_NONE,
    };
    if (!now.known ||
        (reported->known && reported->clock == now.clock &&
         reported->epoch == now.epoch && reported->batch == now.batch &&
         reported->part == now.part))
        return;
    *reported = now;
    emit_event(run,
               (struct gw_event){.kind = GW_EV_CLOCK,
                                 .value = hand ? (int64_t)item->staleness : 0,
                                 .rank = child->node,
                                 .epoch = now.epoch,
                                 .op = now.batch,
                                 .step = (uint32_t)now.clock,
                                 .chunk = now.part});
}

static void report_clocks(struct run *run)
{
    for (unsigned n = 0; n < RUN_WORKERS_MAX; n++)
        if (run->workers[n].known && run->workers[n].has_status)
            report_clock(run, &run->workers[n]);
}

/* ---- entry points ---- */

void report_update(struct run *run, const struct gw__membership_update *before)
{
    if (!has_servers(run))
        return;
    report_members(run, before);
    report_slots(run);
}

void report_status(struct run *run, const struct child *child)
{
    if (!has_servers(run))
        return;
    if (child->role == GW__WORKER && child->number < RUN_WORKERS_MAX)
        report_clock(run, child);
    if (child->role != GW__SERVER)
        return;
    report_slots_of(run, child);
    report_clocks(run); /* its clock may be the run's */
}

void report_all(struct run *run)
{
    static const struct gw__membership_update nothing;
    if (!has_servers(run))
        return;
    memset(&run->reported, 0, sizeof run->reported);
    report_members(run, &nothing);
    report_slots(run);
    report_clocks(run);
}
