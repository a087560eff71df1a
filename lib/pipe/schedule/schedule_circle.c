/* SPDX-License-Identifier: MIT
 *
 * Detects deadlocks. The schedule is executed as far as possible. If passes are
 * left, each stage with such passes waits for a message, whose sender waits
 * itself before that pass. Following these waits from stage to stage, the first
 * stage that is visited twice is on the cycle.
 */
#include "pipe/walk.h"

#include <assert.h>

static bool is_stuck(const struct gw__walk *walk, unsigned stage)
{
    return walk->cursor[stage] < walk->schedule->begin[stage + 1];
}

static struct gw_pass stands_at(const struct gw__walk *walk, unsigned stage)
{
    return walk->schedule->passes[walk->cursor[stage]];
}

static unsigned waits_for(const struct gw__walk *walk, unsigned stage)
{
    struct gw__message needs =
        gw__pass_needs(walk->schedule, stage, stands_at(walk, stage));
    return gw__stage_of(walk->schedule, needs.from);
}

/* The pass that sends the message for `stage`. It exists, because the schedule
 * has every pass, and has not run, because the message has not been sent. */
static struct gw_pass awaited(const struct gw__walk *walk, unsigned stage)
{
    const struct gw_schedule *schedule = walk->schedule;
    struct gw__message needs =
        gw__pass_needs(schedule, stage, stands_at(walk, stage));
    unsigned sender = gw__stage_of(schedule, needs.from);
    for (size_t i = walk->cursor[sender];; i++) {
        assert(i < schedule->begin[sender + 1]);
        struct gw__message sends =
            gw__pass_sends(schedule, sender, schedule->passes[i]);
        if (sends.there && sends.forward == needs.forward &&
            sends.to == needs.to && sends.micro == needs.micro)
            return schedule->passes[i];
    }
}

/* The lowest stage of the cycle, so that the error text is deterministic. */
static unsigned first_on_circle(const struct gw__walk *walk, unsigned *length)
{
    unsigned stage = 0;
    while (!is_stuck(walk, stage))
        stage++;
    for (unsigned i = 0; i < walk->schedule->stages; i++)
        /* after enough steps it is on the cycle */
        stage = waits_for(walk, stage);
    unsigned lowest = stage;
    *length = 1;
    for (unsigned on = waits_for(walk, stage); on != stage;
         on = waits_for(walk, on)) {
        lowest = on < lowest ? on : lowest;
        ++*length;
    }
    return lowest;
}

/* Writes "stage 0 at B0 for stage 1's B0". */
static int tell_wait(const struct gw__walk *walk, unsigned stage, char *text,
                     size_t room)
{
    char at[GW__PASS_TEXT], message[GW__PASS_TEXT];
    unsigned sender = waits_for(walk, stage);
    gw__pass_text(walk->schedule, stands_at(walk, stage), at);
    gw__pass_text(walk->schedule, awaited(walk, stage), message);
    if (sender == stage)
        return snprintf(text, room, "stage %u at %s for its own %s", stage, at,
                        message);
    return snprintf(text, room, "stage %u at %s for stage %u's %s", stage, at,
                    sender, message);
}

static enum gw_err tell_circle(const struct gw__walk *walk,
                               struct gw_error *why)
{
    enum { TEXT_BYTES = 420, WAIT_BYTES = 80 };
    char text[TEXT_BYTES + WAIT_BYTES] = "";
    size_t used = 0;
    unsigned length, told = 0;
    unsigned first = first_on_circle(walk, &length), stage = first;
    for (; told < length && used < TEXT_BYTES - WAIT_BYTES; told++) {
        if (told)
            used += (size_t)snprintf(text + used, sizeof text - used, ", ");
        used += (size_t)tell_wait(walk, stage, text + used, sizeof text - used);
        stage = waits_for(walk, stage);
    }
    if (told < length)
        snprintf(text + used, sizeof text - used,
                 ", and so on in a cycle of %u stages", length);
    return gw_fail(why, GW_EPLAN, "stages wait for each other in a cycle: %s",
                   text);
}

enum gw_err gw__schedule_check_circle(const struct gw_schedule *schedule,
                                      struct gw_error *why)
{
    struct gw__walk walk = {.schedule = schedule};
    enum gw_err err = gw__walk_new(&walk, why);
    if (err)
        return err;
    gw__walk_run(&walk);
    if (walk.done < schedule->pass_count)
        err = tell_circle(&walk, why);
    gw__walk_fini(&walk);
    return err;
}
