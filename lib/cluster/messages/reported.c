/* SPDX-License-Identifier: MIT
 *
 * REPORTED: the reports of a flush as runs.
 *
 *     REPORTED  flush epoch | run ...
 *     run       node | repetitions | bytes | the report of that node |
 *               (with repetitions) number of steps | (offset, step) ...
 *
 * Members that ran a plan together have reports of one form: the edges of the
 * segments move by one place, or stay, from a member to the next. So the bytes
 * of a report are those of the report before it plus the same steps, which a
 * run repeats for the nodes that follow. A death or a newcomer begins another
 * run. So the message grows with the changes of the ring, not with its size.
 * Reports in which nothing repeats take a run each.
 */
#include "protocol.h"

#include <string.h>

enum { STEPS_MAX = 32 };

/* ---- encoding ---- */

struct run {
    unsigned node, repeats;
    size_t bytes; /* 0: there is no run yet */
    uint8_t first[GW__REPORT_BYTES_MAX], last[GW__REPORT_BYTES_MAX];
    uint8_t steps[GW__REPORT_BYTES_MAX]; /* with repetitions */
};

static unsigned count_steps(const struct run *run)
{
    unsigned count = 0;
    for (size_t i = 0; i < run->bytes; i++)
        count += run->steps[i] != 0;
    return count;
}

static void begin_run(struct run *run, unsigned node, const uint8_t *report,
                      size_t bytes)
{
    run->node = node;
    run->repeats = 0;
    run->bytes = bytes;
    memcpy(run->first, report, bytes);
    memcpy(run->last, report, bytes);
}

/* Appends the report of the next node if it continues the run. */
static bool extend_run(struct run *run, unsigned node, const uint8_t *report,
                       size_t bytes)
{
    if (bytes != run->bytes || node != run->node + run->repeats + 1)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t step = (uint8_t)(report[i] - run->last[i]);
        if (run->repeats == 0)
            run->steps[i] = step;
        if (run->steps[i] != step)
            return false;
    }
    if (run->repeats == 0 && count_steps(run) > STEPS_MAX)
        return false;
    memcpy(run->last, report, bytes);
    run->repeats++;
    return true;
}

static void put_run(struct gw__writer *w, const struct run *run)
{
    gw__put_node(w, run->node);
    gw__put_u16(w, run->repeats);
    gw__put_u16(w, (unsigned)run->bytes);
    gw__put_bytes(w, run->first, run->bytes);
    if (run->repeats == 0)
        return;
    gw__put_u8(w, count_steps(run));
    for (unsigned i = 0; i < run->bytes; i++)
        if (run->steps[i]) {
            gw__put_u16(w, i);
            gw__put_u8(w, run->steps[i]);
        }
}

/* Writes the run if it fits, and removes its nodes from the set. */
static bool close_run(struct gw__writer *w, const struct run *run,
                      struct gw_nodes *nodes)
{
    size_t before = w->used;
    if (run->bytes == 0)
        return true;
    put_run(w, run);
    if (!gw__writer_fits(w)) {
        w->used = before;
        return false;
    }
    for (unsigned i = 0; i <= run->repeats; i++)
        gw__nodes_remove(nodes, run->node + i);
    return true;
}

size_t gw__reported_encode(uint64_t flush_epoch,
                           const struct gw__report reports[GW__NODES_MAX],
                           struct gw_nodes *nodes, void *out, size_t room)
{
    struct gw__writer w = gw__writer_on(out, room);
    struct run run = {.bytes = 0};
    const struct gw_nodes all = *nodes;
    gw__put_u8(&w, GW__PROTOCOL_REPORTED);
    gw__put_u64(&w, flush_epoch);
    size_t head = w.used;
    for (unsigned node = gw__nodes_next(&all, 0); node < GW__NODES_MAX;
         node = gw__nodes_next(&all, node + 1)) {
        uint8_t report[GW__REPORT_BYTES_MAX];
        struct gw__writer one = gw__writer_on(report, sizeof report);
        gw__put_report(&one, &reports[node]);
        if (run.bytes && extend_run(&run, node, report, one.used))
            continue;
        if (!close_run(&w, &run, nodes))
            return w.used > head ? w.used : 0;
        begin_run(&run, node, report, one.used);
    }
    (void)close_run(&w, &run, nodes);
    return w.used > head ? w.used : 0;
}

/* ---- decoding ---- */

static void get_steps(struct gw__reader *r, struct gw__reported *reported)
{
    memset(reported->steps, 0, sizeof reported->steps);
    unsigned count = gw__get_u8_below(r, STEPS_MAX + 1);
    for (unsigned i = 0; i < count && !r->bad; i++) {
        unsigned offset = gw__get_u16_below(r, (unsigned)reported->bytes);
        uint8_t step = (uint8_t)gw__get_u8(r);
        if (!r->bad)
            reported->steps[offset] = step;
    }
}

static void get_run(struct gw__reader *r, struct gw__reported *reported)
{
    reported->node = gw__get_node(r);
    reported->repeats = gw__get_u16_below(r, GW__NODES_MAX);
    gw__reader_demand(r, reported->node + reported->repeats < GW__NODES_MAX);
    reported->bytes = gw__get_u16_below(r, GW__REPORT_BYTES_MAX + 1);
    gw__get_bytes(r, reported->report, reported->bytes);
    if (reported->repeats)
        get_steps(r, reported);
}

static void repeat(struct gw__reported *reported)
{
    reported->node++;
    reported->repeats--;
    for (size_t i = 0; i < reported->bytes; i++)
        reported->report[i] += reported->steps[i];
}

bool gw__reported_next(struct gw__reported *reported, unsigned *node,
                       struct gw__report *report)
{
    struct gw__reader *r = &reported->rest;
    if (reported->repeats)
        repeat(reported);
    else if (r->left)
        get_run(r, reported);
    else
        return false;
    struct gw__reader one = gw__reader_on(reported->report, reported->bytes);
    gw__get_report(&one, report);
    gw__reader_demand(r, gw__reader_done(&one));
    *node = reported->node;
    return !r->bad;
}

enum gw_err gw__reported_decode(const void *data, size_t bytes,
                                struct gw__reported *reported,
                                struct gw_error *why)
{
    struct gw__report report;
    unsigned node, next = 0;
    reported->rest = gw__reader_on(data, bytes);
    reported->repeats = 0;
    gw__reader_demand(&reported->rest,
                      gw__get_u8(&reported->rest) == GW__PROTOCOL_REPORTED);
    reported->flush_epoch = gw__get_u64(&reported->rest);
    struct gw__reported checked = *reported;
    while (gw__reported_next(&checked, &node, &report)) {
        gw__reader_demand(&checked.rest, node >= next);
        next = node + 1;
    }
    if (!gw__reader_done(&checked.rest) || next == 0)
        return gw_fail(why, GW_EDATA, "malformed reports of %zu bytes", bytes);
    return GW_OK;
}
