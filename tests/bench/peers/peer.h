/* SPDX-License-Identifier: MIT
 *
 * What the peers of the benchmark share, so that all are timed alike: as
 * `collrun bench` and nccl-tests do, with a mean over many calls. A program
 * fills in a struct peer, with buffers for the largest of the sizes, and calls
 * peer_run; C and C++ both do. One start measures several sizes, because
 * starting takes some of these longer than measuring.
 *
 * Calls run in batches, and after each rank 0 decides whether it was the last;
 * telling the others is left out of the time only as far as it is rare: a batch
 * is a tenth of what the warm-up managed in a fifth of the time.
 */
#ifndef PEER_H
#define PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct peer {
    const char *op;
    int ranks, rank;
    char **sizes; /* words, as nccl-tests count them: the larger buffer */
    int size_count;
    size_t bytes; /* the size of now */
    double seconds;
    float *in, *out;
    void *context;
    void (*call)(struct peer *peer);
    void (*barrier)(struct peer *peer);
    int (*from_rank_0)(struct peer *peer, int value);
};

static inline double peer_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs batches for about `seconds`; returns the calls, *spent their time. */
static inline long peer_time(struct peer *peer, long batch, double seconds,
                             double *spent)
{
    long calls = 0;
    int last;
    peer->barrier(peer);
    double begin = peer_now();
    do {
        for (long i = 0; i < batch; i++)
            peer->call(peer);
        calls += batch;
        *spent = peer_now() - begin;
        last = peer->from_rank_0(peer, *spent >= seconds);
    } while (!last);
    return calls;
}

/* nccl-tests' factor from algorithm to bus bandwidth. */
static inline double peer_bus_factor(const struct peer *peer)
{
    double others = (double)(peer->ranks - 1) / peer->ranks;
    if (strcmp(peer->op, "allreduce") == 0)
        return 2 * others;
    if (strcmp(peer->op, "broadcast") == 0 || strcmp(peer->op, "reduce") == 0)
        return 1;
    return others;
}

/* Rank r gives r + 1 everywhere, so the sum is known. */
static inline int peer_sum_is_right(const struct peer *peer)
{
    float sum = (float)(peer->ranks * (peer->ranks + 1) / 2);
    if (strcmp(peer->op, "allreduce") != 0)
        return 1;
    for (size_t i = 0; i < peer->bytes / sizeof(float); i++)
        if (peer->out[i] < sum || peer->out[i] > sum)
            return 0;
    return 1;
}

static inline void peer_fill(struct peer *peer)
{
    for (size_t i = 0; i < peer->bytes / sizeof(float); i++) {
        peer->in[i] = (float)(peer->rank + 1);
        peer->out[i] = 0;
    }
}

static inline size_t peer_largest(const struct peer *peer)
{
    size_t largest = 0;
    for (int i = 0; i < peer->size_count; i++) {
        size_t bytes = strtoul(peer->sizes[i], NULL, 10);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* Times one size; rank 0 prints "op ranks bytes time_us algbw busbw", the last
 * two in GB/s. */
static inline int peer_run_size(struct peer *peer)
{
    double spent;
    peer_fill(peer);
    long warm = peer_time(peer, 1, peer->seconds / 5, &spent);
    long batch = peer->from_rank_0(peer, warm > 10 ? (int)(warm / 10) : 1);
    long calls = peer_time(peer, batch, peer->seconds, &spent);
    if (!peer_sum_is_right(peer)) {
        fprintf(stderr, "rank %d: wrong sum\n", peer->rank);
        return 1;
    }
    double us = spent / (double)calls * 1e6;
    double algbw = (double)peer->bytes / us * 1e-3;
    if (peer->rank == 0)
        printf("%s %d %zu %.3f %.3f %.3f\n", peer->op, peer->ranks, peer->bytes,
               us, algbw, algbw * peer_bus_factor(peer));
    return fflush(stdout) != 0;
}

/* Times every size. The exit status of the program is returned. */
static inline int peer_run(struct peer *peer)
{
    int status = 0;
    for (int i = 0; i < peer->size_count && status == 0; i++) {
        peer->bytes = strtoul(peer->sizes[i], NULL, 10);
        status = peer_run_size(peer);
    }
    return status;
}

#endif
