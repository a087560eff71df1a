/* SPDX-License-Identifier: MIT
 *
 * One message of an attempt: its contents and their memory.
 *
 *     keys     the cached list; a copy if the attempt has only some of the
 *              slots; none if the server knows the list
 *     values   the caller's memory if the rows are contiguous there and need no
 *              conversion; a block of a slab if they are large, gathered once
 *              for all
 *              messages of the partition; otherwise a copy for this message
 */
#include "worker_parts.h"

#include "ps/store/update.h"

#include <string.h>

struct message_plan {
    struct gw__worker *worker;
    struct gw__attempt *attempt;
    struct gw__message_out message;
    struct gw__ps_head head;
    unsigned char front[sizeof(struct gw__ps_head) +
                        GW_PS_SEGMENTS_MAX * sizeof(struct gw__ps_segment)];
};

/* ---- return of lent memory ---- */

static void release_cell(void *context)
{
    gw__slab_cell_release(context);
}

static void caller_back(void *context)
{
    struct gw__worker_request *request = context;
    request->borrow_count--;
    gw__worker_request_reap(request);
}

/* ---- segments ---- */

static bool carries(const struct gw__attempt *attempt, unsigned segment)
{
    return attempt->segments >> segment & 1;
}

static void put_segments(struct message_plan *p)
{
    const struct gw__worker_request *request = p->attempt->partition->request;
    const struct gw__key_range *range = p->attempt->partition->range;
    const struct gw__ps_segment *from =
        request->partitioning->segments + range->first_segment;
    unsigned char *at = p->front + sizeof p->head;
    for (uint32_t i = 0; i < range->segment_count; i++) {
        if (!carries(p->attempt, i))
            continue;
        memcpy(at, &from[i], sizeof from[i]);
        at += sizeof from[i];
        p->head.segments++;
        p->head.keys += from[i].keys;
    }
}

/* ---- keys ---- */

static enum gw_err copy_keys(struct message_plan *p, const uint64_t **keys)
{
    struct gw__worker *worker = p->worker;
    const struct gw__partitioning *partitioning =
        p->attempt->partition->request->partitioning;
    const struct gw__key_range *range = p->attempt->partition->range;
    const uint64_t *from = partitioning->keys + range->first;
    if (!gw__grow(&worker->some_keys, &worker->some_keys_bytes,
                  range->count * sizeof *from))
        return GW_ENOMEM;
    unsigned char *to = worker->some_keys;
    for (uint32_t i = 0; i < range->segment_count; i++) {
        const struct gw__ps_segment *segment =
            &partitioning->segments[range->first_segment + i];
        size_t bytes = segment->keys * sizeof *from;
        if (carries(p->attempt, i)) {
            memcpy(to, from, bytes);
            to += bytes;
        }
        from += segment->keys;
    }
    *keys = (const uint64_t *)(const void *)worker->some_keys;
    return GW_OK;
}

static enum gw_err put_keys(struct message_plan *p)
{
    struct gw__partition *partition = p->attempt->partition;
    const struct gw__key_range *range = partition->range;
    struct gw_ps_counts *counts = &p->worker->counts;
    const uint64_t *keys =
        partition->request->partitioning->keys + range->first;
    enum gw_err err = GW_OK;
    p->attempt->bare = false;
    if (!gw__attempt_is_whole(p->attempt))
        err = copy_keys(p, &keys);
    else if (range->key_list) {
        p->head.key_list = range->key_list;
        p->attempt->bare = range->known && p->attempt->node == range->node;
        if (p->attempt->bare) {
            counts->key_lists_cached++;
            return GW_OK;
        }
        p->head.flags |= GW__PS_CACHE;
    }
    counts->key_lists_sent++;
    p->message.parts[1] =
        (struct gw__messenger_part){keys, p->head.keys * sizeof *keys};
    return err;
}

/* ---- values ---- */

/* Copies all rows of the attempt's segments, in order, to `out`. */
static void gather_rows(const struct message_plan *p, float *out)
{
    const struct gw__worker_request *request = p->attempt->partition->request;
    const struct gw__partitioning *partitioning = request->partitioning;
    const struct gw__key_range *range = p->attempt->partition->range;
    const uint32_t *order = partitioning->order + range->first;
    if (gw__attempt_is_whole(p->attempt)) {
        gw__rows_gather(out, request->args.values, order, range->count,
                        request->width);
        return;
    }
    for (uint32_t i = 0; i < range->segment_count; i++) {
        const struct gw__ps_segment *segment =
            &partitioning->segments[range->first_segment + i];
        if (carries(p->attempt, i)) {
            gw__rows_gather(out, request->args.values, order, segment->keys,
                            request->width);
            out += (size_t)segment->keys * request->width;
        }
        order += segment->keys;
    }
}

/* Copies the values in the format of the message. */
static enum gw_err fill_values(struct message_plan *p, void *out, size_t values)
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

