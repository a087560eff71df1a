/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode worker: one worker of a cluster, until the training is done or it is
 * asked to end. It runs the same code as the worker of a run
 * (cmd/run/node/ps_work_item.c, ps_evaluate.c), without a supervisor.
 */
#include "join.h"
#include "psnode.h"
#include "psnode/train/train_options.h"
#include "run/node/ps.h"

#include <base/thread.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { POLL_INTERVAL_NS = 20000000, CONNECT_MS = 10000 };

/* ---- Ctrl-C ---- */

/* A signal handler has no access to the connection, so a thread checks its
 * flag. */
struct signal_monitor {
    struct gw_ps *ps;
    pthread_t thread;
    _Atomic bool over;
};

static void *monitor_signals(void *context)
{
    struct signal_monitor *monitor = context;
    const struct timespec nap = {.tv_nsec = POLL_INTERVAL_NS};
    while (!atomic_load(&monitor->over)) {
        if (interrupted) {
            gw_ps_interrupt(monitor->ps);
            break;
        }
        nanosleep(&nap, NULL);
    }
    return NULL;
}

/* ---- the connection ---- */

static enum gw_err connect(struct ps_worker *w, const struct join *join,
                           struct gw_error *why)
{
    struct gw_ps_config config = w->settings.worker;
    config.node = join_options.node;
    config.aggregator_node = GW_PS_ANY;
    config.endpoint = join->listen;
    config.token = join->token;
    config.controller_count = join->controller_count;
    for (unsigned c = 0; c < join->controller_count; c++) {
        config.controllers[c] = join->controllers[c];
        config.controller_endpoints[c] = join->endpoints[c];
    }
    config.wire = join_options.wire;
    config.interface = *join->interface ? join->interface : NULL;
    config.key_file = key_file();
    config.insecure = join_options.insecure;
    config.connect_ms = common.timeout_ns
                            ? (unsigned)(common.timeout_ns / 1000000)
                            : CONNECT_MS;
    config.seed = common.seed;
    computing_begin(); /* no peer knows this process yet */
    enum gw_err code = gw_ps_connect(&config, &w->ps, why);
    computing_end();
    return code;
}

/* ---- the work ---- */

