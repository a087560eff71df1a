/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A member in the ring: the reports of its machine, and its reactions, one op
 * after the other. A runtime uses the op table in the same way.
 */
#include "ring_simcluster.h"

#include <base/mix.h>

#include <string.h>

/* Without random choices: the delay before an op, and the time of the first
 * one, when the ring has formed. */
#define CALM_COMPUTE_NS (10 * MS)
#define CALM_BEGIN_NS   (200 * MS)

static struct gw__op_entry *next_entry(struct sim_node *node)
{
    struct gw__op_entry *entry =
        &node->ops.entries[node->ops.next_op % GW__OP_TABLE_OPS];
    return entry->used && entry->op == node->ops.next_op ? entry : NULL;
}

/* ---- reports of the machine ---- */

/* The first view of a joiner. */
static void enter(struct sim_node *node, const struct gw__view *view)
{
    uint64_t from_op = view->ring[gw__view_rank(view, node->node)].from_op;
    gw__op_table_init(&node->ops, node->node, from_op);
    node->ops.any_epoch = node->cluster->any_epoch;
    node->ops.chosen = &node->cluster->chosen;
    node->in_ring = true;
    uint64_t now_ns = gw__sim_now(node->cluster->sim); /* not its own clock */
    if (node->cluster->params.calm && now_ns < CALM_BEGIN_NS)
        node->compute_ns = node->now_ns + CALM_BEGIN_NS - now_ns;
    if (from_op == 0) { /* no state has to be fetched */
        node->has_state = node->state.next == 0 && !node->state.over;
    }
}

static void freeze(struct sim_node *node, uint64_t flush_epoch)
{
    node->wants_report = true;
    node->flush_epoch = flush_epoch;
    node->has_pending = node->admits = false;
    if (node->in_ring)
        gw__op_table_freeze(&node->ops);
}

/* An op that is complete here must not be decided otherwise. */
static void check_decision(const struct sim_node *node,
                           const struct gw__decision *decision)
{
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) {
        const struct gw__op_entry *entry = &node->ops.entries[i];
        if (entry->complete && entry->op == decision->op &&
            !gw__nodes_equal(entry->sets.target, decision->contributors)) {
            char has[96], decided[96];
            gw__nodes_text(&entry->sets.target, has, sizeof has);
            gw__nodes_text(&decision->contributors, decided, sizeof decided);
            sim_node_fail(node, "op %llu is complete with %s, decided as %s",
                          (unsigned long long)entry->op, has, decided);
        }
    }
}

static void resume(struct sim_node *node)
{
    const struct gw__report *reports[GW__NODES_MAX];
    const struct gw__view *view = gw__member_view(node->member);
    const struct gw__membership_update *update =
        gw__member_update(node->member);
    for (unsigned i = 0; i < GW__NODES_MAX; i++)
        reports[i] = gw__member_report(node->member, i);
    for (unsigned i = 0; i < update->decision_count; i++)
        check_decision(node, &update->decisions[i]);
    if (!node->in_ring)
        enter(node, view);
    gw__op_table_resume(&node->ops, view, update->decisions,
                        update->decision_count, reports);
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) { /* of the former ring */
        node->runs[i].send_count = node->runs[i].receive_count = 0;
        node->runs[i].unacked_count = 0;
        node->runs[i].ready_first = node->runs[i].ready_end = 0;
        node->runs[i].due_ns = UINT64_MAX;
    }
}

static void suspect(const struct sim_node *sim_node, unsigned node)
{
    const struct gw__view *view = &gw__member_update(sim_node->member)->view;
    int rank = gw__view_rank(view, node);
    if (rank < 0)
        return;
    measure_suspect(sim_node->cluster, node, view->ring[rank].incarnation,
                    false);
    report_missed(sim_node->cluster, sim_node->node, node, GW_BY_SILENCE);
}

