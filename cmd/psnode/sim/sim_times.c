/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The times of items. Draws by inversion, u uniform in (0, 1]:
 *
 *     uniform   a + (b - a) u
 *     exp       -a ln u
 *     pareto    a u^(-1/b)
 *
 * and normal ones by Box and Muller (1958), cut at 0.
 */
#include "sim.h"

#include "common/text/items.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *syntax;
    unsigned numbers;
} laws[] = {
    [SIM_FIXED] = {"fixed", "fixed:TIME", 1},
    [SIM_UNIFORM] = {"uniform", "uniform:LEAST,MOST", 2},
    [SIM_EXP] = {"exp", "exp:MEAN", 1},
    [SIM_NORMAL] = {"normal", "normal:MEAN,DEVIATION", 2},
    [SIM_PARETO] = {"pareto", "pareto:LEAST,SHAPE", 2},
};
enum { LAWS = sizeof laws / sizeof *laws };

/* ---- laws ---- */

static enum gw_err parse_ns(const char *text, double *ns, struct gw_error *why)
{
    uint64_t whole;
    enum gw_err code = gw_parse_duration(text, &whole, why);
    *ns = (double)whole;
    return code;
}

static bool parse_real(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end && isfinite(*number);
}

static enum gw_err check_law(const char *text, const struct sim_time *time,
                             struct gw_error *why)
{
    if (time->law == SIM_UNIFORM && time->b < time->a_ns)
        return gw_fail(
            why, GW_EINVAL,
            "\"%.60s\": the maximum must not be less than the minimum", text);
    if (time->law == SIM_PARETO && !(time->b > 1))
        return gw_fail(why, GW_EINVAL,
                       "\"%.60s\": the shape must be greater than 1, "
                       "otherwise the mean is infinite",
                       text);
    if (!(time->a_ns > 0))
        return gw_fail(why, GW_EINVAL,
                       "\"%.60s\": the time must be greater than 0", text);
    return GW_OK;
}

static enum gw_err parse_numbers(const char *text, char *first,
                                 struct sim_time *time, struct gw_error *why)
{
    char *second = strchr(first, ',');
    if ((second != NULL) != (laws[time->law].numbers == 2))
        return gw_fail(why, GW_EINVAL, "\"%.60s\": use the form %s", text,
                       laws[time->law].syntax);
    if (second)
        *second++ = 0;
    if (parse_ns(first, &time->a_ns, why))
        return GW_EINVAL;
    if (second && time->law != SIM_PARETO && parse_ns(second, &time->b, why))
        return GW_EINVAL;
    if (second && time->law == SIM_PARETO && !parse_real(second, &time->b))
        return gw_fail(why, GW_EINVAL, "\"%.60s\": the shape must be a number",
                       text);
    return check_law(text, time, why);
}

enum gw_err sim_time_parse(const char *text, struct sim_time *time,
                           struct gw_error *why)
{
    char copy[80];
    size_t length = strcspn(text, ":");
    snprintf(copy, sizeof copy, "%s", text);
    *time = (struct sim_time){.law = SIM_FIXED};
    for (unsigned law = 0; law < LAWS && strlen(text) < sizeof copy; law++) {
        if (strlen(laws[law].name) != length || text[length] != ':' ||
            strncmp(laws[law].name, text, length) != 0)
            continue;
        time->law = (enum sim_law)law;
        return parse_numbers(text, copy + length + 1, time, why);
    }
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\": unknown distribution; use fixed:TIME, "
                   "uniform:MIN,MAX, exp:MEAN, normal:MEAN,DEVIATION or "
                   "pareto:MIN,SHAPE",
                   text);
}

/* ---- slow workers ---- */

static enum gw_err odd_slow(const char *one, struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL,
                   "--slow must be WORKER:FACTOR or FIRST-LAST:FACTOR, "
                   "optionally with @FROM-UNTIL, not \"%.60s\"",
                   one);
}

