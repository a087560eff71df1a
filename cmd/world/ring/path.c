/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The toy data path: an op is a plan, whose transfers are messages that are
 * lost, doubled and late. What the real engine does with slices is done here
 * with whole chunks:
 *
 *     DATA  ring epoch, op | chunk, turn | set, value    until it is acked
 *     ACK   ring epoch, op | chunk, turn
 *
 * The turn counts the transfers of a chunk over a link, as a wire in order
 * would.  * A transfer is sent when what was to be received before is in
 * the chunk, and says the same whenever it is sent again. It is taken in when
 * its turn has come, once. Whether a message belongs to the op as it is done
 * now is asked of the book, and of nothing else.
 */
#include "world.h"

enum { AGAIN_NS = 6000000 };

struct amount value_input(unsigned node, uint64_t op, unsigned chunk)
{
    const uint64_t key[3] = {node, op, chunk};
    return (struct amount){.digits = (wide)1 << 2 * node,
                           .sum = gw_hash(key, sizeof key, 4)};
}

struct amount value_add(struct amount a, struct amount b)
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

static struct run *run_of(struct toy *toy, uint64_t op)
{
    struct run *run = &toy->runs[op % GW__BOOK_OPS];
    return run->used && run->op == op ? run : NULL;
}

/* ---- beginning ---- */

/* How many transfers of the same chunk go over the same link before. */
static unsigned turn_of(const struct run *run, const struct hop *hop)
{
    unsigned turn = 0;
    for (const struct hop *h = run->hops; h < hop; h++)
        turn +=
            h->src == hop->src && h->dst == hop->dst && h->chunk == hop->chunk;
    return turn;
}

static void copy_hops(struct run *run, unsigned self,
                      const struct gw__recovery_case *c,
                      const struct gw_plan *plan)
{
    for (unsigned step = 0; step < plan->steps; step++)
        for (size_t t = plan->step_begin[step]; t < plan->step_begin[step + 1];
             t++) {
            const struct gw_transfer *x = &plan->transfers[t];
            struct hop *hop = &run->hops[run->hop_count++];
            *hop = (struct hop){.src = (uint8_t)c->nodes[x->src],
                                .dst = (uint8_t)c->nodes[x->dst],
                                .chunk = (uint8_t)x->chunk,
                                .step = (uint8_t)step,
                                .adds = x->action == GW_ADD};
            hop->turn = (uint8_t)turn_of(run, hop);
            run->unsent += hop->src == self;
        }
}

/* What a chunk begins with: the input, or what is in hand. */
static void begin_chunk(struct toy *toy, struct run *run, unsigned chunk,
                        uint64_t start)
{
    const struct gw__ledger *ledger = gw__book_ledger(&toy->book, run->op);
    if (start == (uint64_t)1 << toy->node)
        run->values[chunk] = value_input(toy->node, run->op, chunk);
    else if (ledger->sets[chunk] != start)
        toy_fail(toy, "op %llu, chunk %u: is to go on from %llx, has %llx",
                 (unsigned long long)run->op, chunk, (unsigned long long)start,
                 (unsigned long long)ledger->sets[chunk]);
    oracle_value(toy, run->op, chunk, start, run->values[chunk]);
}

