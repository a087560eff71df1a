/* SPDX-License-Identifier: MIT
 *
 * The member machine: handles each input and its timer. See member.h for the
 * protocol and member_parts.h for the other parts.
 */
#include "member_parts.h"

#include "base/log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SOON_NS = 1000000 };

void gw__member_notify(const struct gw__member_core *m,
                       const struct gw__notification *notification)
{
    m->act->notify(m->act->driver, notification, sizeof *notification);
}

void gw__member_leave(struct gw__member_core *m, const char *why)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_GONE,
                                            .node = m->node};
    snprintf(notification.text, sizeof notification.text, "%s", why);
    m->stage = GW__STAGE_GONE;
    gw__member_notify(m, &notification);
}

struct gw__process gw__member_self(const struct gw__member_core *m)
{
    return (struct gw__process){m->node, m->config.incarnation};
}

bool gw__member_in(const struct gw__view *view, unsigned node,
                   struct gw__id incarnation)
{
    int rank = gw__view_rank(view, node);
    return rank >= 0 && gw__id_equal(view->ring[rank].incarnation, incarnation);
}

void gw__member_registered(struct gw__member_core *m, unsigned node)
{
    if (m->stage != GW__STAGE_REGISTERING)
        return;
    m->node = node;
    m->stage = GW__STAGE_REGISTERED;
    m->registered_ns = m->now_ns;
    gw__log_info("member", "node %u is registered", node);
    gw__member_observe_peers(m);
    struct gw__notification notification = {.kind = GW__NOTIFY_REGISTERED,
                                            .node = node};
    gw__member_notify(m, &notification);
}

/* ---- controllers ---- */

void gw__member_hello(struct gw__member_core *m)
{
    uint8_t out[GW__HELLO_BYTES_MAX];
    /* Outside a flush no reports are needed. */
    const struct gw__hello hello = {
        .incarnation = m->config.incarnation,
        .index = m->requests_update || m->needs_whole ? 0 : m->update.index,
        .reports = m->stage == GW__STAGE_FLUSHING
                       ? m->have
                       : gw__nodes_first(GW__NODES_MAX),
        .sent_ns = m->now_ns};
    size_t bytes = gw__hello_encode(&hello, out, sizeof out);
    bool serves = m->config.role == GW__SERVER;
    bool quiet = m->stage == GW__STAGE_QUIET;
    m->hello_ns =
        m->now_ns + (serves ? GW__HELLO_SERVER_NS
                            : gw__hello_ns(quiet ? m->view.ring_count : 0));
    if (m->node == GW__NODE_ANY)
        return;
    for (unsigned i = 0; i < m->config.controller_count; i++)
        m->act->send(m->act->driver, m->config.controllers[i], out, bytes);
}

/* A registered server needs a lease. */
static bool needs_lease(const struct gw__member_core *m)
{
    return gw__member_is_ps(m) && m->config.role == GW__SERVER &&
           m->stage == GW__STAGE_REGISTERED;
}

void gw__member_led(struct gw__member_core *m)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_UNPARKED,
                                            .node = m->node};
    m->leader_ns = m->now_ns;
    if (!m->parked || (needs_lease(m) && m->lease_ns <= m->now_ns))
        return;
    m->parked = false;
    gw__member_notify(m, &notification);
}

static void lease(struct gw__member_core *m, const struct gw__input *input)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_LEASE,
                                            .node = m->node};
    struct gw__lease lease;
    struct gw_error why;
    if (gw__lease_decode(input->data, input->bytes, &lease, &why) ||
        !gw__id_equal(lease.incarnation, m->config.incarnation) ||
        lease.sent_ns > m->now_ns || !needs_lease(m))
        return;
    uint64_t until_ns = lease.sent_ns + lease.lease_ns;
    bool longer = until_ns > m->lease_ns;
    if (longer)
        m->lease_ns = until_ns;
    gw__member_led(m);
    if (longer)
        gw__member_notify(m, &notification);
}

static void notify_parked(struct gw__member_core *m, uint64_t since_ns,
                          const char *sentence)
{
    struct gw__notification notification = {.kind = GW__NOTIFY_PARKED,
                                            .node = m->node};
    snprintf(notification.text, sizeof notification.text,
             "no %s for %llu ms; node %u %s",
             needs_lease(m) ? "lease from the controllers"
                            : "message from the leading controller",
             (unsigned long long)((m->now_ns - since_ns) / 1000000), m->node,
             sentence);
    m->parked = true;
    gw__member_notify(m, &notification);
}

/* Reports that this member is parked: it waits for a leader and hears none. A
 * server always waits for its lease. */
static void check_parked(struct gw__member_core *m)
{
    if (needs_lease(m)) {
        uint64_t had_ns =
            m->lease_ns > m->registered_ns ? m->lease_ns : m->registered_ns;
        if (!m->parked && m->now_ns >= had_ns + GW__PARK_NS)
            notify_parked(m, had_ns, "does not serve");
        return;
    }
    bool decision = m->stage == GW__STAGE_FLUSHING;
    if (!decision && gw__client_waiting(&m->client, m->now_ns) == 0)
        m->waits_ns = 0;
    else if (m->waits_ns == 0)
        m->waits_ns = m->now_ns;
    uint64_t since = m->waits_ns > m->leader_ns ? m->waits_ns : m->leader_ns;
    if (m->waits_ns == 0 || m->parked || m->now_ns - since < GW__PARK_NS)
        return;
    notify_parked(m, since,
                  decision ? "waits for a decision" : "waits for an answer");
}

static bool is_controller(const struct gw__member_core *m, unsigned node)
{
    for (unsigned i = 0; i < m->config.controller_count; i++)
        if (m->config.controllers[i] == node)
            return true;
    return false;
}

