/* SPDX-License-Identifier: MIT
 *
 * Describes a member for people (cluster/describe.h): its stage, its requests
 * to the controllers, and their last messages.
 */
#include "member_parts.h"

#include <cluster/driver/describe.h>

static const char *stage_name(enum gw__stage stage)
{
    static const char *const names[] = {[GW__STAGE_REGISTERING] = "registering",
                                        [GW__STAGE_REGISTERED] = "registered",
                                        [GW__STAGE_QUIET] = "in the ring",
                                        [GW__STAGE_FLUSHING] = "flushing",
                                        [GW__STAGE_GONE] = "gone"};
    return names[stage];
}

static void describe_client(const struct gw__member_core *m, uint64_t now_ns,
                            struct gw__description *out)
{
    const struct gw__client_state *c = &m->client;
    char requested[32], sent[32];
    gw__describe(out, "  request: client ");
    gw__describe_id(out, c->config.id);
    gw__describe(out, ", %u queued, %u wanted", c->count, m->want_count);
    if (c->count > 0)
        gw__describe(out, "; request %llu, %s, asked %s, sent %s, to node %u",
                     (unsigned long long)c->sequence,
                     gw__command_name(c->queue[0].kind),
                     gw__describe_since(c->requested_ns, now_ns, requested),
                     gw__describe_since(c->sent_ns, now_ns, sent),
                     c->config.controllers[c->at]);
    gw__describe(out, "\n");
}

static void describe_update(const struct gw__member_core *m, uint64_t now_ns,
                            struct gw__description *out)
{
    const struct gw__membership_update *update = &m->update;
    char came[32], leader[32];
    gw__describe(out,
                 "  updates: index %llu, %s; last message of a leader %s\n  "
                 "this node: %s, incarnation ",
                 (unsigned long long)update->index,
                 gw__describe_since(m->update_ns, now_ns, came),
                 gw__describe_since(m->leader_ns, now_ns, leader),
                 gw__member_state_name(update->state));
    gw__describe_id(out, update->incarnation);
    gw__describe(out, "%s\n  epoch %llu, ring epoch %llu, op floor %llu:",
                 m->has_own_update ? ", ours" : ", not yet of this node",
                 (unsigned long long)update->view.epoch,
                 (unsigned long long)update->view.ring_epoch,
                 (unsigned long long)update->view.op_low_watermark);
    for (unsigned i = 0; i < update->view.ring_count; i++)
        gw__describe(out, " %u", update->view.ring[i].node);
    gw__describe(out, "; joiners:");
    for (unsigned i = 0; i < update->joiner_count; i++)
        gw__describe(out, " %u", update->joiners[i].node);
    gw__describe(out, "; members:");
    for (unsigned i = 0; i < update->ps_member_count; i++)
        gw__describe(out, " %u", update->ps_members[i].node);
    gw__describe(out, "\n");
}

static void describe_ring(const struct gw__member_core *m, uint64_t now_ns,
                          struct gw__description *out)
{
    char received[32], reports[96];
    gw__nodes_text(&m->have, reports, sizeof reports);
    gw__describe(
        out,
        "  flush %llu%s%s%s, reports of %s\n  address of epoch %llu%s, view of "
        "epoch %llu\n",
        (unsigned long long)m->flush_epoch, m->update.flushing ? ", open" : "",
        m->has_report ? ", own report is here" : "",
        m->reported ? ", recorded" : "", reports,
        (unsigned long long)m->address_epoch,
        m->has_all_addresses ? ", all met" : "",
        (unsigned long long)m->view.ring_epoch);
    if (m->is_ready)
        gw__describe(out, "  ready since op %llu\n",
                     (unsigned long long)m->ready_op);
    if (m->admits)
        gw__describe(out, "  admits from op %llu, ring epoch %llu%s\n",
                     (unsigned long long)m->admit_op,
                     (unsigned long long)m->admit_ring_epoch,
                     m->admit_sent ? ", asked" : "");
    for (unsigned n = gw__nodes_next(&m->ready_nodes, 0); n < GW__NODES_MAX;
         n = gw__nodes_next(&m->ready_nodes, n + 1))
        gw__describe(
            out, "  node %u: last READY %s, op %llu\n", n,
            gw__describe_since(m->ready[n].received_ns, now_ns, received),
            (unsigned long long)m->ready[n].op);
}

void gw__member_describe(const void *state, uint64_t now_ns,
                         struct gw__description *out)
{
    const struct gw__member_core *m = state;
    char since[32], lease[32];
    gw__describe(out, "  %s, registered %s%s%s; lease: %s\n",
                 stage_name(m->stage),
                 gw__describe_since(m->registered_ns, now_ns, since),
                 m->parked ? ", PARKED" : "", m->leaves ? ", leaves" : "",
                 gw__describe_since(m->lease_ns, now_ns, lease));
    describe_client(m, now_ns, out);
    describe_update(m, now_ns, out);
    if (m->config.ring)
        describe_ring(m, now_ns, out);
}
