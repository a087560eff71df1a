/* SPDX-License-Identifier: MIT
 *
 * The clock's complete state as bytes, field by field, for copies to learners
 * and for snapshots. Loaded bytes are checked as far as the clock relies on
 * them.
 */
#include "clock_parts.h"

#include <string.h>

static void put_work(struct gw__writer *w, const struct gw__place_of_work *work)
{
    gw__put_u64(w, work->epoch);
    gw__put_u64(w, work->batch);
    gw__put_u32(w, work->part);
    gw__put_u32(w, work->parts);
}

static struct gw__place_of_work get_work(struct gw__reader *r)
{
    struct gw__place_of_work work = {.epoch = gw__get_u64(r)};
    work.batch = gw__get_u64(r);
    work.part = gw__get_u32(r);
    work.parts = gw__get_u32(r);
    return work;
}

static void put_work_item(struct gw__writer *w, struct gw__work_item item)
{
    gw__put_node(w, item.node);
    gw__put_u64(w, item.incarnation);
    gw__put_u64(w, item.clock);
}

static struct gw__work_item get_work_item(struct gw__reader *r)
{
    struct gw__work_item item = {.node = gw__get_node(r)};
    item.incarnation = gw__get_u64(r);
    item.clock = gw__get_u64(r);
    return item;
}

static void put_reported(struct gw__writer *w, struct reported reported)
{
    gw__put_f64(w, reported.sum);
    gw__put_f64(w, reported.weight);
}

static struct reported get_reported(struct gw__reader *r)
{
    double sum = gw__get_f64(r);
    return (struct reported){sum, gw__get_f64(r)};
}

/* ---- saving ---- */

static void put_workers(struct gw__writer *w, const struct gw__clock *clock)
{
    gw__put_u16(w, clock->worker_count);
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct worker *worker = &clock->workers[i];
        gw__put_node(w, worker->who.node);
        gw__put_u64(w, worker->who.incarnation);
        gw__put_u64(w, worker->base);
        gw__put_u64(w, worker->finished);
        gw__put_u8(w, worker->is_waiting);
        gw__put_u8(w, worker->hold);
        put_work(w, &worker->work);
        gw__put_u64(w, worker->closed);
        gw__put_u64(w, worker->staleness);
    }
    gw__put_u16(w, clock->alive_count);
    for (unsigned i = 0; i < clock->alive_count; i++) {
        gw__put_node(w, clock->alive[i].node);
        gw__put_u64(w, clock->alive[i].incarnation);
    }
}

static void put_assignments(struct gw__writer *w, const struct gw__clock *clock)
{
    put_work(w, &clock->next);
    gw__put_u8(w, clock->open);
    gw__put_u16(w, clock->part_count);
    for (uint32_t j = 0; j < clock->part_count; j++) {
        gw__put_u8(w, clock->parts[j].state);
        put_work_item(w, clock->parts[j].item);
        put_reported(w, clock->parts[j].reported);
    }
    gw__put_u16(w, clock->returned_count);
    for (unsigned i = 0; i < clock->returned_count; i++)
        put_work(w, &clock->returned[i]);
}

static void put_barriers(struct gw__writer *w, const struct gw__clock *clock)
{
    gw__put_u32(w, clock->barrier_next);
    for (unsigned i = 0; i < BARRIERS_KEPT; i++) {
        gw__put_u64(w, clock->barriers[i].number);
        gw__put_nodes(w, &clock->barriers[i].nodes);
        gw__put_u8(w, clock->barriers[i].used);
        gw__put_u8(w, clock->barriers[i].open);
    }
}

size_t gw__clock_save(const struct gw__clock *clock, void *out, size_t room)
{
    struct gw__writer w = gw__writer_on(out, room);
    gw__put_mode(&w, &clock->mode);
    gw__put_u8(&w, clock->planned);
    gw__put_u8(&w, clock->started);
    gw__put_plan(&w, &clock->plan);
    put_workers(&w, clock);
    put_assignments(&w, clock);
    put_barriers(&w, clock);
    put_reported(&w, clock->epoch);
    gw__put_u8(&w, clock->until);
    gw__put_u64(&w, clock->parts_begun);
    gw__put_u64(&w, clock->items);
    gw__put_u64(&w, clock->skipped);
    gw__put_u64(&w, clock->dropped);
    gw__put_u64(&w, clock->redone);
    gw__put_u64(&w, clock->parts_dropped);
    for (unsigned i = 0; i <= GW_PS_STALENESS_MAX; i++)
        gw__put_u64(&w, clock->staleness[i]);
    gw__put_u64(&w, clock->pruned);
    gw__put_u64(&w, clock->closed);
    for (uint64_t n = clock->pruned + 1; n <= clock->closed; n++)
        gw__put_round_commit(&w, &clock->round_commits[n % ROUND_COMMITS_KEPT]);
    return w.used;
}

/* ---- loading ---- */

