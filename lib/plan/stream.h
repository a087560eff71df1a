/* SPDX-License-Identifier: MIT
 *
 * Streams an algorithm's transfers as they are emitted, without storing a plan.
 * A ring of 4,096 ranks has 33 million transfers, and an all-gather of 100,000
 * ranks ten thousand million, in no more than 1.7 million messages. So adjacent
 * chunks are emitted as a run, chunk, chunk + stride, ..., and a sink that only
 * needs its length never counts them one by one.
 *
 * An algorithm emits into a gw_builder as always (gw__builder_run in addition
 * to gw_builder_add). The builder stores the transfers or passes the runs on to
 * a sink.
 */
#ifndef GW__PLAN_STREAM_H
#define GW__PLAN_STREAM_H

#include <gradwire/plan.h>

/* More than a plan may have: a sink decides what to store. */
enum { GW__STREAM_RANKS_MAX = 1 << 17 };

struct gw__run {
    unsigned step; /* counted from 0 */
    unsigned src, dst;
    unsigned chunk, stride, count; /* chunk + i * stride, i < count */
    enum gw_action action;
};

struct gw__run_sink {
    void *context;
    /* Returns false to stop (for example when memory is short). */
    bool (*add)(void *context, const struct gw__run *run);
};

/* Are runs passed on to a sink? Then their order within a message does not
 * matter. */
bool gw__builder_streams(const struct gw_builder *builder);
/* True when further transfers have no effect: an error occurred or the sink
 * stopped. Loops over all ranks check this, since there may be as many rounds
 * as ranks. */
bool gw__builder_failed(const struct gw_builder *builder);
/* Gives the builder the conditions of a custom plan of the same shape. */
void gw__builder_conditions(struct gw_builder *builder,
                            const struct gw_plan *plan);
/* Adds `count` transfers from src to dst, ascending. */
void gw__builder_run(struct gw_builder *builder, const struct gw__run *run);
/* Blocks first, first + 1, ... modulo `blocks`, in this order. */
void gw__builder_around(struct gw_builder *builder, const struct gw__run *run,
                        unsigned blocks);

/* Emits the algorithm of that name into the sink and stores the number of its
 * steps in *steps. GW_EINVAL as gw_plan_make; GW_ENOMEM when the sink
 * refuses. */
GW_MUST_CHECK enum gw_err gw__algo_stream(const struct gw_algo *algo,
                                          const struct gw_algo_args *args,
                                          const struct gw__run_sink *sink,
                                          unsigned *steps,
                                          struct gw_error *why);

#endif
