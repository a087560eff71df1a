/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor's duties for parameter servers: it has the slots opened,
 * reports members whose processes have ended, and chooses one worker that
 * scores the finished model and one that writes snapshots. It also keeps the
 * reports of servers and workers about the clock and about each data epoch.
 *
 * The clock of group 0 is reported by the primary of its slot. A primary that
 * takes over has all closed batches, so the report with the most closings is
 * the newest.
 */
#include "supervisor_parts.h"

#include <stdio.h>
#include <string.h>

enum { REPLICAS_DEFAULT = 3 };

/* ---- the members ---- */

const struct gw__ps_member *
ps_members_find(const struct gw__membership_update *update, unsigned node)
{
    for (unsigned i = 0; i < update->ps_member_count; i++)
        if (update->ps_members[i].node == node)
            return &update->ps_members[i];
    return NULL;
}

static bool is_there(const struct run *run, const struct child *child)
{
    return child->pid > 0 && !child->awaits && child_is_member(run, child);
}

unsigned ps_members_alive(const struct run *run, enum gw__role role)
{
    unsigned count = 0;
    for (unsigned n = 0; n < RUN_WORKERS_MAX && role == GW__WORKER; n++)
        count += is_there(run, &run->workers[n]);
    for (unsigned n = 0; n < RUN_SERVERS_MAX && role == GW__SERVER; n++)
        count += is_there(run, &run->servers[n]);
    return count;
}

void ps_members_suspect(struct run *run)
{
    for (unsigned i = 0; i < run->update.ps_member_count; i++) {
        const struct gw__ps_member *m = &run->update.ps_members[i];
        const struct child *child = child_of_node(run, m->node);
        if (child && child->pid <= 0)
            control_suspect_one(run, m->node, m->incarnation);
    }
}

/* ---- the slots ---- */

unsigned ps_members_slots(const struct run_options *options)
{
    return options->slots ? options->slots : GW_PS_SLOTS_DEFAULT;
}

unsigned ps_members_replicas(const struct run_options *options)
{
    unsigned most = options->servers < REPLICAS_DEFAULT ? options->servers
                                                        : REPLICAS_DEFAULT;
    return options->replicas ? options->replicas : most;
}

void ps_members_open_slots(struct run *run)
{
    const struct run_options *o = &run->options;
    const struct gw__command command = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = ps_members_slots(o),
                   .replicas = ps_members_replicas(o),
                   .servers = o->servers}};
    if (run->update.routes.slot_count > 0)
        return;
    placement_update(run); /* first, so that it decides their placement */
    control_command(run, &command);
}

bool ps_members_serves_slot(const struct run *run, unsigned slot)
{
    const struct gw__slot_route *route = &run->update.routes.slots[slot];
    unsigned server = (unsigned)route->primary - SERVER_NODE;
    if (server >= RUN_SERVERS_MAX)
        return false;
    const struct gw_ps_slot_status *s =
        &run->servers[server].status.server.slots[slot];
    return s->role == GW_PS_PRIMARY && s->term >= route->term;
}

bool ps_members_serves(const struct run *run)
{
    for (unsigned s = 0; s < run->update.routes.slot_count; s++)
        if (!ps_members_serves_slot(run, s))
            return false;
    return true;
}

static bool has_begun(const struct run *run, const struct child *child)
{
    return child->status.stage == STAGE_MEMBER &&
           (child_is_member(run, child) || child->status.diverged);
}

bool ps_members_is_complete(const struct run *run)
{
    unsigned there = 0;
    for (unsigned n = 0; n < run->options.ranks; n++)
        there += has_begun(run, &run->workers[n]);
    for (unsigned n = 0; n < run->options.servers; n++)
        there += has_begun(run, &run->servers[n]);
    return there == run->options.ranks + run->options.servers &&
           run->update.routes.slot_count > 0 && ps_members_serves(run);
}

/* ---- reports ---- */

static void update_clock(struct run *run,
                         const struct gw_ps_server_status *status)
{
    const struct gw_ps_clock_status *clock = &status->clocks[0];
    bool leads =
        status->slot_count > 0 && status->slots[0].role == GW_PS_PRIMARY;
    if (!leads || !clock->here || clock->closed < run->clock.closed)
        return;
    run->clock = *clock;
}

static const struct epoch_status *same_epoch(const struct node_status *before,
                                             const struct epoch_status *now)
{
    const struct epoch_status *then =
        before ? &before->worker.epochs[now->epoch % EPOCHS_REPORTED] : NULL;
    return then && then->items > 0 && then->epoch == now->epoch ? then : NULL;
}

