/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See policy.h. A file of weights has one number per line, the first for slot
 * 0. Text from '#' to the end of a line is a comment, and empty lines are
 * ignored.
 */
#include "policy.h"

#include <base/file.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 256 };

/* *found: the line has a number. */
static enum gw_err parse_line(const char *file, unsigned line, char *text,
                              double *weight, bool *found, struct gw_error *why)
{
    char *end;
    text[strcspn(text, "#\n")] = 0;
    *found = text[strspn(text, " \t\r")] != 0;
    if (!*found)
        return GW_OK;
    *weight = strtod(text, &end);
    if (end != text && !end[strspn(end, " \t\r")] && isfinite(*weight) &&
        *weight >= 0)
        return GW_OK;
    return gw_fail(why, GW_EDATA,
                   "%.200s:%u: each weight must be a number of at least 0",
                   file, line);
}

static enum gw_err read_lines(const char *file, FILE *in, unsigned slots,
                              double *weight, struct gw_error *why)
{
    char text[LINE_MAX_BYTES];
    unsigned line = 0, count = 0;
    double one = 0, sum = 0;
    while (fgets(text, sizeof text, in)) {
        bool found;
        if (parse_line(file, ++line, text, &one, &found, why))
            return why->code;
        if (!found)
            continue;
        if (count < slots)
            weight[count] = one;
        count++;
        sum += one;
    }
    if (count != slots)
        return gw_fail(why, GW_EDATA,
                       "%.200s: %u weights, but the run has %u slots", file,
                       count, slots);
    return sum > 0
               ? GW_OK
               : gw_fail(why, GW_EDATA,
                         "%.200s: at least one weight must be greater than 0",
                         file);
}

static enum gw_err read_weights(const char *file, unsigned slots,
                                double *weight, struct gw_error *why)
{
    FILE *in = gw__file_stream(file, why);
    if (!in)
        return why->code;
    enum gw_err code = read_lines(file, in, slots, weight, why);
    fclose(in);
    return code;
}

enum gw_err policy_open(const char *placement, const char *weights,
                        unsigned slots, struct policy *policy,
                        struct gw_error *why)
{
    struct gw_error own;
    bool by_load = placement && strcmp(placement, "load") == 0;
    bool by_count = !placement || strcmp(placement, "count") == 0;
    *policy =
        (struct policy){.name = by_load ? "load" : "count", .by_load = by_load};
    for (unsigned i = 0; i < GW_PS_SLOTS_MAX; i++)
        policy->weight[i] = 1;
    if (!why)
        why = &own;
    if (weights && (by_load || by_count))
        return gw_fail(why, GW_EINVAL,
                       "--weights needs a placement plug-in; name one with "
                       "--placement");
    if (by_load || by_count)
        return GW_OK;
    enum gw_err code =
        gw_plugin_open(placement, GW_PLUGIN_PLACEMENT, &policy->plugin, why);
    if (!code && !policy->plugin->placement->choose)
        code = gw_fail(why, GW_EDATA, "%.200s: the plug-in chooses nothing",
                       placement);
    if (!code && weights)
        code = read_weights(weights, slots, policy->weight, why);
    if (code)
        policy_close(policy);
    else
        policy->name = policy->plugin->name;
    return code;
}

void policy_close(struct policy *policy)
{
    if (policy->plugin)
        gw_plugin_close(&policy->plugin);
}
