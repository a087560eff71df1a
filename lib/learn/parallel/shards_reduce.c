/* SPDX-License-Identifier: MIT
 *
 * Buckets of gradients under way. gw_reducer decides when a bucket begins; this
 * is its hook, with the further stages:
 *
 *           begin                          end
 *   OPEN --> BESIDE --> SCATTER ---------------> SUM --> ARRIVED
 *             tensor     group                    replicas
 *
 * A bucket whose gradients are partial sums along the tensor axis stays in
 * BESIDE until the next bucket begins or the step ends. Only at these points do
 * all ranks of the data axis start their next call in the same order.
 */
#include "shards_parts.h"

#include <stdlib.h>
#include <string.h>

enum gw_err gw__shards_failed(const struct gw_comm *comm, const char *what,
                              enum gw_err code, struct gw_error *why)
{
    const struct gw_error *error = gw_comm_error(comm);
    return gw_fail(why, code, "%s: %s", what,
                   error->code ? error->text : gw_err_text(code));
}

/* ---- begin ---- */

/* In place: this rank's block is at its position within the whole. */
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

/* Begins the reduction along the data axis. */
static enum gw_err begin_data(struct gw__shards *shards, unsigned b,
                              struct gw_error *why)
{
    struct gw__reducer_bucket *bucket = &shards->reducer->buckets[b];
    enum gw_err err = GW_OK;
    if (shards->begin_ns == 0 && (shards->group || shards->replicas))
        shards->begin_ns = gw_now_ns();
    if (shards->group) {
        shards->buckets[b] = GW__BUCKET_SCATTER;
        for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
            err = scatter(shards, &shards->held[i], why);
        return err;
    }
    shards->buckets[b] = GW__BUCKET_SUM;
    err = gw__sum_start(&bucket->sum, bucket->data);
    return err ? gw__shards_failed(shards->replicas, "adding up gradients", err,
                                   why)
               : GW_OK;
}

/* Begins the sum along the tensor axis, if needed. */
static enum gw_err begin_parallel(struct gw__shards *shards, unsigned b,
                                  struct gw_error *why)
{
    const struct gw__reducer_bucket *bucket = &shards->reducer->buckets[b];
    for (unsigned i = bucket->begin; i < bucket->end; i++) {
        struct gw__held *held = &shards->held[i];
        if (!held->parallel.comm)
            continue;
        shards->buckets[b] = GW__BUCKET_PARALLEL;
        float *whole = gw__held_whole_gradient(shards, held, why);
        if (!whole)
            return why ? why->code : GW_ENOMEM;
        enum gw_err err = gw__sum_start(&held->parallel, whole);
        if (err)
            return gw__shards_failed(shards->tensor, "adding up gradients", err,
                                     why);
    }
    return GW_OK;
}

/* GW_PENDING: not complete yet. */
static enum gw_err end_parallel(struct gw__shards *shards, unsigned b,
                                bool wait, struct gw_error *why)
{
    const struct gw__reducer_bucket *bucket = &shards->reducer->buckets[b];
    enum gw_err err = GW_OK;
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = gw__sum_end(&shards->held[i].parallel, wait);
    return err && err != GW_PENDING
               ? gw__shards_failed(shards->tensor, "adding up gradients", err,
                                   why)
               : err;
}

/* The bucket before bucket b may still be in GW__BUCKET_PARALLEL. */
static enum gw_err send_off(struct gw__shards *shards, unsigned b,
                            struct gw_error *why)
{
    if (b == 0 || shards->buckets[b - 1] != GW__BUCKET_PARALLEL)
        return GW_OK;
    enum gw_err err = end_parallel(shards, b - 1, true, why);
    return err ? err : begin_data(shards, b - 1, why);
}

static enum gw_err begin_bucket(void *context, unsigned b, struct gw_error *why)
{
    struct gw__shards *shards = context;
    enum gw_err err = send_off(shards, b, why);
    if (!err)
        err = begin_parallel(shards, b, why);
    return err || shards->buckets[b] == GW__BUCKET_PARALLEL
               ? err
               : begin_data(shards, b, why);
}

enum gw_err gw__shard_buckets_begin_all(struct gw__shards *shards,
                                        struct gw_error *why)
{
    struct gw_reducer *reducer = shards->reducer;
    enum gw_err err = gw__reducer_ready_all(reducer, why);
    return err ? err : send_off(shards, reducer->begun, why);
}

/* ---- progress ---- */

static enum gw_err end_request(struct gw_request **request, bool wait)
{
    return wait ? gw_wait(request) : gw_test(request);
}

/* This rank's block is complete: copies it, returns the whole gradient's
 * memory, and adds the blocks of the replicas. */
static enum gw_err keep_block(struct gw__shards *shards, struct gw__held *held,
                              struct gw_error *why)
{
    float *block = held->gradient + held->own;
    if (shards->gathers) {
        block = held->gradient;
        memcpy(block, held->summands + held->own,
               held->block * sizeof *held->gradient);
        gw__shard_pool_release(&shards->summands, held->summands);
        held->summands = NULL;
    }
    enum gw_err err = gw__sum_start(&held->sum, block);
    return err ? gw__shards_failed(shards->replicas, "adding up gradients", err,
                                   why)
               : GW_OK;
}

