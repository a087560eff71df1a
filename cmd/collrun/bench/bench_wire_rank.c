/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two ranks of `collrun bench wire`. Only rank 0 reads the clock: it sends
 * the next task of both (an order), does its side of it, and takes the time;
 * rank 1 obeys until the last one. A stream consists of messages one way,
 * several of them in transfer at once, and one reply when all have arrived; a
 * trip is a message there and back. Wire and raw socket take turns, so that
 * both meet the same machine, and use the same memory.
 */
#include "bench_wire.h"

#include "common/key.h"
#include "common/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stream has about as much in transfer as a socket's buffers hold. */
enum {
    WINDOW_MIN = 4,
    WINDOW_MAX = 64,
    WINDOW_BYTES = 4 << 20,
    ROUNDS = 9,
    TIMED_TESTS = 4,
    COUNT_MAX = 1 << 20
};
enum wire_test { STREAM, RAW_STREAM, PING_PONG, RAW_PING_PONG, CHECK, END };

struct wire_request {
    uint64_t test, count, bytes;
};

struct wire_rank {
    const struct bench *bench;
    struct gw_comm *comm;
    unsigned rank, peer;
    int socket;
    size_t bytes;    /* of a message at present */
    uint64_t window; /* concurrent messages of a stream */
    uint8_t *memory; /* a window of messages */
    struct gw_error *why;
};

static enum gw_err comm_failed(struct wire_rank *r)
{
    const struct gw_error *error = gw_comm_error(r->comm);
    return gw_fail(r->why, error->code, "%s", error->text);
}

static void set_size(struct wire_rank *r, size_t bytes)
{
    uint64_t fit = bytes ? WINDOW_BYTES / bytes : WINDOW_MIN;
    r->bytes = bytes;
    r->window = fit < WINDOW_MIN   ? WINDOW_MIN
                : fit > WINDOW_MAX ? WINDOW_MAX
                                   : fit;
}

static uint8_t *message(struct wire_rank *r, uint64_t i)
{
    return r->memory + (size_t)(i % r->window) * r->bytes;
}

static enum gw_err send_bytes(struct wire_rank *r, size_t bytes)
{
    return gw_send(r->comm, r->memory, bytes, GW_U8, r->peer) ? comm_failed(r)
                                                              : GW_OK;
}

static enum gw_err receive_bytes(struct wire_rank *r, size_t bytes)
{
    return gw_recv(r->comm, r->memory, bytes, GW_U8, r->peer) ? comm_failed(r)
                                                              : GW_OK;
}

static enum gw_err begin_message(struct wire_rank *r, uint64_t i,
                                 struct gw_request **request)
{
    enum gw_err err = r->rank == 0
                          ? gw_send_start(r->comm, message(r, i), r->bytes,
                                          GW_U8, r->peer, request)
                          : gw_recv_start(r->comm, message(r, i), r->bytes,
                                          GW_U8, r->peer, request);
    return err ? comm_failed(r) : GW_OK;
}

static enum gw_err stream(struct wire_rank *r, uint64_t count)
{
    struct gw_request *in_progress[WINDOW_MAX] = {NULL};
    for (uint64_t i = 0; i < count; i++) {
        struct gw_request **place = &in_progress[i % r->window];
        if (*place && gw_wait(place))
            return comm_failed(r);
        if (begin_message(r, i, place))
            return r->why->code;
    }
    if (gw_wait_all(WINDOW_MAX, in_progress))
        return comm_failed(r);
    return r->rank == 0 ? receive_bytes(r, 1) : send_bytes(r, 1);
}

static enum gw_err ping_pong(struct wire_rank *r, uint64_t count)
{
    enum gw_err err = GW_OK;
    for (uint64_t i = 0; i < count && !err; i++) {
        err =
            r->rank == 0 ? send_bytes(r, r->bytes) : receive_bytes(r, r->bytes);
        if (!err)
            err = r->rank == 0 ? receive_bytes(r, r->bytes)
                               : send_bytes(r, r->bytes);
    }
    return err;
}