static enum gw_err put_cell(struct message_plan *p, size_t values)
{
    struct gw__partition *partition = p->attempt->partition;
    enum gw_err err = GW_OK;
    if (!partition->cell) {
        partition->cell = gw__slabs_acquire(&p->worker->slabs);
        if (!partition->cell)
            return GW_ENOMEM;
        err = fill_values(p, partition->cell->memory, values);
        if (err) {
            gw__slab_cell_release(partition->cell);
            partition->cell = NULL;
            return err;
        }
    }
    partition->cell->refs++;
    p->message.parts[2].data = partition->cell->memory;
    p->message.borrowed = 4;
    p->message.back = release_cell;
    p->message.context = partition->cell;
    return GW_OK;
}

/* The rows are sent from the caller's memory. */
static void put_own(struct message_plan *p)
{
    struct gw__worker_request *request = p->attempt->partition->request;
    const struct gw__key_range *range = p->attempt->partition->range;
    size_t first = request->partitioning->order[range->first];
    p->message.parts[2].data = request->args.values + first * request->width;
    if (!request->args.lend || p->message.parts[2].bytes < GW__LEND_LEAST_BYTES)
        return;
    request->borrow_count++;
    p->message.borrowed = 4;
    p->message.back = caller_back;
    p->message.context = request;
}

/* The messenger copies the values before it returns. */
static enum gw_err put_copy(struct message_plan *p, size_t values)
{
    struct gw__worker *worker = p->worker;
    if (!gw__grow(&worker->copied, &worker->copied_bytes,
                  values * sizeof(float)))
        return GW_ENOMEM;
    p->message.parts[2].data = worker->copied;
    return fill_values(p, worker->copied, values);
}

static enum gw_err put_values(struct message_plan *p)
{
    const struct gw__partition *partition = p->attempt->partition;
    size_t values = p->head.keys * partition->request->width;
    bool half = p->worker->config.half;
    bool whole = gw__attempt_is_whole(p->attempt);
    size_t bytes = values * (half ? sizeof(uint16_t) : sizeof(float));
    p->message.parts[2].bytes = bytes;
    if (half)
        p->head.flags |= GW__PS_HALF;
    if (whole && partition->range->straight && !half) {
        put_own(p);
        return GW_OK;
    }
    if (whole && bytes >= GW__LEND_LEAST_BYTES &&
        bytes <= p->worker->slabs.cell_bytes && !put_cell(p, values))
        return GW_OK;
    return put_copy(p, values);
}

/* ---- the message ---- */

static void put_head(struct message_plan *p)
{
    const struct gw__worker *worker = p->worker;
    const struct gw__partition *partition = p->attempt->partition;
    const struct gw__request_args *args = &partition->request->args;
    p->head = (struct gw__ps_head){
        .magic = GW__PS_MAGIC,
        .request = gw__attempt_name(p->worker, p->attempt->id),
        .routes = worker->routes.version,
        .sequence = partition->sequence,
        .low_watermark = worker->low_watermark,
        .clock = GW__NO_CLOCK,
        .nans = worker->nans};
    if (!partition->range) {
        p->head.kind = (uint16_t)partition->request->kind;
        p->head.group = (uint8_t)partition->request->group;
        p->head.sequence = partition->request->mark;
        return;
    }
    p->head.kind =
        args->values ? args->out ? GW__PS_PUSH_PULL : GW__PS_PUSH : GW__PS_PULL;
    p->head.clock = args->clock;
    p->head.closed = args->closed;
    p->head.table = (uint16_t)args->table;
    p->head.group = (uint8_t)worker->routes.tables[args->table].group;
}

static enum gw_err put_parts(struct message_plan *p)
{
    struct gw__worker_request *request = p->attempt->partition->request;
    if (!p->attempt->partition->range) {
        p->message.parts[1] = (struct gw__messenger_part){
            request->command, request->command_bytes};
        return GW_OK;
    }
    put_segments(p);
    enum gw_err err = put_keys(p);
    if (!err && request->args.values)
        err = put_values(p);
    return err;
}

/* Each slot after the first would otherwise have been a message of its own. */
static void count_message(struct gw_ps_counts *counts,
                          const struct message_plan *p)
{
    for (unsigned i = 0; i < p->message.part_count; i++)
        counts->bytes_sent += p->message.parts[i].bytes;
    counts->messages_saved += p->head.segments > 1 ? p->head.segments - 1U : 0;
}

enum gw_err gw__message_out_send(struct gw__worker *worker,
                                 struct gw__attempt *attempt)
{
    struct message_plan p = {.worker = worker, .attempt = attempt};
    p.message.node = attempt->node;
    p.message.again = attempt->pause_ns > worker->config.resend_ns;
    put_head(&p);
    enum gw_err err = put_parts(&p);
    if (err)
        return err;
    memcpy(p.front, &p.head, sizeof p.head);
    p.message.parts[0] = (struct gw__messenger_part){
        p.front,
        sizeof p.head + p.head.segments * sizeof(struct gw__ps_segment)};
    p.message.part_count = p.message.parts[2].bytes   ? 3
                           : p.message.parts[1].bytes ? 2
                                                      : 1;
    count_message(&worker->counts, &p);
    worker->config.send(worker->config.context, &p.message);
    return GW_OK;
}
