/* SPDX-License-Identifier: MIT
 *
 * Checks of a schedule. First the ranges of its numbers. Then, stage by stage:
 * every chunk has each micro-batch's F and its B, or its I and W, once and in
 * this order, and the stage never has more activations than allowed. Last:
 * stages do not deadlock (schedule_deadlock.c).
 */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

static enum gw_err fault(const struct gw_schedule *schedule, unsigned stage,
                         struct gw_pass pass, const char *text,
                         struct gw_error *why)
{
    char name[GW__PASS_TEXT];
    return gw_fail(why, GW_EPLAN, "stage %u: %s %s", stage,
                   gw__pass_text(schedule, pass, name), text);
}

static enum gw_err check_pass(const struct gw_schedule *schedule,
                              unsigned stage, struct gw_pass pass,
                              struct gw_error *why)
{
    char text[80];
    if (pass.kind >= GW_PASS_KINDS)
        return gw_fail(why, GW_EPLAN, "stage %u: unknown kind of pass %u",
                       stage, pass.kind);
    if (pass.chunk >= schedule->chunks) {
        snprintf(text, sizeof text,
                 "has chunk %u; a stage has %u chunks, numbered from 0",
                 pass.chunk, schedule->chunks);
        return fault(schedule, stage, pass, text, why);
    }
    if (pass.micro >= schedule->micros) {
        snprintf(text, sizeof text, "has a micro-batch out of 0..%u",
                 schedule->micros - 1);
        return fault(schedule, stage, pass, text, why);
    }
    return GW_OK;
}

enum gw_err gw__schedule_check_range(const struct gw_schedule *schedule,
                                     struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (schedule->stages < 1 || schedule->stages > GW_STAGES_MAX ||
        schedule->micros < 1 || schedule->micros > GW_MICROS_MAX ||
        schedule->chunks < 1 || schedule->chunks > GW_STAGE_CHUNKS_MAX ||
        gw__schedule_least(schedule->stages, schedule->micros,
                           schedule->chunks) > GW_PASSES_MAX ||
        schedule->begin[0] != 0 ||
        schedule->begin[schedule->stages] != schedule->pass_count)
        return gw_fail(why, GW_EPLAN,
                       "a schedule of %u stages, %u micro-batches and %u "
                       "chunks per stage exceeds the limits",
                       schedule->stages, schedule->micros, schedule->chunks);
    for (unsigned stage = 0; stage < schedule->stages; stage++) {
        const size_t *begin = &schedule->begin[stage];
        if (begin[0] > begin[1])
            return gw_fail(why, GW_EPLAN, "stage %u ends before it begins",
                           stage);
        for (size_t i = begin[0]; !err && i < begin[1]; i++)
            err = check_pass(schedule, stage, schedule->passes[i], why);
        if (err)
            return err;
    }
    return GW_OK;
}

/* The earlier passes of each chunk and micro-batch: one bit per kind. */
struct seen {
    const struct gw_schedule *schedule;
    unsigned stage;
    uint8_t *kinds; /* chunks x micros */
};

static bool had(uint8_t kinds, enum gw_pass_kind kind)
{
    return kinds >> kind & 1;
}

/* The error of `kind` after these earlier passes, or NULL. */
static const char *wrong_now(uint8_t kinds, enum gw_pass_kind kind)
{
    bool whole = had(kinds, GW_BACKWARD);
    bool split =
        had(kinds, GW_BACKWARD_INPUT) || had(kinds, GW_BACKWARD_WEIGHT);
    if (had(kinds, kind))
        return "occurs twice";
    if (kind == GW_FORWARD)
        return NULL;
    if (whole || (split && kind == GW_BACKWARD))
        return "is one too many: a backward is either B, or I and W";
    if (!had(kinds, GW_FORWARD))
        return "comes before its F";
    if (kind == GW_BACKWARD_WEIGHT && !had(kinds, GW_BACKWARD_INPUT))
        return "comes before its I";
    return NULL;
}

/* Refuses a missing pass. */
static enum gw_err check_all_there(const struct seen *seen,
                                   struct gw_error *why)
{
    const struct gw_schedule *schedule = seen->schedule;
    for (unsigned chunk = 0; chunk < schedule->chunks; chunk++)
        for (unsigned micro = 0; micro < schedule->micros; micro++) {
            uint8_t kinds = seen->kinds[chunk * schedule->micros + micro];
            struct gw_pass pass = {(uint16_t)micro, (uint8_t)chunk, GW_FORWARD};
            if (!had(kinds, GW_FORWARD))
                return fault(schedule, seen->stage, pass, "is missing", why);
            if (had(kinds, GW_BACKWARD) || had(kinds, GW_BACKWARD_WEIGHT))
                continue;
            bool split = had(kinds, GW_BACKWARD_INPUT);
            pass.kind = split ? GW_BACKWARD_WEIGHT : GW_BACKWARD;
            return fault(schedule, seen->stage, pass,
                         split ? "is missing" : "is missing, or I and W", why);
        }
    return GW_OK;
}

static enum gw_err check_held(const struct seen *seen, struct gw_pass pass,
                              unsigned held, struct gw_error *why)
{
    unsigned most = seen->schedule->activations_max;
    char text[80];
    if (most == 0 || held <= most)
        return GW_OK;
    snprintf(text, sizeof text,
             "makes it hold %u activations; memory= allows %u", held, most);
    return fault(seen->schedule, seen->stage, pass, text, why);
}

/* Checks one stage, from its first pass to its last. */
static enum gw_err check_stage(struct seen *seen, struct gw_error *why)
{
    const struct gw_schedule *schedule = seen->schedule;
    const size_t *begin = &schedule->begin[seen->stage];
    unsigned held = 0;
    memset(seen->kinds, 0, (size_t)schedule->chunks * schedule->micros);
    for (size_t i = begin[0]; i < begin[1]; i++) {
        struct gw_pass pass = schedule->passes[i];
        uint8_t *kinds =
            &seen->kinds[pass.chunk * schedule->micros + pass.micro];
        const char *wrong = wrong_now(*kinds, (enum gw_pass_kind)pass.kind);
        if (wrong)
            return fault(schedule, seen->stage, pass, wrong, why);
        *kinds |= (uint8_t)(1u << pass.kind);
        held += gw__pass_is_forward(pass);
        held -= gw__pass_drops(pass);
        enum gw_err err = check_held(seen, pass, held, why);
        if (err)
            return err;
    }
    return check_all_there(seen, why);
}

enum gw_err gw_schedule_check(const struct gw_schedule *schedule,
                              struct gw_error *why)
{
    enum gw_err err = gw__schedule_check_range(schedule, why);
    if (err)
        return err;
    struct seen seen = {
        .schedule = schedule,
        .kinds = malloc((size_t)schedule->chunks * schedule->micros + 1),
    };
    if (!seen.kinds)
        return gw_fail(why, GW_ENOMEM, "checking %zu passes",
                       schedule->pass_count);
    for (; !err && seen.stage < schedule->stages; seen.stage++)
        err = check_stage(&seen, why);
    free(seen.kinds);
    return err ? err : gw__schedule_check_deadlock(schedule, why);
}
