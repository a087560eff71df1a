/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contributor sets, computed from the applied actions: the copies of one op's
 * chunks, rank by chunk, each with its contributor set.
 *
 * Ranks run ahead of each other and their clocks may differ, so transfers may
 * come in any order. They are evaluated in the order of the plan: those of a
 * step read the values from before it. So an unusual order never looks like a
 * wrong sum.
 */
#ifndef RINGTOP_SETS_H
#define RINGTOP_SETS_H

#include <gradwire/gradwire.h>

/* An action of a rank on one of its chunks. */
enum action {
    ACTION_REPLACE = GW_REPLACE,
    ACTION_ADD = GW_ADD,
    ACTION_TOKEN = GW_TOKEN,
    ACTION_RESTART, /* back to the input: repeated after a death */
    ACTION_KEEP     /* unchanged: the next epoch continues with it */
};

struct applied {
    uint32_t epoch, step;
    uint32_t dst, src, chunk; /* src == dst if nothing moves between ranks */
    uint16_t src_scratch, dst_scratch; /* 0: the buffer */
    enum action action;
};

/* Limits; ranks and chunks beyond them are not followed. */
enum { RANKS_MAX = 1024, CHUNKS_MAX = 4096, CELLS_MAX = 1 << 18 };

struct copy {
    unsigned count; /* contributors; 0: the rank has no value of the chunk */
    bool doubled;   /* one of them is in it more than once */
};

/* A rank's data that was added a second time. */
struct double_count {
    struct applied at;
    unsigned who;
};

struct sets {
    unsigned ranks, chunks, words;
    unsigned rows; /* of each rank: its buffer and its scratch */
    /* One copy each, `words` words. Bit 0: some rank is counted twice; bit 1 +
     * r: it contains rank r. No bits: the rank has no value. */
    uint64_t *now, *next;
    bool *staged;        /* `next` has a write of the current step */
    struct copy *copies; /* rank * chunks + chunk: of the buffers */
    unsigned doubles;
    struct double_count first; /* when there are doubles */
};

/* Evaluates `count` actions, which it sorts. If `reduces`, every rank begins
 * with its own contribution to every chunk. Otherwise a rank that sends a chunk
 * before it has received it counts as its owner. A scratch whose write was not
 * seen has no contributors. Returns false when there is no memory, or more than
 * CELLS_MAX copies. */
bool sets_evaluate(struct sets *sets, unsigned ranks, unsigned chunks,
                   bool reduces, struct applied *actions, size_t count);
bool sets_have(const struct sets *sets, unsigned rank, unsigned chunk,
               unsigned contributor);
void sets_fini(struct sets *sets);

/* The order of the plan, for qsort: epoch, restarts and kept copies first,
 * step; within these any fixed order. */
int applied_compare(const void *a, const void *b);

#endif
