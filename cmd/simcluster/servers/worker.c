/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A worker in the simulation: the machine of ps/worker.h. It pushes, one key
 * per push and a few at a time. Now and then it pulls the key of an
 * acknowledged push, the last one of itself or of another worker, which must be
 * there. At the end it reads all its keys.
 */
#include "ps_simcluster.h"

enum {
    OPS = 4,
    READ_MOST = 256, /* keys of a pull at the end */
    EVERY_NS = 4000000,
    PATIENCE_NS = 1500000000, /* at the end, for open requests */
    ROUTES_TAG = 1,
    TABLE_TAG = 2,
    RETRY_REQUEST_NS = 100000000
};

enum op_kind { OP_NONE, OP_PUSH, OP_PULL };

struct op {
    enum op_kind kind;
    unsigned worker, push; /* a worker, and one of its pushes */
    uint64_t request, key;
    float value;
};

/* A pull at the end. The machine borrows its buffers, which remain valid,
 * answered or not. */
struct reading {
    unsigned count, pushes[READ_MOST];
    uint64_t keys[READ_MOST];
    float values[READ_MOST];
};

struct hand {
    struct sim_member s;
    struct gw__worker *core;
    unsigned index;
    uint64_t op_ns, retry_ns; /* the next one */
    unsigned set_up;          /* the tag of the last answer */
    unsigned from;            /* the sender of the last message */
    struct op ops[OPS];
    unsigned turn; /* the number of ops begun */

    /* At the end: pulls that found so many slots lost. */
    uint64_t request; /* of the newest; 0: none */
    unsigned read, lost;
    struct reading readings[PS_SIMCLUSTER_READINGS];
};

static void start_hand(struct hand *h, const struct gw__input *input)
{
    struct gw_error why;
    sim_member_start(&h->s, input, GW__WORKER);
    struct ps_simcluster *f = h->s.cluster;
    h->index = h->s.node;
    struct gw__worker **core = &f->worker_cores[h->index];
    const struct gw__worker_config config = {.node = h->s.node,
                                             .incarnation = h->s.incarnation,
                                             .context = &h->s,
                                             .send = sim_member_send};
    gw__worker_destroy(core);
    if (gw__worker_new(&config, core, &why))
        ps_simcluster_violation(f, "worker: %s", why.text);
    h->core = *core;
}

/* ---- setting up, as any worker does ---- */

static void set_up(struct hand *h)
{
    const struct ps_simcluster *f = h->s.cluster;
    struct gw__command command = {
        .kind = GW__CMD_ROUTES, .routes = {f->slots, f->replicas, f->servers}};
    if (h->s.answered > h->set_up) {
        h->set_up = h->s.answered;
        h->retry_ns = 0;
    }
    if (h->set_up == TABLE_TAG || h->s.now_ns < h->retry_ns)
        return;
    h->retry_ns = h->s.now_ns + RETRY_REQUEST_NS;
    if (h->set_up == ROUTES_TAG)
        command = (struct gw__command){
            .kind = GW__CMD_TABLE,
            .table = {.name = "count", .width = 1, .updater = GW_PS_ADD}};
    sim_member_request(&h->s, &command, h->set_up + 1);
}

/* Waits until all slots have been served, so that nothing is refused at first.
 */
static bool can_work(const struct hand *h)
{
    const struct ps_simcluster *f = h->s.cluster;
    const struct gw__routes *routes = &h->s.update.routes;
    if (h->set_up < TABLE_TAG || routes->table_count == 0 ||
        mailbox_member(&h->s.box, h->s.node) != h->s.incarnation.low)
        return false;
    for (unsigned slot = 0; slot < f->slots; slot++)
        if (routes->slots[slot].term == 0 ||
            (!f->primaries[slot].ever && !push_slot_is_lost(f, slot)))
            return false;
    return true;
}

/* ---- pushes ---- */

static bool start_request(struct hand *h, uint64_t *keys, size_t count,
                          const float *values, float *out, uint64_t *request)
{
    struct gw_error why;
    const struct gw__request_args args = {.table = PS_SIMCLUSTER_TABLE,
                                          .keys = keys,
                                          .count = count,
                                          .values = values,
                                          .out = out,
                                          .clock = GW__NO_CLOCK};
    enum gw_err err =
        gw__worker_push_pull(h->core, h->s.now_ns, &args, request, &why);
    if (err && err != GW_PENDING)
        ps_simcluster_violation(h->s.cluster, "%s: %s",
                                ps_simcluster_name(h->s.cluster, h->s.node),
                                why.text);
    return !err;
}

static void begin_op(struct hand *h, struct op *op)
{
    struct ps_simcluster *f = h->s.cluster;
    bool is_pull = h->turn++ % 4 == 3;
    op->worker =
        is_pull ? (unsigned)gw_rng_below(&h->s.rng, f->workers) : h->index;
    op->push = is_pull ? f->newest[op->worker] - 1
                       : push_begin(f, h->index, &h->s.update.routes);
    if (op->push == UINT32_MAX)
        return;
    op->key = push_key(f, op->worker, op->push);
    op->value = is_pull ? -1 : 1;
    if (start_request(h, &op->key, 1, is_pull ? NULL : &op->value,
                      is_pull ? &op->value : NULL, &op->request))
        op->kind = is_pull ? OP_PULL : OP_PUSH;
}

