/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cost of libzmq's hand-over: a message from one thread to another thread
 * of the same process, which sleeps until it comes. It uses only libzmq, over a
 * PAIR of inproc sockets, which cross no kernel socket.
 *
 * Each message of a ZeroMQ wire is handed over twice: from the rank to libzmq's
 * thread, and at its peer from libzmq's thread to the rank. So a round trip
 * costs at least the raw socket's time and four hand-overs. The rest is
 * polling, framing and mailboxes in libzmq's thread, and gradwire. On two
 * cores, ranks pinned, 1 KiB, microseconds: tcp 17.5, of which the raw socket
 * 7.1, the hand-overs 5.2 (1.3 each) and 3.6 more of libzmq (a bare PAIR of tcp
 * sockets takes 15.9); ipc 16.8, 5.4, 5.2 and 4.5 (15.1).
 */
#include "bench_wire.h"

#include "common/stats.h"

#include <pthread.h>
#include <zmq.h>

enum { PING_PONGS = 200, ROUNDS = 9, WORD_BYTES = 64 };

static const char endpoint[] = "inproc://hand-over";

static bool send_word(void *socket)
{
    static const char word[WORD_BYTES];
    return zmq_send(socket, word, sizeof word, 0) >= 0;
}

static bool receive_word(void *socket)
{
    char word[WORD_BYTES];
    return zmq_recv(socket, word, sizeof word, 0) >= 0;
}

/* Answers each message until the context ends. */
static void *answer_words(void *context)
{
    void *socket = zmq_socket(context, ZMQ_PAIR);
    int now = 0;
    if (!socket)
        return NULL;
    zmq_setsockopt(socket, ZMQ_LINGER, &now, sizeof now);
    if (zmq_connect(socket, endpoint) == 0)
        while (receive_word(socket) && send_word(socket))
            ;
    zmq_close(socket);
    return NULL;
}

static bool time_rounds(void *socket, double samples[ROUNDS])
{
    bool good = send_word(socket) && receive_word(socket);
    for (unsigned i = 0; i < ROUNDS && good; i++) {
        uint64_t begin_ns = gw_now_ns();
        for (unsigned k = 0; k < PING_PONGS && good; k++)
            good = send_word(socket) && receive_word(socket);
        samples[i] = (double)(gw_now_ns() - begin_ns) / (2e3 * PING_PONGS);
    }
    return good;
}

/* If a thread cannot be made, there is no answer to wait for. */
static bool time_thread(void *context, void *socket, double samples[ROUNDS])
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer_words, context) != 0)
        return false;
    bool good = time_rounds(socket, samples);
    zmq_ctx_shutdown(context); /* ends the other thread's wait */
    pthread_join(thread, NULL);
    return good;
}

enum gw_err bench_wire_hand_over(double *us, struct gw_error *why)
{
    double samples[ROUNDS];
    int now = 0, most_ms = 5000;
    bool good = false;
    void *context = zmq_ctx_new();
    void *socket = context ? zmq_socket(context, ZMQ_PAIR) : NULL;
    if (socket && zmq_bind(socket, endpoint) == 0) {
        zmq_setsockopt(socket, ZMQ_LINGER, &now, sizeof now);
        zmq_setsockopt(socket, ZMQ_RCVTIMEO, &most_ms, sizeof most_ms);
        good = time_thread(context, socket, samples);
    }
    enum gw_err err =
        good ? GW_OK : gw_fail_errno(why, "measuring libzmq's hand-over");
    if (socket)
        zmq_close(socket);
    if (context)
        zmq_ctx_term(context);
    if (good) {
        stats_sort(samples, ROUNDS);
        *us = stats_quantile(samples, ROUNDS, 0.5);
    }
    return err;
}
