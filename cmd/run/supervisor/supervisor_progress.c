/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The progress of a run, and the values of conditions.
 *
 * For parameter servers, `lost` and `doubled` count work items: the clock's
 * count against the plan. Of epochs * batches batches, each in parts, every
 * part is applied once (`work_items`), except the parts without which kofn closed a
 * round and those that a mode with +drop omitted when their worker died
 * (`skipped`):
 *
 *     expected = parts of the batches that were begun
 *                + batches to come * parts of one now
 *     done:  lost    = expected - items - skipped
 *     always doubled = items + skipped - expected
 *
 * where these are above 0. A slot that lost its last replica counts as lost.
 */
#include "supervisor_parts.h"

#include <math.h>

/* ---- a ring ---- */

/* Its state is the ring's: it is not, for example, still rejoining. */
static bool is_at_work(const struct run *run, const struct child *child)
{
    return child->has_status && child->status.stage == STAGE_MEMBER &&
           child->status.work == run->work.id;
}

/* Members with remaining work, and without. A member that has not reported
 * since it joined has work: the others may be done before its report. */
struct members {
    unsigned undone, done;
};

static void add_member(const struct run *run, const struct child *child,
                       struct members *members, struct progress_of *p)
{
    const struct node_status *status = &child->status;
    if (!child_is_member(run, child))
        return;
    if (status->ring.op > p->op)
        p->op = status->ring.op;
    if (!is_at_work(run, child)) {
        members->undone += status->stage != STAGE_LEFT;
        return;
    }
    if (status->step >= p->step) {
        p->step = status->step;
        p->loss = status->loss;
        p->data_epoch = status->data_epoch;
    }
    members->done += status->done;
    members->undone += !status->done;
    if (!status->done)
        return;
    p->diverged = status->diverged;
    p->until = status->until;
    if (!status->scored)
        return;
    if (!p->evaluates)
        p->evaluates = status;
    if (status->score.ns > p->work_ns)
        p->work_ns = status->score.ns;
}

static void ring_progress(const struct run *run, struct progress_of *p)
{
    const struct tally *most = &run->most;
    struct members members = {0};
    unsigned unparked = 0;
    *p = (struct progress_of){
        .loss = (double)NAN,
        .lost = most->lost + most->samples_lost + most->sums_lost,
        .doubled = most->doubled + most->samples_doubled + most->sums_doubled};
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++) {
        const struct child *child = &run->workers[n];
        if (child->pid <= 0 || child->awaits)
            continue;
        p->workers++;
        p->parked += child->status.ring.parked;
        unparked += !child->status.ring.parked && child_is_member(run, child);
        add_member(run, child, &members, p);
    }
    p->all_parked = p->parked > 0 && unparked == 0;
    p->done = run->work.kind != WORK_NONE && members.done > 0 &&
              members.undone == 0 &&
              (run->work.kind != WORK_TRAIN || p->evaluates);
    if (is_program(run))
        program_progress(run, p);
}

/* ---- parameter servers ---- */

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void count_items(const struct run *run, struct progress_of *p)
{
    const struct gw_ps_clock_status *clock = &run->clock;
    bool by_rounds =
        clock->mode.kind == GW_PS_KOFN || clock->mode.kind == GW_PS_BSP;
    uint64_t counted = clock->work_items + clock->skipped;
    p->rounds = clock->epoch * clock->plan.batches + clock->batch;
    uint64_t begun = p->rounds + clock->begun;
    p->step = clock->plan.batches == 0 ? clock->closed
              : by_rounds              ? p->rounds
              : clock->parts_begun
                  ? clock->work_items * begun / clock->parts_begun
                  : 0;
    uint64_t planned =
        clock->until ? begun : clock->plan.epochs * clock->plan.batches;
    p->expected = clock->parts_begun + above(planned, begun) * clock->parts;
    if (planned == 0)
        return;
    p->doubled = above(counted, p->expected);
    if (!clock->done)
        return;
    p->step = planned;
    p->lost = above(p->expected, counted);
}

static void count_slots(const struct gw__routes *routes, struct progress_of *p)
{
    p->replicas = routes->slot_count ? GW_PS_REPLICAS_MAX : 0;
    for (unsigned s = 0; s < routes->slot_count; s++) {
        const struct gw__slot_route *slot = &routes->slots[s];
        bool served = slot->primary != GW__NO_NODE;
        unsigned count = served ? slot->count : 0;
        p->replicas = count < p->replicas ? count : p->replicas;
        p->slots_lost += slot->term > 0 && !served;
    }
}

/* Of the workers among the members. */
static double slowest(const struct run *run)
{
    double clock = (double)NAN;
    for (unsigned i = 0; i < run->clock.worker_count; i++) {
        const struct gw_ps_worker_status *w = &run->clock.workers[i];
        if (ps_members_find(&run->update, w->node) &&
            !((double)w->clock >= clock))
            clock = (double)w->clock;
    }
    return clock;
}

