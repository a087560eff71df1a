/* SPDX-License-Identifier: MIT
 *
 * Link profiles that an experiment sets on a running process. The control
 * channel and the messenger use the same table, so control messages and data
 * behave alike.
 */
#include "node_parts.h"
#include "ps/client/client_parts.h"
#include "ps/server/process_parts.h"

void gw_ps_emulate_link(struct gw_ps *ps, unsigned from,
                        const struct gw_link_profile *profile)
{
    gw__link_profiles_set(ps->node->session.profiles, from, profile);
}

void gw_ps_pace(struct gw_ps *ps, uint64_t ns)
{
    gw__link_profiles_pace(ps->node->session.profiles, ns);
}

void gw_ps_server_emulate_link(struct gw_ps_server *server, unsigned from,
                               const struct gw_link_profile *profile)
{
    gw__link_profiles_set(server->node->session.profiles, from, profile);
}

void gw_ps_server_pace(struct gw_ps_server *server, uint64_t ns)
{
    gw__link_profiles_pace(server->node->session.profiles, ns);
}
