/* SPDX-License-Identifier: MIT
 *
 * One step of a reducer. Two numbers describe its progress:
 *
 *     buckets   0 ... arrived ... begun ... bucket_count
 *               reduced     under way     waits for gradients, or for those
 *                                         of the buckets before it
 *
 * Both only grow, so that all ranks start the same calls in the same order,
 * whatever the order of their gradients (Li et al. 2020, section 3.2.3).
 */
#include "reducer.h"

#include <stdio.h>
#include <string.h>

static void tensor_name(const struct gw_reducer *reducer, unsigned tensor,
                        char name[40])
{
    const char *configured = reducer->tensors[tensor].config.name;
    if (configured)
        snprintf(name, 40, "%.39s", configured);
    else
        snprintf(name, 40, "tensor %u", tensor);
}

/* From here on every call returns this error. */
static enum gw_err keep_error(struct gw_reducer *reducer, enum gw_err code,
                              const struct gw_error *error,
                              struct gw_error *why)
{
    reducer->failed = *error;
    reducer->failed.code = code;
    if (why)
        *why = reducer->failed;
    return code;
}

static enum gw_err repeat_error(const struct gw_reducer *reducer,
                                struct gw_error *why)
{
    if (reducer->failed.code && why)
        *why = reducer->failed;
    return reducer->failed.code;
}

/* "reducer: bucket 1 of 3, w2 to b3: SENTENCE" */
static enum gw_err bucket_failed(const struct gw_reducer *reducer, unsigned b,
                                 enum gw_err code, struct gw_error *why)
{
    const struct gw__reducer_bucket *bucket = &reducer->buckets[b];
    const struct gw_error *error = gw_comm_error(reducer->comm);
    char first[40], last[40];
    tensor_name(reducer, bucket->begin, first);
    tensor_name(reducer, bucket->end - 1, last);
    return gw_fail(why, code, "reducer: bucket %u of %u, %s%s%s: %.300s", b + 1,
                   reducer->bucket_count, first,
                   bucket->end - bucket->begin > 1 ? " to " : "",
                   bucket->end - bucket->begin > 1 ? last : "",
                   error->code ? error->text : gw_err_text(code));
}

static enum gw_err sum_begin(struct gw_reducer *reducer, unsigned bucket,
                             struct gw_error *why)
{
    struct gw__reducer_bucket *b = &reducer->buckets[bucket];
    enum gw_err err = gw__sum_start(&b->sum, b->data);
    return err ? bucket_failed(reducer, bucket, err, why) : GW_OK;
}

static enum gw_err sum_end(struct gw_reducer *reducer, unsigned bucket,
                           bool wait, struct gw_error *why)
{
    enum gw_err err = gw__sum_end(&reducer->buckets[bucket].sum, wait);
    return err && err != GW_PENDING ? bucket_failed(reducer, bucket, err, why)
                                    : err;
}

/* Between a tensor and its place in a bucket that is not reduced in place. */
static void copy_tensor(const struct gw_reducer *reducer,
                        const struct gw__reducer_bucket *bucket, unsigned i,
                        bool back)
{
    const struct gw__reducer_tensor *tensor = &reducer->tensors[i];
    void *data = tensor->config.data;
    if (!bucket->staging)
        return;
    unsigned char *place = (unsigned char *)bucket->staging + tensor->offset;
    memcpy(back ? data : place, back ? place : data,
           tensor->config.count * reducer->elem_bytes);
}

static enum gw_err begin_bucket(struct gw_reducer *reducer, unsigned bucket,
                                struct gw_error *why)
{
    const struct gw__reducer_hook *hook = &reducer->hook;
    if (reducer->begin_ns == 0)
        reducer->begin_ns = gw_now_ns();
    return hook->begin ? hook->begin(hook->context, bucket, why)
                       : sum_begin(reducer, bucket, why);
}

static enum gw_err end_bucket(struct gw_reducer *reducer, unsigned bucket,
                              bool wait, struct gw_error *why)
{
    const struct gw__reducer_hook *hook = &reducer->hook;
    const struct gw__reducer_bucket *b = &reducer->buckets[bucket];
    enum gw_err err = hook->end ? hook->end(hook->context, bucket, wait, why)
                                : sum_end(reducer, bucket, wait, why);
    for (unsigned i = b->begin; !err && i < b->end; i++)
        copy_tensor(reducer, b, i, true);
    if (!err)
        reducer->end_ns = gw_now_ns();
    return err;
}

