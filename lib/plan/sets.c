/* SPDX-License-Identifier: MIT
 *
 * Contributor sets as bits, with one step staged; see sets.h.
 */
#include "sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double BYTES_MAX = 1 << 30;

/* The number of members of a full set of this plan: all ranks, or the one
 * owner. */
static unsigned count_members(const struct gw_plan *plan)
{
    bool grows = gw_collective_reduces(plan->collective) ||
                 plan->collective == GW_BARRIER;
    return grows ? plan->ranks : 1;
}

unsigned gw__sets_self(const struct gw_plan *plan, unsigned rank)
{
    return count_members(plan) == plan->ranks ? rank : 0;
}

static unsigned words_of(unsigned members)
{
    return (members + 63) / 64;
}

static double bytes_of(unsigned members, size_t rows)
{
    return (double)rows * (2 * 8 * words_of(members) + 5);
}

double gw__sets_bytes(const struct gw_plan *plan, size_t rows)
{
    return bytes_of(count_members(plan), rows);
}

/* A bound of the nodes in the sets of an explicit start: whole words. */
static unsigned start_members(const struct gw__start *start,
                              const struct gw_plan *plan)
{
    struct gw_nodes all = start->full;
    size_t cells = (size_t)plan->ranks * plan->chunks;
    for (size_t i = 0; i < cells; i++)
        all = gw__nodes_or(all, start->sets[i]);
    unsigned words = GW__NODE_WORDS;
    while (words > 1 && all.words[words - 1] == 0)
        words--;
    return 64 * words;
}

enum gw_err gw__sets_init(struct gw__sets *sets, const struct gw_plan *plan,
                          const struct gw__start *start, uint32_t rows,
                          struct gw_error *why)
{
    unsigned members = start ? start_members(start, plan) : count_members(plan);
    size_t words = words_of(members);
    if (bytes_of(members, rows) > BYTES_MAX)
        return gw_fail(why, GW_ENOMEM,
                       "contributor sets of %u ranks with %u scratch",
                       plan->ranks, plan->scratch);
    *sets = (struct gw__sets){
        .members = members,
        .words = (unsigned)words,
        .start = start,
        .now = calloc(rows, words * sizeof *sets->now),
        .next = calloc(rows, words * sizeof *sets->next),
        .staged = calloc(rows, sizeof *sets->staged),
        .staged_rows = calloc(rows, sizeof *sets->staged_rows),
    };
    if (sets->now && sets->next && sets->staged && sets->staged_rows)
        return GW_OK;
    gw__sets_fini(sets);
    return gw_fail(why, GW_ENOMEM, "contributor sets of %u ranks", plan->ranks);
}

void gw__sets_fini(struct gw__sets *sets)
{
    free(sets->now);
    free(sets->next);
    free(sets->staged);
    free(sets->staged_rows);
    *sets = (struct gw__sets){0};
}

static uint64_t *set_row(const struct gw__sets *sets, uint64_t *of,
                         uint32_t row)
{
    return of + (size_t)row * sets->words;
}

void gw__sets_begin(struct gw__sets *sets, const struct gw_plan *plan,
                    uint32_t row, uint32_t place, unsigned chunk)
{
    uint64_t *set = set_row(sets, sets->now, row);
    unsigned rank = place / (plan->scratch + 1);
    memset(set, 0, sets->words * sizeof *set);
    if (place % (plan->scratch + 1) != 0)
        return; /* scratch is empty */
    if (sets->start) {
        const struct gw_nodes *from =
            &sets->start->sets[(size_t)rank * plan->chunks + chunk];
        memcpy(set, from->words, sets->words * sizeof *set);
        return;
    }
    unsigned self = gw__sets_self(plan, rank);
    if (gw_plan_holds(plan, rank, chunk))
        set[self / 64] |= (uint64_t)1 << self % 64;
}

/* The row's staged value. It starts as a copy of the current value; a
 * replacement clears it. */
static uint64_t *stage(struct gw__sets *sets, uint32_t row,
                       enum gw_action action)
{
    uint64_t *staged = set_row(sets, sets->next, row);
    if (!sets->staged[row]) {
        sets->staged[row] = true;
        sets->staged_rows[sets->staged_count++] = row;
        memcpy(staged, set_row(sets, sets->now, row),
               sets->words * sizeof *staged);
    }
    if (action == GW_REPLACE)
        memset(staged, 0, sets->words * sizeof *staged);
    return staged;
}

