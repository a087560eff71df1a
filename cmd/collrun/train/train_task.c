/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor's part of a task trained by ranks: see train_task.h. One row
 * per epoch, then the result. The bytes and messages of an update are counted
 * on the wire and printed with the numbers of the all-reduce's plan.
 */
#include "train_task.h"

#include "collrun/collrun.h"
#include "run/node/settings.h"
#include "run/until.h"
#include "train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct task_results {
    struct output *output;
    struct task_report scores; /* kind is TASK_SCORES once it came */
    unsigned ranks_done;
    uint64_t updates, train_ns, bytes_sent, messages_sent, init_bytes;
    bool stopped, until;
};

/* The fields of an agent come before seconds. */
static const struct field fields[] = {
    {.name = "epoch", .kind = FIELD_INTEGER},
    {.name = "updates", .kind = FIELD_INTEGER},
    {.name = "samples", .kind = FIELD_INTEGER},
    {.name = "loss", .kind = FIELD_REAL, .decimals = 6},
    {.name = "accuracy", .kind = FIELD_REAL, .decimals = 4},
    {.name = "seconds", .kind = FIELD_REAL, .decimals = 3},
};
static const struct field agent_fields[] = {
    {.name = "epoch", .kind = FIELD_INTEGER},
    {.name = "updates", .kind = FIELD_INTEGER},
    {.name = "episodes", .kind = FIELD_INTEGER},
    {.name = "loss", .kind = FIELD_REAL, .decimals = 6},
    {.name = "return", .kind = FIELD_REAL, .decimals = 2},
    {.name = "policy_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "value_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "entropy", .kind = FIELD_REAL, .decimals = 4},
    {.name = "seconds", .kind = FIELD_REAL, .decimals = 3},
};
enum {
    FIELD_COUNT = sizeof fields / sizeof *fields,
    AGENT_FIELD_COUNT = sizeof agent_fields / sizeof *agent_fields
};

static bool plays(const struct task_training *t)
{
    return gw_task_config(t->task)->kind == GW_TASK_CARTPOLE;
}

/* ---- reports of the ranks ---- */

static void put_epoch(const struct task_training *t,
                      const struct task_report *r)
{
    double samples = r->sums[TASK_SAMPLES], right = r->sums[TASK_RIGHT];
    union value values[AGENT_FIELD_COUNT] = {
        {.integer = (int64_t)r->epoch},
        {.integer = (int64_t)r->updates},
        {.integer = llround(samples)},
        {.real = r->sums[TASK_LOSS] / samples},
        {.real = right / samples},
        {.real = r->sums[TASK_POLICY] / right},
        {.real = r->sums[TASK_VALUE] / right},
        {.real = r->sums[TASK_ENTROPY] / right},
        {.real = (double)r->train_ns / 1e9}};
    if (!plays(t))
        values[FIELD_COUNT - 1] = values[AGENT_FIELD_COUNT - 1];
    output_row(t->results->output, values);
}

