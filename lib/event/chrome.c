/* SPDX-License-Identifier: MIT
 *
 * The trace for Perfetto (ui.perfetto.dev) and chrome://tracing, in Chromium's
 * "Trace Event Format". A rank is a process. Its collectives and its transfers
 * are asynchronous spans, since several run at once and do not nest. A
 * transfer's span is on the sender's side, from the first byte sent to the
 * moment when the receiver has applied the last. An arrow (a flow) leads from
 * the sender's "send" to the receiver's "apply"; arrows end on slices, so both
 * are slices of no length. Times are in microseconds.
 *
 * SEND and APPLY are matched by the fields that identify a transfer on both
 * sides: epoch, op, step, chunk, sender, receiver.
 *
 * The passes of a pipeline stage do not overlap, so they are plain slices: "F3"
 * is the forward pass of micro-batch 3.
 */
#include "event/sink.h"

#include <inttypes.h>
#include <stdlib.h>

enum { RANKS_NAMED = 1 << 16 };

enum track { TRACK_RUN, TRACK_SENDS, TRACK_APPLIES };

struct chrome {
    struct gw_sink sink;
    FILE *file;
    bool begun;                     /* a record has been written */
    uint8_t named[RANKS_NAMED / 8]; /* ranks that have their names, as bits */
};

/* Begins a record with the members that all records have; the caller ends it.
 */
static FILE *begin_record(struct chrome *s, const char *phase, const char *name,
                          uint32_t rank, enum track track, uint64_t time_ns)
{
    fprintf(s->file,
            "%s\n{\"ph\":\"%s\",\"name\":\"%s\",\"pid\":%" PRIu32
            ",\"tid\":%d,\"ts\":%" PRIu64 ".%03u",
            s->begun ? "," : "", phase, name, rank, (int)track, time_ns / 1000,
            (unsigned)(time_ns % 1000));
    s->begun = true;
    return s->file;
}

static void name_rank(struct chrome *s, uint32_t rank)
{
    static const char *const tracks[] = {"run", "sends", "applies"};
    if (rank >= RANKS_NAMED || s->named[rank / 8] & 1U << rank % 8)
        return;
    s->named[rank / 8] |= (uint8_t)(1U << rank % 8);
    fprintf(begin_record(s, "M", "process_name", rank, TRACK_RUN, 0),
            ",\"args\":{\"name\":\"rank %" PRIu32 "\"}}", rank);
    fprintf(begin_record(s, "M", "process_sort_index", rank, TRACK_RUN, 0),
            ",\"args\":{\"sort_index\":%" PRIu32 "}}", rank);
    for (unsigned t = 0; t < sizeof tracks / sizeof *tracks; t++)
        fprintf(begin_record(s, "M", "thread_name", rank, (enum track)t, 0),
                ",\"args\":{\"name\":\"%s\"}}", tracks[t]);
}

static void put_op(struct chrome *s, const struct gw_event *e,
                   const char *phase)
{
    char name[24];
    snprintf(name, sizeof name, "op %" PRIu32, e->op);
    fprintf(begin_record(s, phase, name, e->rank, TRACK_RUN, e->time_ns),
            ",\"cat\":\"op\",\"id\":\"op-%" PRIu32 "-%" PRIu32 "-%" PRIu32
            "\",\"args\":{\"bytes\":%" PRIu64 ",\"value\":%" PRId64 "}}",
            e->epoch, e->op, e->rank, e->bytes, e->value);
}

/* The id of a transfer, the same for its SEND and its APPLY. */
static void put_transfer_id(FILE *file, const struct gw_event *e, uint32_t src,
                            uint32_t dst)
{
    fprintf(file,
            "\"%" PRIu32 "-%" PRIu32 "-%" PRIu32 "-%" PRIu32 "-%" PRIu32
            "-%" PRIu32 "\"",
            e->epoch, e->op, e->step, e->chunk, src, dst);
}

