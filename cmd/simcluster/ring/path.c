/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The simulated data path: an op is a plan whose transfers are messages, and
 * messages are lost, doubled and late. The real engine works with slices; this
 * one works with whole chunks:
 *
 *     DATA  ring epoch, op | chunk, turn | value, set    until it is acked
 *     ACK   ring epoch, op | chunk, turn
 *
 * The turn counts the transfers of a chunk over a link, like an ordered wire. A
 * transfer is sent when the chunk contains all that must be received before,
 * and a repeated transfer has the same content. It is applied once, in its
 * turn. Only the op table decides whether a message belongs to the op as it is
 * executed now.
 */
#include "ring_simcluster.h"

#include <stddef.h>

enum { AGAIN_NS = 6000000 };

static struct amount value_input(unsigned node, uint64_t op, unsigned chunk)
{
    return (struct amount){.low = gw__nodes_only(node),
                           .sum = value_number(node, op, chunk)};
}

static struct amount value_add(struct amount a, struct amount b)
{
    struct gw_nodes two = gw__nodes_and(a.low, b.low);
    struct gw_nodes odd = gw__nodes_minus(gw__nodes_or(a.low, b.low), two);
    struct gw_nodes four =
        gw__nodes_or(gw__nodes_and(a.high, b.high),
                     gw__nodes_and(two, gw__nodes_or(a.high, b.high)));
    return (struct amount){.low = gw__nodes_or(odd, four),
                           .high =
                               gw__nodes_or(two, gw__nodes_or(a.high, b.high)),
                           .sum = a.sum + b.sum};
}

/* Of the three sets, only the words that the members of the cluster have are
 * sent. */
struct data {
    uint8_t kind, zero;
    uint16_t chunk, turn, zeros;
    uint64_t ring_epoch, op, sum;
    uint64_t words[3 * GW__NODE_WORDS];
};

static unsigned set_words(const struct sim_node *node)
{
    return (node->cluster->members + 63) / 64;
}

static size_t data_bytes(const struct sim_node *node)
{
    return offsetof(struct data, words) +
           3 * set_words(node) * sizeof(uint64_t);
}

static void pack_set(struct data *data, unsigned i, unsigned words,
                     const struct gw_nodes *set)
{
    memcpy(&data->words[i * words], set->words, words * sizeof(uint64_t));
}

static struct gw_nodes unpack_set(const struct data *data, unsigned i,
                                  unsigned words)
{
    struct gw_nodes set = {{0}};
    memcpy(set.words, &data->words[i * words], words * sizeof(uint64_t));
    return set;
}

struct ack {
    uint8_t kind, zero;
    uint16_t chunk, turn, zeros;
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
    struct chain *chain = &run->send_chains[chunk];
    struct sending *s = &run->sends[run->send_count++];
    *s = (struct sending){.to = (uint16_t)to,
                          .chunk = (uint16_t)chunk,
                          .step = (uint16_t)step,
                          .received = run->received[chunk]};
    for (unsigned i = chain->first; i; i = run->sends[i - 1].next)
        if (run->sends[i - 1].to == to)
            s->turn++;
    *(chain->last ? &run->sends[chain->last - 1].next : &chain->first) =
        (uint16_t)run->send_count;
    chain->last = (uint16_t)run->send_count;
    run->sent[chunk]++;
}

static void add_receive(struct run *run, unsigned from, unsigned chunk,
                        unsigned step, bool adds)
{
    struct chain *chain = &run->receive_chains[chunk];
    struct receiving *r = &run->receives[run->receive_count++];
    *r = (struct receiving){.from = (uint16_t)from,
                            .chunk = (uint16_t)chunk,
                            .step = (uint16_t)step,
                            .received = run->received[chunk],
                            .sent = run->sent[chunk],
                            .adds = adds};
    for (unsigned i = chain->first; i; i = run->receives[i - 1].next)
        if (run->receives[i - 1].from == from)
            r->turn++;
    *(chain->last ? &run->receives[chain->last - 1].next : &chain->first) =
        (uint16_t)run->receive_count;
    chain->last = (uint16_t)run->receive_count;
    run->received[chunk]++;
}

/* Copies this node's sends and receives from the plan, step by step. A send
 * reads the value from before its step, so the sends of a step come before its
 * receives. */
