/* SPDX-License-Identifier: MIT
 *
 * Assignment of items to workers. The items of dead workers go first, to any
 * worker. Then, by rounds, each worker gets its own parts of the open round; in
 * ssp and asp each gets the next part.
 */
#include "clock_parts.h"

#include <string.h>

uint64_t gw__clock_slowest(const struct gw__clock *clock)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (gw__clock_of(&clock->workers[i]) < least)
            least = gw__clock_of(&clock->workers[i]);
    return least == UINT64_MAX ? 0 : least;
}

static uint64_t ahead_of_slowest(const struct gw__clock *clock,
                                 const struct worker *worker)
{
    return gw__clock_of(worker) - gw__clock_slowest(clock);
}

static bool has_plan(const struct gw__clock *clock)
{
    return clock->plan.batches > 0;
}

/* Every part was assigned at least once. */
static bool has_assigned_all(const struct gw__clock *clock)
{
    return has_plan(clock) &&
           (clock->until ||
            (clock->plan.epochs && clock->next.epoch >= clock->plan.epochs));
}

bool gw__clock_is_done(const struct gw__clock *clock)
{
    if (!has_assigned_all(clock) || clock->open || clock->returned_count)
        return false;
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (clock->workers[i].hold == HOLDS_LOOSE)
            return false;
    return true;
}

bool gw__clock_has_room(const struct gw__clock *clock)
{
    unsigned spare = 2 * clock->worker_count;
    if (spare < ROUND_COMMITS_SPARE)
        spare = ROUND_COMMITS_SPARE;
    return clock->closed - clock->pruned < ROUND_COMMITS_KEPT - spare;
}

/* ---- granting ---- */

/* In bsp every pull sees all earlier rounds, independent of how many parts its
 * worker had. */
static void grant(struct gw__clock *clock, struct worker *worker,
                  enum hold hold, struct gw__place_of_work work)
{
    uint64_t ahead =
        clock->mode.kind == GW_PS_BSP ? 0 : ahead_of_slowest(clock, worker);
    worker->is_waiting = false;
    worker->hold = hold;
    worker->work = work;
    worker->closed = clock->closed;
    worker->staleness = ahead;
    clock->staleness[ahead < GW_PS_STALENESS_MAX ? ahead
                                                 : GW_PS_STALENESS_MAX]++;
}

static bool grant_returned(struct gw__clock *clock, struct worker *worker)
{
    if (clock->returned_count == 0)
        return false;
    struct gw__place_of_work work = clock->returned[0];
    clock->returned_count--;
    memmove(clock->returned, clock->returned + 1,
            clock->returned_count * sizeof *clock->returned);
    grant(clock, worker, HOLDS_LOOSE, work);
    return true;
}

static bool is_own(const struct gw__clock *clock, unsigned place, uint32_t j)
{
    const struct worker *worker = &clock->workers[place];
    const struct gw__work_item *item = &clock->parts[j].item;
    if (has_plan(clock))
        return j % clock->worker_count == place;
    return item->node == worker->who.node &&
           item->incarnation == worker->who.incarnation;
}

/* A dropped part counts as skipped at once. */
static void count_dropped(struct gw__clock *clock)
{
    clock->skipped++;
    clock->parts_dropped++;
}

/* Drops the worker's current item and its free parts of the open round. A part
 * that is done counts. */
static void drop_share(struct gw__clock *clock, unsigned place)
{
    const struct worker *worker = &clock->workers[place];
    if (worker->hold == HOLDS_LOOSE)
        count_dropped(clock);
    for (uint32_t j = 0; clock->open && j < clock->part_count; j++) {
        struct part *part = &clock->parts[j];
        bool held = part->state == PART_LEASED && worker->hold == HOLDS_PART &&
                    worker->work.part == j;
        if (!held && !(part->state == PART_FREE && is_own(clock, place, j)))
            continue;
        part->state = PART_DROPPED;
        count_dropped(clock);
    }
}

/* The item is free for another worker. */
static void free_work_item(struct gw__clock *clock, const struct worker *worker)
{
    if (worker->hold == HOLDS_LOOSE)
        clock->returned[clock->returned_count++] = worker->work;
    else if (worker->hold == HOLDS_PART)
        clock->parts[worker->work.part].state = PART_FREE;
    clock->redone += worker->hold == HOLDS_LOOSE || worker->hold == HOLDS_PART;
}

