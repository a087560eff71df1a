/* SPDX-License-Identifier: MIT
 *
 * Internal interface of gw_reducer (gradwire/reducer.h), for its two files and
 * for lib/learn/parallel/shards_reduce.c, where a bucket needs more than an
 * all-reduce. A hook then replaces the reduction (DDP calls this a
 * communication hook). The contents of each bucket and the time of its start
 * are still decided here.
 */
#ifndef GW__REDUCER_H
#define GW__REDUCER_H

#include "coll/bandwidth_optimal.h"

#include <gradwire/reducer.h>

struct gw__reducer_hook {
    void *context;
    /* Once per step and bucket, in the order of their numbers. */
    enum gw_err (*begin)(void *context, unsigned bucket, struct gw_error *why);
    /* In that order, too. GW_PENDING: it has not arrived; never with `wait`. */
    enum gw_err (*end)(void *context, unsigned bucket, bool wait,
                       struct gw_error *why);
};

struct gw__reducer_tensor {
    struct gw_reducer_tensor config;
    unsigned bucket;
    size_t offset; /* bytes from the bucket's begin */
    bool ready;    /* in this step */
};

/* The tensors[begin..end) of one bucket. */
struct gw__reducer_bucket {
    unsigned begin, end;
    unsigned missing; /* of its tensors, in this step */
    size_t count;     /* elements */
    void *data;       /* its first tensor, or `staging` */
    void *staging;    /* NULL: reduced in place */
    struct gw__sum sum;
};

struct gw_reducer {
    struct gw_comm *comm; /* NULL: the hook does all communication */
    struct gw__reducer_hook hook;
    struct gw__reducer_tensor *tensors;
    unsigned tensor_count;
    size_t elem_bytes;
    struct gw__reducer_bucket *buckets;
    unsigned bucket_count;
    unsigned begun, arrived;   /* buckets, in this step */
    struct gw_error failed;    /* code GW_OK: no failure */
    uint64_t begin_ns, end_ns; /* of this step; 0: not begun */
    double comm_us, exposed_us;
};

/* As gw_reducer_new, with a hook (NULL: none), which is copied. `comm` NULL:
 * the reducer does not all-reduce buckets itself, and the tensors' memory is
 * not used. The list of tensors may be empty. */
GW_MUST_CHECK enum gw_err
gw__reducer_new(struct gw_comm *comm, const struct gw_reducer_config *config,
                const struct gw__reducer_hook *hook,
                struct gw_reducer **reducer, struct gw_error *why);
/* Marks every other tensor as ready. */
GW_MUST_CHECK enum gw_err gw__reducer_ready_all(struct gw_reducer *reducer,
                                                struct gw_error *why);
/* Waits for the buckets before `until`, which have begun. */
GW_MUST_CHECK enum gw_err gw__reducer_arrive(struct gw_reducer *reducer,
                                             unsigned until, bool wait,
                                             struct gw_error *why);
/* Begins the next step. */
void gw__reducer_reset(struct gw_reducer *reducer);

#endif
