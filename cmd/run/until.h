/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stop rule of a training, `--until 'loss<NUMBER'`: it ends after the first
 * pass over the data whose mean loss, before each step, is below that. The mean
 * of a whole pass is the loss that trainings print per epoch; the loss of a
 * single batch would stop them by chance.
 *
 * A rule is a number, so it travels in orders and in the plan of servers. NaN
 * means no rule, as no loss is below NaN.
 */
#ifndef UNTIL_H
#define UNTIL_H

#include <gradwire/gradwire.h>

#include <math.h>

#define UNTIL_NONE ((double)NAN)

/* One entry of a table of options. */
#define UNTIL_OPTION(text)                                                     \
    {                                                                          \
        "until", 0, OPTION_TEXT, &(text), "COND",                              \
            "End after the first epoch whose mean loss meets COND, "           \
            "loss<NUMBER.",                                                    \
            NULL                                                               \
    }

/* `text` NULL: no rule. GW_EINVAL: with the column, or the valid form. */
GW_MUST_CHECK enum gw_err until_parse(const char *text, double *loss,
                                      struct gw_error *why);

/* The reason why a training ended, for results. */
const char *until_ended(bool diverged, bool until);

#endif
