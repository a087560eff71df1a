/* SPDX-License-Identifier: MIT
 *
 * A rank of a data axis that trains: a small network on a mesh of D x T ranks,
 * gradients that are functions of rank, step and place, and the result of a
 * single process with their sums. The gradients are small whole numbers, and
 * rates powers of two, so that all sums are exact in any order: with sgd and
 * momentum the parameters must be exactly equal.
 */
#ifndef SHARD_RANK_H
#define SHARD_RANK_H

#include "edge.h"
#include "learn/parallel/shards.h"

enum { SHARD_OPERATORS = 7 };

struct shard_setup {
    unsigned data, tensor; /* D x T ranks, one stage */
    enum gw_data_mode mode;
    unsigned group; /* 0: all of the axis */
    enum gw_split split;
    enum gw_optimiser optimiser;
    size_t bucket_bytes;
    bool overlap;
    const char *algo;
    unsigned steps;
    double odd; /* factor of the gradients: 1/3 makes sums inexact */
};

struct shard_rank {
    const struct shard_setup *setup;
    struct gw_comm *comm;
    unsigned d, t;
    struct gw_comm *axis, *group, *replicas, *tensor; /* NULL for one rank */
    struct gw_layout *layout;
    struct gw__shards *shards;
    unsigned step; /* the step of the next gradients */
};

/* "sharded, 4 ranks in groups of 2, adam, buckets of 1000, overlapped" */
void shard_setup_print(const struct shard_setup *setup, FILE *file);
unsigned shard_setup_ranks(const struct shard_setup *setup);

/* Splits the communicator along the axes. */
void shard_rank_join(struct shard_rank *rank, const struct shard_setup *setup,
                     struct gw_comm *comm);
/* Other shards on the same communicators; the mesh stays. Sets the parameters
 * and clears the counters. */
void shard_rank_begin(struct shard_rank *rank, const struct shard_setup *setup);
void shard_rank_leave(struct shard_rank *rank);

/* Forward and backward of one step in two micro-batches, without its end: uses
 * and drops each operator twice, adds up gradients, completes them. */
void shard_rank_compute(struct shard_rank *rank);
/* The same with its end. */
void shard_rank_step(struct shard_rank *rank);

/* The initial value of parameter k of operator i. */
float shard_first(const struct shard_rank *rank, unsigned i, size_t k);
/* The parameter after `steps` steps, as one process computes it. */
double shard_expected(const struct shard_rank *rank, unsigned i, size_t k,
                      unsigned steps);
/* All parameters, gathered, equal those of one process after rank->step steps;
 * Adam's within 1e-6. */
void shard_rank_check(struct shard_rank *rank);
/* A digest of their bits. */
uint64_t shard_rank_digest(struct shard_rank *rank);
/* Bytes sent since `shard_rank_begin` on the communicators of the data axis. */
uint64_t shard_rank_data_bytes(const struct shard_rank *rank);
uint64_t shard_bytes_sent(const struct gw_comm *comm);

#endif
