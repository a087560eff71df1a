/* SPDX-License-Identifier: MIT
 *
 * Checks of the servers of ps_net.h from outside.
 */
#include "ps_net.h"

#include <check.h>
#include <stdio.h>

void net_explain(const struct net *net)
{
    for (unsigned i = 0; i < net->request_count; i++) {
        const struct net_request *r = &net->requests[i];
        if (!r->done)
            printf("request %u kind %u of worker %u: todo %llx, code %d %s\n",
                   i, r->kind, r->worker, (unsigned long long)r->todo,
                   r->reply.code, r->text);
    }
    for (unsigned i = 0; i < net->server_count; i++) {
        static struct gw_ps_server_status status;
        if (!net->servers[i])
            continue;
        gw__server_get_status(net->servers[i], &status);
        printf("server %u: due %d %s\n", i,
               gw__server_due(net->servers[i]) != UINT64_MAX, status.text);
        for (unsigned s = 0; s < status.slot_count; s++)
            printf("  slot %u role %d term %llu last %llu committed %llu | "
                   "primary %u learner %u leaver %u heir %u term %llu\n",
                   s, status.slots[s].role,
                   (unsigned long long)status.slots[s].term,
                   (unsigned long long)status.slots[s].last,
                   (unsigned long long)status.slots[s].committed,
                   net->routes.slots[s].primary, net->routes.slots[s].learner,
                   net->routes.slots[s].leaver, net->routes.slots[s].successor,
                   (unsigned long long)net->routes.slots[s].term);
    }
    fflush(stdout);
}

unsigned net_compare_replicas(struct net *net)
{
    unsigned compared = 0;
    for (unsigned s = 0; s < net->routes.slot_count; s++) {
        const struct gw__slot_route *route = &net->routes.slots[s];
        uint64_t first = 0;
        for (unsigned i = 0; i < route->count; i++) {
            uint64_t digest =
                gw__server_digest(net->servers[route->replica[i]], s);
            ck_assert_uint_ne(digest, 0);
            first = i == 0 ? digest : first;
            ck_assert_msg(digest == first,
                          "seed %llu: slot %u differs on server %u",
                          (unsigned long long)net->seed, s, route->replica[i]);
            compared++;
        }
    }
    return compared;
}
