/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gathering the candidates of a comparison (entrants.h).
 */
#include "entrants.h"

#include <stdlib.h>

static enum gw_err evaluate_candidate(struct entrant *entrant,
                                      const struct cost_options *options,
                                      struct gw_error *why)
{
    const struct gw_schedule *schedule = entrant->schedule;
    if (costs_get(options, schedule, &entrant->costs, why))
        return why->code;
    entrant->priced =
        schedule_price(schedule, &entrant->costs.pipe, &entrant->price);
    return gw_pipe_simulate(schedule, &entrant->costs.pipe, &entrant->simulated,
                            why);
}

static enum gw_err add_built_in(struct entrants *entrants,
                                const struct schedule_source *shape,
                                const struct cost_options *options,
                                struct gw_error *why)
{
    struct entrant *entrant = entrants->list;
    for (const struct gw_schedule_kind *const *k = gw_schedule_kinds(); *k;
         k++, entrant++) {
        struct schedule_source source = *shape;
        source.name = (*k)->name;
        if (!(*k)->chunks)
            source.chunks = UINT32_MAX;
        entrant->name = source.name;
        if (schedule_get(NULL, &source, &entrant->schedule, why) ||
            evaluate_candidate(entrant, options, why))
            return why->code;
    }
    return GW_OK;
}

/* The first file sets the values that the options leave open. */
static enum gw_err add_file(struct entrant *entrant, const char *file,
                            struct schedule_source *shape,
                            const struct cost_options *options,
                            struct gw_error *why)
{
    static const struct schedule_source none = SCHEDULE_NOT_GIVEN;
    entrant->name = file;
    if (schedule_get(file, &none, &entrant->schedule, why))
        return why->code;
    unsigned stages = entrant->schedule->stages;
    unsigned micros = entrant->schedule->micros;
    if (shape->stages == UINT32_MAX)
        shape->stages = stages;
    if (shape->micros == UINT32_MAX)
        shape->micros = micros;
    if (shape->stages != stages || shape->micros != micros)
        return gw_fail(why, GW_EINVAL,
                       "%.100s has %u stages and %u micro-batches; it cannot "
                       "be compared with schedules of %u and %u",
                       file, stages, micros, shape->stages, shape->micros);
    return evaluate_candidate(entrant, options, why);
}

enum gw_err entrants_gather(const struct schedule_source *source,
                            unsigned file_count, char **files,
                            const struct cost_options *costs,
                            struct entrants *entrants, struct gw_error *why)
{
    unsigned built_in = 0;
    struct schedule_source shape = *source;
    while (gw_schedule_kinds()[built_in])
        built_in++;
    *entrants = (struct entrants){
        .count = built_in + file_count,
        .list = calloc(built_in + file_count, sizeof *entrants->list)};
    if (!entrants->list)
        return gw_fail(why, GW_ENOMEM, "%u schedules", entrants->count);
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < file_count && !err; i++)
        err = add_file(&entrants->list[built_in + i], files[i], &shape, costs,
                       why);
    if (!err)
        err = add_built_in(entrants, &shape, costs, why);
    if (err)
        entrants_fini(entrants);
    return err;
}

void entrants_fini(struct entrants *entrants)
{
    for (unsigned i = 0; i < entrants->count; i++) {
        struct entrant *entrant = &entrants->list[i];
        gw_timeline_destroy(&entrant->simulated);
        gw_timeline_destroy(&entrant->measured);
        costs_fini(&entrant->costs);
        gw_schedule_destroy(&entrant->schedule);
    }
    free(entrants->list);
    *entrants = (struct entrants){.list = NULL};
}
