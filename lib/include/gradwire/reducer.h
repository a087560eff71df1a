/* SPDX-License-Identifier: MIT
 *
 * A bucketed reducer: gradients are all-reduced while the backward pass goes
 * on, as in PyTorch's DistributedDataParallel (Li et al., "PyTorch
 * Distributed", VLDB 2020, section 3.2). One all-reduce per tensor pays a
 * latency for each; a single one at the end hides none of its time behind the
 * computation. So tensors are put into buckets, the last tensor first, because
 * the backward pass computes its gradient first. The all-reduce of a bucket
 * starts when its last gradient is ready.
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
 * Gradients may become ready in another order on each rank: buckets start in
 * the order of their numbers on all ranks, so that their calls match. A bucket
 * that is complete early waits for those before it.
 *
 * Used by one thread, which may make other calls on the communicator only
 * between gw_reducer_wait and the first gw_reducer_ready of the next step.
 */
#ifndef GRADWIRE_REDUCER_H
#define GRADWIRE_REDUCER_H

#include <gradwire/base.h>
#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A gradient: `count` (> 0) elements at `data`, both the same size on all
 * ranks. The memory belongs to the caller, who writes the rank's own gradient
 * into it before gw_reducer_ready and reads the reduced one after
 * gw_reducer_wait, and leaves it alone in between. */
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

struct gw_reducer_config {
    /* In the order of the forward pass, the same on all ranks; copied. Where
     * the tensors of a bucket are adjacent in memory, in this order, they are
     * reduced in place; otherwise each is copied into the bucket and back.
     * gw_alloc's memory is the fastest on the shm wire. */
    const struct gw_reducer_tensor *tensors;
    unsigned tensor_count; /* > 0 */
    enum gw_dtype type;    /* of all tensors */
    enum gw_redop op;      /* GW_SUM, or GW_AVG for the mean over the ranks */
    /* A bucket is closed by the tensor with which it has at least so many
     * bytes; a larger tensor is a bucket of its own, or its end. 0: the default
     * above. The first bucket, which has the last tensors, is small, so that
     * there is something to send early; never larger than the others. */
    size_t bucket_bytes, first_bucket_bytes;
    /* Of the all-reduces. NULL: the fastest of those in which no rank sends
     * more than 2(p-1)/p of the bytes. */
    const char *algo;
};

struct gw_reducer;

/* Assigns the tensors to buckets, and allocates memory for those that are not
 * reduced in place. The communicator is borrowed and must outlive the reducer.
 * Not collective; all ranks must give the same counts, type, op and sizes (what
 * differs is GW_EMISMATCH in the first step). GW_EINVAL: no tensors, a tensor
 * without memory or elements, another op, an unknown type. GW_ENOMEM,
 * GW_ENOSPC. On failure *reducer is NULL. */
GW_API GW_MUST_CHECK enum gw_err
gw_reducer_new(struct gw_comm *comm, const struct gw_reducer_config *config,
               struct gw_reducer **reducer, struct gw_error *why);

/* Tensor number `tensor` (0: the first of the forward pass) has its gradient of
 * this step. Starts the all-reduce of each bucket whose turn it is, lets those
 * under way progress, and does not wait. GW_EINVAL, and nothing has happened:
 * there is no such tensor, or it was ready in this step already. Otherwise an
 * error of the communicator (GW_ELOST, GW_EMISMATCH, GW_ETIMEOUT...); the
 * sentence names the bucket and its tensors. */
GW_API GW_MUST_CHECK enum gw_err gw_reducer_ready(struct gw_reducer *reducer,
                                                  unsigned tensor,
                                                  struct gw_error *why);

/* Lets the buckets under way progress, between two pieces of a long
 * computation; does not wait. Errors as those of gw_reducer_ready. */
GW_API GW_MUST_CHECK enum gw_err gw_reducer_poll(struct gw_reducer *reducer,
                                                 struct gw_error *why);

/* Ends the step: returns when all tensors hold the sum or the mean over all
 * ranks, which are the same bits on every rank. The next step may begin.
 *
 * GW_EINVAL: tensors were not ready in this step (a parameter that the loss
 * does not depend on); the sentence names them. The other ranks, which would
 * wait for this one, get the same error. Errors of the communicator as above.
 * After any error the gradients are undefined, the communicator has failed, and
 * the reducer repeats the error until it is freed; go on with a new
 * communicator of the remaining ranks and a new reducer. */
GW_API GW_MUST_CHECK enum gw_err gw_reducer_wait(struct gw_reducer *reducer,
                                                 struct gw_error *why);

/* In the midst of a step the communicator is aborted (GW_ECLOSED on all ranks),
 * because its calls use the tensors' memory. NULL is allowed. */
GW_API void gw_reducer_free(struct gw_reducer **reducer);

/* The number of buckets, and the one that has tensor number `tensor`: 0 is
 * started first, and has the last tensor. */
GW_API unsigned gw_reducer_buckets(const struct gw_reducer *reducer);
GW_API unsigned gw_reducer_bucket(const struct gw_reducer *reducer,
                                  unsigned tensor);

/* Of the last step that ended, in microseconds: from the start of the first
 * bucket to the arrival of the last one as this rank saw it, and how much of
 * that gw_reducer_wait waited. The difference was hidden by computing. */
GW_API void gw_reducer_times(const struct gw_reducer *reducer, double *comm_us,
                             double *exposed_us);

#ifdef __cplusplus
}
#endif
#endif
