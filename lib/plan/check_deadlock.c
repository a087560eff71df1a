/* SPDX-License-Identifier: MIT
 *
 * Checks whether a run of the plan can deadlock, by playing the game of waits
 * under the executor's rules. A link is a queue of slices with a fixed
 * capacity; its transfers are in plan order.
 *
 *   push   The sender pushes slice k of a transfer when the link's earlier
 *          slices are pushed, the link has room, and slice k of the version
 *          that it reads has been applied.
 *   apply  The receiver applies slice k of a version when that slice is at the
 *          head of the link of every transfer that helps to write it, slice k
 *          of the version before has been applied, and all readers of the
 *          version before have pushed slice k. Applying takes the heads off
 *          the links.
 *
 * A copy inside a rank is a link from the rank to itself. It needs no memory
 * between the two: its slice leaves its source when it is applied, not before.
 *
 * A move never makes another move impossible, so the order of moves does not
 * matter: the game moves while any slice can. The remaining slices cannot move
 * in any run, and their ranks wait for each other in a cycle (cycle.c). A
 * worklist holds the links and versions to examine again; each move adds those
 * that it may have freed, so that the game is linear in the plan.
 */
#include "verify.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t items_of(const struct gw__deadlock_state *w, uint32_t link)
{
    const uint32_t *begin = w->by_link->begin;
    return (begin[link + 1] - begin[link]) * w->slices;
}

static uint32_t transfer_of(const struct gw__deadlock_state *w, uint32_t link,
                            uint32_t item)
{
    return w->by_link->item[w->by_link->begin[link] + item / w->slices];
}

uint32_t gw__link_item(const struct gw__deadlock_state *w, uint32_t link,
                       uint32_t item)
{
    return item < items_of(w, link) ? transfer_of(w, link, item) : UINT32_MAX;
}

uint32_t gw__link_front(const struct gw__deadlock_state *w, uint32_t link)
{
    return gw__link_item(w, link, w->links[link].pushed);
}

uint32_t gw__link_head(const struct gw__deadlock_state *w, uint32_t link)
{
    const struct gw__link_progress *l = &w->links[link];
    return l->popped < l->pushed ? transfer_of(w, link, l->popped) : UINT32_MAX;
}

static void wake(struct gw__deadlock_state *w, uint32_t thing)
{
    if (w->queued[thing])
        return;
    w->queued[thing] = true;
    w->todo[w->todo_count++] = thing;
}

static void wake_link(struct gw__deadlock_state *w, uint32_t link)
{
    wake(w, link);
}

static void wake_version(struct gw__deadlock_state *w, uint32_t version)
{
    if (!w->versions->first[version])
        wake(w, w->index->links + version);
}

/* A slice has come to the head of its link. */
static void arrive(struct gw__deadlock_state *w, uint32_t link)
{
    uint32_t version = w->versions->write[gw__link_head(w, link)];
    w->heads[version]++;
    wake_version(w, version);
}

static bool is_local(const struct gw__deadlock_state *w, uint32_t link)
{
    return gw__is_local(&w->index->plan->transfers[transfer_of(w, link, 0)]);
}

/* A reader no longer needs this slice of the version. */
static void mark_left(struct gw__deadlock_state *w, uint32_t version,
                      uint32_t slice)
{
    if (--w->unsent[version * (size_t)w->slices + slice] == 0)
        wake_version(w, version + 1);
}

static void push_items(struct gw__deadlock_state *w, uint32_t link)
{
    struct gw__link_progress *l = &w->links[link];
    uint32_t items = items_of(w, link);
    while (l->pushed < items && l->pushed - l->popped < w->room) {
        uint32_t slice = l->pushed % w->slices;
        uint32_t version = w->versions->read[transfer_of(w, link, l->pushed)];
        if (w->applied[version] <= slice)
            return;
        if (!is_local(w, link))
            mark_left(w, version, slice);
        if (l->popped == l->pushed++)
            arrive(w, link);
    }
}

