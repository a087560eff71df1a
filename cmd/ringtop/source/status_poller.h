/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests a run's status several times a second, in a separate thread, so that
 * a slow supervisor delays no picture. Only the newest answer is kept.
 */
#ifndef RINGTOP_STATUS_POLLER_H
#define RINGTOP_STATUS_POLLER_H

#include <gradwire/gradwire.h>
#include <jansson.h>

struct status_poller;

GW_MUST_CHECK enum gw_err status_poller_new(const char *run,
                                            struct status_poller **poller,
                                            struct gw_error *why);
void status_poller_destroy(struct status_poller **poller);
/* The newest status, once; owned by the caller. NULL: none. */
json_t *status_poller_pop(struct status_poller *poller);
/* Stores a copy of `status` as the newest answer. */
void status_poller_set(struct status_poller *poller, const json_t *status);

#endif
