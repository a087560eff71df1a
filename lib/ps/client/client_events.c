/* SPDX-License-Identifier: MIT
 *
 * Events of a client's pushes and pulls: one for each message to a server and
 * one for each reply.
 */
#include "client_parts.h"

#include <string.h>

static struct gw_event event_of(const struct gw_ps *ps, enum gw_event_kind kind,
                                unsigned server, uint64_t request)
{
    return (struct gw_event){.time_ns = gw_now_ns(),
                             .kind = kind,
                             .rank = gw__node_number(ps->node),
                             .peer = server,
                             .epoch = GW_NONE,
                             .op = (uint32_t)request,
                             .step = GW_NONE,
                             .chunk = GW_NONE};
}

static bool is_push_or_pull(unsigned kind)
{
    return kind == GW__PS_PUSH || kind == GW__PS_PULL ||
           kind == GW__PS_PUSH_PULL;
}

void gw__ps_event_sent(struct gw_ps *ps, const struct gw__message_out *message)
{
    struct gw__ps_head head;
    struct gw__ps_segment segment;
    if (!ps->events || message->parts[0].bytes < sizeof head + sizeof segment)
        return;
    memcpy(&head, message->parts[0].data, sizeof head);
    memcpy(&segment, (const char *)message->parts[0].data + sizeof head,
           sizeof segment);
    if (!is_push_or_pull(head.kind))
        return;
    struct gw_event event =
        event_of(ps, GW_EV_REQUEST, message->node, head.request);
    event.chunk = segment.slot;
    event.value = head.kind == GW__PS_PULL   ? 0
                  : head.kind == GW__PS_PUSH ? 1
                                             : 2;
    for (unsigned i = 0; i < message->part_count; i++)
        event.bytes += message->parts[i].bytes;
    gw_emit(ps->events, &event);
}

/* Replies to clock commands are reported, too, without a request's number. */
void gw__ps_event_answered(struct gw_ps *ps,
                           const struct gw__message_in *message)
{
    struct gw__ps_head head;
    if (!ps->events || message->parts[0].bytes < sizeof head)
        return;
    memcpy(&head, message->parts[0].data, sizeof head);
    if (head.kind != GW__PS_REPLY)
        return;
    struct gw_event event =
        event_of(ps, GW_EV_REPLY, message->from, head.request);
    event.value = head.code;
    for (unsigned i = 0; i < message->part_count; i++)
        event.bytes += message->parts[i].bytes;
    gw_emit(ps->events, &event);
}
