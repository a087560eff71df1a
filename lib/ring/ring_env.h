/* SPDX-License-Identifier: MIT
 *
 * The configuration that a process of a cluster of several hosts needs: the
 * endpoints of the controllers and its own. Options or environment variables
 * set it: psnode(1), gw_ring_from_env and gw_ps_from_env.
 */
#ifndef GW__RING_ENV_H
#define GW__RING_ENV_H

#include "wire/security.h"

#include <cluster/registry/command.h>
#include <gradwire/ring.h>

enum { GW__CONTROLLERS_MAX = 5 };

struct gw__controllers {
    unsigned count;                      /* 1, 3 or 5 */
    unsigned nodes[GW__CONTROLLERS_MAX]; /* from GW_RING_CONTROLLER down */
    char endpoints[GW__CONTROLLERS_MAX][GW__ENDPOINT_MAX]; /* numeric */
};

/* "tcp://h0:7100,tcp://h1:7100,tcp://h2:7100". GW_EINVAL. GW_EUNREACH: unknown
 * name. */
GW_MUST_CHECK enum gw_err gw__controllers_read(const char *list,
                                               struct gw__controllers *out,
                                               struct gw_error *why);

/* An endpoint to listen at, with a port that is free now: at the address of
 * `interface`, or (NULL) at the local address of the route to `controller`. On
 * GW_EUNREACH the message lists the candidates. */
GW_MUST_CHECK enum gw_err gw__listen_towards(const char *controller,
                                             const char *interface,
                                             char endpoint[GW__ENDPOINT_MAX],
                                             struct gw_error *why);

/* What the environment says about the cluster and this process. */
struct gw__cluster_env {
    struct gw__controllers controllers; /* GW_CONTROLLERS */
    struct gw__security security;       /* GW_CLUSTER, GRADWIRE_KEY,
                                         * GW_INSECURE=1 */
    char endpoint[GW__ENDPOINT_MAX];    /* for control messages */
    char host[GW__ENDPOINT_MAX];        /* of it: for the data wire */
};

/* GW_EINVAL: GW_CONTROLLERS is missing or wrong. GW_EUNREACH. */
GW_MUST_CHECK enum gw_err gw__cluster_env_read(struct gw__cluster_env *env,
                                               struct gw_error *why);

#endif
