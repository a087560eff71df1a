/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A request to the run's supervisor, whose answer becomes this program's own
 * result: an answer with an error code is an error here.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include "common/rpc_client.h"
#include "common/text/json_get.h"

/* How long an answer may take: --timeout, else half a minute. */
uint64_t answer_timeout_ns(void);

/* rpc_client_do and rpc_client_status of the session's run. */
GW_MUST_CHECK enum gw_err send_request(json_t *request, uint64_t timeout_ns,
                                       json_t **answer, struct gw_error *why);
GW_MUST_CHECK enum gw_err request_status(json_t **status, struct gw_error *why);

/* Prints the run's status by `print`; the exit status. */
int request_and_print_status(int (*print)(const json_t *status));

#endif
