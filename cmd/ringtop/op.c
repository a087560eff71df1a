/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One op (op.h). Deeds are kept as they come; nothing is computed until the
 * matrix is looked at, or the op is over.
 */
#include "op.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void op_begin(struct op *op, uint32_t number, uint64_t time_ns,
              unsigned members)
{
    struct applied *deeds = op->deeds;
    size_t room = op->room;
    struct sets sets = op->sets;
    *op = (struct op){
        .used = true,
        .op = number,
        .collective = -1,
        .begin_ns = time_ns,
        .members = members,
        .full = members,
        .deeds = deeds,
        .room = room,
        .sets = sets,
    };
}

void op_fini(struct op *op)
{
    free(op->deeds);
    sets_fini(&op->sets);
    *op = (struct op){0};
}

static bool grow(struct op *op)
{
    size_t room = op->room ? 2 * op->room : 64;
    if (op->count < op->room)
        return true;
    struct applied *moved =
        room <= DEEDS_MAX ? realloc(op->deeds, room * sizeof *moved) : NULL;
    if (!moved)
        return false;
    op->deeds = moved;
    op->room = room;
    return true;
}

static void widen(unsigned *seen, uint32_t index)
{
    if (index != GW_NONE && index >= *seen)
        *seen = index + 1;
}

void op_deed(struct op *op, const struct applied *deed)
{
    if (deed->dst >= RANKS_MAX || deed->src >= RANKS_MAX ||
        deed->chunk >= CHUNKS_MAX || !grow(op)) {
        op->cut = true;
        return;
    }
    op->deeds[op->count++] = *deed;
    op->evaluated = false;
    widen(&op->ranks, deed->dst);
    widen(&op->ranks, deed->src);
    widen(&op->chunks, deed->chunk);
    if (deed->deed != DEED_RESTART)
        widen(&op->steps, deed->step);
}

bool op_grows(const struct op *op)
{
    return op->collective == GW_BARRIER ||
           (op->collective >= 0 && op->collective < GW_COLLECTIVES &&
            gw_collective_reduces((enum gw_collective)op->collective));
}

bool op_evaluate(struct op *op, unsigned ranks)
{
    if (ranks < op->ranks)
        ranks = op->ranks;
    if (op->evaluated && op->sets.ranks == ranks)
        return true;
    op->evaluated = sets_evaluate(&op->sets, ranks, op->chunks, op_grows(op),
                                  op->deeds, op->count);
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

bool op_complete(const struct op *op, struct copy copy)
{
    return copy.count > 0 && (!op_grows(op) || copy.count >= op->full);
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
