/* SPDX-License-Identifier: MIT
 *
 * Measures the parameters of the cost model. alpha comes from ping-pong between
 * ranks 0 and 1, beta from large messages that they exchange (a port of the
 * model sends and receives at the same time, as almost every step of an
 * algorithm does), gamma and the memory from loops of the kernels on every rank
 * at once, and the meeting of a window pass from barriers. The results are
 * medians of several rounds. Rank 0's figures count, but memory is shared, so
 * all ranks measure it at the same time.
 *
 * A calibration file needs at least these figures, and bounds are computed from
 * them. Predictions use the coefficients that samples.c finds afterwards.
 */
#include "coll/window/prepared_call.h"
#include "samples.h"

#include <gradwire/wire.h>

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9, PINGS = 40, LARGE_BYTES = 4 << 20, BIG_BYTES = 16 << 20 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static double since_us(uint64_t begin_ns)
{
    return (double)(gw_now_ns() - begin_ns) / 1e3;
}

/* Half a round trip of `bytes` between ranks 0 and 1, on rank 0. */
static enum gw_err measure_latency(struct gw_comm *comm, unsigned char *buffer,
                                   size_t bytes, double *us)
{
    double rounds[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin = gw_now_ns();
        for (unsigned k = 0; k < PINGS && comm->rank < 2; k++) {
            unsigned peer = 1 - comm->rank;
            enum gw_err err = comm->rank == 0
                                  ? gw_send(comm, buffer, bytes, GW_U8, peer)
                                  : gw_recv(comm, buffer, bytes, GW_U8, peer);
            if (!err)
                err = comm->rank == 0
                          ? gw_recv(comm, buffer, bytes, GW_U8, peer)
                          : gw_send(comm, buffer, bytes, GW_U8, peer);
            if (err)
                return err;
        }
        rounds[i] = since_us(begin) / (2 * PINGS);
    }
    *us = median(rounds, ROUNDS);
    return gw_barrier(comm);
}

/* Ranks 0 and 1 send each other `bytes` at the same time. */
static enum gw_err exchange(struct gw_comm *comm, unsigned char *buffer,
                            size_t bytes, double *us)
{
    double rounds[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin = gw_now_ns();
        struct gw_request *both[2] = {NULL, NULL};
        unsigned peer = 1 - comm->rank;
        enum gw_err err = GW_OK;
        if (comm->rank < 2)
            err = gw_send_start(comm, buffer, bytes, GW_U8, peer, &both[0]);
        if (comm->rank < 2 && !err)
            err = gw_recv_start(comm, buffer + BIG_BYTES, bytes, GW_U8, peer,
                                &both[1]);
        if (!err)
            err = gw_wait_all(2, both);
        if (err)
            return err;
        rounds[i] = since_us(begin);
    }
    *us = median(rounds, ROUNDS);
    return gw_barrier(comm);
}

/* Microseconds of one reduction of `sources` arrays of `bytes` into one. */
static double reduce_us(unsigned char *base, unsigned sources, size_t bytes)
{
    double rounds[ROUNDS];
    const void *from[2] = {base, base + bytes};
    void *to = base + 2 * bytes;
    struct gw_reduce_local reduce = {.sources = from,
                                     .dests = &to,
                                     .source_count = sources,
                                     .dest_count = 1,
                                     .count = bytes / sizeof(float),
                                     .type = GW_F32,
                                     .op = GW_SUM,
                                     .scale_ranks = 1};
    unsigned loops = bytes > (1 << 20) ? 1 : 8;
    gw_reduce_local(&reduce);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin = gw_now_ns();
        for (unsigned k = 0; k < loops; k++)
            gw_reduce_local(&reduce);
        rounds[i] = since_us(begin) / loops;
    }
    return median(rounds, ROUNDS);
}

static void measure_memory(unsigned char *base, struct gw_wire_costs *costs)
{
    enum { CACHED = 128 << 10 };
    costs->cached_us_per_byte = reduce_us(base, 1, CACHED) / (2.0 * CACHED);
    costs->memory_us_per_byte =
        reduce_us(base, 1, BIG_BYTES) / (2.0 * BIG_BYTES);
    costs->model.gamma_us_per_byte = reduce_us(base, 2, CACHED) / CACHED;
}

