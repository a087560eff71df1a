/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where events come from: a table of functions, so that a recording, a pipe,
 * and whatever else tells of a run look the same.
 */
#ifndef RINGTOP_SOURCE_H
#define RINGTOP_SOURCE_H

#include <gradwire/gradwire.h>
#include <jansson.h>

struct source {
    /* The next event, waiting for it until gw_now_ns() is `deadline_ns`, or a
     * signal comes. GW_OK with an event; GW_PENDING; GW_ECLOSED when there will
     * be none any more; GW_EDATA for something that is no event, after which
     * one may ask on; else the source is broken. */
    enum gw_err (*next)(struct source *source, uint64_t deadline_ns,
                        struct gw_event *event, struct gw_error *why);
    /* The newest status of the run, if there is one that was not taken yet; its
     * caller releases it. NULL: none; or, for the function, never any. */
    json_t *(*status)(struct source *source);
    void (*close)(struct source *source);
    int fd;    /* readable when it is worth asking; -1: ask now and then */
    bool live; /* events come as they happen */
    const char *run; /* the run that it is attached to; NULL: none */
    bool looks_only; /* that run takes no orders (common/announce.h) */
    const struct gw_event *known; /* what was so before the first event */
    size_t known_count;
    /* Who cannot keep up leaves out what he missed, and goes on with what is
     * so: `known` is new then. How often, and how much time in all. */
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
