/* SPDX-License-Identifier: MIT
 *
 * Beats: signs of life that carry progress reports. Each has the report of its
 * sender and, in turn, those of up to GW__BEAT_REPORTS_MAX - 1 others; a
 * higher stamp is newer. Reports are accepted only from beats of the own ring
 * epoch, so that former members are not believed.
 */
#include "detector_parts.h"

#include "cluster/messages/protocol.h"

enum { PROGRESS_REPORT_BYTES = 29 };

void gw__beat_send(struct gw__detector *d, const struct gw__actions *act)
{
    static const struct gw__progress_report none;
    uint8_t out[16 + GW__BEAT_REPORTS_MAX * PROGRESS_REPORT_BYTES];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    unsigned ring = d->view.ring_count;
    if (d->rank < 0)
        return;
    unsigned count = ring < GW__BEAT_REPORTS_MAX ? ring : GW__BEAT_REPORTS_MAX;
    gw__put_u8(&w, GW__PROTOCOL_BEAT);
    gw__put_u64(&w, d->view.ring_epoch);
    gw__put_u8(&w, count);
    gw__put_node(&w, d->self);
    gw__put_progress_report(&w, &d->known[d->self].report);
    for (unsigned i = 1; i < count; i++) {
        if (d->gossip_next % ring == (unsigned)d->rank)
            d->gossip_next++;
        unsigned node = d->view.ring[d->gossip_next++ % ring].node;
        gw__put_node(&w, node);
        const struct gw__progress_report *report =
            gw__detector_progress(d, node);
        gw__put_progress_report(&w, report ? report : &none);
    }
    for (unsigned node = gw__nodes_next(&d->receivers, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&d->receivers, node + 1))
        act->send(act->driver, node, out, w.used);
}

/* No other node knows more about this member's own progress. */
static void apply_report(struct gw__detector *d, unsigned node,
                         const struct gw__progress_report *report,
                         uint64_t now_ns)
{
    struct gw__known *known = &d->known[node];
    const struct gw__progress_report *last = gw__detector_progress(d, node);
    if (node == d->self || report->stamp <= (last ? last->stamp : 0))
        return;
    gw__nodes_add(&d->known_nodes, node);
    known->report = *report;
    known->changed_ns = now_ns;
}

bool gw__beat_receive(struct gw__detector *d, const struct gw__input *input)
{
    struct {
        unsigned node;
        struct gw__progress_report progress;
    } update[GW__BEAT_REPORTS_MAX];
    struct gw__reader r = gw__reader_on(input->data, input->bytes);
    gw__reader_demand(&r, gw__get_u8(&r) == GW__PROTOCOL_BEAT);
    uint64_t ring_epoch = gw__get_u64(&r);
    unsigned count = gw__get_u8_below(&r, GW__BEAT_REPORTS_MAX + 1);
    for (unsigned i = 0; i < count; i++) {
        update[i].node = gw__get_node(&r);
        gw__get_progress_report(&r, &update[i].progress);
    }
    if (!gw__reader_done(&r))
        return false;
    for (unsigned i = 0; i < count && ring_epoch == d->view.ring_epoch; i++)
        apply_report(d, update[i].node, &update[i].progress, input->now_ns);
    return true;
}
