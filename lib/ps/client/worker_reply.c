/* SPDX-License-Identifier: MIT
 *
 * Replies to a worker. A reply belongs to one attempt, by its id, and counts
 * only if it comes from that attempt's node. All other replies are dropped.
 *
 *     some segments done  their values go to the caller, and these segments
 *                         are removed from the attempt
 *     all segments done   the attempt ends
 *     some refused        permanently (an invalid request), or temporarily:
 *                         sent again, at once if there are newer routes
 *     keys wanted         the message is sent again with its keys
 */
#include "worker_parts.h"

#include "ps/store/update.h"

#include <stdio.h>
#include <string.h>

struct answer {
    struct gw__worker *worker;
    struct gw__attempt *attempt;
    const struct gw__ps_head *head;
    const struct gw__message_in *message;
    uint64_t now_ns;
    uint64_t done; /* segments of the partition */
};

static const struct gw__messenger_part *
part(const struct gw__message_in *message, unsigned i)
{
    static const struct gw__messenger_part none = {.bytes = 0};
    return i < message->part_count ? &message->parts[i] : &none;
}

/* ---- values ---- */

static size_t keys_in(const struct gw__partitioning *partitioning,
                      const struct gw__key_range *range, uint64_t segments)
{
    size_t count = 0;
    for (uint64_t rest = segments; rest; rest &= rest - 1)
        count += partitioning
                     ->segments[range->first_segment +
                                (unsigned)__builtin_ctzll(rest)]
                     .keys;
    return count;
}

static void scatter(const struct answer *a, const float *rows)
{
    const struct gw__worker_request *request = a->attempt->partition->request;
    const struct gw__partitioning *partitioning = request->partitioning;
    const struct gw__key_range *range = a->attempt->partition->range;
    const uint32_t *order = partitioning->order + range->first;
    float *out = request->args.out;
    if (!rows) /* without keys */
        return;
    if (a->done == gw__range_whole(range) && range->straight) {
        memcpy(out + (size_t)*order * request->width, rows,
               (size_t)range->count * request->width * sizeof *rows);
        return;
    }
    for (uint32_t i = 0; i < range->segment_count; i++) {
        const struct gw__ps_segment *s =
            &partitioning->segments[range->first_segment + i];
        if (a->done >> i & 1) {
            gw__rows_scatter(out, order, s->keys, request->width, rows);
            rows += (size_t)s->keys * request->width;
        }
        order += s->keys;
    }
}

/* False: the values do not match the request; nothing has changed. */
static bool apply_values(const struct answer *a)
{
    struct gw__worker *worker = a->worker;
    const struct gw__partition *partition = a->attempt->partition;
    const struct gw__worker_request *request = partition->request;
    const struct gw__messenger_part *values = part(a->message, 2);
    bool half = a->head->flags & GW__PS_HALF;
    if (!request->partitioning || !request->args.out || !a->done)
        return true;
    size_t count = keys_in(request->partitioning, partition->range, a->done) *
                   request->width;
    if (values->bytes != count * (half ? sizeof(uint16_t) : sizeof(float)))
        return false;
    if (!half) {
        scatter(a, values->data);
        return true;
    }
    if (!gw__grow(&worker->scratch, &worker->scratch_bytes,
                  count * sizeof(float)))
        return false;
    float *rows = (float *)(void *)worker->scratch;
    gw__from_half(rows, values->data, count);
    scatter(a, rows);
    return true;
}

/* ---- commands ---- */

static bool apply_work(const struct answer *a)
{
    const struct gw__worker_request *request = a->attempt->partition->request;
    const struct gw__messenger_part *work = part(a->message, 2);
    if (!request->work || !a->done)
        return true;
    if (work->bytes != sizeof *request->work)
        return false;
    memcpy(request->work, work->data, sizeof *request->work);
    return true;
}

/* ---- refusals ---- */

/* True if a repetition cannot succeed. A failed snapshot is permanent, too. */
static bool is_final(int code)
{
    return code == GW_EINVAL || code == GW_EDATA || code == GW_EMISMATCH ||
           code == GW_ENUMERIC || code == GW_ECLOSED || code == GW_ENOTSUP ||
           code == GW_EWRONG;
}

