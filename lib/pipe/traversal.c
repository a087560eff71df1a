/* SPDX-License-Identifier: MIT
 *
 * Execution of a schedule; see traversal.h. A stage is in the list `todo` when
 * the message for its next pass has arrived; initially all stages are.
 */
#include "traversal.h"

#include <stdlib.h>

enum gw_err gw__pipe_traversal_new(struct gw__pipe_traversal *traversal,
                                   struct gw_error *why)
{
    const struct gw_schedule *schedule = traversal->schedule;
    unsigned stages = schedule->stages;
    size_t slots = (size_t)stages * schedule->chunks * schedule->micros;
    traversal->cursor = malloc(stages * sizeof *traversal->cursor);
    traversal->queued = calloc(stages, sizeof *traversal->queued);
    traversal->todo = malloc(stages * sizeof *traversal->todo);
    traversal->sent[0] = calloc(slots, sizeof *traversal->sent[0]);
    traversal->sent[1] = calloc(slots, sizeof *traversal->sent[1]);
    if (traversal->cursor && traversal->queued && traversal->todo &&
        traversal->sent[0] && traversal->sent[1])
        return GW_OK;
    gw__pipe_traversal_fini(traversal);
    return gw_fail(why, GW_ENOMEM, "traversing %zu passes",
                   schedule->pass_count);
}

void gw__pipe_traversal_fini(struct gw__pipe_traversal *traversal)
{
    free(traversal->cursor);
    free(traversal->queued);
    free(traversal->todo);
    free(traversal->sent[0]);
    free(traversal->sent[1]);
}

static void wake(struct gw__pipe_traversal *traversal, unsigned stage)
{
    if (traversal->queued[stage])
        return;
    traversal->queued[stage] = true;
    traversal->todo[traversal->todo_count++] = stage;
}

static bool has_arrived(const struct gw__pipe_traversal *traversal,
                        const struct gw__message *needs)
{
    return !needs->there || traversal->sent[needs->forward][gw__message_slot(
                                traversal->schedule, needs)];
}

static void mark_sent(struct gw__pipe_traversal *traversal,
                      const struct gw__message *sends)
{
    traversal
        ->sent[sends->forward][gw__message_slot(traversal->schedule, sends)] =
        true;
    wake(traversal, gw__stage_of(traversal->schedule, sends->to));
}

/* Runs `stage` as far as possible. */
static void go_on(struct gw__pipe_traversal *traversal, unsigned stage)
{
    const struct gw_schedule *schedule = traversal->schedule;
    size_t *cursor = &traversal->cursor[stage];
    for (; *cursor < schedule->begin[stage + 1]; ++*cursor) {
        struct gw_pass pass = schedule->passes[*cursor];
        struct gw__message needs = gw__pass_needs(schedule, stage, pass);
        struct gw__message sends = gw__pass_sends(schedule, stage, pass);
        if (!has_arrived(traversal, &needs))
            return;
        if (traversal->pass)
            traversal->pass(traversal->context, stage, *cursor, &needs, &sends);
        if (sends.there)
            mark_sent(traversal, &sends);
        traversal->done++;
    }
}

void gw__pipe_traversal_run(struct gw__pipe_traversal *traversal)
{
    for (unsigned stage = 0; stage < traversal->schedule->stages; stage++) {
        traversal->cursor[stage] = traversal->schedule->begin[stage];
        wake(traversal, stage);
    }
    while (traversal->todo_count > 0) {
        unsigned stage = traversal->todo[--traversal->todo_count];
        traversal->queued[stage] = false;
        go_on(traversal, stage);
    }
}
