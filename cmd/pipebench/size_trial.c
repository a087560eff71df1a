/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See size_trial.h.
 */
#include "size_trial.h"

#include "pipebench/gantt/gantt.h"
#include "pipebench/run/measure.h"
#include "schedule_source.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 1000, BATCH_MAX = 1 << 24 };

/* "sleep:2ms+20us" */
static enum gw_err read_work(struct size_bench *bench, struct gw_error *why)
{
    char how[8], fixed[32], sample[32];
    uint64_t fixed_ns, sample_ns;
    const char *work = bench->options->work;
    int read = 0;
    bool whole = sscanf(work, "%7[a-z]:%31[^+]+%31s%n", how, fixed, sample,
                        &read) == 3 &&
                 !work[read];
    bench->spin = whole && strcmp(how, "spin") == 0;
    if (!whole || (!bench->spin && strcmp(how, "sleep") != 0) ||
        gw_parse_duration(fixed, &fixed_ns, NULL) ||
        gw_parse_duration(sample, &sample_ns, NULL))
        return gw_fail(why, GW_EINVAL,
                       "--work must be sleep:FIXED+SAMPLE or "
                       "spin:FIXED+SAMPLE, such as sleep:2ms+20us, not "
                       "\"%.60s\"",
                       work);
    bench->fixed_us = (double)fixed_ns * 1e-3;
    bench->sample_us = (double)sample_ns * 1e-3;
    if (bench->fixed_us + bench->sample_us <= 0)
        return gw_fail(why, GW_EINVAL,
                       "--work %.60s: the time must be greater than 0", work);
    return GW_OK;
}

enum gw_err size_bench_init(struct size_bench *bench,
                            const struct size_options *options,
                            struct gw_error *why)
{
    const struct gw_schedule_kind *kind;
    *bench = (struct size_bench){.options = options};
    if (schedule_kind(options->schedule, &kind, why))
        return why->code;
    if (options->stages < 1 || options->stages > GW_STAGES_MAX)
        return gw_fail(why, GW_EINVAL, "--stages must be from 1 to %d, not %u",
                       GW_STAGES_MAX, options->stages);
    if (options->batch < 1 || options->batch > BATCH_MAX)
        return gw_fail(why, GW_EINVAL, "--batch must be from 1 to %d, not %u",
                       BATCH_MAX, options->batch);
    if (options->steps < 1 || options->steps > STEPS_MAX)
        return gw_fail(why, GW_EINVAL, "--steps must be from 1 to %d, not %u",
                       STEPS_MAX, options->steps);
    return read_work(bench, why);
}

enum gw_err size_check(const struct size_bench *bench, unsigned size,
                       struct gw_error *why)
{
    unsigned batch = bench->options->batch;
    if (size < 1 || batch % size)
        return gw_fail(why, GW_EINVAL,
                       "micro-batches of %u samples do not divide a batch of "
                       "%u; use a divisor",
                       size, batch);
    if (batch / size > GW_MICROS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%u micro-batches of %u samples are too many; the "
                       "maximum is %d",
                       batch / size, size, GW_MICROS_MAX);
    return GW_OK;
}

static int upwards(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static unsigned drop_doubles(unsigned *sizes, unsigned count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++)
        if (kept == 0 || sizes[i] != sizes[kept - 1])
            sizes[kept++] = sizes[i];
    return kept;
}

enum gw_err size_list(const struct size_bench *bench, const char *option,
                      const char *text, unsigned most, unsigned *sizes,
                      unsigned *count, struct gw_error *why)
{
    unsigned found = 0;
    for (const char *at = text;; at++) {
        char *end;
        unsigned long size =
            isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
        if (size < 1 || size > UINT32_MAX || (*end && *end != ','))
            return gw_fail(why, GW_EINVAL,
                           "%s must be sizes such as 1,2,4, not \"%.60s\"",
                           option, text);
        if (found == most)
            return gw_fail(why, GW_EINVAL, "%s: too many sizes; use at most %u",
                           option, most);
        if (size_check(bench, (unsigned)size, why))
            return gw_wrap(why, why->code, "%s", option);
        sizes[found++] = (unsigned)size;
        at = end;
        if (!*at)
            break;
    }
    qsort(sizes, found, sizeof *sizes, upwards);
    *count = drop_doubles(sizes, found);
    return GW_OK;
}

