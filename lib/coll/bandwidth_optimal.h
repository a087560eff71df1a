/* SPDX-License-Identifier: MIT
 *
 * Collectives that send the minimum number of bytes. An all-reduce of few
 * elements is fastest in few rounds, in which each rank repeatedly sends all of
 * it (recursive doubling). During a backward pass the bytes matter: they should
 * be 2(p-1)/p of the buffer on every rank.
 */
#ifndef GW__BANDWIDTH_OPTIMAL_H
#define GW__BANDWIDTH_OPTIMAL_H

#include <gradwire/coll.h>

/* The fastest algorithm, under the current costs, among those in which no rank
 * sends more than the formula: 2(p-1)/p of the bytes for all-reduce, p-1 blocks
 * for all-gather and reduce-scatter. The same on all ranks. */
const char *gw__bandwidth_optimal_algo(const struct gw_comm *comm,
                                       enum gw_collective collective,
                                       size_t count, size_t elem_bytes);

/* A repeated all-reduce in place. It is made in two calls if one call would not
 * have equal parts, so that every rank sends exactly the bytes of the formula.
 * Without a communicator it does nothing. */
struct gw__sum {
    struct gw_comm *comm;
    enum gw_dtype type;
    enum gw_redop op;
    size_t counts[2];
    const char *algos[2];
    struct gw_request *requests[2];
};

/* `algo` NULL: a bandwidth-optimal one. */
void gw__sum_init(struct gw__sum *sum, struct gw_comm *comm, size_t count,
                  enum gw_dtype type, enum gw_redop op, const char *algo);
GW_MUST_CHECK enum gw_err gw__sum_start(struct gw__sum *sum, void *data);
/* Waits for it, or without `wait` only tests: GW_PENDING. */
GW_MUST_CHECK enum gw_err gw__sum_end(struct gw__sum *sum, bool wait);
/* Aborts the communicator if the sum is pending: afterwards its memory is no
 * longer used. */
void gw__sum_cancel(struct gw__sum *sum, const char *sentence);
/* The same for one request. */
void gw__request_cancel(struct gw_comm *comm, struct gw_request **request,
                        const char *sentence);

#endif
