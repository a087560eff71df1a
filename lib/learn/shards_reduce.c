/* SPDX-License-Identifier: MIT
 *
 * Buckets of gradients on their way (Li et al. 2020, section 3.2.3: the bucket,
 * not the parameter, is what travels while the backward pass goes on; and
 * buckets leave in one order on all ranks, whichever is complete first).
 *
 *           begin                          move
 *   OPEN --> BESIDE --> SCATTER ---------------> SUM --> ARRIVED
 *             tensor     group                    replicas
 *
 * A bucket whose gradients are summands along the tensor axis waits there until
 * the next bucket begins, or the step ends: only at such a place is it certain
 * that all ranks of the data axis start their next call at the same time.
 */
#include "learn/shards_parts.h"

#include <string.h>

enum gw_err gw__shards_failed(const struct gw_comm *comm, const char *what,
                              enum gw_err code, struct gw_error *why)
{
    const struct gw_error *error = gw_comm_error(comm);
    return gw_fail(why, code, "%s: %s", what,
                   error->code ? error->text : gw_err_text(code));
}

void gw__buckets_reset(struct gw__shards *shards)
{
    shards->begun = shards->scattered = shards->arrived = 0;
    for (unsigned b = 0; b < shards->bucket_count; b++) {
        struct gw__bucket *bucket = &shards->buckets[b];
        bucket->state = GW__BUCKET_OPEN;
        bucket->missing = bucket->end - bucket->begin;
    }
    for (unsigned i = 0; i < shards->held_count; i++)
        shards->held[i].complete = false;
}

/* ---- beginning ---- */

/* In place: the own block lies in the whole where it belongs. */
static enum gw_err scatter(struct gw__shards *shards, struct gw__held *held,
                           struct gw_error *why)
{
    float *whole = gw__held_whole_gradient(shards, held, why);
    if (!whole)
        return why ? why->code : GW_ENOMEM;
    struct gw_call call = {.collective = GW_REDUCE_SCATTER,
                           .in = GW_IN_PLACE,
                           .out = whole,
                           .count = held->block,
                           .type = GW_F32,
                           .op = GW_SUM,
                           .algo = held->scatter_algo};
    enum gw_err err = gw_start(shards->group, &call, &held->request);
    return err ? gw__shards_failed(shards->group, "scattering gradients", err,
                                   why)
               : GW_OK;
}

/* Onto the data axis. */
static enum gw_err begin_data(struct gw__shards *shards,
                              struct gw__bucket *bucket, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (shards->begin_ns == 0 && (shards->group || shards->replicas))
        shards->begin_ns = gw_now_ns();
    if (shards->group) {
        bucket->state = GW__BUCKET_SCATTER;
        for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
            err = scatter(shards, &shards->held[i], why);
        return err;
    }
    bucket->state = GW__BUCKET_SUM;
    err = gw__sum_start(&bucket->sum, shards->held[bucket->begin].gradient);
    return err ? gw__shards_failed(shards->replicas, "adding up gradients", err,
                                   why)
               : GW_OK;
}

/* Along the tensor axis, if there is anything to add up. */
static enum gw_err begin_beside(struct gw__shards *shards,
                                struct gw__bucket *bucket, struct gw_error *why)
{
    for (unsigned i = bucket->begin; i < bucket->end; i++) {
        struct gw__held *held = &shards->held[i];
        if (!held->beside.comm)
            continue;
        bucket->state = GW__BUCKET_BESIDE;
        float *whole = gw__held_whole_gradient(shards, held, why);
        if (!whole)
            return why ? why->code : GW_ENOMEM;
        enum gw_err err = gw__sum_start(&held->beside, whole);
        if (err)
            return gw__shards_failed(shards->tensor, "adding up gradients", err,
                                     why);
    }
    return GW_OK;
}

static enum gw_err end_beside(struct gw__shards *shards,
                              struct gw__bucket *bucket, struct gw_error *why)
{
    for (unsigned i = bucket->begin; i < bucket->end; i++) {
        enum gw_err err = gw__sum_end(&shards->held[i].beside, true);
        if (err)
            return gw__shards_failed(shards->tensor, "adding up gradients", err,
                                     why);
    }
    return begin_data(shards, bucket, why);
}

/* The last one that has begun may still be beside. */
static enum gw_err send_off(struct gw__shards *shards, struct gw_error *why)
{
    if (shards->begun == 0)
        return GW_OK;
    struct gw__bucket *last = &shards->buckets[shards->begun - 1];
    return last->state == GW__BUCKET_BESIDE ? end_beside(shards, last, why)
                                            : GW_OK;
}

