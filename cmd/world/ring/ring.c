/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A member in the ring: the reports of its machine, and its reactions, one op
 * after the other. A runtime uses the op table in the same way.
 */
#include "world.h"

#include <base/mix.h>

#include <string.h>

/* Without random choices: the delay before an op, and the time of the first
 * one, when the ring has formed. */
#define CALM_COMPUTE_NS (10 * MS)
#define CALM_BEGIN_NS   (200 * MS)

static struct gw__op_entry *next_page(struct toy *toy)
{
    struct gw__op_entry *entry =
        &toy->ops.entries[toy->ops.next_op % GW__OP_TABLE_OPS];
    return entry->used && entry->op == toy->ops.next_op ? entry : NULL;
}

/* ---- reports of the machine ---- */

/* The first view of a joiner. */
static void enter(struct toy *toy, const struct gw__view *view)
{
    uint64_t from_op = view->ring[gw__view_rank(view, toy->node)].from_op;
    gw__op_table_init(&toy->ops, toy->node, from_op);
    toy->ops.any_epoch = toy->world->any_epoch;
    toy->in_ring = true;
    uint64_t now_ns = gw__sim_now(toy->world->sim); /* not its own clock */
    if (toy->world->asked.calm && now_ns < CALM_BEGIN_NS)
        toy->compute_ns = toy->now_ns + CALM_BEGIN_NS - now_ns;
    if (from_op == 0) { /* no state has to be fetched */
        toy->sure = toy->state.next == 0 && !toy->state.over;
    }
}

static void freeze(struct toy *toy, uint64_t flush_epoch)
{
    toy->wants_report = true;
    toy->flush_epoch = flush_epoch;
    toy->has_pending = toy->admits = false;
    if (toy->in_ring)
        gw__op_table_freeze(&toy->ops);
}

/* An op that is complete here must not be decided otherwise. */
static void check_decision(const struct toy *toy,
                           const struct gw__decision *decision)
{
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) {
        const struct gw__op_entry *entry = &toy->ops.entries[i];
        if (entry->complete && entry->op == decision->op &&
            entry->sets.target != decision->contributors)
            toy_fail(toy, "op %llu is complete with %llx, decided as %llx",
                     (unsigned long long)entry->op,
                     (unsigned long long)entry->sets.target,
                     (unsigned long long)decision->contributors);
    }
}

static void resume(struct toy *toy)
{
    const struct gw__report *reports[GW__NODES_MAX];
    const struct gw__view *view = gw__member_view(toy->member);
    const struct gw__membership_update *update = gw__member_update(toy->member);
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        reports[i] = gw__member_report(toy->member, i);
    for (unsigned i = 0; i < update->decision_count; i++)
        check_decision(toy, &update->decisions[i]);
    if (!toy->in_ring)
        enter(toy, view);
    gw__op_table_resume(&toy->ops, view, update->decisions,
                        update->decision_count, reports);
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) { /* of the former ring */
        toy->runs[i].send_count = toy->runs[i].receive_count = 0;
        toy->runs[i].due_ns = UINT64_MAX;
    }
}

static void suspect(const struct toy *toy, unsigned node)
{
    const struct gw__view *view = &gw__member_update(toy->member)->view;
    int rank = gw__view_rank(view, node);
    if (rank < 0)
        return;
    measure_suspect(toy->world, node, view->ring[rank].incarnation, false);
    tell_missed(toy->world, toy->node, node, GW_BY_SILENCE);
}

void ring_told(struct toy *toy, const struct gw__notification *notification)
{
    toy->told = true;
    switch (notification->kind) {
    case GW__NOTIFY_REGISTERED:
        toy->registered = true;
        break;
    case GW__NOTIFY_UPDATE:
        joiner_news(toy);
        break;
    case GW__NOTIFY_VIEW:
        toy->pending = *gw__member_view(toy->member);
        toy->has_pending = true;
        toy->admits = false;
        break;
    case GW__NOTIFY_FREEZE:
        freeze(toy, notification->epoch);
        break;
    case GW__NOTIFY_DECIDED:
        resume(toy);
        break;
    case GW__NOTIFY_ADDRESSES:
        toy->met_epoch = notification->epoch;
        break;
    case GW__NOTIFY_READY:
        toy->ready = notification->count;
        break;
    case GW__NOTIFY_REFUSED:
        toy->admits = false;
        break;
    case GW__NOTIFY_SUSPECT:
        suspect(toy, notification->node);
        break;
    case GW__NOTIFY_GONE:
        toy->gone = true;
        if (oracle_active(toy->world, toy->node, toy->incarnation))
            toy_fail(toy, "it has left, but was not removed: %s",
                     notification->text);
        world_restart(toy->world, toy->node);
        break;
    default:
        break;
    }
}

