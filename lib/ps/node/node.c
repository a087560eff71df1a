/* SPDX-License-Identifier: MIT
 *
 * The life of a node: registered first, under its number then a post is opened,
 * whose address control tells the crew. See node.h.
 */
#include "node_parts.h"

#include "wire/address.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const uint64_t join_default_ns = 10000000000;

/* ---- the configuration ---- */

enum gw_err gw__node_check(const struct gw__node_config *config,
                           struct gw_error *why)
{
    if (config->node >= GW_PS_NODES && config->node != GW_PS_ANY)
        return gw_fail(why, GW_EINVAL, "node %u: there are %d", config->node,
                       GW_PS_NODES);
    if (config->controller_count == 0 ||
        config->controller_count > GW_PS_CONTROLLERS)
        return gw_fail(why, GW_EINVAL, "%u controllers: 1 to %d can be",
                       config->controller_count, GW_PS_CONTROLLERS);
    for (unsigned i = 0; i < config->controller_count; i++)
        if (config->controllers[i] >= GW_PS_NODES ||
            !config->controller_endpoints[i] ||
            strlen(config->controller_endpoints[i]) >= GW__ENDPOINT_MAX)
            return gw_fail(why, GW_EINVAL, "controller %u is nowhere", i);
    if (!config->endpoint || strlen(config->endpoint) >= GW__ENDPOINT_MAX)
        return gw_fail(why, GW_EINVAL, "no endpoint to listen at");
    return GW_OK;
}

/* Copies the string that *text points to. */
static bool own(struct gw__node *node, const char **text)
{
    if (!*text)
        return true;
    char *copy = strdup(*text);
    if (copy)
        node->strings[node->string_count++] = copy;
    *text = copy;
    return copy;
}

static enum gw_err take_config(struct gw__node *node,
                               const struct gw__node_config *config,
                               struct gw_error *why)
{
    struct gw__node_config *mine = &node->config;
    char place[GW__ENDPOINT_MAX]; /* once: the registry keeps the first one */
    enum gw_err err =
        gw__address_bindable(config->endpoint, place, sizeof place, why);
    if (err)
        return err;
    *mine = *config;
    mine->endpoint = place;
    if (!mine->wire)
        mine->wire = "shm";
    bool copied = own(node, &mine->endpoint) && own(node, &mine->wire) &&
                  own(node, &mine->interface) && own(node, &mine->key_file);
    for (unsigned i = 0; copied && i < config->controller_count; i++) {
        node->controllers[i] = config->controllers[i];
        node->controller_endpoints[i] = config->controller_endpoints[i];
        copied = own(node, &node->controller_endpoints[i]);
    }
    mine->controllers = node->controllers;
    mine->controller_endpoints = node->controller_endpoints;
    return copied ? GW_OK : gw_fail(why, GW_ENOMEM, "node");
}

/* ---- opening ---- */

