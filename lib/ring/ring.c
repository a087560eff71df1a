/* SPDX-License-Identifier: MIT
 *
 * The life of a ring: joining it, and leaving it without a word. Where the rest
 * is, and which thread may touch what, is told in ring_parts.h; begin reading
 * with ring_op.c.
 */
#include "ring_parts.h"

#include "wire/address.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- the configuration ---- */

static enum gw_err check(const struct gw_ring_config *config,
                         struct gw_error *why)
{
    if (config->node >= GW_RING_NODES && config->node != GW_RING_ANY)
        return gw_fail(why, GW_EINVAL, "node %u: there are %d", config->node,
                       GW_RING_NODES);
    if (config->controller_count == 0 ||
        config->controller_count > GW_RING_CONTROLLERS)
        return gw_fail(why, GW_EINVAL, "%u controllers: 1 to %d can be",
                       config->controller_count, GW_RING_CONTROLLERS);
    for (unsigned i = 0; i < config->controller_count; i++)
        if (config->controllers[i] >= GW_RING_NODES ||
            !config->controller_endpoints[i] ||
            strlen(config->controller_endpoints[i]) >= GW__ENDPOINT_MAX)
            return gw_fail(why, GW_EINVAL, "controller %u is nowhere", i);
    if (!config->endpoint || strlen(config->endpoint) >= GW__ENDPOINT_MAX)
        return gw_fail(why, GW_EINVAL, "no endpoint to listen at");
    if (config->state_bytes && !config->state)
        return gw_fail(why, GW_EINVAL, "a state of %zu bytes is nowhere",
                       config->state_bytes);
    return GW_OK;
}

/* Copies the string that *text points to. */
static bool own(struct gw_ring *ring, const char **text)
{
    if (!*text)
        return true;
    char *copy = strdup(*text);
    if (copy)
        ring->strings[ring->string_count++] = copy;
    *text = copy;
    return copy;
}

static enum gw_err take_config(struct gw_ring *ring,
                               const struct gw_ring_config *config,
                               struct gw_error *why)
{
    struct gw_ring_config *mine = &ring->config;
    *mine = *config;
    for (unsigned i = 0; i < config->controller_count; i++) {
        const char *endpoint = config->controller_endpoints[i];
        memcpy(ring->endpoints[i], endpoint, strlen(endpoint));
        mine->controller_endpoints[i] = ring->endpoints[i];
    }
    bool copied = own(ring, &mine->endpoint) && own(ring, &mine->wire) &&
                  own(ring, &mine->interface) && own(ring, &mine->key_file);
    return copied ? GW_OK : gw_fail(why, GW_ENOMEM, "ring");
}

/* ---- the control thread ---- */

static enum gw_err start(struct gw_ring *ring, unsigned node, unsigned as,
                         struct gw_error *why)
{
    const struct gw_ring_config *config = &ring->config;
    struct gw__member_config member = {
        .node = node,
        .role = GW__WORKER,
        .ring = true,
        .most = config->max_size,
        .incarnation = ring->incarnation,
        .controller_count = config->controller_count,
        .detector = {.suspicion = config->suspicion}};
    struct gw__driver_peer controllers[GW__CLIENT_CONTROLLERS];
    char endpoint[GW__ENDPOINT_MAX];
    uint64_t seed;
    enum gw_err err =
        gw__address_bindable(config->endpoint, endpoint, sizeof endpoint, why);
    if (err)
        return err;
    if (getrandom(&member.client, sizeof member.client, 0) !=
            sizeof member.client ||
        getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return gw_fail_errno(why, "getrandom");
    memcpy(member.endpoint, endpoint, sizeof endpoint);
    for (unsigned i = 0; i < config->controller_count; i++) {
        member.controllers[i] = (uint8_t)config->controllers[i];
        controllers[i] = (struct gw__driver_peer){
            config->controllers[i], config->controller_endpoints[i]};
    }
    const struct gw__driver_config driver = {
        .kind = &gw__member_machine,
        .mesh = {.node = as,
                 .incarnation_high = ring->incarnation.high,
                 .incarnation_low = ring->incarnation.low,
                 .endpoint = endpoint,
                 .token = config->token,
                 .key_file = config->key_file,
                 .insecure = config->insecure,
                 .rules = ring->rules},
        .seed = seed,
        .peers = controllers,
        .peer_count = config->controller_count,
        .start = &member,
        .start_bytes = sizeof member,
        .context = ring,
        .on_tell = gw__ring_on_tell,
        .on_message = gw__ring_on_message,
        .on_turn = gw__ring_on_turn,
        .describe = gw__member_describe};
    /* The thread looks at ring->driver as soon as it runs. */
    gw__ring_lock(ring);
    err = gw__driver_start(&driver, &ring->driver, why);
    gw__ring_unlock(ring);
    return err;
}

/* Its thread looks at ring->driver to the last. */
void gw__ring_stop(struct gw_ring *ring)
{
    struct gw__driver *driver = ring->driver;
    gw__driver_stop(&driver);
    ring->driver = NULL;
}

/* ---- made and unmade ---- */

/* Those that hold from the start. */
static void take_rules(struct gw_ring *ring)
{
    const struct gw_ring_link *links = ring->config.links;
    for (unsigned from = 0; links && from < GW_RING_NODES; from++)
        gw_ring_rule(ring, from, &links[from]);
    gw_ring_pace(ring, ring->config.pace_ns);
    ring->config.links = NULL; /* the caller's */
}

bool gw__ring_next_life(uint64_t named, struct gw__id *incarnation)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t drawn, lives;
    static pid_t process; /* for which that was drawn: a fork is another one */
    if (getrandom(incarnation, sizeof *incarnation, 0) != sizeof *incarnation)
        return false;
    pthread_mutex_lock(&lock);
    if (process != getpid())
        drawn = incarnation->high;
    process = getpid();
    uint64_t upper = (named ? named : drawn) >> GW__LIFE_BITS;
    incarnation->high = upper << GW__LIFE_BITS | ++lives;
    pthread_mutex_unlock(&lock);
    incarnation->low |= 1; /* nobody's is 0 */
    return true;
}

