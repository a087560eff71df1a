/* SPDX-License-Identifier: MIT
 *
 * Opens and ends a session, and handles the notifications of its machine; see
 * session.h.
 */
#include "session.h"

#include "base/clock.h"
#include "base/random.h"
#include "wire/address.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t nap_ns = 10000000;

/* ---- the configuration ---- */

static bool is_somewhere(const char *endpoint)
{
    return endpoint && strlen(endpoint) < GW__ENDPOINT_MAX;
}

static enum gw_err check_session_config(const struct gw__session_config *config,
                                        struct gw_error *why)
{
    if (config->node >= GW__NODES_MAX && config->node != GW__NODE_ANY)
        return gw_fail(why, GW_EINVAL, "node %u: nodes are numbered below %d",
                       config->node, GW__NODES_MAX);
    if (config->controller_count == 0 ||
        config->controller_count > GW__CLIENT_CONTROLLERS)
        return gw_fail(why, GW_EINVAL, "%u controllers: there can be 1 to %d",
                       config->controller_count, GW__CLIENT_CONTROLLERS);
    for (unsigned i = 0; i < config->controller_count; i++)
        if (config->controllers[i].node >= GW__NODES_MAX ||
            !is_somewhere(config->controllers[i].endpoint))
            return gw_fail(why, GW_EINVAL,
                           "the address of controller %u is missing", i);
    if (!is_somewhere(config->endpoint))
        return gw_fail(why, GW_EINVAL, "the endpoint to listen at is missing");
    return GW_OK;
}

bool gw__session_own(struct gw__session *session, const char **text)
{
    if (!*text)
        return true;
    assert(session->string_count < GW__SESSION_STRINGS);
    char *copy = strdup(*text);
    if (copy)
        session->strings[session->string_count++] = copy;
    *text = copy;
    return copy;
}

static enum gw_err copy_config(struct gw__session *session,
                               const struct gw__session_config *config,
                               struct gw_error *why)
{
    struct gw__session_config *mine = &session->config;
    char bindable[GW__ENDPOINT_MAX]; /* once: the registry keeps the first
                                     endpoint */
    enum gw_err err =
        gw__address_bindable(config->endpoint, bindable, sizeof bindable, why);
    if (err)
        return err;
    *mine = *config;
    mine->endpoint = bindable;
    bool copied = gw__session_own(session, &mine->endpoint) &&
                  gw__session_own(session, &mine->security.key_file);
    for (unsigned i = 0; copied && i < config->controller_count; i++)
        copied = gw__session_own(session, &mine->controllers[i].endpoint);
    return copied ? GW_OK : gw_fail(why, GW_ENOMEM, "node");
}

enum gw_err gw__session_init(struct gw__session *session,
                             const struct gw__session_config *config,
                             struct gw_error *why)
{
    uint64_t seed;
    memset(session, 0, sizeof *session);
    enum gw_err err = check_session_config(config, why);
    if (err)
        return err;
    pthread_mutex_init(&session->lock, NULL);
    gw__clock_cond_init(&session->changed);
    session->ready = true;
    err = gw__draw(&seed, sizeof seed, why);
    if (!err)
        err =
            gw__session_next_life(config->process, &session->incarnation, why);
    if (!err)
        err = copy_config(session, config, why);
    return err ? err : gw__link_profiles_new(seed, &session->profiles, why);
}

void gw__session_fini(struct gw__session *session)
{
    if (!session->ready)
        return;
    gw__session_stop(session);
    gw__link_profiles_destroy(&session->profiles);
    for (unsigned i = 0; i < session->string_count; i++)
        free(session->strings[i]);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    session->ready = false;
}

/* ---- between the threads ---- */

void gw__session_lock(struct gw__session *session)
{
    int failed = pthread_mutex_lock(&session->lock);
    assert(!failed);
    (void)failed;
}

void gw__session_unlock(struct gw__session *session)
{
    pthread_mutex_unlock(&session->lock);
}

void gw__session_wait(struct gw__session *session, uint64_t until_ns)
{
    const struct timespec until = gw__clock_until(until_ns);
    int failed =
        pthread_cond_timedwait(&session->changed, &session->lock, &until);
    assert(failed == 0 || failed == ETIMEDOUT);
    (void)failed;
}

void gw__session_nap(struct gw__session *session)
{
    gw__session_wait(session, gw_now_ns() + nap_ns);
}

void gw__session_wake(struct gw__session *session)
{
    pthread_cond_broadcast(&session->changed);
}

void gw__session_know(struct gw__session *session, unsigned node,
                      const char *endpoint)
{
    char *known = session->endpoints[node];
    if (endpoint[0] == 0 || strcmp(known, endpoint) == 0)
        return;
    snprintf(known, GW__ENDPOINT_MAX, "%s", endpoint);
    (void)gw__driver_know(session->driver, node, known);
}

const void *gw__session_member(const struct gw__session *session)
{
    return gw__driver_state(session->driver);
}

/* ---- notifications of the machine ---- */

/* Learns all endpoints: the detector chooses the receivers of its beats. */
static void apply_update(struct gw__session *session)
{
    struct gw__membership_update *update = &session->update;
    *update = *gw__member_update(gw__session_member(session));
    for (unsigned i = 0; i < update->view.ring_count; i++)
        gw__session_know(session, update->view.ring[i].node,
                         update->endpoints[i]);
    for (unsigned i = 0; i < update->ps_member_count; i++)
        gw__session_know(session, update->ps_members[i].node,
                         update->ps_members[i].endpoint);
}