void path_start(struct toy *toy, const struct gw__task *task)
{
    struct run *run = &toy->runs[task->op % GW__BOOK_OPS];
    struct gw__recovery recovery;
    struct gw_error why;
    if (gw__recovery_make(&task->plan, &recovery, &why)) {
        toy_fail(toy, "op %llu: %s", (unsigned long long)task->op, why.text);
        return;
    }
    oracle_plan(toy, task, &recovery);
    const struct told_event begin = {.kind = GW_EV_OP_BEGIN,
                                     .peer = GW_NONE,
                                     .op = (uint32_t)task->op,
                                     .step = GW_NONE,
                                     .chunk = GW_NONE,
                                     .value = GW_ALLREDUCE};
    tell(toy, &begin);
    if (!run->used || run->op != task->op)
        memset(run->values, 0, sizeof run->values);
    run->used = true;
    run->op = task->op;
    run->ring_epoch = toy->book.view.ring_epoch;
    run->chunks = task->plan.chunks;
    run->hop_count = run->unsent = 0;
    if (recovery.plan->transfer_count <= TRANSFERS_MOST)
        copy_hops(run, toy->node, &task->plan, recovery.plan);
    else
        toy_fail(toy, "a plan of %zu transfers", recovery.plan->transfer_count);
    const uint64_t *start =
        recovery.sets + (size_t)task->rank * task->plan.chunks;
    for (unsigned chunk = 0; chunk < run->chunks; chunk++)
        begin_chunk(toy, run, chunk, start[chunk]);
    tell_recovery(toy, task, start);
    gw__ledger_retarget(gw__book_ledger(&toy->book, task->op),
                        task->plan.target, start);
    gw__recovery_fini(&recovery);
}

static void tell_hop(const struct toy *toy, const struct run *run,
                     const struct hop *hop, enum gw_event_kind kind)
{
    bool sends = kind == GW_EV_SEND;
    const struct told_event event = {.kind = kind,
                                     .peer = sends ? hop->dst : hop->src,
                                     .op = (uint32_t)run->op,
                                     .step = hop->step,
                                     .chunk = hop->chunk,
                                     .value = sends ? 1 : hop->adds};
    toy->world->measures.transfers += sends;
    tell(toy, &event);
}

/* ---- sending ---- */

static void send_hop(struct toy *toy, const struct run *run, struct hop *hop)
{
    const struct data data = {.kind = TOY_DATA,
                              .chunk = hop->chunk,
                              .turn = hop->turn,
                              .ring_epoch = run->ring_epoch,
                              .op = run->op,
                              .set = hop->set,
                              .low = (uint64_t)hop->value.digits,
                              .high = (uint64_t)(hop->value.digits >> 64),
                              .sum = hop->value.sum};
    toy_send(toy, hop->dst, &data, sizeof data);
    hop->again_ns = toy->now_ns + AGAIN_NS;
}

/* All that this node receives of the chunk before the step is there. */
static bool has_received(const struct toy *toy, const struct run *run,
                         unsigned chunk, unsigned step)
{
    for (unsigned i = 0; i < run->hop_count; i++) {
        const struct hop *h = &run->hops[i];
        if (h->dst == toy->node && h->chunk == chunk && h->step < step &&
            !h->applied)
            return false;
    }
    return true;
}

/* All that this node sends of the chunk up to the step is on its way. */
static bool has_sent(const struct toy *toy, const struct run *run,
                     unsigned chunk, unsigned step)
{
    for (unsigned i = 0; i < run->hop_count; i++) {
        const struct hop *h = &run->hops[i];
        if (h->src == toy->node && h->chunk == chunk && h->step <= step &&
            !h->captured)
            return false;
    }
    return true;
}

static void send_due(struct toy *toy, struct run *run)
{
    const struct gw__ledger *ledger = gw__book_ledger(&toy->book, run->op);
    for (unsigned i = 0; i < run->hop_count && run->unsent; i++) {
        struct hop *h = &run->hops[i];
        if (h->src != toy->node || h->acked)
            continue;
        if (!h->captured && has_received(toy, run, h->chunk, h->step)) {
            h->captured = true;
            h->set = ledger->sets[h->chunk];
            h->value = run->values[h->chunk];
            tell_hop(toy, run, h, GW_EV_SEND);
        }
        if (h->captured && toy->now_ns >= h->again_ns)
            send_hop(toy, run, h);
    }
}

