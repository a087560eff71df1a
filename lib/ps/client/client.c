/* SPDX-License-Identifier: MIT
 *
 * Connecting, leaving, and waiting for a request; see client_parts.h.
 */
#include "client_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* an interrupt is noticed within this time */
static const uint64_t interrupt_poll_ns = 50000000;
static const uint64_t connect_default_ns = 10000000000;
static const uint64_t leave_ns = 2000000000, aggregator_ns = 10000000000;

/* ---- turns and waiting ---- */

static void send_now(void *context, const struct gw__message_out *message)
{
    struct gw_ps *ps = context;
    enum gw_err err = gw__messenger_send(gw__node_messenger(ps->node), message);
    if (err && message->borrowed)
        message->back(message->context);
}

static void send_message(void *context, const struct gw__message_out *message)
{
    struct gw_ps *ps = context;
    gw__ps_event_sent(ps, message);
    if (!gw__ps_aggregate_send(ps, message))
        gw__bundles_send(&ps->bundles, message);
}

static void begin_message(struct gw_ps *ps, uint64_t now_ns,
                          struct gw__message_in *message)
{
    gw__ps_event_answered(ps, message);
    gw__worker_message_in(ps->worker, now_ns, message);
}

/* The number of messages in a bundle or an envelope. */
static unsigned count_messages(struct gw_ps *ps,
                               const struct gw__message_in *message)
{
    unsigned count;
    if (gw__is_envelope(message))
        return gw__ps_aggregate_open(ps, message);
    return gw__bundle_check(message, &count, NULL) ? 0 : count;
}

/* A message is single, a bundle of several, or an envelope. */
static void open_message(struct gw_ps *ps, uint64_t now_ns,
                         struct gw__message_in *message)
{
    size_t at = 0;
    bool envelope = gw__is_envelope(message);
    if (!envelope && !gw__is_bundle(message)) {
        begin_message(ps, now_ns, message);
        return;
    }
    unsigned count = count_messages(ps, message);
    for (unsigned i = 0; i < count; i++) {
        struct gw__message_in *bundled = gw__bundle_next(message, &at);
        if (bundled && envelope &&
            !gw__node_trusts(ps->node, message, bundled)) {
            ps->aggregate.refused++;
            gw__message_in_release(bundled);
        } else if (bundled) {
            begin_message(ps, now_ns, bundled);
        }
    }
    gw__message_in_release(message);
}

void gw__ps_turn(struct gw_ps *ps)
{
    struct gw__message_in *message;
    struct gw__messenger *messenger = gw__node_messenger(ps->node);
    unsigned changes = gw__node_turn(ps->node);
    uint64_t now_ns = gw_now_ns();
    if (changes & GW__NODE_UPDATE)
        gw__worker_routes(ps->worker, now_ns,
                          &gw__node_update(ps->node)->routes);
    if (changes & (GW__NODE_UPDATE | GW__NODE_REACH))
        gw__ps_aggregate_update(ps);
    if (changes & GW__NODE_UPDATE_DONE)
        ps->is_awaiting_routes = false;
    if (changes & GW__NODE_REACH) {
        const struct gw_nodes reached = gw__node_reached(ps->node);
        gw__worker_reached(ps->worker, now_ns, &reached);
    }
    while (gw__messenger_receive(messenger, &message) == GW_OK)
        open_message(ps, now_ns, message);
    if (gw__worker_due(ps->worker) <= now_ns)
        gw__worker_tick(ps->worker, now_ns);
    gw__bundles_flush(&ps->bundles);
}

void gw__ps_sleep(struct gw_ps *ps, uint64_t until_ns)
{
    uint64_t due_ns = gw__worker_due(ps->worker);
    uint64_t latest_ns = gw_now_ns() + interrupt_poll_ns;
    if (until_ns > latest_ns)
        until_ns = latest_ns;
    gw__bundles_flush(&ps->bundles);
    gw__messenger_wait(gw__node_messenger(ps->node),
                       until_ns < due_ns ? until_ns : due_ns);
}

enum gw_err gw__ps_alive(const struct gw_ps *ps, struct gw_error *why)
{
    if (atomic_load_explicit(&ps->interrupted, memory_order_relaxed))
        return gw_fail(why, GW_EINTR, "interrupted");
    return gw__node_gone(ps->node, why);
}

uint64_t gw__ps_deadline(const struct gw_ps *ps)
{
    return ps->timeout_ns == UINT64_MAX ? UINT64_MAX
                                        : gw_now_ns() + ps->timeout_ns;
}

