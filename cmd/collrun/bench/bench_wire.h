/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun bench wire`: the command (bench_wire.c), its two ranks
 * (bench_wire_rank.c), and for comparison the raw socket (bench_wire_raw.c),
 * the threads (bench_wire_hand.c) and the cipher (bench_wire_cipher.c).
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "bench.h"

/* Rank 0's report on a size; medians. */
struct bench_wire_report {
    uint64_t bytes;
    double stream_us, raw_stream_us; /* per message of a stream */
    double rtt_us, raw_rtt_us;       /* there and back */
    double hand_over_us; /* from thread to thread; NaN: no ZeroMQ in it */
    double cipher_us;    /* for one message; NaN: no key */
};

/* The command: the wires of `runs`, one after the other. `plain` has the common
 * launch options of all benchmarks. */
GW_MUST_CHECK enum gw_err bench_wire(struct bench *bench,
                                     const struct bench_runs *runs,
                                     const struct launch *plain,
                                     struct gw_error *why);
/* In both ranks; `socket` is the rank's end of the raw one. GW_EWRONG when a
 * received message differs from the sent one. */
GW_MUST_CHECK enum gw_err bench_wire_rank(struct gw_comm *comm,
                                          struct reporter *report,
                                          const struct bench *bench, int socket,
                                          struct gw_error *why);

/* Two joined stream sockets: TCP over loopback for "tcp", Unix ones else. */
GW_MUST_CHECK enum gw_err bench_wire_raw_pair(const char *wire, int ends[2],
                                              struct gw_error *why);
/* All bytes, or GW_ELOST. */
GW_MUST_CHECK enum gw_err bench_wire_raw_send(int socket, const void *data,
                                              size_t bytes,
                                              struct gw_error *why);
GW_MUST_CHECK enum gw_err bench_wire_raw_receive(int socket, void *data,
                                                 size_t bytes,
                                                 struct gw_error *why);

/* The time of a message from thread to thread; the median of some. */
GW_MUST_CHECK enum gw_err bench_wire_hand_over(double *us,
                                               struct gw_error *why);
/* The time of one core to seal a message of this size, or to open it, whichever
 * is longer; the median of some. With the cipher of CURVE, or with that of the
 * socket wires. */
GW_MUST_CHECK enum gw_err bench_wire_cipher(size_t bytes, bool curve,
                                            double *us, struct gw_error *why);

#endif