static void end_op(struct hand *h, struct op *op)
{
    struct ps_simcluster *f = h->s.cluster;
    struct gw_error why;
    enum gw_err err = gw__worker_result(h->core, op->request, &why);
    if (err == GW_PENDING)
        return;
    if (err)
        ps_simcluster_violation(f, "%s: %s", ps_simcluster_name(f, h->s.node),
                                why.text);
    else if (op->kind == OP_PULL)
        push_pulled(f, op->worker, op->push, op->value);
    else
        push_acked(f, h->index, op->push, h->from);
    op->kind = OP_NONE;
}

static void do_ops(struct hand *h)
{
    struct op *unused = NULL;
    for (unsigned i = 0; i < OPS; i++) {
        if (h->ops[i].kind)
            end_op(h, &h->ops[i]);
        if (!h->ops[i].kind)
            unused = &h->ops[i];
    }
    if (ps_simcluster_is_late(h->s.cluster) || h->s.now_ns < h->op_ns ||
        !unused)
        return;
    h->op_ns = h->s.now_ns + gw_rng_below(&h->s.rng, EVERY_NS);
    begin_op(h, unused);
}

/* ---- at the end ---- */

static bool is_idle(const struct hand *h)
{
    for (unsigned i = 0; i < OPS; i++)
        if (h->ops[i].kind)
            return false;
    return true;
}

static unsigned lost_slots(const struct ps_simcluster *f)
{
    unsigned count = 0;
    for (unsigned slot = 0; slot < f->slots; slot++)
        count += push_slot_is_lost(f, slot);
    return count;
}

static void begin_read(struct hand *h)
{
    struct ps_simcluster *f = h->s.cluster;
    h->lost = lost_slots(f);
    struct reading *r = &h->readings[h->lost % PS_SIMCLUSTER_READINGS];
    unsigned push = h->read;
    for (r->count = 0; push < f->push_count[h->index] && r->count < READ_MOST;
         push++) {
        if (push_slot_is_lost(f, f->pushes[h->index][push].slot))
            continue;
        r->keys[r->count] = push_key(f, h->index, push);
        r->pushes[r->count++] = push;
    }
    if (r->count == 0)
        f->finished[h->index] = true;
    else
        (void)start_request(h, r->keys, r->count, NULL, r->values, &h->request);
}

static void end_read(struct hand *h)
{
    struct gw_error why;
    const struct reading *r = &h->readings[h->lost % PS_SIMCLUSTER_READINGS];
    enum gw_err err = gw__worker_result(h->core, h->request, &why);
    if (err == GW_PENDING && h->lost == lost_slots(h->s.cluster))
        return;
    h->request = 0; /* repeated, because a slot was lost meanwhile */
    if (err)
        return;
    for (unsigned i = 0; i < r->count; i++)
        push_read(h->s.cluster, h->index, r->pushes[i], r->values[i]);
    h->read = r->pushes[r->count - 1] + 1;
}

static void read_all_rows(struct hand *h)
{
    struct ps_simcluster *f = h->s.cluster;
    bool patient = gw__sim_now(f->sim) < f->fault_end_ns + PATIENCE_NS;
    if (!ps_simcluster_is_late(f) || f->finished[h->index] ||
        (!is_idle(h) && patient))
        return;
    if (h->request)
        end_read(h);
    else
        begin_read(h);
}

/* ---- the machine ---- */

static void receive_input(struct hand *h, const struct gw__input *input)
{
    sim_member_step(&h->s, input);
    if (h->s.has_update)
        gw__worker_routes(h->core, h->s.now_ns, &h->s.update.routes);
    if (!message_is(input))
        return;
    struct gw__message_in *message = message_of(&h->s.box, input);
    h->from = input->from;
    if (message)
        gw__worker_message_in(h->core, h->s.now_ns, message);
}

static void step_hand(void *state, const struct gw__input *input,
                      const struct gw__actions *actions)
{
    struct hand *h = state;
    if (h->s.gone)
        return;
    sim_member_wake(&h->s, input, actions);
    if (input->kind == GW__START)
        start_hand(h, input);
    else
        receive_input(h, input);
    if (h->s.gone)
        return;
    if (h->s.registered)
        set_up(h);
    if (can_work(h)) {
        if (h->index == 0 && h->s.cluster->params.by_load)
            balance_check(&h->s, TABLE_TAG); /* its answer has already come */
        do_ops(h);
        read_all_rows(h);
    }
    if (gw__worker_due(h->core) <= h->s.now_ns)
        gw__worker_tick(h->core, h->s.now_ns);
    uint64_t due = h->s.now_ns + 2 * MS;
    if (gw__worker_due(h->core) < due)
        due = gw__worker_due(h->core);
    if (due <= h->s.now_ns)
        due = h->s.now_ns + 100 * US;
    actions->set_timer(actions->driver, PS_SIMCLUSTER_TIMER, due);
}

const struct gw__machine_kind *worker_kind(void)
{
    static const struct gw__machine_kind kind = {.name = "worker",
                                                 .state_bytes =
                                                     sizeof(struct hand),
                                                 .step = step_hand};
    return &kind;
}
