/* SPDX-License-Identifier: MIT
 *
 * Gathering of messages into envelopes; see gather.h.
 */
#include "gather.h"

void gw__gather_init(struct gw__gather *gather, uint64_t window_ns,
                     void (*send)(void *context,
                                  const struct gw__message_out *),
                     void *context)
{
    *gather = (struct gw__gather){
        .servers = {.send = send, .context = context},
        .workers = {.send = send, .context = context},
        .window_ns = window_ns,
    };
}

void gw__gather_fini(struct gw__gather *gather)
{
    gw__bundles_fini(&gather->servers);
    gw__bundles_fini(&gather->workers);
}

bool gw__gather_for_server(struct gw__gather *gather, uint64_t now_ns,
                           const struct gw__message_out *message,
                           const struct gw__bundle_end *worker)
{
    unsigned server = message->node;
    if (worker->node >= GW__MESSENGER_NODES ||
        !gw__bundles_forward(&gather->servers, message, worker))
        return false;
    if (gw__nodes_is_empty(gather->from[server]))
        gather->due_ns[server] = now_ns + gather->window_ns;
    gw__nodes_add(&gather->from[server], worker->node);
    gather->forwarded++;
    return true;
}

bool gw__gather_for_worker(struct gw__gather *gather,
                           const struct gw__message_out *message,
                           const struct gw__bundle_end *server)
{
    return gw__bundles_forward(&gather->workers, message, server);
}

void gw__gather_flush(struct gw__gather *gather, uint64_t now_ns)
{
    const struct gw_nodes *waiting = &gather->servers.waiting;
    gw__bundles_flush(&gather->workers);
    for (unsigned server = gw__nodes_next(waiting, 0); server < GW__NODES_MAX;
         server = gw__nodes_next(waiting, server + 1)) {
        bool all = gw__nodes_within(gather->ps_members, gather->from[server]);
        if (!all && now_ns < gather->due_ns[server])
            continue;
        gather->from[server] = (struct gw_nodes){{0}};
        gw__bundles_flush_node(&gather->servers, server);
    }
}

uint64_t gw__gather_due(const struct gw__gather *gather)
{
    uint64_t due_ns = UINT64_MAX;
    const struct gw_nodes *waiting = &gather->servers.waiting;
    for (unsigned server = gw__nodes_next(waiting, 0); server < GW__NODES_MAX;
         server = gw__nodes_next(waiting, server + 1))
        if (gather->due_ns[server] < due_ns)
            due_ns = gather->due_ns[server];
    return due_ns;
}