static enum gw_err begin_complete(struct gw_reducer *reducer,
                                  struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && reducer->begun < reducer->bucket_count &&
           reducer->buckets[reducer->begun].missing == 0)
        err = begin_bucket(reducer, reducer->begun++, why);
    return err;
}

enum gw_err gw__reducer_arrive(struct gw_reducer *reducer, unsigned until,
                               bool wait, struct gw_error *why)
{
    struct gw_error own = {0};
    enum gw_err err = repeat_error(reducer, why);
    if (err)
        return err;
    while (!err && reducer->arrived < until) {
        err = end_bucket(reducer, reducer->arrived, wait, &own);
        reducer->arrived += !err;
    }
    return err && err != GW_PENDING ? keep_error(reducer, err, &own, why) : err;
}

enum gw_err gw_reducer_poll(struct gw_reducer *reducer, struct gw_error *why)
{
    enum gw_err err = gw__reducer_arrive(reducer, reducer->begun, false, why);
    return err == GW_PENDING ? GW_OK : err;
}

enum gw_err gw_reducer_ready(struct gw_reducer *reducer, unsigned tensor,
                             struct gw_error *why)
{
    char name[40];
    struct gw_error own = {0};
    enum gw_err err = repeat_error(reducer, why);
    if (err)
        return err;
    if (tensor >= reducer->tensor_count)
        return gw_fail(why, GW_EINVAL,
                       "reducer: tensor %u is ready, but there are only %u "
                       "tensors, numbered from 0",
                       tensor, reducer->tensor_count);
    tensor_name(reducer, tensor, name);
    if (reducer->tensors[tensor].ready)
        return gw_fail(
            why, GW_EINVAL,
            "reducer: %s is ready twice in one step; report each tensor once",
            name);
    struct gw__reducer_bucket *bucket =
        &reducer->buckets[reducer->tensors[tensor].bucket];
    reducer->tensors[tensor].ready = true;
    bucket->missing--;
    copy_tensor(reducer, bucket, tensor, false);
    err = begin_complete(reducer, &own);
    return err ? keep_error(reducer, err, &own, why)
               : gw_reducer_poll(reducer, why);
}

enum gw_err gw__reducer_ready_all(struct gw_reducer *reducer,
                                  struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned i = reducer->tensor_count; !err && i-- > 0;)
        if (!reducer->tensors[i].ready)
            err = gw_reducer_ready(reducer, i, why);
    return err;
}

/* Names the first few. All ranks are notified: the others would otherwise wait
 * for this one. */
static enum gw_err check_all_ready(struct gw_reducer *reducer,
                                   struct gw_error *why)
{
    enum { SHOWN = 4 };
    struct gw_error own = {0};
    char names[SHOWN * 44] = "", name[40];
    unsigned missing = 0;
    for (unsigned i = 0; i < reducer->tensor_count; i++) {
        size_t used = strlen(names);
        if (reducer->tensors[i].ready || missing++ >= SHOWN)
            continue;
        tensor_name(reducer, i, name);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                 name);
    }
    if (missing == 0)
        return GW_OK;
    gw_fail(&own, GW_EINVAL,
            "reducer: rank %u waits, but %u of %u tensors have no gradient in "
            "this step: %s%s; report every tensor",
            gw_comm_rank(reducer->comm), missing, reducer->tensor_count, names,
            missing > SHOWN ? ", ..." : "");
    gw_comm_abort(reducer->comm, GW_EINVAL, own.text);
    return keep_error(reducer, GW_EINVAL, &own, why);
}

enum gw_err gw_reducer_wait(struct gw_reducer *reducer, struct gw_error *why)
{
    uint64_t since_ns = gw_now_ns();
    enum gw_err err = repeat_error(reducer, why);
    if (!err)
        err = check_all_ready(reducer, why);
    if (!err)
        err = gw__reducer_arrive(reducer, reducer->bucket_count, true, why);
    if (err)
        return err;
    reducer->comm_us = (double)(reducer->end_ns - reducer->begin_ns) / 1e3;
    reducer->exposed_us = reducer->end_ns < since_ns
                              ? 0
                              : (double)(reducer->end_ns - since_ns) / 1e3;
    gw__reducer_reset(reducer);
    return GW_OK;
}

void gw__reducer_reset(struct gw_reducer *reducer)
{
    reducer->begun = reducer->arrived = 0;
    reducer->begin_ns = reducer->end_ns = 0;
    for (unsigned b = 0; b < reducer->bucket_count; b++)
        reducer->buckets[b].missing =
            reducer->buckets[b].end - reducer->buckets[b].begin;
    for (unsigned i = 0; i < reducer->tensor_count; i++)
        reducer->tensors[i].ready = false;
}
