/* SPDX-License-Identifier: MIT
 *
 * Leases of servers, and the suspicions that wait for their end; service.h
 * explains them.
 */
#include "service_parts.h"

void gw__lease_wake(struct gw__service *s)
{
    if (s->due_ns && s->now_ns > s->due_ns + GW__LEASE_SLEPT_NS)
        s->grant_from_ns = s->now_ns + GW__LEASE_LEADER_NS;
}

/* The node that the command suspects; NULL: none. */
static struct contact *suspected_contact(struct gw__service *s,
                                         const struct gw__command *command)
{
    unsigned node = command->suspect.suspected.node;
    bool uncertain =
        command->kind == GW__CMD_SUSPECT && !command->suspect.certain;
    return uncertain && node < GW__NODES_MAX ? &s->contacts[node] : NULL;
}

void gw__lease_proposed(struct gw__service *s,
                        const struct gw__command *command)
{
    struct contact *contact = suspected_contact(s, command);
    if (!contact)
        return;
    contact->suspecting++;
    contact->suspected_ns = s->now_ns;
}

void gw__lease_applied(struct gw__service *s, const struct gw__command *command)
{
    struct contact *contact = suspected_contact(s, command);
    if (contact && contact->suspecting > 0)
        contact->suspecting--;
    if (command->kind == GW__CMD_REGISTER &&
        command->sequence == s->leaderships &&
        gw__id_is_none(command->client) &&
        gw__id_equal(command->who.incarnation, s->self.incarnation))
        s->has_applied_first = true;
}

/* No lease during a suspicion, because the pending entry may declare the
 * server dead. An entry that does not arrive in time was lost. */
bool gw__lease_may_grant(const struct gw__service *s, unsigned node,
                         struct gw__id incarnation)
{
    const struct gw__member *m = &s->registry.members[node];
    const struct contact *contact = &s->contacts[node];
    if (contact->suspecting &&
        s->now_ns < contact->suspected_ns + GW__LEASE_SUSPECT_NS)
        return false;
    return gw__service_leads(s) && s->has_applied_first &&
           s->now_ns >= s->grant_from_ns && m->state == GW__ACTIVE &&
           m->role == GW__SERVER && gw__id_equal(m->incarnation, incarnation);
}

bool gw__lease_protects(const struct gw__service *s,
                        const struct gw__command *command)
{
    unsigned node = command->suspect.suspected.node;
    if (command->kind != GW__CMD_SUSPECT || command->suspect.certain ||
        node >= GW__NODES_MAX || s->registry.members[node].role != GW__SERVER)
        return false;
    uint64_t lasts_ns = GW__LEASE_NS + GW__LEASE_MARGIN_NS;
    uint64_t leased_ns = s->contacts[node].leased_ns;
    return s->now_ns < s->leading_since_ns + lasts_ns + GW__LEASE_LEADER_NS ||
           (leased_ns && s->now_ns < leased_ns + lasts_ns);
}