static enum gw_err measure_rendezvous(struct gw_comm *comm, double *us)
{
    double rounds[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t begin = gw_now_ns();
        for (unsigned k = 0; k < PINGS; k++) {
            enum gw_err err = gw_barrier(comm);
            if (err)
                return err;
        }
        rounds[i] = since_us(begin) / PINGS;
    }
    *us = 2 * median(rounds, ROUNDS);
    return GW_OK;
}

static enum gw_err measure_costs(struct gw_comm *comm, unsigned char *buffer,
                                 struct gw_wire_costs *costs)
{
    double large = 0, alpha = 0;
    enum gw_err err = gw_barrier(comm);
    if (!err)
        err = measure_latency(comm, buffer, 8, &alpha);
    if (!err)
        err = exchange(comm, buffer, LARGE_BYTES, &large);
    if (!err)
        measure_memory(buffer, costs);
    if (!err)
        err = measure_rendezvous(comm, &costs->sync_us);
    costs->model.alpha_us = alpha;
    costs->model.beta_us_per_byte =
        large > alpha ? (large - alpha) / LARGE_BYTES : 0;
    return err;
}

/* alpha, beta, gamma, memory and meetings. */
static enum gw_err measure_coefficients(struct gw_comm *comm,
                                        struct gw_wire_costs *costs)
{
    struct gw_error why = {0};
    if (comm->size < 2) {
        gw_fail(&why, GW_EINVAL, "calibration needs at least 2 ranks");
        return gw__comm_fail(comm, &why);
    }
    unsigned char *buffer = gw_alloc(3 * (size_t)BIG_BYTES, &why);
    if (!buffer)
        return gw__comm_fail(comm, &why);
    memset(buffer, 0, 3 * (size_t)BIG_BYTES);
    enum gw_err err = measure_costs(comm, buffer, costs);
    gw_free(buffer);
    return err;
}

struct gw_calibration {
    struct gw_comm *comm;
    struct gw__sampling *samples;
    struct gw_wire_costs costs;
};

enum gw_err gw_calibration_begin(struct gw_comm *comm,
                                 struct gw_calibration **calibration)
{
    struct gw_error why = {0};
    struct gw_calibration *c = calloc(1, sizeof *c);
    *calibration = c;
    if (!c) {
        gw_fail(&why, GW_ENOMEM, "calibration");
        return gw__comm_fail(comm, &why);
    }
    c->comm = comm;
    c->costs = comm->costs;
    enum gw_err err = measure_coefficients(comm, &c->costs);
    if (!err)
        err = gw__samples_begin(comm, &c->samples);
    if (err)
        gw_calibration_destroy(calibration);
    return err;
}

enum gw_err gw_calibration_round(struct gw_calibration *c, unsigned part,
                                 unsigned parts)
{
    return gw__samples_round(c->samples, part, parts);
}

enum gw_err gw_calibration_end(struct gw_calibration *c,
                               struct gw_wire_costs *costs)
{
    struct gw_comm *comm = c->comm;
    enum gw_err err = gw__samples_fit(c->samples, &c->costs);
    if (!err)
        err = gw_broadcast(comm, comm->rank == 0 ? &c->costs : NULL,
                           comm->rank == 0 ? NULL : &c->costs, sizeof c->costs,
                           GW_U8, 0);
    *costs = c->costs;
    if (!err) {
        comm->costs = *costs;
        memset(comm->choices, 0, sizeof comm->choices);
        gw__prepared_forget(comm);
    }
    return err;
}

void gw_calibration_destroy(struct gw_calibration **calibration)
{
    if (*calibration)
        gw__samples_end(&(*calibration)->samples);
    free(*calibration);
    *calibration = NULL;
}

enum gw_err gw_calibrate(struct gw_comm *comm, struct gw_wire_costs *costs)
{
    enum { SAMPLE_ROUNDS = 3 };
    struct gw_calibration *calibration;
    *costs = comm->costs;
    enum gw_err err = gw_calibration_begin(comm, &calibration);
    for (unsigned k = 0; k < SAMPLE_ROUNDS && !err; k++)
        err = gw_calibration_round(calibration, 0, 1);
    if (!err)
        err = gw_calibration_end(calibration, costs);
    gw_calibration_destroy(&calibration);
    return err;
}
