/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The simulated data path: an op is a plan whose transfers are messages, and
 * messages are lost, doubled and late. The real engine works with slices; this
 * one works with whole chunks:
 *
 *     DATA  ring epoch, op | chunk, turn | set, value    until it is acked
 *     ACK   ring epoch, op | chunk, turn
 *
 * The turn counts the transfers of a chunk over a link, like an ordered wire. A
 * transfer is sent when the chunk contains all that must be received before,
 * and a repeated transfer has the same content. It is applied once, in its
 * turn. Only the op table decides whether a message belongs to the op as it is
 * executed now.
 */
#include "ring_simcluster.h"

#include <base/mix.h>

enum { AGAIN_NS = 6000000 };

struct amount value_input(unsigned node, uint64_t op, unsigned chunk)
{
    return (struct amount){.digits = (wide)1 << 2 * node,
                           .sum = gw__mix_words(4, op << 8 | node, chunk)};
}

static struct amount value_add(struct amount a, struct amount b)
{
    return (struct amount){a.digits + b.digits, a.sum + b.sum};
}

struct data {
    uint8_t kind, chunk, turn, zero;
    uint32_t zeros;
    uint64_t ring_epoch, op, set;
    uint64_t low, high, sum;
};

struct ack {
    uint8_t kind, chunk, turn, zero;
    uint32_t zeros;
    uint64_t ring_epoch, op;
};

static struct run *run_of(struct sim_node *node, uint64_t op)
{
    struct run *run = &node->runs[op % GW__OP_TABLE_OPS];
    return run->used && run->op == op ? run : NULL;
}

/* ---- beginning ---- */

/* Its turn is the number of earlier transfers of the same chunk over the link.
 */
static void add_send(struct run *run, unsigned to, unsigned chunk,
                     unsigned step)
{
    struct sending *s = &run->sends[run->send_count++];
    *s = (struct sending){
        .to = (uint8_t)to, .chunk = (uint8_t)chunk, .step = (uint8_t)step};
    for (const struct sending *e = run->sends; e < s; e++)
        if (e->to == to && e->chunk == chunk)
            s->turn++;
}

static void add_receive(struct run *run, unsigned from, unsigned chunk,
                        unsigned step, bool adds)
{
    struct receiving *r = &run->receives[run->receive_count++];
    *r = (struct receiving){.from = (uint8_t)from,
                            .chunk = (uint8_t)chunk,
                            .step = (uint8_t)step,
                            .adds = adds};
    for (const struct receiving *e = run->receives; e < r; e++)
        if (e->from == from && e->chunk == chunk)
            r->turn++;
}

/* Copies this node's sends and receives from the plan, step by step. */
static void copy_transfers(struct run *run, unsigned self,
                           const struct gw__recovery_case *c,
                           const struct gw_plan *plan)
{
    for (unsigned step = 0; step < plan->steps; step++)
        for (size_t t = plan->step_begin[step]; t < plan->step_begin[step + 1];
             t++) {
            const struct gw_transfer *x = &plan->transfers[t];
            unsigned src = c->nodes[x->src], dst = c->nodes[x->dst];
            if (src == self)
                add_send(run, dst, x->chunk, step);
            if (dst == self)
                add_receive(run, src, x->chunk, step, x->action == GW_ADD);
        }
}

/* The initial value of a chunk: the input, or the partial result. */
static void begin_chunk(struct sim_node *node, struct run *run, unsigned chunk,
                        uint64_t start)
{
    const struct gw__contributor_sets *sets =
        gw__op_table_sets(&node->ops, run->op);
    if (start == (uint64_t)1 << node->node)
        run->values[chunk] = value_input(node->node, run->op, chunk);
    else if (sets->sets[chunk] != start)
        sim_node_fail(
            node, "op %llu, chunk %u: should continue from %llx, but has %llx",
            (unsigned long long)run->op, chunk, (unsigned long long)start,
            (unsigned long long)sets->sets[chunk]);
    oracle_value(node, run->op, chunk, start, run->values[chunk]);
}

