/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A request whose refusal is this program's own error.
 */
#include "rpc_client_parts.h"

#include "common/text/json_get.h"

/* A code of this library, whatever the answer contains. */
static enum gw_err code_of(const json_t *answer)
{
    const json_t *code = json_object_get(answer, "code");
    if (!json_is_integer(code))
        return GW_EINTERNAL;
    switch (json_integer_value(code)) {
#define X(name, value, text, status)                                           \
    case name:                                                                 \
        return name;
        GW_ERRORS(X)
#undef X
    }
    return GW_EINTERNAL;
}

enum gw_err rpc_client_do(struct rpc_client *client, json_t *request,
                          uint64_t timeout_ns, json_t **answer,
                          struct gw_error *why)
{
    enum gw_err code =
        rpc_client_request(client, request, timeout_ns, answer, why);
    if (code)
        return code;
    code = code_of(*answer);
    if (!code)
        return GW_OK;
    gw_fail(why, code, "%s",
            text_of(*answer, "text", "the supervisor gave no reason"));
    json_decref(*answer);
    *answer = NULL;
    return code;
}

enum gw_err rpc_client_status(struct rpc_client *client, uint64_t timeout_ns,
                              json_t **status, struct gw_error *why)
{
    json_t *answer;
    *status = NULL;
    enum gw_err code = rpc_client_do(
        client, json_pack("{ss}", "verb", "status"), timeout_ns, &answer, why);
    if (code)
        return code;
    *status = json_incref(json_object_get(answer, "data"));
    json_decref(answer);
    if (json_is_object(*status))
        return GW_OK;
    json_decref(*status);
    *status = NULL;
    return gw_fail(why, GW_EINTERNAL, "the answer to status contains no data");
}