static void copy_transfers(struct run *run, unsigned self,
                           const struct gw__recovery_case *c,
                           const struct gw_plan *plan)
{
    memset(run->received, 0, plan->chunks * sizeof *run->received);
    memset(run->sent, 0, plan->chunks * sizeof *run->sent);
    memset(run->send_chains, 0, plan->chunks * sizeof *run->send_chains);
    memset(run->receive_chains, 0, plan->chunks * sizeof *run->receive_chains);
    for (unsigned step = 0; step < plan->steps; step++) {
        const struct gw_transfer *first =
            &plan->transfers[plan->step_begin[step]];
        const struct gw_transfer *end =
            &plan->transfers[plan->step_begin[step + 1]];
        for (const struct gw_transfer *x = first; x < end; x++)
            if (c->nodes[x->src] == self)
                add_send(run, c->nodes[x->dst], x->chunk, step);
        for (const struct gw_transfer *x = first; x < end; x++)
            if (c->nodes[x->dst] == self)
                add_receive(run, c->nodes[x->src], x->chunk, step,
                            x->action == GW_ADD);
    }
    memset(run->received, 0, plan->chunks * sizeof *run->received);
    memset(run->sent, 0, plan->chunks * sizeof *run->sent);
}

/* The initial value of a chunk: the input, or the partial result. */
static void begin_chunk(struct sim_node *node, struct run *run, unsigned chunk,
                        const struct gw_nodes *start)
{
    const struct gw__contributor_sets *sets =
        gw__op_table_sets(&node->ops, run->op);
    char should[96], has[96];
    if (gw__nodes_equal(*start, gw__nodes_only(node->node)))
        run->values[chunk] = value_input(node->node, run->op, chunk);
    else if (!gw__nodes_equal(sets->sets[chunk], *start)) {
        gw__nodes_text(start, should, sizeof should);
        gw__nodes_text(&sets->sets[chunk], has, sizeof has);
        sim_node_fail(node,
                      "op %llu, chunk %u: should continue from %s, but has %s",
                      (unsigned long long)run->op, chunk, should, has);
    }
    oracle_value(node, run->op, chunk, start, &run->values[chunk]);
}

void path_start(struct sim_node *node, const struct gw__recovery_task *task)
{
    struct run *run = &node->runs[task->op % GW__OP_TABLE_OPS];
    struct gw_error why;
    const struct planned *planned =
        plans_find(&node->cluster->planned, &task->plan, &why);
    if (!planned) {
        sim_node_fail(node, "op %llu: %s", (unsigned long long)task->op,
                      why.text);
        return;
    }
    oracle_plan(node, task, planned);
    const struct member_event begin = {.kind = GW_EV_OP_BEGIN,
                                       .peer = GW_NONE,
                                       .op = (uint32_t)task->op,
                                       .step = GW_NONE,
                                       .chunk = GW_NONE,
                                       .value = GW_ALLREDUCE};
    report(node, &begin);
    if (!run->used || run->op != task->op)
        memset(run->values, 0, task->plan.chunks * sizeof *run->values);
    run->used = true;
    run->op = task->op;
    run->ring_epoch = node->ops.view.ring_epoch;
    run->chunks = task->plan.chunks;
    run->send_count = run->receive_count = run->unacked_count = 0;
    run->ready_first = 0;
    run->ready_end = run->chunks;
    run->due_ns = UINT64_MAX;
    copy_transfers(run, node->node, &task->plan, planned->recovery.plan);
    const struct gw_nodes *start =
        planned->recovery.sets + (size_t)task->rank * task->plan.chunks;
    for (unsigned chunk = 0; chunk < run->chunks; chunk++)
        begin_chunk(node, run, chunk, &start[chunk]);
    report_recovery(node, task, start);
    gw__contributor_sets_retarget(gw__op_table_sets(&node->ops, task->op),
                                  &task->plan.target, start);
}

/* ---- sending ---- */

static void send_data(struct sim_node *node, const struct run *run,
                      struct sending *s)
{
    unsigned words = set_words(node);
    struct data data;
    data.kind = SIM_NODE_DATA;
    data.zero = 0;
    data.chunk = s->chunk;
    data.turn = s->turn;
    data.zeros = 0;
    data.ring_epoch = run->ring_epoch;
    data.op = run->op;
    data.sum = s->value.sum;
    pack_set(&data, 0, words, &s->set);
    pack_set(&data, 1, words, &s->value.low);
    pack_set(&data, 2, words, &s->value.high);
    sim_node_send(node, s->to, &data, data_bytes(node));
    s->again_ns = node->now_ns + AGAIN_NS;
}

