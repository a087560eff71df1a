/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lives of a worker of parameter servers. It connects, makes tables and
 * plan (or finds them made), and does item after item, as the servers' clock
 * grants them. A worker that is declared dead while it sleeps or is cut off
 * learns so by GW_ECLOSED, and connects again as a new incarnation. Other
 * workers do the item that it had begun.
 *
 *     start --> joining --> member: next, item, next, item ... done --> idle
 *                 ^           | declared dead
 *                 +-----------+
 *
 * An item counts when the request for the next one is answered. Its sums go
 * into the note then, so the curve omits the last item of a worker that dies.
 */
#include "ps.h"

#include "common/key.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUT_CONNECT_MS = 1500, CONNECT_MS = 10000 };
#define IDLE_NS UINT64_C(30000000)

/* ---- the connection ---- */

static void set_ps(struct node *node, struct gw_ps *ps)
{
    pthread_mutex_lock(&node->lock);
    node->ps = ps;
    if (ps)
        node_obey(node);
    pthread_mutex_unlock(&node->lock);
}

/* If the link profiles may prevent the connection, it gives up now and then and
 * tries again with the newest ones. */
static enum gw_err try_to_connect(void *context,
                                  const struct desired_state *desired,
                                  struct gw_error *why)
{
    struct ps_worker *w = context;
    const struct child_config *child_config = &w->node->config;
    struct node_addresses addresses;
    struct gw_ps_config config = w->settings.worker;
    config.node = node_number(child_config);
    config.aggregator_node = AGGREGATOR_NODE;
    config.endpoint = addresses.own;
    config.token = child_config->token;
    config.wire = child_config->wire;
    config.key_file = key_file();
    config.seed = child_config->seed;
    config.controller_count = child_config->controllers;
    config.connect_ms =
        desired_state_has_cut(desired) ? CUT_CONNECT_MS : CONNECT_MS;
    config.events = event_queue_sink(w->node->queue);
    config.links = desired->links;
    config.pace_ns = desired->pace_ns;
    node_addresses_of(child_config, &addresses);
    for (unsigned c = 0; c < child_config->controllers; c++) {
        config.controllers[c] = CONTROLLER_NODE - c;
        config.controller_endpoints[c] = addresses.controllers[c];
    }
    return gw_ps_connect(&config, &w->ps, why);
}

static enum gw_err become_worker(struct ps_worker *w, struct gw_error *why)
{
    const struct node_beginning how = {.join = try_to_connect, .context = w};
    enum gw_err code = node_begin(w->node, &how, why);
    if (!code)
        set_ps(w->node, w->ps);
    return code;
}

/* ---- the work ---- */

static void forget_work(struct ps_worker *w)
{
    ps_work_item_free(w);
    gw_work_item_destroy(&w->work_item);
    gw_task_destroy(&w->task);
    w->table_count = 0;
}

/* Reads the data of newer work, if there is any. */
static enum gw_err load_work(struct ps_worker *w, struct gw_error *why)
{
    struct node *node = w->node;
    pthread_mutex_lock(&node->lock);
    bool newer = node->desired.work.id > w->order.id;
    if (newer)
        w->order = node->desired.work;
    pthread_mutex_unlock(&node->lock);
    if (!newer)
        return GW_OK;
    forget_work(w);
    const char *model = *w->order.model ? w->order.model : NULL;
    enum gw_err code =
        settings_parse(model, w->order.settings, &w->settings, why);
    if (code || !model)
        return code;
    code = ps_task_load(&w->order, node->config.seed, &w->task, why);
    if (!code)
        code = ps_work_item_new(w->task, &w->settings, &w->work_item, why);
    if (code)
        return code;
    pthread_mutex_lock(&node->lock);
    node->status.worker.model_keys = ps_model_keys(w->task);
    pthread_mutex_unlock(&node->lock);
    return GW_OK;
}

static enum gw_err open_work(struct ps_worker *w, struct gw_error *why)
{
    enum gw_err code = ps_worker_open(w, why);
    w->open = code == GW_OK;
    return code;
}

/* ---- notes ---- */

