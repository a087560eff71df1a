/* SPDX-License-Identifier: MIT
 *
 * A worker in the simulation: the machine of ps/worker.h and its load. It has
 * two loads at once: pushes to its own counters and pulls of counters, a few at
 * a time; and the items of the plan, one after the other. At the end it reads
 * its counters.
 */
#include "ps_simulation.h"

#include <stdlib.h>

enum item_stage {
    ITEM_PLAN,
    ITEM_NEXT,
    ITEM_PULL,
    ITEM_PUSH,
    ITEM_READ, /* all items, at the end */
    ITEM_OVER
};

struct op {
    bool active, push;
    unsigned of; /* owner; pulls read any worker's counters */
    uint64_t request;
    unsigned count;
    unsigned counter[COUNTERS];
    uint64_t keys[COUNTERS], low[COUNTERS];
    float values[COUNTERS];
};

struct hand {
    struct member m;
    struct gw__worker *core;
    struct gw_rng rng;
    unsigned index;
    uint64_t op_ns; /* the next one */
    bool last;      /* it reads all its counters, and ends */
    struct op ops[OPS];

    enum item_stage stage;
    uint64_t request; /* 0: not requested yet */
    uint64_t number;  /* items finished */
    struct gw_ps_work work;
    uint64_t item_keys[WORK_ITEMS + 1];
    float item_values[WORK_ITEMS + 1];
};

static struct counters *counters(const struct hand *h, const struct op *op)
{
    return &h->m.cluster->counters[op->of];
}

static void start(struct hand *h, const struct gw__input *input)
{
    struct gw_error why;
    struct ps_simulation *cluster = simcluster_running();
    member_start(&h->m, input, cluster);
    h->index = worker_index(cluster, h->m.node);
    gw_rng_seed(&h->rng, input->seed ^ input->incarnation);
    struct gw__worker **core = &cluster->worker_cores[h->index];
    const struct gw__worker_config config = {
        .node = h->m.node,
        .incarnation = {1, input->incarnation},
        .context = &h->m,
        .send = member_send};
    gw__worker_destroy(core);
    if (gw__worker_new(&config, core, &why))
        oracle_fail(cluster, "worker: %s", why.text);
    h->core = *core;
}

/* ---- counters ---- */

static void begin_op(struct hand *h, struct op *op)
{
    struct gw_error why;
    struct gw__request_args request = {
        .table = COUNT_TABLE, .keys = op->keys, .clock = GW__NO_CLOCK};
    op->push = !h->last && gw_rng_below(&h->rng, 3) > 0;
    op->of = op->push || h->last
                 ? h->index
                 : (unsigned)gw_rng_below(&h->rng, h->m.cluster->workers);
    struct counters *l = counters(h, op);
    op->count = 0;
    for (unsigned c = 0; c < COUNTERS; c++) {
        if (!h->last && gw_rng_below(&h->rng, 3) > 0)
            continue;
        unsigned i = op->count++;
        op->counter[i] = c;
        op->keys[i] = counter_key(op->of, c);
        op->low[i] = l->acked[c] > l->pulled[c] ? l->acked[c] : l->pulled[c];
        op->values[i] = op->push ? 1 : -1;
    }
    request.count = op->count;
    request.values = op->push ? op->values : NULL;
    request.out = op->push ? NULL : op->values;
    if (op->count == 0)
        return;
    enum gw_err err = gw__worker_push_pull(h->core, h->m.now_ns, &request,
                                           &op->request, &why);
    if (err == GW_PENDING)
        return;
    if (err)
        oracle_fail(h->m.cluster, "access: %s", why.text);
    op->active = true;
    for (unsigned i = 0; op->push && i < op->count; i++)
        l->sent[op->counter[i]]++;
}

static void end_op(struct hand *h, struct op *op)
{
    struct counters *l = counters(h, op);
    struct gw_error why;
    enum gw_err err = gw__worker_result(h->core, op->request, &why);
    if (err == GW_PENDING)
        return;
    op->active = false;
    if (err) {
        oracle_fail(h->m.cluster, "worker %u: %s", h->m.node, why.text);
        return;
    }
    h->m.cluster->totals.pushes += op->push;
    h->m.cluster->totals.pulls += !op->push;
    for (unsigned i = 0; i < op->count; i++) {
        unsigned c = op->counter[i];
        uint64_t value = (uint64_t)(int64_t)op->values[i];
        if (op->push) {
            l->acked[c]++;
            continue;
        }
        if (value < op->low[i] || value > l->sent[c])
            oracle_fail(h->m.cluster,
                        "counter %u of worker %u is %llu: at least %llu were "
                        "acknowledged or seen, %llu sent",
                        c, op->of, (unsigned long long)value,
                        (unsigned long long)op->low[i],
                        (unsigned long long)l->sent[c]);
        if (value > l->pulled[c])
            l->pulled[c] = value;
    }
    if (h->last && !op->push && op->count == COUNTERS)
        h->m.cluster->finished[h->index] = true;
}

static void do_ops(struct hand *h)
{
    bool idle = true;
    for (unsigned i = 0; i < OPS; i++) {
        if (h->ops[i].active)
            end_op(h, &h->ops[i]);
        idle = idle && !h->ops[i].active;
    }
    bool late = is_late(h->m.cluster, gw__sim_now(h->m.cluster->sim));
    if (late && idle && !h->last && h->stage == ITEM_OVER) {
        h->last = true;
        begin_op(h, &h->ops[0]);
    }
    if (late || h->m.now_ns < h->op_ns)
        return;
    h->op_ns = h->m.now_ns + gw_rng_below(&h->rng, 4 * MS);
    for (unsigned i = 0; i < OPS; i++)
        if (!h->ops[i].active) {
            begin_op(h, &h->ops[i]);
            break;
        }
}

