/* SPDX-License-Identifier: MIT
 *
 * A server in the simulation: the machine of ps/server.h, with the environment
 * that lib/ps/server/process.c gives it in the real world.
 */
#include "ps_simulation.h"

struct host {
    struct member m;
    struct gw__server *core;
};

static void propose(void *context, const struct gw__command *command)
{
    const struct member *m = context;
    const struct proposal proposal = {.type = MESSAGE_PROPOSE,
                                      .kind = command->kind,
                                      .slot = command->slot.slot,
                                      .term = command->slot.term,
                                      .node = command->slot.node};
    m->box.act->send(m->box.act->driver, CONSENSUS, &proposal, sizeof proposal);
}

static void start(struct host *s, const struct gw__input *input)
{
    struct gw_error why;
    struct ps_simulation *cluster = simcluster_running();
    member_start(&s->m, input, cluster);
    struct gw__server **core = &cluster->server_cores[s->m.node - 1];
    const struct gw__server_config config = {
        .node = s->m.node,
        .incarnation = {1, input->incarnation},
        .no_dedupe = strcmp(cluster->broken, "dedupe") == 0,
        .no_fencing = strcmp(cluster->broken, "fencing") == 0,
        .out = {.context = &s->m, .send = member_send, .propose = propose}};
    if (*core)
        gw__server_destroy(core);
    if (gw__server_new(&config, core, &why))
        oracle_fail(cluster, "server: %s", why.text);
    s->core = *core;
}

static void message(struct host *s, const struct gw__input *input)
{
    uint64_t type;
    struct lease lease;
    memcpy(&type, input->data, sizeof type);
    struct gw__message_in *message =
        message_is(input) ? message_of(&s->m.box, input) : NULL;
    if (message)
        gw__server_message_in(s->core, s->m.now_ns, message);
    if (type == MESSAGE_BULLETIN && member_bulletin(&s->m, input))
        gw__server_update(s->core, s->m.now_ns, &s->m.update);
    if (type != MESSAGE_LEASE)
        return;
    memcpy(&lease, input->data, sizeof lease);
    uint64_t until = lease.sent_ns + lease.lease_ns;
    if (until > s->m.lease_until_ns) {
        s->m.lease_until_ns = until;
        gw__server_lease(s->core, s->m.now_ns, until);
    }
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    struct host *s = state;
    s->m.now_ns = input->now_ns;
    s->m.box.act = actions;
    s->m.box.update = &s->m.update;
    if (input->kind == GW__START)
        start(s, input);
    if (input->kind == GW__MESSAGE)
        message(s, input);
    if (gw__server_due(s->core) <= s->m.now_ns)
        gw__server_tick(s->core, s->m.now_ns);
    gw__server_flush(s->core, s->m.now_ns);
    member_hello(&s->m);
    uint64_t due = gw__server_due(s->core);
    if (due > s->m.hello_ns)
        due = s->m.hello_ns;
    if (due <= s->m.now_ns)
        due = s->m.now_ns + 100 * US;
    actions->set_timer(actions->driver, 0, due);
}

const struct gw__machine_kind *server_kind(void)
{
    static const struct gw__machine_kind kind = {
        .name = "server", .state_bytes = sizeof(struct host), .step = step};
    return &kind;
}
