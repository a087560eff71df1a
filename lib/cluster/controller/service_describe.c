/* SPDX-License-Identifier: MIT
 *
 * Describes a controller's state for people (describe.h): its leader, the
 * registry's members, the members that it hears, and pending clients.
 */
#include "cluster/driver/describe.h"
#include "service_parts.h"

static void describe_members(const struct gw__service *s,
                             struct gw__description *out)
{
    char hello[32], leased[32];
    for (unsigned n = 0; n < GW__NODES_MAX; n++) {
        const struct gw__member *m = &s->registry.members[n];
        const struct contact *h = &s->contacts[n];
        if (m->state == GW__NO_MEMBER && gw__id_is_none(h->incarnation))
            continue;
        gw__describe(out, "  node %u: %s %s, incarnation ", n,
                     gw__member_state_name(m->state), gw__role_name(m->role));
        gw__describe_id(out, m->incarnation);
        gw__describe(out, "; HELLO %s of ",
                     gw__describe_since(h->hello_ns, s->now_ns, hello));
        gw__describe_id(out, h->incarnation);
        gw__describe(out, "; lease %s%s\n",
                     gw__describe_since(h->leased_ns, s->now_ns, leased),
                     h->suspecting ? "; is suspected" : "");
    }
}

static void describe_requesters(const struct gw__service *s,
                                struct gw__description *out)
{
    char requested[32], proposed[32];
    for (unsigned i = 0; i < GW__REQUESTERS_MAX; i++) {
        const struct gw__requester *a = &s->requesters[i];
        if (gw__id_is_none(a->client))
            continue;
        gw__describe(out, "  node %u asked %s, proposed %s: client ", a->node,
                     gw__describe_since(a->requested_ns, s->now_ns, requested),
                     gw__describe_since(a->proposed_ns, s->now_ns, proposed));
        gw__describe_id(out, a->client);
        gw__describe(out, ", request %llu\n", (unsigned long long)a->sequence);
    }
}

void gw__service_describe(const void *state, struct gw__description *out)
{
    const struct gw__service *s = state;
    const struct gw__registry *r = &s->registry;
    if (s->leader < GW__NODES_MAX)
        gw__describe(out, "  leader: node %u%s", s->leader,
                     gw__service_leads(s) ? " (itself)" : "");
    else
        gw__describe(out, "  leader: none");
    gw__describe(
        out, ", index %llu, updates since %llu, epoch %llu%s\n",
        (unsigned long long)r->index, (unsigned long long)s->changed_index,
        (unsigned long long)r->view.epoch, r->flush.open ? ", flushing" : "");
    describe_members(s, out);
    describe_requesters(s, out);
}
