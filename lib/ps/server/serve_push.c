/* SPDX-License-Identifier: MIT
 *
 * A push is checked as a whole, and then appended to the logs slot by slot.
 *
 * A slot may refuse its part: it is on another server, frozen, or its replicas
 * are too far behind. It is then missing in the reply's `done`, and the worker
 * sends that part again. A repetition of an applied push is done at once; a
 * repetition of a push in the log waits for that entry.
 */
#include "hogwild.h"

#include "base/failpoint.h"

#include <stdlib.h>

enum { CHECK_FLOATS = 4096 };

const uint64_t *gw__request_segment_keys(const struct gw__request *request,
                                         unsigned segment, size_t before)
{
    if (request->keys)
        return request->keys[segment]->keys;
    return (const uint64_t *)request->message->parts[1].data + before;
}

/* ---- key lists ---- */

static enum gw_err adopt_list(struct gw__request *request,
                              const struct gw__key_list *list,
                              struct gw_error *why)
{
    bool same = list->count == request->segment_count;
    for (unsigned i = 0; same && i < list->count; i++)
        same = list->segments[i]->slot == request->segments[i].slot &&
               list->segments[i]->count == request->segments[i].keys &&
               list->segments[i]->table == request->head->table;
    if (!same)
        return gw_fail(why, GW_EDATA,
                       "the key list does not match the request");
    request->keys = calloc(list->count, sizeof(struct gw__keys *));
    if (!request->keys)
        return gw_fail(why, GW_ENOMEM, "no memory for a key list");
    for (unsigned i = 0; i < list->count; i++) {
        request->keys[i] = list->segments[i];
        gw__keys_hold(list->segments[i]);
    }
    return GW_OK;
}

static enum gw_err keep_list(struct gw__request *request, struct gw_error *why)
{
    const struct gw__ps_head *head = request->head;
    const uint64_t *keys = request->message->parts[1].data;
    unsigned count = request->segment_count;
    if (gw__ps_key_list(request->segments, count, keys, head->keys,
                        head->table) != head->key_list)
        return gw_fail(why, GW_EDATA,
                       "the key list does not match its signature");
    request->keys = calloc(count, sizeof(struct gw__keys *));
    if (!request->keys)
        return gw_fail(why, GW_ENOMEM, "no memory for a key list");
    for (unsigned i = 0; i < count; i++) {
        request->keys[i] = gw__keys_new(head->table, request->segments[i].slot,
                                        keys, request->segments[i].keys);
        if (!request->keys[i])
            return gw_fail(why, GW_ENOMEM, "no memory for a key list");
        keys += request->segments[i].keys;
    }
    gw__key_cache_add(request->server->cache, head->key_list, request->keys,
                      count);
    return GW_OK;
}

static enum gw_err check_keys(struct gw__request *request, struct gw_error *why)
{
    const struct gw__ps_head *head = request->head;
    const uint64_t *keys = request->message->parts[1].data;
    for (unsigned i = 0; i < request->segment_count; i++) {
        enum gw_err err = gw__keys_check(&request->server->routes, head->table,
                                         request->segments[i].slot, keys,
                                         request->segments[i].keys, why);
        if (err)
            return err;
        keys += request->segments[i].keys;
    }
    return GW_OK;
}

enum gw_err gw__request_keys(struct gw__request *request, bool *want_keys,
                             struct gw_error *why)
{
    struct gw__server *server = request->server;
    const struct gw__ps_head *head = request->head;
    *want_keys = false;
    if (!gw__server_has_table(server, head->table))
        return gw_fail(
            why, head->routes > server->routes.version ? GW_PENDING : GW_EINVAL,
            "table %u does not exist", head->table);
    for (unsigned i = 0; i < request->segment_count; i++)
        if (request->segments[i].slot >= server->routes.slot_count)
            return gw_fail(why, GW_EINVAL, "slot %u does not exist",
                           request->segments[i].slot);
    struct gw__key_list *list =
        head->key_list ? gw__key_cache_find(server->cache, head->key_list)
                       : NULL;
    if (list)
        return adopt_list(request, list, why);
    if (request->message->part_count < 2 ||
        request->message->parts[1].bytes == 0) {
        *want_keys = true;
        return gw_fail(why, GW_PENDING, "the key list is not known here");
    }
    enum gw_err err = check_keys(request, why);
    if (!err && head->flags & GW__PS_CACHE && head->key_list)
        err = keep_list(request, why);
    return err;
}

/* ---- checks ---- */

static enum gw_err check_numbers(const struct gw__request *request,
                                 struct gw_error *why)
{
    const struct gw__ps_head *head = request->head;
    const struct gw_ps_table_config *table =
        &request->server->routes.tables[head->table];
    size_t bytes =
        request->message->part_count > 2 ? request->message->parts[2].bytes : 0;
    size_t size = head->flags & GW__PS_HALF ? 2 : 4;
    if (bytes / size / table->width != head->keys ||
        bytes % (size * table->width) != 0)
        return gw_fail(
            why, GW_EINVAL,
            "table \"%s\" has %u values per row: %zu bytes are not %llu rows",
            table->name, table->width, bytes, (unsigned long long)head->keys);
    if (!gw__dedup_is_sound(head->low_watermark, head->sequence))
        return gw_fail(why, GW_EINVAL,
                       "push %llu is not among the 64 after %llu",
                       (unsigned long long)head->sequence,
                       (unsigned long long)head->low_watermark);
    if (request->message->from >= GW_PS_NODES)
        return gw_fail(why, GW_EINVAL, "node %u does not exist",
                       request->message->from);
    return GW_OK;
}