/* Sends what can be sent; what is complete is done. Nothing while frozen. */
void path_work(struct toy *toy)
{
    for (unsigned i = 0; i < GW__BOOK_OPS; i++) {
        struct run *run = &toy->runs[i];
        const struct gw__page *page = &toy->book.pages[i];
        if (!page->used || !page->begun || page->op != run->op)
            run->used = false; /* everybody has completed that op */
        if (run->used && !toy->book.frozen)
            send_due(toy, run);
    }
    struct gw__task task;
    while (gw__book_task(&toy->book, &task) && run_of(toy, task.op) &&
           run_of(toy, task.op)->ring_epoch == toy->book.view.ring_epoch &&
           gw__ledger_complete(gw__book_ledger(&toy->book, task.op)))
        ring_completed(toy, task.op);
}

uint64_t path_due(const struct toy *toy)
{
    uint64_t due = 0;
    for (unsigned i = 0; i < GW__BOOK_OPS && !toy->book.frozen; i++) {
        const struct run *run = &toy->runs[i];
        for (unsigned k = 0; run->used && run->unsent && k < run->hop_count;
             k++) {
            const struct hop *h = &run->hops[k];
            if (h->src != toy->node || !h->captured || h->acked)
                continue;
            if (due == 0 || h->again_ns < due)
                due = h->again_ns;
        }
    }
    return due;
}

/* ---- receiving ---- */

static struct hop *find(struct run *run, unsigned src, unsigned dst,
                        unsigned chunk, unsigned turn)
{
    for (unsigned i = 0; i < run->hop_count; i++) {
        struct hop *h = &run->hops[i];
        if (h->src == src && h->dst == dst && h->chunk == chunk &&
            h->turn == turn)
            return h;
    }
    return NULL;
}

static void apply(struct toy *toy, struct run *run, struct hop *hop,
                  const struct data *data)
{
    struct gw__ledger *ledger = gw__book_ledger(&toy->book, run->op);
    struct amount incoming = {.digits = (wide)data->high << 64 | data->low,
                              .sum = data->sum};
    struct gw_error why;
    enum gw_err err =
        hop->adds ? gw__ledger_add(ledger, hop->chunk, data->set, &why)
                  : gw__ledger_replace(ledger, hop->chunk, data->set, &why);
    struct amount *value = &run->values[hop->chunk];
    *value = hop->adds ? value_add(*value, incoming) : incoming;
    hop->applied = true;
    tell_hop(toy, run, hop, GW_EV_APPLY);
    if (err) { /* it is added all the same: what comes of that? */
        oracle_refused(toy, run->op, hop->chunk, ledger->target, *value);
        toy_fail(toy, "%s", why.text);
    }
    oracle_value(toy, run->op, hop->chunk, ledger->sets[hop->chunk], *value);
}

void path_data(struct toy *toy, unsigned from, const uint8_t *bytes,
               size_t count)
{
    struct data data;
    if (count != sizeof data)
        return;
    memcpy(&data, bytes, sizeof data);
    struct run *run = run_of(toy, data.op);
    if (!run || !gw__book_accepts(&toy->book, data.ring_epoch, data.op))
        return;
    struct hop *hop = find(run, from, toy->node, data.chunk, data.turn);
    if (!hop)
        return;
    if (!hop->applied && has_received(toy, run, hop->chunk, hop->step) &&
        has_sent(toy, run, hop->chunk, hop->step))
        apply(toy, run, hop, &data);
    const struct ack ack = {.kind = TOY_ACK,
                            .chunk = data.chunk,
                            .turn = data.turn,
                            .ring_epoch = data.ring_epoch,
                            .op = data.op};
    if (hop->applied)
        toy_send(toy, from, &ack, sizeof ack);
}

void path_ack(struct toy *toy, unsigned from, const uint8_t *bytes,
              size_t count)
{
    struct ack ack;
    if (count != sizeof ack)
        return;
    memcpy(&ack, bytes, sizeof ack);
    struct run *run = run_of(toy, ack.op);
    if (!run || run->ring_epoch != ack.ring_epoch)
        return;
    struct hop *hop = find(run, toy->node, from, ack.chunk, ack.turn);
    if (hop && !hop->acked)
        run->unsent--;
    if (hop)
        hop->acked = true;
}