static enum gw_err raw_send(struct wire_rank *r, const void *data, size_t bytes)
{
    return bench_wire_raw_send(r->socket, data, bytes, r->why);
}

static enum gw_err raw_receive(struct wire_rank *r, void *data, size_t bytes)
{
    return bench_wire_raw_receive(r->socket, data, bytes, r->why);
}

static enum gw_err raw_stream(struct wire_rank *r, uint64_t count)
{
    enum gw_err err = GW_OK;
    for (uint64_t i = 0; i < count && !err; i++)
        err = r->rank == 0 ? raw_send(r, message(r, i), r->bytes)
                           : raw_receive(r, message(r, i), r->bytes);
    if (err)
        return err;
    return r->rank == 0 ? raw_receive(r, r->memory, 1)
                        : raw_send(r, r->memory, 1);
}

static enum gw_err raw_ping_pong(struct wire_rank *r, uint64_t count)
{
    enum gw_err err = GW_OK;
    for (uint64_t i = 0; i < count && !err; i++) {
        err = r->rank == 0 ? raw_send(r, r->memory, r->bytes)
                           : raw_receive(r, r->memory, r->bytes);
        if (!err)
            err = r->rank == 0 ? raw_receive(r, r->memory, r->bytes)
                               : raw_send(r, r->memory, r->bytes);
    }
    return err;
}

/* ---- checking ---- */

/* No byte equals its neighbour, and no message another. */
static uint8_t byte_of(uint64_t message, size_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) + message * 7 + 1);
}

static enum gw_err compare_window(struct wire_rank *r)
{
    for (uint64_t m = 0; m < r->window; m++)
        for (size_t i = m == 0; i < r->bytes; i++)
            if (message(r, m)[i] != byte_of(m, i))
                return gw_fail(r->why, GW_EWRONG,
                               "byte %zu of a message of %zu bytes is wrong", i,
                               r->bytes);
    return GW_OK;
}

/* Sends a window of messages that rank 1 knows. The reply is stored in the
 * first byte of the memory, which is therefore not compared. */
static enum gw_err check_windows(struct wire_rank *r, uint64_t count)
{
    for (uint64_t m = 0; m < count; m++)
        for (size_t i = 0; i < r->bytes; i++)
            message(r, m)[i] = r->rank == 0 ? byte_of(m, i) : 0;
    enum gw_err err = stream(r, count);
    return err || r->rank == 0 ? err : compare_window(r);
}

/* ---- orders ---- */

static enum gw_err run_request(struct wire_rank *r,
                               struct wire_request *request)
{
    static enum gw_err (*const tests[])(struct wire_rank *, uint64_t) = {
        [STREAM] = stream,       [RAW_STREAM] = raw_stream,
        [PING_PONG] = ping_pong, [RAW_PING_PONG] = raw_ping_pong,
        [CHECK] = check_windows,
    };
    if (gw_broadcast(r->comm, GW_IN_PLACE, request, sizeof *request, GW_U8, 0))
        return comm_failed(r);
    set_size(r, request->bytes);
    return request->test == END ? GW_OK
                                : tests[request->test](r, request->count);
}

/* For rank 0: gives the order; *us receives the time of a message or trip. */
static enum gw_err time_request(struct wire_rank *r, enum wire_test test,
                                uint64_t count, double *us)
{
    struct wire_request request = {
        .test = test, .count = count, .bytes = r->bytes};
    if (interrupted) {
        request.test = END;
        enum gw_err err = run_request(r, &request);
        return err ? err : gw_fail(r->why, GW_EINTR, "interrupted");
    }
    uint64_t begin_ns = gw_now_ns();
    enum gw_err err = run_request(r, &request);
    *us = (double)(gw_now_ns() - begin_ns) / (double)count * 1e-3;
    return err;
}

