/* SPDX-License-Identifier: MIT
 *
 * JSON lines: one event per line, for jq, notebooks and recordings. A field
 * that does not apply (GW_NONE) is left out. jsonl_parse.c reads them back.
 *
 *     {"time_ns":81224,"kind":"send","rank":0,"peer":1,"epoch":0,"op":3,
 *      "step":1,"chunk":2,"bytes":4096,"value":1}            (in one line)
 */
#include "event/sink.h"

#include <inttypes.h>
#include <stdlib.h>

struct jsonl {
    struct gw_sink sink;
    FILE *file;
    unsigned flush_every; /* 0: only at close */
    unsigned unflushed;
};

static void put_field(FILE *file, const char *name, uint32_t value)
{
    if (value != GW_NONE)
        fprintf(file, "\"%s\":%" PRIu32 ",", name, value);
}

static void jsonl_emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct jsonl *s = (struct jsonl *)sink;
    FILE *file = s->file;
    fprintf(file, "{\"time_ns\":%" PRIu64 ",\"kind\":\"%s\",", event->time_ns,
            gw_event_name(event->kind));
    put_field(file, "rank", event->rank);
    put_field(file, "peer", event->peer);
    put_field(file, "epoch", event->epoch);
    put_field(file, "op", event->op);
    put_field(file, "step", event->step);
    put_field(file, "chunk", event->chunk);
    fprintf(file, "\"bytes\":%" PRIu64 ",\"value\":%" PRId64 "}\n",
            event->bytes, event->value);
    if (++s->unflushed == s->flush_every) {
        fflush(file);
        s->unflushed = 0;
    }
}

static void jsonl_close(struct gw_sink *sink)
{
    fflush(((struct jsonl *)sink)->file);
    free(sink);
}

enum gw_err gw_sink_jsonl(FILE *file, unsigned flush_every,
                          struct gw_sink **sink, struct gw_error *why)
{
    enum gw_err code =
        gw__sink_new(sizeof(struct jsonl), jsonl_emit, jsonl_close, sink, why);
    if (code)
        return code;
    struct jsonl *s = (struct jsonl *)*sink;
    s->file = file;
    s->flush_every = flush_every;
    return GW_OK;
}
