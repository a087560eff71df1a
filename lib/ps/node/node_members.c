/* SPDX-License-Identifier: MIT
 *
 * The members that exchange messages, from the newest membership update:
 *
 *     worker  <-->  server  <-->  server
 *        ^             ^
 *        `-aggregator--'    of that worker's host
 *
 * An aggregator forwards messages of others, so they are checked. The sender of
 * the envelope must be an aggregator, the other end a member of that
 * incarnation and, if it is a worker, on the aggregator's host. Endpoints
 * determine the host; the registry has them since a member joined.
 */
#include "node_parts.h"

#include "wire/address.h"

#include <string.h>

const struct gw__node_config *gw__node_config(const struct gw__node *node)
{
    return &node->config;
}

static bool pair(enum gw__role one, enum gw__role other, enum gw__role a,
                 enum gw__role b)
{
    return (one == a && other == b) || (one == b && other == a);
}

bool gw__node_exchanges_with(const struct gw__node *node,
                             const struct gw__ps_member *member)
{
    enum gw__role mine = node->config.role;
    if (member->node == node->number)
        return false;
    if (pair(mine, member->role, GW__WORKER, GW__AGGREGATOR))
        return gw__address_same_host(node->config.endpoint, member->endpoint);
    return mine == GW__SERVER || member->role == GW__SERVER;
}

const struct gw__ps_member *gw__node_member(const struct gw__node *node,
                                            unsigned peer)
{
    for (unsigned i = 0; i < node->update.ps_member_count; i++)
        if (node->update.ps_members[i].node == peer)
            return &node->update.ps_members[i];
    return NULL;
}

/* Compares endpoints once per membership update, instead of for each
 * message. */
void gw__node_learn_hosts(struct gw__node *node)
{
    const struct gw__membership_update *update = &node->update;
    memset(node->behind, 0, sizeof node->behind);
    for (unsigned i = 0; i < update->ps_member_count; i++) {
        const struct gw__ps_member *by = &update->ps_members[i];
        if (by->role != GW__AGGREGATOR)
            continue;
        for (unsigned j = 0; j < update->ps_member_count; j++) {
            const struct gw__ps_member *end = &update->ps_members[j];
            if (end->role == GW__WORKER &&
                gw__address_same_host(by->endpoint, end->endpoint))
                gw__nodes_add(&node->behind[by->node], end->node);
        }
    }
}

static bool is_of(const struct gw__ps_member *member,
                  const struct gw__message_in *message)
{
    return member && member->incarnation.high == message->incarnation_high &&
           member->incarnation.low == message->incarnation_low;
}

bool gw__node_trusts(const struct gw__node *node,
                     const struct gw__message_in *envelope,
                     const struct gw__message_in *forwarded)
{
    const struct gw__ps_member *by = gw__node_member(node, envelope->from);
    const struct gw__ps_member *end = gw__node_member(node, forwarded->from);
    if (!is_of(by, envelope) || !is_of(end, forwarded) || by->node == end->node)
        return false;
    switch (node->config.role) {
    case GW__AGGREGATOR:
        return pair(by->role, end->role, GW__WORKER, GW__SERVER) &&
               gw__node_reaches(node, end->node);
    case GW__WORKER:
        return by->role == GW__AGGREGATOR && end->role == GW__SERVER;
    default:
        return gw__nodes_has(&node->behind[by->node], end->node);
    }
}
