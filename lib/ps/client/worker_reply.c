/* SPDX-License-Identifier: MIT
 *
 * Replies to a worker. A reply belongs to one attempt, by its id, and counts
 * only if it comes from that attempt's node. All other replies are dropped.
 *
 *     some slots done     their values go to the caller, and these slots are
 *                         removed from the attempt
 *     all slots done      the attempt ends
 *     slots refused       permanently (an invalid request), or temporarily:
 *                         sent again, at once if there are newer routes
 *     keys wanted         the message is sent again with its keys
 */
#include "worker_parts.h"

#include "ps/store/update.h"

#include <stdio.h>
#include <string.h>

struct answer {
    struct gw__worker *worker;
    struct gw__attempt *flight;
    const struct gw__ps_head *head;
    const struct gw__message_in *parcel;
    uint64_t now_ns;
    uint64_t done; /* slots of the attempt */
};

static const struct gw__messenger_part *
part(const struct gw__message_in *parcel, unsigned i)
{
    static const struct gw__messenger_part none = {.bytes = 0};
    return i < parcel->part_count ? &parcel->parts[i] : &none;
}

/* ---- values ---- */

static size_t keys_in(const struct gw__cut *cut, const struct gw__piece *piece,
                      uint64_t slots)
{
    size_t count = 0;
    for (uint32_t i = 0; i < piece->segment_count; i++) {
        const struct gw__ps_segment *s =
            &cut->segments[piece->first_segment + i];
        count += slots >> s->slot & 1 ? s->keys : 0;
    }
    return count;
}

static void scatter(const struct answer *a, const float *rows)
{
    const struct gw__job *request = a->flight->errand->request;
    const struct gw__cut *cut = request->cut;
    const struct gw__piece *piece = a->flight->errand->piece;
    const uint32_t *order = cut->order + piece->first;
    float *out = request->access.out;
    if (!rows) /* without keys */
        return;
    if (a->done == piece->slots && piece->straight) {
        memcpy(out + (size_t)*order * request->width, rows,
               (size_t)piece->count * request->width * sizeof *rows);
        return;
    }
    for (uint32_t i = 0; i < piece->segment_count; i++) {
        const struct gw__ps_segment *s =
            &cut->segments[piece->first_segment + i];
        if (a->done >> s->slot & 1) {
            gw__rows_scatter(out, order, s->keys, request->width, rows);
            rows += (size_t)s->keys * request->width;
        }
        order += s->keys;
    }
}

/* False: the values do not match the request; nothing has changed. */
static bool take_values(const struct answer *a)
{
    struct gw__worker *worker = a->worker;
    const struct gw__partition *errand = a->flight->errand;
    const struct gw__job *request = errand->request;
    const struct gw__messenger_part *values = part(a->parcel, 2);
    bool half = a->head->flags & GW__PS_HALF;
    if (!request->cut || !request->access.out || !a->done)
        return true;
    size_t count =
        keys_in(request->cut, errand->piece, a->done) * request->width;
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

static bool take_work(const struct answer *a)
{
    const struct gw__job *request = a->flight->errand->request;
    const struct gw__messenger_part *work = part(a->parcel, 2);
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
    const struct gw__messenger_part *text = part(a->parcel, 1);
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
    struct gw__partition *errand = a->flight->errand;
    char text[256];
    sentence(a, text, sizeof text);
    gw__job_fail(errand->request, (enum gw_err)a->head->code, text);
    gw__partition_end(a->worker, errand);
}

/* The attempt may already have been sent elsewhere when this returns. */
static void apply_refusal(const struct answer *a)
{
    struct gw__routes routes;
    const struct gw__messenger_part *newer = part(a->parcel, 1);
    a->worker->counts.refusals++;
    gw__attempt_refused(a->worker, a->flight, a->now_ns);
    if (!(a->head->flags & GW__PS_NEWER))
        return;
    struct gw__reader reader = gw__reader_on(newer->data, newer->bytes);
    gw__get_routes(&reader, &routes);
    if (gw__reader_done(&reader))
        gw__worker_routes(a->worker, a->now_ns, &routes);
}

/* ---- replies ---- */

static uint64_t done_slots(const struct answer *a)
{
    const struct gw__partition *errand = a->flight->errand;
    enum gw_err code = (enum gw_err)a->head->code,
                *said = errand->request->said;
    if (said && code == GW_PENDING) {
        *said = code;
        return a->flight->slots;
    }
    if (said && code == GW_OK)
        *said = code;
    if (!errand->piece) /* a command is done as a whole */
        return code == GW_OK ? a->flight->slots : 0;
    return a->head->done & a->flight->slots;
}

static void want_keys(const struct answer *a)
{
    if (!a->flight->bare) { /* it had the keys: the server is faulty */
        gw__attempt_refused(a->worker, a->flight, a->now_ns);
        return;
    }
    a->flight->errand->piece->known = false;
    gw__attempt_send(a->worker, a->flight, a->now_ns);
}

static void apply_reply(struct answer *a)
{
    struct gw__partition *errand = a->flight->errand;
    bool whole = gw__attempt_is_whole(a->flight);
    if (a->head->flags & GW__PS_WANT_KEYS) {
        want_keys(a);
        return;
    }
    a->done = done_slots(a);
    if (!take_values(a) || !take_work(a))
        a->done = 0;
    if (whole && a->done && errand->piece->key_list &&
        a->flight->node == errand->piece->node)
        errand->piece->known = true;
    errand->todo &= ~a->done;
    a->flight->slots &= ~a->done;
    if (a->flight->slots == 0)
        gw__attempt_end(a->worker, a->flight);
    else if (is_final(a->head->code) || errand->request->said)
        refuse_for_good(a);
    else
        apply_refusal(a);
    if (errand->request && errand->todo == 0)
        gw__partition_end(a->worker, errand);
}

static bool understand(struct answer *a)
{
    const struct gw__ps_segment *segments;
    struct gw_error why;
    if (gw__ps_check(a->parcel, &a->head, &segments, &why) ||
        a->head->kind != GW__PS_REPLY)
        return false;
    uint64_t id = gw__attempt_name(a->worker, a->head->request);
    a->flight = id ? gw__attempt_find(a->worker, id) : NULL;
    return a->flight && a->flight->node == a->parcel->from;
}

void gw__worker_message_in(struct gw__worker *worker, uint64_t now_ns,
                           struct gw__message_in *parcel)
{
    struct answer answer = {
        .worker = worker, .parcel = parcel, .now_ns = now_ns};
    for (unsigned i = 0; i < parcel->part_count; i++)
        worker->counts.bytes_received += parcel->parts[i].bytes;
    if (understand(&answer)) {
        apply_reply(&answer);
        gw__worker_pump(worker, now_ns);
    }
    gw__message_in_release(parcel);
}
