/* SPDX-License-Identifier: MIT
 *
 * Starting the control thread, under a number that is given or one that the
 * controllers choose. As in the ring (ring/ring_number.c): messages carry their
 * sender's number, so the first request goes out under one that is drawn, and
 * the process starts anew under the one that it is given, as the same
 * incarnation. Who drew a number that is taken is not answered, and draws
 * again.
 */
#include "node_parts.h"

#include "base/clock.h"
#include "wire/address.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

static const uint64_t answer_ns = 400000000, nap_ns = 10000000;

void gw__node_nap(struct gw__node *node)
{
    const struct timespec until = gw__clock_until(gw_now_ns() + nap_ns);
    pthread_cond_timedwait(&node->changed, &node->lock, &until);
}

bool gw__node_interrupted(const struct gw__node *node)
{
    const _Atomic bool *interrupt = node->config.interrupt;
    return interrupt && atomic_load(interrupt);
}

/* ---- the control thread ---- */

static enum gw_err start_driver(struct gw__node *node,
                                const struct gw__driver_config *config,
                                struct gw_error *why)
{
    /* The thread looks at node->driver as soon as it runs. */
    pthread_mutex_lock(&node->lock);
    enum gw_err err = gw__driver_start(config, &node->driver, why);
    for (unsigned i = 0; !err && i < node->config.controller_count; i++)
        err = gw__driver_know(node->driver, node->controllers[i],
                              node->controller_endpoints[i])
                  ? gw_fail(why, GW_EINVAL, "controller %u: %s is no endpoint",
                            node->controllers[i], node->controller_endpoints[i])
                  : GW_OK;
    pthread_mutex_unlock(&node->lock);
    return err;
}

enum gw_err gw__node_launch(struct gw__node *node, unsigned number, unsigned as,
                            struct gw_error *why)
{
    const struct gw__node_config *config = &node->config;
    struct gw__member_config member = {
        .node = number == GW_PS_ANY ? GW__NODE_ANY : number,
        .role = config->role,
        .incarnation = node->incarnation,
        .controller_count = config->controller_count};
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
    for (unsigned i = 0; i < config->controller_count; i++)
        member.controllers[i] = (uint8_t)node->controllers[i];
    const struct gw__driver_config driver = {
        .kind = &gw__member_machine,
        .mesh = {.node = as,
                 .incarnation_high = node->incarnation.high,
                 .incarnation_low = node->incarnation.low,
                 .endpoint = endpoint,
                 .token = config->token,
                 .key_file = config->key_file,
                 .insecure = config->insecure,
                 .rules = node->rules},
        .seed = seed,
        .start = &member,
        .start_bytes = sizeof member,
        .context = node,
        .on_tell = gw__node_on_tell,
        .on_message = gw__node_on_message,
        .on_turn = gw__node_on_turn,
        .describe = gw__member_describe};
    return start_driver(node, &driver, why);
}

/* ---- a number ---- */

static unsigned draw(const struct gw__node *node)
{
    for (;;) {
        uint8_t drawn = 0;
        bool taken = getrandom(&drawn, sizeof drawn, 0) != sizeof drawn;
        for (unsigned i = 0; i < node->config.controller_count; i++)
            taken = taken || node->controllers[i] == drawn % GW_PS_NODES;
        if (!taken)
            return drawn % GW_PS_NODES;
    }
}

/* Waits for an answer; true: *number is ours. */
static bool await_number(struct gw__node *node, unsigned *number)
{
    uint64_t until_ns = gw_now_ns() + answer_ns;
    pthread_mutex_lock(&node->lock);
    while (!node->box.registered && gw_now_ns() < until_ns &&
           !gw__node_interrupted(node))
        gw__node_nap(node);
    bool registered = node->box.registered;
    *number = node->box.number;
    pthread_mutex_unlock(&node->lock);
    return registered;
}

/* It may have got a number and never heard of it; then it was silent, and may
 * be convicted by now: after some tries it comes as another incarnation. */
enum { TRIES_A_LIFE = 3 };

/* Of the number that was drawn nothing is kept. */
static void stop_and_forget(struct gw__node *node)
{
    struct gw__driver *driver = node->driver;
    gw__driver_stop(&driver);
    node->driver = NULL;
    memset(&node->box, 0, sizeof node->box);
    memset(node->endpoints, 0, sizeof node->endpoints);
    atomic_store(&node->fresh, 0);
}

enum gw_err gw__node_find_number(struct gw__node *node, uint64_t deadline_ns,
                                 unsigned *number, struct gw_error *why)
{
    for (unsigned tries = 1;; tries++) {
        if (tries % TRIES_A_LIFE == 0)
            node->incarnation.high++;
        enum gw_err err = gw__node_launch(node, GW_PS_ANY, draw(node), why);
        if (err)
            return err;
        bool found = await_number(node, number);
        stop_and_forget(node);
        if (found)
            return GW_OK;
        if (gw__node_interrupted(node))
            return gw_fail(why, GW_EINTR, "interrupted");
        if (gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "no controller has given this process a number");
    }
}
