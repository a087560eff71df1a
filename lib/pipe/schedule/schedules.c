/* SPDX-License-Identifier: MIT
 *
 * The list of built-in schedules, and their creation by name.
 */
#include "schedule.h"

#include <string.h>

static const struct gw__schedule_algorithm *const algorithms[] = {
#define X(name) &gw__schedule_##name,
    GW__SCHEDULES(X)
#undef X
};

enum { ALGORITHM_COUNT = sizeof algorithms / sizeof *algorithms };

const struct gw_schedule_kind *const *gw_schedule_kinds(void)
{
    static const struct gw_schedule_kind *const kinds[] = {
#define X(name) &gw__schedule_##name.kind,
        GW__SCHEDULES(X)
#undef X
            NULL};
    return kinds;
}

const struct gw__schedule_algorithm *gw__schedule_algorithm(const char *name)
{
    for (size_t i = 0; i < ALGORITHM_COUNT; i++)
        if (strcmp(algorithms[i]->kind.name, name) == 0)
            return algorithms[i];
    return NULL;
}

const struct gw_schedule_kind *gw_schedule_find(const char *name)
{
    const struct gw__schedule_algorithm *algorithm =
        gw__schedule_algorithm(name);
    return algorithm ? &algorithm->kind : NULL;
}

enum gw_err gw__schedule_no_such(const char *name, struct gw_error *why)
{
    char known[256] = "";
    for (size_t i = 0; i < ALGORITHM_COUNT; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                 algorithms[i]->kind.name);
    }
    return gw_fail(why, GW_EINVAL, "unknown schedule \"%.40s\"; use %s", name,
                   known);
}

/* The number of passes of a stage. */
static size_t passes_each(const struct gw__schedule_algorithm *algorithm,
                          const struct gw__pipe_shape *shape)
{
    return (size_t)shape->micros * shape->chunks *
           (algorithm->kind.splits ? 3 : 2);
}

enum gw_err gw__schedule_shape(const struct gw__schedule_algorithm *algorithm,
                               struct gw__pipe_shape *shape,
                               struct gw_error *why)
{
    const char *name = algorithm->kind.name;
    unsigned most = algorithm->kind.chunks ? GW_STAGE_CHUNKS_MAX : 1;
    if (shape->chunks == 0)
        shape->chunks = algorithm->kind.chunks ? 2 : 1;
    if (shape->stages < 1 || shape->stages > GW_STAGES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%s: stages must be from 1 to %d, not %u", name,
                       GW_STAGES_MAX, shape->stages);
    if (shape->micros < 1 || shape->micros > GW_MICROS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%s: micro-batches must be from 1 to %d, not %u", name,
                       GW_MICROS_MAX, shape->micros);
    if (shape->chunks > most && most == 1)
        return gw_fail(why, GW_EINVAL,
                       "%s: a stage has one chunk, not %u; use interleaved "
                       "for more",
                       name, shape->chunks);
    if (shape->chunks > most)
        return gw_fail(why, GW_EINVAL,
                       "%s: chunks must be from 1 to %u, not %u", name, most,
                       shape->chunks);
    size_t passes = passes_each(algorithm, shape) * shape->stages;
    if (passes > GW_PASSES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%s: %zu passes are more than %d; use fewer stages or "
                       "micro-batches",
                       name, passes, GW_PASSES_MAX);
    return GW_OK;
}

enum gw_err gw_schedule_make(const char *name, unsigned stages, unsigned micros,
                             unsigned chunks, struct gw_schedule **schedule,
                             struct gw_error *why)
{
    *schedule = NULL;
    const struct gw__schedule_algorithm *algorithm =
        gw__schedule_algorithm(name);
    struct gw__pipe_shape shape = {stages, micros, chunks};
    if (!algorithm)
        return gw__schedule_no_such(name, why);
    enum gw_err err = gw__schedule_shape(algorithm, &shape, why);
    if (err)
        return err;
    size_t each = passes_each(algorithm, &shape);
    err = gw__schedule_new(&shape, each * stages, schedule, why);
    if (err)
        return err;
    struct gw_schedule *made = *schedule;
    snprintf(made->name, sizeof made->name, "%s", name);
    for (unsigned stage = 0; stage < stages; stage++) {
        made->begin[stage + 1] = made->begin[stage] + each;
        struct gw__pass_emitter emitter = {made->passes + made->begin[stage]};
        algorithm->emit(&shape, stage, &emitter);
    }
    return GW_OK;
}
