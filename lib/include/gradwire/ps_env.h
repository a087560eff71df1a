/* SPDX-License-Identifier: MIT
 *
 * A client of a parameter server (ps.h) whose cluster the environment names.
 */
#ifndef GRADWIRE_PS_ENV_H
#define GRADWIRE_PS_ENV_H

#include <gradwire/ps.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Connects a client to the cluster of hosts that the environment names, as
 * `psnode worker` does: GW_CONTROLLERS=tcp://HOST:PORT,... (of `psnode
 * controller`) and GW_CLUSTER, its --cluster. The controllers choose the node.
 * This process listens at the address that leads to them, or at that of
 * GW_INTERFACE. GRADWIRE_KEY names the key file if *config has none,
 * GW_INSECURE=1 allows tcp without a key; the wire is tcp if *config has none.
 * Of *config it uses all other fields, too. GW_EINVAL: GW_CONTROLLERS is missing
 * or wrong. GW_EUNREACH: unknown host. Errors of gw_ps_connect. */
GW_API GW_MUST_CHECK enum gw_err
gw_ps_from_env(const struct gw_ps_config *config, struct gw_ps **ps,
               struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif
