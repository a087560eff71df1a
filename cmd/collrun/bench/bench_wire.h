/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside `collrun bench wire`: the command (bench_wire.c), what its two ranks
 * do (bench_wire_rank.c), the socket beside them (bench_wire_raw.c), the
 * threads beside that (bench_wire_hand.c), and the cipher
 * (bench_wire_cipher.c).
 */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "bench.h"

/* What rank 0 tells about a size; medians. */
struct bench_wire_report {
    uint64_t bytes;
    double stream_us, raw_stream_us; /* a message of a stream */
    double trip_us, raw_trip_us;     /* there and back */
    double hand_over_us; /* from thread to thread; NaN: no ZeroMQ in it */
    double cipher_us;    /* a message's share of it; NaN: there is no key */
};

/* The command; `plain` has what is the same for every benchmark. */
GW_MUST_CHECK enum gw_err bench_wire(const struct bench *bench,
                                     const struct launch *plain,
                                     struct gw_error *why);
/* In both ranks; `socket` is the rank's end of the raw one. GW_EWRONG when what
 * arrives is not what was sent. */
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

/* How long a message from thread to thread takes; the median of some. */
GW_MUST_CHECK enum gw_err bench_wire_hand_over(double *us,
                                               struct gw_error *why);
/* How long one core takes to seal a message of so many bytes, or to open it,
 * whichever takes longer; the median of some. */
GW_MUST_CHECK enum gw_err bench_wire_cipher(size_t bytes, double *us,
                                            struct gw_error *why);

#endif
