/* SPDX-License-Identifier: MIT
 *
 * The clock's commands. clock.h has the idea. This file has workers, modes and
 * barriers; clock_assign.c assigns items, clock_close.c makes the round
 * commits.
 */
#include "clock_parts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void gw__clock_clear(struct gw__clock *clock)
{
    memset(clock, 0, offsetof(struct gw__clock, round_commits));
}

enum gw_err gw__clock_new(struct gw__clock **clock, struct gw_error *why)
{
    *clock = malloc(sizeof **clock);
    if (!*clock)
        return gw_fail(why, GW_ENOMEM, "no memory for a clock");
    gw__clock_clear(*clock);
    (*clock)->mode.kind = GW_PS_ASP;
    (*clock)->plan = (struct gw_ps_plan){.parts = 1, .workers = 1};
    return GW_OK;
}

void gw__clock_destroy(struct gw__clock **clock)
{
    free(*clock);
    *clock = NULL;
}

/* ---- workers ---- */

static bool same(struct gw__alive a, struct gw__alive b)
{
    return a.node == b.node && a.incarnation == b.incarnation;
}

/* NULL: it has never asked, or has left. */
static struct worker *find_worker(struct gw__clock *clock, struct gw__alive who)
{
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (same(clock->workers[i].who, who))
            return &clock->workers[i];
    return NULL;
}

bool gw__clock_has(const struct gw__clock *clock, struct gw__alive who)
{
    for (unsigned i = 0; i < clock->alive_count; i++)
        if (same(clock->alive[i], who))
            return true;
    return false;
}

/* Returns the items of all dead workers before any is removed: the owner of a
 * part depends on the workers' positions. */
static void remove_workers(struct gw__clock *clock)
{
    unsigned left = 0;
    for (unsigned i = clock->worker_count; i-- > 0;)
        if (!gw__clock_has(clock, clock->workers[i].who)) {
            gw__clock_drop(clock, &clock->workers[i]);
            gw__clock_return(clock, i);
        }
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (gw__clock_has(clock, clock->workers[i].who))
            clock->workers[left++] = clock->workers[i];
    clock->worker_count = left;
}

/* Workers are sorted by node, since the assignment of parts goes by
 * position. */
static struct worker *add_worker(struct gw__clock *clock, struct gw__alive who)
{
    unsigned at = 0;
    struct worker fresh = {.who = who, .base = gw__clock_slowest(clock)};
    while (at < clock->worker_count && clock->workers[at].who.node < who.node)
        at++;
    memmove(clock->workers + at + 1, clock->workers + at,
            (clock->worker_count - at) * sizeof *clock->workers);
    clock->workers[at] = fresh;
    clock->worker_count++;
    return &clock->workers[at];
}

static enum gw_err apply_workers(struct gw__clock *clock,
                                 const struct gw__clock_command *command)
{
    clock->alive_count = command->count;
    memcpy(clock->alive, command->alive,
           command->count * sizeof *command->alive);
    remove_workers(clock);
    return GW_OK;
}

/* The first NEXT of a process adds it to the group. NEXT carries the number of
 * finished items. One more than recorded here: the current item is finished.
 * Any other number is a repetition. */
static enum gw_err apply_next(struct gw__clock *clock,
                              const struct gw__clock_command *command,
                              struct gw_error *why)
{
    struct worker *worker = find_worker(clock, command->who);
    if (!worker &&
        (!gw__clock_has(clock, command->who) || command->number != 0))
        return gw_fail(
            why, GW_EINVAL,
            "worker %u is dead or was removed; it must connect again",
            command->who.node);
    if (!worker)
        worker = add_worker(clock, command->who);
    if (command->number > worker->finished + 1 ||
        (command->number == worker->finished + 1 && worker->hold == HOLDS_NONE))
        return gw_fail(why, GW_EINVAL,
                       "worker %u has finished %llu work items, not %llu",
                       command->who.node, (unsigned long long)worker->finished,
                       (unsigned long long)command->number);
    if (command->number == worker->finished + 1)
        gw__clock_finish(clock, worker,
                         (struct reported){command->sum, command->weight});
    if (command->number == worker->finished && worker->hold == HOLDS_NONE)
        worker->is_waiting = true;
    return GW_OK;
}

/* ---- mode and plan ---- */

static enum gw_err check_mode(const struct gw_ps_mode *mode, uint32_t parts,
                              struct gw_error *why)
{
    if (mode->kind >= GW_PS_MODES)
        return gw_fail(why, GW_EINVAL, "unknown mode");
    if (mode->kind == GW_PS_KOFN && mode->bound == 0)
        return gw_fail(why, GW_EINVAL,
                       "kofn:0 would complete rounds without any work; use at "
                       "least kofn:1");
    if (mode->kind == GW_PS_KOFN && mode->bound > parts)
        return gw_fail(why, GW_EINVAL,
                       "kofn:%u needs at most the %u parts of a round",
                       mode->bound, parts);
    return GW_OK;
}

/* An upper bound for a round's parts, as far as known. */
static uint32_t most_parts(const struct gw__clock *clock,
                           const struct gw_ps_plan *plan)
{
    if (!plan->batches)
        return GW_PS_NODES;
    if (plan->parts)
        return plan->parts;
    return plan->workers > clock->worker_count ? plan->workers
                                               : clock->worker_count;
}

