/* SPDX-License-Identifier: MIT
 *
 * Collectives that send no more than they must. An all-reduce of few elements
 * is fastest in few rounds, in which each rank sends all of it again and again
 * (recursive doubling); while a backward pass goes on, the bytes count, and
 * they should be 2(p-1)/p of the buffer on every rank.
 */
#ifndef GW__BANDWIDTH_OPTIMAL_H
#define GW__BANDWIDTH_OPTIMAL_H

#include <gradwire/coll.h>

/* The fastest algorithm, under the costs in force, among those in which no rank
 * sends more than the formula: 2(p-1)/p of the bytes for all-reduce, p-1 blocks
 * for all-gather and reduce-scatter. The same on all ranks. */
const char *gw__bandwidth_optimal_algo(const struct gw_comm *comm,
                                       enum gw_collective collective,
                                       size_t count, size_t elem_bytes);

/* An all-reduce in place that is made again and again: in two calls where one
 * would not be cut into equal parts, so that every rank sends what the formula
 * says. Without a communicator there is nothing to do. */
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
/* Waits for it, or else only looks: GW_PENDING. */
GW_MUST_CHECK enum gw_err gw__sum_end(struct gw__sum *sum, bool wait);
/* Aborts the communicator if the sum is under way: afterwards nothing uses its
 * memory. */
void gw__sum_cancel(struct gw__sum *sum, const char *sentence);
/* The same for one request. */
void gw__request_cancel(struct gw_comm *comm, struct gw_request **request,
                        const char *sentence);

#endif
