/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The recovery from each loss of members, in milliseconds since its beginning:
 *
 *     began      this supervisor sent the signal or made the cut; else detected
 *     detected   the process was seen to end; or a member noticed first
 *     viewed     the update with a view without the member arrived
 *     decided    the controllers' log had the new view and its decisions
 *     resumed    the work went on without the member: supervisor_resumed.c
 *
 * All but the last are on this process's own clock.
 *
 * A recovery also counts the chunks of the interrupted op. Its plan is the same
 * at all survivors, and each reports all of it. So it counts once per recovery,
 * however many report it, and whenever they do.
 */
#include "supervisor_parts.h"

#include <string.h>
#include <sys/wait.h>

#define LONG_AGO_NS UINT64_C(10000000000)

static struct recovery *newest(struct run *run)
{
    return run->recovery_count == 0
               ? NULL
               : &run->recoveries[(run->recovery_count - 1) % RECOVERIES_MAX];
}

/* The others have been overwritten. */
static unsigned recoveries_known(const struct run *run)
{
    return run->recovery_count < RECOVERIES_MAX ? run->recovery_count
                                                : RECOVERIES_MAX;
}

/* ---- a loss ---- */

static bool is_in(const struct gw__view *view, const struct gw__ring_member *m)
{
    int rank = gw__view_rank(view, m->node);
    return rank >= 0 &&
           gw__id_equal(view->ring[rank].incarnation, m->incarnation);
}

static bool is_in_ps_members(const struct gw__membership_update *update,
                             const struct gw__ps_member *m)
{
    const struct gw__ps_member *now = ps_members_find(update, m->node);
    return now && gw__id_equal(now->incarnation, m->incarnation);
}

static uint64_t lost_since(const struct gw__membership_update *before,
                           const struct gw__membership_update *now)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < before->view.ring_count; i++)
        if (!is_in(&now->view, &before->view.ring[i]))
            lost |= (uint64_t)1 << before->view.ring[i].node;
    for (unsigned i = 0; i < before->ps_member_count; i++)
        if (!is_in_ps_members(now, &before->ps_members[i]))
            lost |= (uint64_t)1 << before->ps_members[i].node;
    return lost;
}

static void earlier(uint64_t *time_ns, uint64_t than_ns)
{
    if (than_ns < *time_ns)
        *time_ns = than_ns;
}

