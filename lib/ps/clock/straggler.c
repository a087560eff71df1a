/* SPDX-License-Identifier: MIT
 *
 * Observation of rounds for a straggler policy; see straggler.h. A worker's
 * unit is done when its number of finished units has grown since the last look.
 * It was granted a unit if it holds one that it did not hold then. A round of
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

static void begin_round(struct gw__straggler_watch *watch,
                        const struct gw__clock *clock, uint64_t now_ns)
{
    watch->looking = clock->started;
    watch->epoch = clock->next.epoch;
    watch->batch = clock->next.batch;
    watch->parts = gw__clock_parts_now(clock);
    watch->began_ns = now_ns;
    watch->done = 0;
    watch->staleness_sum = 0;
    watch->granted = 0;
    for (unsigned j = 0; j < GW_PS_NODES; j++)
        watch->arrivals[j] = (double)INFINITY;
}

static bool round_has_ended(const struct gw__straggler_watch *watch,
                            const struct gw__clock *clock)
{
    if (!gw__clock_by_rounds(clock))
        return watch->done >= watch->parts;
    return watch->epoch != clock->next.epoch ||
           watch->batch != clock->next.batch;
}

static void report_round(struct gw__straggler_watch *watch,
                         const struct gw__clock *clock, uint64_t now_ns)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct gw__watched *w =
            &watch->workers[clock->workers[i].who.node];
        double so_far = w->holds ? seconds(w->granted_ns, now_ns) : 0;
        watch->items[i] = fmax(w->item, so_far);
        watch->means[i] = so_far > w->mean ? towards(w->mean, so_far) : w->mean;
    }
    memcpy(watch->arrivals_reported, watch->arrivals, sizeof watch->arrivals);
    watch->round = (struct gw_straggler_round){
        .number = ++watch->rounds,
        .mode = clock->mode,
        .seconds = seconds(watch->began_ns, now_ns),
        .parts = watch->parts,
        .workers = clock->worker_count,
        .arrivals = watch->arrivals_reported,
        .units = watch->items,
        .means = watch->means,
        .staleness = watch->granted ? watch->staleness_sum / watch->granted : 0,
    };
}

/* ---- workers ---- */

static void note_done(struct gw__straggler_watch *watch,
                      const struct gw__clock *clock, struct gw__watched *w,
                      uint64_t now_ns)
{
    double took = seconds(w->granted_ns, now_ns);
    w->item = took;
    w->mean = towards(w->mean, took);
    if (!watch->looking)
        return;
    uint32_t j = gw__clock_by_rounds(clock) ? w->part : watch->done;
    bool of_round = !gw__clock_by_rounds(clock) ||
                    (w->epoch == watch->epoch && w->batch == watch->batch);
    if (of_round && j < GW_PS_NODES)
        watch->arrivals[j] = seconds(watch->began_ns, now_ns);
    watch->done += of_round;
}

static void note_granted(struct gw__straggler_watch *watch,
                         const struct worker *worker, struct gw__watched *w,
                         uint64_t now_ns)
{
    w->granted_ns = now_ns;
    w->epoch = worker->work.epoch;
    w->batch = worker->work.batch;
    w->part = worker->work.part;
    watch->staleness_sum += (double)worker->staleness;
    watch->granted++;
}

static struct gw__watched *find_watched(struct gw__straggler_watch *watch,
                                        const struct worker *worker)
{
    struct gw__watched *w = &watch->workers[worker->who.node];
    if (!w->here || w->incarnation != worker->who.incarnation)
        *w = (struct gw__watched){.here = true,
                                  .incarnation = worker->who.incarnation,
                                  .finished = worker->finished};
    return w;
}

static void look_for_done(struct gw__straggler_watch *watch,
                          const struct gw__clock *clock, uint64_t now_ns)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct worker *worker = &clock->workers[i];
        struct gw__watched *w = find_watched(watch, worker);
        if (w->finished == worker->finished)
            continue;
        if (w->holds)
            note_done(watch, clock, w, now_ns);
        w->finished = worker->finished;
        w->holds = false;
    }
}

static void look_for_granted(struct gw__straggler_watch *watch,
                             const struct gw__clock *clock, uint64_t now_ns)
{
    for (unsigned i = 0; i < clock->worker_count; i++) {
        const struct worker *worker = &clock->workers[i];
        struct gw__watched *w = find_watched(watch, worker);
        bool holds = worker->hold != HOLDS_NONE;
        if (holds && !w->holds)
            note_granted(watch, worker, w, now_ns);
        w->holds = holds;
    }
}

bool gw__straggler_look(struct gw__straggler_watch *watch,
                        const struct gw__clock *clock, uint64_t now_ns)
{
    look_for_done(watch, clock, now_ns);
    bool ended = watch->looking && round_has_ended(watch, clock);
    if (ended)
        report_round(watch, clock, now_ns);
    if (ended || !watch->looking)
        begin_round(watch, clock, now_ns);
    look_for_granted(watch, clock, now_ns);
    return ended;
}

enum gw_err gw__straggler_request(const struct gw__straggler_watch *watch,
                                  const struct gw__clock *clock,
                                  const struct gw_straggler *straggler,
                                  struct gw_ps_mode *mode, struct gw_error *why)
{
    *mode = straggler->choose(&watch->round);
    mode->drop = clock->mode.drop;
    if (mode->kind == clock->mode.kind && mode->bound == clock->mode.bound)
        return GW_PENDING;
    enum gw_err err = gw__clock_check_mode(clock, mode, why);
    return err ? gw_wrap(why, err,
                         "the policy for stragglers, after round %llu",
                         (unsigned long long)watch->round.number)
               : GW_OK;
}
