/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See ask.h. A connection on which something went wrong is not used again: an
 * answer that comes too late must not be taken for the next one's.
 */
#include "ask.h"

#include "common/command.h"
#include "ringctl/shell/session.h"

uint64_t ask_timeout_ns(void)
{
    return common.timeout_ns ? common.timeout_ns : 30000000000;
}

/* A code of ours, whatever a stranger may have answered. */
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

enum gw_err ask_at(struct attach *attach, json_t *request, uint64_t timeout_ns,
                   json_t **answer, struct gw_error *why)
{
    enum gw_err code = attach_ask(attach, request, timeout_ns, answer, why);
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

enum gw_err ask(json_t *request, uint64_t timeout_ns, json_t **answer,
                struct gw_error *why)
{
    struct attach *attach;
    enum gw_err code = session_attach(&attach, why);
    if (code) {
        json_decref(request);
        return code;
    }
    code = ask_at(attach, request, timeout_ns, answer, why);
    if (code == GW_ETIMEOUT || code == GW_EUNREACH || code == GW_EINTR)
        session_detach();
    return code;
}

enum gw_err ask_data(const char *verb, json_t **data, struct gw_error *why)
{
    json_t *answer;
    enum gw_err code =
        ask(json_pack("{ss}", "verb", verb), ask_timeout_ns(), &answer, why);
    if (code)
        return code;
    *data = json_incref(json_object_get(answer, "data"));
    json_decref(answer);
    if (json_is_object(*data))
        return GW_OK;
    json_decref(*data);
    return gw_fail(why, GW_EINTERNAL, "the answer to %s contains no data",
                   verb);
}

int ask_and_print_status(int (*print)(const json_t *status))
{
    struct gw_error why;
    json_t *status;
    if (ask_data("status", &status, &why))
        return complain(&why);
    int result = print(status);
    json_decref(status);
    return result;
}
