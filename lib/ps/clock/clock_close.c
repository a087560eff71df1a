/* SPDX-License-Identifier: MIT
 *
 * Round commits are made in this file only.
 */
#include "clock_parts.h"

#include <assert.h>

/* The ring always has room: grants and markers stop long before it is full.
 * Without them, at most one item per worker and one per part can close. */
static struct gw__round_commit *begin_commit(struct gw__clock *clock)
{
    assert(clock->closed - clock->pruned < ROUND_COMMITS_KEPT);
    uint64_t number = ++clock->closed;
    struct gw__round_commit *commit =
        &clock->round_commits[number % ROUND_COMMITS_KEPT];
    commit->number = number;
    commit->mark = 0;
    commit->scale = 1;
    commit->apply = commit->drop = 0;
    return commit;
}

void gw__clock_mark(struct gw__clock *clock, uint64_t mark)
{
    begin_commit(clock)->mark = mark;
}

static void add_reported(struct gw__clock *clock, struct reported reported)
{
    clock->epoch.sum += reported.sum;
    clock->epoch.weight += reported.weight;
}

static void close_one(struct gw__clock *clock, struct gw__work_item item,
                      struct reported reported)
{
    add_reported(clock, reported);
    struct gw__round_commit *commit = begin_commit(clock);
    commit->apply = 1;
    commit->items[0] = item;
    clock->items++;
}

static void drop_one(struct gw__clock *clock, struct gw__work_item item)
{
    struct gw__round_commit *commit = begin_commit(clock);
    commit->drop = 1;
    commit->items[0] = item;
}

void gw__clock_drop(struct gw__clock *clock, const struct worker *worker)
{
    if (worker->hold != HOLDS_NONE)
        drop_one(clock, gw__work_item_of(worker));
}

void gw__clock_finish(struct gw__clock *clock, struct worker *worker,
                      struct reported reported)
{
    struct gw__work_item item = gw__work_item_of(worker);
    switch ((enum hold)worker->hold) {
    case HOLDS_PART:
        clock->parts[worker->work.part].state = PART_DONE;
        clock->parts[worker->work.part].reported = reported;
        break;
    case HOLDS_LOOSE:
        close_one(clock, item, reported);
        break;
    case HOLDS_LATE:
        drop_one(clock, item);
        clock->dropped++;
        break;
    case HOLDS_NONE:
        break;
    }
    worker->hold = HOLDS_NONE;
    worker->finished++;
}

/* ---- rounds ---- */

static unsigned count_parts(const struct gw__clock *clock,
                            enum part_state state)
{
    unsigned found = 0;
    for (uint32_t j = 0; j < clock->part_count; j++)
        found += clock->parts[j].state == state;
    return found;
}

/* kofn also closes with fewer than K parts if no more can come. */
static bool is_complete(const struct gw__clock *clock)
{
    unsigned done = count_parts(clock, PART_DONE);
    unsigned open =
        count_parts(clock, PART_FREE) + count_parts(clock, PART_LEASED);
    if (clock->mode.kind == GW_PS_KOFN && done >= clock->mode.bound)
        return true;
    return open == 0;
}

/* Workers that still compute for the closed round are late. */
static void make_late(struct gw__clock *clock)
{
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (clock->workers[i].hold == HOLDS_PART)
            clock->workers[i].hold = HOLDS_LATE;
}

static bool had_part(const struct gw__clock *clock, const struct worker *worker)
{
    for (uint32_t j = 0; j < clock->part_count; j++)
        if (clock->parts[j].item.node == worker->who.node &&
            clock->parts[j].item.incarnation == worker->who.incarnation)
            return true;
    return worker->hold != HOLDS_NONE;
}

/* Before a round closes: workers without a part must not count as slow. */
static void raise_idle(struct gw__clock *clock)
{
    uint64_t slowest = UINT64_MAX;
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (had_part(clock, &clock->workers[i]) &&
            gw__clock_of(&clock->workers[i]) < slowest)
            slowest = gw__clock_of(&clock->workers[i]);
    for (unsigned i = 0; i < clock->worker_count && slowest < UINT64_MAX; i++)
        if (!had_part(clock, &clock->workers[i]))
            gw__clock_raise(&clock->workers[i], slowest);
}

bool gw__clock_close_round(struct gw__clock *clock)
{
    if (!clock->open || !is_complete(clock))
        return false;
    unsigned done = count_parts(clock, PART_DONE);
    if (done) {
        struct gw__round_commit *commit = begin_commit(clock);
        unsigned parts = clock->part_count - count_parts(clock, PART_GONE);
        commit->scale = (float)parts / (float)done;
        for (uint32_t j = 0; j < clock->part_count; j++) {
            const struct part *part = &clock->parts[j];
            if (part->state != PART_DONE)
                continue;
            commit->items[commit->apply++] = part->item;
            add_reported(clock, part->reported);
        }
        clock->items += done;
    }
    clock->skipped +=
        count_parts(clock, PART_FREE) + count_parts(clock, PART_LEASED);
    raise_idle(clock);
    make_late(clock);
    gw__clock_next_batch(clock);
    return true;
}

/* A round without progress is withdrawn; its parts are assigned later. This
 * bounds the number of returned items, since those are assigned first. */
void gw__clock_break_round(struct gw__clock *clock)
{
    if (!clock->open)
        return;
    if (count_parts(clock, PART_DONE) + count_parts(clock, PART_LEASED) +
            count_parts(clock, PART_DROPPED) ==
        0) {
        clock->next.part = count_parts(clock, PART_GONE);
        clock->open = false;
        return;
    }
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (clock->workers[i].hold == HOLDS_PART)
            clock->workers[i].hold = HOLDS_LOOSE;
    for (uint32_t j = 0; j < clock->part_count; j++) {
        struct part *part = &clock->parts[j];
        struct gw__place_of_work work = clock->next;
        work.part = j;
        if (part->state == PART_DONE)
            close_one(clock, part->item, part->reported);
        else if (part->state == PART_FREE && clock->plan.batches)
            clock->returned[clock->returned_count++] = work;
    }
    gw__clock_next_batch(clock);
}
