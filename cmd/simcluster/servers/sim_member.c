/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The control side of a server or worker: the library's member machine, driven
 * as in cmd/run. A member that was declared dead starts again, as another
 * incarnation of the same process.
 */
#include "ps_simcluster.h"

/* ---- reports of the machine ---- */

static void on_notification(void *node,
                            const struct gw__notification *notification)
{
    struct sim_member *s = node;
    switch (notification->kind) {
    case GW__NOTIFY_REGISTERED:
        s->registered = true;
        break;
    case GW__NOTIFY_UPDATE:
        s->update = *gw__member_update(s->member);
        s->has_update = true;
        break;
    case GW__NOTIFY_LEASE:
        s->has_lease = true;
        break;
    case GW__NOTIFY_ANSWER:
        if (notification->answer.code == GW_OK)
            s->answered = notification->tag;
        break;
    case GW__NOTIFY_GONE:
        s->gone = true;
        ps_simcluster_restart(s->cluster, s->node);
        break;
    default:
        break;
    }
}

static struct member_machine member_machine_of(struct sim_member *s)
{
    return (struct member_machine){.state = s->member,
                                   .act = s->box.act,
                                   .node = s,
                                   .notification = on_notification};
}

/* ---- for the data path ---- */

void sim_member_step(struct sim_member *s, const struct gw__input *input)
{
    s->has_update = s->has_lease = false;
    if (input->kind == GW__TIMER && input->timer >= PS_SIMCLUSTER_TIMER)
        return;
    if (!message_is(input))
        member_machine_step(member_machine_of(s), input);
}

void sim_member_request(struct sim_member *s, const struct gw__command *command,
                        unsigned tag)
{
    const struct gw__member_request request = {
        .kind = GW__REQUEST_COMMAND, .own = {.tag = tag, .command = *command}};
    const struct gw__input input = {.kind = GW__REQUESTED,
                                    .now_ns = s->now_ns,
                                    .from = s->node,
                                    .incarnation = s->incarnation.low,
                                    .data = &request,
                                    .bytes = sizeof request};
    if (!s->gone)
        member_machine_step(member_machine_of(s), &input);
}

void sim_member_send(void *member, const struct gw__message_out *message)
{
    const struct sim_member *s = member;
    message_send(&s->box, message);
}

/* ---- beginning ---- */

void sim_member_wake(struct sim_member *s, const struct gw__input *input,
                     const struct gw__actions *actions)
{
    s->now_ns = input->now_ns;
    s->box.act = actions;
    s->box.update = &s->update;
}

void sim_member_start(struct sim_member *s, const struct gw__input *input,
                      enum gw__role role)
{
    struct ps_simcluster *f = ps_simcluster_running();
    s->cluster = f;
    s->node = input->from;
    s->incarnation =
        (struct gw__id){lives_next(&f->lives, s->node), input->incarnation};
    s->box.incarnation = input->incarnation;
    s->box.any_sender = f->params.no_fencing;
    s->box.replica_bytes = &f->met.replica_bytes;
    s->member = f->members[s->node];
    gw__member_machine.clear(s->member);
    gw_rng_seed(&s->rng, input->seed);
    struct gw__member_config config = {
        .role = role,
        .incarnation = s->incarnation,
        .client = {gw_rng_next(&s->rng), gw_rng_next(&s->rng)}};
    member_machine_start(member_machine_of(s), input, &config, &f->consensus);
}
