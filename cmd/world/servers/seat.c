/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The control side of a server or worker: the library's member machine, as
 * cmd/run drives it. Who was convicted begins anew, as another incarnation of
 * the same process.
 */
#include "farm.h"

/* ---- what the machine tells ---- */

static void told(struct seat *s, const struct gw__told *told)
{
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

static void on_tell(void *driver, const void *data, size_t bytes)
{
    struct gw__told what;
    if (bytes != sizeof what)
        return;
    memcpy(&what, data, sizeof what);
    told(driver, &what);
}

/* ---- what it does ---- */

static void on_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    const struct seat *s = driver;
    s->box.act->send(s->box.act->driver, to, data, bytes);
}

static void on_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    const struct seat *s = driver;
    s->box.act->set_timer(s->box.act->driver, timer, at_ns);
}

static void on_persist(void *driver, uint32_t key, const void *data,
                       size_t bytes)
{
    const struct seat *s = driver;
    s->box.act->persist(s->box.act->driver, key, data, bytes);
}

static const void *on_load(void *driver, uint32_t key, size_t *bytes)
{
    const struct seat *s = driver;
    return s->box.act->load(s->box.act->driver, key, bytes);
}

static void step(struct seat *s, const struct gw__input *input)
{
    const struct gw__actions inside = {.driver = s,
                                       .send = on_send,
                                       .set_timer = on_timer,
                                       .persist = on_persist,
                                       .load = on_load,
                                       .tell = on_tell};
    gw__member_machine.step(s->member, input, &inside);
}

/* ---- for the data path ---- */

void seat_step(struct seat *s, const struct gw__input *input)
{
    s->has_news = s->has_lease = false;
    if (input->kind == GW__TIMER && input->timer >= FARM_TIMER)
        return;
    if (!parcel_is(input))
        step(s, input);
}

void seat_ask(struct seat *s, const struct gw__command *command, unsigned tag)
{
    uint8_t ask[GW__MEMBER_ASK_MAX];
    const struct gw__input input = {
        .kind = GW__ASKED,
        .now_ns = s->now_ns,
        .from = s->node,
        .incarnation = s->incarnation.low,
        .data = ask,
        .bytes = gw__member_ask_command(ask, command, tag)};
    if (!s->gone)
        step(s, &input);
}

/* ---- beginning ---- */

void seat_wake(struct seat *s, const struct gw__input *input,
               const struct gw__actions *actions)
{
    s->now_ns = input->now_ns;
    s->box.act = actions;
    s->box.news = &s->news;
}

/* The high half of its incarnation: one of another process after a crash. */
static uint64_t next_life(struct farm *f, unsigned node)
{
    f->process[node] += !(f->stays >> node & 1);
    f->stays &= ~(UINT64_C(1) << node);
    uint64_t process = (uint64_t)f->process[node] << 8 | node;
    return process << GW__LIFE_BITS | ++f->lives[node];
}

void seat_start(struct seat *s, const struct gw__input *input,
                enum gw__role role)
{
    struct farm *f = farm_running();
    s->farm = f;
    s->node = input->from;
    s->incarnation = (struct gw__id){next_life(f, s->node), input->incarnation};
    s->box.incarnation = input->incarnation;
    s->box.from_anybody = f->asked.no_fencing;
    s->box.replica_bytes = &f->met.replica_bytes;
    s->member = f->members[s->node];
    memset(s->member, 0, gw__member_machine.state_bytes);
    gw_rng_seed(&s->rng, input->seed);
    struct gw__member_config config = {
        .node = s->node,
        .role = role,
        .incarnation = s->incarnation,
        .client = {gw_rng_next(&s->rng), gw_rng_next(&s->rng)},
        .endpoint = "sim",
        .controller_count = f->controllers};
    for (unsigned i = 0; i < f->controllers; i++)
        config.controllers[i] = (uint8_t)(first_controller(f) + i);
    struct gw__input inner = *input;
    inner.data = &config;
    inner.bytes = sizeof config;
    step(s, &inner);
}
