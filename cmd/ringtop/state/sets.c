/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contributor sets as bits (sets.h). They are evaluated step by step: the
 * writes of a step are staged in `next`, so that its transfers read `now`, the
 * values before it. Then they are committed.
 */
#include "sets.h"

#include <stdlib.h>
#include <string.h>

static int order(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* A restart or a kept copy, which precede the first step of an epoch. */
static bool moves_nothing(const struct applied *action)
{
    return action->action >= ACTION_RESTART;
}

int applied_compare(const void *a, const void *b)
{
    const struct applied *x = a, *y = b;
    int by = order(x->epoch, y->epoch);
    by = by ? by : moves_nothing(y) - moves_nothing(x);
    by = by ? by : order(x->step, y->step);
    by = by ? by : order(x->dst, y->dst);
    by = by ? by : order(x->chunk, y->chunk);
    by = by ? by : order(x->src, y->src);
    by = by ? by : order(x->src_scratch, y->src_scratch);
    by = by ? by : order(x->dst_scratch, y->dst_scratch);
    return by ? by : order(x->action, y->action);
}

static size_t copy_of(const struct sets *s, unsigned rank, unsigned chunk)
{
    return (size_t)rank * s->chunks + chunk;
}

/* In scratch; the buffers come first. */
static size_t scratch_of(const struct sets *s, unsigned rank, unsigned scratch,
                         unsigned chunk)
{
    return copy_of(s, scratch * s->ranks + rank, chunk);
}

static size_t source_of(const struct sets *s, const struct applied *action)
{
    return scratch_of(s, action->src, action->src_scratch, action->chunk);
}

static size_t target_of(const struct sets *s, const struct applied *action)
{
    return scratch_of(s, action->dst, action->dst_scratch, action->chunk);
}

static uint64_t *bits_of(const struct sets *s, uint64_t *of, size_t copy)
{
    return of + copy * s->words;
}

void sets_fini(struct sets *s)
{
    free(s->now);
    free(s->next);
    free(s->staged);
    free(s->copies);
    memset(s, 0, sizeof *s);
}

static bool allocate_sets(struct sets *s, unsigned ranks, unsigned chunks,
                          unsigned rows)
{
    size_t copies = (size_t)ranks * chunks * rows;
    s->doubles = 0;
    if (copies > CELLS_MAX)
        return false;
    if (s->now && s->ranks == ranks && s->chunks == chunks && s->rows == rows)
        return true;
    sets_fini(s);
    s->ranks = ranks;
    s->chunks = chunks;
    s->rows = rows;
    s->words = (1 + ranks + 63) / 64;
    s->now = calloc(copies + 1, s->words * sizeof *s->now);
    s->next = calloc(copies + 1, s->words * sizeof *s->next);
    s->staged = calloc(copies + 1, sizeof *s->staged);
    s->copies = calloc(copies + 1, sizeof *s->copies);
    if (s->now && s->next && s->staged && s->copies)
        return true;
    sets_fini(s);
    return false;
}

static void clear(struct sets *s, uint64_t *bits)
{
    memset(bits, 0, s->words * sizeof *bits);
}

static void own(struct sets *s, uint64_t *bits, unsigned rank)
{
    clear(s, bits);
    bits[(1 + rank) / 64] |= (uint64_t)1 << (1 + rank) % 64;
}

static bool empty(const struct sets *s, const uint64_t *bits)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < s->words; w++)
        any |= bits[w];
    return any == 0;
}

static void begin_sets(struct sets *s, bool reduces)
{
    for (unsigned row = 0; row < s->ranks * s->rows; row++)
        for (unsigned chunk = 0; chunk < s->chunks; chunk++) {
            uint64_t *bits = bits_of(s, s->now, copy_of(s, row, chunk));
            clear(s, bits);
            if (reduces && row < s->ranks)
                own(s, bits, row);
        }
}

