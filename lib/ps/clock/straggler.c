/* SPDX-License-Identifier: MIT
 *
 * Observation of rounds for a straggler policy; see straggler.h. A worker's
 * item is done when its number of finished items has grown since the last look.
 * It was granted an item if it holds one that it did not hold then. A round of
 * bsp and kofn ends when the clock proceeds to another batch. A part that
 * arrives after its round has closed counts in its worker's times but not in
 * the arrivals.
 */
#include "straggler.h"

#include "clock_parts.h"

#include <math.h>
#include <string.h>

#define SHARE_OF_NEW (1.0 / 8)

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e9;
}

static double towards(double mean, double value)
{
    return mean > 0 ? mean + (value - mean) * SHARE_OF_NEW : value;
}

/* ---- rounds ---- */

static void begin_round(struct gw__straggler_monitor *monitor,
                        const struct gw__clock *clock, uint64_t now_ns)
{
    monitor->in_round = clock->started;
    monitor->epoch = clock->next.epoch;
    monitor->batch = clock->next.batch;
    monitor->parts = gw__clock_parts_now(clock);
    monitor->began_ns = now_ns;
    monitor->done = 0;
    monitor->staleness_sum = 0;
    monitor->granted = 0;
    for (unsigned j = 0; j < GW_PS_NODES; j++)
        monitor->arrivals[j] = (double)INFINITY;
}

static bool round_has_ended(const struct gw__straggler_monitor *monitor,
                            const struct gw__clock *clock)
{
    if (!gw__clock_by_rounds(clock))
        return monitor->done >= monitor->parts;
    return monitor->epoch != clock->next.epoch ||
           monitor->batch != clock->next.batch;
}

static void report_round(struct gw__straggler_monitor *monitor,
                         const struct gw__clock *clock, uint64_t now_ns)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct gw__straggler_worker *w =
            &monitor->workers[clock->workers[i].who.node];
        double so_far = w->holds ? seconds(w->granted_ns, now_ns) : 0;
        monitor->items[i] = fmax(w->item, so_far);
        monitor->means[i] =
            so_far > w->mean ? towards(w->mean, so_far) : w->mean;
    }
    memcpy(monitor->arrivals_reported, monitor->arrivals,
           sizeof monitor->arrivals);
    monitor->round = (struct gw_straggler_round){
        .number = ++monitor->rounds,
        .mode = clock->mode,
        .seconds = seconds(monitor->began_ns, now_ns),
        .parts = monitor->parts,
        .workers = clock->worker_count,
        .arrivals = monitor->arrivals_reported,
        .durations = monitor->items,
        .means = monitor->means,
        .staleness =
            monitor->granted ? monitor->staleness_sum / monitor->granted : 0,
    };
}

/* ---- workers ---- */

static void record_done(struct gw__straggler_monitor *monitor,
                        const struct gw__clock *clock,
                        struct gw__straggler_worker *w, uint64_t now_ns)
{
    double took = seconds(w->granted_ns, now_ns);
    w->item = took;
    w->mean = towards(w->mean, took);
    if (!monitor->in_round)
        return;
    uint32_t j = gw__clock_by_rounds(clock) ? w->part : monitor->done;
    bool of_round = !gw__clock_by_rounds(clock) ||
                    (w->epoch == monitor->epoch && w->batch == monitor->batch);
    if (of_round && j < GW_PS_NODES)
        monitor->arrivals[j] = seconds(monitor->began_ns, now_ns);
    monitor->done += of_round;
}

static void record_grant(struct gw__straggler_monitor *monitor,
                         const struct worker *worker,
                         struct gw__straggler_worker *w, uint64_t now_ns)
{
    w->granted_ns = now_ns;
    w->epoch = worker->work.epoch;
    w->batch = worker->work.batch;
    w->part = worker->work.part;
    monitor->staleness_sum += (double)worker->staleness;
    monitor->granted++;
}

static struct gw__straggler_worker *
find_worker(struct gw__straggler_monitor *monitor, const struct worker *worker)
{
    struct gw__straggler_worker *w = &monitor->workers[worker->who.node];
    if (!w->here || w->incarnation != worker->who.incarnation)
        *w = (struct gw__straggler_worker){.here = true,
                                           .incarnation =
                                               worker->who.incarnation,
                                           .finished = worker->finished};
    return w;
}

static void observe_done(struct gw__straggler_monitor *monitor,
                         const struct gw__clock *clock, uint64_t now_ns)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct worker *worker = &clock->workers[i];
        struct gw__straggler_worker *w = find_worker(monitor, worker);
        if (w->finished == worker->finished)
            continue;
        if (w->holds)
            record_done(monitor, clock, w, now_ns);
        w->finished = worker->finished;
        w->holds = false;
    }
}

static void observe_grants(struct gw__straggler_monitor *monitor,
                           const struct gw__clock *clock, uint64_t now_ns)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct worker *worker = &clock->workers[i];
        struct gw__straggler_worker *w = find_worker(monitor, worker);
        bool holds = worker->hold != HOLDS_NONE;
        if (holds && !w->holds)
            record_grant(monitor, worker, w, now_ns);
        w->holds = holds;
    }
}

bool gw__straggler_observe(struct gw__straggler_monitor *monitor,
                           const struct gw__clock *clock, uint64_t now_ns)
{
    observe_done(monitor, clock, now_ns);
    bool ended = monitor->in_round && round_has_ended(monitor, clock);
    if (ended)
        report_round(monitor, clock, now_ns);
    if (ended || !monitor->in_round)
        begin_round(monitor, clock, now_ns);
    observe_grants(monitor, clock, now_ns);
    return ended;
}

enum gw_err gw__straggler_request(const struct gw__straggler_monitor *monitor,
                                  const struct gw__clock *clock,
                                  const struct gw_straggler *straggler,
                                  struct gw_ps_mode *mode, struct gw_error *why)
{
    *mode = straggler->choose(&monitor->round);
    mode->drop = clock->mode.drop;
    if (mode->kind == clock->mode.kind && mode->bound == clock->mode.bound)
        return GW_PENDING;
    enum gw_err err = gw__clock_check_mode(clock, mode, why);
    return err ? gw_wrap(why, err,
                         "the policy for stragglers, after round %llu",
                         (unsigned long long)monitor->round.number)
               : GW_OK;
}
