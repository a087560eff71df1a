/* SPDX-License-Identifier: MIT
 *
 * The speed of a wire between two processes on this machine, without the
 * executor: a stream in one direction, the round trip of a small slice, and an
 * all-reduce by exchange of halves (zero copy, reducing out of the view).
 *
 *   wire WIRE [LANES [REPEATS]]
 *
 * Prints one line per slice size, with the medians of the stream and of the
 * all-reduce of 16 MiB; then the round trip. The defaults of lib/wire come from
 * here.
 */
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TOTAL_BYTES = 16 << 20,
    MAX_SLICE_BYTES = 1 << 20,
    ROUND_BYTES = 1024,
    ROUND_TRIPS = 100,
    REPEATS_MAX = 200,
    SLEEP_NS = 50000000,
    CHECK_NS = 1000000
};

struct bench {
    struct gw__wire *wire;
    unsigned peer;
    size_t slice_bytes;
    float *in, *out;
    uint64_t sent; /* on the link, since it was opened */
};

static void die(const char *what, const struct gw_error *why)
{
    fprintf(stderr, "wire: %s: %s\n", what, why ? why->text : "failed");
    exit(1);
}

static void idle(struct bench *b)
{
    struct gw_error why;
    static uint64_t checked;
    b->wire->ops->wait(b->wire, SLEEP_NS);
    uint64_t now = gw_now_ns();
    if (now - checked < CHECK_NS)
        return;
    checked = now;
    if (b->wire->ops->check(b->wire, &why))
        die("check", &why);
}

static bool try_send(struct bench *b, const void *data, size_t bytes,
                     unsigned step, size_t slice)
{
    struct gw__header header = {
        .bytes = (uint32_t)bytes, .step = step, .slice = (uint32_t)slice};
    enum gw_err err =
        b->wire->ops->send(b->wire, b->peer, &header, data, false);
    if (err != GW_OK && err != GW_PENDING)
        die("send", NULL);
    b->sent += err == GW_OK;
    return err == GW_OK;
}

static bool try_peek(struct bench *b, struct gw__slice_view *view)
{
    enum gw_err err = b->wire->ops->peek(b->wire, b->peer, view);
    if (err != GW_OK && err != GW_PENDING)
        die("peek", NULL);
    return err == GW_OK;
}

static void await_done(struct bench *b)
{
    while (b->wire->ops->sends_done(b->wire, b->peer) < b->sent)
        idle(b);
}

static void send_round(struct bench *b)
{
    while (!try_send(b, b->in, ROUND_BYTES, 0, 0))
        idle(b);
}

static void receive_round(struct bench *b)
{
    struct gw__slice_view view;
    while (!try_peek(b, &view))
        idle(b);
    b->wire->ops->release(b->wire, b->peer);
}

static void barrier(struct bench *b)
{
    send_round(b);
    receive_round(b);
}

static void stream(struct bench *b)
{
    size_t count = TOTAL_BYTES / b->slice_bytes;
    if (b->wire->rank == 1) {
        for (size_t i = 0; i < count; i++)
            receive_round(b);
        send_round(b);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const char *data = (const char *)b->in + i * b->slice_bytes;
        while (!try_send(b, data, b->slice_bytes, 0, i))
            idle(b);
    }
    receive_round(b);
    await_done(b);
}

static void round_trips(struct bench *b)
{
    for (int i = 0; i < ROUND_TRIPS; i++)
        if (b->wire->rank == 0) {
            send_round(b);
            receive_round(b);
        } else {
            receive_round(b);
            send_round(b);
        }
}

/* Adds a slice of the own half, or puts one of the peer's half in place. */
static void apply_slice(struct bench *b, const struct gw__slice_view *view)
{
    size_t floats = b->slice_bytes / sizeof(float);
    size_t half = TOTAL_BYTES / sizeof(float) / 2;
    size_t at = view->header->slice * floats;
    const float *from = view->data;
    if (view->header->step == 0) {
        at += b->wire->rank * half;
        for (size_t i = 0; i < floats; i++)
            b->out[at + i] = b->in[at + i] + from[i];
    } else {
        at += b->peer * half;
        memcpy(b->out + at, from, b->slice_bytes);
    }
}

/* Rank r owns half r: it receives the peer's values of it, adds its own, and
 * sends the sums back. */
