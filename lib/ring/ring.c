/* SPDX-License-Identifier: MIT
 *
 * The life of a ring: joining it, and destroying it without leaving.
 * ring_parts.h lists the other files and the thread that may use each member.
 * Start reading with ring_op.c.
 */
#include "ring/supervised/supervised.h"
#include "ring_parts.h"

#include "base/failpoint.h"
#include "wire/fence.h"

#include <stdlib.h>

/* ---- the configuration ---- */

static struct gw__session_config
session_config(struct gw_ring *ring, const struct gw_ring_config *config)
{
    struct gw__session_config session = {
        .node = config->node,
        .role = GW__WORKER,
        .ring = true,
        .most = config->max_size,
        .process = config->process,
        .endpoint = config->endpoint,
        .security = {config->token, config->key_file, config->insecure},
        .controller_count = config->controller_count,
        .suspicion = config->suspicion,
        .interrupt = &ring->interrupted,
        .context = ring,
        .on_notification = gw__ring_on_notification,
        .on_turn = gw__ring_on_turn,
        .on_message = gw__ring_on_message};
    for (unsigned i = 0;
         i < config->controller_count && i < GW_RING_CONTROLLERS; i++)
        session.controllers[i] = (struct gw__driver_peer){
            config->controllers[i], config->controller_endpoints[i]};
    return session;
}

static enum gw_err check_ring_config(const struct gw_ring_config *config,
                                     struct gw_error *why)
{
    if (config->state_bytes && !config->state)
        return gw_fail(why, GW_EINVAL,
                       "the pointer to a state of %zu bytes is NULL",
                       config->state_bytes);
    return GW_OK;
}

static enum gw_err copy_config(struct gw_ring *ring,
                               const struct gw_ring_config *config,
                               struct gw_error *why)
{
    struct gw_ring_config *mine = &ring->config;
    *mine = *config;
    mine->key_file = ring->session.config.security.key_file;
    bool copied = gw__session_own(&ring->session, &mine->wire) &&
                  gw__session_own(&ring->session, &mine->interface);
    return copied ? GW_OK : gw_fail(why, GW_ENOMEM, "ring");
}

/* ---- making and destroying ---- */

/* Sets the link profiles that apply from the start. */
static void copy_profiles(struct gw_ring *ring)
{
    const struct gw_link_profile *links = ring->config.links;
    for (unsigned from = 0; links && from < GW_RING_NODES; from++)
        gw_ring_emulate_link(ring, from, &links[from]);
    gw_ring_pace(ring, ring->config.pace_ns);
    ring->config.links = NULL; /* the caller's */
}

static enum gw_err init(struct gw_ring *ring,
                        const struct gw_ring_config *config,
                        struct gw_error *why)
{
    const struct gw__session_config session = session_config(ring, config);
    gw__state_lock_init(&ring->state_lock);
    gw__events_init(&ring->events, config->events);
    gw__chosen_plans_init(&ring->chosen, config->algos, config->algo_count);
    for (unsigned c = 0; c < GW_COLLECTIVES; c++)
        gw__whole_plans_init(&ring->run_plans[c], (enum gw_collective)c,
                             config->run_algos, config->run_algo_count);
    ring->joining = true;
    ring->fetch.server_op = UINT64_MAX;
    ring->report.waits_for = GW__WAITS_FOR_NONE;
    enum gw_err err = gw__session_init(&ring->session, &session, why);
    if (!err)
        err = copy_config(ring, config, why);
    if (!err)
        copy_profiles(ring);
    return err;
}

void gw_ring_destroy(struct gw_ring **made)
{
    struct gw_ring *ring = *made;
    if (!ring)
        return;
    gw__supervised_destroy(ring);
    gw__session_stop(&ring->session);
    gw__ring_disconnect(ring);
    gw__comm_leave(&ring->next);
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++)
        gw_free(ring->kept[i].data);
    gw_free(ring->averages);
    for (unsigned i = 0; i < GW__RING_SNAPSHOTS; i++)
        free(ring->snapshots[i].data);
    free(ring->fetch.data);
    gw__chosen_plans_fini(&ring->chosen);
    for (unsigned c = 0; c < GW_COLLECTIVES; c++)
        gw__chosen_plans_fini(&ring->run_plans[c]);
    gw__events_fini(&ring->events);
    pthread_mutex_destroy(&ring->state_lock);
    gw__session_fini(&ring->session);
    free(ring);
    *made = NULL;
}

/* A joiner that stops waiting for its admission must withdraw, or the
 * controllers would keep it registered forever. */
static void revoke(struct gw_ring *ring)
{
    static const uint64_t most_ns = 500000000;
    struct gw__session *session = &ring->session;
    gw__session_lock(session);
    bool waits = session->registered && !ring->member && !session->gone;
    gw__session_unlock(session);
    if (waits)
        gw__session_leave(session, gw_now_ns() + most_ns, NULL);
}

static enum gw_err join_ring(struct gw_ring *ring, struct gw_error *why)
{
    unsigned join_ms = ring->config.join_timeout_ms;
    uint64_t deadline_ns = join_ms ? gw_now_ns() + join_ms * 1000000ULL : 0;
    /* Later, under the session's lock, it would delay the beats. */
    (void)gw__fence_register();
    enum gw_err err = gw__session_start(&ring->session, deadline_ns, why);
    if (err)
        return err;
    err = gw__ring_copy(ring, deadline_ns, why);
    if (err)
        revoke(ring);
    return err ? err : gw__bounds_keep(ring, why);
}

enum gw_err gw_ring_join(const struct gw_ring_config *config,
                         struct gw_ring **made, struct gw_error *why)
{
    *made = NULL;
    enum gw_err err = gw__failpoints_begin(why);
    if (!err)
        err = check_ring_config(config, why);
    if (err)
        return gw_wrap(why, err, "ring: join");
    struct gw_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return gw_fail(why, GW_ENOMEM, "ring: join");
    err = init(ring, config, why);
    *made = ring;
    if (!err)
        err = join_ring(ring, why);
    if (err) {
        gw_ring_destroy(made);
        return gw_wrap(why, err, "ring: join");
    }
    return GW_OK;
}
