/* SPDX-License-Identifier: MIT
 *
 * READY: joiners that have copied the state, and the members that may admit
 * them.
 *
 * A joiner sends it to the members of the newest view, with each HELLO. In a
 * large ring that is to the first few members, one of which mostly admits, and
 * to some others in turn.
 */
#include "member_parts.h"

enum {
    READY_LASTS_NS = 500000000,
    READY_FIRST = 8,
    READY_MOST = 64 /* receivers of a READY */
};

void gw__ready_send(struct gw__member_core *m)
{
    uint8_t out[32];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    const struct gw__view *view = &m->update.view;
    bool large = view->ring_count > READY_MOST;
    if (!m->is_ready || m->stage != GW__STAGE_REGISTERED)
        return;
    gw__put_u8(&w, GW__PROTOCOL_READY);
    gw__put_id(&w, m->config.incarnation);
    gw__put_u64(&w, m->ready_op);
    unsigned first = large ? READY_FIRST : view->ring_count;
    for (unsigned i = 0; i < first; i++)
        m->act->send(m->act->driver, view->ring[i].node, out, w.used);
    for (unsigned i = first; large && i < READY_MOST; i++) {
        unsigned rank = m->ready_next++ % view->ring_count;
        m->act->send(m->act->driver, view->ring[rank].node, out, w.used);
    }
}

/* Has this incarnation been ready until now? */
static bool is_still_ready(const struct gw__member_core *m, unsigned node,
                           struct gw__id incarnation)
{
    const struct gw__ready *ready = &m->ready[node];
    return gw__nodes_has(&m->ready_nodes, node) &&
           m->now_ns - ready->received_ns < READY_LASTS_NS &&
           gw__id_equal(ready->incarnation, incarnation);
}

void gw__ready_message(struct gw__member_core *m, const struct gw__input *input)
{
    struct gw__ready ready;
    struct gw__reader r = gw__reader_on(input->data, input->bytes);
    (void)gw__get_u8(&r);
    ready.incarnation = gw__get_id(&r);
    ready.op = gw__get_u64(&r);
    ready.received_ns = m->now_ns;
    if (!gw__reader_done(&r) || input->from >= GW__NODES_MAX)
        return;
    bool same = is_still_ready(m, input->from, ready.incarnation);
    m->ready[input->from] = ready;
    gw__nodes_add(&m->ready_nodes, input->from);
    if (!same)
        gw__ready_check(m);
}

static bool is_ready(const struct gw__member_core *m,
                     const struct gw__process *joiner)
{
    return joiner->node < GW__NODES_MAX &&
           is_still_ready(m, joiner->node, joiner->incarnation);
}

unsigned gw__ready_joiners(const struct gw__member_core *m,
                           struct gw__process *out)
{
    unsigned count = 0;
    for (unsigned i = 0; i < m->update.joiner_count; i++)
        if (is_ready(m, &m->update.joiners[i])) {
            if (out)
                out[count] = m->update.joiners[i];
            count++;
        }
    return count;
}

void gw__ready_check(struct gw__member_core *m)
{
    struct gw__process who[GW__NODES_MAX];
    unsigned count = gw__ready_joiners(m, who);
    struct gw_nodes nodes = {{0}};
    for (unsigned i = 0; i < count; i++)
        gw__nodes_add(&nodes, who[i].node % GW__NODES_MAX);
    if (gw__nodes_equal(nodes, m->ready_notified))
        return;
    struct gw__notification notification = {
        .kind = GW__NOTIFY_READY, .node = m->node, .count = count};
    m->ready_notified = nodes;
    gw__member_notify(m, &notification);
}
