/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See chance.h.
 */
#include "chance.h"

void chance_calm(struct gw__sim_options *options, bool unordered)
{
    options->link =
        (struct gw__sim_link_profile){.delay_ns = MS, .ordered = !unordered};
    options->start_spread_ns = options->timer_late_ns = 0;
    options->mail_survives = false;
    options->died_jitter_ns = 0;
    options->died_lost = 0;
}