void path_start(struct sim_node *node, const struct gw__recovery_task *task)
{
    struct run *run = &node->runs[task->op % GW__OP_TABLE_OPS];
    struct gw__recovery recovery;
    struct gw_error why;
    if (gw__recovery_make(&task->plan, &recovery, &why)) {
        sim_node_fail(node, "op %llu: %s", (unsigned long long)task->op,
                      why.text);
        return;
    }
    oracle_plan(node, task, &recovery);
    const struct member_event begin = {.kind = GW_EV_OP_BEGIN,
                                       .peer = GW_NONE,
                                       .op = (uint32_t)task->op,
                                       .step = GW_NONE,
                                       .chunk = GW_NONE,
                                       .value = GW_ALLREDUCE};
    report(node, &begin);
    if (!run->used || run->op != task->op)
        memset(run->values, 0, sizeof run->values);
    run->used = true;
    run->op = task->op;
    run->ring_epoch = node->ops.view.ring_epoch;
    run->chunks = task->plan.chunks;
    run->send_count = run->receive_count = 0;
    run->due_ns = 0;
    if (recovery.plan->transfer_count <= TRANSFERS_MOST)
        copy_transfers(run, node->node, &task->plan, recovery.plan);
    else
        sim_node_fail(node, "a plan of %zu transfers",
                      recovery.plan->transfer_count);
    const uint64_t *start =
        recovery.sets + (size_t)task->rank * task->plan.chunks;
    for (unsigned chunk = 0; chunk < run->chunks; chunk++)
        begin_chunk(node, run, chunk, start[chunk]);
    report_recovery(node, task, start);
    gw__contributor_sets_retarget(gw__op_table_sets(&node->ops, task->op),
                                  task->plan.target, start);
    gw__recovery_fini(&recovery);
}

/* ---- sending ---- */

static void send_data(struct sim_node *node, const struct run *run,
                      struct sending *s)
{
    const struct data data = {.kind = SIM_NODE_DATA,
                              .chunk = s->chunk,
                              .turn = s->turn,
                              .ring_epoch = run->ring_epoch,
                              .op = run->op,
                              .set = s->set,
                              .low = (uint64_t)s->value.digits,
                              .high = (uint64_t)(s->value.digits >> 64),
                              .sum = s->value.sum};
    sim_node_send(node, s->to, &data, sizeof data);
    s->again_ns = node->now_ns + AGAIN_NS;
}

static void capture(struct sim_node *node, const struct run *run,
                    struct sending *s)
{
    const struct member_event event = {.kind = GW_EV_SEND,
                                       .peer = s->to,
                                       .op = (uint32_t)run->op,
                                       .step = s->step,
                                       .chunk = s->chunk,
                                       .value = 1};
    s->captured = true;
    s->set = gw__op_table_sets(&node->ops, run->op)->sets[s->chunk];
    s->value = run->values[s->chunk];
    node->cluster->measures.transfers++;
    report(node, &event);
}

/* Have all transfers of the chunk before the step been received? */
static bool has_received(const struct run *run, unsigned chunk, unsigned step)
{
    const struct receiving *end = run->receives + run->receive_count;
    for (const struct receiving *r = run->receives; r < end && r->step < step;
         r++)
        if (r->chunk == chunk && !r->applied)
            return false;
    return true;
}

/* Have all transfers of the chunk up to the step been sent? */
static bool has_sent(const struct run *run, unsigned chunk, unsigned step)
{
    const struct sending *end = run->sends + run->send_count;
    for (const struct sending *s = run->sends; s < end && s->step <= step; s++)
        if (s->chunk == chunk && !s->captured)
            return false;
    return true;
}

static void send_due(struct sim_node *node, struct run *run)
{
    if (node->now_ns < run->due_ns)
        return;
    run->due_ns = UINT64_MAX;
    for (unsigned i = 0; i < run->send_count; i++) {
        struct sending *s = &run->sends[i];
        if (s->acked)
            continue;
        if (!s->captured && has_received(run, s->chunk, s->step))
            capture(node, run, s);
        if (s->captured && node->now_ns >= s->again_ns)
            send_data(node, run, s);
        if (s->captured && s->again_ns < run->due_ns)
            run->due_ns = s->again_ns;
    }
}

/* Sends the transfers that are ready, and completes the op. Nothing while
 * frozen. */
