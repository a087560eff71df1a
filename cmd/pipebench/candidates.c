/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gathering the candidates of a comparison (candidates.h).
 */
#include "candidates.h"

#include <stdlib.h>

static enum gw_err evaluate_candidate(struct candidate *candidate,
                                      const struct cost_options *options,
                                      struct gw_error *why)
{
    const struct gw_schedule *schedule = candidate->schedule;
    if (costs_get(options, schedule, &candidate->costs, why))
        return why->code;
    candidate->priced =
        schedule_price(schedule, &candidate->costs.pipe, &candidate->price);
    return gw_pipe_simulate(schedule, &candidate->costs.pipe,
                            &candidate->simulated, why);
}

static enum gw_err add_built_in(struct candidates *candidates,
                                const struct schedule_source *shape,
                                const struct cost_options *options,
                                struct gw_error *why)
{
    struct candidate *candidate = candidates->list;
    for (const struct gw_schedule_kind *const *k = gw_schedule_kinds(); *k;
         k++, candidate++) {
        struct schedule_source source = *shape;
        source.name = (*k)->name;
        if (!(*k)->chunks)
            source.chunks = UINT32_MAX;
        candidate->name = source.name;
        if (schedule_get(NULL, &source, &candidate->schedule, why) ||
            evaluate_candidate(candidate, options, why))
            return why->code;
    }
    return GW_OK;
}

/* The first file sets the values that the options leave open. */
static enum gw_err add_file(struct candidate *candidate, const char *file,
                            struct schedule_source *shape,
                            const struct cost_options *options,
                            struct gw_error *why)
{
    static const struct schedule_source none = SCHEDULE_UNSET;
    candidate->name = file;
    if (schedule_get(file, &none, &candidate->schedule, why))
        return why->code;
    unsigned stages = candidate->schedule->stages;
    unsigned micros = candidate->schedule->micros;
    if (shape->stages == UINT32_MAX)
        shape->stages = stages;
    if (shape->micros == UINT32_MAX)
        shape->micros = micros;
    if (shape->stages != stages || shape->micros != micros)
        return gw_fail(why, GW_EINVAL,
                       "%.100s has %u stages and %u micro-batches; it cannot "
                       "be compared with schedules of %u and %u",
                       file, stages, micros, shape->stages, shape->micros);
    return evaluate_candidate(candidate, options, why);
}

enum gw_err candidates_gather(const struct schedule_source *source,
                              unsigned file_count, char **files,
                              const struct cost_options *costs,
                              struct candidates *candidates,
                              struct gw_error *why)
{
    unsigned built_in = 0;
    struct schedule_source shape = *source;
    while (gw_schedule_kinds()[built_in])
        built_in++;
    *candidates = (struct candidates){
        .count = built_in + file_count,
        .list = calloc(built_in + file_count, sizeof *candidates->list)};
    if (!candidates->list)
        return gw_fail(why, GW_ENOMEM, "%u schedules", candidates->count);
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < file_count && !err; i++)
        err = add_file(&candidates->list[built_in + i], files[i], &shape, costs,
                       why);
    if (!err)
        err = add_built_in(candidates, &shape, costs, why);
    if (err)
        candidates_fini(candidates);
    return err;
}

void candidates_fini(struct candidates *candidates)
{
    for (unsigned i = 0; i < candidates->count; i++) {
        struct candidate *candidate = &candidates->list[i];
        gw_timeline_destroy(&candidate->simulated);
        gw_timeline_destroy(&candidate->measured);
        costs_fini(&candidate->costs);
        gw_schedule_destroy(&candidate->schedule);
    }
    free(candidates->list);
    *candidates = (struct candidates){.list = NULL};
}
