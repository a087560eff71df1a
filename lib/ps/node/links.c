/* SPDX-License-Identifier: MIT
 *
 * Link profiles that an experiment sets on a running process. The control
 * channel and the messenger use the same table, so control messages and data
 * behave alike.
 */
#include "node_parts.h"
#include "ps/client/client_parts.h"
#include "ps/server/process_parts.h"

/* ---- the node ---- */

void gw__node_link(struct gw__node *node, unsigned from,
                   const struct gw_ps_link *link)
{
    const struct gw__link_profile profile = {.delay_us = link->delay_us,
                                             .jitter_us = link->jitter_us,
                                             .rate = link->rate,
                                             .loss_ppm = link->loss_ppm,
                                             .down = link->down};
    gw__link_profiles_set(node->session.profiles, from, &profile);
}

void gw__node_pace(struct gw__node *node, uint64_t ns)
{
    gw__link_profiles_pace(node->session.profiles, ns);
}

/* ---- workers and servers ---- */

void gw_ps_link(struct gw_ps *ps, unsigned from, const struct gw_ps_link *link)
{
    gw__node_link(ps->node, from, link);
}

void gw_ps_pace(struct gw_ps *ps, uint64_t ns)
{
    gw__node_pace(ps->node, ns);
}

void gw_ps_server_link(struct gw_ps_server *server, unsigned from,
                       const struct gw_ps_link *link)
{
    gw__node_link(server->node, from, link);
}

void gw_ps_server_pace(struct gw_ps_server *server, uint64_t ns)
{
    gw__node_pace(server->node, ns);
}
