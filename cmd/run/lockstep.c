/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See lockstep.h. A fault is at a time of its own: two at one place would race,
 * and so would a fault with an end.
 */
#include "lockstep.h"

#include <string.h>

struct reading {
    struct lockstep *lockstep;
    struct gw_nodes alive; /* nodes after the faults so far */
    struct gw_nodes known; /* nodes of the ring */
};

static const char *check_shape(const struct reading *r,
                               const struct gw__fault *f)
{
    bool returns = f->kind == GW__RESTART || f->kind == GW__RESUME;
    if (!f->by_op)
        return "lockstep needs a place, such as: at op 3 crash 2";
    if (f->kind != GW__CRASH && f->kind != GW__PAUSE && !returns)
        return "lockstep has only crash, pause, restart and resume";
    if (gw__nodes_count(f->nodes) > 1)
        return "only one node at a time";
    if (!gw__nodes_within(f->nodes, r->known))
        return "the ring has no such node";
    if (f->for_ns || (f->kind == GW__CRASH && f->after != GW__AT_ONCE))
        return "\"for\" and \"after\" are not possible in lockstep";
    if (returns && (f->transfer || f->chunk != GW__ANY_CHUNK))
        return "a node returns between two ops, without chunk and transfer";
    return NULL;
}

/* A joiner is admitted only after an op that no loss has disturbed. */
static const char *check_history(const struct reading *r,
                                 const struct gw__fault *f)
{
    const struct lockstep *l = r->lockstep;
    const struct gw_ring_hold *last = l->count ? &l->holds[l->count - 1] : NULL;
    bool returns = f->kind == GW__RESTART || f->kind == GW__RESUME;
    if (last && f->op <= last->op)
        return "its op must come after that of the fault before";
    if (returns && last && last->cut && f->op < last->op + 2)
        return "a node can return from the second op after a loss on";
    if (returns == gw__nodes_within(f->nodes, r->alive))
        return returns ? "this node is alive then" : "this node is dead then";
    if (!returns && gw__nodes_within(r->alive, f->nodes))
        return "it is the last member";
    return l->count == LOCKSTEP_MAX ? "there are too many faults" : NULL;
}

static void add(struct reading *r, const struct gw__fault *f)
{
    struct lockstep *l = r->lockstep;
    r->alive = gw__nodes_within(f->nodes, r->alive)
                   ? gw__nodes_minus(r->alive, f->nodes)
                   : gw__nodes_or(r->alive, f->nodes);
    l->faults[l->count] = (struct lockstep_fault){(enum gw__fault_kind)f->kind,
                                                  gw__nodes_next(&f->nodes, 0)};
    l->holds[l->count] = (struct gw_ring_hold){
        .op = f->op,
        .cut = f->kind == GW__CRASH || f->kind == GW__PAUSE,
        .chunk = f->chunk == GW__ANY_CHUNK ? GW_NONE : f->chunk,
        .transfer = f->transfer,
        .size = gw__nodes_count(r->alive)};
    l->count++;
}

enum gw_err lockstep_parse(const char *text, unsigned ranks,
                           struct lockstep *lockstep, struct gw_error *why)
{
    struct gw__faults faults;
    struct reading r = {lockstep, gw__nodes_first(ranks),
                        gw__nodes_first(ranks)};
    *lockstep = (struct lockstep){0};
    enum gw_err err = gw__faults_parse(text, strlen(text), "--lockstep",
                                       GW__NODES_MAX, &faults, why);
    for (size_t i = 0; i < faults.count && !err; i++) {
        char line[GW__FAULT_TEXT_MAX];
        const char *wrong = check_shape(&r, &faults.items[i]);
        if (!wrong)
            wrong = check_history(&r, &faults.items[i]);
        gw__fault_format(&faults.items[i], line);
        if (wrong)
            err = gw_fail(why, GW_EDATA, "--lockstep: %.200s: %s", line, wrong);
        else
            add(&r, &faults.items[i]);
    }
    return err;
}
