/* SPDX-License-Identifier: MIT
 *
 * The interface of the failure detector; see detector.h for the design.
 */
#include "detector_parts.h"

#include <stddef.h>
#include <string.h>

const struct gw__detector_config gw__detector_defaults = {
    .beat_ns = 20000000,
    .deviation_ns = 20000000,
    .pause_ns = 100000000,
    .repeat_ns = 200000000,
    .stall_ns = 2000000000,
    .threshold_milli = 8000,
};

/* The member of the view that is this process and incarnation; NULL if none
 * is. */
static const struct gw__ring_member *
find_member(const struct gw__detector *d, unsigned node, uint64_t incarnation)
{
    int rank = gw__view_rank(&d->view, node);
    if (rank < 0 || d->view.ring[rank].incarnation.low != incarnation)
        return NULL;
    return &d->view.ring[rank];
}

void gw__detector_clear(struct gw__detector *d)
{
    memset(d, 0, offsetof(struct gw__detector, view));
    gw__view_clear(&d->view);
}

void gw__detector_start(struct gw__detector *d,
                        const struct gw__detector_config *config, unsigned node,
                        uint64_t incarnation, uint64_t now_ns)
{
    d->config = *config;
    d->self = node;
    d->incarnation = incarnation;
    d->rank = -1;
    d->beat_ns = d->config.beat_ns;
    d->due_ns = now_ns + d->beat_ns;
    d->known[d->self] = (struct gw__known){.changed_ns = 0};
    gw__nodes_add(&d->known_nodes, d->self);
}

/* ---- views ---- */

static struct gw_nodes nodes_of(const struct gw__view *view,
                                struct gw_nodes ranks)
{
    struct gw_nodes nodes = {{0}};
    for (unsigned i = gw__nodes_next(&ranks, 0); i < view->ring_count;
         i = gw__nodes_next(&ranks, i + 1))
        gw__nodes_add(&nodes, view->ring[i].node);
    return nodes;
}

/* Keeps this member's own progress report; all others must be received
 * again. */
static void reset_reports(struct gw__detector *d, uint64_t now_ns)
{
    d->known_nodes = gw__nodes_only(d->self);
    d->known[d->self].changed_ns = now_ns;
    d->reported = (struct gw__stall_diagnosis){.lag = GW__LAG_NONE};
    d->receivers = (struct gw_nodes){{0}};
}

static void choose_observed(struct gw__detector *d, uint64_t now_ns)
{
    struct gw__observed before[GW__OBSERVED_MAX];
    unsigned count = d->observed_count;
    memcpy(before, d->observed, sizeof before);
    d->observed_count = 0;
    if (d->rank < 0)
        return;
    struct gw__observers observers;
    unsigned rank = (unsigned)d->rank;
    d->beat_ns = gw__interval_ns(d->config.beat_ns, d->view.ring_count);
    gw__observers_make(&observers, d->view.ring_count, d->view.ring_epoch);
    d->receivers = nodes_of(&d->view, gw__observers_of(&observers, rank));
    struct gw_nodes observed = gw__observers_observed(&observers, rank);
    for (unsigned i = 0; i < d->view.ring_count; i++)
        if (gw__nodes_has(&observed, i) && d->observed_count < GW__OBSERVED_MAX)
            d->observed[d->observed_count++] = (struct gw__observed){
                .node = d->view.ring[i].node,
                .incarnation = d->view.ring[i].incarnation};
    gw__suspect_begin(d, before, count, now_ns);
}

void gw__detector_view(struct gw__detector *d, const struct gw__view *view,
                       uint64_t now_ns)
{
    if (d->config.beat_ns == 0 || view->epoch <= d->view.epoch)
        return;
    bool same_ring = view->ring_epoch == d->view.ring_epoch;
    gw__view_copy(&d->view, view);
    if (same_ring)
        return;
    reset_reports(d, now_ns);
    d->rank = find_member(d, d->self, d->incarnation)
                  ? gw__view_rank(&d->view, d->self)
                  : -1;
    choose_observed(d, now_ns);
    gw__suspect_certain(d);
}

/* ---- events ---- */

static bool is_same_progress(const struct gw__progress_report *a,
                             const struct gw__progress_report *b)
{
    return a->op == b->op && a->moved == b->moved && a->phase == b->phase &&
           a->waits_for == b->waits_for;
}

void gw__detector_set_progress(struct gw__detector *d,
                               const struct gw__progress_report *report,
                               uint64_t now_ns)
{
    struct gw__known *self = &d->known[d->self];
    if (!gw__nodes_has(&d->known_nodes, d->self))
        return; /* not started */
    uint64_t stamp = self->report.stamp;
    if (stamp > 0 && is_same_progress(report, &self->report))
        return;
    self->report = *report;
    self->report.stamp = stamp + 1;
    self->changed_ns = now_ns;
}

void gw__detector_beat(struct gw__detector *d, const struct gw__input *input)
{
    if (find_member(d, input->from, input->incarnation) &&
        gw__beat_receive(d, input))
        gw__suspect_contact(d, input->from, input->now_ns);
}

void gw__detector_died(struct gw__detector *d, unsigned node,
                       uint64_t incarnation)
{
    if (node < GW__NODES_MAX) {
        d->ended[node] = incarnation;
        gw__nodes_add(&d->ended_nodes, node);
    }
    gw__suspect_certain(d);
}

/* ---- the watchdog ---- */

/* Reports a diagnosis if an op has made no progress for too long. Reports again
 * only after the same time, or when the answer changes. */
static void check_for_stall(struct gw__detector *d, uint64_t now_ns)
{
    struct gw__progress_report reports[GW__NODES_MAX];
    const struct gw__known *self = &d->known[d->self];
    if (d->rank < 0 || self->report.stamp == 0 ||
        self->report.phase == GW__COMPUTE ||
        now_ns - self->changed_ns < d->config.stall_ns)
        return;
    memset(reports, 0, sizeof reports);
    for (unsigned i = gw__nodes_next(&d->known_nodes, 0); i < GW__NODES_MAX;
         i = gw__nodes_next(&d->known_nodes, i + 1))
        reports[i] = d->known[i].report;
    struct gw_nodes dead = gw__suspect_dead(d);
    struct gw__stall_diagnosis found =
        gw__stall_diagnosis_find(reports, &dead, d->self);
    bool again = found.lag == d->reported.lag &&
                 found.node == d->reported.node && found.op == d->reported.op &&
                 now_ns - d->reported_ns < d->config.stall_ns;
    if (found.lag == GW__LAG_NONE || again)
        return;
    d->reported = found;
    d->reported_ns = now_ns;
    const struct gw__notice notice = {.kind = GW__NOTICE_STUCK,
                                      .epoch = d->view.epoch,
                                      .node = found.node,
                                      .stall = found};
    d->config.notify(d->config.owner, &notice);
}

/* ---- the tick ---- */

uint64_t gw__detector_due(const struct gw__detector *d)
{
    return d->due_ns;
}

void gw__detector_tick(struct gw__detector *d, uint64_t now_ns,
                       const struct gw__actions *act)
{
    uint64_t late = now_ns > d->due_ns ? now_ns - d->due_ns : 0;
    gw__suspect_health(d, late, now_ns);
    gw__beat_send(d, act);
    gw__suspect_check(d, now_ns, act);
    check_for_stall(d, now_ns);
    d->due_ns = now_ns + d->beat_ns;
}