static void capture(struct sim_node *node, struct run *run, struct sending *s)
{
    const struct member_event event = {.kind = GW_EV_SEND,
                                       .peer = s->to,
                                       .op = (uint32_t)run->op,
                                       .step = s->step,
                                       .chunk = s->chunk,
                                       .value = 1};
    s->captured = true;
    run->unacked[run->unacked_count++] = (uint16_t)(s - run->sends);
    run->sent[s->chunk]++;
    s->set = gw__op_table_sets(&node->ops, run->op)->sets[s->chunk];
    s->value = run->values[s->chunk];
    node->cluster->measures.transfers++;
    report(node, &event);
}

/* The first sends of a chunk that are ready are sent. */
static void send_ready(struct sim_node *node, struct run *run, unsigned chunk)
{
    for (unsigned i = run->send_chains[chunk].first; i;
         i = run->sends[i - 1].next) {
        struct sending *s = &run->sends[i - 1];
        if (s->captured)
            continue;
        if (run->received[chunk] < s->received)
            return; /* nor are the later ones */
        capture(node, run, s);
    }
}

/* The time of the next repetition. */
static void find_due(struct run *run)
{
    run->due_ns = UINT64_MAX;
    for (unsigned i = 0; i < run->unacked_count; i++) {
        const struct sending *s = &run->sends[run->unacked[i]];
        if (s->again_ns < run->due_ns)
            run->due_ns = s->again_ns;
    }
}

static void send_due(struct sim_node *node, struct run *run)
{
    bool more = run->ready_first < run->ready_end;
    for (unsigned c = run->ready_first; c < run->ready_end; c++)
        send_ready(node, run, c);
    run->ready_first = run->ready_end = 0;
    if (!more && node->now_ns < run->due_ns)
        return;
    for (unsigned i = 0; i < run->unacked_count; i++)
        if (node->now_ns >= run->sends[run->unacked[i]].again_ns)
            send_data(node, run, &run->sends[run->unacked[i]]);
    find_due(run);
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
    unsigned i = chunk < run->chunks && run->receive_count > 0
                     ? run->receive_chains[chunk].first
                     : 0;
    for (; i; i = run->receives[i - 1].next) {
        struct receiving *r = &run->receives[i - 1];
        if (r->from == from && r->turn == turn)
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

/* More of the chunk may be sent now. */
static void mark_ready(struct run *run, unsigned chunk)
{
    if (run->ready_first == run->ready_end) {
        run->ready_first = chunk;
        run->ready_end = chunk + 1;
        return;
    }
    if (chunk < run->ready_first)
        run->ready_first = chunk;
    if (chunk >= run->ready_end)
        run->ready_end = chunk + 1;
}

static void apply_data(struct sim_node *node, struct run *run,
                       struct receiving *r, const struct data *data)
{
    struct gw__contributor_sets *sets = gw__op_table_sets(&node->ops, run->op);
    unsigned words = set_words(node);
    const struct gw_nodes set = unpack_set(data, 0, words);
    const struct amount came = {.low = unpack_set(data, 1, words),
                                .high = unpack_set(data, 2, words),
                                .sum = data->sum};
    struct gw_error why;
    enum gw_err err =
        r->adds ? gw__contributor_sets_add(sets, r->chunk, &set, &why)
                : gw__contributor_sets_replace(sets, r->chunk, &set, &why);
    struct amount *value = &run->values[r->chunk];
    *value = r->adds ? value_add(*value, came) : came;
    r->applied = true;
    run->received[r->chunk]++;
    mark_ready(run, r->chunk);
    report_applied(node, run, r);
    if (err) { /* added all the same, to find the effect */
        oracle_refused(node, run->op, r->chunk, &sets->target, value);
        sim_node_fail(node, "%s", why.text);
    }
    oracle_value(node, run->op, r->chunk, &sets->sets[r->chunk], value);
}

void path_data(struct sim_node *node, unsigned from, const uint8_t *bytes,
               size_t count)
{
    struct data data;
    if (count != data_bytes(node))
        return;
    memcpy(&data, bytes, count);
    struct run *run = run_of(node, data.op);
    if (!run || !gw__op_table_accepts(&node->ops, data.ring_epoch, data.op))
        return;
    struct receiving *r = find_receive(run, from, data.chunk, data.turn);
    if (!r)
        return;
    if (!r->applied && run->received[r->chunk] >= r->received &&
        run->sent[r->chunk] >= r->sent)
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
    for (unsigned i = 0; i < run->unacked_count; i++) {
        const struct sending *s = &run->sends[run->unacked[i]];
        if (s->to != from || s->chunk != ack.chunk || s->turn != ack.turn)
            continue;
        run->unacked_count--;
        memmove(&run->unacked[i], &run->unacked[i + 1],
                (run->unacked_count - i) * sizeof *run->unacked);
        find_due(run);
        return;
    }
}