/* "0" or "0-3"; moves *end past it. */
static bool parse_workers(const char *one, unsigned workers,
                          struct sim_slow *slow, char **end)
{
    if (!isdigit((unsigned char)*one))
        return false;
    unsigned long first = strtoul(one, end, 10), last = first;
    if (**end == '-' && isdigit((unsigned char)(*end)[1]))
        last = strtoul(*end + 1, end, 10);
    slow->first = (unsigned)first;
    slow->last = (unsigned)last;
    return first <= last && last < workers;
}

static enum gw_err parse_window(char *text, struct sim_slow *slow,
                                struct gw_error *why)
{
    char *until = strchr(text, '-');
    if (!until)
        return odd_slow(text, why);
    *until++ = 0;
    if (gw_parse_duration(text, &slow->from_ns, why) ||
        gw_parse_duration(until, &slow->until_ns, why))
        return GW_EINVAL;
    return slow->from_ns < slow->until_ns ? GW_OK : odd_slow(until, why);
}

static enum gw_err parse_one(char *one, unsigned workers, struct sim_slow *slow,
                             struct gw_error *why)
{
    char *end = one, *window = strchr(one, '@');
    *slow = (struct sim_slow){.until_ns = UINT64_MAX};
    if (window)
        *window++ = 0;
    if (!parse_workers(one, workers, slow, &end) || *end != ':' ||
        !parse_real(end + 1, &slow->times) || !(slow->times > 0))
        return odd_slow(one, why);
    return window ? parse_window(window, slow, why) : GW_OK;
}

enum gw_err sim_slow_parse(const char *text, unsigned workers,
                           struct sim_times *times, struct gw_error *why)
{
    char one[80];
    times->slow_count = 0;
    while (items_next(&text, one, sizeof one)) {
        if (times->slow_count == SIM_SLOW_MAX)
            return gw_fail(why, GW_EINVAL,
                           "--slow: too many entries; use at most %d",
                           SIM_SLOW_MAX);
        if (parse_one(one, workers, &times->slow[times->slow_count++], why))
            return GW_EINVAL;
    }
    return GW_OK;
}

/* ---- drawing ---- */

void sim_times_begin(struct sim_times *times, uint64_t seed)
{
    /* The first 64 workers have the same times in clusters of any size. */
    for (unsigned i = 0; i < GW_PS_NODES; i++)
        gw_rng_seed(&times->rngs[i],
                    i < 64 ? seed * 64 + i : gw_hash(&i, sizeof i, seed));
}

static double draw_normal(const struct sim_time *time, double u, double v)
{
    double value = time->a_ns + time->b * sqrt(-2 * log(u)) * cos(2 * M_PI * v);
    return value > 0 ? value : 0;
}

/* Two numbers per draw for all distributions, so that modes use the same ones.
 */
static double draw_time(const struct sim_time *time, struct gw_rng *rng)
{
    double u = 1 - gw_rng_unit(rng), v = gw_rng_unit(rng);
    switch (time->law) {
    case SIM_FIXED:
        break;
    case SIM_UNIFORM:
        return time->a_ns + (time->b - time->a_ns) * u;
    case SIM_EXP:
        return -time->a_ns * log(u);
    case SIM_NORMAL:
        return draw_normal(time, u, v);
    case SIM_PARETO:
        return time->a_ns * pow(u, -1 / time->b);
    }
    return time->a_ns;
}

uint64_t sim_times_draw(struct sim_times *times, unsigned worker,
                        uint64_t now_ns)
{
    double ns = draw_time(&times->compute, &times->rngs[worker]);
    for (unsigned i = 0; i < times->slow_count; i++) {
        const struct sim_slow *slow = &times->slow[i];
        if (worker >= slow->first && worker <= slow->last &&
            now_ns >= slow->from_ns && now_ns < slow->until_ns)
            ns *= slow->times;
    }
    return ns < 0x1p60 ? (uint64_t)ns : UINT64_C(1) << 60;
}
