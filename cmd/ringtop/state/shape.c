/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shape of an op (op.h). Ops of one collective, size and number of ranks
 * have the same plan, so the last of them predicts the next one.
 */
#include "op.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPE_ACTIONS_MAX = 1 << 16 };

static bool fits(const struct shape *shape, const struct op *op)
{
    return shape->actions && shape->collective == op->collective &&
           shape->bytes == op->bytes && shape->epoch == op->epoch &&
           shape->ranks >= op->ranks && shape->full == op->full;
}

const struct shape *shapes_find(const struct shapes *shapes,
                                const struct op *op)
{
    for (unsigned i = 0; i < SHAPES_MAX; i++)
        if (fits(&shapes->list[i], op))
            return &shapes->list[i];
    return NULL;
}

/* The matching shape, or a free place, or the oldest. */
static struct shape *find_shape_slot(struct shapes *shapes, const struct op *op)
{
    struct shape *place = &shapes->list[0];
    for (unsigned i = 0; i < SHAPES_MAX; i++) {
        struct shape *shape = &shapes->list[i];
        if (fits(shape, op))
            return shape;
        if (shape->used < place->used)
            place = shape;
    }
    return place;
}

/* Only an op that ended in one epoch, with all its events. The numbers of its
 * ranks may have gaps. */
static bool typical(const struct op *op)
{
    return op_over(op) && op->evaluated && !op->truncated && op->count > 0 &&
           op->count <= SHAPE_ACTIONS_MAX && !op->partial &&
           op->actions[0].epoch == op->epoch &&
           op->actions[op->count - 1].epoch == op->epoch;
}

void shapes_learn(struct shapes *shapes, const struct op *op)
{
    if (!typical(op))
        return;
    struct shape *shape = find_shape_slot(shapes, op);
    struct applied *actions =
        realloc(shape->actions, op->count * sizeof *actions);
    if (!actions)
        return;
    memcpy(actions, op->actions, op->count * sizeof *actions);
    *shape = (struct shape){
        .collective = op->collective,
        .bytes = op->bytes,
        .epoch = op->epoch,
        .full = op->full,
        .ranks = op->ranks,
        .chunks = op->chunks,
        .steps = op->steps,
        .actions = actions,
        .count = op->count,
        .used = ++shapes->learned,
    };
}

void shapes_fini(struct shapes *shapes)
{
    for (unsigned i = 0; i < SHAPES_MAX; i++)
        free(shapes->list[i].actions);
    *shapes = (struct shapes){0};
}

/* Both lists are sorted, so one pass over both finds the missing actions. */
void shape_expect(const struct shape *shape, const struct op *op,
                  uint32_t *sources, unsigned ranks)
{
    size_t done = 0;
    for (unsigned rank = 0; rank < ranks; rank++)
        sources[rank] = GW_NONE;
    for (size_t i = 0; i < shape->count; i++) {
        struct applied expected = shape->actions[i];
        expected.epoch = op->epoch;
        int by = -1;
        while (done < op->count &&
               (by = applied_compare(&op->actions[done], &expected)) < 0)
            done++;
        if (done < op->count && by == 0)
            done++;
        else if (expected.dst < ranks && sources[expected.dst] == GW_NONE)
            sources[expected.dst] = expected.src;
    }
}
