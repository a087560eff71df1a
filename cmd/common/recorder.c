/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events come from the ranks in batches, each in order, all on one clock (ranks
 * of a launch share a machine). The files need one common order, so all events
 * are kept and sorted before they are written. That suits runs of one call;
 * longer runs stream.
 */
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>

enum { EVENTS_MAX = 1 << 22 }; /* 256 MiB */

bool recorder_wanted(const struct recorder *r)
{
    return r->jsonl || r->trace || r->metrics;
}

void recorder_add(struct recorder *r, const struct gw_event *event)
{
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 1024;
        struct gw_event *moved = room <= EVENTS_MAX
                                     ? realloc(r->events, room * sizeof *moved)
                                     : NULL;
        if (!moved) {
            r->lost++;
            return;
        }
        r->events = moved;
        r->room = room;
    }
    r->events[r->count++] = *event;
}

static int by_time(const void *a, const void *b)
{
    const struct gw_event *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

typedef enum gw_err open_sink(FILE *file, struct gw_sink **sink,
                              struct gw_error *why);

static enum gw_err open_jsonl(FILE *file, struct gw_sink **sink,
                              struct gw_error *why)
{
    return gw_sink_jsonl(file, 0, sink, why);
}

static enum gw_err write_one(const struct recorder *r, const char *path,
                             open_sink *open, struct gw_error *why)
{
    struct gw_sink *sink = NULL;
    if (!path)
        return GW_OK;
    FILE *file = fopen(path, "w");
    if (!file)
        return gw_fail_errno(why, "%.200s", path);
    enum gw_err err = open(file, &sink, why);
    for (size_t i = 0; i < r->count && !err; i++)
        gw_emit(sink, &r->events[i]);
    gw_sink_close(&sink);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (!err && failed)
        err = gw_fail_errno(why, "write to %.200s", path);
    return err;
}

enum gw_err recorder_write(struct recorder *r, struct gw_error *why)
{
    if (r->count > 0)
        qsort(r->events, r->count, sizeof *r->events, by_time);
    enum gw_err err = write_one(r, r->jsonl, open_jsonl, why);
    if (!err)
        err = write_one(r, r->trace, gw_sink_chrome, why);
    if (!err)
        err = write_one(r, r->metrics, gw_sink_prometheus, why);
    if (!err && r->lost > 0)
        err = gw_fail(why, GW_ENOMEM,
                      "%llu events were lost because the recorder was full",
                      (unsigned long long)r->lost);
    return err;
}

void recorder_fini(struct recorder *r)
{
    free(r->events);
    r->events = NULL;
    r->count = r->room = 0;
}
