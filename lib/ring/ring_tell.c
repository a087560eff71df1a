/* SPDX-License-Identifier: MIT
 *
 * Reports of the member machine, in the control thread. They are recorded for
 * the main thread, which is stopped where that is needed; where main does not
 * move, they are acted upon here. ring_parts.h has the rules of access.
 */
#include "ring_parts.h"

#include "base/failpoint.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- views ---- */

/* The first view that contains this member begins the op table. */
static void open_book(struct gw_ring *ring, const struct gw__view *view)
{
    int rank = gw__view_rank(view, ring->session.node);
    if (ring->member || rank < 0)
        return;
    gw__op_table_init(&ring->book, ring->session.node,
                      view->ring[rank].from_op);
    ring->member = true;
    gw__failpoint(GW__AT_COPY_ADMITTED);
}

static void told_view(struct gw_ring *ring)
{
    const void *state = gw__session_member(&ring->session);
    open_book(ring, gw__member_view(state));
    ring->next_view = *gw__member_view(state);
    ring->view_waits = true;
    ring->admitting = ring->admit_due = false;
    if (ring->book.view.ring_count > 0)
        return;
    ring->view_waits = false;
    (void)gw__op_table_adopt(&ring->book, &ring->next_view);
}

static void told_news(struct gw_ring *ring)
{
    const struct gw__membership_update *news = &ring->session.news;
    gw__events_view(ring, news);
    if (!gw__state_validity_lasts(&ring->known, &news->view))
        ring->pull.over = true;
    ring->known = news->view;
    gw__sure_news(ring);
}

/* ---- flushes ---- */

static void told_freeze(struct gw_ring *ring, uint64_t flush_epoch)
{
    gw__failpoint(GW__AT_RING_FREEZE);
    open_book(ring, &ring->session.news.view);
    ring->flushing = true;
    ring->reported = false;
    ring->flush_epoch = flush_epoch;
    ring->admitting = ring->admit_due = false;
    gw__status_noticed(ring);
}

static void told_decided(struct gw_ring *ring)
{
    const void *state = gw__session_member(&ring->session);
    const struct gw__membership_update *news = &ring->session.news;
    const struct gw__report *reports[GW__NODES_MAX];
    assert(!ring->moving);
    gw__failpoint(GW__AT_RING_DECISION);
    open_book(ring, gw__member_view(state));
    for (unsigned node = 0; node < GW__NODES_MAX; node++)
        reports[node] = gw__member_report(state, node);
    gw__op_table_resume(&ring->book, gw__member_view(state), news->decisions,
                        news->decision_count, reports);
    for (unsigned i = 0; i < news->decision_count; i++)
        gw__events_decision(ring, &news->decisions[i]);
    ring->flushing = ring->view_waits = false;
    gw__failpoint(GW__AT_RING_DECIDED);
    struct gw__task task;
    bool any = gw__op_table_task(&ring->book, &task);
    gw__ring_stand(ring, any ? GW__RECOVERING : GW__COMPUTE, -1);
    gw__status_reached(ring, &ring->status.last.decided_ns);
    gw__status_resumed(ring);
}

/* ---- addresses ---- */

static void told_addresses(struct gw_ring *ring, uint64_t ring_epoch)
{
    const void *state = gw__session_member(&ring->session);
    const struct gw__view *view = &ring->book.view;
    if (ring_epoch != view->ring_epoch)
        return;
    for (unsigned i = 0; i < view->ring_count; i++) {
        struct gw__address *address = &ring->table[i];
        const void *blob = gw__member_address(
            state, ring_epoch, view->ring[i].node, &address->bytes);
        if (!blob || address->bytes > sizeof address->blob)
            return;
        memcpy(address->blob, blob, address->bytes);
    }
    ring->met_epoch = ring_epoch;
}

/* ---- trouble ---- */

static void told_suspect(struct gw_ring *ring, const struct gw__told *told)
{
    char text[96];
    snprintf(text, sizeof text, "node %u has been silent for %llu ms",
             told->node, (unsigned long long)(told->silence_ns / 1000000));
    gw__status_noticed(ring);
    gw__status_say(ring, text);
    gw__events_loss(ring, told->node,
                    told->certain ? GW_BY_EXIT : GW_BY_SILENCE);
}

static void told_stuck(struct gw_ring *ring, const struct gw__told *told)
{
    char text[160];
    gw__stall_diagnosis_text(&told->laggard, text);
    gw__status_say(ring, text);
    gw__events_loss(ring, told->laggard.node, GW_BY_STALL);
}

static void told_trust(struct gw_ring *ring)
{
    bool broken = ring->broken_epoch == ring->book.view.ring_epoch;
    if (!ring->flushing && !broken)
        ring->noticed_ns = 0;
}

static const uint64_t refused_ns = 100000000; /* before the next attempt */

static void told_refused(struct gw_ring *ring, const char *text)
{
    ring->admitting = false;
    ring->admit_began_ns = 0;
    ring->admit_from_ns = gw_now_ns() + refused_ns;
    gw__status_say(ring, text);
}

/* ---- all reports ---- */

static void apply_notice(struct gw_ring *ring, const struct gw__told *told)
{
    switch (told->kind) {
    case GW__TOLD_NEWS:
        told_news(ring);
        break;
    case GW__TOLD_VIEW:
        told_view(ring);
        break;
    case GW__TOLD_FREEZE:
        told_freeze(ring, told->epoch);
        break;
    case GW__TOLD_DECIDED:
        told_decided(ring);
        break;
    case GW__TOLD_ADDRESSES:
        told_addresses(ring, told->epoch);
        break;
    case GW__TOLD_READY:
        ring->ready = told->count;
        break;
    case GW__TOLD_REFUSED:
        told_refused(ring, told->text);
        break;
    case GW__TOLD_REGISTERED:
    case GW__TOLD_ANSWER:
    case GW__TOLD_LEASE:
    case GW__TOLD_HEARD:
        break; /* the ring has no commands and serves no clients */
    case GW__TOLD_SUSPECT:
        told_suspect(ring, told);
        break;
    case GW__TOLD_TRUST:
        told_trust(ring);
        break;
    case GW__TOLD_STUCK:
        told_stuck(ring, told);
        break;
    case GW__TOLD_PARKED:
    case GW__TOLD_UNPARKED:
        gw__status_say(ring, told->text);
        gw__events_parked(ring);
        break;
    case GW__TOLD_GONE:
        gw__status_say(ring, told->text);
        break;
    }
}

void gw__ring_on_told(void *context, const struct gw__told *told)
{
    struct gw_ring *ring = context;
    apply_notice(ring, told);
    gw__ring_raise_stop(ring);
    gw__ring_report(ring);
    ring->status_changed = true;
}
