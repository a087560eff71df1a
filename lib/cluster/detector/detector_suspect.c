/* SPDX-License-Identifier: MIT
 *
 * Silence, the observer's own health, and suspicions; see detector.h.
 */
#include "detector_parts.h"

#include "base/log.h"

#include <string.h>

_Static_assert((int)GW__PHI_WINDOW == GW_SILENCE_INTERVALS &&
                   (int)GW__HEALTH_MAX == GW_SILENCE_LATE,
               "the sizes in gradwire/suspicion.h");

/* Until the first beat, as for the first HELLO to a controller. */
#define CONNECT_NS 1000000000ULL

static struct gw__observed *node_observed(struct gw__detector *d, unsigned node)
{
    for (unsigned i = 0; i < d->observed_count; i++)
        if (d->observed[i].node == node)
            return &d->observed[i];
    return NULL;
}

static const struct gw__observed *
find_observed(const struct gw__observed *before, unsigned count,
              const struct gw__observed *w)
{
    for (unsigned i = 0; i < count; i++)
        if (before[i].node == w->node &&
            gw__id_equal(before[i].incarnation, w->incarnation))
            return &before[i];
    return NULL;
}

/* A silence continues in the next view. Otherwise a member that is stopped
 * while views follow each other, as when slots move, would never be found. The
 * learned intervals of a busy machine also still hold. A member that was not
 * watched before has to connect first. That time is unknown, and no look
 * excuses it, since its process is known only from its first message. */
void gw__suspect_begin(struct gw__detector *d,
                       const struct gw__observed *before, unsigned count,
                       uint64_t now_ns)
{
    const struct gw__phi_config phi_config = {.expected_ns = d->beat_ns,
                                              .deviation_ns =
                                                  d->config.deviation_ns,
                                              .pause_ns = d->config.pause_ns};
    for (unsigned i = 0; i < d->observed_count; i++) {
        struct gw__observed *w = &d->observed[i];
        const struct gw__observed *same = find_observed(before, count, w);
        if (same)
            w->silence = same->silence;
        else
            gw__silence_begin(&w->silence, &phi_config,
                              now_ns + phi_config.pause_ns);
        w->silence.phi.config = phi_config; /* the ring may have another size */
        w->connected_ns = same ? same->connected_ns : now_ns + CONNECT_NS;
    }
}

void gw__suspect_contact(struct gw__detector *d, unsigned node, uint64_t now_ns)
{
    struct gw__observed *w = node_observed(d, node);
    if (!w)
        return;
    const struct gw__notice notice = {
        .kind = GW__NOTICE_TRUST,
        .epoch = d->view.epoch,
        .node = node,
        .incarnation = w->incarnation,
        .silence_ns = gw__phi_silence(&w->silence.phi, now_ns)};
    gw__silence_end(&w->silence, now_ns);
    w->connected_ns = 0;
    if (w->suspected)
        d->config.notify(d->config.owner, &notice);
    w->suspected = false;
}

/* A tick is late if it missed a whole beat. */
void gw__suspect_health(struct gw__detector *d, uint64_t late_ns,
                        uint64_t now_ns)
{
    bool late = gw__health_late(&d->health, late_ns, d->beat_ns);
    d->late_ns = late ? late_ns : 0;
    for (unsigned i = 0; late && i < d->observed_count; i++)
        gw__silence_shift(&d->observed[i].silence, late_ns, now_ns);
}

static void suspect(const struct gw__detector *d,
                    const struct gw__ring_member *member,
                    const struct gw__observed *w, uint64_t now_ns)
{
    struct gw__notice notice = {.kind = GW__NOTICE_SUSPECT,
                                .epoch = d->view.epoch,
                                .node = member->node,
                                .incarnation = member->incarnation,
                                .certain = !w};
    double phi = w ? gw__phi_now(&w->silence.phi, now_ns) * 1000 : 0;
    if (w)
        notice.silence_ns = now_ns - w->silence.contact_ns;
    notice.phi_milli = phi < UINT32_MAX ? (uint32_t)phi : UINT32_MAX;
    gw__log_info("detector",
                 "node %u suspects node %u: %s, silent for %.1f ms, phi %.1f",
                 d->self, member->node, w ? "suspected" : "its process ended",
                 (double)notice.silence_ns / 1e6, phi / 1000);
    d->config.notify(d->config.owner, &notice);
}

