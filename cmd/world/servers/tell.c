/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The events of a run of servers, as its supervisor (cmd/run) makes them, from
 * the simulation, so that ringtop shows both. Nodes have the numbers of a run.
 */
#include "farm.h"

enum { SERVER_NODE = 32, CONTROLLER_NODE = 63 }; /* as in run/post.h */

static uint32_t event_node(const struct farm *f, unsigned node)
{
    if (node >= first_controller(f))
        return CONTROLLER_NODE - (node - first_controller(f));
    return is_server(f, node) ? SERVER_NODE + node - f->workers : node;
}

static void emit_event(const struct farm *f, struct gw_event event)
{
    event.time_ns = gw__sim_now(f->sim);
    event.epoch = (uint32_t)f->agreed.truth->view.epoch;
    event.op = event.step = GW_NONE;
    gw_emit(f->sink, &event);
}

void farm_tell_controller(void *context, const struct gw_event *event)
{
    const struct farm *f = context;
    struct gw_event now = *event;
    now.time_ns = gw__sim_now(f->sim);
    gw_emit(f->sink, &now);
}

/* ---- members ---- */

static void tell_member(struct farm *f, unsigned node)
{
    const struct gw__member *m = &f->agreed.truth->members[node];
    bool here = m->state == GW__ACTIVE;
    if (here == f->told_here[node] &&
        gw__id_equal(m->incarnation, f->told[node]))
        return;
    if (f->told_here[node]) /* perhaps another life */
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
    f->told_here[node] = here;
    f->told[node] = m->incarnation;
}

void farm_tell_news(struct farm *f)
{
    const struct gw__view *view = &f->agreed.truth->view;
    unsigned count = 0;
    for (unsigned node = 0; node < first_controller(f); node++) {
        tell_member(f, node);
        count += f->told_here[node];
    }
    if (view->epoch == f->told_epoch)
        return;
    f->told_epoch = view->epoch;
    emit_event(f, (struct gw_event){.kind = GW_EV_EPOCH,
                                    .value = count,
                                    .rank = GW_NONE,
                                    .peer = GW_NONE,
                                    .chunk = GW_NONE});
}

/* ---- slots ---- */

static enum gw_ps_role role_of(const struct farm *f, unsigned slot,
                               unsigned node)
{
    const struct gw__slot_route *route = &f->agreed.truth->routes.slots[slot];
    const struct farm_serving *s = &f->serving[slot];
    if (slot >= f->agreed.truth->routes.slot_count ||
        route->primary == GW__NO_NODE)
        return GW_PS_NOT_HERE;
    if (route->primary == node && !s->nobody && s->by == node)
        return GW_PS_PRIMARY;
    if (gw__route_in_sync(route, node))
        return GW_PS_SECONDARY;
    return route->learner == node ? GW_PS_LEARNER : GW_PS_NOT_HERE;
}

/* New roles are reported before lost ones, so that a moving slot always has a
 * server in the events. */
static void tell_slot(struct farm *f, unsigned slot, bool gone)
{
    for (unsigned i = 0; i < f->servers; i++) {
        enum gw_ps_role role = role_of(f, slot, f->workers + i);
        if (f->told_roles[slot][i] == role || (role == GW_PS_NOT_HERE) != gone)
            continue;
        f->told_roles[slot][i] = (uint8_t)role;
        emit_event(f, (struct gw_event){.kind = GW_EV_SLOT,
                                        .value = role,
                                        .rank = event_node(f, f->workers + i),
                                        .peer = GW_NONE,
                                        .chunk = slot});
    }
}

void farm_tell_roles(struct farm *f)
{
    for (unsigned slot = 0; f->sink && slot < FARM_SLOTS; slot++) {
        tell_slot(f, slot, false);
        tell_slot(f, slot, true);
    }
}

/* The end of a process, noticed by its parent. */
void farm_tell_failure(struct farm *f, unsigned node)
{
    emit_event(f, (struct gw_event){.kind = GW_EV_FAILURE,
                                    .value = GW_BY_EXIT,
                                    .rank = GW_NONE,
                                    .peer = event_node(f, node),
                                    .chunk = GW_NONE});
}