static enum gw_err end_scatter(struct gw__shards *shards, unsigned b, bool wait,
                               struct gw_error *why)
{
    const struct gw__reducer_bucket *bucket = &shards->reducer->buckets[b];
    enum gw_err err = GW_OK;
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = end_request(&shards->held[i].request, wait);
    if (err == GW_PENDING)
        return err;
    if (err)
        return gw__shards_failed(shards->group, "scattering gradients", err,
                                 why);
    shards->buckets[b] = GW__BUCKET_SUM;
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = keep_block(shards, &shards->held[i], why);
    return err;
}

static enum gw_err end_sum(struct gw__shards *shards, unsigned b, bool wait,
                           struct gw_error *why)
{
    struct gw__reducer_bucket *bucket = &shards->reducer->buckets[b];
    enum gw_err err = gw__sum_end(&bucket->sum, wait);
    for (unsigned i = bucket->begin; !err && i < bucket->end; i++)
        err = gw__sum_end(&shards->held[i].sum, wait);
    if (err == GW_PENDING)
        return err;
    if (err)
        return gw__shards_failed(shards->replicas, "adding up gradients", err,
                                 why);
    shards->buckets[b] = GW__BUCKET_ARRIVED;
    shards->end_ns = gw_now_ns();
    return GW_OK;
}

/* In order, so that all ranks start the sums after SCATTER in the same
 * order. */
static enum gw_err move_scatters(struct gw__shards *shards, unsigned until,
                                 bool wait, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && shards->scattered < until) {
        enum gw__bucket_state state = shards->buckets[shards->scattered];
        if (state < GW__BUCKET_SCATTER)
            return GW_PENDING;
        if (state == GW__BUCKET_SCATTER)
            err = end_scatter(shards, shards->scattered, wait, why);
        shards->scattered += !err;
    }
    return err;
}

static enum gw_err end_bucket(void *context, unsigned b, bool wait,
                              struct gw_error *why)
{
    struct gw__shards *shards = context;
    enum gw_err err = move_scatters(shards, shards->reducer->begun, false, why);
    if (err == GW_PENDING)
        err = move_scatters(shards, b + 1, wait, why);
    return err ? err : end_sum(shards, b, wait, why);
}

/* A bucket in GW__BUCKET_PARALLEL makes progress, too, but proceeds to the data
 * axis only when the next one begins. */
enum gw_err gw__shards_poll(struct gw__shards *shards, struct gw_error *why)
{
    unsigned begun = shards->reducer->begun;
    enum gw_err err = GW_OK;
    if (begun > 0 && shards->buckets[begun - 1] == GW__BUCKET_PARALLEL)
        err = end_parallel(shards, begun - 1, false, why);
    return err && err != GW_PENDING ? err
                                    : gw_reducer_poll(shards->reducer, why);
}

/* ---- creation ---- */

/* bucket_bytes 0: a single bucket. */
enum gw_err gw__shard_buckets_init(struct gw__shards *shards,
                                   struct gw_error *why)
{
    const struct gw__reducer_hook hook = {shards, begin_bucket, end_bucket};
    size_t bytes = shards->config.bucket_bytes;
    bytes = bytes ? bytes : SIZE_MAX;
    struct gw_reducer_tensor *tensors =
        calloc((size_t)shards->held_count + 1, sizeof *tensors);
    if (!tensors)
        return gw_fail(why, GW_ENOMEM, "%u gradients", shards->held_count);
    for (unsigned i = 0; i < shards->held_count; i++) {
        tensors[i].data = shards->held[i].gradient;
        tensors[i].count = shards->held[i].whole;
    }
    const struct gw_reducer_config config = {.tensors = tensors,
                                             .tensor_count = shards->held_count,
                                             .type = GW_F32,
                                             .op = GW_SUM,
                                             .bucket_bytes = bytes,
                                             .first_bucket_bytes = bytes,
                                             .algo = shards->config.algo};
    enum gw_err err = gw__reducer_new(shards->group ? NULL : shards->replicas,
                                      &config, &hook, &shards->reducer, why);
    free(tensors);
    if (err)
        return err;
    shards->buckets = calloc((size_t)gw_reducer_buckets(shards->reducer) + 1,
                             sizeof *shards->buckets);
    if (!shards->buckets)
        return gw_fail(why, GW_ENOMEM, "%u buckets",
                       gw_reducer_buckets(shards->reducer));
    gw__shard_buckets_reset(shards);
    return GW_OK;
}

void gw__shard_buckets_reset(struct gw__shards *shards)
{
    gw__reducer_reset(shards->reducer);
    shards->scattered = 0;
    for (unsigned b = 0; b < gw_reducer_buckets(shards->reducer); b++)
        shards->buckets[b] = GW__BUCKET_OPEN;
}
