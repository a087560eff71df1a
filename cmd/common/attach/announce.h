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
#ifndef ANNOUNCE_H
#define ANNOUNCE_H

#include <gradwire/gradwire.h>

#include <jansson.h>

struct announce;

struct announce_options {
    const char *tool;    /* "pipebench run" */
    const char *name;    /* NULL: a short word is picked */
    const char *command; /* as it was typed, for run.json */
    uint64_t seed;
};

/* Forks; to be called before any thread exists. GW_EINVAL: an invalid name, or
 * the name of a run that is alive; GW_EUNREACH, GW_ESYS. */
GW_MUST_CHECK enum gw_err announce_open(const struct announce_options *options,
                                        struct announce **announce,
                                        struct gw_error *why);
const char *announce_name(const struct announce *announce);
/* Never waits. NULL is allowed and ignored. */
void announce_event(struct announce *announce, const struct gw_event *event);
/* Writes summary.json (steals `summary`; NULL: none) and ends the process.
 * *announce may be NULL. */
void announce_close(struct announce **announce, json_t *summary);

#endif
