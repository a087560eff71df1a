/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who has contributed to what, found out from what was applied: the copies of
 * one op's chunks, rank by chunk, each with its contributor set.
 *
 * Ranks run ahead of each other and their clocks may differ, so transfers may
 * come in any order. They are evaluated in the order of the plan: those of a
 * step read the values from before it. Then an order that looks odd cannot look
 * like a wrong sum.
 */
#ifndef RINGTOP_SETS_H
#define RINGTOP_SETS_H

#include <gradwire/gradwire.h>

/* What a rank did to a chunk of its own. */
enum deed {
    DEED_REPLACE = GW_REPLACE,
    DEED_ADD = GW_ADD,
    DEED_TOKEN = GW_TOKEN,
    DEED_RESTART, /* back to the input: redoing after a death */
    DEED_KEEP     /* as it is: the work of an epoch goes on in the next */
};

struct applied {
    uint32_t epoch, step;
    uint32_t dst, src, chunk; /* src == dst for what moves nothing */
    enum deed deed;
};

/* How many ranks and chunks are followed; what is beyond is not. */
enum { RANKS_MAX = 1024, CHUNKS_MAX = 4096, CELLS_MAX = 1 << 18 };

struct copy {
    unsigned count; /* contributors; 0: the rank has no value of the chunk */
    bool doubled;   /* one of them is in it more than once */
};

/* Somebody's data that was added where it was already. */
struct double_count {
    struct applied at;
    unsigned who;
};

struct sets {
    unsigned ranks, chunks, words;
    /* A copy each, `words` words: bit 0 says that somebody is in it twice, bit
     * 1 + r that rank r is in it. None: the rank has no value. */
    uint64_t *now, *next;
    bool *staged;        /* `next` holds what the step under way made of it */
    struct copy *copies; /* rank * chunks + chunk */
    unsigned doubles;
    struct double_count first; /* when there are doubles */
};

/* Evaluates `count` deeds, which it sorts. Every rank begins with its own
 * contribution to every chunk if `reduces`, else who sends a chunk before he
 * got it is taken to own it. Returns false when there is no memory, or more
 * than CELLS_MAX copies. */
bool sets_evaluate(struct sets *sets, unsigned ranks, unsigned chunks,
                   bool reduces, struct applied *deeds, size_t count);
bool sets_have(const struct sets *sets, unsigned rank, unsigned chunk,
               unsigned contributor);
void sets_fini(struct sets *sets);

/* The order of the plan, for qsort: epoch, restarts first (and what is kept),
 * step; within these
 * any order that is always the same. */
int applied_compare(const void *a, const void *b);

#endif
