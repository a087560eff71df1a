/* SPDX-License-Identifier: MIT
 *
 * Explains a deadlock. Each link or version that is left over waits for another
 * one that is left over, so following the waits ends in a cycle, and that cycle
 * is the proof. The search begins at the first slice of the plan that is left,
 * and the cycle is printed from its earliest transfer on:
 *
 *     rank 1 step 1: c0 waits until 1>0 c0 has left
 *     rank 1 step 1: 1>0 c1 waits for room on 1>0
 *     ...
 *
 * A wait is never for a later step, because links keep the order of steps;
 * hence a cycle is within one step. A wait for a value, which comes from an
 * earlier step, can lead to a cycle but is never part of one.
 *
 * Things are numbered as in check_deadlock.c: links, then versions.
 */
#include "verify.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* A wait for another link or version. `text` explains it, if the wait can be
 * part of a cycle. */
struct dependency {
    uint32_t thing;
    char text[128];
};

/* The transfer that represents a thing: the next one that a link would push, or
 * the first that helps to write a version. */
static uint32_t transfer_of(const struct gw__deadlock_state *w, uint32_t thing)
{
    const struct gw__buckets *writers = &w->versions->writers;
    return thing < w->index->links
               ? gw__link_front(w, thing)
               : writers->item[writers->begin[thing - w->index->links]];
}

static struct dependency depends_on_version(const struct gw__deadlock_state *w,
                                            uint32_t version)
{
    return (struct dependency){.thing = w->index->links + version};
}

/* The next transfer of a link waits for its version, or for room. */
static struct dependency link_dependency(const struct gw__deadlock_state *w,
                                         uint32_t link)
{
    uint32_t t = gw__link_front(w, link);
    const struct gw_transfer *x = &w->index->plan->transfers[t];
    const struct gw__link_progress *l = &w->links[link];
    if (l->pushed - l->popped < w->room)
        return depends_on_version(w, w->versions->read[t]);
    uint32_t head = gw__link_head(w, link);
    struct dependency dep = depends_on_version(w, w->versions->write[head]);
    char name[GW__TRANSFER_TEXT];
    snprintf(dep.text, sizeof dep.text,
             "rank %u step %u: %s waits for room on %u>%u", x->src,
             w->index->step[t] + 1, gw__moves_text(x, name), x->src, x->dst);
    return dep;
}

/* Does transfer t keep its version from applying, because its slice is not at
 * the head of its link? */
static bool writer_blocks(const struct gw__deadlock_state *w, uint32_t t,
                          struct dependency *dep)
{
    const struct gw_transfer *x = &w->index->plan->transfers[t];
    uint32_t link = w->index->link[t], head = gw__link_head(w, link);
    unsigned step = w->index->step[t] + 1;
    char name[GW__TRANSFER_TEXT];
    if (head == t)
        return false;
    gw__moves_text(x, name);
    if (head == UINT32_MAX) {
        dep->thing = link;
        snprintf(dep->text, sizeof dep->text,
                 "rank %u step %u: c%u waits until %s is sent", x->dst, step,
                 x->chunk, name);
    } else {
        *dep = depends_on_version(w, w->versions->write[head]);
        snprintf(dep->text, sizeof dep->text,
                 "rank %u step %u: %s waits after c%u on the same link", x->dst,
                 step, name, w->index->plan->transfers[head].chunk);
    }
    return true;
}

/* A reader of the version before whose slice has not left. On a link transfers
 * are in plan order, so those before the front have been pushed. */
static uint32_t unsent_reader(const struct gw__deadlock_state *w,
                              uint32_t version, uint32_t slice)
{
    const struct gw__buckets *readers = &w->versions->readers;
    uint32_t i = readers->begin[version];
    for (;; i++) {
        assert(i < readers->begin[version + 1]);
        uint32_t t = readers->item[i], link = w->index->link[t];
        bool local = gw__is_local(&w->index->plan->transfers[t]);
        uint32_t left = local ? w->links[link].popped : w->links[link].pushed;
        uint32_t front = gw__link_item(w, link, left);
        if (front < t || (front == t && left % w->slices <= slice))
            return t;
    }
}

