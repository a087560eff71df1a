/* SPDX-License-Identifier: MIT
 *
 * The flush: survivors report, and the entry that brings the last report (or
 * the deadline) decides every open op. The diagram is in registry.h, the rule
 * in decide.h.
 */
#include "registry_parts.h"

#include <string.h>

const struct gw__decision *gw__registry_decision(const struct gw__registry *r,
                                                 uint64_t op)
{
    for (unsigned i = r->decision_count; i > 0; i--)
        if (r->decisions[i - 1].op == op)
            return &r->decisions[i - 1];
    return NULL;
}

static void remember(struct gw__registry *r,
                     const struct gw__decision *decision)
{
    if (r->decision_count == GW__DECISIONS_MAX) {
        memmove(r->decisions, r->decisions + 1,
                (GW__DECISIONS_MAX - 1) * sizeof *r->decisions);
        r->decision_count--;
    }
    r->decisions[r->decision_count++] = *decision;
}

/* The open ops: those from `floor` on that some member has begun. */
static uint64_t open_until(const struct gw__registry *r,
                           uint64_t *low_watermark)
{
    uint64_t until = 0;
    *low_watermark = r->view.op_low_watermark;
    for (unsigned i = 0; i < r->view.ring_count; i++) {
        const struct gw__report *report =
            &r->flush.reports[r->view.ring[i].node];
        uint64_t next = report->low_watermark + report->op_count;
        if (report->low_watermark > *low_watermark)
            *low_watermark = report->low_watermark;
        if (report->op_count && next > until)
            until = next;
    }
    return until;
}

/* Fills in the initial members of the op, from an earlier decision or the
 * flush. */
static void find_initial_members(const struct gw__registry *r,
                                 const struct gw__decision *earlier,
                                 struct gw__decision *decision)
{
    const struct gw__flush *flush = &r->flush;
    if (earlier) {
        decision->contributors = earlier->contributors;
        decision->initial_count = earlier->initial_count;
        memcpy(decision->initial_members, earlier->initial_members,
               sizeof earlier->initial_members);
        return;
    }
    decision->initial_count =
        gw__ring_places(flush->before, flush->before_count, decision->op,
                        decision->initial_members);
}

static bool was_begun(const struct gw__survivor *survivors, unsigned count,
                      uint64_t op)
{
    for (unsigned i = 0; i < count; i++)
        if (gw__report_of(survivors[i].report, op))
            return true;
    return false;
}

/* Forgets earlier decisions about ops that are open now: either the op was
 * decided again, or no survivor has begun it, and it starts from the
 * beginning. */
static void forget_older(struct gw__registry *r, uint64_t low_watermark)
{
    unsigned kept = 0, before = r->decision_count;
    for (unsigned i = 0; i < before; i++)
        if (r->decisions[i].op < low_watermark ||
            r->decisions[i].epoch == r->view.ring_epoch)
            r->decisions[kept++] = r->decisions[i];
    memset(r->decisions + kept, 0, (before - kept) * sizeof *r->decisions);
    r->decision_count = kept;
}

static void decide(struct gw__registry *r)
{
    struct gw__survivor survivors[GW__NODES_MAX];
    unsigned count = r->view.ring_count;
    for (unsigned i = 0; i < count; i++)
        survivors[i] = (struct gw__survivor){
            .node = r->view.ring[i].node,
            .from_op = r->view.ring[i].from_op,
            .report = &r->flush.reports[r->view.ring[i].node]};
    uint64_t low_watermark, until = open_until(r, &low_watermark);
    /* At most GW__REPORT_OPS_MAX ops, because each report begins at its
     * floor. */
    for (uint64_t op = low_watermark; op < until; op++) {
        struct gw__decision decision = {.epoch = r->view.ring_epoch, .op = op};
        if (!was_begun(survivors, count, op))
            continue;
        find_initial_members(r, gw__registry_decision(r, op), &decision);
        gw__decide(survivors, count, &decision);
        remember(r, &decision);
    }
    forget_older(r, low_watermark);
    r->view.op_low_watermark = low_watermark;
    r->flush.open = false;
}

void gw__flush_check(struct gw__registry *r)
{
    if (r->flush.open &&
        gw__nodes_within(gw__view_nodes(&r->view), r->flush.reported))
        decide(r);
}

void gw__flush_begin(struct gw__registry *r)
{
    if (r->flush.open)
        return;
    r->flush.reported = (struct gw_nodes){{0}};
    r->flush.open = true;
    r->flush.since_epoch = r->view.epoch;
    r->flush.before_count = r->view.ring_count;
    memcpy(r->flush.before, r->view.ring,
           r->view.ring_count * sizeof *r->view.ring);
}

enum gw_err gw__apply_report(struct gw__registry *r,
                             const struct gw__command *c,
                             struct gw__answer *answer)
{
    unsigned node = c->who.node;
    unsigned long long epoch = r->view.epoch;
    if (!gw__registry_active(r, c->who, answer))
        return answer->code;
    if (gw__view_rank(&r->view, node) < 0)
        return gw__refuse(answer, GW_EINVAL, "node %u is not in the ring",
                          node);
    if (c->flush.epoch < r->flush.since_epoch || c->flush.epoch > epoch)
        return gw__refuse(
            answer, GW_EINVAL,
            "the report is for epoch %llu; the current epoch is %llu",
            (unsigned long long)c->flush.epoch, epoch);
    if (!r->flush.open)
        return gw__append_text(answer, "epoch %llu is decided", epoch);
    if (!gw__nodes_has(&r->flush.reported, node)) {
        gw__nodes_add(&r->flush.reported, node);
        r->flush.reports[node] = c->flush.report;
    }
    gw__flush_check(r);
    return gw__append_text(answer,
                           r->flush.open
                               ? "node %u has reported for epoch %llu"
                               : "node %u has reported: epoch %llu is decided",
                           node, epoch);
}

enum gw_err gw__apply_deadline(struct gw__registry *r,
                               const struct gw__command *c,
                               struct gw__answer *answer)
{
    struct gw_nodes silent =
        gw__nodes_minus(gw__view_nodes(&r->view), r->flush.reported);
    if (!r->flush.open || c->epoch != r->view.epoch)
        return gw__refuse(answer, GW_EINVAL,
                          "no decision is pending for epoch %llu",
                          (unsigned long long)c->epoch);
    if (gw__nodes_is_empty(r->flush.reported))
        return gw__refuse(answer, GW_PENDING,
                          "no member has reported for epoch %llu yet",
                          (unsigned long long)c->epoch);
    gw__registry_remove(r, silent, GW__CONFIRMED_DEAD);
    return gw__append_text(
        answer,
        "members declared dead without a report: %u; epoch %llu is decided",
        gw__nodes_count(silent), (unsigned long long)r->view.epoch);
}