static void answered(struct gw__member_core *m, const struct gw__input *input)
{
    struct gw__answer answer;
    unsigned tag;
    if (!gw__client_message(&m->client, input->from, input->data, input->bytes,
                            m->now_ns, m->act, &tag, &answer))
        return;
    gw__member_led(m);
    gw__want_answered(m, tag, &answer);
}

static void message(struct gw__member_core *m, const struct gw__input *input)
{
    const uint8_t *data = input->data;
    bool trusted = is_controller(m, input->from);
    switch (input->bytes ? data[0] : 0) {
    case GW__PROTOCOL_ANSWER:
    case GW__PROTOCOL_REDIRECT:
        answered(m, input);
        break;
    case GW__PROTOCOL_UPDATE:
        if (trusted)
            gw__member_apply_update(m, input);
        break;
    case GW__PROTOCOL_REPORTED:
        if (trusted)
            gw__member_reported(m, input);
        break;
    case GW__PROTOCOL_LEASE:
        if (trusted)
            lease(m, input);
        break;
    case GW__PROTOCOL_BEAT:
        gw__detector_beat(&m->detector, input);
        break;
    case GW__PROTOCOL_ADDRESS:
        gw__addresses_message(m, input);
        break;
    case GW__PROTOCOL_READY:
        gw__ready_message(m, input);
        break;
    default:
        break;
    }
}

/* ---- the machine ---- */

static void start_member(struct gw__member_core *m,
                         const struct gw__input *input)
{
    if (input->bytes == sizeof m->config)
        memcpy(&m->config, input->data, sizeof m->config);
    struct gw__client_config client = {
        .id = m->config.client, .controller_count = m->config.controller_count};
    memcpy(client.controllers, m->config.controllers,
           sizeof client.controllers);
    gw__client_init(&m->client, &client);
    m->node = m->config.node;
    m->incarnation = input->incarnation;
    m->seed = input->seed;
    m->hello_ns = m->now_ns;
    m->leader_ns = m->now_ns;
}

static void tick(struct gw__member_core *m)
{
    if (m->now_ns >= m->hello_ns) {
        gw__member_hello(m);
        gw__ready_send(m);
        gw__ready_check(m);
    }
    gw__client_tick(&m->client, m->now_ns, m->act);
    gw__addresses_tick(m);
    check_parked(m);
    gw__member_check_known(m);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return b && b < a ? b : a;
}

/* After each input: sends the next request and sets the timer. */
static void finish_input(struct gw__member_core *m)
{
    if (m->stage == GW__STAGE_GONE) {
        m->act->set_timer(m->act->driver, GW__OWN_TIMER, 0);
        m->act->set_timer(m->act->driver, GW__BEAT_TIMER, 0);
        return;
    }
    gw__want_next(m);
    uint64_t due = m->hello_ns;
    due = sooner(due, gw__client_due(&m->client));
    due = sooner(due, m->address_retry_ns);
    if (m->client.count == 0)
        due = sooner(due, gw__want_due(m));
    if (due <= m->now_ns)
        due = m->now_ns + SOON_NS;
    if (due != m->timer_ns)
        m->act->set_timer(m->act->driver, GW__OWN_TIMER, due);
    m->timer_ns = due;
}

static void step_member(void *state, const struct gw__input *input,
                        const struct gw__actions *actions)
{
    struct gw__member_core *m = state;
    if (m->stage == GW__STAGE_GONE)
        return;
    m->now_ns = input->now_ns;
    m->act = actions;
    switch (input->kind) {
    case GW__START:
        start_member(m, input);
        break;
    case GW__TIMER:
        if (input->timer == GW__BEAT_TIMER) {
            gw__member_beat(m);
        } else {
            m->timer_ns = 0;
            tick(m);
        }
        break;
    case GW__MESSAGE:
        message(m, input);
        break;
    case GW__DIED:
        gw__detector_died(&m->detector, input->from, input->incarnation);
        gw__member_suspicion_ended(m, input->from, input->incarnation);
        break;
    case GW__OBSERVED:
        gw__detector_sight(&m->detector, input);
        gw__member_suspicion_sight(m, input);
        break;
    case GW__REQUESTED:
        gw__member_requested(m, input);
        break;
    }
    finish_input(m);
    m->act = NULL;
}

static void clear_member(void *state)
{
    struct gw__member_core *m = state;
    memset(m, 0, offsetof(struct gw__member_core, detector));
    gw__detector_clear(&m->detector);
    gw__view_clear(&m->view);
    memset(&m->client, 0, offsetof(struct gw__client_state, queue));
    gw__membership_update_clear(&m->update);
}

const struct gw__machine_kind gw__member_machine = {
    .name = "member",
    .state_bytes = sizeof(struct gw__member_core),
    .step = step_member,
    .clear = clear_member,
};

/* ---- accessors ---- */

const struct gw__membership_update *gw__member_update(const void *state)
{
    const struct gw__member_core *m = state;
    return &m->update;
}

const struct gw__view *gw__member_view(const void *state)
{
    const struct gw__member_core *m = state;
    return &m->view;
}

const struct gw__report *gw__member_report(const void *state, unsigned node)
{
    const struct gw__member_core *m = state;
    return gw_nodes_has(&m->have, node) ? &m->reports[node] : NULL;
}

uint64_t gw__member_lease(const void *state)
{
    const struct gw__member_core *m = state;
    return m->stage == GW__STAGE_GONE ? 0 : m->lease_ns;
}

bool gw__member_parked(const void *state)
{
    const struct gw__member_core *m = state;
    return m->parked;
}
