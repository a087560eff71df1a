/* SPDX-License-Identifier: MIT
 *
 * Detects deadlocks. The schedule is executed as far as possible. If passes are
 * left, each stage with such passes waits for a message, whose sender waits
 * itself before that pass. Following these waits from stage to stage, the first
 * stage that is visited twice is on the cycle.
 */
#include "pipe/traversal.h"

#include <assert.h>

static bool is_stuck(const struct gw__pipe_traversal *traversal, unsigned stage)
{
    return traversal->cursor[stage] < traversal->schedule->begin[stage + 1];
}

static struct gw_pass current_pass(const struct gw__pipe_traversal *traversal,
                                   unsigned stage)
{
    return traversal->schedule->passes[traversal->cursor[stage]];
}

static unsigned awaited_stage(const struct gw__pipe_traversal *traversal,
                              unsigned stage)
{
    struct gw__message needs = gw__pass_needs(traversal->schedule, stage,
                                              current_pass(traversal, stage));
    return gw__stage_of(traversal->schedule, needs.from);
}

/* The pass that sends the message for `stage`. It exists, because the schedule
 * has every pass, and has not run, because the message has not been sent. */
static struct gw_pass awaited(const struct gw__pipe_traversal *traversal,
                              unsigned stage)
{
    const struct gw_schedule *schedule = traversal->schedule;
    struct gw__message needs =
        gw__pass_needs(schedule, stage, current_pass(traversal, stage));
    unsigned sender = gw__stage_of(schedule, needs.from);
    for (size_t i = traversal->cursor[sender];; i++) {
        assert(i < schedule->begin[sender + 1]);
        struct gw__message sends =
            gw__pass_sends(schedule, sender, schedule->passes[i]);
        if (sends.there && sends.forward == needs.forward &&
            sends.to == needs.to && sends.micro == needs.micro)
            return schedule->passes[i];
    }
}

/* The lowest stage of the cycle, so that the error text is deterministic. */
static unsigned first_on_cycle(const struct gw__pipe_traversal *traversal,
                               unsigned *length)
{
    unsigned stage = 0;
    while (!is_stuck(traversal, stage))
        stage++;
    for (unsigned i = 0; i < traversal->schedule->stages; i++)
        /* after enough steps it is on the cycle */
        stage = awaited_stage(traversal, stage);
    unsigned lowest = stage;
    *length = 1;
    for (unsigned on = awaited_stage(traversal, stage); on != stage;
         on = awaited_stage(traversal, on)) {
        lowest = on < lowest ? on : lowest;
        ++*length;
    }
    return lowest;
}

/* Writes "stage 0 at B0 for stage 1's B0". */
static int format_wait(const struct gw__pipe_traversal *traversal,
                       unsigned stage, char *text, size_t room)
{
    char at[GW__PASS_TEXT], message[GW__PASS_TEXT];
    unsigned sender = awaited_stage(traversal, stage);
    gw__pass_text(traversal->schedule, current_pass(traversal, stage), at);
    gw__pass_text(traversal->schedule, awaited(traversal, stage), message);
    if (sender == stage)
        return snprintf(text, room, "stage %u at %s for its own %s", stage, at,
                        message);
    return snprintf(text, room, "stage %u at %s for stage %u's %s", stage, at,
                    sender, message);
}

static enum gw_err report_cycle(const struct gw__pipe_traversal *traversal,
                                struct gw_error *why)
{
    enum { TEXT_BYTES = 420, WAIT_BYTES = 80 };
    char text[TEXT_BYTES + WAIT_BYTES] = "";
    size_t used = 0;
    unsigned length, printed = 0;
    unsigned first = first_on_cycle(traversal, &length), stage = first;
    for (; printed < length && used < TEXT_BYTES - WAIT_BYTES; printed++) {
        if (printed)
            used += (size_t)snprintf(text + used, sizeof text - used, ", ");
        used += (size_t)format_wait(traversal, stage, text + used,
                                    sizeof text - used);
        stage = awaited_stage(traversal, stage);
    }
    if (printed < length)
        snprintf(text + used, sizeof text - used,
                 ", and so on in a cycle of %u stages", length);
    return gw_fail(why, GW_EPLAN, "stages wait for each other in a cycle: %s",
                   text);
}

enum gw_err gw__schedule_check_deadlock(const struct gw_schedule *schedule,
                                        struct gw_error *why)
{
    struct gw__pipe_traversal traversal = {.schedule = schedule};
    enum gw_err err = gw__pipe_traversal_new(&traversal, why);
    if (err)
        return err;
    gw__pipe_traversal_run(&traversal);
    if (traversal.done < schedule->pass_count)
        err = report_cycle(&traversal, why);
    gw__pipe_traversal_fini(&traversal);
    return err;
}
