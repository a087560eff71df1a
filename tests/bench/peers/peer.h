/* SPDX-License-Identifier: MIT
 *
 * Shared by the peers of the benchmark, so that all are timed alike, and like
 * `collrun bench --sample 5ms`: calls back to back, in batches of about 5 ms;
 * the result is the median of their means. A mean over all calls would include
 * each interruption of the machine. The median of single calls would measure
 * how fast the root of a broadcast sends its messages, not how fast they
 * arrive.
 *
 * A program fills in a struct peer, with buffers for the largest of the sizes,
 * and calls peer_run; C and C++ both do. One start measures several sizes,
 * because starting takes some of these longer than measuring.
 *
 * Between rounds of batches, of about 50 ms, rank 0 decides whether there is
 * time for another one, and informs the others; that is not timed.
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
    size_t bytes; /* the current size */
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

#define PEER_SAMPLE 5e-3
#define PEER_ROUND  50e-3
enum { PEER_SAMPLES_MAX = 4096 };

static inline double peer_calls(struct peer *peer, int calls)
{
    double begin = peer_now();
    for (int i = 0; i < calls; i++)
        peer->call(peer);
    return (peer_now() - begin) / calls;
}

/* 1, 2, 4, ... calls, until they took a tenth of the time. Returns the time per
 * call as measured by rank 0. */
static inline double peer_warm_up(struct peer *peer)
{
    double begin = peer_now(), call;
    int calls = 1, more;
    peer->barrier(peer);
    do {
        call = peer_calls(peer, calls);
        more = peer_now() - begin < peer->seconds / 10;
        calls *= 2;
    } while (peer->from_rank_0(peer, more));
    return call;
}

static inline int peer_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds per call: the median of the batches. */
static inline double peer_time(struct peer *peer)
{
    static double samples[PEER_SAMPLES_MAX];
    double call = peer_warm_up(peer), begin;
    double fit = PEER_SAMPLE / call;
    int batch = peer->from_rank_0(peer, fit < 1 ? 1 : (int)fit);
    fit = PEER_ROUND / (call * batch);
    int round = peer->from_rank_0(peer, fit < 1 ? 1 : (int)fit), count = 0;
    double spent = 0;
    do {
        begin = peer_now();
        for (int i = 0; i < round && count < PEER_SAMPLES_MAX; i++)
            samples[count++] = peer_calls(peer, batch);
        spent += peer_now() - begin;
    } while (peer->from_rank_0(peer, spent < peer->seconds &&
                                         count < PEER_SAMPLES_MAX));
    qsort(samples, (size_t)count, sizeof *samples, peer_by_value);
    return samples[(count - 1) / 2];
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
    peer_fill(peer);
    double us = peer_time(peer) * 1e6;
    if (!peer_sum_is_right(peer)) {
        fprintf(stderr, "rank %d: wrong sum\n", peer->rank);
        return 1;
    }
    double algbw = (double)peer->bytes / us * 1e-3;
    if (peer->rank == 0)
        printf("%s %d %zu %.3f %.3f %.3f\n", peer->op, peer->ranks, peer->bytes,
               us, algbw, algbw * peer_bus_factor(peer));
    return fflush(stdout) != 0;
}

/* Times every size. Returns the exit status of the program. */
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
