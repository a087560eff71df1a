/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode bench: servers and workers in separate processes, which move rows as
 * fast as they can, and then check the sums. The parts:
 *
 *   bench.c          options, rows
 *   bench_run.c      the launch: a server's life, the controller, the end
 *   bench_worker.c   one worker: requests, and their times
 *   bench_keys.c     the keys, and the expected values at the end
 */
#ifndef PSNODE_BENCH_H
#define PSNODE_BENCH_H

#include "run/node/settings.h"

#include <stdatomic.h>

enum {
    BENCH_WORKERS_MAX = 32,
    BENCH_SERVERS_MAX = 24,
    BENCH_SAMPLES_MAX = 1 << 15,
    BENCH_LISTS_MAX = 8
};

enum bench_op { BENCH_PUSH, BENCH_PULL, BENCH_PUSHPULL };

struct bench {
    enum bench_op op;
    const char *op_name, *wire;
    unsigned keys, floats; /* per request: rows, and floats per row */
    unsigned servers, workers, replicas;
    uint64_t seconds_ns;
    unsigned rounds; /* requests per worker; 0: as many as fit into `seconds` */
    unsigned warmup;
    unsigned depth; /* concurrent requests */
    bool zipf, unsorted;
    uint64_t seed;
    struct settings settings; /* switches of workers and servers */
};

/* ---- bench_keys.c ---- */

/* Rows are drawn from a universe; a request moves one of the lists, in turn.
 * Uniform: the one list is the universe. Zipf: each list is drawn separately,
 * and contains the n-th row of the universe with a probability that falls as
 * 1/n. */
struct bench_keys {
    size_t count; /* per list */
    unsigned floats;
    unsigned list_count;
    uint64_t *lists[BENCH_LISTS_MAX]; /* keys */
};

GW_MUST_CHECK enum gw_err bench_keys_init(struct bench_keys *keys,
                                          const struct bench *bench,
                                          struct gw_error *why);
void bench_keys_fini(struct bench_keys *keys);
/* The values that a push of list `list` adds: small whole numbers, computed
 * from key and position, so that sums of f32 are exact up to bench_rounds_max
 * pushes. */
void bench_values(const struct bench_keys *keys, unsigned list, float *values);
uint64_t bench_rounds_max(const struct bench *bench);
/* The number of floats pulled for list `list` that differ from the sum of
 * pushed[l] pushes of each list l. */
GW_MUST_CHECK enum gw_err bench_count_wrong(const struct bench_keys *keys,
                                            unsigned list, const float *rows,
                                            const uint64_t *pushed,
                                            uint64_t *wrong,
                                            struct gw_error *why);

/* ---- memory shared by the processes ---- */

struct bench_report {
    _Atomic uint64_t pushed[BENCH_LISTS_MAX]; /* of all requests so far */
    uint64_t requests, ns;                    /* of timed requests; for them: */
    uint64_t messages_sent, messages_saved, bytes_in_place, bytes_gathered,
        retries, aggregator_sent, aggregator_saved;
    uint64_t wrong;
    unsigned sample_count;
    double samples_us[BENCH_SAMPLES_MAX];
    struct gw_ps_counts counts;
};

struct bench_shared {
    uint64_t token;
    char controller[64];        /* its endpoint */
    char directory[256];        /* of its log; "": not made yet */
    _Atomic bool has_primaries; /* slots are placed: workers may begin */
    _Atomic unsigned left;      /* workers that have not ended */
    struct bench_report workers[BENCH_WORKERS_MAX];
};

/* The whole life of a worker's process. */
GW_MUST_CHECK enum gw_err bench_worker(const struct bench *bench,
                                       struct bench_shared *shared,
                                       unsigned worker, struct gw_error *why);
void bench_endpoint(const struct bench_shared *shared, unsigned node,
                    char out[64]);

/* ---- bench_run.c ---- */

/* Runs the benchmark; *shared must be unmapped by bench_forget. */
GW_MUST_CHECK enum gw_err bench_run(const struct bench *bench,
                                    struct bench_shared **shared,
                                    struct gw_error *why);
void bench_forget(struct bench_shared **shared);

#endif
