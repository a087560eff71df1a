/* SPDX-License-Identifier: MIT
 *
 * Simulation of a clock; see clock_sim.h. Each worker has at most one future
 * event, the end of its item, so the event queue is an array of times. At equal
 * times the lowest worker goes first. After each NEXT, in this order: round
 * commits are delivered, the policy is asked, late workers give up, and workers
 * with a new item begin it.
 */
#include "clock_sim.h"

#include "clock_parts.h"
#include "straggler.h"

#include <assert.h>
#include <string.h>

enum { PRUNE_AT = 256 };
#define NEVER UINT64_MAX

struct player {
    uint64_t ends_ns;      /* end of its item; NEVER: none */
    uint64_t requested_ns; /* start of its wait for an item */
    uint64_t finished;     /* items */
    bool is_waiting;
    /* Number of updates when each item was granted, by item number. A worker
     * has at most one open item per part. */
    uint64_t saw[GW_PS_NODES];
};

struct simulation {
    const struct gw__clock_sim *how;
    struct gw__clock_sim_result *result;
    struct gw__clock *clock;
    struct gw__clock_command command; /* here because it is large */
    struct gw__straggler_monitor monitor;
    uint64_t now_ns;
    uint64_t reported, pruned; /* round commits */
    struct player players[GW_PS_NODES];
};

static enum gw_err command(struct simulation *s, struct gw_error *why)
{
    return gw__clock_apply(s->clock, &s->command, why);
}

static struct gw__alive name_of(unsigned worker)
{
    return (struct gw__alive){.node = worker, .incarnation = 1};
}

/* ---- round commits ---- */

static void count_work_item(struct simulation *s,
                            const struct gw__round_commit *commit, unsigned i)
{
    struct gw__clock_sim_result *r = s->result;
    const struct gw__work_item *item = &commit->items[i];
    struct gw__clock_sim_worker *worker = &r->workers[item->node];
    if (i >= commit->apply) {
        worker->dropped++;
        return;
    }
    uint64_t saw = s->players[item->node].saw[item->clock % GW_PS_NODES];
    uint64_t stale = r->updates - saw;
    worker->applied++;
    r->stale[stale < GW__STALE_MAX ? stale : GW__STALE_MAX]++;
    r->stale_sum += stale;
    r->stale_max = stale > r->stale_max ? stale : r->stale_max;
}

static enum gw_err report_round_commits(struct simulation *s,
                                        struct gw_error *why)
{
    enum gw_err err = GW_OK;
    while (!err && s->reported < gw__clock_closed(s->clock)) {
        const struct gw__round_commit *commit =
            gw__clock_round_commit(s->clock, ++s->reported);
        assert(commit);
        for (unsigned i = 0; i < commit->apply + commit->drop; i++)
            count_work_item(s, commit, i);
        s->result->updates += commit->apply > 0;
        if (s->how->closed)
            err = s->how->closed(s->how->context, commit, s->now_ns, why);
    }
    if (err || s->reported < s->pruned + PRUNE_AT)
        return err;
    s->command = (struct gw__clock_command){.kind = GW__CLOCK_PRUNE,
                                            .number = s->reported};
    s->pruned = s->reported;
    return command(s, why);
}

/* ---- the policy ---- */

static enum gw_err request_policy(struct simulation *s, struct gw_error *why)
{
    struct gw_ps_mode mode;
    if (!s->how->straggler ||
        !gw__straggler_observe(&s->monitor, s->clock, s->now_ns))
        return GW_OK;
    enum gw_err err = gw__straggler_request(&s->monitor, s->clock,
                                            s->how->straggler, &mode, why);
    if (err)
        return err == GW_PENDING ? GW_OK : err;
    s->command =
        (struct gw__clock_command){.kind = GW__CLOCK_MODE, .mode = mode};
    s->result->modes++;
    return command(s, why);
}

/* ---- workers ---- */

static enum gw_err send_next(struct simulation *s, unsigned i,
                             struct gw_error *why)
{
    struct player *player = &s->players[i];
    player->ends_ns = NEVER;
    player->is_waiting = true;
    player->requested_ns = s->now_ns;
    s->command = (struct gw__clock_command){
        .kind = GW__CLOCK_NEXT, .who = name_of(i), .number = player->finished};
    return command(s, why);
}

static enum gw_err finish_work_item(struct simulation *s, unsigned i,
                                    struct gw_error *why)
{
    s->players[i].finished++;
    s->result->workers[i].items++;
    return send_next(s, i, why);
}

/* The next worker that computes for a closed round. False: none. */
static bool find_late(const struct simulation *s, unsigned *late)
{
    for (unsigned i = 0; i < s->clock->worker_count; i++)
        if (s->clock->workers[i].hold == HOLDS_LATE) {
            *late = s->clock->workers[i].who.node;
            return true;
        }
    return false;
}