static bool may_apply(const struct gw__deadlock_state *w, uint32_t version)
{
    const uint32_t *writers = &w->versions->writers.begin[version];
    size_t slice = w->applied[version];
    size_t before = version - 1;
    return slice < w->slices && w->heads[version] == writers[1] - writers[0] &&
           w->applied[before] > slice &&
           w->unsent[before * w->slices + slice] == 0;
}

static void apply_version(struct gw__deadlock_state *w, uint32_t version)
{
    const struct gw__buckets *writers = &w->versions->writers;
    const struct gw__buckets *readers = &w->versions->readers;
    const uint32_t *link = w->index->link;
    uint32_t slice = w->applied[version]++;
    w->heads[version] = 0;
    uint32_t end = writers->begin[version + 1];
    for (uint32_t i = writers->begin[version]; i < end; i++) {
        uint32_t from = link[writers->item[i]];
        if (is_local(w, from))
            mark_left(w, w->versions->read[writers->item[i]], slice);
        if (++w->links[from].popped < w->links[from].pushed)
            arrive(w, from);
        wake_link(w, from);
    }
    end = readers->begin[version + 1];
    for (uint32_t i = readers->begin[version]; i < end; i++)
        wake_link(w, link[readers->item[i]]);
    wake_version(w, version + 1);
}

static void run_to_end(struct gw__deadlock_state *w)
{
    for (uint32_t link = 0; link < w->index->links; link++)
        wake_link(w, link);
    while (w->todo_count > 0) {
        uint32_t thing = w->todo[--w->todo_count];
        w->queued[thing] = false;
        if (thing < w->index->links)
            push_items(w, thing);
        else if (may_apply(w, thing - w->index->links))
            apply_version(w, thing - w->index->links);
    }
}

static void init_progress(struct gw__deadlock_state *w)
{
    const uint32_t *readers = w->versions->readers.begin;
    for (uint32_t v = 0; v < w->versions->count; v++) {
        w->applied[v] = w->versions->first[v] ? (uint8_t)w->slices : 0;
        for (unsigned k = 0; k < w->slices; k++)
            w->unsent[v * (size_t)w->slices + k] = readers[v + 1] - readers[v];
    }
}

static bool is_over(const struct gw__deadlock_state *w)
{
    for (uint32_t link = 0; link < w->index->links; link++)
        if (w->links[link].popped < items_of(w, link))
            return false;
    return true;
}

enum gw_err gw__check_deadlock(const struct gw__index *index,
                               const struct gw__versions *versions,
                               const struct gw__buckets *by_link,
                               unsigned slices, unsigned room,
                               struct gw_verdict *verdict, struct gw_error *why)
{
    size_t things = (size_t)index->links + versions->count + 1;
    assert(slices >= 1 && slices <= GW__SLICES_MAX && room >= 1);
    struct gw__deadlock_state w = {
        .index = index,
        .versions = versions,
        .by_link = by_link,
        .slices = slices,
        .room = room,
        .links = calloc((size_t)index->links + 1, sizeof *w.links),
        .applied = calloc((size_t)versions->count + 1, sizeof *w.applied),
        .heads = calloc((size_t)versions->count + 1, sizeof *w.heads),
        .unsent =
            calloc(((size_t)versions->count + 1) * slices, sizeof *w.unsent),
        .todo = calloc(things, sizeof *w.todo),
        .queued = calloc(things, sizeof *w.queued),
    };
    enum gw_err err = GW_ENOMEM;
    if (w.links && w.applied && w.heads && w.unsent && w.todo && w.queued) {
        init_progress(&w);
        run_to_end(&w);
        err = is_over(&w) ? GW_OK : GW_EPLAN;
    }
    if (err == GW_EPLAN)
        gw__cycle_describe(&w, verdict);
    free(w.links);
    free(w.applied);
    free(w.heads);
    free(w.unsent);
    free(w.todo);
    free(w.queued);
    return err == GW_ENOMEM
               ? gw_fail(why, err, "deadlock check of %u transfers",
                         index->transfers)
               : err;
}
