/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From options to costs (costs.h). If all stages are equal, the costs are
 * single numbers, for which there are formulas; else three arrays with one
 * entry per virtual stage.
 */
#include "costs.h"

#include "common/text/items.h"

#include <base/whole.h>

#include <stdlib.h>
#include <string.h>

enum part { FORWARD, INPUT, WEIGHT, PARTS };
static const double SLOW_MOST = 1e6;

/* The option values for each part: one time, or one per stage. */
struct times {
    double us[PARTS][GW_STAGES_MAX];
    double slow[GW_STAGES_MAX];
    bool listed, differ;
};

static enum gw_err read_list(const char *name, const char *text, double share,
                             unsigned stages, double *us, bool *listed,
                             struct gw_error *why)
{
    char item[64];
    uint64_t ns;
    unsigned count = 0;
    for (const char *rest = text; items_next(&rest, item, sizeof item);
         count++) {
        if (gw_parse_duration(item, &ns, why))
            return gw_fail(why, GW_EINVAL,
                           "%s must be a time such as 20us or 5ms, or one per "
                           "stage separated by commas, not \"%.60s\"",
                           name, text);
        if (count < stages)
            us[count] = (double)ns * 1e-3 * share;
    }
    if (count != 1 && count != stages)
        return gw_fail(why, GW_EINVAL,
                       "%s has %u times, but the pipeline has %u stage%s", name,
                       count, stages, stages == 1 ? "" : "s");
    for (unsigned s = count; s < stages; s++)
        us[s] = us[0];
    *listed = *listed || count > 1;
    return GW_OK;
}

static enum gw_err read_backward(const struct cost_options *options,
                                 unsigned stages, struct times *times,
                                 struct gw_error *why)
{
    const char *both = options->backward;
    if (both && (options->input || options->weight))
        return gw_fail(why, GW_EINVAL,
                       "--backward includes --input and --weight; use either "
                       "--backward or the other two");
    const char *input = options->input ? options->input : "1ms";
    const char *weight = options->weight ? options->weight : "1ms";
    if (read_list(both ? "--backward" : "--input", both ? both : input,
                  both ? 0.5 : 1, stages, times->us[INPUT], &times->listed,
                  why))
        return why->code;
    return read_list(both ? "--backward" : "--weight", both ? both : weight,
                     both ? 0.5 : 1, stages, times->us[WEIGHT], &times->listed,
                     why);
}

static enum gw_err read_slow(const char *text, unsigned stages,
                             struct times *times, struct gw_error *why)
{
    char item[64], *end;
    for (const char *rest = text; items_next(&rest, item, sizeof item);) {
        const char *at = item;
        uint64_t stage;
        bool number = gw__whole_read(&at, UINT32_MAX, &stage) && *at == ':';
        double factor = number ? strtod(at + 1, &end) : 0;
        if (!number || *end ||
            !(factor >= 1 / SLOW_MOST && factor <= SLOW_MOST))
            return gw_fail(why, GW_EINVAL,
                           "--slow must be STAGE:FACTOR, such as 2:1.5, not "
                           "\"%.60s\"",
                           item);
        if (stage >= stages)
            return gw_fail(why, GW_EINVAL,
                           "--slow %s: the stage must be from 0 to %u", item,
                           stages - 1);
        times->slow[stage] *= factor;
        times->differ = true;
    }
    return GW_OK;
}

static enum gw_err read_times(const struct cost_options *options,
                              unsigned stages, struct times *times,
                              struct gw_error *why)
{
    const char *forward = options->forward ? options->forward : "1ms";
    for (unsigned s = 0; s < stages; s++)
        times->slow[s] = 1;
    if (read_list("--forward", forward, 1, stages, times->us[FORWARD],
                  &times->listed, why) ||
        read_backward(options, stages, times, why) ||
        read_slow(options->slow, stages, times, why))
        return why->code;
    for (unsigned s = 0; s < stages; s++)
        if (times->us[FORWARD][s] + times->us[INPUT][s] +
                times->us[WEIGHT][s] <=
            0)
            return gw_fail(
                why, GW_EINVAL,
                "the time of the passes of stage %u must be greater than 0", s);
    return GW_OK;
}

static void shorten(double *shortest_us, double us)
{
    if (us > 0 && (*shortest_us <= 0 || us < *shortest_us))
        *shortest_us = us;
}

/* Keeps the numbers that a run needs. */
static enum gw_err keep_costs(const struct times *times, unsigned stages,
                              unsigned chunks, struct costs *costs,
                              struct gw_error *why)
{
    costs->slow = calloc(stages, sizeof *costs->slow);
    if (!costs->slow)
        return gw_fail(why, GW_ENOMEM, "costs of %u stages", stages);
    for (unsigned s = 0; s < stages; s++)
        costs->slow[s] = times->slow[s];
    costs->forward_us = times->us[FORWARD][0] / chunks;
    costs->input_us = times->us[INPUT][0] / chunks;
    costs->weight_us = times->us[WEIGHT][0] / chunks;
    costs->listed = times->listed;
    return GW_OK;
}

static enum gw_err spread_costs(const struct times *times,
                                const struct gw_schedule *schedule,
                                struct costs *costs, struct gw_error *why)
{
    size_t count = (size_t)schedule->stages * schedule->chunks;
    costs->each = calloc(PARTS * count, sizeof *costs->each);
    if (!costs->each)
        return gw_fail(why, GW_ENOMEM, "costs of %zu virtual stages", count);
    for (unsigned part = 0; part < PARTS; part++)
        for (size_t k = 0; k < count; k++) {
            unsigned s = (unsigned)(k % schedule->stages);
            costs->each[part * count + k] =
                times->us[part][s] * times->slow[s] / schedule->chunks;
        }
    costs->pipe.forward_each_us = costs->each + FORWARD * count;
    costs->pipe.input_each_us = costs->each + INPUT * count;
    costs->pipe.weight_each_us = costs->each + WEIGHT * count;
    return GW_OK;
}

enum gw_err costs_get(const struct cost_options *options,
                      const struct gw_schedule *schedule, struct costs *costs,
                      struct gw_error *why)
{
    *costs = (struct costs){.each = NULL};
    struct times *times = calloc(1, sizeof *times);
    if (!times)
        return gw_fail(why, GW_ENOMEM, "costs");
    enum gw_err err = read_times(options, schedule->stages, times, why);
    if (!err)
        err = keep_costs(times, schedule->stages, schedule->chunks, costs, why);
    costs->pipe = (struct gw_pipe_costs){
        .forward_us = costs->forward_us,
        .input_us = costs->input_us,
        .weight_us = costs->weight_us,
        .message_us = (double)options->message_ns * 1e-3,
        .us_per_byte =
            options->bandwidth ? 1e6 / (double)options->bandwidth : 0,
        .activation_bytes = options->bytes,
    };
    shorten(&costs->shortest_pass_us, costs->forward_us);
    shorten(&costs->shortest_pass_us, costs->input_us);
    shorten(&costs->shortest_pass_us, costs->weight_us);
    if (!err && (times->differ || times->listed))
        err = spread_costs(times, schedule, costs, why);
    free(times);
    if (err)
        costs_fini(costs);
    return err;
}

void costs_fini(struct costs *costs)
{
    free(costs->each);
    free(costs->slow);
    *costs = (struct costs){.each = NULL};
}
