/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The control side of a server or worker: the library's member machine, driven
 * as in cmd/run. A member that was declared dead starts again, as another
 * incarnation of the same process.
 */
#include "farm.h"

/* ---- reports of the machine ---- */

static void on_told(void *node, const struct gw__notification *notification)
{
    struct seat *s = node;
    switch (notification->kind) {
    case GW__NOTIFY_REGISTERED:
        s->registered = true;
        break;
    case GW__NOTIFY_UPDATE:
        s->update = *gw__member_update(s->member);
        s->has_news = true;
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
        farm_restart(s->farm, s->node);
        break;
    default:
        break;
    }
}

static struct inner inner_of(struct seat *s)
{
    return (struct inner){.state = s->member,
                          .act = s->box.act,
                          .node = s,
                          .notification = on_told};
}

/* ---- for the data path ---- */

void seat_step(struct seat *s, const struct gw__input *input)
{
    s->has_news = s->has_lease = false;
    if (input->kind == GW__TIMER && input->timer >= FARM_TIMER)
        return;
    if (!parcel_is(input))
        inner_step(inner_of(s), input);
}

void seat_ask(struct seat *s, const struct gw__command *command, unsigned tag)
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
        inner_step(inner_of(s), &input);
}

void seat_send(void *seat, const struct gw__message_out *message)
{
    const struct seat *s = seat;
    parcel_send(&s->box, message);
}

/* ---- beginning ---- */

void seat_wake(struct seat *s, const struct gw__input *input,
               const struct gw__actions *actions)
{
    s->now_ns = input->now_ns;
    s->box.act = actions;
    s->box.update = &s->update;
}

void seat_start(struct seat *s, const struct gw__input *input,
                enum gw__role role)
{
    struct farm *f = farm_running();
    s->farm = f;
    s->node = input->from;
    s->incarnation =
        (struct gw__id){lives_next(&f->lives, s->node), input->incarnation};
    s->box.incarnation = input->incarnation;
    s->box.from_anybody = f->asked.no_fencing;
    s->box.replica_bytes = &f->met.replica_bytes;
    s->member = f->members[s->node];
    memset(s->member, 0, gw__member_machine.state_bytes);
    gw_rng_seed(&s->rng, input->seed);
    struct gw__member_config config = {
        .role = role,
        .incarnation = s->incarnation,
        .client = {gw_rng_next(&s->rng), gw_rng_next(&s->rng)}};
    inner_start(inner_of(s), input, &config, &f->agreed);
}