/* Adds the growth of an epoch since the previous note. */
static void add_epoch(struct run *run, const struct epoch_status *now,
                      const struct epoch_status *then)
{
    static const struct epoch_status none;
    if (now->epoch >= CURVE_MAX)
        return;
    if (!then)
        then = &none;
    struct epoch_sums *e = &run->curve[now->epoch];
    e->items += now->items - then->items;
    e->sums.rows += now->sums.rows - then->sums.rows;
    e->sums.samples += now->sums.samples - then->sums.samples;
    e->sums.right += now->sums.right - then->sums.right;
    e->sums.loss += now->sums.loss - then->sums.loss;
    e->sums.policy_loss += now->sums.policy_loss - then->sums.policy_loss;
    e->sums.value_loss += now->sums.value_loss - then->sums.value_loss;
    e->sums.entropy += now->sums.entropy - then->sums.entropy;
    e->sums.row_writes += now->sums.row_writes - then->sums.row_writes;
    e->sums.row_writes_lost +=
        now->sums.row_writes_lost - then->sums.row_writes_lost;
    e->ended_ns = gw_now_ns();
    if (now->epoch >= run->curve_count)
        run->curve_count = (unsigned)now->epoch + 1;
}

static void update_epochs(struct run *run, const struct node_status *status,
                          const struct node_status *before)
{
    for (unsigned i = 0; i < EPOCHS_REPORTED; i++) {
        const struct epoch_status *now = &status->worker.epochs[i];
        const struct epoch_status *then = same_epoch(before, now);
        if (now->items == 0 || (then && then->items == now->items))
            continue;
        if (!run->work_ns)
            run->work_ns = gw_now_ns();
        add_epoch(run, now, then);
    }
}

static void update_directive(struct run *run, const struct node_status *status)
{
    struct directive *directive = &run->directive;
    if (status->worker.directive.id != directive->order.id ||
        directive->ended == directive->order.id)
        return;
    directive->ended = directive->order.id;
    directive->code = status->worker.directive.code;
    memcpy(directive->text, status->worker.directive.text,
           sizeof directive->text);
}

void ps_members_on_status(struct run *run, struct child *child,
                          const struct node_status *before)
{
    if (child->role == GW__SERVER)
        update_clock(run, &child->status.server);
    if (child->role != GW__WORKER || !child->ps_members)
        return;
    rate_record(&child->item_rate, child->status.worker.items, gw_now_ns());
    update_epochs(run, &child->status, before);
    update_directive(run, &child->status);
}

/* ---- tasks of one worker ---- */

static bool may_write(const struct run *run, const struct child *child)
{
    return is_there(run, child) && !child->paused && !child->leaving &&
           child->has_status && !child->status.diverged;
}

static bool may_evaluate(const struct run *run, const struct child *child)
{
    return may_write(run, child) && child->status.done &&
           child->status.work == run->work.id;
}

/* The present one if it still can, else the first that can. */
static struct child *choose_child(struct run *run, struct child *present,
                                  bool (*may)(const struct run *,
                                              const struct child *))
{
    if (present && may(run, present))
        return present;
    for (unsigned n = 0; n < RUN_WORKERS_MAX; n++)
        if (may(run, &run->workers[n]))
            return &run->workers[n];
    return NULL;
}

static void appoint(struct run *run, struct child **leader,
                    struct child *chosen)
{
    struct child *before = *leader;
    *leader = chosen;
    if (before == chosen)
        return;
    if (before)
        child_send_desired(run, before);
    if (chosen)
        child_send_desired(run, chosen);
}

uint64_t ps_members_request(struct run *run,
                            const struct directive_order *order)
{
    uint64_t id = run->directive.order.id + 1;
    run->directive.order = *order;
    run->directive.order.id = id;
    if (run->scribe)
        child_send_desired(run, run->scribe);
    return id;
}

static void write_last(struct run *run, const char *directory)
{
    static struct directive_order order = {.kind =
                                               DIRECTIVE_SNAPSHOT}; /* large */
    snprintf(order.directory, sizeof order.directory, "%s", directory);
    run->directive.last = ps_members_request(run, &order);
}

void ps_members_update(struct run *run)
{
    const char *last = run->options.work.snapshot;
    if (!has_servers(run) || !run->formed || run->ending)
        return;
    placement_update(run);
    appoint(run, &run->evaluates,
            choose_child(run, run->evaluates, may_evaluate));
    appoint(run, &run->scribe, choose_child(run, run->scribe, may_write));
    if (last && run->evaluates && run->evaluates->status.scored &&
        run->directive.order.id == run->directive.ended) {
        run->options.work.snapshot = NULL;
        write_last(run, last);
    }
}

void ps_members_desired_state(const struct run *run, const struct child *child,
                              struct desired_state *desired)
{
    if (child->role == GW__SERVER) /* its work is passing messages */
        desired->pace_ns += child->slow_ns;
    desired->evaluates = child == run->evaluates;
    if (child == run->scribe && run->directive.order.id > run->directive.ended)
        desired->directive = run->directive.order;
}