/* ---- reactions ---- */

static void report_flush(struct toy *toy)
{
    struct gw__member_request request = {.kind = GW__REQUEST_REPORT,
                                         .flush = {.epoch = toy->flush_epoch}};
    if (toy->in_ring)
        gw__op_table_report(&toy->ops, &request.flush.report);
    toy->wants_report = false;
    toy_ask(toy, &request);
}

static void adopt(struct toy *toy)
{
    if (!toy->in_ring)
        enter(toy, &toy->pending);
    if (!gw__op_table_may_adopt(&toy->ops, &toy->pending))
        return;
    if (toy->pending.ring_epoch <= toy->ops.view.ring_epoch)
        toy_fail(toy, "ring epoch %llu after %llu",
                 (unsigned long long)toy->pending.ring_epoch,
                 (unsigned long long)toy->ops.view.ring_epoch);
    toy->has_pending = false;
    if (!gw__op_table_adopt(&toy->ops, &toy->pending)) {
        toy->runs[toy->ops.next_op % GW__OP_TABLE_OPS].used = false;
        toy->world->met.begun_anew++;
    }
}

static void send_address(struct toy *toy)
{
    struct gw__member_request request = {
        .kind = GW__REQUEST_ADDRESS,
        .address = {.ring_epoch = toy->ops.view.ring_epoch,
                    .bytes = sizeof toy->node}};
    memcpy(request.address.blob, &toy->node, sizeof toy->node);
    toy->asked_epoch = request.address.ring_epoch;
    toy_ask(toy, &request);
}

/* The intended order, which reaches each member now and then, and all of them
 * at the end. */
static void hear_order(struct toy *toy)
{
    struct world *w = toy->world;
    if (gw__sim_now(w->sim) > w->fault_end_ns ||
        (w->orders && gw_rng_below(&w->order_rng, 2)))
        toy->order = w->order;
}

/* The first member that takes part in the op asks for joiners, or for an order,
 * once per op. */
static bool is_to_admit(struct toy *toy)
{
    const struct gw__view *view = &toy->ops.view;
    hear_order(toy);
    if ((!toy->ready && gw__view_in_order(view, &toy->order)) ||
        toy->admit_tried == toy->ops.next_op + 1 ||
        !gw__op_table_may_admit(&toy->ops) || toy->has_pending)
        return false;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op <= toy->ops.next_op)
            return view->ring[i].node == toy->node;
    return false;
}

/* Computes its place once; it remains when the op is begun again. */
static void take_place(struct toy *toy)
{
    unsigned origin[GW__NODES_MAX];
    uint64_t op = toy->ops.next_op;
    unsigned count = gw__op_table_initial_members(&toy->ops, op, origin);
    if (toy->placed_op == op + 1)
        return;
    toy->placed_op = op + 1;
    toy->place = 0;
    while (toy->place < count && origin[toy->place] != toy->node)
        toy->place++;
}

static void check_place(const struct toy *toy, uint64_t op)
{
    unsigned origin[GW__NODES_MAX];
    unsigned count = gw__op_table_initial_members(&toy->ops, op, origin);
    uint64_t contributors = gw__op_table_contributors(&toy->ops, op);
    if (toy->placed_op != op + 1 || !(contributors >> toy->node & 1))
        return;
    if (toy->place >= count || origin[toy->place] != toy->node)
        toy_fail(toy, "op %llu: computed for place %u, which is not its own",
                 (unsigned long long)op, toy->place);
}