static void count_grant(struct simulation *s, unsigned i,
                        const struct gw_ps_work *work)
{
    struct gw__clock_sim_result *r = s->result;
    struct player *player = &s->players[i];
    r->workers[i].waited_ns += s->now_ns - player->requested_ns;
    r->grants++;
    r->ahead_sum += work->staleness;
    if (work->staleness > r->ahead_max)
        r->ahead_max = work->staleness;
    player->saw[player->finished % GW_PS_NODES] = r->updates;
}

static enum gw_err begin_work_item(struct simulation *s, unsigned i,
                                   const struct gw_ps_work *work,
                                   struct gw_error *why)
{
    const struct gw__clock_sim *how = s->how;
    struct player *player = &s->players[i];
    player->is_waiting = false;
    count_grant(s, i, work);
    uint64_t computes_ns = s->now_ns + how->pull_ns;
    player->ends_ns = computes_ns +
                      how->compute_ns(how->context, i, computes_ns) +
                      how->push_ns;
    return how->granted ? how->granted(how->context, i, work, why) : GW_OK;
}

static enum gw_err begin_granted(struct simulation *s, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned i = 0; i < s->how->workers && !err; i++) {
        struct gw_ps_work work;
        struct player *player = &s->players[i];
        if (player->is_waiting &&
            gw__clock_granted(s->clock, name_of(i), player->finished, &work) ==
                GW_OK &&
            !work.done)
            err = begin_work_item(s, i, &work, why);
    }
    return err;
}

static void update_gap(struct simulation *s)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned i = 0; i < s->how->workers; i++) {
        uint64_t at = s->players[i].finished;
        least = at < least ? at : least;
        most = at > most ? at : most;
    }
    if (most - least > s->result->gap_max)
        s->result->gap_max = most - least;
}

/* ---- the run ---- */

static enum gw_err run_until_stable(struct simulation *s, struct gw_error *why)
{
    unsigned late;
    for (;;) {
        enum gw_err err = report_round_commits(s, why);
        if (!err)
            err = request_policy(s, why);
        if (err)
            return err;
        if (s->reported < gw__clock_closed(s->clock))
            continue; /* the new mode has closed a round */
        if (!s->how->give_up || !find_late(s, &late))
            break;
        err = finish_work_item(s, late, why);
        if (err)
            return err;
    }
    update_gap(s);
    return begin_granted(s, why);
}

static enum gw_err begin_sim(struct simulation *s, struct gw_error *why)
{
    const struct gw__clock_sim *how = s->how;
    s->command = (struct gw__clock_command){.kind = GW__CLOCK_PLAN,
                                            .mode = how->mode,
                                            .plan = {.epochs = 1,
                                                     .batches = how->rounds,
                                                     .parts = how->parts,
                                                     .workers = how->workers}};
    enum gw_err err = command(s, why);
    s->command = (struct gw__clock_command){.kind = GW__CLOCK_WORKERS,
                                            .count = how->workers};
    for (unsigned i = 0; i < how->workers; i++)
        s->command.alive[i] = name_of(i);
    if (!err)
        err = command(s, why);
    for (unsigned i = 0; i < how->workers && !err; i++)
        err = send_next(s, i, why);
    return err ? err : run_until_stable(s, why);
}

static unsigned first_to_end(const struct simulation *s)
{
    unsigned first = 0;
    for (unsigned i = 1; i < s->how->workers; i++)
        if (s->players[i].ends_ns < s->players[first].ends_ns)
            first = i;
    return first;
}

static enum gw_err run_sim(struct simulation *s, struct gw_error *why)
{
    enum gw_err err = begin_sim(s, why);
    while (!err && !gw__clock_is_done(s->clock)) {
        unsigned i = first_to_end(s);
        assert(s->players[i].ends_ns != NEVER);
        s->now_ns = s->players[i].ends_ns;
        err = finish_work_item(s, i, why);
        if (!err)
            err = run_until_stable(s, why);
    }
    return err;
}

static enum gw_err check_sim(const struct gw__clock_sim *how,
                             struct gw_error *why)
{
    if (how->workers < 1 || how->workers > GW_PS_NODES)
        return gw_fail(why, GW_EINVAL,
                       "the number of workers must be 1 to %d, not %u",
                       GW_PS_NODES, how->workers);
    if (how->rounds < 1)
        return gw_fail(why, GW_EINVAL,
                       "the number of rounds must be at least 1");
    return GW_OK;
}

enum gw_err gw__clock_sim_run(const struct gw__clock_sim *how,
                              struct gw__clock_sim_result *result,
                              struct gw_error *why)
{
    struct simulation s = {.how = how, .result = result};
    memset(result, 0, sizeof *result);
    enum gw_err err = check_sim(how, why);
    if (!err)
        err = gw__clock_new(&s.clock, why);
    if (err)
        return err;
    err = run_sim(&s, why);
    result->ended_ns = s.now_ns;
    result->items = s.clock->items;
    result->dropped = s.clock->dropped;
    result->mode = s.clock->mode;
    gw__clock_destroy(&s.clock);
    return err;
}
