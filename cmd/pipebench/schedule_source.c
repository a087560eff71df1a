/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From options to a schedule (schedule_source.h).
 */
#include "schedule_source.h"

#include "common/text/suggest.h"

#include <stdio.h>
#include <string.h>

enum gw_err schedule_kind(const char *name,
                          const struct gw_schedule_kind **kind,
                          struct gw_error *why)
{
    struct suggestion suggestion;
    char hint[96], valid[128] = "";
    *kind = gw_schedule_find(name);
    if (*kind)
        return GW_OK;
    suggestion_begin(&suggestion, name);
    for (const struct gw_schedule_kind *const *k = gw_schedule_kinds(); *k;
         k++) {
        size_t used = strlen(valid);
        suggestion_offer(&suggestion, (*k)->name);
        snprintf(valid + used, sizeof valid - used, "%s%s", used ? ", " : "",
                 (*k)->name);
    }
    return gw_fail(why, GW_EINVAL,
                   "unknown schedule \"%.60s\"%s (schedules: %s; give a file "
                   "without --schedule)",
                   name, suggestion_text(&suggestion, hint), valid);
}

static bool is_set(unsigned number)
{
    return number != UINT32_MAX;
}

static enum gw_err load_schedule(const char *file,
                                 const struct schedule_source *source,
                                 struct gw_schedule **schedule,
                                 struct gw_error *why)
{
    if (source->name || is_set(source->stages) || is_set(source->micros) ||
        is_set(source->chunks))
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own stages and micro-batches; use "
                       "--schedule, --stages, --micro and --chunks only "
                       "without a file",
                       file);
    return gw_schedule_load(file, schedule, why);
}

static enum gw_err make_schedule(const struct schedule_source *source,
                                 struct gw_schedule **schedule,
                                 struct gw_error *why)
{
    const struct gw_schedule_kind *kind;
    const char *name = source->name ? source->name : SCHEDULE_DEFAULT;
    if (schedule_kind(name, &kind, why))
        return why->code;
    if (source->chunks == 0)
        return gw_fail(why, GW_EINVAL, "--chunks must be at least 1");
    return gw_schedule_make(
        kind->name, is_set(source->stages) ? source->stages : STAGES_DEFAULT,
        is_set(source->micros) ? source->micros : MICROS_DEFAULT,
        is_set(source->chunks) ? source->chunks : 0, schedule, why);
}

enum gw_err schedule_get(const char *file, const struct schedule_source *source,
                         struct gw_schedule **schedule, struct gw_error *why)
{
    *schedule = NULL;
    enum gw_err err = file ? load_schedule(file, source, schedule, why)
                           : make_schedule(source, schedule, why);
    if (err)
        return err;
    if (gw_schedule_check(*schedule, why)) {
        gw_schedule_destroy(schedule);
        return file ? gw_wrap(why, why->code, "%.100s", file) : why->code;
    }
    return GW_OK;
}

static bool same_passes(const struct gw_schedule *a,
                        const struct gw_schedule *b)
{
    bool same = a->pass_count == b->pass_count;
    for (unsigned s = 0; s < a->stages && same; s++)
        same = a->begin[s + 1] == b->begin[s + 1];
    for (size_t i = 0; i < a->pass_count && same; i++)
        same = a->passes[i].micro == b->passes[i].micro &&
               a->passes[i].chunk == b->passes[i].chunk &&
               a->passes[i].kind == b->passes[i].kind;
    return same;
}

static bool is_of_kind(const struct gw_schedule *schedule,
                       const struct gw_schedule_kind *kind)
{
    struct gw_schedule *made;
    if (gw_schedule_make(kind->name, schedule->stages, schedule->micros,
                         schedule->chunks, &made, NULL))
        return false;
    bool same = same_passes(schedule, made);
    gw_schedule_destroy(&made);
    return same;
}

const struct gw_schedule_kind *
schedule_kind_of(const struct gw_schedule *schedule)
{
    /* With one micro-batch several kinds are equal; then the schedule's name
     * decides. */
    const struct gw_schedule_kind *named = gw_schedule_find(schedule->name);
    if (named && is_of_kind(schedule, named))
        return named;
    for (const struct gw_schedule_kind *const *k = gw_schedule_kinds(); *k; k++)
        if (is_of_kind(schedule, *k))
            return *k;
    return NULL;
}

bool schedule_price(const struct gw_schedule *schedule,
                    const struct gw_pipe_costs *costs,
                    struct gw_pipe_price *price)
{
    const struct gw_schedule_kind *kind = schedule_kind_of(schedule);
    return kind && gw_pipe_price(kind->name, schedule->stages, schedule->micros,
                                 schedule->chunks, costs, price, NULL) == GW_OK;
}
