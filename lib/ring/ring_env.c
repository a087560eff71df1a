/* SPDX-License-Identifier: MIT
 *
 * An elastic ring under an engine: the environment gives the cluster, but no
 * ranks. The ranks of an engine are at most a hint, since it gives the number
 * of a dead process to the next one. Here the controllers number the members,
 * and each start is an incarnation of its own.
 */
#include "ring_env.h"

#include "ring/supervised/supervised.h"
#include "ring_parts.h"
#include "wire/address.h"

#include <gradwire/launch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the controllers ---- */

static enum gw_err add_controller(struct gw__controllers *out,
                                  const char *endpoint, size_t length,
                                  struct gw_error *why)
{
    char name[GW__ENDPOINT_MAX];
    unsigned i = out->count;
    if (i == GW__CONTROLLERS_MAX)
        return gw_fail(why, GW_EINVAL, "there can be at most %d controllers",
                       GW__CONTROLLERS_MAX);
    if (length == 0 || length >= sizeof name)
        return gw_fail(why, GW_EINVAL,
                       "\"%.40s\" is not an endpoint; write tcp://HOST:PORT",
                       endpoint);
    snprintf(name, sizeof name, "%.*s", (int)length, endpoint);
    if (gw__address_number(name, out->endpoints[i], GW__ENDPOINT_MAX, why))
        return gw_wrap(why, GW_EUNREACH, "controller %u", i);
    out->nodes[i] = GW_RING_CONTROLLER - i;
    out->count++;
    return GW_OK;
}

enum gw_err gw__controllers_read(const char *list, struct gw__controllers *out,
                                 struct gw_error *why)
{
    out->count = 0;
    while (*list) {
        size_t length = strcspn(list, ",");
        enum gw_err err = add_controller(out, list, length, why);
        if (err)
            return err;
        list += length + (list[length] == ',');
    }
    return out->count % 2 ? GW_OK
                          : gw_fail(why, GW_EINVAL,
                                    "there must be 1, 3 or 5 controllers, not "
                                    "%u; list them all",
                                    out->count);
}

/* ---- this process ---- */

enum gw_err gw__listen_towards(const char *controller, const char *interface,
                               char endpoint[GW__ENDPOINT_MAX],
                               struct gw_error *why)
{
    bool is_local = strncmp(controller, "tcp://", strlen("tcp://")) != 0 ||
                    gw__address_is_local(controller);
    char number[GW__HOST_MAX], listen[GW__ENDPOINT_MAX];
    enum gw_err err = GW_OK;
    if (interface)
        err = gw__address_own(interface, controller, number, why);
    else if (is_local)
        snprintf(number, sizeof number, "%s",
                 strchr(controller, '[') ? "::1" : "127.0.0.1");
    else
        err = gw__address_towards(controller, number, why);
    if (err)
        return err;
    bool six = strchr(number, ':') != NULL;
    snprintf(listen, sizeof listen, six ? "tcp://[%.100s]:*" : "tcp://%.100s:*",
             number);
    return gw__address_bindable(listen, endpoint, GW__ENDPOINT_MAX, why);
}

/* ---- both, from the environment ---- */

static uint64_t token_of_cluster(void)
{
    const char *name = getenv("GW_CLUSTER");
    name = name ? name : "gradwire";
    return gw_hash(name, strlen(name), 0);
}

/* The host of an endpoint of gw__listen_towards, in the form for the data wire.
 */
static void host_of(const char *endpoint, char host[GW__ENDPOINT_MAX])
{
    const char *start = endpoint + strlen("tcp://");
    snprintf(host, GW__ENDPOINT_MAX, "%.*s", (int)(strrchr(start, ':') - start),
             start);
}

enum gw_err gw__cluster_env_read(struct gw__cluster_env *env,
                                 struct gw_error *why)
{
    const char *list = getenv("GW_CONTROLLERS");
    const char *insecure = getenv("GW_INSECURE");
    if (!list)
        return gw_fail(why, GW_EINVAL,
                       "the addresses of the controllers are unknown: set "
                       "GW_CONTROLLERS=tcp://HOST:PORT,...");
    enum gw_err err = gw__controllers_read(list, &env->controllers, why);
    if (!err)
        err = gw__listen_towards(env->controllers.endpoints[0],
                                 getenv("GW_INTERFACE"), env->endpoint, why);
    if (err)
        return err;
    host_of(env->endpoint, env->host);
    env->security = (struct gw__security){
        .token = token_of_cluster(),
        .key_file = getenv("GRADWIRE_KEY"),
        .insecure = insecure && strcmp(insecure, "1") == 0};
    return GW_OK;
}

/* Takes the bounds from the environment where the caller does not set them. */
static enum gw_err read_bounds(struct gw_ring_config *config,
                               const struct gw_launch_env *env,
                               struct gw_error *why)
{
    static const uint64_t ms = 1000000,
                          patience_ns = 600 * UINT64_C(1000000000);
    const char *text = getenv("GW_PATIENCE");
    uint64_t ns = patience_ns;
    if (text && gw_parse_duration(text, &ns, why))
        return gw_wrap(why, GW_EINVAL, "GW_PATIENCE");
    if (!config->min_size && !config->max_size) {
        config->min_size = env->min_size;
        config->max_size = env->max_size;
    }
    if (!config->patience_ms)
        config->patience_ms = (unsigned)(ns / ms < UINT32_MAX ? ns / ms : 0);
    return GW_OK;
}

enum gw_err gw_ring_from_env(const struct gw_ring_config *caller_config,
                             struct gw_ring **ring, struct gw_error *why)
{
    struct gw_ring_config config = *caller_config;
    struct gw__cluster_env cluster = {.controllers.count = 0};
    struct gw_launch_env env;
    if (gw__supervised())
        return gw__supervised_join(caller_config, ring, why);
    *ring = NULL;
    enum gw_err err = gw__cluster_env_read(&cluster, why);
    if (!err)
        err = gw_launch_detect(&env, why);
    if (!err)
        err = read_bounds(&config, &env, why);
    if (err)
        return err;
    config.node = GW_RING_ANY;
    config.token = cluster.security.token;
    config.endpoint = cluster.endpoint;
    config.controller_count = cluster.controllers.count;
    for (unsigned i = 0; i < cluster.controllers.count; i++) {
        config.controllers[i] = cluster.controllers.nodes[i];
        config.controller_endpoints[i] = cluster.controllers.endpoints[i];
    }
    config.interface = cluster.host;
    if (!config.wire)
        config.wire = env.wire[0] ? env.wire : "tcp";
    if (!config.key_file)
        config.key_file = cluster.security.key_file;
    config.insecure |= cluster.security.insecure;
    return gw_ring_join(&config, ring, why);
}