void path_work(struct sim_node *node)
{
    for (unsigned i = 0; i < GW__OP_TABLE_OPS; i++) {
        struct run *run = &node->runs[i];
        const struct gw__op_entry *entry = &node->ops.entries[i];
        if (!entry->used || !entry->begun || entry->op != run->op)
            run->used = false; /* all members have completed that op */
        if (run->used && !node->ops.frozen)
            send_due(node, run);
    }
    struct gw__recovery_task task;
    while (
        gw__op_table_recovery_task(&node->ops, &task) &&
        run_of(node, task.op) &&
        run_of(node, task.op)->ring_epoch == node->ops.view.ring_epoch &&
        gw__contributor_sets_complete(gw__op_table_sets(&node->ops, task.op)))
        ring_completed(node, task.op);
}

uint64_t path_due(const struct sim_node *node)
{
    uint64_t due = 0;
    for (unsigned i = 0; i < GW__OP_TABLE_OPS && !node->ops.frozen; i++) {
        const struct run *run = &node->runs[i];
        if (run->used && run->due_ns < UINT64_MAX &&
            (due == 0 || run->due_ns < due))
            due = run->due_ns;
    }
    return due;
}

/* ---- receiving ---- */

static struct receiving *find_receive(struct run *run, unsigned from,
                                      unsigned chunk, unsigned turn)
{
    for (unsigned i = 0; i < run->receive_count; i++) {
        struct receiving *r = &run->receives[i];
        if (r->from == from && r->chunk == chunk && r->turn == turn)
            return r;
    }
    return NULL;
}

static void report_applied(const struct sim_node *node, const struct run *run,
                           const struct receiving *r)
{
    const struct member_event event = {.kind = GW_EV_APPLY,
                                       .peer = r->from,
                                       .op = (uint32_t)run->op,
                                       .step = r->step,
                                       .chunk = r->chunk,
                                       .value = r->adds};
    report(node, &event);
}

static void apply_data(struct sim_node *node, struct run *run,
                       struct receiving *r, const struct data *data)
{
    struct gw__contributor_sets *sets = gw__op_table_sets(&node->ops, run->op);
    struct amount incoming = {.digits = (wide)data->high << 64 | data->low,
                              .sum = data->sum};
    struct gw_error why;
    enum gw_err err =
        r->adds ? gw__contributor_sets_add(sets, r->chunk, data->set, &why)
                : gw__contributor_sets_replace(sets, r->chunk, data->set, &why);
    struct amount *value = &run->values[r->chunk];
    *value = r->adds ? value_add(*value, incoming) : incoming;
    r->applied = true;
    run->due_ns = 0; /* more may be sent now */
    report_applied(node, run, r);
    if (err) { /* added all the same, to find the effect */
        oracle_refused(node, run->op, r->chunk, sets->target, *value);
        sim_node_fail(node, "%s", why.text);
    }
    oracle_value(node, run->op, r->chunk, sets->sets[r->chunk], *value);
}

void path_data(struct sim_node *node, unsigned from, const uint8_t *bytes,
               size_t count)
{
    struct data data;
    if (count != sizeof data)
        return;
    memcpy(&data, bytes, sizeof data);
    struct run *run = run_of(node, data.op);
    if (!run || !gw__op_table_accepts(&node->ops, data.ring_epoch, data.op))
        return;
    struct receiving *r = find_receive(run, from, data.chunk, data.turn);
    if (!r)
        return;
    if (!r->applied && has_received(run, r->chunk, r->step) &&
        has_sent(run, r->chunk, r->step))
        apply_data(node, run, r, &data);
    const struct ack ack = {.kind = SIM_NODE_ACK,
                            .chunk = data.chunk,
                            .turn = data.turn,
                            .ring_epoch = data.ring_epoch,
                            .op = data.op};
    if (r->applied)
        sim_node_send(node, from, &ack, sizeof ack);
}

void path_ack(struct sim_node *node, unsigned from, const uint8_t *bytes,
              size_t count)
{
    struct ack ack;
    if (count != sizeof ack)
        return;
    memcpy(&ack, bytes, sizeof ack);
    struct run *run = run_of(node, ack.op);
    if (!run || run->ring_epoch != ack.ring_epoch)
        return;
    for (unsigned i = 0; i < run->send_count; i++) {
        struct sending *s = &run->sends[i];
        if (s->to != from || s->chunk != ack.chunk || s->turn != ack.turn)
            continue;
        s->acked = true;
        run->due_ns = 0;
        return;
    }
}
