/* SPDX-License-Identifier: MIT
 *
 * Assigns tensors to buckets and buckets to memory. Buckets are filled from the
 * last tensor to the first:
 *
 *     tensors   0   1   2   3   4   5   6      in the order of the forward pass
 *     bucket    2   2   1   1   1   1   0      0 has the limit of the first
 *
 * A bucket's elements are in the order of its tensors, on every rank, whether
 * they are reduced in place or in the reducer's own memory; ranks need not
 * agree on that. Read on in reducer_step.c.
 */
#include "reducer.h"

#include <stdlib.h>

static enum gw_err check_reducer_config(const struct gw_reducer_config *config,
                                        struct gw_error *why)
{
    if (!config->tensors || config->tensor_count == 0)
        return gw_fail(why, GW_EINVAL, "reducer: the list of tensors is empty");
    for (unsigned i = 0; i < config->tensor_count; i++)
        if (!config->tensors[i].data || config->tensors[i].count == 0)
            return gw_fail(why, GW_EINVAL,
                           "reducer: tensor %u has no %s: every tensor needs "
                           "memory and at least one element",
                           i, config->tensors[i].data ? "elements" : "memory");
    if ((unsigned)config->type >= GW_DTYPE_COUNT)
        return gw_fail(why, GW_EINVAL, "reducer: unknown type %d",
                       (int)config->type);
    if (config->op != GW_SUM && config->op != GW_AVG)
        return gw_fail(
            why, GW_EINVAL,
            "reducer: gradients must be reduced by sum or avg, not %s",
            (unsigned)config->op < GW_REDOP_COUNT ? gw_redop_name(config->op)
                                                  : "an unknown operation");
    return GW_OK;
}

static void assign_buckets(struct gw_reducer *reducer, size_t first_bytes,
                           size_t bytes)
{
    size_t held = 0, limit = first_bytes;
    for (unsigned i = reducer->tensor_count; i-- > 0;) {
        if (held == 0)
            reducer->buckets[reducer->bucket_count++].end = i + 1;
        struct gw__reducer_bucket *bucket =
            &reducer->buckets[reducer->bucket_count - 1];
        struct gw__reducer_tensor *tensor = &reducer->tensors[i];
        bucket->begin = i;
        bucket->count += tensor->config.count;
        tensor->bucket = reducer->bucket_count - 1;
        held += tensor->config.count * reducer->elem_bytes;
        if (held >= limit) {
            held = 0;
            limit = bytes;
        }
    }
}

/* Are the bucket's tensors laid out as they would be in its own memory? */
static bool set_offsets(struct gw_reducer *reducer,
                        const struct gw__reducer_bucket *bucket)
{
    const unsigned char *data = reducer->tensors[bucket->begin].config.data;
    size_t offset = 0;
    bool adjacent = true;
    for (unsigned i = bucket->begin; i < bucket->end; i++) {
        struct gw__reducer_tensor *tensor = &reducer->tensors[i];
        tensor->offset = offset;
        adjacent = adjacent && tensor->config.data == data + offset;
        offset += tensor->config.count * reducer->elem_bytes;
    }
    return adjacent;
}

static enum gw_err lay_out_buckets(struct gw_reducer *reducer,
                                   const struct gw_reducer_config *config,
                                   struct gw_error *why)
{
    for (unsigned b = 0; b < reducer->bucket_count; b++) {
        struct gw__reducer_bucket *bucket = &reducer->buckets[b];
        bucket->data = reducer->tensors[bucket->begin].config.data;
        gw__sum_init(&bucket->sum, reducer->comm, bucket->count, config->type,
                     config->op, config->algo);
        if (!reducer->comm || set_offsets(reducer, bucket))
            continue;
        struct gw_error own = {0};
        bucket->staging = gw_alloc(bucket->count * reducer->elem_bytes, &own);
        if (!bucket->staging)
            return gw_fail(why, own.code, "reducer: bucket %u: %s", b,
                           own.text);
        bucket->data = bucket->staging;
    }
    return GW_OK;
}

static struct gw_reducer *new_reducer(const struct gw_reducer_config *config)
{
    struct gw_reducer *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    size_t room = (size_t)config->tensor_count + 1;
    made->elem_bytes = gw_dtype_size(config->type);
    made->tensors = calloc(room, sizeof *made->tensors);
    made->buckets = calloc(room, sizeof *made->buckets);
    if (!made->tensors || !made->buckets) {
        gw_reducer_free(&made);
        return NULL;
    }
    made->tensor_count = config->tensor_count;
    for (unsigned i = 0; i < made->tensor_count; i++)
        made->tensors[i].config = config->tensors[i];
    return made;
}

enum gw_err gw__reducer_new(struct gw_comm *comm,
                            const struct gw_reducer_config *config,
                            const struct gw__reducer_hook *hook,
                            struct gw_reducer **reducer, struct gw_error *why)
{
    size_t bytes = config->bucket_bytes, first = config->first_bucket_bytes;
    *reducer = NULL;
    struct gw_reducer *made = new_reducer(config);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "reducer: %u tensors",
                       config->tensor_count);
    made->comm = comm;
    made->hook = hook ? *hook : (struct gw__reducer_hook){0};
    bytes = bytes ? bytes : GW_REDUCER_BUCKET_BYTES;
    first = first ? first : GW_REDUCER_FIRST_BUCKET_BYTES;
    assign_buckets(made, first < bytes ? first : bytes, bytes);
    enum gw_err err = lay_out_buckets(made, config, why);
    if (err) {
        gw_reducer_free(&made);
        return err;
    }
    gw__reducer_reset(made);
    *reducer = made;
    return GW_OK;
}

enum gw_err gw_reducer_new(struct gw_comm *comm,
                           const struct gw_reducer_config *config,
                           struct gw_reducer **reducer, struct gw_error *why)
{
    *reducer = NULL;
    enum gw_err err = check_reducer_config(config, why);
    return err ? err : gw__reducer_new(comm, config, NULL, reducer, why);
}

void gw_reducer_free(struct gw_reducer **reducer)
{
    static const char *const sentence =
        "the reducer was freed: training ended during a step";
    struct gw_reducer *gone = *reducer;
    if (!gone)
        return;
    if (gone->comm && gone->begun > 0)
        gw_comm_abort(gone->comm, GW_ECLOSED, sentence);
    for (unsigned b = 0; b < gone->bucket_count; b++) {
        gw__sum_cancel(&gone->buckets[b].sum, sentence);
        gw_free(gone->buckets[b].staging);
    }
    free(gone->tensors);
    free(gone->buckets);
    free(gone);
    *reducer = NULL;
}

unsigned gw_reducer_buckets(const struct gw_reducer *reducer)
{
    return reducer->bucket_count;
}

unsigned gw_reducer_bucket(const struct gw_reducer *reducer, unsigned tensor)
{
    return tensor < reducer->tensor_count ? reducer->tensors[tensor].bucket
                                          : reducer->bucket_count;
}

void gw_reducer_times(const struct gw_reducer *reducer, double *comm_us,
                      double *exposed_us)
{
    *comm_us = reducer->comm_us;
    *exposed_us = reducer->exposed_us;
}
