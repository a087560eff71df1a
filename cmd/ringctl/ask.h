/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A request to the run's supervisor, whose answer becomes this program's own
 * result: an answer with an error code is an error here.
 */
#ifndef ASK_H
#define ASK_H

#include "common/rpc_client.h"
#include "common/text/json_get.h"

/* How long an answer may take: --timeout, else half a minute. */
uint64_t ask_timeout_ns(void);

/* rpc_client_do and rpc_client_status of the session's run. */
GW_MUST_CHECK enum gw_err ask(json_t *request, uint64_t timeout_ns,
                              json_t **answer, struct gw_error *why);
GW_MUST_CHECK enum gw_err ask_status(json_t **status, struct gw_error *why);

/* Prints the run's status by `print`; the exit status. */
int ask_and_print_status(int (*print)(const json_t *status));

#endif
