/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See gantt_parts.h.
 */
#include "gantt_parts.h"

#include <math.h>
#include <string.h>

const struct gantt_pass_style gantt_pass_styles[GW_PASS_KINDS] = {
    [GW_FORWARD] =
        {"forward", "░", '-', {"97;44", "30;104"}, "#3f72af", "#fff"},
    [GW_BACKWARD] =
        {"backward", "▓", '#', {"30;42", "30;102"}, "#3c8d4f", "#fff"},
    [GW_BACKWARD_INPUT] =
        {"backward, input", "▒", '+', {"30;46", "30;106"}, "#72bfb8", "#111"},
    [GW_BACKWARD_WEIGHT] =
        {"backward, weights", "╌", '=', {"30;43", "30;103"}, "#f0b34c", "#111"},
};

bool gantt_drawn(const struct gw_pass_time *time)
{
    return time->end_us > time->begin_us;
}

double gantt_span_us(const struct gw_timeline *timeline)
{
    double span_us = timeline->time_us > 0 ? timeline->time_us : 0;
    for (size_t i = 0; i < timeline->pass_count; i++)
        if (gantt_drawn(&timeline->times[i]))
            span_us = fmax(span_us, timeline->times[i].end_us);
    return span_us;
}

unsigned gantt_kinds(const struct gw_schedule *schedule)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < schedule->pass_count; i++)
        kinds |= 1u << schedule->passes[i].kind;
    return kinds;
}

double gantt_tick_us(double span_us, unsigned most)
{
    double least = span_us / (most ? most : 1);
    double power = least > 0 ? pow(10, floor(log10(least))) : 1;
    double slack = 1 + 1e-9;
    if (power * slack >= least)
        return power;
    if (2 * power * slack >= least)
        return 2 * power;
    return 5 * power * slack >= least ? 5 * power : 10 * power;
}

static double unit_of(double span_us, const char **name)
{
    *name = span_us >= 1e6 ? "s" : span_us >= 1e3 ? "ms" : "us";
    return span_us >= 1e6 ? 1e6 : span_us >= 1e3 ? 1e3 : 1;
}

void gantt_tick_label(double time_us, double span_us, char out[24])
{
    const char *unit;
    double scale = unit_of(span_us, &unit);
    if (time_us == 0)
        snprintf(out, 24, "0");
    else
        snprintf(out, 24, "%.6g %s", time_us / scale, unit);
}

void gantt_time(double time_us, char out[24])
{
    const char *unit;
    double scale = unit_of(time_us, &unit);
    snprintf(out, 24, "%.4g %s", time_us / scale, unit);
}

void gantt_pass_label(const struct gw_pass *pass, unsigned chunks, char out[16])
{
    char symbol = gw_pass_symbol((enum gw_pass_kind)pass->kind);
    if (chunks > 1)
        snprintf(out, 16, "%c%u.%u", symbol, pass->micro, pass->chunk);
    else
        snprintf(out, 16, "%c%u", symbol, pass->micro);
}

void gantt_caption(const struct gw_schedule *schedule,
                   const struct gw_timeline *timeline, char out[160])
{
    char time[24], whole[32] = "";
    unsigned peak = timeline->peak_activations;
    gantt_time(timeline->time_us, time);
    if (schedule->chunks > 1)
        snprintf(whole, sizeof whole, " of 1/%u", schedule->chunks);
    snprintf(out, 160,
             "%s, bubble %.1f %% of ideal, %.1f %% of total, at most "
             "%u activation%s%s a stage",
             time, 100 * timeline->bubble_of_ideal,
             100 * timeline->bubble_of_total, peak, peak == 1 ? "" : "s",
             whole);
}
