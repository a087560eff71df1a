/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests a run's status several times a second, in a separate thread, so that
 * a slow supervisor delays no picture. Only the newest answer is kept.
 */
#ifndef RINGTOP_STATUS_WATCH_H
#define RINGTOP_STATUS_WATCH_H

#include <gradwire/gradwire.h>
#include <jansson.h>

struct status_watch;

GW_MUST_CHECK enum gw_err status_watch_new(const char *run,
                                           struct status_watch **watch,
                                           struct gw_error *why);
void status_watch_destroy(struct status_watch **watch);
/* The newest status, once; owned by the caller. NULL: none. */
json_t *status_watch_take(struct status_watch *watch);
/* Stores a copy of `status` as the newest answer. */
void status_watch_give(struct status_watch *watch, const json_t *status);

#endif
