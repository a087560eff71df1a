/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A server in the simulation: the machine of ps/server.h, in the role of
 * lib/ps/server/process.c in a real run.
 */
#include "ps_simcluster.h"

struct host {
    struct sim_member s;
    struct gw__server *core;
};

enum { PROPOSAL_TAG = 16 /* plus the slot */ };

static void propose(void *context, const struct gw__command *command)
{
    sim_member_request(context, command, PROPOSAL_TAG + command->slot.slot);
}

void server_count(struct ps_simcluster *f, unsigned node)
{
    struct gw_ps_server_status status;
    const struct gw__server *core = server_at(f, node);
    if (!core)
        return;
    gw__server_get_status(core, &status);
    f->met.refused += status.refused;
    f->met.fenced += status.fenced;
}

static void start_host(struct host *h, const struct gw__input *input)
{
    struct gw_error why;
    sim_member_start(&h->s, input, GW__SERVER);
    struct ps_simcluster *f = h->s.cluster;
    struct gw__server **core = &f->server_cores[h->s.node - f->workers];
    const struct gw__server_config config = {
        .node = h->s.node,
        .incarnation = h->s.incarnation,
        .ack_primary = f->params.ack_primary,
        .no_dedupe = f->params.no_dedupe,
        .no_fencing = f->params.no_lease,
        .no_terms = f->params.no_fencing,
        .out = {.context = &h->s, .send = sim_member_send, .propose = propose}};
    server_count(f, h->s.node);
    gw__server_destroy(core);
    if (gw__server_new(&config, core, &why))
        ps_simcluster_violation(f, "server: %s", why.text);
    h->core = *core;
}

static void receive_input(struct host *h, const struct gw__input *input)
{
    sim_member_step(&h->s, input);
    if (h->s.has_lease)
        gw__server_lease(h->core, h->s.now_ns, gw__member_lease(h->s.member));
    if (h->s.has_update)
        gw__server_update(h->core, h->s.now_ns, &h->s.update);
    if (!message_is(input))
        return;
    struct gw__message_in *message = message_of(&h->s.box, input);
    if (message)
        gw__server_message_in(h->core, h->s.now_ns, message);
}

static void step_host(void *state, const struct gw__input *input,
                      const struct gw__actions *actions)
{
    struct host *h = state;
    if (h->s.gone)
        return;
    sim_member_wake(&h->s, input, actions);
    if (input->kind == GW__START)
        start_host(h, input);
    else
        receive_input(h, input);
    if (h->s.gone)
        return;
    if (gw__server_due(h->core) <= h->s.now_ns)
        gw__server_tick(h->core, h->s.now_ns);
    gw__server_flush(h->core, h->s.now_ns);
    uint64_t due = gw__server_due(h->core);
    if (due <= h->s.now_ns)
        due = h->s.now_ns + 100 * US;
    if (due != UINT64_MAX)
        actions->set_timer(actions->driver, PS_SIMCLUSTER_TIMER, due);
}

const struct gw__machine_kind *server_kind(void)
{
    static const struct gw__machine_kind kind = {.name = "server",
                                                 .state_bytes =
                                                     sizeof(struct host),
                                                 .step = step_host};
    return &kind;
}
