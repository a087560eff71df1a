/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See request.h. A connection that has failed is not used again: a late answer
 * must not be taken for the next one.
 */
#include "request.h"

#include "common/command.h"
#include "ringctl/shell/session.h"

#include <stdlib.h>

uint64_t answer_timeout_ns(void)
{
    return common.timeout_ns ? common.timeout_ns : 30000000000;
}

/* Keeps the session's connection, unless it cannot be used any more. */
static enum gw_err keep_or_drop(enum gw_err code)
{
    if (code == GW_ETIMEOUT || code == GW_EUNREACH || code == GW_EINTR)
        session_disconnect();
    return code;
}

/* The first request of a command carries the command itself, for the run's file
 * `commands`. */
static void add_command(json_t *request)
{
    char *line = session_line();
    if (line)
        json_object_set_new(request, "command", json_string(line));
    free(line);
}

enum gw_err send_request(json_t *request, uint64_t timeout_ns, json_t **answer,
                         struct gw_error *why)
{
    struct rpc_client *client;
    enum gw_err code = session_connect(&client, why);
    if (code)
        json_decref(request);
    else
        add_command(request);
    return code ? code
                : keep_or_drop(
                      rpc_client_do(client, request, timeout_ns, answer, why));
}

enum gw_err request_status(json_t **status, struct gw_error *why)
{
    struct rpc_client *client;
    enum gw_err code = session_connect(&client, why);
    return code ? code
                : keep_or_drop(rpc_client_status(client, answer_timeout_ns(),
                                                 status, why));
}

int request_and_print_status(int (*print)(const json_t *status))
{
    struct gw_error why;
    json_t *status;
    if (request_status(&status, &why))
        return complain(&why);
    int result = print(status);
    json_decref(status);
    return result;
}
