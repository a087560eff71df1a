/* SPDX-License-Identifier: MIT
 *
 * The failure detector of a member: the members that are watched, its start,
 * and its timer. Its findings become suspicions (member_suspicion.c).
 */
#include "member_parts.h"

bool gw__member_is_ps(const struct gw__member_core *m)
{
    return !m->config.ring && gw__role_is_ps_members(m->config.role);
}

/* The members of the parameter server in the order of nodes. The view's epoch
 * is the registry's, because every change of these members is a new epoch. */
void gw__member_observed(const struct gw__member_core *m, struct gw__view *view)
{
    const struct gw__membership_update *update = &m->update;
    gw__view_copy(view, &update->view);
    if (!gw__member_is_ps(m))
        return;
    view->ring_epoch = update->view.epoch;
    view->op_low_watermark = view->from_op = 0;
    view->ring_count = update->ps_member_count;
    view->indexed = false;
    for (unsigned i = 0; i < update->ps_member_count; i++) {
        view->ring[i].node = update->ps_members[i].node;
        view->ring[i].from_op = 0;
        view->ring[i].incarnation = update->ps_members[i].incarnation;
    }
}

static void set_timer(const struct gw__member_core *m)
{
    m->act->set_timer(m->act->driver, GW__BEAT_TIMER,
                      gw__detector_due(&m->detector));
}

void gw__member_observe_peers(struct gw__member_core *m)
{
    const struct gw__detector_config *configured = &m->config.detector;
    struct gw__detector_config config =
        configured->beat_ns ? *configured : gw__detector_defaults;
    if (!m->config.ring && !gw__member_is_ps(m))
        return;
    config.suspicion = configured->suspicion;
    config.owner = m;
    config.notify = gw__member_suspicion_notice;
    gw__detector_start(&m->detector, &config, m->node, m->incarnation,
                       m->now_ns);
    set_timer(m);
}

void gw__member_beat(struct gw__member_core *m)
{
    gw__detector_tick(&m->detector, m->now_ns, m->act);
    set_timer(m);
}
