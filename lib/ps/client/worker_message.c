/* SPDX-License-Identifier: MIT
 *
 * One message of an attempt: its contents and their memory.
 *
 *     keys     the cached list; a copy if the attempt has only some of the
 *              slots; none if the server knows the list
 *     values   the caller's memory if the rows are contiguous there and need no
 *              conversion; a pool unit if they are large, gathered once for all
 *              messages of the partition; otherwise a copy for this message
 */
#include "worker_parts.h"

#include "ps/store/update.h"

#include <string.h>

struct parcel_plan {
    struct gw__worker *worker;
    struct gw__attempt *flight;
    struct gw__message_out letter;
    struct gw__ps_head head;
    unsigned char front[sizeof(struct gw__ps_head) +
                        GW_PS_SLOTS_MAX * sizeof(struct gw__ps_segment)];
};

/* ---- return of lent memory ---- */

static void unit_back(void *context)
{
    gw__unit_release(context);
}

static void caller_back(void *context)
{
    struct gw__job *request = context;
    request->lent--;
    gw__job_settle(request);
}

/* ---- segments ---- */

static bool carries(const struct gw__attempt *flight,
                    const struct gw__ps_segment *segment)
{
    return flight->slots >> segment->slot & 1;
}

static void put_segments(struct parcel_plan *p)
{
    const struct gw__job *request = p->flight->errand->request;
    const struct gw__piece *piece = p->flight->errand->piece;
    const struct gw__ps_segment *from =
        request->cut->segments + piece->first_segment;
    unsigned char *at = p->front + sizeof p->head;
    for (uint32_t i = 0; i < piece->segment_count; i++) {
        if (!carries(p->flight, &from[i]))
            continue;
        memcpy(at, &from[i], sizeof from[i]);
        at += sizeof from[i];
        p->head.segments++;
        p->head.keys += from[i].keys;
    }
}

/* ---- keys ---- */

static enum gw_err copy_keys(struct parcel_plan *p, const uint64_t **keys)
{
    struct gw__worker *worker = p->worker;
    const struct gw__cut *cut = p->flight->errand->request->cut;
    const struct gw__piece *piece = p->flight->errand->piece;
    const uint64_t *from = cut->keys + piece->first;
    if (!gw__grow(&worker->some_keys, &worker->some_keys_bytes,
                  piece->count * sizeof *from))
        return GW_ENOMEM;
    unsigned char *to = worker->some_keys;
    for (uint32_t i = 0; i < piece->segment_count; i++) {
        const struct gw__ps_segment *segment =
            &cut->segments[piece->first_segment + i];
        size_t bytes = segment->keys * sizeof *from;
        if (carries(p->flight, segment)) {
            memcpy(to, from, bytes);
            to += bytes;
        }
        from += segment->keys;
    }
    *keys = (const uint64_t *)(const void *)worker->some_keys;
    return GW_OK;
}

static enum gw_err put_keys(struct parcel_plan *p)
{
    struct gw__partition *errand = p->flight->errand;
    const struct gw__piece *piece = errand->piece;
    struct gw_ps_counts *counts = &p->worker->counts;
    const uint64_t *keys = errand->request->cut->keys + piece->first;
    enum gw_err err = GW_OK;
    p->flight->bare = false;
    if (!gw__attempt_is_whole(p->flight))
        err = copy_keys(p, &keys);
    else if (piece->key_list) {
        p->head.key_list = piece->key_list;
        p->flight->bare = piece->known && p->flight->node == piece->node;
        if (p->flight->bare) {
            counts->key_lists_cached++;
            return GW_OK;
        }
        p->head.flags |= GW__PS_CACHE;
    }
    counts->key_lists_sent++;
    p->letter.parts[1] =
        (struct gw__messenger_part){keys, p->head.keys * sizeof *keys};
    return err;
}

/* ---- values ---- */

/* Copies all rows of the attempt's slots, in order, to `out`. */
static void gather_rows(const struct parcel_plan *p, float *out)
{
    const struct gw__job *request = p->flight->errand->request;
    const struct gw__cut *cut = request->cut;
    const struct gw__piece *piece = p->flight->errand->piece;
    const uint32_t *order = cut->order + piece->first;
    if (gw__attempt_is_whole(p->flight)) {
        gw__rows_gather(out, request->access.values, order, piece->count,
                        request->width);
        return;
    }
    for (uint32_t i = 0; i < piece->segment_count; i++) {
        const struct gw__ps_segment *segment =
            &cut->segments[piece->first_segment + i];
        if (carries(p->flight, segment)) {
            gw__rows_gather(out, request->access.values, order, segment->keys,
                            request->width);
            out += (size_t)segment->keys * request->width;
        }
        order += segment->keys;
    }
}

/* Copies the values in the format of the message. */
static enum gw_err fill_values(struct parcel_plan *p, void *out, size_t values)
{
    struct gw__worker *worker = p->worker;
    worker->counts.bytes_gathered += values * sizeof(float);
    if (!worker->config.half) {
        gather_rows(p, out);
        return GW_OK;
    }
    if (!gw__grow(&worker->scratch, &worker->scratch_bytes,
                  values * sizeof(float)))
        return GW_ENOMEM;
    float *whole = (float *)(void *)worker->scratch;
    gather_rows(p, whole);
    gw__to_half(out, whole, values);
    return GW_OK;
}

