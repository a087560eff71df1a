/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The measurements of a run, in virtual time:
 *
 *     crash ----- suspected ----- removed ----- an op completed by all
 *       |            |                          survivors  |
 *       +- detected -+                                     |
 *       +------------------- recovered --------------------+
 *
 * A suspicion is false if the process is alive, even if it is paused. A member
 * that is removed although it is alive and has not left was removed in error:
 * the cost of a false suspicion shared by two members.
 */
#include "ring_simcluster.h"

static void add_time(struct times *times, uint64_t ns)
{
    if (times->count == 0 || ns < times->least_ns)
        times->least_ns = ns;
    if (ns > times->most_ns)
        times->most_ns = ns;
    times->sum_ns += ns;
    times->count++;
}

void measure_begin(struct simcluster *w)
{
    struct measures *m = &w->measures;
    m->shook = false;
    m->recovering_ns = m->ring_epoch = 0;
    m->resumed = (struct gw_nodes){{0}};
    memset(m->wounds, 0, sizeof m->wounds);
    memset(&m->view, 0, sizeof m->view);
}

static const struct gw__ring_member *in_ring(const struct gw__view *view,
                                             unsigned node)
{
    int rank = gw__view_rank(view, node);
    return rank < 0 ? NULL : &view->ring[rank];
}

void measure_life(struct simcluster *w, unsigned node, enum gw__fault_kind what)
{
    struct measures *m = &w->measures;
    struct wound *wound = &m->wounds[node];
    int rank = gw__view_rank(&m->view, node);
    m->crashes += what == GW__CRASH;
    if (what == GW__CRASH && rank >= 0 && !wound->at_ns)
        *wound = (struct wound){.at_ns = gw__sim_now(w->sim),
                                .incarnation = m->view.ring[rank].incarnation};
}

/* Does this process still exist, awake or not? */
static bool lives(const struct simcluster *w, unsigned node,
                  struct gw__id incarnation)
{
    const struct sim_node *sim_node = gw__sim_state(w->sim, node);
    return sim_node && !sim_node->gone &&
           gw__id_equal(sim_node->incarnation, incarnation);
}

void measure_suspect(struct simcluster *w, unsigned node,
                     struct gw__id incarnation, bool certain)
{
    struct measures *m = &w->measures;
    struct wound *wound = &m->wounds[node];
    bool wrongly = !certain && lives(w, node, incarnation);
    change_suspect(w);
    m->suspicions += !certain;
    m->false_suspicions += wrongly;
    m->shaken += wrongly && !m->shook;
    m->shook |= wrongly;
    if (!wound->at_ns || wound->suspected ||
        !gw__id_equal(wound->incarnation, incarnation))
        return;
    wound->suspected = true;
    add_time(&m->detected, gw__sim_now(w->sim) - wound->at_ns);
}

/* The members of the last view that are not in the new one. */
static void record_removed(struct simcluster *w,
                           const struct gw__ring_member *old)
{
    struct measures *m = &w->measures;
    struct wound *wound = &m->wounds[old->node];
    const struct sim_node *node = gw__sim_state(w->sim, old->node);
    bool there = lives(w, old->node, old->incarnation);
    m->wronged += there && !(node && node->leaves);
    if (wound->at_ns && gw__id_equal(wound->incarnation, old->incarnation)) {
        if (!m->recovering_ns || wound->at_ns < m->recovering_ns)
            m->recovering_ns = wound->at_ns;
        m->ring_epoch = w->consensus.truth->view.ring_epoch;
        m->resumed = (struct gw_nodes){{0}};
    }
    *wound = (struct wound){0};
}

void measure_view(struct simcluster *w)
{
    struct measures *m = &w->measures;
    const struct gw__view *view = &w->consensus.truth->view;
    if (view->ring_epoch == m->view.ring_epoch)
        return;
    for (unsigned i = 0; i < m->view.ring_count; i++) {
        const struct gw__ring_member *old = &m->view.ring[i];
        const struct gw__ring_member *now = in_ring(view, old->node);
        if (!now || !gw__id_equal(now->incarnation, old->incarnation))
            record_removed(w, old);
    }
    gw__view_copy(&m->view, view);
}

void measure_completed(const struct sim_node *node, uint64_t op)
{
    struct simcluster *w = node->cluster;
    struct measures *m = &w->measures;
    m->ops += w->completion_count[op] == 1;
    change_completed(w, node->node, node->ops.view.ring_epoch);
    if (!m->recovering_ns || node->ops.view.ring_epoch < m->ring_epoch)
        return;
    gw__nodes_add(&m->resumed, node->node);
    for (unsigned i = 0; i < m->view.ring_count; i++) {
        const struct gw__ring_member *member = &m->view.ring[i];
        if (!gw__nodes_has(&m->resumed, member->node) &&
            lives(w, member->node, member->incarnation))
            return;
    }
    add_time(&m->recovered, gw__sim_now(w->sim) - m->recovering_ns);
    m->recovering_ns = 0;
}

void measure_wrong(struct simcluster *w, const struct wrong *wrong)
{
    if (!w->measures.found)
        w->measures.wrong = *wrong;
    w->measures.found = true;
}