void ring_notified(struct sim_node *node,
                   const struct gw__notification *notification)
{
    node->reported = true;
    switch (notification->kind) {
    case GW__NOTIFY_REGISTERED:
        node->registered = true;
        break;
    case GW__NOTIFY_UPDATE:
        joiner_update(node);
        break;
    case GW__NOTIFY_VIEW:
        gw__view_copy(&node->pending, gw__member_view(node->member));
        node->has_pending = true;
        node->admits = false;
        break;
    case GW__NOTIFY_FREEZE:
        freeze(node, notification->epoch);
        break;
    case GW__NOTIFY_DECIDED:
        resume(node);
        break;
    case GW__NOTIFY_ADDRESSES:
        node->met_epoch = notification->epoch;
        break;
    case GW__NOTIFY_READY:
        node->ready = notification->count;
        break;
    case GW__NOTIFY_REFUSED:
        node->admits = false;
        break;
    case GW__NOTIFY_SUSPECT:
        suspect(node, notification->node);
        break;
    case GW__NOTIFY_GONE:
        node->gone = true;
        if (oracle_active(node->cluster, node->node, node->incarnation))
            sim_node_fail(node, "it has left, but was not removed: %s",
                          notification->text);
        simcluster_restart(node->cluster, node->node);
        break;
    default:
        break;
    }
}

/* ---- reactions ---- */

static void report_flush(struct sim_node *node)
{
    struct gw__member_request request = {.kind = GW__REQUEST_REPORT,
                                         .flush = {.epoch = node->flush_epoch}};
    if (node->in_ring)
        gw__op_table_report(&node->ops, &request.flush.report);
    node->wants_report = false;
    scripted_run(node, &request);
}

static void adopt(struct sim_node *node)
{
    if (!node->in_ring)
        enter(node, &node->pending);
    if (!gw__op_table_may_adopt(&node->ops, &node->pending))
        return;
    if (node->pending.ring_epoch <= node->ops.view.ring_epoch)
        sim_node_fail(node, "ring epoch %llu after %llu",
                      (unsigned long long)node->pending.ring_epoch,
                      (unsigned long long)node->ops.view.ring_epoch);
    node->has_pending = false;
    if (!gw__op_table_adopt(&node->ops, &node->pending)) {
        node->runs[node->ops.next_op % GW__OP_TABLE_OPS].used = false;
        node->cluster->met.begun_anew++;
    }
}

static void send_address(struct sim_node *node)
{
    struct gw__member_request request = {
        .kind = GW__REQUEST_ADDRESS,
        .address = {.ring_epoch = node->ops.view.ring_epoch,
                    .bytes = sizeof node->node}};
    memcpy(request.address.blob, &node->node, sizeof node->node);
    node->address_epoch = request.address.ring_epoch;
    scripted_run(node, &request);
}

/* The intended order, which reaches each member now and then, and all of them
 * at the end. */
static void receive_order(struct sim_node *node)
{
    struct simcluster *w = node->cluster;
    if (gw__sim_now(w->sim) > w->fault_end_ns ||
        (w->order_changes && gw_rng_below(&w->order_rng, 2)))
        node->order = w->order;
}

/* The first member that takes part in the op asks for joiners, or for an order,
 * once per op. */
static bool is_to_admit(struct sim_node *node)
{
    const struct gw__view *view = &node->ops.view;
    receive_order(node);
    if ((!node->ready && gw__view_in_order(view, &node->order)) ||
        node->admit_tried == node->ops.next_op + 1 ||
        !gw__op_table_may_admit(&node->ops) || node->has_pending)
        return false;
    for (unsigned i = 0; i < view->ring_count; i++)
        if (view->ring[i].from_op <= node->ops.next_op)
            return view->ring[i].node == node->node;
    return false;
}

/* Computes its place once; it remains when the op is begun again. */
static void compute_place(struct sim_node *node)
{
    unsigned initial[GW__NODES_MAX];
    uint64_t op = node->ops.next_op;
    unsigned count = gw__op_table_initial_members(&node->ops, op, initial);
    if (node->place_op == op + 1)
        return;
    node->place_op = op + 1;
    node->place = 0;
    while (node->place < count && initial[node->place] != node->node)
        node->place++;
}

static void check_place(const struct sim_node *node, uint64_t op)
{
    unsigned initial[GW__NODES_MAX];
    unsigned count = gw__op_table_initial_members(&node->ops, op, initial);
    struct gw_nodes contributors = gw__op_table_contributors(&node->ops, op);
    if (node->place_op != op + 1 || !gw__nodes_has(&contributors, node->node))
        return;
    if (node->place >= count || initial[node->place] != node->node)
        sim_node_fail(node,
                      "op %llu: computed for place %u, which is not its own",
                      (unsigned long long)op, node->place);
}

