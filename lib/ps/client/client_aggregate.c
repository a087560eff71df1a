/* SPDX-License-Identifier: MIT
 *
 * A client's use of the aggregator of its host (ps/aggregate/aggregator.h), and
 * the choice of the process that runs it. If a membership update has none for
 * this host, the worker with the lowest number there starts one.
 *
 *     none --in the update--> known --its greeting--> ready
 *       ^                                               | no answer in time
 *       |                                               v
 *       `-------------- not in the update ------ avoided for a second
 *
 * Messages are forwarded only in state `ready`. Repeated requests and large
 * messages always go directly to the server. So the only cost of a message that
 * an aggregator loses or withholds is the pause before the first repetition.
 */
#include "client_parts.h"

#include "wire/address.h"

static const uint64_t window_default_ns = 200000, avoid_ns = 1000000000,
                      silent_ns = 50000000;

/* ---- finding and starting the aggregator ---- */

static bool is_on_host(const struct gw_ps *ps,
                       const struct gw__ps_member *member)
{
    return gw__address_same_host(gw__node_config(ps->node)->endpoint,
                                 member->endpoint);
}

/* The first member with this role on this host; NULL: none. */
static const struct gw__ps_member *first_on_host(const struct gw_ps *ps,
                                                 enum gw__role role)
{
    const struct gw__membership_update *update = gw__node_update(ps->node);
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (update->ps_members[i].role == role &&
            is_on_host(ps, &update->ps_members[i]))
            return &update->ps_members[i];
    return NULL;
}

/* On failure messages go directly to servers, and the next membership update
 * triggers another attempt. */
static void start(struct gw_ps *ps)
{
    struct gw__aggregate *a = &ps->aggregate;
    const struct gw__ps_member *lowest = first_on_host(ps, GW__WORKER);
    struct gw_error why;
    if (a->own && gw__aggregator_ended(a->own))
        gw__ps_aggregate_end(ps, false);
    if (a->own || !lowest || lowest->node != gw__node_number(ps->node))
        return;
    (void)!gw__aggregator_start(gw__node_config(ps->node), a->number,
                                a->window_ns, &a->own, &why);
}

void gw__ps_aggregate_update(struct gw_ps *ps)
{
    struct gw__aggregate *a = &ps->aggregate;
    if (!a->wanted)
        return;
    const struct gw__ps_member *now = first_on_host(ps, GW__AGGREGATOR);
    struct gw__id id = now ? now->incarnation : (struct gw__id){0, 0};
    if (!gw__id_equal(id, a->incarnation))
        a->ready = false;
    a->incarnation = id;
    a->node = now ? now->node : GW__NO_NODE;
    if (!now)
        start(ps);
    else if (!a->ready && gw__node_reaches(ps->node, a->node))
        gw__bundles_greet(&ps->bundles, a->node); /* its own came too early */
}

bool gw__ps_aggregate_ready(const struct gw_ps *ps)
{
    const struct gw__aggregate *a = &ps->aggregate;
    return a->ready && gw__node_reaches(ps->node, a->node);
}

/* ---- messages ---- */

/* After a repetition: an aggregator from which nothing has arrived for a while
 * is avoided. */
static void avoid_if_silent(struct gw__aggregate *a, uint64_t now_ns)
{
    if (now_ns - a->received_ns > silent_ns)
        a->avoid_until_ns = now_ns + avoid_ns;
}

bool gw__ps_aggregate_send(struct gw_ps *ps,
                           const struct gw__message_out *message)
{
    struct gw__aggregate *a = &ps->aggregate;
    if (!gw__ps_aggregate_ready(ps))
        return false;
    uint64_t now_ns = gw_now_ns();
    if (message->again)
        avoid_if_silent(a, now_ns);
    const struct gw__ps_member *server =
        gw__node_member(ps->node, message->node);
    if (message->again || now_ns < a->avoid_until_ns || !server)
        return false;
    const struct gw__bundle_end end = {server->node, server->incarnation.high,
                                       server->incarnation.low};
    struct gw__message_out through = *message;
    through.node = a->node;
    return gw__bundles_forward(&ps->bundles, &through, &end);
}

unsigned gw__ps_aggregate_open(struct gw_ps *ps,
                               const struct gw__message_in *envelope)
{
    struct gw__aggregate *a = &ps->aggregate;
    unsigned count;
    bool its = envelope->from == a->node &&
               envelope->incarnation_high == a->incarnation.high &&
               envelope->incarnation_low == a->incarnation.low;
    if (!its || gw__bundle_check(envelope, &count, NULL)) {
        a->refused++;
        return 0;
    }
    a->ready = true;
    a->received_ns = gw_now_ns();
    return count;
}

/* ---- creation and destruction ---- */

void gw__ps_aggregate_init(struct gw_ps *ps, const struct gw_ps_config *config)
{
    ps->aggregate = (struct gw__aggregate){
        .wanted = config->aggregate,
        .number = config->aggregator_node,
        .window_ns = config->aggregate_us
                         ? config->aggregate_us * UINT64_C(1000)
                         : window_default_ns,
        .node = GW__NO_NODE};
}

void gw__ps_aggregate_counts(const struct gw_ps *ps,
                             struct gw_ps_counts *counts)
{
    const struct gw__aggregate *a = &ps->aggregate;
    struct gw__aggregator_counts own = {0};
    if (a->own)
        gw__aggregator_get_counts(a->own, &own);
    counts->aggregator_sent = a->before.messages + own.messages;
    counts->aggregator_saved =
        a->before.forwarded + own.forwarded - counts->aggregator_sent;
    counts->envelopes_refused = a->refused + a->before.refused + own.refused;
}

void gw__ps_aggregate_end(struct gw_ps *ps, bool politely)
{
    struct gw__aggregate *a = &ps->aggregate;
    struct gw__aggregator_counts own;
    if (!a->own)
        return;
    gw__aggregator_get_counts(a->own, &own);
    a->before.forwarded += own.forwarded;
    a->before.messages += own.messages;
    a->before.refused += own.refused;
    gw__aggregator_stop(&a->own, politely);
}