static enum gw_err timed_out(const struct gw_ps *ps, struct gw_error *why)
{
    char whom[256];
    const char *parked;
    gw__worker_describe_wait(ps->worker, gw_now_ns(), whom, sizeof whom);
    if (gw__node_parked(ps->node, &parked))
        return gw_fail(why, GW_ETIMEOUT, "no answer in time; waits for %s (%s)",
                       whom, parked);
    return gw_fail(why, GW_ETIMEOUT, "waits for %s", whom);
}

enum gw_err gw__ps_await(struct gw_ps *ps, uint64_t request,
                         uint64_t deadline_ns, bool *ended,
                         struct gw_error *why)
{
    *ended = false;
    for (;;) {
        gw__ps_turn(ps);
        enum gw_err err = gw__worker_result(ps->worker, request, why);
        if (err != GW_PENDING) {
            *ended = true;
            return err;
        }
        err = gw__ps_alive(ps, why);
        if (err)
            return err;
        if (deadline_ns != UINT64_MAX && gw_now_ns() >= deadline_ns)
            return timed_out(ps, why);
        gw__ps_sleep(ps, deadline_ns);
    }
}

enum gw_err gw__ps_finish(struct gw_ps *ps, uint64_t request,
                          struct gw_error *why)
{
    bool ended;
    enum gw_err err =
        gw__ps_await(ps, request, gw__ps_deadline(ps), &ended, why);
    /* Without memory for copies the request continues with the caller's
     * memory. */
    if (!ended)
        (void)!gw__worker_detach(ps->worker, request);
    return err;
}

enum gw_err gw__ps_clock(struct gw_ps *ps, unsigned group,
                         const struct gw__clock_command *command,
                         struct gw_ps_work *work, struct gw_error *why)
{
    uint64_t request;
    enum gw_err err = gw__ps_alive(ps, why);
    if (err)
        return err;
    gw__ps_turn(ps);
    err = gw__worker_clock(ps->worker, gw_now_ns(), group, command, work,
                           &request, why);
    if (err == GW_PENDING)
        return gw_fail(why, GW_ENOMEM,
                       "too many requests are in flight; call gw_ps_wait");
    return err ? err : gw__ps_finish(ps, request, why);
}

/* ---- connecting ---- */

/* Checks that pushes are possible; if not, `out` gets the reason. */
static bool lacks(const struct gw_ps *ps, char *out, size_t room)
{
    const struct gw__routes *routes = gw__worker_get_routes(ps->worker);
    unsigned homeless = 0;
    if (routes->slot_count == 0) {
        snprintf(out, room, "there is no parameter server: no slots exist");
        return true;
    }
    for (unsigned slot = 0; slot < routes->slot_count; slot++)
        homeless += routes->slots[slot].primary == GW__NO_NODE;
    if (homeless > 0) {
        snprintf(out, room, "%u of %u slots have no server", homeless,
                 routes->slot_count);
        return true;
    }
    for (unsigned slot = 0; slot < routes->slot_count; slot++)
        if (!gw__node_reaches(ps->node, routes->slots[slot].primary)) {
            snprintf(out, room, "the address of server %u is not known yet",
                     routes->slots[slot].primary);
            return true;
        }
    return false;
}

/* True for a limited time while the host's aggregator is not ready. */
static bool awaits_aggregator(const struct gw_ps *ps, uint64_t began_ns)
{
    return ps->aggregate.wanted && !gw__ps_aggregate_ready(ps) &&
           gw_now_ns() < began_ns + aggregator_ns;
}

static enum gw_err await_servers(struct gw_ps *ps, uint64_t deadline_ns,
                                 struct gw_error *why)
{
    char missing[128];
    uint64_t began_ns = gw_now_ns();
    for (;;) {
        gw__ps_turn(ps);
        enum gw_err err = gw__ps_alive(ps, why);
        if (err)
            return err;
        bool lacking = lacks(ps, missing, sizeof missing);
        if (!lacking && !awaits_aggregator(ps, began_ns))
            return GW_OK;
        if (lacking && gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT, "%s", missing);
        gw__ps_sleep(ps, deadline_ns);
    }
}

static enum gw_err check_client_config(const struct gw_ps_config *config,
                                       struct gw_error *why)
{
    if (!(config->top_share >= 0 && config->top_share < 1))
        return gw_fail(why, GW_EINVAL,
                       "the top share must be at least 0 and below 1, not %g",
                       (double)config->top_share);
    if (!(config->significant >= 0))
        return gw_fail(why, GW_EINVAL, "significant must be at least 0, not %g",
                       (double)config->significant);
    return GW_OK;
}