/* The lowest bit that both have, except the mark of a double; 0: none. */
static unsigned shared_bit(const struct sets *s, const uint64_t *a,
                           const uint64_t *b)
{
    for (unsigned w = 0; w < s->words; w++) {
        uint64_t shared = a[w] & b[w] & (w ? UINT64_MAX : UINT64_MAX - 1);
        if (shared)
            return w * 64 + (unsigned)__builtin_ctzll(shared);
    }
    return 0;
}

/* The copy's staged bits; the first write of a step brings them in. */
static uint64_t *stage(struct sets *s, size_t copy)
{
    uint64_t *bits = bits_of(s, s->next, copy);
    if (!s->staged[copy])
        memcpy(bits, bits_of(s, s->now, copy), s->words * sizeof *bits);
    s->staged[copy] = true;
    return bits;
}

static void record_double(struct sets *s, const struct applied *action,
                          uint64_t *into, unsigned shared)
{
    into[0] |= 1;
    if (s->doubles++ == 0)
        s->first = (struct double_count){.at = *action, .who = shared - 1};
}

static void make_set(struct sets *s, const struct applied *action)
{
    if (action->action == ACTION_KEEP)
        return;
    uint64_t *into = stage(s, target_of(s, action));
    uint64_t *from = bits_of(s, s->now, source_of(s, action));
    if (action->action == ACTION_RESTART) {
        own(s, into, action->dst);
        return;
    }
    if (empty(s, from) && action->src_scratch == 0)
        own(s, from, action->src); /* scratch: its write was not seen */
    if (action->action == ACTION_REPLACE)
        clear(s, into);
    unsigned shared =
        action->action == ACTION_ADD ? shared_bit(s, into, from) : 0;
    for (unsigned w = 0; w < s->words; w++)
        into[w] |= from[w];
    if (shared)
        record_double(s, action, into, shared);
}

static void commit(struct sets *s, const struct applied *actions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t copy = target_of(s, &actions[i]);
        if (actions[i].action == ACTION_KEEP)
            continue;
        if (s->staged[copy])
            memcpy(bits_of(s, s->now, copy), bits_of(s, s->next, copy),
                   s->words * sizeof *s->now);
        s->staged[copy] = false;
    }
}

static bool same_step(const struct applied *a, const struct applied *b)
{
    return a->epoch == b->epoch && a->step == b->step &&
           moves_nothing(a) == moves_nothing(b);
}

static void count_all(struct sets *s)
{
    size_t copies = (size_t)s->ranks * s->chunks;
    for (size_t copy = 0; copy < copies; copy++) {
        const uint64_t *bits = bits_of(s, s->now, copy);
        unsigned count = 0;
        for (unsigned w = 0; w < s->words; w++)
            count += (unsigned)__builtin_popcountll(bits[w]);
        bool doubled = bits[0] & 1;
        s->copies[copy] =
            (struct copy){.count = count - doubled, .doubled = doubled};
    }
}

static unsigned rows_of(const struct applied *actions, size_t count)
{
    unsigned last = 0;
    for (size_t i = 0; i < count; i++) {
        last = actions[i].src_scratch > last ? actions[i].src_scratch : last;
        last = actions[i].dst_scratch > last ? actions[i].dst_scratch : last;
    }
    return last + 1;
}

bool sets_evaluate(struct sets *s, unsigned ranks, unsigned chunks,
                   bool reduces, struct applied *actions, size_t count)
{
    if (!allocate_sets(s, ranks, chunks, rows_of(actions, count)))
        return false;
    begin_sets(s, reduces);
    if (count > 0)
        qsort(actions, count, sizeof *actions, applied_compare);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count; end++) {
            if (!same_step(&actions[first], &actions[end]))
                break;
            make_set(s, &actions[end]);
        }
        commit(s, actions + first, end - first);
    }
    count_all(s);
    return true;
}

bool sets_have(const struct sets *s, unsigned rank, unsigned chunk,
               unsigned contributor)
{
    const uint64_t *bits = s->now + copy_of(s, rank, chunk) * s->words;
    return bits[(1 + contributor) / 64] >> (1 + contributor) % 64 & 1;
}
