/* SPDX-License-Identifier: MIT
 *
 * The speed of the messenger between two processes on this machine: the round
 * trip of a small message, and a stream of large ones, lent from gw_alloc
 * memory, with one under way at a time and with four.
 *
 *   post [REPEATS]
 *
 * Prints one line per wire, with medians.
 */
#include "wire/messenger/messenger.h"

#include <gradwire/wire.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SMALL_BYTES = 100,
    LARGE_BYTES = 40 << 20,
    ROUND_TRIPS = 1000,
    LARGE_MESSAGES = 8,
    IN_FLIGHT = 4,
    REPEATS_MAX = 200,
};

static const uint64_t patience_ns = 10000000000U;

struct bench {
    struct gw__messenger *messenger;
    unsigned node, peer;
    char *memory; /* IN_FLIGHT large messages */
    unsigned back, in_flight;
    bool copied;
};

static void die(const char *what, const struct gw_error *why)
{
    fprintf(stderr, "messenger: %s: %s\n", what, why ? why->text : "failed");
    exit(1);
}

static void count_back(void *context)
{
    ++*(unsigned *)context;
}

static void send_message(struct bench *b, const void *data, size_t bytes,
                         bool borrowed)
{
    struct gw__message_out message = {.node = b->peer,
                                      .part_count = 1,
                                      .parts = {{data, bytes}},
                                      .borrowed = borrowed,
                                      .back = count_back,
                                      .context = &b->back};
    if (gw__messenger_send(b->messenger, &message))
        die("send", NULL);
}

static void receive_message(struct bench *b)
{
    struct gw__message_in *message;
    while (gw__messenger_receive(b->messenger, &message) != GW_OK)
        gw__messenger_wait(b->messenger, gw_now_ns() + patience_ns);
    gw__message_in_release(message);
}

static void await_back(struct bench *b, unsigned wanted)
{
    while (b->back < wanted)
        gw__messenger_wait(b->messenger, gw_now_ns() + patience_ns);
}

static void round_trips(struct bench *b)
{
    char small[SMALL_BYTES] = {0};
    for (int i = 0; i < ROUND_TRIPS; i++) {
        if (b->node == 0)
            send_message(b, small, sizeof small, false);
        receive_message(b);
        if (b->node == 1)
            send_message(b, small, sizeof small, false);
    }
}

static void stream(struct bench *b)
{
    if (b->node == 1) {
        for (unsigned i = 0; i < LARGE_MESSAGES; i++)
            receive_message(b);
        send_message(b, "", 0, false);
        return;
    }
    unsigned before = b->back;
    for (unsigned i = 0; i < LARGE_MESSAGES; i++) {
        if (i >= b->in_flight)
            await_back(b, before + i + 1 - b->in_flight);
        send_message(b, b->memory + (size_t)(i % b->in_flight) * LARGE_BYTES,
                     LARGE_BYTES, true);
    }
    receive_message(b);
    await_back(b, before + LARGE_MESSAGES);
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
        uint64_t begin = gw_now_ns();
        run(b);
        times[i] = (double)(gw_now_ns() - begin) / 1e9;
    }
    qsort(times, (size_t)repeats, sizeof *times, compare);
    return times[repeats / 2];
}

static void measure(struct bench *b, const char *wire, int repeats)
{
    double rates[2];
    double trips = time_it(b, round_trips, repeats);
    for (unsigned i = 0; i < 2; i++) {
        b->in_flight = i ? IN_FLIGHT : 1;
        double seconds = time_it(b, stream, repeats);
        rates[i] = (double)LARGE_BYTES * LARGE_MESSAGES / seconds / 1e9;
    }
    if (b->node == 0)
        printf("%s%s: round trip of %d bytes %.2f us; messages of %d MiB, one "
               "under way %.2f GB/s, %d %.2f GB/s\n",
               wire, b->copied ? " (copied)" : "", SMALL_BYTES,
               trips / ROUND_TRIPS * 1e6, LARGE_BYTES >> 20, rates[0],
               IN_FLIGHT, rates[1]);
}

static void exchange_addresses(struct bench *b, int channel)
{
    struct gw__address theirs;
    struct gw_error why;
    const struct gw__address *mine = gw__messenger_address(b->messenger);
    if (write(channel, mine, sizeof *mine) != sizeof *mine ||
        read(channel, &theirs, sizeof theirs) != sizeof theirs)
        die("address", NULL);
    if (gw__messenger_know(b->messenger, b->peer, b->peer, 1, &theirs, &why))
        die("know", &why);
}

static void run_node(const char *wire, bool copied, unsigned node, int channel,
                     int repeats)
{
    struct gw_error why;
    struct bench b = {.node = node, .peer = 1 - node, .copied = copied};
    struct gw__messenger_config config = {.node = node,
                                          .incarnation_high = node,
                                          .incarnation_low = 1,
                                          .wire = wire,
                                          .security.token = 1,
                                          .copy_always = copied};
    if (gw__messenger_open(&config, &b.messenger, &why))
        die("open", &why);
    exchange_addresses(&b, channel);
    b.memory = gw_alloc((size_t)LARGE_BYTES * IN_FLIGHT, &why);
    if (!b.memory)
        die("memory", &why);
    memset(b.memory, 1, (size_t)LARGE_BYTES * IN_FLIGHT);
    measure(&b, wire, repeats);
    gw__messenger_close(&b.messenger);
    gw_free(b.memory);
}

static int run(const char *wire, bool copied, int repeats)
{
    int channel[2], status = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel) != 0)
        die("socketpair", NULL);
    pid_t child = fork();
    unsigned node = child == 0;
    run_node(wire, copied, node, channel[node], repeats);
    if (child == 0)
        exit(0);
    waitpid(child, &status, 0);
    close(channel[0]);
    close(channel[1]);
    return status;
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 15;
    if (repeats < 1 || repeats > REPEATS_MAX)
        return 64;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run("shm", false, repeats) || run("shm", true, repeats) ||
           run("ipc", false, repeats) || run("tcp", false, repeats);
}
