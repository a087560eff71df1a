/* SPDX-License-Identifier: MIT
 *
 * Handles NEWS of the controllers, and its consequences for the ring. NEWS is a
 * prefix of the log, so a higher index is newer, and a member must make up for
 * states between two messages:
 *
 *   flushing, another flush than ours      FREEZE. Reports for a flush in which
 *                                          more members are removed stay good.
 *   quiet, and we are in that flush        DECIDED, as soon as the survivors'
 *                                          reports have arrived
 *   quiet, another ring than ours          VIEW
 *
 * A member that takes part in the ops of a decided view cannot miss that view:
 * before the next one an op is completed in it (gw__op_table_may_admit), for
 * which all of them are needed.
 */
#include "member_parts.h"

#include <string.h>

/* ---- this member ---- */

/* Applies the registry's state of this node. Until it has described this very
 * process, it may describe an earlier one. */
static void check_self(struct gw__member_core *m)
{
    bool ours = gw__id_equal(m->update.incarnation, m->config.incarnation);
    if (!ours && !m->has_own_update)
        return;
    m->has_own_update = true;
    if (!ours)
        gw__member_leave(m, "this node number now belongs to another process");
    else if (m->update.state == GW__CONFIRMED_DEAD)
        gw__member_leave(
            m, "declared dead: the other members continued without this one");
    else if (m->update.state == GW__LEFT)
        gw__member_leave(m, "left");
    else if (m->node != GW__NODE_ANY) /* otherwise only the answer contains the
                                         number */
        gw__member_registered(m, m->node);
}

/* Handles a lost registration. The answer confirmed it, but the newest NEWS has
 * long described another process: a late request of an ended process with the
 * same number was applied after ours. */
void gw__member_check_known(struct gw__member_core *m)
{
    enum { UNKNOWN_NS = 2000000000 };
    if (m->stage == GW__STAGE_REGISTERED && !m->has_own_update &&
        m->update_ns > m->registered_ns &&
        m->now_ns - m->registered_ns >= UNKNOWN_NS)
        gw__member_leave(m, "this node number now belongs to another process");
}

/* ---- views and flushes ---- */

static void notify_view(struct gw__member_core *m,
                        enum gw__notification_kind kind,
                        const struct gw__view *view)
{
    struct gw__notification notification = {.kind = kind, .node = m->node};
    notification.epoch =
        kind == GW__NOTIFY_FREEZE ? m->flush_epoch : view->ring_epoch;
    if (kind != GW__NOTIFY_FREEZE)
        gw__view_copy(&m->view, view);
    m->admits = false; /* the ring has changed: the admission has succeeded or
                          will be refused */
    gw__member_notify(m, &notification);
}

static void freeze(struct gw__member_core *m)
{
    m->stage = GW__STAGE_FLUSHING;
    m->flush_epoch = m->update.flush_epoch;
    m->has_report = m->reported = false;
    m->have = (struct gw_nodes){{0}};
    notify_view(m, GW__NOTIFY_FREEZE, NULL);
}

/* Have the reports of all survivors arrived? */
static bool has_reports(const struct gw__member_core *m)
{
    struct gw_nodes needed =
        gw__nodes_and(gw__view_nodes(&m->update.view), m->update.reported);
    return gw__nodes_within(needed, m->have);
}

static void check_decided(struct gw__member_core *m)
{
    if (!has_reports(m))
        return;
    m->stage = GW__STAGE_QUIET;
    notify_view(m, GW__NOTIFY_DECIDED, &m->update.view);
}

static void check_ring(struct gw__member_core *m)
{
    const struct gw__membership_update *update = &m->update;
    if (!m->config.ring ||
        !gw__member_in(&update->view, m->node, m->config.incarnation))
        return;
    if (update->flushing && (m->stage != GW__STAGE_FLUSHING ||
                             m->flush_epoch != update->flush_epoch))
        freeze(m);
    if (m->stage == GW__STAGE_REGISTERED)
        m->stage = GW__STAGE_QUIET;
    if (!update->flushing && m->stage == GW__STAGE_FLUSHING)
        check_decided(m);
    if (m->stage == GW__STAGE_QUIET && !update->flushing &&
        update->view.ring_epoch > m->view.ring_epoch)
        notify_view(m, GW__NOTIFY_VIEW, &update->view);
}

static void observe_ring(struct gw__member_core *m)
{
    struct gw__view view;
    gw__member_observed(m, &view);
    gw__detector_view(&m->detector, &view, m->now_ns);
}

/* A flush is open, or over, and reports are missing: ask now, not at the next
 * HELLO. */
static bool lacks_reports(const struct gw__member_core *m, uint64_t had_flush,
                          bool was_flushing)
{
    return m->stage == GW__STAGE_FLUSHING && !has_reports(m) &&
           (m->flush_epoch != had_flush || m->update.flushing != was_flushing);
}

/* Does the detector start again? */
static bool is_other(const struct gw__member_core *m,
                     const struct gw__membership_update *update)
{
    if (gw__member_is_ps(m))
        return update->view.epoch != m->update.view.epoch;
    return update->view.ring_epoch != m->update.view.ring_epoch;
}

static void apply_update(struct gw__member_core *m,
                         const struct gw__membership_update *update)
{
    static const struct gw__notification changed = {.kind = GW__NOTIFY_UPDATE};
    uint64_t had_flush = m->flush_epoch;
    bool was_flushing = m->update.flushing;
    if (is_other(m, update))
        gw__member_suspicion_forget(m);
    gw__membership_update_copy(&m->update, update);
    m->update_ns = m->now_ns;
    gw__member_notify(m, &changed);
    check_self(m);
    if (m->stage == GW__STAGE_GONE || m->stage == GW__STAGE_REGISTERING)
        return;
    observe_ring(m);
    check_ring(m);
    gw__ready_check(m);
    if (lacks_reports(m, had_flush, was_flushing))
        gw__member_hello(m);
}

void gw__member_apply_update(struct gw__member_core *m,
                             const struct gw__input *input)
{
    static const struct gw__notification answered = {.kind =
                                                         GW__NOTIFY_ANSWERED};
    struct gw__membership_update update;
    struct gw_error why;
    enum gw_err code = gw__membership_update_decode(input->data, input->bytes,
                                                    &m->update, &update, &why);
    if (code == GW_PENDING && update.index > m->update.index) {
        m->needs_whole = true;
        gw__member_hello(m);
    }
    if (code)
        return;
    m->needs_whole = false;
    if (update.leader)
        gw__member_led(m);
    if (update.index > m->update.index)
        apply_update(m, &update);
    if (!m->requests_update || !update.leader)
        return;
    m->requests_update = false;
    gw__member_notify(m, &answered);
}

void gw__member_reported(struct gw__member_core *m,
                         const struct gw__input *input)
{
    struct gw__reported reported;
    struct gw__report report;
    struct gw_error why;
    unsigned node;
    if (gw__reported_decode(input->data, input->bytes, &reported, &why) ||
        m->stage != GW__STAGE_FLUSHING ||
        reported.flush_epoch != m->flush_epoch)
        return;
    while (gw__reported_next(&reported, &node, &report)) {
        m->reports[node] = report;
        gw__nodes_add(&m->have, node);
    }
    check_ring(m);
}