static void apply_notice(struct gw__session *session,
                         const struct gw__notification *notification)
{
    switch (notification->kind) {
    case GW__NOTIFY_REGISTERED:
        session->node = notification->node;
        session->registered = true;
        break;
    case GW__NOTIFY_UPDATE:
        apply_update(session);
        break;
    case GW__NOTIFY_LEASE:
        session->lease_ns = gw__member_lease(gw__session_member(session));
        break;
    case GW__NOTIFY_PARKED:
    case GW__NOTIFY_UNPARKED:
        session->parked = notification->kind == GW__NOTIFY_PARKED;
        session->parked_ns = gw_now_ns();
        memcpy(session->parked_text, notification->text,
               sizeof session->parked_text);
        break;
    case GW__NOTIFY_GONE:
        session->gone = true;
        memcpy(session->gone_text, notification->text,
               sizeof session->gone_text);
        break;
    default: /* those of the ring */
        break;
    }
}

static void on_notify(void *context, const void *data, size_t bytes)
{
    struct gw__session *session = context;
    const struct gw__notification *notification = data;
    assert(bytes == sizeof *notification);
    gw__session_lock(session);
    apply_notice(session, notification);
    if (session->config.on_notification)
        session->config.on_notification(session->config.context, notification);
    gw__session_wake(session);
    gw__session_unlock(session);
}

static uint64_t on_turn(void *context)
{
    const struct gw__session *session = context;
    return session->config.on_turn(session->config.context);
}

static void on_message(void *context, unsigned from, struct gw__id incarnation,
                       const void *data, size_t bytes)
{
    const struct gw__session *session = context;
    if (session->config.on_message)
        session->config.on_message(session->config.context, from, incarnation,
                                   data, bytes);
}

/* ---- the control thread ---- */

static void fill_member_config(const struct gw__session *session,
                               struct gw__member_config *member)
{
    const struct gw__session_config *config = &session->config;
    member->role = config->role;
    member->ring = config->ring;
    member->most = config->most;
    member->incarnation = session->incarnation;
    snprintf(member->endpoint, sizeof member->endpoint, "%s", config->endpoint);
    member->controller_count = config->controller_count;
    for (unsigned i = 0; i < config->controller_count; i++)
        member->controllers[i] = (uint16_t)config->controllers[i].node;
    member->detector.suspicion = config->suspicion;
}

enum gw_err gw__session_launch(struct gw__session *session, unsigned node,
                               unsigned as, struct gw_error *why)
{
    const struct gw__session_config *config = &session->config;
    struct gw__member_config member = {.node = node};
    uint64_t seed;
    enum gw_err err = gw__draw(&member.client, sizeof member.client, why);
    if (!err)
        err = gw__draw(&seed, sizeof seed, why);
    if (err)
        return err;
    fill_member_config(session, &member);
    const struct gw__driver_config driver = {
        .kind = &gw__member_machine,
        .channel = {.node = as,
                    .incarnation_high = session->incarnation.high,
                    .incarnation_low = session->incarnation.low,
                    .endpoint = config->endpoint,
                    .security = config->security,
                    .profiles = session->profiles},
        .seed = seed,
        .peers = config->controllers,
        .peer_count = config->controller_count,
        .start = &member,
        .start_bytes = sizeof member,
        .context = session,
        .on_notify = on_notify,
        .on_message = on_message,
        .on_turn = config->on_turn ? on_turn : NULL,
        .describe = gw__member_describe};
    gw__session_lock(
        session); /* the thread uses session->driver as soon as it runs */
    err = gw__driver_start(&driver, &session->driver, why);
    gw__session_unlock(session);
    return err;
}

void gw__session_stop(struct gw__session *session)
{
    struct gw__driver *driver = session->driver; /* its thread uses that one */
    gw__driver_stop(&driver);
    session->driver = NULL;
}

/* ---- requests ---- */

enum gw_err gw__session_request(struct gw__session *session,
                                const struct gw__member_request *request)
{
    return gw__driver_request(session->driver, request, sizeof *request);
}

enum gw_err gw__session_command(struct gw__session *session,
                                const struct gw__command *command, unsigned tag)
{
    const struct gw__member_request request = {
        .kind = GW__REQUEST_COMMAND, .own = {.tag = tag, .command = *command}};
    return gw__session_request(session, &request);
}

enum gw_err gw__session_lost(struct gw__session *session,
                             struct gw__process who)
{
    const struct gw__member_request request = {.kind = GW__REQUEST_LOST,
                                               .who = who};
    return gw__session_request(session, &request);
}

enum gw_err gw__session_leave(struct gw__session *session, uint64_t deadline_ns,
                              struct gw_error *why)
{
    const struct gw__member_request request = {.kind = GW__REQUEST_LEAVE};
    enum gw_err err = gw__session_request(session, &request);
    if (err)
        return gw_fail(why, err, "leave: the control thread has ended");
    gw__session_lock(session);
    while (!session->gone && gw_now_ns() < deadline_ns)
        gw__session_nap(session);
    bool gone = session->gone;
    unsigned node = session->node;
    gw__session_unlock(session);
    return gone
               ? GW_OK
               : gw_fail(
                     why, GW_ETIMEOUT,
                     "leave: no controller has confirmed that node %u has left",
                     node);
}
