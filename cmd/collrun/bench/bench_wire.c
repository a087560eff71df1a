/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun bench wire: messages between two ranks, compared with a raw socket of
 * the same family, measured in turns in one run. The difference is the cost of
 * gradwire and ZeroMQ. Of a round trip, four hand-overs between ZeroMQ's thread
 * and the rank's are ZeroMQ's alone. shm does not use the kernel; like ipc, it
 * is compared with a Unix socket. With a key, the encryption speed of one core
 * limits a stream.
 */
#include "bench_wire.h"

#include "common/command.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct field fields[] = {
    {"op", NULL, FIELD_TEXT, 0, false},
    {"wire", NULL, FIELD_TEXT, 0, false},
    {"bytes", "size", FIELD_INTEGER, 0, false},
    {"GBps", "GB/s", FIELD_REAL, 3, false},
    {"raw_GBps", "raw GB/s", FIELD_REAL, 3, false},
    {"share", "% of raw", FIELD_REAL, 1, false},
    {"us", NULL, FIELD_REAL, 2, false},
    {"raw_us", "raw us", FIELD_REAL, 2, false},
    {"hand_over_us", "hand-over", FIELD_REAL, 2, false},
    {"accounted", "% raw + 4 hand-overs", FIELD_REAL, 1, false},
    {"cipher_GBps", "cipher GB/s", FIELD_REAL, 3, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct wire_bench {
    const struct bench *bench;
    struct output *output;
    int ends[2]; /* of the raw socket */
};

/* The share, in percent, of the kernel and the hand-overs in a round trip. */
static double accounted(const struct bench_wire_report *r)
{
    double hand_over_us = isnan(r->hand_over_us) ? 0 : r->hand_over_us;
    return 100 * (r->raw_rtt_us + 4 * hand_over_us) / r->rtt_us;
}

static void add_wire_report(void *context, unsigned rank, const void *data,
                            size_t bytes)
{
    const struct wire_bench *w = context;
    struct bench_wire_report r;
    (void)rank;
    if (bytes != sizeof r)
        return;
    memcpy(&r, data, sizeof r);
    output_row(w->output,
               (union value[FIELD_COUNT]){
                   {.text = "wire"},
                   {.text = w->bench->wire},
                   {.integer = (int64_t)r.bytes},
                   {.real = (double)r.bytes / r.stream_us * 1e-3},
                   {.real = (double)r.bytes / r.raw_stream_us * 1e-3},
                   {.real = 100 * r.raw_stream_us / r.stream_us},
                   {.real = r.rtt_us},
                   {.real = r.raw_rtt_us},
                   {.real = r.hand_over_us},
                   {.real = accounted(&r)},
                   {.real = (double)r.bytes / r.cipher_us * 1e-3},
               });
}

static enum gw_err wire_rank_main(struct gw_comm *comm, struct reporter *report,
                                  void *context, struct gw_error *why)
{
    const struct wire_bench *w = context;
    return bench_wire_rank(comm, report, w->bench, w->ends[gw_comm_rank(comm)],
                           why);
}

/* Two ranks for one wire. */
static enum gw_err measure_wire(struct wire_bench *w,
                                const struct launch *plain,
                                struct gw_error *why)
{
    struct launch launch = *plain;
    enum gw_err err = bench_wire_raw_pair(w->bench->wire, w->ends, why);
    launch.ranks = 2;
    launch.wire = w->bench->wire;
    launch.rank_main = wire_rank_main;
    launch.on_report = add_wire_report;
    launch.context = w;
    if (!err)
        err = launch_run(&launch, why);
    for (int i = 0; i < 2; i++)
        if (w->ends[i] >= 0)
            close(w->ends[i]);
    return err;
}

enum gw_err bench_wire(struct bench *bench, const struct bench_runs *runs,
                       const struct launch *plain, struct gw_error *why)
{
    struct wire_bench w = {.bench = bench};
    enum gw_err err = output_begin("collrun bench wire", common.output, fields,
                                   FIELD_COUNT, &w.output, why);
    if (err)
        return err;
    output_spare(w.output, "op cipher_GBps hand_over_us accounted raw_us");
    for (unsigned i = 0; i < runs->wires_count && !err; i++) {
        bench->wire = runs->wires[i];
        err = measure_wire(&w, plain, why);
    }
    output_end(&w.output, err ? why : NULL, err == GW_EINTR);
    return err;
}