/* The ring may know of its end before the supervisor does. */
static bool child_has_ended(const struct child *child)
{
    siginfo_t end = {.si_pid = 0};
    if (child->pid <= 0 || child->awaits || child->killed)
        return true;
    return waitid(P_PID, (id_t)child->pid, &end, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           end.si_pid == child->pid;
}

/* The cause of the loss, by the first of the lost members. */
static const char *how_lost(const struct run *run, const struct child *child)
{
    int64_t evidence = run->failures[child->node].evidence;
    bool noticed = run->failures[child->node].time_ns > 0;
    bool ends = is_program(run) && child->status.done; /* by itself */
    if (child->left || child->leaving || ends)
        return "left";
    if (child_has_ended(child))
        return "exit";
    if (noticed && evidence == GW_BY_RESET)
        return "reset";
    return noticed && evidence == GW_BY_STALL ? "stall" : "silence";
}

static void record_times(struct run *run, struct recovery *recovery,
                         uint64_t nodes, uint64_t now)
{
    for (unsigned n = 0; n < GW_RING_NODES; n++) {
        const struct child *child = child_of_node(run, n);
        uint64_t noticed = run->failures[n].time_ns;
        if (!(nodes >> n & 1) || !child)
            continue;
        if (child->pid <= 0 && child->ended_ns)
            earlier(&recovery->detected_ns, child->ended_ns);
        bool made = child->trouble_ns && now - child->trouble_ns < LONG_AGO_NS;
        if (made)
            earlier(&recovery->began_ns, child->trouble_ns);
        /* If noticed before the supervisor's signal, it concerns a former
         * process of this number. */
        if (noticed && now - noticed < LONG_AGO_NS &&
            (!made || noticed >= child->trouble_ns))
            earlier(&recovery->detected_ns, noticed);
    }
    earlier(&recovery->began_ns, recovery->detected_ns);
}

static void begin_recovery(struct run *run, uint64_t nodes, uint64_t now)
{
    struct recovery *recovery = newest(run);
    bool goes_on = recovery && !recovery->decided;
    const struct child *first =
        child_of_node(run, (unsigned)__builtin_ctzll(nodes));
    if (!first)
        return;
    if (!goes_on) {
        recovery = &run->recoveries[run->recovery_count++ % RECOVERIES_MAX];
        *recovery = (struct recovery){.how = how_lost(run, first),
                                      .began_ns = now,
                                      .detected_ns = now,
                                      .viewed_ns = now};
    }
    recovery->nodes |= nodes;
    recovery->epoch = run->update.view.epoch;
    record_times(run, recovery, nodes, now);
    for (unsigned n = 0; n < GW_RING_NODES; n++) {
        struct child *child = child_of_node(run, n);
        if (nodes >> n & 1 && child)
            child->trouble_ns = 0;
    }
}

/* ---- chunks ---- */

static void heighten(uint64_t *most, uint64_t *sum, uint64_t value)
{
    if (value <= *most)
        return;
    *sum += value - *most;
    *most = value;
}

/* Keeps the largest reported numbers. */
static void count_plan(struct run *run, const struct gw_ring_chunks *plan)
{
    unsigned oldest = run->recovery_count - recoveries_known(run);
    for (unsigned i = run->recovery_count; i-- > oldest;) {
        struct recovery *r = &run->recoveries[i % RECOVERIES_MAX];
        if (!r->has_fate || r->fate_epoch != plan->epoch || r->op != plan->op)
            continue;
        heighten(&r->chunks.kept, &run->chunks.kept, plan->spread + plan->kept);
        heighten(&r->chunks.redone, &run->chunks.redone, plan->redone);
        heighten(&r->chunks.fresh, &run->chunks.fresh, plan->fresh);
        return;
    }
}

/* A member may report a plan before the decision is known here, so its last
 * report is read again when the decision comes. */
static void count_chunks(struct run *run, const struct gw_ring_status *status)
{
    for (unsigned i = 0; i < GW_RING_CHUNKS && status->chunks[i].epoch; i++)
        count_plan(run, &status->chunks[i]);
}

/* ---- the decision ---- */

/* Of several open ops, the newest is the interrupted one. */
static void decide(struct run *run, struct recovery *recovery, uint64_t now)
{
    const struct gw__membership_update *update = &run->update;
    recovery->decided = true;
    recovery->decided_ns = now;
    recovery->items = run->clock.work_items;
    for (unsigned i = 0; i < update->decision_count; i++) {
        const struct gw__decision *d = &update->decisions[i];
        if (d->epoch < recovery->epoch ||
            (recovery->has_fate && d->op < recovery->op))
            continue;
        recovery->has_fate = true;
        recovery->fate = d->fate;
        recovery->op = d->op;
        recovery->fate_epoch = d->epoch;
    }
    for (unsigned n = 0; n < RUN_RANKS_MAX; n++)
        count_chunks(run, &run->workers[n].status.ring);
    resumed_decided(run);
}

void recovery_view(struct run *run, const struct gw__membership_update *before)
{
    uint64_t now = gw_now_ns();
    uint64_t lost = lost_since(before, &run->update);
    if (lost && run->formed)
        begin_recovery(run, lost, now);
    struct recovery *recovery = newest(run);
    if (recovery && !recovery->decided && !run->update.flushing)
        decide(run, recovery, now);
}

/* ---- reports of the members ---- */

static void largest(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static void add_tally(struct run *run, const struct node_status *status)
{
    struct tally *most = &run->most;
    largest(&most->forward, status->ring.ops_forward);
    largest(&most->exclude, status->ring.ops_exclude);
    largest(&most->lost, status->ring.lost);
    largest(&most->doubled, status->ring.doubled);
    largest(&most->samples_lost, status->samples_lost);
    largest(&most->samples_doubled, status->samples_doubled);
    largest(&most->sums_lost, status->sums_lost);
    largest(&most->sums_doubled, status->sums_doubled);
    largest(&most->wrong, status->wrong);
}

/* Counters start again with each ring of the process. */
static uint64_t increase(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

void recovery_on_status(struct run *run, struct child *child,
                        const struct node_status *before)
{
    static const struct node_status nothing;
    const struct gw_ring_status *now = &child->status.ring,
                                *then = before ? &before->ring : &nothing.ring;
    if (child->role != GW__WORKER || child->ps_members)
        return;
    add_tally(run, &child->status);
    if (memcmp(then->chunks, now->chunks, sizeof now->chunks) != 0)
        count_chunks(run, now);
    run->dropped += increase(before ? before->events_dropped : 0,
                             child->status.events_dropped);
    if (increase(then->recoveries, now->recoveries) > 0)
        resumed_ring(run, now);
}

void recovery_event(struct run *run, const struct gw_event *event)
{
    if (event->kind != GW_EV_FAILURE || event->peer >= GW_RING_NODES)
        return;
    run->failures[event->peer].time_ns = event->time_ns;
    run->failures[event->peer].evidence = event->value;
}

/* ---- the recoveries as JSON ---- */

static json_t *nodes_json(uint64_t nodes)
{
    json_t *list = json_array();
    for (unsigned n = 0; n < GW_RING_NODES; n++)
        if (nodes >> n & 1)
            json_array_append_new(list, json_integer(n));
    return list;
}

static json_t *since(const struct recovery *r, bool known, uint64_t time_ns)
{
    return known ? json_real((double)(time_ns - r->began_ns) / 1e6)
                 : json_null();
}

/* The names for people. */
static json_t *names_json(struct run *run, uint64_t nodes)
{
    json_t *list = json_array();
    char name[32];
    for (unsigned n = 0; n < GW_RING_NODES; n++) {
        const struct child *child = child_of_node(run, n);
        if (nodes >> n & 1 && child)
            json_array_append_new(list, json_string(child_name(child, name)));
    }
    return list;
}

static json_t *one(struct run *run, const struct recovery *r)
{
    const char *fate = r->fate == GW__FORWARD ? "forward" : "exclude";
    return json_pack(
        "{s:o, s:o, s:s, s:I, s:s?, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}",
        "nodes", nodes_json(r->nodes), "names", names_json(run, r->nodes),
        "how", r->how, "epoch", (json_int_t)r->epoch, "fate",
        r->has_fate ? fate : NULL, "op",
        r->has_fate ? json_integer((json_int_t)r->op) : json_null(),
        "detected_ms", since(r, true, r->detected_ns), "viewed_ms",
        since(r, true, r->viewed_ns), "decided_ms",
        since(r, r->decided, r->decided_ns), "resumed_ms",
        since(r, r->resumed, r->resumed_ns), "chunks_kept",
        (json_int_t)r->chunks.kept, "chunks_redone",
        (json_int_t)r->chunks.redone, "chunks_fresh",
        (json_int_t)r->chunks.fresh);
}

json_t *recovery_json(struct run *run)
{
    json_t *list = json_array();
    unsigned oldest = run->recovery_count - recoveries_known(run);
    for (unsigned i = oldest; i < run->recovery_count; i++)
        json_array_append_new(list,
                              one(run, &run->recoveries[i % RECOVERIES_MAX]));
    return list;
}
