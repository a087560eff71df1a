/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run that is read-only for others: a tool that starts ranks by launch.h gets
 * a directory runs/NAME, answers hello and status, and publishes its events
 * (attach.h). ringtop and `ringctl status` find it like any other run.
 *
 * A separate process does this, fed through a pipe, so that the tool has no
 * threads and no ZeroMQ context when it forks. Observers never slow the run
 * down: an event that does not fit into the pipe is dropped. The process ends
 * when the tool ends, for whatever reason.
 */
#ifndef RUN_PUBLISHER_H
#define RUN_PUBLISHER_H

#include <gradwire/gradwire.h>

#include <jansson.h>

struct run_publisher;

struct publish_options {
    const char *tool;    /* "pipebench run" */
    const char *name;    /* NULL: a short word is picked */
    const char *command; /* as it was typed, for run.json */
    uint64_t seed;
};

/* Forks; to be called before any thread exists. GW_EINVAL: an invalid name, or
 * the name of a run that is alive; GW_EUNREACH, GW_ESYS. */
GW_MUST_CHECK enum gw_err
publish_run_open(const struct publish_options *options,
                 struct run_publisher **publisher, struct gw_error *why);
const char *publish_run_name(const struct run_publisher *publisher);
/* Never waits. NULL is allowed and ignored. */
void publish_run_event(struct run_publisher *publisher,
                       const struct gw_event *event);
/* Writes summary.json (steals `summary`; NULL: none) and ends the process.
 * *announce may be NULL. */
void publish_run_close(struct run_publisher **publisher, json_t *summary);

#endif