static void sentence(const struct answer *a, char *out, size_t room)
{
    const struct gw__messenger_part *text = part(a->message, 1);
    size_t bytes = text->bytes < room - 1 ? text->bytes : room - 1;
    if (a->head->flags & GW__PS_NEWER)
        bytes = 0;
    if (bytes)
        memcpy(out, text->data, bytes);
    out[bytes] = 0;
    for (size_t i = 0; i < bytes && out[i]; i++)
        if (out[i] < ' ' || out[i] > '~')
            out[i] = '?';
    if (!out[0])
        snprintf(out, room, "%s", gw_err_text((enum gw_err)a->head->code));
}

static void refuse_for_good(const struct answer *a)
{
    struct gw__partition *partition = a->attempt->partition;
    char text[256];
    sentence(a, text, sizeof text);
    gw__worker_request_fail(partition->request, (enum gw_err)a->head->code,
                            text);
    gw__partition_end(a->worker, partition);
}

/* The attempt may already have been sent elsewhere when this returns. */
static void apply_refusal(const struct answer *a)
{
    struct gw__routes routes;
    const struct gw__messenger_part *newer = part(a->message, 1);
    a->worker->counts.refusals++;
    gw__attempt_refused(a->worker, a->attempt, a->now_ns);
    if (!(a->head->flags & GW__PS_NEWER))
        return;
    struct gw__reader reader = gw__reader_on(newer->data, newer->bytes);
    gw__get_routes(&reader, &routes);
    if (gw__reader_done(&reader))
        gw__worker_routes(a->worker, a->now_ns, &routes);
}

/* ---- replies ---- */

/* Bit i of the reply is the i-th segment of the message, which had those of the
 * attempt in their order. */
static uint64_t spread_bits(uint64_t bits, uint64_t segments)
{
    uint64_t spread = 0;
    for (uint64_t rest = segments; rest; rest &= rest - 1, bits >>= 1)
        if (bits & 1)
            spread |= rest & -rest;
    return spread;
}

static uint64_t done_segments(const struct answer *a)
{
    const struct gw__partition *partition = a->attempt->partition;
    enum gw_err code = (enum gw_err)a->head->code,
                *result = partition->request->result;
    if (result && code == GW_PENDING) {
        *result = code;
        return a->attempt->segments;
    }
    if (result && code == GW_OK)
        *result = code;
    if (!partition->range) /* a command is done as a whole */
        return code == GW_OK ? a->attempt->segments : 0;
    if (gw__attempt_is_whole(a->attempt))
        return a->head->done & a->attempt->segments;
    return spread_bits(a->head->done, a->attempt->segments);
}

static void want_keys(const struct answer *a)
{
    if (!a->attempt->bare) { /* it had the keys: the server is faulty */
        gw__attempt_refused(a->worker, a->attempt, a->now_ns);
        return;
    }
    a->attempt->partition->range->known = false;
    gw__attempt_send(a->worker, a->attempt, a->now_ns);
}

static void apply_reply(struct answer *a)
{
    struct gw__partition *partition = a->attempt->partition;
    bool whole = gw__attempt_is_whole(a->attempt);
    if (a->head->flags & GW__PS_WANT_KEYS) {
        want_keys(a);
        return;
    }
    a->done = done_segments(a);
    if (!apply_values(a) || !apply_work(a))
        a->done = 0;
    if (whole && a->done && partition->range->key_list &&
        a->attempt->node == partition->range->node)
        partition->range->known = true;
    partition->todo &= ~a->done;
    a->attempt->segments &= ~a->done;
    if (a->attempt->segments == 0)
        gw__attempt_end(a->worker, a->attempt);
    else if (is_final(a->head->code) || partition->request->result)
        refuse_for_good(a);
    else
        apply_refusal(a);
    if (partition->request && partition->todo == 0)
        gw__partition_end(a->worker, partition);
}

static bool understand(struct answer *a)
{
    const struct gw__ps_segment *segments;
    struct gw_error why;
    if (gw__ps_check(a->message, &a->head, &segments, &why) ||
        a->head->kind != GW__PS_REPLY)
        return false;
    uint64_t id = gw__attempt_name(a->worker, a->head->request);
    a->attempt = id ? gw__attempt_find(a->worker, id) : NULL;
    return a->attempt && a->attempt->node == a->message->from;
}

void gw__worker_message_in(struct gw__worker *worker, uint64_t now_ns,
                           struct gw__message_in *message)
{
    struct answer answer = {
        .worker = worker, .message = message, .now_ns = now_ns};
    for (unsigned i = 0; i < message->part_count; i++)
        worker->counts.bytes_received += message->parts[i].bytes;
    if (understand(&answer)) {
        apply_reply(&answer);
        gw__worker_pump(worker, now_ns);
    }
    gw__message_in_release(message);
}
