/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See measure.h. A run (run.h) without output, which ends at the first error.
 */
#include "measure.h"

#include "run.h"

#include <stdlib.h>

static enum gw_err fill_spec(const struct measure *measure,
                             struct run_spec *spec, struct gw_error *why)
{
    unsigned stages = measure->schedule->stages;
    *spec = (struct run_spec){
        .schedule = measure->schedule,
        .wire = measure->wire ? measure->wire : "shm",
        .steps = measure->steps + 1,
        .work = measure->work,
        .slow = malloc(stages * sizeof *spec->slow),
    };
    if (!spec->slow)
        return gw_fail(why, GW_ENOMEM, "%u stages", stages);
    for (unsigned s = 0; s < stages; s++)
        spec->slow[s] = measure->slow ? measure->slow[s] : 1;
    return run_safe_new(stages, &spec->safe, why);
}

static struct run_step *fastest_step(struct run_record *record)
{
    struct run_step *best = NULL;
    for (unsigned i = 1; i < record->step_count; i++) {
        struct run_step *step = &record->steps[i];
        if (step->timeline && (!best || step->time_us < best->time_us))
            best = step;
    }
    return best;
}

static struct run_step *median_step(struct run_record *record)
{
    double least_us, most_us;
    const struct run_step *step =
        run_record_median(record, &least_us, &most_us);
    return step ? &record->steps[step - record->steps] : NULL;
}

/* Passes the timeline of the chosen step to the caller. */
static enum gw_err extract_timeline(const struct measure *measure,
                                    struct run_record *record,
                                    struct gw_timeline **timeline,
                                    double *times_us, struct gw_error *why)
{
    struct run_step *step =
        measure->fastest ? fastest_step(record) : median_step(record);
    if (!step)
        return gw_fail(why, GW_EINTERNAL, "no step was completed");
    for (unsigned i = 0; i < measure->steps && times_us; i++)
        times_us[i] = record->steps[i + 1].time_us;
    *timeline = step->timeline;
    step->timeline = NULL;
    return GW_OK;
}

enum gw_err measure_steps(const struct measure *measure,
                          struct gw_timeline **timeline, double *times_us,
                          struct gw_error *why)
{
    struct run_spec spec;
    struct run *run = calloc(1, sizeof *run);
    *timeline = NULL;
    if (!run)
        return gw_fail(why, GW_ENOMEM, "no memory for a run");
    run->spec = &spec;
    enum gw_err err = fill_spec(measure, &spec, why);
    if (!err)
        err = run_predict(&spec, &run->prediction, why);
    if (!err)
        err = run_record_init(&run->record, &spec, why);
    if (!err)
        err = run_launch(run, why);
    if (!err)
        err = extract_timeline(measure, &run->record, timeline, times_us, why);
    run_record_fini(&run->record);
    run_prediction_fini(&run->prediction);
    run_safe_destroy(&spec.safe);
    free(spec.slow);
    free(run);
    return err;
}