static void put_transfer(struct chrome *s, const struct gw_event *e)
{
    bool sending = e->kind == GW_EV_SEND;
    uint32_t src = sending ? e->rank : e->peer;
    uint32_t dst = sending ? e->peer : e->rank;
    enum track track = sending ? TRACK_SENDS : TRACK_APPLIES;
    char name[40];
    snprintf(name, sizeof name, "c%" PRIu32 " %" PRIu32 ">%" PRIu32, e->chunk,
             src, dst);
    fprintf(begin_record(s, "X", name, e->rank, track, e->time_ns),
            ",\"dur\":0,\"args\":{\"op\":%" PRIu32 ",\"step\":%" PRIu32
            ",\"bytes\":%" PRIu64 ",\"value\":%" PRId64 "}}",
            e->op, e->step, e->bytes, e->value);
    if (src == dst)
        return;
    FILE *file = begin_record(s, sending ? "s" : "f", "chunk", e->rank, track,
                              e->time_ns);
    fprintf(file,
            ",\"cat\":\"flow\"%s,\"id\":", sending ? "" : ",\"bp\":\"e\"");
    put_transfer_id(file, e, src, dst);
    fputc('}', file);
    begin_record(s, sending ? "b" : "e", name, src, TRACK_SENDS, e->time_ns);
    fputs(",\"cat\":\"transfer\",\"id\":", file);
    put_transfer_id(file, e, src, dst);
    fputc('}', file);
}

/* The letters of gradwire/pipe.h, which is a layer above. */
static void put_pass(struct chrome *s, const struct gw_event *e)
{
    static const char letters[] = "FBIW";
    bool known = e->value >= 0 && (size_t)e->value < sizeof letters - 1;
    bool begins = e->kind == GW_EV_PASS_BEGIN;
    char name[16];
    snprintf(name, sizeof name, "%c%" PRIu32, known ? letters[e->value] : '?',
             e->op);
    FILE *file = begin_record(s, begins ? "B" : "E", name, e->rank, TRACK_RUN,
                              e->time_ns);
    fprintf(file,
            ",\"cat\":\"pass\",\"args\":{\"step\":%" PRIu32
            ",\"piece\":%" PRIu32,
            e->step, e->chunk);
    if (!begins)
        fprintf(file, ",\"held\":%" PRIu64, e->bytes);
    else if (e->peer != GW_NONE)
        fprintf(file, ",\"waited_for\":%" PRIu32, e->peer);
    fputs("}}", file);
}

/* From now on a rank has the name of its stage. */
static void name_stage(struct chrome *s, const struct gw_event *e)
{
    fprintf(begin_record(s, "M", "process_name", e->rank, TRACK_RUN, 0),
            ",\"args\":{\"name\":\"stage %" PRIu32 " (rank %" PRIu32 ")\"}}",
            e->peer, e->rank);
}

static void put_mark(struct chrome *s, const struct gw_event *e)
{
    const char *name = gw_event_name(e->kind);
    fprintf(begin_record(s, "i", name, e->rank, TRACK_RUN, e->time_ns),
            ",\"s\":\"p\",\"args\":{");
    if (e->peer != GW_NONE)
        fprintf(s->file, "\"peer\":%" PRIu32 ",", e->peer);
    if (e->op != GW_NONE)
        fprintf(s->file, "\"op\":%" PRIu32 ",", e->op);
    if (e->chunk != GW_NONE)
        fprintf(s->file, "\"chunk\":%" PRIu32 ",", e->chunk);
    fprintf(s->file, "\"value\":%" PRId64 "}}", e->value);
}

static void chrome_emit(struct gw_sink *sink, const struct gw_event *e)
{
    struct chrome *s = (struct chrome *)sink;
    name_rank(s, e->rank);
    switch ((enum gw_event_kind)e->kind) {
    case GW_EV_OP_BEGIN:
        put_op(s, e, "b");
        break;
    case GW_EV_OP_END:
        put_op(s, e, "e");
        break;
    case GW_EV_SEND:
    case GW_EV_APPLY:
        put_transfer(s, e);
        break;
    case GW_EV_STAGE:
        name_stage(s, e);
        break;
    case GW_EV_PASS_BEGIN:
    case GW_EV_PASS_END:
        put_pass(s, e);
        break;
    case GW_EV_LOSS:
        fprintf(begin_record(s, "C", "loss", e->rank, TRACK_RUN, e->time_ns),
                ",\"args\":{\"loss\":%.9f}}", (double)e->value * 1e-9);
        break;
    default:
        put_mark(s, e);
        break;
    }
}

static void chrome_close(struct gw_sink *sink)
{
    struct chrome *s = (struct chrome *)sink;
    fputs("\n]}\n", s->file);
    fflush(s->file);
    free(s);
}

enum gw_err gw_sink_chrome(FILE *file, struct gw_sink **sink,
                           struct gw_error *why)
{
    enum gw_err code = gw__sink_new(sizeof(struct chrome), chrome_emit,
                                    chrome_close, sink, why);
    if (code)
        return code;
    ((struct chrome *)*sink)->file = file;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file);
    return GW_OK;
}