/* As many as fit into a round's share of the time, after a warm-up. */
static enum gw_err choose_count(struct wire_rank *r, enum wire_test test,
                                uint64_t *count)
{
    double share_us =
        (double)r->bench->seconds_ns * 1e-3 / (ROUNDS * TIMED_TESTS);
    double us = 0;
    *count = r->window;
    for (;;) {
        enum gw_err err = time_request(r, test, *count, &us);
        if (err || us * (double)*count >= share_us || *count >= COUNT_MAX)
            return err;
        *count *= 2;
    }
}

static double median(double *samples)
{
    stats_sort(samples, ROUNDS);
    return stats_quantile(samples, ROUNDS, 0.5);
}

static enum gw_err measure_tests(struct wire_rank *r, struct reporter *report)
{
    uint64_t counts[TIMED_TESTS];
    double samples[TIMED_TESTS][ROUNDS], us;
    enum gw_err err = time_request(r, CHECK, r->window, &us);
    for (unsigned test = 0; test < TIMED_TESTS && !err; test++)
        err = choose_count(r, (enum wire_test)test, &counts[test]);
    for (unsigned i = 0; i < ROUNDS && !err; i++)
        for (unsigned test = 0; test < TIMED_TESTS && !err; test++)
            err = time_request(r, (enum wire_test)test, counts[test],
                               &samples[test][i]);
    const char *wire = r->bench->wire;
    bool has_threads = strcmp(wire, "zmq") == 0;
    double hand_over_us = (double)NAN, cipher_us = (double)NAN;
    if (!err && has_threads)
        err = bench_wire_hand_over(&hand_over_us, r->why);
    if (!err && key_file() && strcmp(wire, "shm") != 0)
        err = bench_wire_cipher(r->bytes, has_threads, &cipher_us, r->why);
    if (err)
        return err;
    const struct bench_wire_report result = {
        .bytes = r->bytes,
        .stream_us = median(samples[STREAM]),
        .raw_stream_us = median(samples[RAW_STREAM]),
        .rtt_us = median(samples[PING_PONG]),
        .raw_rtt_us = median(samples[RAW_PING_PONG]),
        .hand_over_us = hand_over_us,
        .cipher_us = cipher_us,
    };
    report_send(report, &result, sizeof result);
    return GW_OK;
}

static enum gw_err lead(struct wire_rank *r, struct reporter *report)
{
    const struct bench *b = r->bench;
    uint64_t bytes = b->bytes_min;
    struct wire_request end = {.test = END};
    for (;;) {
        set_size(r, bytes);
        enum gw_err err = measure_tests(r, report);
        if (err)
            return err;
        if (bytes > b->bytes_max / b->factor)
            return run_request(r, &end);
        bytes *= b->factor;
    }
}

static enum gw_err follow_requests(struct wire_rank *r)
{
    struct wire_request request = {.test = STREAM};
    enum gw_err err = GW_OK;
    while (!err && request.test != END)
        err = run_request(r, &request);
    return err;
}

enum gw_err bench_wire_rank(struct gw_comm *comm, struct reporter *report,
                            const struct bench *b, int socket,
                            struct gw_error *why)
{
    struct wire_rank r = {.bench = b,
                          .comm = comm,
                          .rank = gw_comm_rank(comm),
                          .peer = 1 - gw_comm_rank(comm),
                          .socket = socket,
                          .why = why};
    size_t all = b->bytes_max * WINDOW_MIN + WINDOW_BYTES;
    r.memory = b->malloc ? malloc(all) : gw_alloc(all, why);
    if (!r.memory)
        return gw_fail(why, GW_ENOMEM, "%zu bytes of messages", all);
    memset(r.memory, 1, all);
    enum gw_err err = r.rank == 0 ? lead(&r, report) : follow_requests(&r);
    if (b->malloc)
        free(r.memory);
    else
        gw_free(r.memory);
    return err;
}