static void get_workers(struct gw__reader *r, struct gw__clock *clock)
{
    clock->worker_count = gw__get_u16_below(r, GW_PS_NODES + 1);
    for (unsigned i = 0; i < clock->worker_count; i++) {
        struct worker *worker = &clock->workers[i];
        worker->who.node = gw__get_node(r);
        worker->who.incarnation = gw__get_u64(r);
        worker->base = gw__get_u64(r);
        worker->finished = gw__get_u64(r);
        worker->is_waiting = gw__get_bool(r);
        worker->hold = gw__get_u8_below(r, HOLDS_LATE + 1);
        worker->work = get_work(r);
        worker->closed = gw__get_u64(r);
        worker->staleness = gw__get_u64(r);
        gw__reader_demand(r, worker->work.part < GW_PS_NODES);
        gw__reader_demand(r, i == 0 || worker[-1].who.node <= worker->who.node);
    }
    clock->alive_count = gw__get_u16_below(r, GW_PS_NODES + 1);
    for (unsigned i = 0; i < clock->alive_count; i++) {
        clock->alive[i].node = gw__get_node(r);
        clock->alive[i].incarnation = gw__get_u64(r);
    }
}

static void get_assignments(struct gw__reader *r, struct gw__clock *clock)
{
    clock->next = get_work(r);
    clock->open = gw__get_bool(r);
    clock->part_count = gw__get_u16_below(r, GW_PS_NODES + 1);
    for (uint32_t j = 0; j < clock->part_count; j++) {
        clock->parts[j].state = gw__get_u8_below(r, PART_DROPPED + 1);
        clock->parts[j].item = get_work_item(r);
        clock->parts[j].reported = get_reported(r);
    }
    clock->returned_count = gw__get_u16_below(r, RETURNED_MAX + 1);
    for (unsigned i = 0; i < clock->returned_count; i++)
        clock->returned[i] = get_work(r);
}

static void get_barriers(struct gw__reader *r, struct gw__clock *clock)
{
    clock->barrier_next = gw__get_u32(r);
    for (unsigned i = 0; i < BARRIERS_KEPT; i++) {
        clock->barriers[i].number = gw__get_u64(r);
        clock->barriers[i].nodes = gw__get_nodes(r);
        clock->barriers[i].used = gw__get_bool(r);
        clock->barriers[i].open = gw__get_bool(r);
    }
}

static void get_round_commits(struct gw__reader *r, struct gw__clock *clock)
{
    clock->pruned = gw__get_u64(r);
    clock->closed = gw__get_u64(r);
    gw__reader_demand(r,
                      clock->closed >= clock->pruned &&
                          clock->closed - clock->pruned <= ROUND_COMMITS_KEPT);
    for (uint64_t n = clock->pruned + 1; !r->bad && n <= clock->closed; n++) {
        struct gw__round_commit *commit =
            &clock->round_commits[n % ROUND_COMMITS_KEPT];
        gw__get_round_commit(r, commit);
        gw__reader_demand(r, commit->number == n);
    }
}

/* All workers of the saved state have ended, so their items are free. Parts
 * done in the open round are in no table and must be done again. */
static void freshen(struct gw__clock *clock)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct worker *worker = &clock->workers[i];
        if (worker->hold == HOLDS_LOOSE && clock->plan.batches &&
            clock->returned_count < RETURNED_MAX)
            clock->returned[clock->returned_count++] = worker->work;
    }
    for (uint32_t j = 0; j < clock->part_count; j++)
        if (clock->parts[j].state < PART_GONE)
            clock->parts[j] = (struct part){.state = PART_FREE};
    if (!clock->plan.batches)
        clock->open = false, clock->part_count = 0;
    clock->worker_count = clock->alive_count = 0;
    clock->started = false;
    memset(clock->barriers, 0, sizeof clock->barriers);
}

enum gw_err gw__clock_load(struct gw__clock *clock, const void *data,
                           size_t bytes, bool fresh, struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    gw__clock_clear(clock);
    gw__get_mode(&r, &clock->mode);
    clock->planned = gw__get_bool(&r);
    clock->started = gw__get_bool(&r);
    gw__get_plan(&r, &clock->plan);
    gw__reader_demand(&r, clock->plan.parts <= GW_PS_NODES);
    get_workers(&r, clock);
    get_assignments(&r, clock);
    get_barriers(&r, clock);
    clock->epoch = get_reported(&r);
    clock->until = gw__get_bool(&r);
    clock->parts_begun = gw__get_u64(&r);
    clock->items = gw__get_u64(&r);
    clock->skipped = gw__get_u64(&r);
    clock->dropped = gw__get_u64(&r);
    clock->redone = gw__get_u64(&r);
    clock->parts_dropped = gw__get_u64(&r);
    for (unsigned i = 0; i <= GW_PS_STALENESS_MAX; i++)
        clock->staleness[i] = gw__get_u64(&r);
    get_round_commits(&r, clock);
    if (!gw__reader_done(&r)) {
        gw__clock_clear(clock);
        return gw_fail(why, GW_EDATA, "malformed clock of %zu bytes", bytes);
    }
    if (fresh)
        freshen(clock);
    return GW_OK;
}