/* A version waits for its writers, for the version before it, or for ranks that
 * have yet to send the version before it. */
static struct dependency version_dependency(const struct gw__deadlock_state *w,
                                            uint32_t version)
{
    const struct gw__buckets *writers = &w->versions->writers;
    const struct gw_transfer *all = w->index->plan->transfers;
    uint32_t begin = writers->begin[version], end = writers->begin[version + 1];
    uint32_t slice = w->applied[version], t = writers->item[begin];
    struct dependency dep;
    for (uint32_t i = begin; i < end; i++)
        if (writer_blocks(w, writers->item[i], &dep))
            return dep;
    if (w->applied[version - 1] <= slice)
        return depends_on_version(w, version - 1);
    uint32_t reader = unsent_reader(w, version - 1, slice);
    char name[GW__TRANSFER_TEXT];
    dep.thing = w->index->link[reader];
    if (gw__is_local(&all[reader]) && gw__link_head(w, dep.thing) == reader)
        dep = depends_on_version(w, w->versions->write[reader]);
    snprintf(dep.text, sizeof dep.text,
             "rank %u step %u: c%u waits until %s has left", all[t].dst,
             w->index->step[t] + 1, all[t].chunk,
             gw__moves_text(&all[reader], name));
    return dep;
}

static struct dependency dependency_of(const struct gw__deadlock_state *w,
                                       uint32_t thing)
{
    return thing < w->index->links
               ? link_dependency(w, thing)
               : version_dependency(w, thing - w->index->links);
}

/* A link whose front cannot move, or the version of its head. */
static uint32_t first_stuck(const struct gw__deadlock_state *w)
{
    uint32_t best = UINT32_MAX, best_transfer = UINT32_MAX;
    for (uint32_t link = 0; link < w->index->links; link++) {
        uint32_t front = gw__link_front(w, link);
        uint32_t head = gw__link_head(w, link);
        uint32_t t = head != UINT32_MAX ? head : front;
        if (t >= best_transfer)
            continue;
        best_transfer = t;
        best = head != UINT32_MAX ? w->index->links + w->versions->write[head]
                                  : link;
    }
    assert(best != UINT32_MAX);
    return best;
}

/* The first thing that we meet twice when we follow the waits is on the cycle.
 * `queued`, all clear now that the game's worklist is empty, marks the things
 * that we have met. */
static uint32_t on_cycle(const struct gw__deadlock_state *w)
{
    uint32_t thing = first_stuck(w);
    while (!w->queued[thing]) {
        w->queued[thing] = true;
        thing = dependency_of(w, thing).thing;
    }
    return thing;
}

static uint32_t earliest(const struct gw__deadlock_state *w, uint32_t any,
                         unsigned *length)
{
    uint32_t best = any, thing = any;
    *length = 0;
    do {
        if (transfer_of(w, thing) < transfer_of(w, best))
            best = thing;
        thing = dependency_of(w, thing).thing;
        ++*length;
    } while (thing != any);
    return best;
}

void gw__cycle_describe(const struct gw__deadlock_state *w,
                        struct gw_verdict *verdict)
{
    unsigned length;
    uint32_t first = earliest(w, on_cycle(w), &length);
    uint32_t t = transfer_of(w, first);
    const struct gw_transfer *x = &w->index->plan->transfers[t];
    *verdict = (struct gw_verdict){
        .fault = GW_FAULT_DEADLOCK,
        .step = w->index->step[t] + 1,
        .src = x->src,
        .dst = x->dst,
        .chunk = x->chunk,
    };
    bool whole = w->slices == 1;
    char name[GW__TRANSFER_TEXT];
    snprintf(verdict->sentence, sizeof verdict->sentence,
             "step %u: %s waits forever: a cycle of %u waits, with room for %u "
             "%s%s per link",
             verdict->step, gw__moves_text(x, name), length, w->room,
             whole ? "chunk" : "slice", w->room == 1 ? "" : "s");
    uint32_t thing = first;
    do {
        struct dependency dep = dependency_of(w, thing);
        gw__history_add(verdict, "%s", dep.text);
        thing = dep.thing;
    } while (thing != first);
}
