/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parsers of the options --work and --slow of pipebench run.
 */
#include "run.h"

#include "common/text/items.h"

#include <base/whole.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- --work ---- */

enum { TIMES_MAX = 3 };

static bool read_times(const char *text, double us[TIMES_MAX], unsigned *count)
{
    char item[64];
    uint64_t ns;
    *count = 0;
    while (items_next(&text, item, sizeof item)) {
        if (*count == TIMES_MAX || gw_parse_duration(item, &ns, NULL))
            return false;
        us[(*count)++] = (double)ns / 1000;
    }
    return true;
}

static bool skip_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    bool there = strncmp(*text, word, length) == 0;
    *text += there ? length : 0;
    return there;
}

enum gw_err run_parse_work(const char *text, unsigned chunks,
                           struct gw_synthetic *work, struct gw_error *why)
{
    double us[TIMES_MAX] = {0};
    unsigned count;
    const char *times = text;
    bool spin = skip_word(&times, "spin:");
    bool known = spin || skip_word(&times, "sleep:");
    if (!known || !read_times(times, us, &count))
        return gw_fail(why, GW_EINVAL,
                       "--work must be sleep:5ms, spin:2ms, sleep:F,B or "
                       "sleep:F,I,W, not \"%.60s\"",
                       text);
    if (count == 1)
        us[1] = us[2] = us[0];
    if (count == 2)
        us[1] = us[2] = us[1] / 2;
    if (us[0] + us[1] + us[2] <= 0)
        return gw_fail(why, GW_EINVAL,
                       "--work %.60s: the time must be greater than 0", text);
    work->spin = spin;
    work->forward_us = us[0] / chunks;
    work->input_us = us[1] / chunks;
    work->weight_us = us[2] / chunks;
    return GW_OK;
}

/* ---- --slow ---- */

enum gw_err run_parse_slow(const char *text, unsigned stages, double *slow,
                           struct gw_error *why)
{
    char item[64], *end;
    while (items_next(&text, item, sizeof item)) {
        const char *at = item;
        uint64_t stage;
        bool number = gw__whole_read(&at, UINT32_MAX, &stage) && *at == ':';
        double factor = number ? strtod(at + 1, &end) : 0;
        if (!number || *end || !isfinite(factor) || factor <= 0)
            return gw_fail(why, GW_EINVAL,
                           "--slow must be STAGE:FACTOR, such as 2:1.5, not "
                           "\"%.60s\"",
                           item);
        if (stage >= stages)
            return gw_fail(why, GW_EINVAL,
                           "--slow %s: the stage must be from 0 to %u", item,
                           stages - 1);
        slow[stage] *= factor;
    }
    return GW_OK;
}
