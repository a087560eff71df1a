/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See until.h. The text is a condition of one term, as in `ringctl wait`.
 */
#include "until.h"

#include "condition_parts.h"

enum gw_err until_parse(const char *text, double *loss, struct gw_error *why)
{
    struct condition *condition;
    *loss = UNTIL_NONE;
    if (!text)
        return GW_OK;
    enum gw_err code = condition_parse(text, &condition, why);
    if (code)
        return gw_wrap(why, code, "--until");
    const struct term *term = condition->terms;
    if (condition->count == 1 && term->kind == TERM_TEST &&
        term->name == COND_loss && term->comparison == IS_BELOW)
        *loss = term->number;
    condition_destroy(&condition);
    return isnan(*loss)
               ? gw_fail(why, GW_EINVAL,
                         "--until must be loss<NUMBER, not \"%.60s\"", text)
               : GW_OK;
}

const char *until_ended(bool diverged, bool until)
{
    return diverged ? "diverged" : until ? "until" : "epochs";
}
