/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The events of a run of servers, as its supervisor (cmd/run) makes them, from
 * the simulation, so that ringtop shows both. Nodes have the numbers of a run.
 */
#include "ps_simcluster.h"

#include <gradwire/ring.h>

enum {
    SERVER_NODE = 32,
    CONTROLLER_NODE = GW_RING_CONTROLLER
}; /* as in run/post.h */

static uint32_t event_node(const struct ps_simcluster *f, unsigned node)
{
    if (node >= first_controller(f))
        return CONTROLLER_NODE - (node - first_controller(f));
    /* Node numbers of larger clusters are their own. */
    bool fits = f->workers <= SERVER_NODE;
    return is_server(f, node) && fits ? SERVER_NODE + node - f->workers : node;
}

static void emit_event(const struct ps_simcluster *f, struct gw_event event)
{
    event.time_ns = gw__sim_now(f->sim);
    event.epoch = (uint32_t)f->consensus.truth->view.epoch;
    event.op = event.step = GW_NONE;
    gw_emit(f->sink, &event);
}

void ps_simcluster_report_controller(void *context,
                                     const struct gw_event *event)
{
    const struct ps_simcluster *f = context;
    struct gw_event now = *event;
    now.time_ns = gw__sim_now(f->sim);
    gw_emit(f->sink, &now);
}

/* ---- members ---- */

static void report_member(struct ps_simcluster *f, unsigned node)
{
    const struct gw__member *m = &f->consensus.truth->members[node];
    bool here = m->state == GW__ACTIVE;
    if (here == f->reported_here[node] &&
        gw__id_equal(m->incarnation, f->reported[node]))
        return;
    if (f->reported_here[node]) /* perhaps another life */
        emit_event(f, (struct gw_event){.kind = GW_EV_MEMBER,
                                        .value = GW_MEMBER_DEAD,
                                        .rank = event_node(f, node),
                                        .peer = GW_NONE,
                                        .chunk = GW_NONE});
    if (here)
        emit_event(f, (struct gw_event){.kind = GW_EV_MEMBER,
                                        .value = GW_MEMBER_ALIVE,
                                        .rank = event_node(f, node),
                                        .peer = GW_NONE,
                                        .chunk = GW_NONE});
    f->reported_here[node] = here;
    f->reported[node] = m->incarnation;
}

void ps_simcluster_report_update(struct ps_simcluster *f)
{
    const struct gw__view *view = &f->consensus.truth->view;
    unsigned count = 0;
    for (unsigned node = 0; node < first_controller(f); node++) {
        report_member(f, node);
        count += f->reported_here[node];
    }
    if (view->epoch == f->reported_epoch)
        return;
    f->reported_epoch = view->epoch;
    emit_event(f, (struct gw_event){.kind = GW_EV_EPOCH,
                                    .value = count,
                                    .rank = GW_NONE,
                                    .peer = GW_NONE,
                                    .chunk = GW_NONE});
}

/* ---- slots ---- */

static enum gw_ps_role role_of(const struct ps_simcluster *f, unsigned slot,
                               unsigned node)
{
    const struct gw__slot_route *route =
        &f->consensus.truth->routes.slots[slot];
    const struct ps_simcluster_primary *s = &f->primaries[slot];
    if (slot >= f->consensus.truth->routes.slot_count ||
        route->primary == GW__NO_NODE)
        return GW_PS_NOT_HERE;
    if (route->primary == node && !s->vacant && s->by == node)
        return GW_PS_PRIMARY;
    if (gw__route_in_sync(route, node))
        return GW_PS_SECONDARY;
    return route->learner == node ? GW_PS_LEARNER : GW_PS_NOT_HERE;
}

/* New roles are reported before lost ones, so that a moving slot always has a
 * server in the events. */
static void report_slot(struct ps_simcluster *f, unsigned slot, bool gone)
{
    for (unsigned i = 0; i < f->servers; i++) {
        enum gw_ps_role role = role_of(f, slot, f->workers + i);
        if (f->reported_roles[slot][i] == role ||
            (role == GW_PS_NOT_HERE) != gone)
            continue;
        f->reported_roles[slot][i] = (uint8_t)role;
        emit_event(f, (struct gw_event){.kind = GW_EV_SLOT,
                                        .value = role,
                                        .rank = event_node(f, f->workers + i),
                                        .peer = GW_NONE,
                                        .chunk = slot});
    }
}

void ps_simcluster_report_roles(struct ps_simcluster *f)
{
    for (unsigned slot = 0; f->sink && slot < f->slots; slot++) {
        report_slot(f, slot, false);
        report_slot(f, slot, true);
    }
}

/* The end of a process, noticed by its parent. */
void ps_simcluster_report_failure(struct ps_simcluster *f, unsigned node)
{
    emit_event(f, (struct gw_event){.kind = GW_EV_FAILURE,
                                    .value = GW_BY_EXIT,
                                    .rank = GW_NONE,
                                    .peer = event_node(f, node),
                                    .chunk = GW_NONE});
}
