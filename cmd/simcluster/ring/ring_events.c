/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The events of a real run (gradwire/event.h), with virtual times, so that
 * ringtop shows both alike. Only their sender differs: events about the whole
 * ring (members, epochs, decisions) come from the log.
 */
#include "ring_simcluster.h"

enum { CHUNK_BYTES = 1024 }; /* the nominal size of a chunk */

static void emit(struct simcluster *w, struct gw_event event)
{
    event.time_ns = gw__sim_now(w->sim);
    gw_emit(w->sink, &event);
}

void report_controller(struct simcluster *w, const struct gw_event *event)
{
    emit(w, *event);
}

void report(const struct sim_node *node, const struct member_event *e)
{
    bool moves = e->kind == GW_EV_SEND || e->kind == GW_EV_APPLY;
    emit(node->cluster,
         (struct gw_event){.kind = (uint32_t)e->kind,
                           .bytes = moves ? CHUNK_BYTES : 0,
                           .value = e->value,
                           .rank = node->node,
                           .peer = e->peer,
                           .epoch = (uint32_t)node->ops.view.epoch,
                           .op = e->op,
                           .step = e->step,
                           .chunk = e->chunk});
}

void report_recovery(const struct sim_node *node,
                     const struct gw__recovery_task *task,
                     const struct gw_nodes *start)
{
    const struct gw__op_entry *entry =
        &node->ops.entries[task->op % GW__OP_TABLE_OPS];
    struct gw_nodes own = gw__nodes_only(node->node);
    for (unsigned c = 0; c < task->plan.chunks && task->recovers; c++) {
        const struct member_event event = {.kind = GW_EV_RECOVERY,
                                           .peer = GW_NONE,
                                           .op = (uint32_t)task->op,
                                           .step = GW_NONE,
                                           .chunk = c,
                                           .value =
                                               gw__nodes_equal(start[c], own)};
        if (!gw__nodes_equal(entry->sets.sets[c], own))
            report(node, &event);
    }
}

/* ---- of the whole ring ---- */

static void report_member(struct simcluster *w, unsigned node,
                          enum gw_membership state)
{
    const struct gw__view *view = &w->consensus.truth->view;
    int rank = state == GW_MEMBER_ALIVE ? gw__view_rank(view, node) : -1;
    emit(w, (struct gw_event){.kind = GW_EV_MEMBER,
                              .value = state,
                              .rank = node,
                              .peer = GW_NONE,
                              .epoch = (uint32_t)view->epoch,
                              .op = GW_NONE,
                              .step = rank < 0 ? GW_NONE : (uint32_t)rank,
                              .chunk = GW_NONE});
}

static bool is_in_view(const struct gw__view *view,
                       const struct gw__ring_member *m)
{
    int rank = gw__view_rank(view, m->node);
    return rank >= 0 &&
           gw__id_equal(view->ring[rank].incarnation, m->incarnation);
}

void report_view(struct simcluster *w)
{
    const struct gw__view *view = &w->consensus.truth->view,
                          *known = &w->measures.view;
    if (view->ring_epoch == known->ring_epoch)
        return;
    for (unsigned i = 0; i < known->ring_count; i++)
        if (!is_in_view(view, &known->ring[i]))
            report_member(
                w, known->ring[i].node,
                w->consensus.truth->members[known->ring[i].node].state ==
                        GW__LEFT
                    ? GW_MEMBER_LEFT
                    : GW_MEMBER_DEAD);
    bool moved = gw__view_is_moved(known, view);
    for (unsigned i = 0; i < view->ring_count; i++)
        if (moved || !is_in_view(known, &view->ring[i]))
            report_member(w, view->ring[i].node, GW_MEMBER_ALIVE);
    emit(w, (struct gw_event){
                .kind = GW_EV_EPOCH,
                .value = view->ring_count,
                .rank = GW_NONE,
                .peer = GW_NONE,
                .epoch = (uint32_t)view->epoch,
                .op = GW_NONE,
                .step = GW_NONE,
                .chunk = gw__chosen_event_chunk(&w->chosen, view->ring_count)});
}

void report_decision(struct simcluster *w, const struct gw__decision *decision)
{
    emit(w, (struct gw_event){.kind = GW_EV_DECISION,
                              .value = decision->fate == GW__EXCLUDE,
                              .rank = GW_NONE,
                              .peer = GW_NONE,
                              .epoch = (uint32_t)w->consensus.truth->view.epoch,
                              .op = (uint32_t)decision->op,
                              .step = GW_NONE,
                              .chunk = GW_NONE});
}

void report_missed(struct simcluster *w, uint32_t by, unsigned node,
                   enum gw_evidence evidence)
{
    emit(w, (struct gw_event){.kind = GW_EV_FAILURE,
                              .value = evidence,
                              .rank = by,
                              .peer = node,
                              .epoch = (uint32_t)w->consensus.truth->view.epoch,
                              .op = GW_NONE,
                              .step = GW_NONE,
                              .chunk = GW_NONE});
}