/* The counts of a connection begin at 0. */
static void add_counts(struct gw_ps_counts *sum,
                       const struct gw_ps_counts *more)
{
    sum->pushes += more->pushes;
    sum->pulls += more->pulls;
    sum->push_keys += more->push_keys;
    sum->pull_keys += more->pull_keys;
    sum->bytes_sent += more->bytes_sent;
    sum->bytes_received += more->bytes_received;
    sum->bytes_in_place += more->bytes_in_place;
    sum->bytes_gathered += more->bytes_gathered;
    sum->retries += more->retries;
    sum->refusals += more->refusals;
    sum->key_lists_sent += more->key_lists_sent;
    sum->key_lists_cached += more->key_lists_cached;
    sum->rows_held_back += more->rows_held_back;
    sum->waited_ns += more->waited_ns;
    sum->messages_sent += more->messages_sent;
    sum->messages_saved += more->messages_saved;
    sum->aggregator_sent += more->aggregator_sent;
    sum->aggregator_saved += more->aggregator_saved;
    sum->envelopes_refused += more->envelopes_refused;
    sum->routes_requested += more->routes_requested;
    sum->routes_ns += more->routes_ns;
}

static void report_worker(struct ps_worker *w, bool computing)
{
    struct node *node = w->node;
    struct gw_ps_counts counts;
    gw_ps_get_counts(w->ps, &counts);
    add_counts(&counts, &w->before);
    pthread_mutex_lock(&node->lock);
    struct node_status *status = &node->status;
    status->stage = STAGE_MEMBER;
    status->work = w->order.id;
    status->done = w->done;
    status->diverged = w->diverged;
    status->worker.computing = computing;
    status->worker.work_item = w->work;
    status->worker.counts = counts;
    if (w->began_ns)
        status->worker.worked_ns = gw_now_ns() - w->began_ns;
    snprintf(status->phase, sizeof status->phase, "%s",
             w->done     ? "done"
             : !w->open  ? "idle"
             : computing ? "compute"
                         : "wait");
    pthread_mutex_unlock(&node->lock);
}

static void emit(struct ps_worker *w, enum gw_event_kind kind, uint64_t step,
                 int64_t value)
{
    const struct gw_event event = {
        .time_ns = gw_now_ns(),
        .value = value,
        .kind = kind,
        .rank = w->node->config.number,
        .peer = GW_NONE,
        .epoch = (uint32_t)w->work.epoch,
        .op = (uint32_t)step,
        .step = (uint32_t)step,
        .chunk = w->work.part,
    };
    gw_emit(event_queue_sink(w->node->queue), &event);
}

/* The clock has confirmed the item that it held. */
static void finish_work_item(struct ps_worker *w)
{
    struct node *node = w->node;
    uint64_t step =
        w->work.epoch * gw_task_batches(w->task) + w->work.batch + 1;
    const struct gw_task_score score = gw_task_compute_score(w->task, &w->sums);
    if (!w->holds)
        return;
    w->holds = false;
    pthread_mutex_lock(&node->lock);
    struct node_status *status = &node->status;
    struct epoch_status *epoch =
        &status->worker.epochs[w->work.epoch % EPOCHS_REPORTED];
    if (epoch->items == 0 || epoch->epoch != w->work.epoch)
        *epoch = (struct epoch_status){.epoch = w->work.epoch};
    epoch->items++;
    gw_sample_sums_add(&epoch->sums, &w->sums);
    status->worker.items++;
    status->worker.data_bytes = gw_task_bytes_read(w->task);
    status->step = step;
    status->data_epoch = w->work.epoch;
    if (w->sums.samples)
        status->loss = score.loss;
    pthread_mutex_unlock(&node->lock);
    emit(w, GW_EV_STEP, step, (int64_t)step);
    if (w->sums.samples)
        emit(w, GW_EV_LOSS, step, llround(score.loss * 1e9));
}

/* ---- the loop over items ---- */

static enum gw_err next_work_item(struct ps_worker *w, struct gw_error *why)
{
    struct gw_ps_work next;
    report_worker(w, false);
    enum gw_err code = gw_ps_next(w->ps, 0, &next, why);
    if (code)
        return code;
    finish_work_item(w);
    w->done = next.done;
    if (next.done)
        return GW_OK;
    if (!w->began_ns)
        w->began_ns = gw_now_ns() - next.waited_ns;
    w->work = next;
    report_worker(w, true);
    code = ps_work_item_run(w, why);
    w->holds = code == GW_OK;
    return code;
}