/* The only place where silence becomes a suspicion. */
static bool is_silent(const struct gw__detector *d,
                      const struct gw__observed *w, uint64_t now_ns)
{
    uint64_t intervals_ns[GW__PHI_WINDOW];
    const struct gw_suspicion *policy = d->config.suspicion;
    const struct gw__phi *phi = &w->silence.phi;
    if (!policy)
        return gw__silence_is_long(&w->silence,
                                   d->config.threshold_milli / 1000.0,
                                   gw__health_factor(&d->health), now_ns);
    const struct gw_silence silence = {
        .silence_ns = gw__phi_silence(phi, now_ns),
        .beat_ns = d->beat_ns,
        .intervals_ns = intervals_ns,
        .interval_count = gw__phi_intervals(phi, intervals_ns),
        .late = d->health.level};
    return policy->suspects(&silence);
}

static void suspect_if_silent(const struct gw__detector *d,
                              struct gw__observed *w, uint64_t now_ns)
{
    if (now_ns < w->connected_ns || !is_silent(d, w, now_ns) ||
        (w->suspected && now_ns - w->suspected_ns < d->config.repeat_ns))
        return;
    w->suspected = true;
    w->suspected_ns = now_ns;
    int rank = gw__view_rank(&d->view, w->node);
    suspect(d, &d->view.ring[rank], w, now_ns);
}

/* If a process can be looked at, the look decides. */
void gw__suspect_check(struct gw__detector *d, uint64_t now_ns,
                       const struct gw__actions *act)
{
    for (unsigned i = 0; i < d->observed_count; i++) {
        struct gw__observed *w = &d->observed[i];
        if (act->inspect && gw__silence_needs_inspection(&w->silence, now_ns))
            act->inspect(act->driver, w->node, w->incarnation.low);
        else
            suspect_if_silent(d, w, now_ns);
    }
}

void gw__detector_sight(struct gw__detector *d, const struct gw__input *input)
{
    struct gw__observed *w = node_observed(d, input->from);
    struct gw__sight sight;
    if (!w || w->incarnation.low != input->incarnation ||
        input->bytes != sizeof sight)
        return;
    memcpy(&sight, input->data, sizeof sight);
    gw__silence_sight(&w->silence, &sight, d->late_ns, input->now_ns);
    if (sight.state != GW__SIGHT_NONE)
        w->connected_ns = 0;
    suspect_if_silent(d, w, input->now_ns);
}

static bool process_has_ended(const struct gw__detector *d,
                              const struct gw__ring_member *m)
{
    return m->node != d->self && gw__nodes_has(&d->ended_nodes, m->node) &&
           d->ended[m->node] == m->incarnation.low;
}

/* Each end is reported by the observers of the process, not by all members. */
void gw__suspect_certain(const struct gw__detector *d)
{
    for (unsigned i = 0; i < d->observed_count; i++) {
        int rank = gw__view_rank(&d->view, d->observed[i].node);
        if (process_has_ended(d, &d->view.ring[rank]))
            suspect(d, &d->view.ring[rank], NULL, 0);
    }
}

struct gw_nodes gw__suspect_dead(const struct gw__detector *d)
{
    struct gw_nodes dead = {{0}};
    for (unsigned i = 0; i < d->view.ring_count; i++)
        if (process_has_ended(d, &d->view.ring[i]))
            gw__nodes_add(&dead, d->view.ring[i].node);
    for (unsigned i = 0; i < d->observed_count; i++)
        if (d->observed[i].suspected)
            gw__nodes_add(&dead, d->observed[i].node);
    return dead;
}