/* ---- items ---- */

static void request_clock(struct hand *h, enum gw__clock_kind kind)
{
    const struct ps_simulation *w = h->m.cluster;
    struct gw_error why;
    const struct gw__clock_command command = {
        .kind = kind,
        .who = {h->m.node, h->m.incarnation},
        .number = h->number,
        .mode = w->mode,
        .plan = {
            .epochs = 1, .batches = BATCHES, .parts = PARTS, .workers = 1}};
    if (gw__worker_clock(h->core, h->m.now_ns, ITEM_GROUP, &command,
                         kind == GW__CLOCK_NEXT ? &h->work : NULL, &h->request,
                         &why))
        h->request = 0;
}

static void request_values(struct hand *h, bool push)
{
    struct gw_error why;
    unsigned item = (unsigned)h->work.batch * PARTS + h->work.part;
    bool all = h->stage == ITEM_READ;
    struct gw__request_args request = {.table = ITEM_TABLE,
                                       .keys = h->item_keys,
                                       .count = all ? WORK_ITEMS + 1 : 2,
                                       .clock =
                                           all ? GW__NO_CLOCK : h->work.clock,
                                       .closed = h->work.closed};
    for (unsigned i = 0; i <= WORK_ITEMS; i++)
        h->item_keys[i] = item_key(i);
    if (!all) {
        h->item_keys[0] = item_key(item);
        h->item_keys[1] = item_key(WORK_ITEMS);
    }
    h->item_values[0] = h->item_values[1] = 1;
    if (push)
        request.values = h->item_values;
    else
        request.out = h->item_values;
    if (gw__worker_push_pull(h->core, h->m.now_ns, &request, &h->request, &why))
        h->request = 0;
}

static void request_item(struct hand *h)
{
    switch (h->stage) {
    case ITEM_PLAN:
        request_clock(h, GW__CLOCK_PLAN);
        break;
    case ITEM_NEXT:
        request_clock(h, GW__CLOCK_NEXT);
        break;
    case ITEM_PULL:
    case ITEM_READ:
        request_values(h, false);
        break;
    case ITEM_PUSH:
        request_values(h, true);
        break;
    case ITEM_OVER:
        break;
    }
}

static void go_on(struct hand *h)
{
    struct ps_simulation *w = h->m.cluster;
    switch (h->stage) {
    case ITEM_PLAN:
        h->stage = ITEM_NEXT;
        break;
    case ITEM_NEXT:
        h->stage = h->work.done ? ITEM_READ : ITEM_PULL;
        break;
    case ITEM_PULL:
        oracle_granted(w, &h->work, h->item_values[1]);
        h->stage = ITEM_PUSH;
        break;
    case ITEM_PUSH:
        h->number++;
        w->totals.items++;
        h->stage = ITEM_NEXT;
        break;
    case ITEM_READ:
        oracle_items(w, h->item_values);
        h->stage = ITEM_OVER;
        break;
    case ITEM_OVER:
        break;
    }
}

/* All requests of one worker process succeed, or wait forever after it was
 * declared dead. The clock refuses the process when it no longer knows it. */
static void do_items(struct hand *h)
{
    struct gw_error why;
    if (h->stage == ITEM_OVER)
        return;
    if (h->request == 0) {
        request_item(h);
        return;
    }
    enum gw_err err = gw__worker_result(h->core, h->request, &why);
    if (err == GW_PENDING)
        return;
    h->request = 0;
    if (err == GW_EINVAL && h->stage == ITEM_NEXT)
        return; /* not known to the clock yet: asks again */
    if (err)
        oracle_fail(h->m.cluster, "worker %u, unit: %s", h->m.node, why.text);
    else
        go_on(h);
}

/* ---- the machine ---- */

static void message(struct hand *h, const struct gw__input *input)
{
    uint64_t type;
    memcpy(&type, input->data, sizeof type);
    struct gw__message_in *message =
        message_is(input) ? message_of(&h->m.box, input) : NULL;
    if (message)
        gw__worker_message_in(h->core, h->m.now_ns, message);
    if (type == MESSAGE_BULLETIN && member_bulletin(&h->m, input))
        gw__worker_routes(h->core, h->m.now_ns, &h->m.update.routes);
}

static bool can_work(const struct hand *h)
{
    const struct gw__routes *routes = &h->m.update.routes;
    if (mailbox_member(&h->m.box, h->m.node) != h->m.incarnation)
        return false;
    for (unsigned slot = 0; slot < routes->slot_count; slot++)
        if (routes->slots[slot].term == 0)
            return false;
    return routes->slot_count > 0;
}

static void step(void *state, const struct gw__input *input,
                 const struct gw__actions *actions)
{
    struct hand *h = state;
    h->m.now_ns = input->now_ns;
    h->m.box.act = actions;
    h->m.box.update = &h->m.update;
    if (input->kind == GW__START)
        start(h, input);
    if (input->kind == GW__MESSAGE)
        message(h, input);
    if (can_work(h)) {
        do_ops(h);
        do_items(h);
    }
    if (gw__worker_due(h->core) <= h->m.now_ns)
        gw__worker_tick(h->core, h->m.now_ns);
    member_hello(&h->m);
    uint64_t due = h->m.now_ns + 2 * MS;
    if (gw__worker_due(h->core) < due)
        due = gw__worker_due(h->core);
    if (due <= h->m.now_ns)
        due = h->m.now_ns + 100 * US;
    actions->set_timer(actions->driver, 0, due);
}

const struct gw__machine_kind *worker_kind(void)
{
    static const struct gw__machine_kind kind = {
        .name = "worker", .state_bytes = sizeof(struct hand), .step = step};
    return &kind;
}
