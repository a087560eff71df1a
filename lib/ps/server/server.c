/* SPDX-License-Identifier: MIT
 *
 * The server: messages in, messages out. An event may cause work for other
 * slots (round commits, waiting pulls, clock requests). This work is recorded
 * and done at the event's end, so that no slot is entered recursively.
 */
#include "hogwild.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum gw_err gw__server_new(const struct gw__server_config *config,
                           struct gw__server **server, struct gw_error *why)
{
    *server = NULL;
    if (config->node >= GW_PS_NODES)
        return gw_fail(why, GW_EINVAL, "node %u does not exist", config->node);
    struct gw__server *made = calloc(1, sizeof *made);
    struct gw__key_cache *cache = calloc(1, sizeof *cache);
    if (!made || !cache) {
        free(made);
        free(cache);
        return gw_fail(why, GW_ENOMEM, "no memory for a server");
    }
    made->config = *config;
    made->cache = cache;
    if (made->config.resend_ns == 0)
        made->config.resend_ns = 50 * 1000 * 1000;
    if (made->config.log_bytes == 0)
        made->config.log_bytes = (uint64_t)256 << 20;
    gw__routes_clear(&made->routes);
    *server = made;
    return GW_OK;
}

static void free_waiting(struct gw__waiting *list)
{
    while (list->first) {
        struct gw__request *request = list->first;
        gw__waiting_remove(list, request);
        gw__request_free(request);
    }
}

void gw__server_destroy(struct gw__server **server)
{
    struct gw__server *s = *server;
    *server = NULL;
    if (!s)
        return;
    s->ending = true;
    for (unsigned i = 0; s->slots && i < s->routes.slot_count; i++)
        gw__slot_drop(&s->slots[i]);
    for (unsigned i = 0; i < s->restore_end; i++)
        free(s->restore[i].data);
    /* gw__slot_drop has waited for all jobs */
    gw__hogwild_collect(s, s->now_ns);
    free_waiting(&s->pulls);
    free_waiting(&s->clocks);
    for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++)
        free(s->commits[g].ring);
    gw__key_cache_fini(s->cache);
    free(s->cache);
    gw__buffers_fini(s);
    free(s->slots);
    free(s->routes_data);
    free(s->floats);
    free(s->sums);
    free(s->places);
    free(s->marks);
    free(s);
}

/* ---- utilities ---- */

void gw__server_trouble(struct gw__server *server, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(server->trouble, sizeof server->trouble, format, values);
    va_end(values);
}

void gw__server_send(struct gw__server *server,
                     const struct gw__message_out *message)
{
    server->config.out.send(server->config.out.context, message);
}

void gw__server_propose(struct gw__server *server, enum gw__proposal what,
                        unsigned slot, uint64_t term, unsigned node)
{
    struct gw__command command = {
        .kind =
            what == GW__PROPOSE_PROMOTE ? GW__CMD_PROMOTE : GW__CMD_HANDOVER,
        .who = {server->config.node, server->config.incarnation},
        .slot = {.slot = slot, .term = term, .node = node}};
    server->config.out.propose(server->config.out.context, &command);
}

float *gw__server_floats(struct gw__server *server, size_t count)
{
    if (count <= server->floats_room && server->floats)
        return server->floats;
    float *more = malloc((count + 1024) * sizeof *more);
    if (!more)
        return NULL;
    free(server->floats);
    server->floats = more;
    server->floats_room = count + 1024;
    return more;
}

uint32_t *gw__server_places(struct gw__server *server, size_t count)
{
    if (count <= server->places_room && server->places)
        return server->places;
    uint32_t *more = malloc((count + 1024) * sizeof *more);
    if (!more)
        return NULL;
    free(server->places);
    server->places = more;
    server->places_room = count + 1024;
    return more;
}

const float *gw__server_values(struct gw__server *server, const void *data,
                               size_t count, bool half)
{
    if (!half)
        return data;
    float *values = gw__server_floats(server, count);
    if (values)
        gw__from_half(values, data, count);
    return values;
}

/* ---- deferred work ---- */

static void run_deferred(struct gw__server *server, uint64_t now_ns)
{
    while (server->routes.slot_count > 0 &&
           (server->clocks_changed || server->round_commits_changed)) {
        unsigned clocks = server->clocks_changed;
        unsigned round_commits = server->round_commits_changed | clocks;
        server->clocks_changed = server->round_commits_changed = 0;
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
            if (round_commits >> g & 1)
                for (unsigned i = 0; i < server->held_count; i++)
                    gw__slot_append_round_commits(
                        &server->slots[server->held[i]], now_ns, g);
            if (!(clocks >> g & 1))
                continue;
            gw__clocks_answer_ready(server, now_ns, g);
            gw__clocks_request_policy(server, now_ns, g);
        }
    }
    if (server->pulls_due)
        gw__pulls_answer_ready(server, now_ns);
}

/* ---- messages ---- */

/* Servers accept messages only from members named by the controllers. */
static bool is_member_server(const struct gw__server *server,
                             const struct gw__message_in *message)
{
    if (server->config.no_terms)
        return message->from < GW_PS_NODES;
    return server->member && message->from < GW_PS_NODES &&
           server->ps_members[message->from].here &&
           !server->ps_members[message->from].worker &&
           server->ps_members[message->from].incarnation ==
               message->incarnation_low;
}