static void begin_page(struct toy *toy)
{
    const struct gw__op_entry *entry = next_page(toy);
    const struct gw__view *view = &toy->ops.view;
    if (!toy->sure || toy->ops.frozen || toy->admits ||
        (entry && entry->begun) || toy->now_ns < toy->compute_ns)
        return;
    if (is_to_admit(toy)) {
        toy->admit_tried = toy->ops.next_op + 1;
        toy->admits = true;
        toy_ask(toy, &(const struct gw__member_request){
                         .kind = GW__REQUEST_ADMIT,
                         .admit = {.from_op = toy->ops.next_op,
                                   .ring_epoch = view->ring_epoch,
                                   .order = toy->order}});
        return;
    }
    gw__op_table_begin(&toy->ops);
    take_place(toy);
}

static void start_task(struct toy *toy)
{
    struct gw__recovery_task task;
    bool met = toy->met_epoch == toy->ops.view.ring_epoch;
    if ((!met && !toy->world->eager) ||
        !gw__op_table_recovery_task(&toy->ops, &task))
        return;
    const struct run *run = &toy->runs[task.op % GW__OP_TABLE_OPS];
    if (!run->used || run->op != task.op ||
        run->ring_epoch != toy->ops.view.ring_epoch)
        path_start(toy, &task);
}

void ring_work(struct toy *toy)
{
    if (!toy->registered)
        return;
    if (toy->wants_report)
        report_flush(toy);
    if (toy->has_pending)
        adopt(toy);
    joiner_work(toy);
    if (toy->gone || !toy->in_ring || toy->ops.view.ring_count == 0)
        return;
    if (!toy->ops.frozen && toy->asked_epoch != toy->ops.view.ring_epoch)
        send_address(toy);
    begin_page(toy);
    start_task(toy);
    path_work(toy);
}

uint64_t ring_due(const struct toy *toy)
{
    return toy->in_ring && toy->compute_ns > toy->now_ns ? toy->compute_ns : 0;
}

/* ---- a result ---- */

static void add_result(struct toy *toy, uint64_t op)
{
    struct run *run = &toy->runs[op % GW__OP_TABLE_OPS];
    struct result *result = &toy->results[op % GW__OP_TABLE_OPS];
    uint64_t contributors = gw__op_table_contributors(&toy->ops, op);
    uint64_t hash = run->chunks;
    for (unsigned chunk = 0; chunk < run->chunks; chunk++) {
        const struct amount *value = &run->values[chunk]; /* it has padding */
        const uint64_t key[3] = {(uint64_t)value->digits,
                                 (uint64_t)(value->digits >> 64), value->sum};
        hash = gw__mix_bytes(hash, key, sizeof key);
    }
    const uint64_t chain[4] = {toy->state.digest, op, contributors, hash};
    toy->state.digest = gw__mix_bytes(1, chain, sizeof chain);
    toy->state.next = op + 1;
    toy->state.epoch = toy->ops.view.epoch;
    *result = (struct result){.used = true,
                              .op = op,
                              .contributors = contributors,
                              .hash = hash,
                              .digest = toy->state.digest,
                              .epoch = toy->state.epoch};
    oracle_complete(toy, op, contributors, toy->state.digest);
}

void ring_completed(struct toy *toy, uint64_t op)
{
    static const struct gw__member_request leave = {.kind = GW__REQUEST_LEAVE};
    bool first = op == toy->ops.next_op;
    const struct told_event end = {.kind = GW_EV_OP_END,
                                   .peer = GW_NONE,
                                   .op = (uint32_t)op,
                                   .step = GW_NONE,
                                   .chunk = GW_NONE};
    check_place(toy, op);
    gw__op_table_done(&toy->ops, op);
    tell(toy, &end);
    toy->told = true; /* another pass may find more to do */
    if (!first)
        return;
    add_result(toy, op);
    measure_completed(toy, op);
    if (toy->world->asked.calm) {
        toy->compute_ns = toy->now_ns + CALM_COMPUTE_NS;
        return;
    }
    toy->compute_ns = toy->now_ns + MS + gw_rng_below(&toy->rng, 25 * MS);
    toy->leaves |= gw_rng_below(&toy->rng, 500) == 0;
    if (toy->leaves)
        toy_ask(toy, &leave);
}