static size_t first_bad(const struct gw__request *request, size_t count)
{
    const void *values = request->message->parts[2].data;
    if (!(request->head->flags & GW__PS_HALF))
        return gw__first_bad(values, count);
    float block[CHECK_FLOATS];
    for (size_t i = 0; i < count; i += CHECK_FLOATS) {
        size_t some = count - i < CHECK_FLOATS ? count - i : CHECK_FLOATS;
        gw__from_half(block, (const uint16_t *)values + i, some);
        size_t bad = gw__first_bad(block, some);
        if (bad < some)
            return i + bad;
    }
    return count;
}

/* A single NaN would spread into the whole model. */
static enum gw_err check_finite(const struct gw__request *request,
                                struct gw_error *why)
{
    struct gw__server *server = request->server;
    unsigned from = request->message->from;
    size_t width = server->routes.tables[request->head->table].width;
    size_t count = request->head->keys * width;
    size_t bad = first_bad(request, count);
    if (bad >= count)
        return GW_OK;
    struct gw__nans *nans = gw__nans_of(server, request->message);
    if (nans)
        nans->here++;
    server->counts.nans++;
    return gw_fail(why, GW_ENUMERIC,
                   "worker %u pushed a value that is not finite: number %zu of "
                   "row %zu of table \"%s\"; the push was not applied",
                   from, bad % width, bad / width,
                   server->routes.tables[request->head->table].name);
}

/* ---- appending to the logs ---- */

/* GW_OK: already done. GW_PENDING: it waits in the log. Otherwise refused. */
static enum gw_err push_again(struct gw__slot *slot,
                              struct gw__request *request,
                              struct gw__wait *wait)
{
    const struct gw__ps_head *head = request->head;
    const struct gw__message_in *message = request->message;
    struct gw__dedup_worker *worker =
        gw__dedup_find(&slot->dedup, message->from, message->incarnation_low);
    if (worker && gw__dedup_has(worker, head->sequence)) {
        slot->server->counts.duplicates++;
        return gw__hogwild_join(slot, message->from, message->incarnation_low,
                                head->sequence, wait)
                   ? GW_PENDING
                   : GW_OK;
    }
    struct gw__entry *entry =
        slot->applied == slot->last
            ? NULL
            : gw__slot_find_push(slot, message->from, message->incarnation_low,
                                 head->sequence);
    if (!entry)
        return GW_EINVAL;
    slot->server->counts.duplicates++;
    return gw__join_waits(entry, wait) ? GW_PENDING : GW_ELOST;
}

static void push_segment(struct gw__request *request, uint64_t now_ns,
                         unsigned segment, size_t before)
{
    struct gw__server *server = request->server;
    const struct gw__ps_head *head = request->head;
    unsigned number = request->segments[segment].slot;
    struct gw__slot *slot = &server->slots[number];
    struct gw__wait *wait = &request->waits[segment];
    *wait = (struct gw__wait){.request = request, .segment = segment};
    request->pending++;
    if (!gw__slot_serves(slot, now_ns)) {
        gw__request_finish_segment(request, now_ns, segment, false);
        return;
    }
    if (!server->config.no_dedupe) {
        enum gw_err again = push_again(slot, request, wait);
        if (again == GW_PENDING)
            return;
        if (again != GW_EINVAL) {
            gw__request_finish_segment(request, now_ns, segment,
                                       again == GW_OK);
            return;
        }
    }
    size_t width = server->routes.tables[head->table].width;
    size_t size = head->flags & GW__PS_HALF ? 2 : 4;
    struct gw__entry like = {
        .kind = GW__ENTRY_PUSH,
        .node = request->message->from,
        .incarnation = request->message->incarnation_low,
        .sequence = head->sequence,
        .low_watermark = head->low_watermark,
        .clock = head->clock,
        .table = head->table,
        .group = (uint8_t)server->routes.tables[head->table].group,
        .half = head->flags & GW__PS_HALF,
        .keys = request->keys ? request->keys[segment] : NULL,
        .key_data = gw__request_segment_keys(request, segment, before),
        .key_count = request->segments[segment].keys,
        .data = (const char *)request->message->parts[2].data +
                before * width * size,
        .bytes = request->segments[segment].keys * width * size,
        .message = request->message,
        .waits = wait};
    if (gw__failpoint_err(GW__AT_PS_LOG) ||
        gw__slot_append(slot, now_ns, &like))
        gw__request_finish_segment(request, now_ns, segment, false);
    else {
        server->counts.push_keys += like.key_count;
        slot->keys_requested += like.key_count;
        slot->bytes_requested += like.key_count * sizeof(uint64_t) + like.bytes;
    }
}

void gw__serve_push(struct gw__server *server, uint64_t now_ns,
                    struct gw__message_in *message,
                    const struct gw__ps_head *head,
                    const struct gw__ps_segment *segments)
{
    struct gw_error why = {.code = GW_OK};
    bool want_keys = false;
    gw__failpoint(GW__AT_PS_PUSH);
    struct gw__request *request =
        gw__request_new(server, now_ns, message, head, segments);
    if (!request)
        return;
    if (gw__request_keys(request, &want_keys, &why) ||
        check_numbers(request, &why) || check_finite(request, &why)) {
        gw__request_refuse(request, want_keys, &why);
        return;
    }
    uint64_t logged = server->counts.push_keys;
    size_t before = 0;
    for (unsigned i = 0; i < request->segment_count; i++) {
        push_segment(request, now_ns, i, before);
        before += segments[i].keys;
    }
    server->counts.pushes += server->counts.push_keys > logged;
    gw__request_finish_segment(request, now_ns, GW_PS_SEGMENTS_MAX, true);
}