static void allreduce(struct bench *b)
{
    size_t slices = TOTAL_BYTES / 2 / b->slice_bytes;
    const char *theirs = (char *)b->in + b->peer * (TOTAL_BYTES / 2);
    const char *sums = (char *)b->out + b->wire->rank * (TOTAL_BYTES / 2);
    size_t submitted = 0, summed = 0, returned = 0, got = 0;
    while (got < 2 * slices || returned < slices) {
        struct gw__slice_view view;
        bool moved = false;
        if (returned < summed) {
            moved = try_send(b, sums + returned * b->slice_bytes,
                             b->slice_bytes, 1, returned);
            returned += moved;
        } else if (submitted < slices) {
            moved = try_send(b, theirs + submitted * b->slice_bytes,
                             b->slice_bytes, 0, submitted);
            submitted += moved;
        }
        if (got < 2 * slices && try_peek(b, &view)) {
            summed += view.header->step == 0;
            apply_slice(b, &view);
            b->wire->ops->release(b->wire, b->peer);
            got++;
            moved = true;
        }
        if (!moved)
            idle(b);
    }
    await_done(b);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median seconds of one run. */
static double time_it(struct bench *b, void (*run)(struct bench *), int repeats)
{
    double times[REPEATS_MAX];
    for (int i = 0; i < repeats; i++) {
        barrier(b);
        uint64_t begin = gw_now_ns();
        run(b);
        times[i] = (double)(gw_now_ns() - begin) / 1e9;
    }
    qsort(times, (size_t)repeats, sizeof *times, compare);
    return times[repeats / 2];
}

static void measure(struct bench *b, int repeats)
{
    bool is_printer = b->wire->rank == 0;
    const char *name = b->wire->ops->name;
    for (size_t bytes = 64 << 10; bytes <= MAX_SLICE_BYTES; bytes *= 2) {
        b->slice_bytes = bytes;
        double streamed = time_it(b, stream, repeats);
        double reduced = time_it(b, allreduce, repeats);
        if (is_printer)
            printf("%s slices of %4zu KiB: stream %.2f GB/s, all-reduce %.0f "
                   "us\n",
                   name, bytes >> 10, TOTAL_BYTES / streamed / 1e9,
                   reduced * 1e6);
    }
    double trips = time_it(b, round_trips, repeats);
    if (is_printer)
        printf("%s %d bytes: round trip %.1f us\n", name, ROUND_BYTES,
               trips / ROUND_TRIPS * 1e6);
}

static void run_rank(const struct gw_comm_config *config, int channel,
                     int repeats)
{
    struct gw__address table[2];
    struct gw_error why;
    struct bench b = {.peer = 1 - config->rank};
    if (gw__wire_open(config, &b.wire, &why))
        die("open", &why);
    table[config->rank] = b.wire->address;
    if (write(channel, &b.wire->address, sizeof *table) != sizeof *table ||
        read(channel, &table[b.peer], sizeof *table) != sizeof *table)
        die("address", NULL);
    if (b.wire->ops->connect(b.wire, table, gw_now_ns() + 5000000000U, &why))
        die("connect", &why);
    b.in = aligned_alloc(64, TOTAL_BYTES);
    b.out = aligned_alloc(64, TOTAL_BYTES);
    for (size_t i = 0; i < TOTAL_BYTES / sizeof(float); i++)
        b.in[i] = b.out[i] = (float)config->rank + 1;
    measure(&b, repeats);
    for (size_t i = 0; i < TOTAL_BYTES / sizeof(float); i++)
        if (b.out[i] < 3 || b.out[i] > 3)
            die("wrong sum", NULL);
    gw__wire_close(&b.wire);
}

int main(int argc, char **argv)
{
    struct gw_comm_config config = {.size = 2,
                                    .wire = argc > 1 ? argv[1] : "tcp",
                                    .slice_bytes = MAX_SLICE_BYTES};
    config.lanes = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    int channel[2], repeats = argc > 3 ? atoi(argv[3]) : 30;
    if (repeats < 1 || repeats > REPEATS_MAX)
        return 64;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel) != 0)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t child = fork();
    config.rank = child == 0;
    run_rank(&config, channel[config.rank], repeats);
    int status = 0;
    if (child > 0)
        waitpid(child, &status, 0);
    return status != 0;
}