/* The number of workers at the start is not compared: it has no meaning for
 * workers that join later or for a training that continues from a snapshot. */
static bool same_plan(const struct gw_ps_plan *a, const struct gw_ps_plan *b)
{
    return a->epochs == b->epochs && a->batches == b->batches &&
           a->parts == b->parts;
}

static enum gw_err apply_plan(struct gw__clock *clock,
                              const struct gw__clock_command *command,
                              struct gw_error *why)
{
    const struct gw_ps_plan *plan = &command->plan;
    if (plan->parts > GW_PS_NODES)
        return gw_fail(why, GW_EINVAL,
                       "a round must have 1 to %d parts, not %u", GW_PS_NODES,
                       plan->parts);
    enum gw_err err = check_mode(&command->mode, most_parts(clock, plan), why);
    if (err)
        return err;
    if (clock->planned && same_plan(&clock->plan, plan))
        return GW_OK;
    if (clock->planned || clock->started)
        return gw_fail(why, GW_EMISMATCH,
                       "the group has a different plan: %llu epochs of %llu "
                       "batches in %u parts (0: one per worker)",
                       (unsigned long long)clock->plan.epochs,
                       (unsigned long long)clock->plan.batches,
                       clock->plan.parts);
    clock->planned = true;
    clock->plan = *plan;
    clock->mode = command->mode;
    return GW_OK;
}

enum gw_err gw__clock_check_mode(const struct gw__clock *clock,
                                 const struct gw_ps_mode *mode,
                                 struct gw_error *why)
{
    return check_mode(mode, most_parts(clock, &clock->plan), why);
}

/* Raises all clocks to the fastest one: a lead from before the bound does not
 * count. */
static void level(struct gw__clock *clock)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < clock->worker_count; i++)
        if (gw__clock_of(&clock->workers[i]) > most)
            most = gw__clock_of(&clock->workers[i]);
    for (unsigned i = 0; i < clock->worker_count; i++)
        gw__clock_raise(&clock->workers[i], most);
}

static enum gw_err apply_mode(struct gw__clock *clock,
                              const struct gw__clock_command *command,
                              struct gw_error *why)
{
    enum gw_err err = gw__clock_check_mode(clock, &command->mode, why);
    if (err)
        return err;
    bool rounds = gw__clock_by_rounds(clock);
    if (command->mode.kind == GW_PS_SSP && clock->mode.kind != GW_PS_SSP)
        level(clock);
    clock->mode = command->mode;
    if (rounds && !gw__clock_by_rounds(clock))
        gw__clock_break_round(clock);
    return GW_OK;
}

/* ---- barriers ---- */

static struct barrier *barrier(struct gw__clock *clock, uint64_t number)
{
    for (unsigned i = 0; i < BARRIERS_KEPT; i++)
        if (clock->barriers[i].used && clock->barriers[i].number == number)
            return &clock->barriers[i];
    struct barrier *b = &clock->barriers[clock->barrier_next++ % BARRIERS_KEPT];
    *b = (struct barrier){.number = number, .used = true};
    return b;
}

static void apply_barrier(struct gw__clock *clock,
                          const struct gw__clock_command *command)
{
    struct barrier *b = barrier(clock, command->number);
    gw__nodes_add(&b->nodes, command->who.node % GW_PS_NODES);
    if (gw__nodes_count(b->nodes) >= command->count)
        b->open = true;
}

enum gw_err gw__clock_barrier(const struct gw__clock *clock, uint64_t number)
{
    for (unsigned i = 0; i < BARRIERS_KEPT; i++)
        if (clock->barriers[i].used && clock->barriers[i].number == number)
            return clock->barriers[i].open ? GW_OK : GW_PENDING;
    return GW_PENDING;
}

/* ---- commands ---- */

static enum gw_err apply_command(struct gw__clock *clock,
                                 const struct gw__clock_command *command,
                                 struct gw_error *why)
{
    switch (command->kind) {
    case GW__CLOCK_NEXT:
        return apply_next(clock, command, why);
    case GW__CLOCK_WORKERS:
        return apply_workers(clock, command);
    case GW__CLOCK_PLAN:
        return apply_plan(clock, command, why);
    case GW__CLOCK_MODE:
        return apply_mode(clock, command, why);
    case GW__CLOCK_BARRIER:
        apply_barrier(clock, command);
        return GW_OK;
    case GW__CLOCK_MARK:
        if (!gw__clock_has_room(clock))
            return gw_fail(why, GW_ENOMEM,
                           "too many completed rounds are waiting");
        gw__clock_mark(clock, command->number);
        return GW_OK;
    case GW__CLOCK_PRUNE:
        if (command->number > clock->pruned)
            clock->pruned = command->number < clock->closed ? command->number
                                                            : clock->closed;
        return GW_OK;
    case GW__CLOCK_KINDS:
        break;
    }
    return gw_fail(why, GW_EINVAL, "unknown clock command");
}

/* A refused command changes nothing. After any other one, rounds that are
 * complete are closed and free workers get items. */
enum gw_err gw__clock_apply(struct gw__clock *clock,
                            const struct gw__clock_command *command,
                            struct gw_error *why)
{
    struct gw_error own;
    enum gw_err err = apply_command(clock, command, why ? why : &own);
    if (err)
        return err;
    while (gw__clock_close_round(clock) || gw__clock_assign(clock))
        ;
    return GW_OK;
}
