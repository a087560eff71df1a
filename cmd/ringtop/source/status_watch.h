/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Asks a run for its status several times a second, in a thread of its own: a
 * supervisor that is slow to answer holds up no picture. Only the newest answer
 * is kept.
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
/* The newest status, once; its caller releases it. NULL: there is none. */
json_t *status_watch_take(struct status_watch *watch);
/* As if it had been answered now; it is copied. */
void status_watch_give(struct status_watch *watch, const json_t *status);

#endif
