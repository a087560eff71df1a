/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One op in the view's state: its ranks, the applied actions, and, when it is
 * shown, the resulting matrix of contributor sets (sets.h). And the shape of an
 * op: the actions of an earlier op of that kind, which replace the plan, since
 * events do not contain the steps to come.
 */
#ifndef RINGTOP_OP_H
#define RINGTOP_OP_H

#include "sets.h"

enum { RANK_WORDS = RANKS_MAX / 64 };

struct op {
    bool used;
    uint32_t op, epoch; /* the latest in which it was begun */
    int64_t collective; /* enum gw_collective, or another number: unknown */
    uint64_t bytes;
    uint64_t begin_ns;     /* of the first rank */
    unsigned begun, ended; /* ranks, which are: */
    uint64_t begun_by[RANK_WORDS], ended_by[RANK_WORDS];
    bool finished;        /* once: a new view may have it completed again */
    unsigned members;     /* that should end it */
    unsigned full;        /* contributors that make a reduced value complete */
    unsigned full_before; /* in the epoch before */
    uint32_t decided;     /* the epoch that keeps partial results */
    unsigned ranks;       /* seen in it, the highest and one */
    unsigned chunks, steps;
    struct applied *actions;
    size_t count, room;
    bool truncated; /* more was applied than is kept */
    bool partial;   /* some actions were not seen */
    bool epochs;    /* its actions are of several epochs */
    bool evaluated; /* `sets` includes all actions */
    bool shouted;   /* its double counts were reported */
    struct sets sets;
};

enum { ACTIONS_MAX = 1 << 18 };

void op_begin(struct op *op, uint32_t number, uint64_t time_ns,
              unsigned members);
/* Each counts a rank once, however often it is reported. */
void op_rank_begins(struct op *op, unsigned rank);
void op_rank_ends(struct op *op, unsigned rank);
/* It will not end the op, and has not. */
void op_rank_gone(struct op *op, unsigned rank);
bool op_has_begun(const struct op *op, unsigned rank);
/* Stores the action of an APPLY or a RECOVERY. */
void op_action(struct op *op, const struct applied *action);
/* Brings `sets` up to date; false when the op is too large to follow. An epoch
 * that keeps or takes back nothing begins from the inputs. */
bool op_evaluate(struct op *op, unsigned ranks);
/* Every rank of the op is done. */
bool op_over(const struct op *op);
/* Reduces, or is a barrier: values grow until they contain all ranks. */
bool op_grows(const struct op *op);
/* The copy of the chunk at the rank; zeros if unknown. */
struct copy op_copy(const struct op *op, unsigned rank, unsigned chunk);
bool op_complete(const struct op *op, unsigned rank, struct copy copy);
/* "allreduce 64K" */
void op_kind(const struct op *op, char out[48]);
void op_fini(struct op *op);

/* ---- shapes ---- */

struct shape {
    int64_t collective;
    uint64_t bytes;
    uint32_t epoch; /* the members and their order are this epoch's */
    unsigned ranks, chunks, steps, full;
    struct applied *actions; /* sorted */
    size_t count;
    uint64_t used; /* when it was learned, counted in ops */
};

enum { SHAPES_MAX = 8 };
struct shapes {
    struct shape list[SHAPES_MAX];
    uint64_t learned;
};

/* Remembers an op that is over and was evaluated. */
void shapes_learn(struct shapes *shapes, const struct op *op);
const struct shape *shapes_find(const struct shapes *shapes,
                                const struct op *op);
void shapes_fini(struct shapes *shapes);
/* For each rank, the source of the shape's first action that the op lacks
 * there, or GW_NONE. The op must be evaluated: its actions sorted. */
void shape_expect(const struct shape *shape, const struct op *op,
                  uint32_t *sources, unsigned ranks);

#endif
