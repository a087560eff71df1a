/* SPDX-License-Identifier: MIT
 *
 * The service of a controller, as a machine: handles each input. See service.h
 * for the design and service_parts.h for the other parts.
 */
#include "service_parts.h"

#include <stddef.h>
#include <string.h>

enum { TICK_TIMER = 0 };
enum pending_request { REQUEST_APPLIED = 1, REQUEST_LEADER };

bool gw__service_leads(const struct gw__service *s)
{
    return s->leader == s->self.node;
}

struct gw__registry *gw__service_registry(void *state)
{
    struct gw__service *s = state;
    return &s->registry;
}

const struct gw__registry *gw__service_registry_of(const void *state)
{
    const struct gw__service *s = state;
    return &s->registry;
}

/* ---- queries ---- */

size_t gw__service_request_applied(uint8_t out[GW__SERVICE_REQUEST_MAX],
                                   uint64_t index, const void *command,
                                   size_t bytes)
{
    struct gw__writer w = gw__writer_on(out, GW__SERVICE_REQUEST_MAX);
    gw__put_u8(&w, REQUEST_APPLIED);
    gw__put_u64(&w, index);
    gw__put_bytes(&w, command, bytes);
    return gw__writer_fits(&w) ? w.used : 0;
}

size_t gw__service_request_leader(uint8_t out[GW__SERVICE_REQUEST_MAX],
                                  unsigned node)
{
    struct gw__writer w = gw__writer_on(out, GW__SERVICE_REQUEST_MAX);
    gw__put_u8(&w, REQUEST_LEADER);
    gw__put_u16(&w, node);
    return w.used;
}

static void lead(struct gw__service *s, unsigned node)
{
    bool led = gw__service_leads(s);
    s->leader = node;
    if (led || !gw__service_leads(s))
        return;
    gw__service_enter(s);
    gw__service_leader_duties(s);
}

static void requested(struct gw__service *s, const struct gw__input *input)
{
    struct gw__reader r = gw__reader_on(input->data, input->bytes);
    unsigned kind = gw__get_u8(&r);
    if (kind == REQUEST_LEADER) {
        unsigned node = gw__get_u16_below(&r, GW__NODES_MAX + 1);
        if (gw__reader_done(&r))
            lead(s, node);
    } else if (kind == REQUEST_APPLIED) {
        uint64_t index = gw__get_u64(&r);
        if (!r.bad && index > s->registry.index)
            gw__service_apply(s, index, r.at, r.left);
    }
}

/* ---- the machine ---- */

/* The machine only has the low half of its incarnation. */
static void start_service(struct gw__service *s, const struct gw__input *input)
{
    if (input->bytes == sizeof s->self)
        memcpy(&s->self, input->data, sizeof s->self);
    s->self.node = input->from;
    s->self.incarnation.low = input->incarnation;
    s->leader = GW__NODES_MAX;
    gw__registry_init(&s->registry);
}

static void tick(struct gw__service *s)
{
    uint64_t late = s->now_ns > s->due_ns ? s->now_ns - s->due_ns : 0;
    gw__service_health(s, late);
    if (gw__service_leads(s))
        gw__service_leader_duties(s);
}

/* A process has ended; see GW__GATHER_NS. */
static void died(struct gw__service *s, const struct gw__input *input)
{
    uint64_t gathered_ns = s->now_ns + GW__GATHER_NS;
    if (input->from < GW__NODES_MAX)
        s->ended[input->from] = input->incarnation;
    if (!gw__service_leads(s))
        return;
    if (s->registry.view.ring_count <= GW__GATHER_ABOVE) {
        gw__service_suspect(s);
    } else if (gathered_ns < s->due_ns) {
        s->due_ns = gathered_ns;
        s->act->set_timer(s->act->driver, TICK_TIMER, s->due_ns);
    }
}

static void message(struct gw__service *s, const struct gw__input *input)
{
    const uint8_t *data = input->data;
    if (input->from >= GW__NODES_MAX || input->bytes == 0)
        return;
    if (data[0] == GW__PROTOCOL_REQUEST)
        gw__service_request(s, input);
    else if (data[0] == GW__PROTOCOL_HELLO)
        gw__service_hello(s, input);
}

static void apply_input(struct gw__service *s, const struct gw__input *input)
{
    switch (input->kind) {
    case GW__START:
        start_service(s, input);
        break;
    case GW__TIMER:
        tick(s);
        break;
    case GW__MESSAGE:
        message(s, input);
        break;
    case GW__DIED:
        died(s, input);
        break;
    case GW__REQUESTED:
        requested(s, input);
        break;
    case GW__OBSERVED:
        gw__service_sight(s, input);
        break;
    }
}

/* The driver may have restored a snapshot since the last input. */
static void step_service(void *state, const struct gw__input *input,
                         const struct gw__actions *actions)
{
    struct gw__service *s = state;
    s->now_ns = input->now_ns;
    s->act = actions;
    gw__lease_wake(s);
    if (input->kind != GW__START)
        gw__service_push_changes(s);
    apply_input(s, input);
    gw__service_push_changes(s);
    if (input->kind != GW__START && input->kind != GW__TIMER)
        return;
    s->due_ns = s->now_ns + GW__SERVICE_TICK_NS;
    actions->set_timer(actions->driver, TICK_TIMER, s->due_ns);
}

/* START initialises the registry. */
static void clear_service(void *state)
{
    struct gw__service *s = state;
    memset(s, 0, offsetof(struct gw__service, body));
    s->body.bytes = s->former_body.bytes = s->changes.bytes = 0;
}

const struct gw__machine_kind gw__service_machine = {
    .name = "controller",
    .state_bytes = sizeof(struct gw__service),
    .step = step_service,
    .clear = clear_service,
};
