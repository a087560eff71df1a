/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The supervisor's part of `collrun train cartpole`: see train_agent.h. A row
 * an epoch, then what came out; bytes and messages of an update are counted on
 * the wire, and stand beside what the plan of the all-reduce promises.
 */
#include "train_agent.h"

#include "collrun.h"
#include "run/settings.h"
#include "run/until.h"
#include "train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct agent_results {
    struct output *output;
    struct agent_report scores; /* kind is AGENT_SCORES once it came */
    unsigned ranks_done;
    uint64_t updates, train_ns, bytes_sent, messages_sent, init_bytes;
    bool stopped, until;
};

static const struct field fields[] = {
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
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* ---- what the ranks tell ---- */

static void put_epoch(struct output *output, const struct agent_report *r)
{
    double episodes = r->sums[AGENT_EPISODES], steps = r->sums[AGENT_STEPS];
    output_row(output, (union value[FIELD_COUNT]){
                           {.integer = (int64_t)r->epoch},
                           {.integer = (int64_t)r->updates},
                           {.integer = llround(episodes)},
                           {.real = r->sums[AGENT_LOSS] / episodes},
                           {.real = steps / episodes},
                           {.real = r->sums[AGENT_POLICY] / steps},
                           {.real = r->sums[AGENT_VALUE] / steps},
                           {.real = r->sums[AGENT_ENTROPY] / steps},
                           {.real = (double)r->train_ns / 1e9}});
}

static void on_report(void *context, unsigned rank, const void *data,
                      size_t bytes)
{
    struct agent_training *t = context;
    struct agent_results *results = t->results;
    struct agent_report report;
    (void)rank;
    if (bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    switch (report.kind) {
    case AGENT_EPOCH:
        put_epoch(results->output, &report);
        break;
    case AGENT_TRAINED:
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
    case AGENT_SCORES:
        results->scores = report;
        break;
    }
}

/* ---- the document ---- */

static void put_start(const struct agent_training *t, struct output *o)
{
    const struct gw_task_config *config = gw_task_config(t->task);
    output_note_text(o, "model", gw_task_name(config->kind));
    output_note_integer(o, "parameters", (int64_t)t->floats);
    output_note_integer(o, "ranks", t->options.ranks);
    output_note_text(o, "wire", t->options.wire);
    output_note_text(o, "algo", t->algo);
    output_note_integer(o, "batch", (int64_t)config->batch);
    output_note_text(o, "updater", gw_ps_updater_name(config->updater));
    output_note_real(o, "rate", (double)config->rate);
    output_note_text(o, "init", t->options.init);
    output_note_text(o, "until", t->options.until);
    output_note_integer(o, "seed", (int64_t)common.seed);
}

static void put_end(const struct agent_training *t)
{
    const struct agent_results *r = t->results;
    struct output *o = r->output;
    double updates = r->updates ? (double)r->updates : (double)NAN;
    char digest[24];
    bool scored = r->scores.kind == AGENT_SCORES;
    snprintf(digest, sizeof digest, "%016" PRIx64, r->scores.digest);
    output_note_real(o, "test_return",
                     scored ? r->scores.test_return : (double)NAN);
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

static enum gw_err load(struct agent_training *t, struct gw_error *why)
{
    struct settings settings;
    unsigned count;
    const char *text = t->options.settings ? t->options.settings : "";
    enum gw_err code = settings_parse("cartpole", text, &settings, why);
    settings.task.seed = common.seed;
    t->init_broadcast = strcmp(t->options.init, "broadcast") == 0;
    if (!code)
        code = until_parse(t->options.until, &t->until, why);
    if (!code)
        code = gw_task_new(&settings.task, &t->task, why);
    if (code)
        return code;
    const struct gw_ps_table_config *table = gw_task_tables(t->task, &count);
    t->floats = (size_t)table->width * table->dense;
    return GW_OK;
}

static enum gw_err train(struct agent_training *t, struct gw_error *why)
{
    struct agent_results *r = t->results;
    const struct launch launch = {.ranks = t->options.ranks,
                                  .placed = t->options.placed,
                                  .wire = t->options.wire,
                                  .timeout_ns = common.timeout_ns,
                                  .rank_main = agent_rank,
                                  .context = t,
                                  .on_report = on_report};
    enum gw_err code = output_begin("collrun train", common.output, fields,
                                    FIELD_COUNT, &r->output, why);
    if (code)
        return code;
    output_spare(r->output, "updates seconds episodes loss");
    put_start(t, r->output);
    code = launch_run(&launch, why);
    put_end(t);
    output_end(&r->output, code && code != GW_EINTR ? why : NULL,
               r->stopped || code == GW_EINTR);
    return code;
}

int agent_train(const struct agent_options *options)
{
    struct gw_error why;
    struct agent_results results = {0};
    struct agent_training t = {.options = *options, .results = &results};
    enum gw_err code = load(&t, &why);
    if (!code)
        code = train_choose(options->ranks, options->wire, options->algo,
                            t.floats + AGENT_SUMS, &t.algo, &t.price, &why);
    if (!code)
        code = train(&t, &why);
    gw_task_destroy(&t.task);
    return code ? complain(&why) : 0;
}
