/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run that others can look at, but not steer: a tool that starts ranks by
 * launch.h gets a directory runs/NAME, answers hello and status, and publishes
 * its events, as attach.h says. ringtop and `ringctl status` find it like any
 * other run.
 *
 * A process of its own does that, fed through a pipe, so that the tool itself
 * keeps free of threads and ZeroMQ while it forks. Who only looks never holds a
 * run up: what the pipe has no room for is dropped. It ends when the tool does,
 * however that ends.
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

/* Forks; to be called before any thread exists. GW_EINVAL: a name that cannot
 * be, or that a living run has; GW_EUNREACH, GW_ESYS. */
GW_MUST_CHECK enum gw_err announce_open(const struct announce_options *options,
                                        struct announce **announce,
                                        struct gw_error *why);
const char *announce_name(const struct announce *announce);
/* Never waits. NULL allowed, and does nothing. */
void announce_event(struct announce *announce, const struct gw_event *event);
/* Writes summary.json (steals `summary`; NULL: none) and ends the process.
 * *announce may be NULL. */
void announce_close(struct announce **announce, json_t *summary);

#endif
