/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The origin of events: a table of functions, so that a recording, a pipe and a
 * live run look the same.
 */
#ifndef RINGTOP_SOURCE_H
#define RINGTOP_SOURCE_H

#include <gradwire/gradwire.h>
#include <jansson.h>

struct source {
    /* The next event, waiting for it until gw_now_ns() is `deadline_ns`, or a
     * signal comes. GW_OK with an event, GW_PENDING without one,
     * GW_ECLOSED at the end, GW_EDATA for an invalid event, after which the
     * caller may continue. After any other error the source is broken. */
    enum gw_err (*next)(struct source *source, uint64_t deadline_ns,
                        struct gw_event *event, struct gw_error *why);
    /* The newest status of the run that was not yet taken, owned by the caller.
     * NULL: none. The function is NULL if there never is one. */
    json_t *(*status)(struct source *source);
    void (*close)(struct source *source);
    int fd;            /* readable when there may be events; -1: poll */
    bool live;         /* events come as they happen */
    const char *run;   /* the attached run; NULL: none */
    bool is_read_only; /* the run is read-only (common/announce.h) */
    const struct gw_event *known; /* the state before the first event */
    size_t known_count;
    /* A reader that cannot keep up skips the missed events and continues with
     * the current state, a new `known`. The number of skips, and the skipped
     * time. */
    uint64_t skips, skipped_ns;
};

/* JSON lines, as gw_sink_jsonl writes them. `path` "-" is standard input, which
 * is live. */
GW_MUST_CHECK enum gw_err source_lines(const char *path, struct source **source,
                                       struct gw_error *why);
/* The events of a run; NULL: the latest. GW_EUNREACH: there is none. */
GW_MUST_CHECK enum gw_err source_run(const char *name, struct source **source,
                                     struct gw_error *why);
void source_close(struct source **source);

#endif