/* The duration of a pass of each kind, in a piece. */
static double pass_us(const struct size_bench *bench, unsigned size,
                      unsigned chunks)
{
    return (bench->fixed_us + bench->sample_us * size) / 3 / chunks;
}

static enum gw_err simulate(const struct gw_schedule *schedule,
                            const struct gw_pipe_costs *costs,
                            struct size_trial *trial, struct gw_error *why)
{
    struct gw_timeline *timeline;
    if (gw_pipe_simulate(schedule, costs, &timeline, why))
        return why->code;
    trial->time_us = timeline->time_us;
    trial->bubble = timeline->bubble_of_total;
    gw_timeline_destroy(&timeline);
    return GW_OK;
}

static double range(const double *values, unsigned count)
{
    double least = values[0], most = values[0];
    for (unsigned i = 1; i < count; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    return most - least;
}

static enum gw_err measure_trial(const struct size_bench *bench,
                                 const struct gw_schedule *schedule,
                                 const struct gw_synthetic *work,
                                 struct size_trial *trial, struct gw_error *why)
{
    const struct size_options *options = bench->options;
    struct gw_timeline *timeline;
    double *times_us = calloc(options->steps, sizeof *times_us);
    if (!times_us)
        return gw_fail(why, GW_ENOMEM, "%u steps", options->steps);
    const struct measure measure = {
        .schedule = schedule,
        .work = *work,
        .wire = options->wire,
        .steps = options->steps,
        .fastest = true,
    };
    enum gw_err err = measure_steps(&measure, &timeline, times_us, why);
    if (!err) {
        trial->time_us = timeline->time_us;
        trial->bubble = timeline->bubble_of_total;
        trial->spread_us = range(times_us, options->steps);
        gw_timeline_destroy(&timeline);
    }
    free(times_us);
    return err;
}

static enum gw_err try_schedule(const struct size_bench *bench,
                                const struct gw_schedule *schedule,
                                struct size_trial *trial, struct gw_error *why)
{
    struct gw_pipe_price price;
    double each_us = pass_us(bench, trial->size, schedule->chunks);
    const struct gw_pipe_costs costs = {
        .forward_us = each_us, .input_us = each_us, .weight_us = each_us};
    uint64_t bytes = bench->options->sample_bytes * trial->size;
    const struct gw_synthetic work = {
        .spin = bench->spin,
        .forward_us = each_us,
        .input_us = each_us,
        .weight_us = each_us,
        .message_elements = (size_t)(bytes + 3) / sizeof(float),
    };
    if (gw_pipe_price(schedule->name, schedule->stages, schedule->micros,
                      schedule->chunks, &costs, &price, why))
        return why->code;
    trial->predicted_us = price.time_us;
    return bench->options->simulate
               ? simulate(schedule, &costs, trial, why)
               : measure_trial(bench, schedule, &work, trial, why);
}

enum gw_err size_try(const struct size_bench *bench, unsigned size,
                     struct size_trial *trial, struct gw_error *why)
{
    struct gw_schedule *schedule;
    *trial = (struct size_trial){.size = size};
    if (size_check(bench, size, why))
        return why->code;
    trial->micros = bench->options->batch / size;
    const struct schedule_source source = {
        .name = bench->options->schedule,
        .stages = bench->options->stages,
        .micros = trial->micros,
        .chunks = UINT32_MAX,
    };
    if (schedule_get(NULL, &source, &schedule, why))
        return why->code;
    enum gw_err err = try_schedule(bench, schedule, trial, why);
    gw_schedule_destroy(&schedule);
    return err ? gw_wrap(why, err, "micro-batches of %u", size) : GW_OK;
}

char *size_bar(double share, unsigned width)
{
    char *text = NULL;
    size_t bytes = 0;
    bool utf8 = gantt_style_of(stdout).utf8;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return NULL;
    share = share > 1 ? 1 : share;
    unsigned cells = (unsigned)(share * width + 0.5);
    for (unsigned i = 0; i < cells; i++)
        fputs(utf8 ? "▇" : "#", memory);
    return fclose(memory) ? NULL : text;
}