static void begin_op(struct sim_node *node)
{
    const struct gw__op_entry *entry = next_entry(node);
    const struct gw__view *view = &node->ops.view;
    if (!node->has_state || node->ops.frozen || node->admits ||
        (entry && entry->begun) || node->now_ns < node->compute_ns)
        return;
    if (is_to_admit(node)) {
        node->admit_tried = node->ops.next_op + 1;
        node->admits = true;
        scripted_run(node, &(const struct gw__member_request){
                               .kind = GW__REQUEST_ADMIT,
                               .admit = {.from_op = node->ops.next_op,
                                         .ring_epoch = view->ring_epoch,
                                         .order = node->order}});
        return;
    }
    gw__op_table_begin(&node->ops);
    compute_place(node);
}

static void start_recovery_task(struct sim_node *node)
{
    struct gw__recovery_task task;
    bool met = node->met_epoch == node->ops.view.ring_epoch;
    if ((!met && !node->cluster->eager) ||
        !gw__op_table_recovery_task(&node->ops, &task))
        return;
    const struct run *run = &node->runs[task.op % GW__OP_TABLE_OPS];
    if (!run->used || run->op != task.op ||
        run->ring_epoch != node->ops.view.ring_epoch)
        path_start(node, &task);
}

void ring_work(struct sim_node *node)
{
    if (!node->registered)
        return;
    if (node->wants_report)
        report_flush(node);
    if (node->has_pending)
        adopt(node);
    joiner_work(node);
    if (node->gone || !node->in_ring || node->ops.view.ring_count == 0)
        return;
    if (!node->ops.frozen && node->address_epoch != node->ops.view.ring_epoch)
        send_address(node);
    begin_op(node);
    start_recovery_task(node);
    path_work(node);
}

uint64_t ring_due(const struct sim_node *node)
{
    return node->in_ring && node->compute_ns > node->now_ns ? node->compute_ns
                                                            : 0;
}

/* ---- a result ---- */

static void add_result(struct sim_node *node, uint64_t op)
{
    struct run *run = &node->runs[op % GW__OP_TABLE_OPS];
    struct result *result = &node->results[op % GW__OP_TABLE_OPS];
    struct gw_nodes contributors = gw__op_table_contributors(&node->ops, op);
    uint64_t hash = run->chunks;
    for (unsigned chunk = 0; chunk < run->chunks; chunk++) {
        const struct amount *value = &run->values[chunk];
        hash = gw__mix_bytes(hash, value, sizeof *value);
    }
    node->state.digest =
        state_digest(node->state.digest, op, &contributors, hash);
    node->state.next = op + 1;
    node->state.epoch = node->ops.view.epoch;
    *result = (struct result){.used = true,
                              .op = op,
                              .contributors = contributors,
                              .hash = hash,
                              .digest = node->state.digest,
                              .epoch = node->state.epoch};
    oracle_complete(node, op, &contributors, node->state.digest);
}

/* A member leaves after one of so many ops. Large rings lose as few per op as
 * small ones: otherwise they would never be whole. */
static uint64_t leave_odds(const struct simcluster *w)
{
    enum { OPS = 500, SMALL = 8 };
    return w->members <= SMALL ? OPS : OPS * (uint64_t)w->members / SMALL;
}

void ring_completed(struct sim_node *node, uint64_t op)
{
    static const struct gw__member_request leave = {.kind = GW__REQUEST_LEAVE};
    bool first = op == node->ops.next_op;
    const struct member_event end = {.kind = GW_EV_OP_END,
                                     .peer = GW_NONE,
                                     .op = (uint32_t)op,
                                     .step = GW_NONE,
                                     .chunk = GW_NONE};
    check_place(node, op);
    gw__op_table_done(&node->ops, op);
    report(node, &end);
    node->reported = true; /* another pass may find more to do */
    if (!first)
        return;
    add_result(node, op);
    measure_completed(node, op);
    if (node->cluster->params.calm) {
        node->compute_ns = node->now_ns + CALM_COMPUTE_NS;
        return;
    }
    node->compute_ns = node->now_ns + MS + gw_rng_below(&node->rng, 25 * MS);
    node->leaves |= gw_rng_below(&node->rng, leave_odds(node->cluster)) == 0;
    if (node->leaves)
        scripted_run(node, &leave);
}