/* Without a plan each part belongs to one worker, and no other can do it. */
static void forget_parts(struct gw__clock *clock, unsigned place)
{
    for (uint32_t j = 0; clock->open && j < clock->part_count; j++)
        if (clock->parts[j].state <= PART_LEASED && is_own(clock, place, j))
            clock->parts[j].state = PART_GONE;
}

void gw__clock_return(struct gw__clock *clock, unsigned place)
{
    struct worker *worker = &clock->workers[place];
    if (!has_plan(clock))
        forget_parts(clock, place);
    else if (!clock->mode.drop)
        free_work_item(clock, worker);
    else
        drop_share(clock, place);
    worker->hold = HOLDS_NONE;
}

/* ---- batches ---- */

static void begin_batch(struct gw__clock *clock)
{
    if (clock->part_count && has_plan(clock))
        return;
    bool fixed = has_plan(clock) && clock->plan.parts;
    clock->part_count = fixed ? clock->plan.parts : clock->worker_count;
    clock->next.parts = clock->part_count;
    if (has_plan(clock))
        clock->parts_begun += clock->part_count;
}

static void end_epoch(struct gw__clock *clock)
{
    const struct gw_ps_plan *plan = &clock->plan;
    clock->next.batch = 0;
    clock->next.epoch++;
    clock->until = plan->has_until && clock->epoch.weight > 0 &&
                   clock->epoch.sum / clock->epoch.weight < plan->until;
    clock->epoch = (struct reported){0};
}

void gw__clock_next_batch(struct gw__clock *clock)
{
    clock->open = false;
    clock->part_count = 0;
    clock->next.part = 0;
    clock->next.batch++;
    if (clock->plan.batches && clock->next.batch == clock->plan.batches)
        end_epoch(clock);
}

/* ---- by rounds ---- */

/* A round may begin in the middle of a batch after a change of mode. It then
 * has the remaining parts. */
static void open_round(struct gw__clock *clock)
{
    begin_batch(clock);
    clock->open = true;
    for (uint32_t j = 0; j < clock->part_count; j++) {
        clock->parts[j] = (struct part){
            .state = j < clock->next.part ? PART_GONE : PART_FREE};
        if (!has_plan(clock))
            clock->parts[j].item = gw__work_item_of(&clock->workers[j]);
    }
    clock->next.part = 0;
}

static bool grant_part(struct gw__clock *clock, unsigned place)
{
    struct worker *worker = &clock->workers[place];
    for (uint32_t j = 0; j < clock->part_count; j++) {
        struct part *part = &clock->parts[j];
        if (part->state != PART_FREE || !is_own(clock, place, j))
            continue;
        struct gw__place_of_work work = clock->next;
        work.part = j;
        part->state = PART_LEASED;
        part->item = gw__work_item_of(worker);
        grant(clock, worker, HOLDS_PART, work);
        return true;
    }
    return false;
}

/* ---- one by one ---- */

static bool grant_next(struct gw__clock *clock, struct worker *worker)
{
    if (!has_plan(clock)) {
        struct gw__place_of_work work = {.batch = worker->finished};
        grant(clock, worker, HOLDS_LOOSE, work);
        return true;
    }
    if (has_assigned_all(clock))
        return false;
    begin_batch(clock);
    grant(clock, worker, HOLDS_LOOSE, clock->next);
    if (++clock->next.part == clock->part_count)
        gw__clock_next_batch(clock);
    return true;
}

/* ---- assignment ---- */

/* Always true for the slowest worker. */
static bool keeps_bound(const struct gw__clock *clock,
                        const struct worker *worker)
{
    return clock->mode.kind != GW_PS_SSP ||
           ahead_of_slowest(clock, worker) <= clock->mode.bound;
}

static bool may_start(struct gw__clock *clock)
{
    if (!clock->started && clock->worker_count >= clock->plan.workers &&
        clock->worker_count > 0)
        clock->started = true;
    return clock->started && clock->worker_count > 0;
}

bool gw__clock_assign(struct gw__clock *clock)
{
    bool assigned = false;
    if (!may_start(clock) || !gw__clock_has_room(clock))
        return false;
    if (gw__clock_by_rounds(clock) && !clock->open && !has_assigned_all(clock))
        open_round(clock);
    for (unsigned i = 0; i < clock->worker_count; i++) {
        struct worker *worker = &clock->workers[i];
        if (!worker->is_waiting || !keeps_bound(clock, worker))
            continue;
        bool got = grant_returned(clock, worker);
        if (!got && gw__clock_by_rounds(clock))
            got = clock->open && grant_part(clock, i);
        else if (!got)
            got = grant_next(clock, worker);
        assigned = assigned || got;
    }
    return assigned;
}
