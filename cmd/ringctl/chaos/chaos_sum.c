/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See chaos_sum.h. Work that is finished, or was never ordered, need not
 * continue.
 */
#include "chaos_sum.h"

#include "ringctl/request.h"

#include <stdio.h>
#include <string.h>

#define GOES_ON_NS UINT64_C(30000000000)
enum { MORE_OPS = 2 };

static unsigned blows[CHAOS_KINDS], refused;

void chaos_sum_count(enum chaos_kind kind, enum gw_err code)
{
    if (code)
        refused++;
    else if (kind < CHAOS_KINDS)
        blows[kind]++;
}

static json_int_t number(const json_t *status, const char *name)
{
    return json_integer_value(json_object_get(status, name));
}

/* Waits for some more ops or items. */
static enum gw_err await_more(struct gw_error *why)
{
    json_t *status, *answer = NULL;
    char condition[96];
    enum gw_err code = request_status(&status, why);
    if (code)
        return code;
    bool works = strcmp(text_of(status, "state", ""), "training") == 0 ||
                 strcmp(text_of(status, "state", ""), "parked") == 0;
    snprintf(condition, sizeof condition, "op>%lld || done",
             (long long)number(status, "op") + MORE_OPS);
    json_decref(status);
    if (!works)
        return GW_OK;
    json_t *wait = json_pack("{sssssI}", "verb", "wait", "condition", condition,
                             "timeout_ns", (json_int_t)GOES_ON_NS);
    code = send_request(wait, GOES_ON_NS + answer_timeout_ns(), &answer, why);
    json_decref(answer);
    return code ? gw_wrap(why, code, "the work does not continue") : GW_OK;
}

/* "kill: 3, pause: 2" */
static void list_blows(char *text, size_t room)
{
    size_t used = 0;
    *text = 0;
    for (unsigned k = 0; k < CHAOS_KINDS && used < room; k++)
        if (blows[k])
            used += (size_t)snprintf(text + used, room - used, "%s%u %s",
                                     used ? ", " : "", blows[k],
                                     chaos_word((enum chaos_kind)k));
}

enum gw_err chaos_sum_report(struct output *output, struct gw_error *why)
{
    char text[400];
    json_t *status;
    unsigned all = 0;
    enum gw_err stuck = await_more(why);
    struct gw_error reason = *why;
    enum gw_err code = request_status(&status, why);
    if (code)
        return code;
    for (unsigned k = 0; k < CHAOS_KINDS; k++)
        all += blows[k];
    list_blows(text, sizeof text);
    output_note_integer(output, "blows", all);
    output_note_text(output, "blows_by_kind", text);
    output_note_integer(output, "refused", refused);
    output_note_integer(output, "recoveries",
                        number(status, "recoveries_count"));
    output_note_integer(output, "epoch", number(status, "epoch"));
    output_note_integer(output, "ops", number(status, "op"));
    output_note_integer(output, "lost", number(status, "lost"));
    output_note_integer(output, "doubled", number(status, "doubled"));
    bool wrong = number(status, "lost") || number(status, "doubled") ||
                 number(status, "wrong") || number(status, "slots_lost");
    if (wrong)
        code = gw_fail(why, GW_EWRONG,
                       "%lld lost, %lld doubled, %lld wrong, %lld slots "
                       "lost",
                       (long long)number(status, "lost"),
                       (long long)number(status, "doubled"),
                       (long long)number(status, "wrong"),
                       (long long)number(status, "slots_lost"));
    json_decref(status);
    if (!code && stuck) {
        *why = reason;
        code = stuck;
    }
    return code;
}