static enum gw_err init(struct gw__node *node,
                        const struct gw__node_config *config,
                        struct gw_error *why)
{
    pthread_condattr_t clock;
    uint64_t seed;
    pthread_mutex_init(&node->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&node->changed, &clock);
    pthread_condattr_destroy(&clock);
    node->known = calloc(GW__POST_NODES, sizeof *node->known);
    if (!node->known)
        return gw_fail(why, GW_ENOMEM, "node");
    if (getrandom(&node->incarnation, sizeof node->incarnation, 0) !=
            sizeof node->incarnation ||
        getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return gw_fail_errno(why, "getrandom");
    node->incarnation.low |= 1; /* nobody's is 0 */
    enum gw_err err = take_config(node, config, why);
    if (!err)
        err = gw__rules_new(seed, &node->rules, why);
    for (unsigned n = 0; !err && config->links && n < GW_PS_NODES; n++)
        gw__node_link(node, n, &config->links[n]);
    if (!err)
        gw__node_pace(node, config->pace_ns);
    node->config.links = NULL; /* the caller's */
    return err;
}

/* Until the registry says that this process is active. */
static enum gw_err await_active(struct gw__node *node, uint64_t deadline_ns,
                                struct gw_error *why)
{
    enum gw_err err = GW_PENDING;
    pthread_mutex_lock(&node->lock);
    while (err == GW_PENDING) {
        const struct gw__mailbox *box = &node->box;
        if (box->gone)
            err = gw_fail(why, GW_ECLOSED, "node %u: %s", node->number,
                          box->gone_text);
        else if (box->registered && box->news.state == GW__ACTIVE)
            err = GW_OK;
        else if (gw__node_interrupted(node))
            err = gw_fail(why, GW_EINTR, "interrupted");
        else if (gw_now_ns() >= deadline_ns)
            err = gw_fail(why, GW_ETIMEOUT,
                          box->news.index
                              ? "the controllers do not take node %u in"
                              : "no controller has answered node %u",
                          node->number);
        else
            gw__node_nap(node);
    }
    pthread_mutex_unlock(&node->lock);
    return err;
}

static enum gw_err open_post(struct gw__node *node, struct gw_error *why)
{
    const struct gw__node_config *c = &node->config;
    const struct gw__post_config config = {
        .node = node->number,
        .incarnation_high = node->incarnation.high,
        .incarnation_low = node->incarnation.low,
        .wire = c->wire,
        .interface = c->interface,
        .token = c->token,
        .key_file = c->key_file,
        .insecure = c->insecure,
        .copy_always = c->copy_always,
        .rules = node->rules};
    enum gw_err err = gw__post_open(&config, &node->post, why);
    if (err)
        return err;
    pthread_mutex_lock(&node->lock);
    node->box.address = *gw__post_address(node->post);
    node->box.has_address = true;
    atomic_store(&node->has_post, true);
    pthread_mutex_unlock(&node->lock);
    return GW_OK;
}

static enum gw_err join(struct gw__node *node, struct gw_error *why)
{
    uint64_t join_ns = node->config.join_ms * UINT64_C(1000000);
    uint64_t deadline_ns = gw_now_ns() + (join_ns ? join_ns : join_default_ns);
    enum gw_err err = GW_OK;
    node->number = node->config.node;
    if (node->number == GW_PS_ANY)
        err = gw__node_find_number(node, deadline_ns, &node->number, why);
    if (!err)
        err = gw__node_launch(node, node->number, node->number, why);
    if (!err)
        err = await_active(node, deadline_ns, why);
    return err ? err : open_post(node, why);
}

enum gw_err gw__node_open(const struct gw__node_config *config,
                          struct gw__node **opened, struct gw_error *why)
{
    *opened = NULL;
    enum gw_err err = gw__node_check(config, why);
    if (err)
        return err;
    struct gw__node *node = calloc(1, sizeof *node);
    if (!node)
        return gw_fail(why, GW_ENOMEM, "node");
    err = init(node, config, why);
    if (!err)
        err = join(node, why);
    if (err)
        gw__node_close(&node);
    *opened = node;
    return err;
}

/* ---- closing ---- */

/* Its thread looks at node->driver to the last, and wakes the post. */
static void stop(struct gw__node *node)
{
    struct gw__driver *driver = node->driver;
    gw__driver_stop(&driver);
    node->driver = NULL;
}

void gw__node_close(struct gw__node **opened)
{
    struct gw__node *node = *opened;
    if (!node)
        return;
    *opened = NULL;
    stop(node);
    gw__post_close(&node->post);
    gw__rules_destroy(&node->rules);
    for (unsigned i = 0; i < node->string_count; i++)
        free(node->strings[i]);
    free(node->known);
    pthread_cond_destroy(&node->changed);
    pthread_mutex_destroy(&node->lock);
    free(node);
}

enum gw_err gw__node_leave(struct gw__node *node, uint64_t deadline_ns,
                           struct gw_error *why)
{
    uint8_t ask[GW__MEMBER_ASK_MAX];
    size_t bytes = gw__member_ask_leave(ask);
    enum gw_err err = gw__driver_ask(node->driver, ask, bytes);
    if (err)
        return gw_fail(why, err, "leave: the control thread does not listen");
    pthread_mutex_lock(&node->lock);
    while (!node->box.gone && gw_now_ns() < deadline_ns)
        gw__node_nap(node);
    bool gone = node->box.gone;
    pthread_mutex_unlock(&node->lock);
    return gone ? GW_OK
                : gw_fail(why, GW_ETIMEOUT,
                          "leave: no controller has said that node %u has left",
                          node->number);
}