/* Executes an errand of the run. */
static enum gw_err do_directive(struct ps_worker *w, struct gw_error *why)
{
    static struct directive_order order; /* large */
    struct node *node = w->node;
    pthread_mutex_lock(&node->lock);
    order = node->desired.directive;
    bool wanted = order.id > node->status.worker.directive.id;
    pthread_mutex_unlock(&node->lock);
    if (!wanted)
        return GW_OK;
    enum gw_err code = order.kind == DIRECTIVE_MODE
                           ? gw_ps_mode(w->ps, 0, &order.mode, why)
                           : gw_ps_snapshot(w->ps, order.directory, why);
    if (code == GW_ECLOSED || code == GW_EINTR)
        return code; /* the next worker with the errand does it */
    pthread_mutex_lock(&node->lock);
    struct worker_status *status = &node->status.worker;
    status->directive.id = order.id;
    status->directive.code = code;
    snprintf(status->directive.text, sizeof status->directive.text, "%.159s",
             code ? why->text : "");
    pthread_mutex_unlock(&node->lock);
    return GW_OK;
}

static bool is_to_evaluate(struct ps_worker *w)
{
    struct node *node = w->node;
    pthread_mutex_lock(&node->lock);
    bool wanted = node->desired.evaluates && !node->status.scored;
    pthread_mutex_unlock(&node->lock);
    return wanted && w->done && !w->diverged && w->task;
}

/* Only notices when it is no longer a worker. */
static enum gw_err idle(struct ps_worker *w, struct gw_error *why)
{
    unsigned table;
    struct gw_ps_table_config config;
    report_worker(w, false);
    node_nap(w->node, IDLE_NS);
    enum gw_err code = gw_ps_find(w->ps, "?", &table, &config, why);
    return code == GW_ECLOSED || code == GW_EINTR ? code : GW_OK;
}

static enum gw_err work_until_end(struct ps_worker *w, struct gw_error *why)
{
    for (;;) {
        if (node_wants_to_leave(w->node))
            return GW_EINTR;
        enum gw_err code = load_work(w, why);
        if (!code && w->task && !w->open)
            code = open_work(w, why);
        if (!code)
            code = do_directive(w, why);
        if (!code && is_to_evaluate(w))
            code = ps_evaluate(w, why);
        if (!code)
            code = w->task && !w->done ? next_work_item(w, why) : idle(w, why);
        if (code)
            return code;
    }
}

/* ---- lives ---- */

static void end_ps(struct ps_worker *w, bool politely)
{
    struct gw_ps_counts counts;
    gw_ps_get_counts(w->ps, &counts);
    add_counts(&w->before, &counts);
    set_ps(w->node, NULL);
    if (politely)
        gw_ps_close(&w->ps);
    else
        gw_ps_abandon(&w->ps);
    w->open = w->holds = false;
}

/* A push contained a NaN or infinity: other workers do its item, until all have
 * diverged. */
static enum gw_err stay_diverged(struct ps_worker *w,
                                 const struct gw_error *why)
{
    struct node *node = w->node;
    w->done = w->diverged = true;
    node_report_error(node, why);
    pthread_mutex_lock(&node->lock);
    node->status.stage = STAGE_MEMBER;
    node->status.done = node->status.diverged = true;
    snprintf(node->status.phase, sizeof node->status.phase, "diverged");
    pthread_mutex_unlock(&node->lock);
    while (!node_wants_to_leave(node))
        node_nap(node, IDLE_NS);
    return GW_OK;
}

static enum gw_err live_once(struct ps_worker *w, struct gw_error *why)
{
    enum gw_err code = load_work(w, why);
    if (!code)
        code = become_worker(w, why);
    if (code)
        return code;
    code = work_until_end(w, why);
    end_ps(w, code != GW_ECLOSED);
    return code;
}

enum gw_err worker_live(struct node *node, struct gw_error *why)
{
    static struct ps_worker worker;
    struct ps_worker *w = &worker;
    enum gw_err code;
    w->node = node;
    node->status.loss = (double)NAN;
    node->status.ring.waits_for = -1;
    for (;;) {
        node_stage(node, STAGE_JOINING);
        code = live_once(w, why);
        if (code == GW_ENUMERIC)
            code = stay_diverged(w, why);
        if (code != GW_ECLOSED || node_wants_to_leave(node))
            break;
        ps_rejoin(node, why);
    }
    forget_work(w);
    bool left = !code || node_wants_to_leave(node);
    if (left)
        node_stage(node, STAGE_LEFT);
    return left ? GW_OK : code;
}