static void from_server(struct gw__server *server, uint64_t now_ns,
                        struct gw__message_in *message,
                        const struct gw__ps_head *head)
{
    if (!is_member_server(server, message))
        return;
    if (head->kind == GW__PS_APPEND)
        gw__on_append(server, now_ns, message, head);
    else if (head->kind == GW__PS_APPENDED)
        gw__on_appended(server, now_ns, message, head);
    else if (head->kind == GW__PS_COPY)
        gw__on_copy(server, now_ns, message, head);
    else if (head->kind == GW__PS_COPIED)
        gw__on_copied(server, now_ns, message, head);
    else if (head->kind == GW__PS_CLOSED)
        gw__on_closed(server, now_ns, message, head);
    else if (head->kind == GW__PS_APPLIED)
        gw__on_applied(server, now_ns, message, head);
}

/* Workers check their values before a push. Each request has the number of
 * pushes that were refused because of this check. */
static void count_nans(struct gw__server *server,
                       const struct gw__message_in *message,
                       const struct gw__ps_head *head)
{
    struct gw__nans *nans = gw__nans_of(server, message);
    if (!nans || head->nans <= nans->reported)
        return;
    server->counts.nans += head->nans - nans->reported;
    nans->reported = head->nans;
}

void gw__server_message_in(struct gw__server *server, uint64_t now_ns,
                           struct gw__message_in *message)
{
    const struct gw__ps_head *head;
    const struct gw__ps_segment *segments;
    server->now_ns = now_ns;
    if (gw__ps_check(message, &head, &segments, NULL)) {
        server->counts.refused++;
        gw__message_in_release(message);
        return;
    }
    if (head->kind <= GW__PS_CLOCK)
        count_nans(server, message, head);
    switch ((enum gw__ps_kind)head->kind) {
    case GW__PS_PUSH:
    case GW__PS_PUSH_PULL:
        gw__serve_push(server, now_ns, message, head, segments);
        break;
    case GW__PS_PULL:
        gw__serve_pull(server, now_ns, message, head, segments);
        break;
    case GW__PS_CLOCK:
        gw__serve_clock(server, now_ns, message, head);
        break;
    case GW__PS_APPEND:
    case GW__PS_APPENDED:
    case GW__PS_COPY:
    case GW__PS_COPIED:
    case GW__PS_CLOSED:
    case GW__PS_APPLIED:
        from_server(server, now_ns, message, head);
        break;
    case GW__PS_REPLY:
    case GW__PS_SAVE: /* handled by process.c */
    case GW__PS_KINDS:
        break;
    }
    gw__message_in_release(message);
    run_deferred(server, now_ns);
}

/* ---- time ---- */

void gw__server_lease(struct gw__server *server, uint64_t now_ns,
                      uint64_t until_ns)
{
    server->now_ns = now_ns;
    server->lease_until_ns = until_ns;
    if (until_ns <= now_ns)
        server->pulls_due = true;
}

void gw__server_tick(struct gw__server *server, uint64_t now_ns)
{
    server->now_ns = server->tick_ns = now_ns;
    for (unsigned i = 0; i < server->held_count; i++) {
        struct gw__slot *slot = &server->slots[server->held[i]];
        gw__slot_advance(slot, now_ns);
        if (slot->role != GW_PS_PRIMARY)
            continue;
        gw__replicate_tick(slot, now_ns);
        gw__copy_tick(slot, now_ns);
        gw__move_tick(slot, now_ns);
        for (unsigned g = 0; g < GW_PS_GROUPS_MAX; g++) {
            gw__slot_append_round_commits(slot, now_ns, g);
            gw__clock_tick(slot, now_ns, g);
        }
    }
    server->pulls_due |= server->pulls.count > 0;
    if (server->clocks.count > 0)
        server->clocks_changed = (1U << GW_PS_GROUPS_MAX) - 1;
    run_deferred(server, now_ns);
    gw__replicate_notify(server, now_ns);
    gw__server_flush(server, now_ns);
}

void gw__server_flush(struct gw__server *server, uint64_t now_ns)
{
    server->now_ns = now_ns;
    gw__hogwild_collect(server, now_ns);
    run_deferred(server, now_ns);
    gw__flush_acks(server);
    gw__flush_copied(server);
    gw__round_commits_flush(server, now_ns);
}

static bool is_busy(const struct gw__slot *slot)
{
    if (slot->role != GW_PS_PRIMARY)
        return slot->applied < slot->committed;
    for (unsigned i = 0; i < slot->peer_count; i++) {
        const struct gw__peer *peer = &slot->peers[i];
        if (!peer->synced || peer->learner || peer->acked < slot->last ||
            peer->knows < slot->committed)
            return true;
    }
    return slot->frozen || slot->applied < slot->last ||
           slot->server->routes.slots[slot->number].successor < GW_PS_NODES;
}

uint64_t gw__server_due(const struct gw__server *server)
{
    bool busy = server->pulls.count > 0 || server->clocks.count > 0 ||
                gw__round_commits_busy((struct gw__server *)(uintptr_t)server);
    for (unsigned i = 0; i < server->held_count && !busy; i++)
        busy = is_busy(&server->slots[server->held[i]]);
    return busy ? server->tick_ns + GW__TICK_NS : UINT64_MAX;
}

bool gw__server_serves(const struct gw__server *server, unsigned slot,
                       uint64_t now_ns)
{
    return slot < server->routes.slot_count &&
           gw__slot_serves(&server->slots[slot], now_ns);
}

uint64_t gw__server_digest(const struct gw__server *server, unsigned slot)
{
    if (slot >= server->routes.slot_count)
        return 0;
    const struct gw__slot *s = &server->slots[slot];
    bool here = s->role == GW_PS_PRIMARY || s->role == GW_PS_SECONDARY ||
                (s->role == GW_PS_LEARNER && s->loaded);
    return here ? gw__slot_digest((struct gw__slot *)(uintptr_t)s) : 0;
}
