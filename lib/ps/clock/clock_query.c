/* SPDX-License-Identifier: MIT
 *
 * Queries about a clock: its round commits, a worker's grant, the reason of a
 * wait, its status.
 */
#include "clock_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t gw__clock_closed(const struct gw__clock *clock)
{
    return clock->closed;
}

const struct gw__round_commit *
gw__clock_round_commit(const struct gw__clock *clock, uint64_t number)
{
    if (number <= clock->pruned || number > clock->closed)
        return NULL;
    return &clock->round_commits[number % ROUND_COMMITS_KEPT];
}

static const struct worker *find_worker(const struct gw__clock *clock,
                                        struct gw__alive who)
{
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (clock->workers[i].who.node == who.node &&
            clock->workers[i].who.incarnation == who.incarnation)
            return &clock->workers[i];
    return NULL;
}

enum gw_err gw__clock_granted(const struct gw__clock *clock,
                              struct gw__alive who, uint64_t number,
                              struct gw_ps_work *work)
{
    const struct worker *worker = find_worker(clock, who);
    memset(work, 0, sizeof *work);
    if (!worker || worker->finished != number)
        return GW_EINVAL;
    if (worker->hold == HOLDS_NONE) {
        work->done = gw__clock_is_done(clock);
        work->clock = number;
        work->closed = clock->closed;
        return work->done ? GW_OK : GW_PENDING;
    }
    work->epoch = worker->work.epoch;
    work->batch = worker->work.batch;
    work->part = worker->work.part;
    work->parts = worker->work.parts;
    work->clock = number;
    work->closed = worker->closed;
    work->staleness = worker->staleness;
    return GW_OK;
}

/* ---- reasons of a wait ---- */

GW_PRINTF(4, 5)
static size_t append_text(char *out, size_t room, size_t used,
                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int wrote = vsnprintf(out + used, room - used, format, arguments);
    va_end(arguments);
    size_t after = used + (wrote > 0 ? (size_t)wrote : 0);
    return after < room ? after : room - 1;
}

static size_t name_owners(const struct gw__clock *clock, char *out, size_t room,
                          size_t used)
{
    const char *comma = "";
    for (uint32_t j = 0; j < clock->part_count; j++) {
        const struct part *part = &clock->parts[j];
        unsigned node = part->item.node;
        if (part->state != PART_FREE && part->state != PART_LEASED)
            continue;
        if (part->state == PART_FREE && clock->plan.batches)
            node = clock->workers[j % clock->worker_count].who.node;
        used =
            append_text(out, room, used, "%s worker %u (part %u%s)", comma,
                        node, j, part->state == PART_FREE ? ", not begun" : "");
        comma = ",";
    }
    return used;
}

static size_t name_slowest(const struct gw__clock *clock, char *out,
                           size_t room, size_t used)
{
    uint64_t slowest = gw__clock_slowest(clock);
    const char *comma = "";
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct worker *worker = &clock->workers[i];
        if (gw__clock_of(worker) != slowest)
            continue;
        used = append_text(out, room, used, "%s worker %u (clock %llu)", comma,
                           worker->who.node, (unsigned long long)slowest);
        comma = ",";
    }
    return used;
}

void gw__clock_describe_wait(const struct gw__clock *clock, char *out,
                             size_t room)
{
    if (!clock->started)
        append_text(out, room, 0, "%u of the first %u workers",
                    clock->plan.workers > clock->worker_count
                        ? clock->plan.workers - clock->worker_count
                        : 0,
                    clock->plan.workers);
    else if (!gw__clock_has_room(clock))
        append_text(out, room, 0, "servers to apply completed rounds");
    else if (clock->open)
        name_owners(clock, out, room,
                    append_text(out, room, 0, "batch %llu of epoch %llu:",
                                (unsigned long long)clock->next.batch,
                                (unsigned long long)clock->next.epoch));
    else
        name_slowest(clock, out, room,
                     append_text(out, room, 0, "the slowest:"));
}

bool gw__clock_knows(const struct gw__clock *clock,
                     const struct gw__alive *alive, unsigned count)
{
    if (count != clock->alive_count)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (alive[i].node != clock->alive[i].node ||
            alive[i].incarnation != clock->alive[i].incarnation)
            return false;
    return true;
}

/* ---- status ---- */

uint64_t gw__clock_items(const struct gw__clock *clock)
{
    return clock->items;
}

uint32_t gw__clock_parts_now(const struct gw__clock *clock)
{
    if (clock->part_count)
        return clock->part_count;
    if (clock->plan.batches && clock->plan.parts)
        return clock->plan.parts;
    return clock->worker_count ? clock->worker_count : 1;
}

void gw__clock_status(const struct gw__clock *clock,
                      struct gw_ps_clock_status *status)
{
    memset(status, 0, offsetof(struct gw_ps_clock_status, workers));
    status->here = true;
    status->mode = clock->mode;
    status->plan = clock->plan;
    status->epoch = clock->next.epoch;
    status->batch = clock->next.batch;
    status->closed = clock->closed;
    status->parts = gw__clock_parts_now(clock);
    status->begun = clock->part_count > 0;
    status->parts_begun = clock->parts_begun;
    status->work_items = clock->items;
    status->skipped = clock->skipped;
    status->dropped = clock->dropped;
    status->redone = clock->redone;
    status->parts_dropped = clock->parts_dropped;
    memcpy(status->staleness, clock->staleness, sizeof status->staleness);
    status->worker_count = clock->worker_count;
    for (unsigned i = 0; i < clock->worker_count; i++) {
        status->workers[i].node = clock->workers[i].who.node;
        status->workers[i].clock = gw__clock_of(&clock->workers[i]);
        status->workers[i].nans = 0;
    }
    status->done = gw__clock_is_done(clock);
    status->until = clock->until;
}
