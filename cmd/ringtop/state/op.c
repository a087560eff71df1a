/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One op (op.h). Actions are stored as they come; nothing is computed until the
 * matrix is shown, or the op is over.
 */
#include "op.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void op_begin(struct op *op, uint32_t number, uint64_t time_ns,
              unsigned members)
{
    struct applied *actions = op->actions;
    size_t room = op->room;
    struct sets sets = op->sets;
    *op = (struct op){
        .used = true,
        .op = number,
        .collective = -1,
        .begin_ns = time_ns,
        .members = members,
        .full = members,
        .full_before = members,
        .decided = GW_NONE,
        .actions = actions,
        .room = room,
        .sets = sets,
    };
}

void op_fini(struct op *op)
{
    free(op->actions);
    sets_fini(&op->sets);
    *op = (struct op){0};
}

static bool set_bit(uint64_t *words, unsigned rank, bool to)
{
    uint64_t bit = (uint64_t)1 << rank % 64;
    bool was = words[rank / 64] & bit;
    words[rank / 64] = to ? words[rank / 64] | bit : words[rank / 64] & ~bit;
    return was != to;
}

bool op_has_begun(const struct op *op, unsigned rank)
{
    return op->begun_by[rank / 64] >> rank % 64 & 1;
}

void op_rank_begins(struct op *op, unsigned rank)
{
    op->begun += set_bit(op->begun_by, rank, true);
    op->ended -= set_bit(op->ended_by, rank, false);
}

void op_rank_ends(struct op *op, unsigned rank)
{
    op->begun += set_bit(op->begun_by, rank, true);
    op->ended += set_bit(op->ended_by, rank, true);
}

void op_rank_gone(struct op *op, unsigned rank)
{
    op->begun -= set_bit(op->begun_by, rank, false);
    op->ended -= set_bit(op->ended_by, rank, false);
}

static bool grow_op(struct op *op)
{
    size_t room = op->room ? 2 * op->room : 64;
    if (op->count < op->room)
        return true;
    struct applied *moved =
        room <= ACTIONS_MAX ? realloc(op->actions, room * sizeof *moved) : NULL;
    if (!moved)
        return false;
    op->actions = moved;
    op->room = room;
    return true;
}

static void widen_extent(unsigned *seen, uint32_t index)
{
    if (index != GW_NONE && index >= *seen)
        *seen = index + 1;
}

static void measure_op(struct op *op, const struct applied *action)
{
    if (action->action == ACTION_KEEP)
        return;
    widen_extent(&op->ranks, action->dst);
    widen_extent(&op->ranks, action->src);
    widen_extent(&op->chunks, action->chunk);
    if (action->action != ACTION_RESTART)
        widen_extent(&op->steps, action->step);
}

void op_action(struct op *op, const struct applied *action)
{
    if (action->dst >= RANKS_MAX || action->src >= RANKS_MAX ||
        action->chunk >= CHUNKS_MAX || !grow_op(op)) {
        op->truncated = true;
        return;
    }
    op->epochs |= op->count > 0 && op->actions[0].epoch != action->epoch;
    op->actions[op->count++] = *action;
    op->evaluated = false;
    measure_op(op, action);
}

bool op_grows(const struct op *op)
{
    return op->collective == GW_BARRIER ||
           (op->collective >= 0 && op->collective < GW_COLLECTIVES &&
            gw_collective_reduces((enum gw_collective)op->collective));
}

/* The first action that still counts: of the last epoch that builds on none. */
static size_t begin_of(struct op *op)
{
    size_t begin = 0;
    if (!op->epochs)
        return 0;
    qsort(op->actions, op->count, sizeof *op->actions, applied_compare);
    for (size_t i = 1; i < op->count; i++) {
        const struct applied *action = &op->actions[i];
        if (action->epoch != op->actions[i - 1].epoch &&
            action->action < ACTION_RESTART)
            begin = i;
    }
    op->ranks = op->chunks = op->steps = 0;
    for (size_t i = begin; i < op->count; i++)
        measure_op(op, &op->actions[i]);
    return begin;
}

bool op_evaluate(struct op *op, unsigned ranks)
{
    if (op->evaluated && op->sets.ranks >= op->ranks && op->sets.ranks >= ranks)
        return true;
    size_t begin = begin_of(op);
    if (ranks < op->ranks)
        ranks = op->ranks;
    op->evaluated = sets_evaluate(&op->sets, ranks, op->chunks, op_grows(op),
                                  op->count > 0 ? op->actions + begin : NULL,
                                  op->count - begin);
    return op->evaluated;
}

bool op_over(const struct op *op)
{
    return op->begun > 0 && op->ended >= op->begun && op->ended >= op->members;
}

struct copy op_copy(const struct op *op, unsigned rank, unsigned chunk)
{
    const struct sets *s = &op->sets;
    if (op->evaluated && rank < s->ranks && chunk < s->chunks)
        return s->copies[(size_t)rank * s->chunks + chunk];
    return (struct copy){.count = op_grows(op)};
}

/* The number of contributors to the result of a rank. */
static unsigned contributors_of(const struct op *op, unsigned rank)
{
    if (op->collective == GW_SCAN)
        return rank + 1;
    return op->collective == GW_EXSCAN ? rank : op->full;
}

bool op_complete(const struct op *op, unsigned rank, struct copy copy)
{
    return copy.count > 0 &&
           (!op_grows(op) || copy.count >= contributors_of(op, rank));
}

void op_kind(const struct op *op, char out[48])
{
    char bytes[16];
    bool known = op->collective >= 0 && op->collective < GW_COLLECTIVES;
    gw_format_bytes(op->bytes, bytes);
    const char *name =
        known ? gw_collective_name((enum gw_collective)op->collective) : "call";
    snprintf(out, 48, op->bytes ? "%s %s" : "%s", name, bytes);
}