static void add_task_report(void *context, unsigned rank, const void *data,
                            size_t bytes)
{
    struct task_training *t = context;
    struct task_results *results = t->results;
    struct task_report report;
    (void)rank;
    if (bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    switch (report.kind) {
    case TASK_EPOCH:
        put_epoch(t, &report);
        break;
    case TASK_TRAINED:
        results->ranks_done++;
        results->updates = report.updates;
        results->bytes_sent += report.bytes_sent;
        results->messages_sent += report.messages_sent;
        results->init_bytes += report.init_bytes;
        results->stopped |= report.stopped;
        results->until |= report.until;
        if (report.train_ns > results->train_ns)
            results->train_ns = report.train_ns;
        break;
    case TASK_SCORES:
        results->scores = report;
        break;
    }
}

/* ---- the document ---- */

static void put_start(const struct task_training *t, struct output *o)
{
    const struct gw_task_config *config = gw_task_config(t->task);
    output_note_text(o, "model", t->options.model);
    output_note_integer(o, "parameters", (int64_t)t->floats);
    output_note_integer(o, "ranks", t->options.ranks);
    output_note_text(o, "wire", t->options.wire);
    output_note_text(o, "algo", train_algo_label(t->algo));
    output_note_integer(o, "batch", (int64_t)config->batch);
    output_note_text(o, "updater", gw_ps_updater_name(config->updater));
    output_note_real(o, "rate", (double)config->rate);
    output_note_text(o, "init", t->options.init);
    output_note_text(o, "until", t->options.until);
    output_note_integer(o, "seed", (int64_t)common.seed);
}

static void put_end(const struct task_training *t)
{
    const struct task_results *r = t->results;
    struct output *o = r->output;
    double updates = r->updates ? (double)r->updates : (double)NAN;
    char digest[24];
    bool scored = r->scores.kind == TASK_SCORES;
    snprintf(digest, sizeof digest, "%016" PRIx64, r->scores.digest);
    output_note_real(o, plays(t) ? "test_return" : "test_accuracy",
                     scored ? r->scores.test_quality : (double)NAN);
    output_note_text(o, "digest", scored ? digest : NULL);
    output_note_real(o, "bytes_per_update", (double)r->bytes_sent / updates);
    output_note_integer(o, "bytes_per_update_formula", (int64_t)t->price.bytes);
    output_note_real(o, "messages_per_update",
                     (double)r->messages_sent / updates);
    output_note_integer(o, "messages_per_update_formula",
                        (int64_t)t->price.messages);
    output_note_integer(o, "init_bytes", (int64_t)r->init_bytes);
    output_note_text(o, "ended",
                     train_ended(interrupted || r->stopped, r->until));
    output_note_real(o, "updates_per_s", updates / ((double)r->train_ns / 1e9));
}

/* ---- start ---- */

static enum gw_err load_task(struct task_training *t, struct gw_error *why)
{
    struct settings settings;
    unsigned count;
    const char *text = t->options.settings ? t->options.settings : "";
    enum gw_err code = settings_parse(t->options.model, text, &settings, why);
    settings.task.seed = common.seed;
    settings.task.network = t->options.network;
    settings.task.train = t->options.data;
    settings.task.test = t->options.test;
    t->init_broadcast = strcmp(t->options.init, "broadcast") == 0;
    if (!code)
        code = until_parse(t->options.until, &t->until, why);
    if (!code)
        code = gw_task_new(&settings.task, &t->task, why);
    if (code)
        return code;
    const struct gw_ps_table_config *table = gw_task_tables(t->task, &count);
    if (count > 1)
        return gw_fail(why, GW_EINVAL,
                       "%s: embeddings are not supported, because ranks would "
                       "all-reduce the whole table; use psnode train",
                       t->options.network);
    t->floats = (size_t)table->width * table->dense;
    return GW_OK;
}

static enum gw_err train(struct task_training *t, struct gw_error *why)
{
    struct task_results *r = t->results;
    const struct launch launch = {.ranks = t->options.ranks,
                                  .launched = t->options.launched,
                                  .wire = t->options.wire,
                                  .timeout_ns = common.timeout_ns,
                                  .rank_main = task_rank,
                                  .context = t,
                                  .on_report = add_task_report};
    bool agent = plays(t);
    enum gw_err code = output_begin(
        "collrun train", common.output, agent ? agent_fields : fields,
        agent ? AGENT_FIELD_COUNT : FIELD_COUNT, &r->output, why);
    if (code)
        return code;
    output_spare(r->output,
                 agent ? "updates seconds episodes loss" : "updates seconds");
    put_start(t, r->output);
    code = launch_run(&launch, why);
    put_end(t);
    output_end(&r->output, code && code != GW_EINTR ? why : NULL,
               r->stopped || code == GW_EINTR);
    return code;
}

int task_train(const struct task_options *options)
{
    struct gw_error why;
    struct task_results results = {0};
    struct task_training t = {.options = *options, .results = &results};
    enum gw_err code = load_task(&t, &why);
    if (!code)
        code = train_choose(options->ranks, options->wire, options->algo,
                            t.floats + TASK_SUMS, &t.algo, &t.price, &why);
    if (!code)
        code = train(&t, &why);
    gw_task_destroy(&t.task);
    return code ? complain(&why) : 0;
}
