/* SPDX-License-Identifier: MIT
 *
 * Applies one entry of the log: decodes it, answers a repetition from memory,
 * calls the function of its kind, and remembers the answer. See registry.h for
 * the meaning of the commands and registry_parts.h for the other parts.
 */
#include "registry_parts.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static gw__command_apply *const apply[GW__COMMAND_KINDS] = {
    [GW__CMD_REGISTER] = gw__apply_register,
    [GW__CMD_ADMIT] = gw__apply_admit,
    [GW__CMD_SUSPECT] = gw__apply_suspect,
    [GW__CMD_LEAVE] = gw__apply_leave,
    [GW__CMD_REPORT] = gw__apply_report,
    [GW__CMD_DEADLINE] = gw__apply_deadline,
    [GW__CMD_ROUTES] = gw__apply_routes,
    [GW__CMD_TABLE] = gw__apply_table,
    [GW__CMD_PLACE] = gw__apply_place,
    [GW__CMD_PROMOTE] = gw__apply_promote,
    [GW__CMD_HANDOVER] = gw__apply_handover,
    [GW__CMD_DRAIN] = gw__apply_drain,
};

static void set_text(struct gw__answer *answer, const char *format,
                     va_list args) __attribute__((__format__(printf, 2, 0)));
static void set_text(struct gw__answer *answer, const char *format,
                     va_list args)
{
    vsnprintf(answer->text, sizeof answer->text, format, args);
}

enum gw_err gw__refuse(struct gw__answer *answer, enum gw_err code,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(answer, format, args);
    va_end(args);
    return answer->code = code;
}

enum gw_err gw__append_text(struct gw__answer *answer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_text(answer, format, args);
    va_end(args);
    return GW_OK;
}

const char *gw__member_state_name(enum gw__member_state state)
{
    static const char *const names[GW__MEMBER_STATES] = {
        [GW__NO_MEMBER] = "unknown",
        [GW__JOINING] = "joining",
        [GW__ACTIVE] = "active",
        [GW__CONFIRMED_DEAD] = "declared dead",
        [GW__LEFT] = "left"};
    return state < GW__MEMBER_STATES ? names[state] : "?";
}

/* Clears only fields that are read: the lists have their lengths. */
void gw__registry_init(struct gw__registry *registry)
{
    registry->index = registry->time_ms = 0;
    gw__view_clear(&registry->view);
    memset(registry->members, 0, sizeof registry->members);
    registry->known = (struct gw_nodes){{0}};
    memset(&registry->flush, 0, offsetof(struct gw__flush, before));
    registry->decision_count = registry->client_count = 0;
    gw__routes_init(&registry->routes);
}

static size_t refuse_entry(const struct gw__registry *r, enum gw_err code,
                           const char *sentence,
                           uint8_t out[GW__ANSWER_BYTES_MAX])
{
    struct gw__answer answer = {.epoch = r->view.epoch};
    gw__refuse(&answer, code, "%s", sentence);
    return gw__answer_encode(&answer, out);
}

size_t gw__registry_apply(struct gw__registry *r, const void *data,
                          size_t bytes, uint64_t index,
                          uint8_t out[GW__ANSWER_BYTES_MAX])
{
    struct gw__command command;
    struct gw__client *client;
    struct gw_error why;
    size_t used;
    if (index <= r->index)
        return refuse_entry(r, GW_EINVAL, "this entry was applied before", out);
    r->index = index;
    if (gw__command_decode(data, bytes, &command, &why))
        return refuse_entry(r, GW_EDATA, why.text, out);
    if (command.time_ms > r->time_ms)
        r->time_ms = command.time_ms;
    if (!gw__client_begin(r, &command, &client, out, &used))
        return used;
    struct gw__answer answer = {.code = GW_OK};
    apply[command.kind](r, &command, &answer);
    answer.epoch = r->view.epoch;
    used = gw__answer_encode(&answer, out);
    if (client)
        gw__client_end(client, r, &command, out, used);
    return used;
}