enum gw_err gw__buckets_begin(struct gw__shards *shards, bool all,
                              struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && shards->begun < shards->bucket_count) {
        struct gw__bucket *bucket = &shards->buckets[shards->begun];
        if (bucket->missing && !all)
            return GW_OK;
        err = send_off(shards, why);
        shards->begun++;
        if (!err)
            err = begin_beside(shards, bucket, why);
        if (!err && bucket->state != GW__BUCKET_BESIDE)
            err = begin_data(shards, bucket, why);
    }
    return err || !all ? err : send_off(shards, why);
}

/* ---- moving on ---- */

static enum gw_err end_request(struct gw_request **request, bool wait)
{
    return wait ? gw_wait(request) : gw_test(request);
}

/* The block is here: it leaves the whole, whose memory is free again, and is
 * added to those of the replicas. */
static enum gw_err keep_block(struct gw__shards *shards, struct gw__held *held,
                              struct gw_error *why)
{
    float *block = held->gradient + held->own;
    if (shards->gathers) {
        block = held->gradient;
        memcpy(block, held->summands + held->own,
               held->block * sizeof *held->gradient);
        gw__shard_pool_give_back(&shards->summands, held->summands);
        held->summands = NULL;
    }
    enum gw_err err = gw__sum_start(&held->sum, block);
    return err ? gw__shards_failed(shards->replicas, "adding up gradients", err,
                                   why)
               : GW_OK;
}

static enum gw_err end_scatter(struct gw__shards *shards,
                               struct gw__bucket *bucket, bool wait,
                               struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = end_request(&shards->held[i].request, wait);
    if (err == GW_PENDING)
        return err;
    if (err)
        return gw__shards_failed(shards->group, "scattering gradients", err,
                                 why);
    bucket->state = GW__BUCKET_SUM;
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = keep_block(shards, &shards->held[i], why);
    return err;
}

static enum gw_err end_sum(struct gw__shards *shards, struct gw__bucket *bucket,
                           bool wait, struct gw_error *why)
{
    enum gw_err err = gw__sum_end(&bucket->sum, wait);
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = gw__sum_end(&shards->held[i].sum, wait);
    if (err == GW_PENDING)
        return err;
    if (err)
        return gw__shards_failed(shards->replicas, "adding up gradients", err,
                                 why);
    bucket->state = GW__BUCKET_ARRIVED;
    shards->end_ns = gw_now_ns();
    return GW_OK;
}

/* Beyond SCATTER, in order, so that all ranks sum in the same order. */
static enum gw_err move_scatters(struct gw__shards *shards, unsigned until,
                                 bool wait, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && shards->scattered < until) {
        struct gw__bucket *bucket = &shards->buckets[shards->scattered];
        if (bucket->state < GW__BUCKET_SCATTER)
            return GW_OK;
        if (bucket->state == GW__BUCKET_SCATTER)
            err = end_scatter(shards, bucket, wait, why);
        shards->scattered += !err;
    }
    return err;
}

static enum gw_err move_sums(struct gw__shards *shards, unsigned until,
                             bool wait, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && shards->arrived < until) {
        struct gw__bucket *bucket = &shards->buckets[shards->arrived];
        if (bucket->state < GW__BUCKET_SUM)
            return GW_OK;
        err = end_sum(shards, bucket, wait, why);
        shards->arrived += !err;
    }
    return err;
}

static enum gw_err not_yet_is_fine(enum gw_err err)
{
    return err == GW_PENDING ? GW_OK : err;
}

enum gw_err gw__buckets_move(struct gw__shards *shards, unsigned until,
                             bool wait, struct gw_error *why)
{
    enum gw_err err =
        not_yet_is_fine(move_scatters(shards, shards->begun, false, why));
    if (!err && wait)
        err = move_scatters(shards, until, true, why);
    if (!err && wait)
        err = move_sums(shards, until, true, why);
    else if (!err)
        err = not_yet_is_fine(move_sums(shards, shards->begun, false, why));
    return err;
}

/* What is beside moves, too, but goes on to the data axis only when the next
 * bucket begins. */
static enum gw_err look_beside(struct gw__shards *shards, struct gw_error *why)
{
    if (shards->begun == 0)
        return GW_OK;
    struct gw__bucket *last = &shards->buckets[shards->begun - 1];
    enum gw_err err = GW_OK;
    if (last->state != GW__BUCKET_BESIDE)
        return GW_OK;
    for (unsigned i = last->begin; !err && i < last->end; i++)
        err = gw__sum_end(&shards->held[i].beside, false);
    if (not_yet_is_fine(err))
        return gw__shards_failed(shards->tensor, "adding up gradients", err,
                                 why);
    return GW_OK;
}

enum gw_err gw__shards_poll(struct gw__shards *shards, struct gw_error *why)
{
    enum gw_err err = look_beside(shards, why);
    return err ? err : gw__buckets_move(shards, shards->begun, false, why);
}
