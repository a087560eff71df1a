/* SPDX-License-Identifier: MIT
 *
 * Work items: commands to the group's clock (clock.h). NEXT carries the
 * number of items that this worker has finished, so a NEXT that timed out can
 * be repeated.
 */
#include "client_parts.h"

#include <math.h>

static enum gw_err check_group(unsigned group, struct gw_error *why)
{
    return group < GW_PS_GROUPS_MAX
               ? GW_OK
               : gw_fail(why, GW_EINVAL,
                         "group %u: groups are numbered below %d", group,
                         GW_PS_GROUPS_MAX);
}

static struct gw__alive self(const struct gw_ps *ps)
{
    return (struct gw__alive){gw__node_number(ps->node),
                              gw__node_incarnation(ps->node).low};
}

/* An item is finished only when all its pushes are acknowledged. */
static enum gw_err drain(struct gw_ps *ps, struct gw_error *why)
{
    uint64_t deadline_ns = gw__ps_deadline(ps);
    for (;;) {
        gw__ps_turn(ps);
        if (gw__worker_pushes(ps->worker) == 0)
            return GW_OK;
        enum gw_err err = gw__ps_alive(ps, why);
        if (err)
            return err;
        if (gw_now_ns() >= deadline_ns) {
            char whom[256];
            gw__worker_describe_wait(ps->worker, gw_now_ns(), whom,
                                     sizeof whom);
            return gw_fail(why, GW_ETIMEOUT, "waits for %s", whom);
        }
        gw__ps_sleep(ps, deadline_ns);
    }
}

static void emit_events(struct gw_ps *ps, struct gw_ps_work *work,
                        uint64_t waited_ns)
{
    struct gw_event event = {.time_ns = gw_now_ns(),
                             .kind = GW_EV_WAIT,
                             .value = (int64_t)waited_ns,
                             .rank = gw__node_number(ps->node),
                             .peer = GW_NONE,
                             .epoch = (uint32_t)work->epoch,
                             .op = GW_NONE,
                             .step = (uint32_t)work->clock,
                             .chunk = GW_NONE};
    work->waited_ns = waited_ns;
    ps->waited_ns += waited_ns;
    gw_emit(ps->events, &event);
    event.kind = GW_EV_STEP;
    event.value = (int64_t)work->clock;
    if (!work->done)
        gw_emit(ps->events, &event);
}

enum gw_err gw_ps_report(struct gw_ps *ps, unsigned group, double sum,
                         double weight, struct gw_error *why)
{
    enum gw_err err = check_group(group, why);
    if (!err && !(isfinite(sum) && isfinite(weight) && weight >= 0))
        err =
            gw_fail(why, GW_EINVAL,
                    "the sum %g and the weight %g must be finite", sum, weight);
    if (err)
        return gw_wrap(why, err, "ps: report");
    ps->groups[group].sum = sum;
    ps->groups[group].weight = weight;
    return GW_OK;
}

enum gw_err gw_ps_next(struct gw_ps *ps, unsigned group,
                       struct gw_ps_work *work, struct gw_error *why)
{
    enum gw_err err = check_group(group, why);
    if (!err)
        err = gw__ps_alive(ps, why);
    if (!err)
        err = drain(ps, why);
    if (err)
        return gw_wrap(why, err, "ps: next");
    struct gw__ps_group *g = &ps->groups[group];
    const struct gw__clock_command next = {.kind = GW__CLOCK_NEXT,
                                           .who = self(ps),
                                           .number =
                                               g->finished + g->in_work_item,
                                           .sum = g->sum,
                                           .weight = g->weight};
    uint64_t began_ns = gw_now_ns();
    struct gw_ps_work granted;
    err = gw__ps_clock(ps, group, &next, &granted, why);
    if (err)
        return gw_wrap(why, err, "ps: next");
    g->finished = next.number;
    g->in_work_item = !granted.done;
    g->clock = granted.clock;
    g->closed = granted.closed;
    g->sum = g->weight = 0;
    emit_events(ps, &granted, gw_now_ns() - began_ns);
    *work = granted;
    return GW_OK;
}

/* ---- plans, modes, barriers ---- */

static enum gw_err command(struct gw_ps *ps, unsigned group,
                           const struct gw__clock_command *command,
                           const char *what, struct gw_error *why)
{
    enum gw_err err = check_group(group, why);
    if (!err)
        err = gw__ps_clock(ps, group, command, NULL, why);
    return err ? gw_wrap(why, err, "ps: %s", what) : GW_OK;
}

enum gw_err gw_ps_plan(struct gw_ps *ps, unsigned group,
                       const struct gw_ps_mode *mode,
                       const struct gw_ps_plan *plan, struct gw_error *why)
{
    struct gw__clock_command set = {
        .kind = GW__CLOCK_PLAN, .mode = *mode, .plan = *plan};
    if (set.plan.workers == 0)
        set.plan.workers = 1;
    return command(ps, group, &set, "plan", why);
}

enum gw_err gw_ps_mode(struct gw_ps *ps, unsigned group,
                       const struct gw_ps_mode *mode, struct gw_error *why)
{
    const struct gw__clock_command set = {.kind = GW__CLOCK_MODE,
                                          .mode = *mode};
    return command(ps, group, &set, "mode", why);
}

/* Barriers are independent of groups, so group 0 serves all of them. */
enum gw_err gw_ps_barrier(struct gw_ps *ps, uint64_t number, unsigned count,
                          struct gw_error *why)
{
    const struct gw__clock_command come = {.kind = GW__CLOCK_BARRIER,
                                           .who = self(ps),
                                           .number = number,
                                           .count = count};
    return command(ps, 0, &come, "barrier", why);
}