static enum gw_err open_node(struct gw_ps *ps,
                             const struct gw_ps_config *config,
                             struct gw_error *why)
{
    const struct gw__node_config node = {
        .node = config->node,
        .role = GW__WORKER,
        .endpoint = config->endpoint,
        .security = {config->token, config->key_file, config->insecure},
        .controller_count = config->controller_count,
        .controllers = config->controllers,
        .controller_endpoints = config->controller_endpoints,
        .wire = config->wire,
        .interface = config->interface,
        .copy_always = config->no_place,
        .join_ms = config->connect_ms,
        .interrupt = &ps->interrupted,
        .links = config->links,
        .pace_ns = config->pace_ns};
    return gw__node_open(&node, &ps->node, why);
}

static enum gw_err connect(struct gw_ps *ps, const struct gw_ps_config *config,
                           struct gw_error *why)
{
    uint64_t connect_ns = config->connect_ms * UINT64_C(1000000);
    uint64_t deadline_ns =
        gw_now_ns() + (connect_ns ? connect_ns : connect_default_ns);
    enum gw_err err = open_node(ps, config, why);
    if (err)
        return err;
    const struct gw__worker_config worker = {
        .node = gw__node_number(ps->node),
        .incarnation = gw__node_incarnation(ps->node),
        .no_key_cache = config->no_key_cache,
        .half = config->half,
        .no_coalesce = config->no_bundle,
        .context = ps,
        .send = send_message};
    err = gw__worker_new(&worker, &ps->worker, why);
    return err ? err : await_servers(ps, deadline_ns, why);
}

enum gw_err gw_ps_connect(const struct gw_ps_config *config,
                          struct gw_ps **made, struct gw_error *why)
{
    *made = NULL;
    enum gw_err err = check_client_config(config, why);
    if (err)
        return gw_wrap(why, err, "ps: connect");
    struct gw_ps *ps = calloc(1, sizeof *ps);
    if (!ps)
        return gw_fail(why, GW_ENOMEM, "ps: connect");
    ps->ask_routes = config->ask_routes;
    ps->shm = !config->wire || strcmp(config->wire, "shm") == 0;
    ps->timeout_ns = config->timeout_ms ? config->timeout_ms * UINT64_C(1000000)
                                        : UINT64_MAX;
    ps->events = config->events;
    ps->top_share = config->top_share;
    ps->significant = config->significant;
    ps->no_lend = config->no_place;
    ps->bundles = (struct gw__bundles){
        .send = send_now, .context = ps, .off = config->no_bundle};
    gw__ps_aggregate_init(ps, config);
    err = connect(ps, config, why);
    if (err) {
        gw_ps_abandon(&ps);
        return gw_wrap(why, err, "ps: connect");
    }
    *made = ps;
    return GW_OK;
}

/* ---- leaving ---- */

/* Closing the node returns all lent memory, so the worker is destroyed last. */
void gw_ps_abandon(struct gw_ps **made)
{
    struct gw_ps *ps = *made;
    if (!ps)
        return;
    *made = NULL;
    gw__ps_aggregate_end(ps, false);
    gw__bundles_fini(&ps->bundles);
    gw__node_close(&ps->node);
    gw__worker_destroy(&ps->worker);
    while (ps->passed)
        gw__ps_passed(ps, ps->passed->request);
    for (unsigned i = 0; i < GW_PS_TABLES_MAX; i++)
        gw__filter_destroy(&ps->filters[i]);
    free(ps);
}

void gw_ps_close(struct gw_ps **made)
{
    struct gw_ps *ps = *made;
    struct gw_error why;
    if (!ps)
        return;
    if (ps->timeout_ns > leave_ns)
        ps->timeout_ns = leave_ns;
    for (unsigned i = 0; i < GW_PS_TABLES_MAX; i++)
        if (ps->filters[i] && gw__ps_flush(ps, i, &why))
            break;
    gw__ps_aggregate_end(ps, true);
    if (gw__ps_alive(ps, &why) == GW_OK)
        (void)!gw__node_leave(ps->node, gw_now_ns() + leave_ns, &why);
    gw_ps_abandon(made);
}

void gw_ps_interrupt(struct gw_ps *ps)
{
    atomic_store(&ps->interrupted, true);
    gw__node_wake(ps->node);
}

unsigned gw_ps_node(const struct gw_ps *ps)
{
    return gw__node_number(ps->node);
}

void gw_ps_get_counts(const struct gw_ps *ps, struct gw_ps_counts *counts)
{
    gw__worker_counts(ps->worker, counts);
    counts->rows_held_back = ps->rows_held_back;
    counts->waited_ns = ps->waited_ns;
    counts->routes_requested = ps->routes_requested;
    counts->routes_ns = ps->routes_ns;
    const struct gw__messenger_counts *post =
        gw__messenger_counts(gw__node_messenger(ps->node));
    counts->messages_sent = post->sent;
    counts->messages_saved += ps->bundles.saved;
    counts->bytes_in_place =
        post->borrowed_bytes; /* not all that was offered */
    gw__ps_aggregate_counts(ps, counts);
}
