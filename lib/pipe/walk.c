/* SPDX-License-Identifier: MIT
 *
 * Execution of a schedule; see walk.h. A stage is in the list `todo` when the
 * message for its next pass has arrived; initially all stages are.
 */
#include "walk.h"

#include <stdlib.h>

enum gw_err gw__walk_new(struct gw__walk *walk, struct gw_error *why)
{
    const struct gw_schedule *schedule = walk->schedule;
    unsigned stages = schedule->stages;
    size_t slots = (size_t)stages * schedule->chunks * schedule->micros;
    walk->cursor = malloc(stages * sizeof *walk->cursor);
    walk->queued = calloc(stages, sizeof *walk->queued);
    walk->todo = malloc(stages * sizeof *walk->todo);
    walk->sent[0] = calloc(slots, sizeof *walk->sent[0]);
    walk->sent[1] = calloc(slots, sizeof *walk->sent[1]);
    if (walk->cursor && walk->queued && walk->todo && walk->sent[0] &&
        walk->sent[1])
        return GW_OK;
    gw__walk_fini(walk);
    return gw_fail(why, GW_ENOMEM, "traversing %zu passes",
                   schedule->pass_count);
}

void gw__walk_fini(struct gw__walk *walk)
{
    free(walk->cursor);
    free(walk->queued);
    free(walk->todo);
    free(walk->sent[0]);
    free(walk->sent[1]);
}

static void wake(struct gw__walk *walk, unsigned stage)
{
    if (walk->queued[stage])
        return;
    walk->queued[stage] = true;
    walk->todo[walk->todo_count++] = stage;
}

static bool has_come(const struct gw__walk *walk,
                     const struct gw__message *needs)
{
    return !needs->there ||
           walk->sent[needs->forward][gw__message_slot(walk->schedule, needs)];
}

static void mark_sent(struct gw__walk *walk, const struct gw__message *sends)
{
    walk->sent[sends->forward][gw__message_slot(walk->schedule, sends)] = true;
    wake(walk, gw__stage_of(walk->schedule, sends->to));
}

/* Runs `stage` as far as possible. */
static void go_on(struct gw__walk *walk, unsigned stage)
{
    const struct gw_schedule *schedule = walk->schedule;
    size_t *cursor = &walk->cursor[stage];
    for (; *cursor < schedule->begin[stage + 1]; ++*cursor) {
        struct gw_pass pass = schedule->passes[*cursor];
        struct gw__message needs = gw__pass_needs(schedule, stage, pass);
        struct gw__message sends = gw__pass_sends(schedule, stage, pass);
        if (!has_come(walk, &needs))
            return;
        if (walk->pass)
            walk->pass(walk->context, stage, *cursor, &needs, &sends);
        if (sends.there)
            mark_sent(walk, &sends);
        walk->done++;
    }
}

void gw__walk_run(struct gw__walk *walk)
{
    for (unsigned stage = 0; stage < walk->schedule->stages; stage++) {
        walk->cursor[stage] = walk->schedule->begin[stage];
        wake(walk, stage);
    }
    while (walk->todo_count > 0) {
        unsigned stage = walk->todo[--walk->todo_count];
        walk->queued[stage] = false;
        go_on(walk, stage);
    }
}