static enum gw_err init(struct gw_ring *ring,
                        const struct gw_ring_config *config,
                        struct gw_error *why)
{
    pthread_condattr_t clock;
    uint64_t seed;
    pthread_mutex_init(&ring->lock, NULL);
    gw__state_lock_init(&ring->state_lock);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&ring->changed, &clock);
    pthread_condattr_destroy(&clock);
    gw__events_init(&ring->events, config->events);
    ring->joining = true;
    ring->pull.donor_op = UINT64_MAX;
    ring->standing.waits_for = GW__WAITS_FOR_NOBODY;
    if (!gw__ring_next_life(config->process, &ring->incarnation) ||
        getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return gw_fail_errno(why, "getrandom");
    enum gw_err err = take_config(ring, config, why);
    if (!err)
        err = gw__rules_new(seed, &ring->rules, why);
    if (!err)
        take_rules(ring);
    return err;
}

void gw_ring_destroy(struct gw_ring **made)
{
    struct gw_ring *ring = *made;
    if (!ring)
        return;
    gw__ring_stop(ring);
    gw__ring_part(ring);
    gw__rules_destroy(&ring->rules);
    for (unsigned i = 0; i < GW__BOOK_OPS; i++)
        gw_free(ring->kept[i].data);
    gw_free(ring->averages);
    for (unsigned i = 0; i < GW__RING_SNAPSHOTS; i++)
        free(ring->snapshots[i].data);
    free(ring->pull.data);
    for (unsigned i = 0; i < ring->string_count; i++)
        free(ring->strings[i]);
    gw__events_fini(&ring->events);
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->state_lock);
    pthread_mutex_destroy(&ring->lock);
    free(ring);
    *made = NULL;
}

/* Who waits no longer to be admitted says so, or it would be in the
 * controllers' book for ever. */
static void withdraw(struct gw_ring *ring)
{
    static const uint64_t most_ns = 500000000;
    uint8_t ask[GW__MEMBER_ASK_MAX];
    uint64_t until_ns = gw_now_ns() + most_ns;
    gw__ring_lock(ring);
    bool waits = ring->registered && !ring->member && !ring->gone;
    gw__ring_unlock(ring);
    if (!waits)
        return;
    gw__ring_ask(ring, ask, gw__member_ask_leave(ask));
    gw__ring_lock(ring);
    while (!ring->gone && !ring->failed.code && gw_now_ns() < until_ns)
        gw__ring_nap(ring);
    gw__ring_unlock(ring);
}

static enum gw_err join(struct gw_ring *ring, struct gw_error *why)
{
    unsigned node = ring->config.node, join_ms = ring->config.join_timeout_ms;
    uint64_t deadline_ns = join_ms ? gw_now_ns() + join_ms * 1000000ULL : 0;
    enum gw_err err = GW_OK;
    if (node == GW_RING_ANY)
        err = gw__ring_find_number(ring, start, deadline_ns, &node, why);
    gw__ring_lock(ring);
    ring->node = node;
    gw__ring_unlock(ring);
    if (!err)
        err = start(ring, node, node, why);
    if (err)
        return err;
    err = gw__ring_copy(ring, deadline_ns, why);
    if (err)
        withdraw(ring);
    return err ? err : gw__bounds_keep(ring, why);
}

enum gw_err gw_ring_join(const struct gw_ring_config *config,
                         struct gw_ring **made, struct gw_error *why)
{
    *made = NULL;
    enum gw_err err = gw__failpoints_begin(why);
    if (!err)
        err = check(config, why);
    if (err)
        return gw_wrap(why, err, "ring: join");
    struct gw_ring *ring = calloc(1, sizeof *ring);
    if (!ring)
        return gw_fail(why, GW_ENOMEM, "ring: join");
    *made = ring;
    err = init(ring, config, why);
    if (!err)
        err = join(ring, why);
    if (err) {
        gw_ring_destroy(made);
        return gw_wrap(why, err, "ring: join");
    }
    return GW_OK;
}
