/* SPDX-License-Identifier: MIT
 *
 * Pulls, and the pull part of PUSH_PULL. As soon as all slots of a request have
 * applied the required round commits, the rows are gathered into one buffer.
 *
 * A new primary first applies the entries in its log, since the previous
 * primary may have acknowledged some of them.
 */
#include "server_parts.h"

enum { COPIED_BYTES = 4096, READY = 1, WAIT, REFUSED };

static bool is_pull(const struct gw__request *request)
{
    return request->head->kind != GW__PS_PUSH;
}

static int state_of(const struct gw__request *request, unsigned segment,
                    uint64_t now_ns)
{
    struct gw__server *server = request->server;
    unsigned number = request->segments[segment].slot;
    const struct gw__slot *slot = &server->slots[number];
    unsigned group = server->routes.tables[request->head->table].group;
    if (request->refused >> segment & 1 || !gw__slot_serves(slot, now_ns))
        return REFUSED;
    if (!gw__slot_is_caught_up(slot) ||
        slot->closed[group] < request->head->closed)
        return WAIT;
    return READY;
}

/* ---- gathering ---- */

static bool read_segment(struct gw__request *request, unsigned segment,
                         size_t before, float *out)
{
    struct gw__server *server = request->server;
    const struct gw__ps_segment *wanted = &request->segments[segment];
    struct gw__slot *slot = &server->slots[wanted->slot];
    struct gw__store *store = gw__slot_store(slot, request->head->table);
    const uint64_t *keys = gw__request_segment_keys(request, segment, before);
    uint32_t *places = NULL;
    if (!store)
        return false;
    if (request->keys) {
        if (!gw__keys_find(request->keys[segment], store, slot->generation,
                           false, NULL))
            places = request->keys[segment]->places;
    } else {
        places = gw__server_places(server, wanted->keys);
        if (places &&
            gw__store_find(store, keys, wanted->keys, false, places, NULL))
            places = NULL;
    }
    if (!places)
        return false;
    gw__store_read_parallel(
        server->config.thread_pool, store, keys, places, wanted->keys,
        server->config.hogwild && gw__store_has_relaxed(store), out);
    return true;
}

static size_t gather_values(struct gw__request *request, uint64_t now_ns,
                            float *out)
{
    struct gw__server *server = request->server;
    size_t width = server->routes.tables[request->head->table].width;
    size_t before = 0, gathered = 0;
    for (unsigned i = 0; i < request->segment_count; i++) {
        const struct gw__ps_segment *wanted = &request->segments[i];
        uint64_t bit = UINT64_C(1) << i;
        if (state_of(request, i, now_ns) == READY &&
            read_segment(request, i, before, out + gathered * width)) {
            request->done |= bit;
            gathered += wanted->keys;
            server->counts.pull_keys += wanted->keys;
            server->slots[wanted->slot].keys_requested += wanted->keys;
            server->slots[wanted->slot].bytes_requested +=
                wanted->keys * (sizeof(uint64_t) + width * sizeof *out);
        } else {
            request->done &= ~bit;
            request->refused |= bit;
        }
        before += wanted->keys;
    }
    return gathered * width * sizeof *out;
}

static void finish_pull(struct gw__request *request, const void *values,
                        size_t bytes, struct gw__buffer *buffer)
{
    struct gw__server *server = request->server;
    const struct gw__ps_head *head = request->head;
    bool all = request->refused == 0;
    bool newer = !all && head->routes < server->routes.version;
    server->counts.refused += !all && head->kind != GW__PS_PULL;
    gw__reply(server, request->message, head,
              &(struct gw__reply_parts){.done = request->done,
                                        .code = all ? GW_OK : GW_PENDING,
                                        .flags = newer ? GW__PS_NEWER : 0,
                                        .values = values,
                                        .value_bytes = bytes,
                                        .buffer = buffer});
    gw__request_free(request);
}