bool gw__sets_write(struct gw__sets *sets, uint32_t dst, uint32_t src,
                    enum gw_action action)
{
    const uint64_t *from = set_row(sets, sets->now, src);
    uint64_t *into = stage(sets, dst, action);
    uint64_t shared = 0;
    for (unsigned w = 0; w < sets->words; w++) {
        shared |= into[w] & from[w];
        into[w] |= from[w];
    }
    return action != GW_ADD || !shared;
}

void gw__sets_commit(struct gw__sets *sets)
{
    for (uint32_t i = 0; i < sets->staged_count; i++) {
        uint32_t row = sets->staged_rows[i];
        memcpy(set_row(sets, sets->now, row), set_row(sets, sets->next, row),
               sets->words * sizeof *sets->now);
        sets->staged[row] = false;
    }
    sets->staged_count = 0;
}

const uint64_t *gw__sets_before(const struct gw__sets *sets, uint32_t row)
{
    return set_row(sets, sets->now, row);
}

const uint64_t *gw__sets_value(const struct gw__sets *sets, uint32_t row)
{
    return set_row(sets, sets->staged[row] ? sets->next : sets->now, row);
}

unsigned gw__sets_count(const struct gw__sets *sets, const uint64_t *set)
{
    unsigned count = 0;
    for (unsigned w = 0; w < sets->words; w++)
        count += (unsigned)__builtin_popcountll(set[w]);
    return count;
}

bool gw__sets_has(const uint64_t *set, unsigned member)
{
    return set[member / 64] >> member % 64 & 1;
}

/* The number of members of the set required of `rank`: the first of all, unless
 * the plan itself names them. */
static unsigned wanted_of(const struct gw__sets *sets,
                          const struct gw_plan *plan, unsigned rank)
{
    if (plan->collective == GW_SCAN)
        return rank + 1;
    return plan->collective == GW_EXSCAN ? rank : sets->members;
}

static bool is_wanted(const struct gw__sets *sets, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, unsigned member)
{
    if (plan->collective == GW_CUSTOM)
        return gw_plan_holds(plan, member, chunk);
    return sets->start ? gw__nodes_has(&sets->start->full, member)
                       : member < wanted_of(sets, plan, rank);
}

/* Exactly the members that are wanted, and at least one. */
static bool is_exact(const struct gw__sets *sets, const struct gw_plan *plan,
                     unsigned chunk, const uint64_t *set)
{
    for (unsigned m = 0; m < sets->members; m++)
        if (gw__sets_has(set, m) != gw_plan_holds(plan, m, chunk))
            return false;
    return gw__sets_count(sets, set) > 0;
}

bool gw__sets_is_full(const struct gw__sets *sets, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, const uint64_t *set)
{
    if (sets->start)
        return memcmp(set, sets->start->full.words,
                      sets->words * sizeof *set) == 0;
    if (plan->collective == GW_CUSTOM)
        return is_exact(sets, plan, chunk, set);
    unsigned wanted = wanted_of(sets, plan, rank);
    if (gw__sets_count(sets, set) != wanted)
        return false;
    for (unsigned m = 0; wanted < sets->members && m < wanted; m++)
        if (!gw__sets_has(set, m))
            return false;
    return true;
}

void gw__sets_lacking(const struct gw__sets *sets, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, const uint64_t *set,
                      uint64_t *out)
{
    memset(out, 0, sets->words * sizeof *out);
    for (unsigned m = 0; m < sets->members; m++)
        if (is_wanted(sets, plan, rank, chunk, m) && !gw__sets_has(set, m))
            out[m / 64] |= (uint64_t)1 << m % 64;
}

void gw__sets_excess(const struct gw__sets *sets, const struct gw_plan *plan,
                     unsigned rank, unsigned chunk, const uint64_t *set,
                     uint64_t *out)
{
    memset(out, 0, sets->words * sizeof *out);
    for (unsigned m = 0; m < sets->members; m++)
        if (!is_wanted(sets, plan, rank, chunk, m) && gw__sets_has(set, m))
            out[m / 64] |= (uint64_t)1 << m % 64;
}

void gw__sets_text(const struct gw__sets *sets, const uint64_t *set, char *out,
                   size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (unsigned first = 0; first < sets->members; first++) {
        if (!gw__sets_has(set, first))
            continue;
        unsigned last = first;
        while (last + 1 < sets->members && gw__sets_has(set, last + 1))
            last++;
        char run[32];
        int length = first == last ? snprintf(run, sizeof run, "%s%u",
                                              used ? "," : "", first)
                                   : snprintf(run, sizeof run, "%s%u-%u",
                                              used ? "," : "", first, last);
        bool fits = used + (size_t)length + sizeof ",..." <= size;
        snprintf(out + used, size - used, "%s", fits ? run : ",...");
        if (!fits)
            return;
        used += (size_t)length;
        first = last;
    }
}