static enum gw_err put_unit(struct parcel_plan *p, size_t values)
{
    struct gw__partition *errand = p->flight->errand;
    enum gw_err err = GW_OK;
    if (!errand->unit) {
        errand->unit = gw__pool_take(&p->worker->pool);
        if (!errand->unit)
            return GW_ENOMEM;
        err = fill_values(p, errand->unit->memory, values);
        if (err) {
            gw__unit_release(errand->unit);
            errand->unit = NULL;
            return err;
        }
    }
    errand->unit->refs++;
    p->letter.parts[2].data = errand->unit->memory;
    p->letter.lent = 4;
    p->letter.back = unit_back;
    p->letter.context = errand->unit;
    return GW_OK;
}

/* The rows are sent from the caller's memory. */
static void put_own(struct parcel_plan *p)
{
    struct gw__job *request = p->flight->errand->request;
    const struct gw__piece *piece = p->flight->errand->piece;
    size_t first = request->cut->order[piece->first];
    p->letter.parts[2].data = request->access.values + first * request->width;
    if (!request->access.lend ||
        p->letter.parts[2].bytes < GW__LEND_LEAST_BYTES)
        return;
    request->lent++;
    p->letter.lent = 4;
    p->letter.back = caller_back;
    p->letter.context = request;
}

/* The messenger copies the values before it returns. */
static enum gw_err put_copy(struct parcel_plan *p, size_t values)
{
    struct gw__worker *worker = p->worker;
    if (!gw__grow(&worker->copied, &worker->copied_bytes,
                  values * sizeof(float)))
        return GW_ENOMEM;
    p->letter.parts[2].data = worker->copied;
    return fill_values(p, worker->copied, values);
}

static enum gw_err put_values(struct parcel_plan *p)
{
    const struct gw__partition *errand = p->flight->errand;
    size_t values = p->head.keys * errand->request->width;
    bool half = p->worker->config.half;
    bool whole = gw__attempt_is_whole(p->flight);
    size_t bytes = values * (half ? sizeof(uint16_t) : sizeof(float));
    p->letter.parts[2].bytes = bytes;
    if (half)
        p->head.flags |= GW__PS_HALF;
    if (whole && errand->piece->straight && !half) {
        put_own(p);
        return GW_OK;
    }
    if (whole && bytes >= GW__LEND_LEAST_BYTES &&
        bytes <= p->worker->pool.unit_bytes && !put_unit(p, values))
        return GW_OK;
    return put_copy(p, values);
}

/* ---- the message ---- */

static void put_head(struct parcel_plan *p)
{
    const struct gw__worker *worker = p->worker;
    const struct gw__partition *errand = p->flight->errand;
    const struct gw__access *access = &errand->request->access;
    p->head = (struct gw__ps_head){
        .magic = GW__PS_MAGIC,
        .request = gw__attempt_name(p->worker, p->flight->id),
        .routes = worker->routes.version,
        .sequence = errand->sequence,
        .floor = worker->floor,
        .clock = GW__NO_CLOCK,
        .nans = worker->nans};
    if (!errand->piece) {
        p->head.kind = (uint16_t)errand->request->kind;
        p->head.group = (uint8_t)errand->request->group;
        p->head.sequence = errand->request->mark;
        return;
    }
    p->head.kind = access->values ? access->out ? GW__PS_PUSH_PULL : GW__PS_PUSH
                                  : GW__PS_PULL;
    p->head.clock = access->clock;
    p->head.closed = access->closed;
    p->head.table = (uint16_t)access->table;
    p->head.group = (uint8_t)worker->routes.tables[access->table].group;
}

static enum gw_err put_parts(struct parcel_plan *p)
{
    struct gw__job *request = p->flight->errand->request;
    if (!p->flight->errand->piece) {
        p->letter.parts[1] = (struct gw__messenger_part){
            request->command, request->command_bytes};
        return GW_OK;
    }
    put_segments(p);
    enum gw_err err = put_keys(p);
    if (!err && request->access.values)
        err = put_values(p);
    return err;
}

/* Each slot after the first would otherwise have been a message of its own. */
static void count_message(struct gw_ps_counts *counts,
                          const struct parcel_plan *p)
{
    for (unsigned i = 0; i < p->letter.part_count; i++)
        counts->bytes_sent += p->letter.parts[i].bytes;
    counts->messages_saved += p->head.segments > 1 ? p->head.segments - 1U : 0;
}

enum gw_err gw__message_out_send(struct gw__worker *worker,
                                 struct gw__attempt *flight)
{
    struct parcel_plan p = {.worker = worker, .flight = flight};
    p.letter.node = flight->node;
    p.letter.again = flight->pause_ns > worker->config.resend_ns;
    put_head(&p);
    enum gw_err err = put_parts(&p);
    if (err)
        return err;
    memcpy(p.front, &p.head, sizeof p.head);
    p.letter.parts[0] = (struct gw__messenger_part){
        p.front,
        sizeof p.head + p.head.segments * sizeof(struct gw__ps_segment)};
    p.letter.part_count = p.letter.parts[2].bytes   ? 3
                          : p.letter.parts[1].bytes ? 2
                                                    : 1;
    count_message(&worker->counts, &p);
    worker->config.send(worker->config.context, &p.letter);
    return GW_OK;
}
