/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The control side of a server or worker: the library's member machine, driven
 * as in cmd/run. A member that was declared dead starts again, as another
 * incarnation of the same process.
 */
#include "farm.h"

/* ---- reports of the machine ---- */

static void on_told(void *node, const struct gw__told *told)
{
    struct seat *s = node;
    switch (told->kind) {
    case GW__TOLD_REGISTERED:
        s->registered = true;
        break;
    case GW__TOLD_NEWS:
        s->news = *gw__member_news(s->member);
        s->has_news = true;
        break;
    case GW__TOLD_LEASE:
        s->has_lease = true;
        break;
    case GW__TOLD_ANSWER:
        if (told->answer.code == GW_OK)
            s->answered = told->tag;
        break;
    case GW__TOLD_GONE:
        s->gone = true;
        farm_restart(s->farm, s->node);
        break;
    default:
        break;
    }
}

static struct inner inner_of(struct seat *s)
{
    return (struct inner){
        .state = s->member, .act = s->box.act, .node = s, .told = on_told};
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
    const struct gw__member_request ask = {
        .kind = GW__ASK_COMMAND, .own = {.tag = tag, .command = *command}};
    const struct gw__input input = {.kind = GW__ASKED,
                                    .now_ns = s->now_ns,
                                    .from = s->node,
                                    .incarnation = s->incarnation.low,
                                    .data = &ask,
                                    .bytes = sizeof ask};
    if (!s->gone)
        inner_step(inner_of(s), &input);
}

void seat_send(void *seat, const struct gw__message_out *letter)
{
    const struct seat *s = seat;
    parcel_send(&s->box, letter);
}

/* ---- beginning ---- */

void seat_wake(struct seat *s, const struct gw__input *input,
               const struct gw__actions *actions)
{
    s->now_ns = input->now_ns;
    s->box.act = actions;
    s->box.news = &s->news;
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