static void answer_pull(struct gw__request *request, uint64_t now_ns)
{
    struct gw__server *server = request->server;
    size_t width = server->routes.tables[request->head->table].width;
    size_t floats = request->head->keys * width;
    bool copied = floats * sizeof(float) <= COPIED_BYTES;
    struct gw__buffer *buffer =
        copied ? NULL : gw__buffer_acquire(server, floats * sizeof(float));
    float *out = copied   ? gw__server_floats(server, floats)
                 : buffer ? buffer->data
                          : NULL;
    size_t bytes = 0;
    server->counts.pulls++;
    if (out) {
        bytes = gather_values(request, now_ns, out);
    } else {
        gw__server_trouble(server, "no memory for a pull of %zu bytes",
                           floats * sizeof(float));
        request->refused |= request->done | 1;
        request->done = 0;
    }
    finish_pull(request, out, bytes, buffer);
}

/* ---- waiting ---- */

static void replace_older(struct gw__server *server,
                          const struct gw__request *request)
{
    struct gw__request *r = server->pulls.first;
    while (r &&
           (r->head->request != request->head->request ||
            r->message->from != request->message->from ||
            r->message->incarnation_low != request->message->incarnation_low))
        r = r->next;
    if (!r)
        return;
    gw__waiting_remove(&server->pulls, r);
    gw__request_free(r);
}

static bool must_wait(const struct gw__request *request, uint64_t now_ns)
{
    bool waiting = false;
    for (unsigned i = 0; i < request->segment_count; i++)
        waiting |= state_of(request, i, now_ns) == WAIT;
    return waiting && now_ns - request->born_ns < GW__WAIT_NS;
}

static void refuse_waiting(struct gw__request *request, uint64_t now_ns)
{
    for (unsigned i = 0; i < request->segment_count; i++)
        if (state_of(request, i, now_ns) != READY) {
            uint64_t bit = UINT64_C(1) << i;
            request->refused |= bit;
            request->done &= ~bit;
        }
}

/* Answers a pull if its slots are ready; otherwise the pull waits. */
static void answer_or_wait(struct gw__request *request, uint64_t now_ns)
{
    struct gw__server *server = request->server;
    if (must_wait(request, now_ns)) {
        replace_older(server, request);
        if (server->pulls.count < GW__WAITING_MAX) {
            gw__waiting_add(&server->pulls, request);
            return;
        }
    }
    refuse_waiting(request, now_ns);
    answer_pull(request, now_ns);
}

void gw__pulls_answer_ready(struct gw__server *server, uint64_t now_ns)
{
    server->pulls_due = false;
    struct gw__request *next;
    for (struct gw__request *r = server->pulls.first; r; r = next) {
        next = r->next;
        if (must_wait(r, now_ns))
            continue;
        gw__waiting_remove(&server->pulls, r);
        refuse_waiting(r, now_ns);
        answer_pull(r, now_ns);
    }
}

/* ---- entry points ---- */

void gw__request_logged(struct gw__request *request, uint64_t now_ns)
{
    if (request->server->ending)
        gw__request_free(request);
    else if (request->head->kind == GW__PS_CLOCK)
        gw__clock_logged(request);
    else if (is_pull(request) && request->done)
        answer_or_wait(request, now_ns);
    else
        finish_pull(request, NULL, 0, NULL);
}

void gw__serve_pull(struct gw__server *server, uint64_t now_ns,
                    struct gw__message_in *message,
                    const struct gw__ps_head *head,
                    const struct gw__ps_segment *segments)
{
    struct gw_error why = {.code = GW_OK};
    bool want_keys = false;
    struct gw__request *request =
        gw__request_new(server, now_ns, message, head, segments);
    if (!request)
        return;
    if (!gw__request_keys(request, &want_keys, &why)) {
        answer_or_wait(request, now_ns);
        return;
    }
    gw__request_refuse(request, want_keys, &why);
}