static const struct field fields[] = {
    {.name = "epoch", .kind = FIELD_INTEGER},
    {.name = "items", .kind = FIELD_INTEGER},
    {.name = "samples", .kind = FIELD_INTEGER},
    {.name = "loss", .kind = FIELD_REAL, .decimals = 6},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct worker_results {
    struct output *output;
    uint64_t epoch, items, total_items;
    struct gw_sample_sums sums;
};

/* This worker's results of an epoch. */
static void put_row(struct worker_results *results, const struct gw_task *task)
{
    if (results->items)
        output_row(
            results->output,
            (union value[FIELD_COUNT]){
                {.integer = (int64_t)results->epoch},
                {.integer = (int64_t)results->items},
                {.integer = (int64_t)results->sums.samples},
                {.real = gw_task_compute_score(task, &results->sums).loss}});
    results->items = 0;
    results->sums = (struct gw_sample_sums){0};
}

static void record_item(struct worker_results *results,
                        const struct ps_worker *w)
{
    if (results->epoch != w->work.epoch)
        put_row(results, w->task);
    results->epoch = w->work.epoch;
    results->items++;
    results->total_items++;
    gw_sample_sums_add(&results->sums, &w->sums);
    progress("epoch %llu, batch %llu, part %u: loss %.6f",
             (unsigned long long)w->work.epoch,
             (unsigned long long)w->work.batch, w->work.part,
             gw_task_compute_score(w->task, &w->sums).loss);
}

/* A held item counts when the next one is granted. */
static enum gw_err train_work_items(struct ps_worker *w,
                                    struct worker_results *results,
                                    struct gw_error *why)
{
    enum gw_err code = GW_OK;
    while (!code) {
        struct gw_ps_work next;
        code = gw_ps_next(w->ps, 0, &next, why);
        if (code)
            break;
        if (w->holds)
            record_item(results, w);
        w->holds = false;
        if (next.done)
            return GW_OK;
        w->work = next;
        code = ps_work_item_run(w, why);
        w->holds = code == GW_OK;
    }
    return code;
}

static enum gw_err run_member(struct ps_worker *w, const struct join *join,
                              struct worker_results *results,
                              struct gw_error *why)
{
    struct signal_monitor monitor = {.over = false};
    enum gw_err code = connect(w, join, why);
    if (code)
        return code;
    monitor.ps = w->ps;
    code = gw__thread_start(&monitor.thread, monitor_signals, &monitor,
                            "the worker", why);
    bool is_monitored = !code;
    if (!code)
        code = ps_worker_open(w, why);
    if (!code) {
        fprintf(stderr, "worker %u is ready\n", gw_ps_node(w->ps));
        code = train_work_items(w, results, why);
    }
    if (!code)
        code = ps_evaluate(w, why);
    atomic_store(&monitor.over, true);
    if (is_monitored)
        pthread_join(monitor.thread, NULL);
    w->holds = false;
    if (code == GW_ECLOSED)
        gw_ps_abandon(&w->ps);
    else
        gw_ps_close(&w->ps);
    return code;
}

/* ---- the result ---- */

static void put_score(const struct ps_worker *w,
                      const struct worker_results *results)
{
    static char names[2][40], digest[24];
    const struct score *score = &w->node->status.score;
    const char *quality = gw_task_quality(w->task);
    output_note_integer(results->output, "items",
                        (int64_t)results->total_items);
    if (!w->node->status.scored)
        return;
    snprintf(names[0], sizeof names[0], "train_%s", quality);
    snprintf(names[1], sizeof names[1], "test_%s", quality);
    snprintf(digest, sizeof digest, "%016llx",
             (unsigned long long)score->digest);
    output_note_real(results->output, "train_loss", score->train_loss);
    output_note_real(results->output, names[0], score->train_accuracy);
    output_note_real(results->output, "test_loss", score->test_loss);
    output_note_real(results->output, names[1], score->test_accuracy);
    output_note_text(results->output, "digest", digest);
}

static enum gw_err load_spec(struct ps_worker *w, const struct train_spec *spec,
                             struct gw_error *why)
{
    enum gw_err code =
        work_order_make(&spec->run, &spec->run.work, 1, &w->order, why);
    if (!code)
        code = settings_parse(w->order.model, w->order.settings, &w->settings,
                              why);
    if (!code)
        code = ps_task_load(&w->order, spec->run.seed, &w->task, why);
    return code ? code
                : ps_work_item_new(w->task, &w->settings, &w->work_item, why);
}

static enum gw_err run_work(struct ps_worker *w, const struct join *join,
                            struct gw_error *why)
{
    struct worker_results results = {.output = NULL};
    enum gw_err code = output_begin("psnode worker", common.output, fields,
                                    FIELD_COUNT, &results.output, why);
    if (code)
        return code;
    do {
        code = run_member(w, join, &results, why);
        if (code == GW_ECLOSED)
            fprintf(stderr, "psnode: %s; rejoining\n", why->text);
    } while (code == GW_ECLOSED && !interrupted);
    progress("%s", "");
    put_row(&results, w->task);
    if (results.total_items)
        put_score(w, &results);
    bool is_stopped = interrupted && (code == GW_EINTR || code == GW_ECLOSED);
    output_end(&results.output, code && !is_stopped ? why : NULL, is_stopped);
    return is_stopped ? GW_OK : code;
}

static int run_worker_command(int operand_count, char **operands)
{
    static struct node node; /* only the parts that computing uses */
    static struct ps_worker worker;
    struct train_spec spec;
    struct train_wishes wishes;
    struct join join;
    struct gw_error why = {.code = GW_OK};
    if (strcmp(operands[0], "train") != 0)
        return complain_with(GW_EINVAL, "worker ... train MODEL [NET] [DATA]");
    worker.node = &node;
    pthread_mutex_init(&node.lock, NULL);
    enum gw_err code = join_parse(&join, &why);
    if (!code)
        code = train_options_parse(operand_count - 1, operands + 1, &spec,
                                   &wishes, &why);
    if (!code) {
        computing_begin();
        code = load_spec(&worker, &spec, &why);
        computing_end();
    }
    if (!code)
        code = run_work(&worker, &join, &why);
    ps_work_item_free(&worker);
    gw_work_item_destroy(&worker.work_item);
    gw_task_destroy(&worker.task);
    if (code)
        return complain(&why);
    /* A worker that an engine asks to end has not finished its part yet. */
    return interrupted && join.by_engine ? exit_status(GW_EINTR) : 0;
}

static const struct option_group groups[] = {
    {"join", "Cluster"},
    {"workers", "Training"},
    {0},
};

const struct command command_worker = {
    .name = "worker",
    .operands = "train MODEL [NET] [DATA]",
    .help = "run a worker of a cluster until the training is complete",
    .examples = "psnode worker --join tcp://127.0.0.1:7100 train lr a9a "
                "--workers 2\n",
    .options = worker_option_specs,
    .groups = groups,
    .operands_min = 2,
    .operands_max = 4,
    .run = run_worker_command,
};
