/* SPDX-License-Identifier: MIT
 *
 * A worker's request on the server, from its message to its reply. A request
 * for several slots gets one reply, as soon as each slot is done or has
 * refused.
 */
#include "server_parts.h"

#include "base/failpoint.h"

#include <stdlib.h>
#include <string.h>

struct gw__request *gw__request_new(struct gw__server *server, uint64_t now_ns,
                                    struct gw__message_in *message,
                                    const struct gw__ps_head *head,
                                    const struct gw__ps_segment *segments)
{
    unsigned count = segments ? head->segments : 1;
    struct gw__request *request =
        calloc(1, sizeof *request + count * sizeof *request->waits);
    if (!request)
        return NULL;
    request->server = server;
    request->message = message;
    gw__message_in_hold(message);
    request->head = head;
    request->segments = segments;
    request->segment_count = segments ? count : 0;
    request->pending = 1;
    request->born_ns = now_ns;
    return request;
}

void gw__request_free(struct gw__request *request)
{
    for (unsigned i = 0; request->keys && i < request->segment_count; i++)
        gw__keys_release(request->keys[i]);
    free(request->keys);
    free(request->command);
    gw__message_in_release(request->message);
    free(request);
}

void gw__request_finish_segment(struct gw__request *request, uint64_t now_ns,
                                unsigned segment, bool done)
{
    if (segment < GW_PS_SEGMENTS_MAX) {
        uint64_t bit = UINT64_C(1) << segment;
        *(done ? &request->done : &request->refused) |= bit;
    }
    if (--request->pending == 0)
        gw__request_logged(request, now_ns);
}

void gw__finish_waits(struct gw__server *server, uint64_t now_ns,
                      struct gw__wait *waits, bool done)
{
    (void)server;
    while (waits) {
        struct gw__wait *next = waits->next;
        gw__request_finish_segment(waits->request, now_ns, waits->segment,
                                   done);
        waits = next;
    }
}

bool gw__join_waits(struct gw__entry *entry, struct gw__wait *wait)
{
    unsigned count = 0;
    for (struct gw__wait *w = entry->waits; w; w = w->next)
        count++;
    if (count >= GW__WAITS_PER_ENTRY)
        return false;
    wait->next = entry->waits;
    entry->waits = wait;
    return true;
}

/* ---- lists of waiting requests ---- */

void gw__waiting_add(struct gw__waiting *list, struct gw__request *request)
{
    request->next = NULL;
    request->before = list->last;
    *(list->last ? &list->last->next : &list->first) = request;
    list->last = request;
    list->count++;
}

void gw__waiting_remove(struct gw__waiting *list, struct gw__request *request)
{
    *(request->before ? &request->before->next : &list->first) = request->next;
    *(request->next ? &request->next->before : &list->last) = request->before;
    request->next = request->before = NULL;
    list->count--;
}

/* ---- replies ---- */

static bool encode_routes(struct gw__server *server)
{
    if (server->routes_data)
        return true;
    struct gw__writer writer = gw__writer_on(NULL, 0);
    gw__put_routes(&writer, &server->routes);
    server->routes_data = malloc(writer.used);
    if (!server->routes_data)
        return false;
    server->routes_bytes = writer.used;
    writer = gw__writer_on(server->routes_data, server->routes_bytes);
    gw__put_routes(&writer, &server->routes);
    return true;
}

static void add_explanation(struct gw__server *server,
                            const struct gw__reply_parts *parts,
                            struct gw__ps_head *head,
                            struct gw__messenger_part *out)
{
    if (parts->flags & GW__PS_NEWER && encode_routes(server)) {
        *out = (struct gw__messenger_part){server->routes_data,
                                           server->routes_bytes};
        return;
    }
    head->flags &= (uint16_t)~GW__PS_NEWER;
    if (parts->text)
        *out = (struct gw__messenger_part){parts->text, strlen(parts->text)};
}

struct gw__nans *gw__nans_of(struct gw__server *server,
                             const struct gw__message_in *message)
{
    unsigned from = message->from;
    if (from >= GW_PS_NODES || !server->ps_members[from].here ||
        server->ps_members[from].incarnation != message->incarnation_low)
        return NULL;
    struct gw__nans *nans = &server->nans[from];
    if (nans->incarnation != message->incarnation_low)
        *nans = (struct gw__nans){.incarnation = message->incarnation_low};
    return nans;
}

void gw__reply(struct gw__server *server, const struct gw__message_in *in,
               const struct gw__ps_head *head,
               const struct gw__reply_parts *parts)
{
    const struct gw__nans *nans = gw__nans_of(server, in);
    struct gw__ps_head reply = {.magic = GW__PS_MAGIC,
                                .kind = GW__PS_REPLY,
                                .flags = (uint16_t)parts->flags,
                                .request = head->request,
                                .routes = server->routes.version,
                                .sequence = head->sequence,
                                .clock = head->clock,
                                .key_list = head->key_list,
                                .done = parts->done,
                                .code = parts->code,
                                .table = head->table,
                                .group = head->group,
                                .nans = nans ? nans->here : 0};
    struct gw__message_out out = {.node = in->from, .part_count = 3};
    out.parts[1] = (struct gw__messenger_part){"", 0};
    out.parts[2] = (struct gw__messenger_part){
        parts->values ? parts->values : "", parts->value_bytes};
    add_explanation(server, parts, &reply, &out.parts[1]);
    out.parts[0] = (struct gw__messenger_part){&reply, sizeof reply};
    if (parts->buffer) {
        out.borrowed = 1U << 2;
        out.back = gw__buffer_back;
        out.context = parts->buffer;
    }
    if (head->kind == GW__PS_PUSH && parts->code == GW_OK)
        gw__failpoint(GW__AT_PS_REPLY);
    gw__server_send(server, &out);
}

void gw__request_refuse(struct gw__request *request, bool want_keys,
                        const struct gw_error *why)
{
    struct gw__server *server = request->server;
    const struct gw__ps_head *head = request->head;
    bool newer =
        head->routes < server->routes.version && why->code == GW_PENDING;
    const struct gw__reply_parts refusal = {.code = why->code,
                                            .flags = newer ? GW__PS_NEWER : 0,
                                            .text = why->text},
                                 wish = {.code = GW_PENDING,
                                         .flags = GW__PS_WANT_KEYS};
    server->counts.refused += !want_keys && head->kind != GW__PS_PULL;
    gw__reply(server, request->message, head, want_keys ? &wish : &refusal);
    gw__request_free(request);
}
