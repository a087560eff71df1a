/* SPDX-License-Identifier: MIT
 *
 * A client of the cluster that the environment names: a worker in a program of
 * the user's own. psnode worker takes the same from its options.
 */
#include <gradwire/ps_env.h>

#include "ring/ring_env.h"

enum gw_err gw_ps_from_env(const struct gw_ps_config *caller_config,
                           struct gw_ps **ps, struct gw_error *why)
{
    struct gw_ps_config config = *caller_config;
    struct gw__cluster_env cluster;
    *ps = NULL;
    enum gw_err err = gw__cluster_env_read(&cluster, why);
    if (err)
        return err;
    config.node = GW_PS_ANY;
    config.aggregator_node = GW_PS_ANY;
    config.token = cluster.security.token;
    config.endpoint = cluster.endpoint;
    config.controller_count = cluster.controllers.count;
    for (unsigned i = 0; i < cluster.controllers.count; i++) {
        config.controllers[i] = cluster.controllers.nodes[i];
        config.controller_endpoints[i] = cluster.controllers.endpoints[i];
    }
    if (!config.interface)
        config.interface = cluster.host;
    if (!config.wire)
        config.wire = "tcp";
    if (!config.key_file)
        config.key_file = cluster.security.key_file;
    config.insecure |= cluster.security.insecure;
    return gw_ps_connect(&config, ps, why);
}