static void count_workers(const struct run *run, struct progress_of *p)
{
    unsigned undone = 0, done = 0, diverged = 0, reported = 0;
    double loss = 0;
    for (unsigned n = 0; n < RUN_WORKERS_MAX; n++) {
        const struct child *child = &run->workers[n];
        const struct node_status *status = &child->status;
        bool there = child->pid > 0 && child->has_status && !child->awaits;
        if (status->scored && status->work == run->work.id && !p->evaluates)
            p->evaluates = status;
        if (!there || status->work != run->work.id)
            continue;
        undone += !status->done && child_is_member(run, child);
        done += status->done && !status->diverged;
        diverged += status->diverged;
        if (isfinite(status->loss)) {
            loss += status->loss;
            reported++;
        }
    }
    p->loss = reported ? loss / reported : (double)NAN;
    p->diverged = (diverged > 0 && done == 0) ||
                  (p->evaluates && !isfinite(p->evaluates->score.train_loss));
    bool written = !run->options.work.snapshot &&
                   run->directive.order.id == run->directive.ended;
    p->done = run->work.kind == WORK_TRAIN && undone == 0 &&
              (p->diverged || (run->clock.done && p->evaluates && written));
}

void servers_progress(const struct run *run, struct progress_of *p)
{
    *p = (struct progress_of){.clock = slowest(run),
                              .op = run->clock.work_items,
                              .data_epoch = run->clock.epoch,
                              .until = run->clock.until,
                              .workers = ps_members_alive(run, GW__WORKER),
                              .servers = ps_members_alive(run, GW__SERVER)};
    for (unsigned n = 0; n < RUN_SERVERS_MAX; n++)
        p->parked +=
            run->servers[n].pid > 0 && run->servers[n].status.server.parked;
    p->all_parked = p->servers > 0 && p->parked >= p->servers;
    count_items(run, p);
    count_slots(&run->update.routes, p);
    p->lost += p->slots_lost;
    count_workers(run, p);
    p->work_ns = p->evaluates ? p->evaluates->score.ns : 0;
}

/* ---- both kinds of run ---- */

void run_progress(const struct run *run, struct progress_of *p)
{
    if (has_servers(run))
        servers_progress(run, p);
    else
        ring_progress(run, p);
}

const char *progress_state(const struct run *run, const struct progress_of *p)
{
    if (run->ending)
        return "ended";
    if (p->done)
        return "done";
    if (p->all_parked)
        return "parked";
    return run->work.kind == WORK_NONE ? "idle" : "training";
}

double servers_uneven(const struct run *run)
{
    return gw__slot_load_uneven(&run->load, &run->update.routes,
                                &run->load.servers);
}

void status_values(const struct run *run, struct condition_values *values)
{
    struct progress_of p;
    bool servers = has_servers(run);
    run_progress(run, &p);
    for (unsigned i = 0; i < COND_NAMES; i++)
        values->of[i] = (double)NAN;
    values->of[COND_alive] = members_alive(run);
    values->of[COND_epoch] = (double)run->update.view.epoch;
    values->of[COND_data_epoch] = (double)p.data_epoch;
    values->of[COND_step] = (double)p.step;
    values->of[COND_op] = (double)p.op;
    values->of[COND_loss] = p.loss;
    values->of[COND_lost] = (double)p.lost;
    values->of[COND_doubled] = (double)p.doubled;
    values->of[COND_done] = p.done;
    values->of[COND_parked] = p.parked;
    values->of[COND_workers] = p.workers;
    values->of[COND_servers] = p.servers;
    values->of[COND_controllers] = controllers_alive(run);
    values->of[COND_wrong] = (double)run->most.wrong;
    if (!servers)
        return;
    values->of[COND_replicas] = (double)p.replicas;
    values->of[COND_clock] = p.clock;
    values->of[COND_uneven] = servers_uneven(run);
}

const char *servers_warn_idle(const struct run *run, char out[SENTENCE_MAX])
{
    /* The clock may not have reported its first batch yet. */
    enum gw_ps_mode_kind kind =
        run->clock.parts_begun ? run->clock.mode.kind : run->work.mode.kind;
    unsigned workers = 0, parts = run->work.parts;
    for (unsigned n = 0; n < RUN_WORKERS_MAX; n++)
        workers += child_lives(&run->workers[n]);
    *out = 0;
    if (has_servers(run) && run->work.kind == WORK_TRAIN && parts &&
        workers > parts && (kind == GW_PS_BSP || kind == GW_PS_KOFN))
        snprintf(out, SENTENCE_MAX,
                 "; warning: %u of %u workers get no work, because a batch has "
                 "%u parts (--parts)",
                 workers - parts, workers, parts);
    return out;
}
