/* SPDX-License-Identifier: MIT
 *
 * What a process of a cluster that several hosts make up has to know: where the
 * controllers are, and where it is to be reached itself. Options or variables
 * say it, psnode(1) and gw_ring_from_env.
 */
#ifndef GW__RING_ENV_H
#define GW__RING_ENV_H

#include <cluster/registry/command.h>
#include <gradwire/ring.h>

enum { GW__CONTROLLERS_MAX = 5 };

struct gw__controllers {
    unsigned count;                      /* 1, 3 or 5 */
    unsigned nodes[GW__CONTROLLERS_MAX]; /* from GW_RING_CONTROLLER down */
    char endpoints[GW__CONTROLLERS_MAX][GW__ENDPOINT_MAX]; /* in numbers */
};

/* "tcp://h0:7100,tcp://h1:7100,tcp://h2:7100". GW_EINVAL, GW_EUNREACH: a name
 * that nobody knows. */
GW_MUST_CHECK enum gw_err gw__controllers_read(const char *list,
                                               struct gw__controllers *out,
                                               struct gw_error *why);

/* Where to listen, with a port that is free now: at the address of `interface`,
 * or (NULL) at that from which one goes to `controller`. GW_EUNREACH lists the
 * candidates. */
GW_MUST_CHECK enum gw_err gw__listen_towards(const char *controller,
                                             const char *interface,
                                             char endpoint[GW__ENDPOINT_MAX],
                                             struct gw_error *why);

#endif
