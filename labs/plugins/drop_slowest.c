/* SPDX-License-Identifier: MIT
 *
 * A policy for stragglers: rounds do not wait for a worker whose recent items
 * took more than twice as long as those of the median worker. So with n
 * workers, s of them slow, the mode becomes kofn:(n - s), and kofn:n, which is
 * bsp, when they have recovered. Meant for as many parts as workers.
 *
 *     cc -shared -fPIC -I lib/include -o drop.so labs/plugins/drop_slowest.c
 *     psnode sim --workers 8 --slow 0:5 --straggler ./drop.so
 *     psnode train drift --workers 4 --straggler ./drop.so
 */
#include <gradwire/plugin.h>
#include <gradwire/ps.h>

enum { TIMES_TOO_SLOW = 2 };

static unsigned count_faster(const struct gw_straggler_round *round, double s)
{
    unsigned count = 0;
    for (unsigned i = 0; i < round->workers; i++)
        count += round->means[i] < s;
    return count;
}

/* The median time of the workers. */
static double middle_of(const struct gw_straggler_round *round)
{
    double middle = 0;
    for (unsigned i = 0; i < round->workers; i++)
        if (count_faster(round, round->means[i]) <= round->workers / 2 &&
            round->means[i] > middle)
            middle = round->means[i];
    return middle;
}

static struct gw_ps_mode choose(const struct gw_straggler_round *round)
{
    struct gw_ps_mode mode = {.kind = GW_PS_KOFN, .bound = 0};
    double limit = TIMES_TOO_SLOW * middle_of(round);
    for (unsigned i = 0; i < round->workers; i++)
        mode.bound += round->means[i] <= limit;
    if (mode.bound > round->parts)
        mode.bound = round->parts;
    if (mode.bound == 0)
        mode.bound = 1;
    return mode;
}

static const struct gw_straggler drop_slowest = {.choose = choose};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_STRAGGLER,
    .name = "drop-slowest",
    .summary = "does not wait for those that take twice as long as the middle",
    .straggler = &drop_slowest,
};
