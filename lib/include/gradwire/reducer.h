/* SPDX-License-Identifier: MIT
 *
 * A bucketed reducer: it all-reduces gradients during the backward pass, as
 * PyTorch's DistributedDataParallel does (Li et al., "PyTorch Distributed",
 * VLDB 2020, section 3.2). One all-reduce per tensor pays a latency for each; a
 * single one at the end overlaps with no computation. So tensors are put into
 * buckets, the last tensor first, because the backward pass computes its
 * gradient first. The all-reduce of a bucket starts when its last gradient is
 * ready.
 *
 *     gw_reducer_new(comm, &config, &reducer, &why)
 *     in each step:
 *         for each layer, the last one first:
 *             compute its gradients
 *             gw_reducer_ready(reducer, tensor, &why)      for each of them
 *         gw_reducer_wait(reducer, &why)
 *         the optimiser's step, on the mean gradients
 *     gw_reducer_free(&reducer)
 *
 * Gradients may become ready in a different order on each rank: buckets start
 * in the order of their numbers on all ranks, so that their calls match. A
 * bucket that is complete early waits for those before it.
 *
 * A reducer belongs to one thread, which may make other calls on the
 * communicator only between gw_reducer_wait and the first gw_reducer_ready of
 * the next step.
 */
#ifndef GRADWIRE_REDUCER_H
#define GRADWIRE_REDUCER_H

#include <gradwire/base.h>
#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A gradient: `count` (> 0) elements at `data`, the same size on all ranks. The
 * memory belongs to the caller: it writes the rank's own gradient into it
 * before gw_reducer_ready and reads the reduced one after gw_reducer_wait, and
 * must not use it in between. */
struct gw_reducer_tensor {
    const char *name; /* for errors, borrowed; NULL: "tensor N" */
    void *data;
    size_t count;
};

/* Buckets of DDP's sizes (bucket_cap_mb, and its first bucket). */
enum {
    GW_REDUCER_BUCKET_BYTES = 25 << 20,
    GW_REDUCER_FIRST_BUCKET_BYTES = 1 << 20
};

/* The configuration of a reducer. */
struct gw_reducer_config {
    /* In the order of the forward pass, the same on all ranks; copied. If
     * the tensors of a bucket are adjacent in memory, in this order, they
     * are reduced in place; otherwise each is copied into the bucket and
     * back. Memory of gw_alloc is the fastest on the shm wire. */
    const struct gw_reducer_tensor *tensors;
    unsigned tensor_count; /* > 0 */
    enum gw_dtype type;    /* of all tensors */
    enum gw_redop op;      /* GW_SUM, or GW_AVG for the mean over ranks */
    /* The sizes at which a bucket is closed: by the first tensor with
     * which it has at least that many bytes; 0: the default above. The
     * first bucket, which has the last tensors, is small, so that sending
     * starts early. It is never larger than the others. */
    size_t bucket_bytes, first_bucket_bytes;
    /* Of the all-reduces. NULL: the fastest of those in which no rank
     * sends more than 2(p-1)/p of the bytes. */
    const char *algo;
};

struct gw_reducer;

/* Creates a reducer: assigns the tensors to buckets, and allocates memory for
 * those that are not reduced in place. gw_reducer_free frees it. The
 * communicator belongs to the caller and must outlive the reducer. It is not a
 * collective call, but all ranks must give the same counts, type, op and sizes
 * (a difference is GW_EMISMATCH in the first step). GW_EINVAL: no tensors, a
 * tensor without memory or elements, another op, an unknown type. GW_ENOMEM,
 * GW_ENOSPC. On failure *reducer is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_reducer_new(struct gw_comm *comm, const struct gw_reducer_config *config,
               struct gw_reducer **reducer, struct gw_error *why);

/* Reports that tensor number `tensor` (0: the first of the forward pass) has
 * its gradient of this step. It starts the all-reduce of each bucket whose turn
 * it is, advances those in progress, and does not wait. GW_EINVAL: no such
 * tensor, or it was already ready in this step; nothing has changed. Otherwise
 * an error of the communicator (GW_ELOST, GW_EMISMATCH, GW_ETIMEOUT...); the
 * sentence names the bucket and its tensors. */
GW_API GW_MUST_CHECK enum gw_err gw_reducer_ready(struct gw_reducer *reducer,
                                                  unsigned tensor,
                                                  struct gw_error *why);

/* Advances the buckets in progress, during a long computation; does not wait.
 * Errors as in gw_reducer_ready. */
GW_API GW_MUST_CHECK enum gw_err gw_reducer_poll(struct gw_reducer *reducer,
                                                 struct gw_error *why);

/* Ends the step: returns when all tensors have the sum or the mean over all
 * ranks, with the same bits on every rank. The next step may begin.
 *
 * GW_EINVAL: tensors were not ready in this step (a parameter that the loss
 * does not depend on); the sentence names them. The other ranks, which would
 * wait for this one, receive the same error. Errors of the communicator as
 * above. After any error the gradients are undefined, the communicator has
 * failed, and the reducer repeats the error until it is freed. To continue,
 * create a communicator of the remaining ranks and a new reducer. */
GW_API GW_MUST_CHECK enum gw_err gw_reducer_wait(struct gw_reducer *reducer,
                                                 struct gw_error *why);

/* Frees a reducer. During a step it aborts the communicator (GW_ECLOSED on all
 * ranks), because its calls use the tensors' memory. NULL is allowed. */
GW_API void gw_reducer_free(struct gw_reducer **reducer);

/* Returns the number of buckets. */
GW_API unsigned gw_reducer_buckets(const struct gw_reducer *reducer);
/* Returns the bucket of tensor number `tensor`: 0 is started first, and has the
 * last tensor. */
GW_API unsigned gw_reducer_bucket(const struct gw_reducer *reducer,
                                  unsigned tensor);

/* Reads two times of the last completed step, in microseconds: *comm_us from
 * the start of the first bucket to the arrival of the last one on this rank,
 * and *exposed_us, the part of it that gw_reducer_wait waited. The difference
 * was overlapped by computation. */
GW_API void gw_reducer_times(const struct gw_reducer *reducer, double *comm_us,
                             double *exposed_us);

#ifdef __cplusplus
}
#endif
#endif
