/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode actors: actors that play and a learner that learns from it, with a
 * bounded queue between them, in virtual time (gradwire/actors.h). A row a
 * stretch of updates; then the policy lag of all of them beside what its
 * formula says.
 */
#include "common/command.h"
#include "common/output.h"
#include "psnode.h"
#include "run/settings.h"
#include "train.h"

#include <gradwire/actors.h>
#include <gradwire/plugin.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of actors of their own: without any tricks, so that lag shows. */
#define SETTINGS "updater=sgd rate=1"

static struct options {
    unsigned actors, queue, batch, max_lag, updates, every;
    uint64_t step_ns, update_ns;
    double jitter;
    bool plain;
    const char *settings, *targets;
} options = {
    .actors = 8,
    .queue = 8,
    .batch = 1,
    .max_lag = UINT_MAX,
    .updates = 2000,
    .every = 200,
    .step_ns = 100000,
    .update_ns = 1000000,
    .jitter = 0.5,
};

static const struct option_spec specs[] = {
    {"actors", 'n', OPTION_UNSIGNED, &options.actors, "N", "that play", NULL},
    {"queue", 'q', OPTION_UNSIGNED, &options.queue, "Q",
     "trajectories that wait for the learner, at most", NULL},
    {"batch", 'b', OPTION_UNSIGNED, &options.batch, "B",
     "trajectories of an update", NULL},
    {"updates", 'u', OPTION_UNSIGNED, &options.updates, "U",
     "until the learner has made so many", NULL},
    {"every", 'e', OPTION_UNSIGNED, &options.every, "E",
     "updates of a row of the table", NULL},
    {"max-lag", 0, OPTION_UNSIGNED, &options.max_lag, "L",
     "throw away what is older (default: learn from all)", NULL},
    {"no-correction", 0, OPTION_FLAG, &options.plain, NULL,
     "what goes wrong: learn as if there were no lag", NULL},
    {"targets", 0, OPTION_TEXT, &options.targets, "FILE.so",
     "a plug-in that judges trajectories, in place of V-trace", NULL},
    {"step", 0, OPTION_DURATION, &options.step_ns, "TIME",
     "an actor's step takes so long", NULL},
    {"update", 0, OPTION_DURATION, &options.update_ns, "TIME",
     "an update takes the learner so long", NULL},
    {"jitter", 0, OPTION_REAL, &options.jitter, "J",
     "share of an actor's time that is exponential", NULL},
    {"set", 0, OPTION_TEXT, &options.settings, "NAME=VALUE,...",
     "numbers of the model (default: " SETTINGS ")", NULL},
    {0},
};

static const struct field fields[] = {
    {.name = "updates", .kind = FIELD_INTEGER},
    {.name = "episodes", .kind = FIELD_INTEGER},
    {.name = "return", .kind = FIELD_REAL, .decimals = 1},
    {.name = "policy_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "value_loss", .kind = FIELD_REAL, .decimals = 5},
    {.name = "entropy", .kind = FIELD_REAL, .decimals = 4},
    {.name = "lag_mean", .kind = FIELD_REAL, .decimals = 2},
    {.name = "lag_max", .kind = FIELD_INTEGER},
    {.name = "queued", .kind = FIELD_REAL, .decimals = 2},
    {.name = "dropped", .kind = FIELD_INTEGER},
    {.name = "busy", .kind = FIELD_REAL, .decimals = 3},
    {.name = "seconds", .kind = FIELD_REAL, .decimals = 3},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

struct totals {
    uint64_t updates, trajectories, dropped, episodes, steps, lag_max, time_ns;
    double lag_sum, queue_sum, newest;
};

static enum gw_err configure(struct gw_actors_config *config,
                             struct gw_error *why)
{
    const struct options *o = &options;
    struct settings settings;
    char text[512];
    snprintf(text, sizeof text, "%s %.400s", SETTINGS,
             o->settings ? o->settings : "");
    if (o->updates == 0 || o->every == 0)
        return gw_fail(why, GW_EINVAL, "--updates and --every are at least 1");
    enum gw_err code = settings_parse("cartpole", text, &settings, why);
    *config = (struct gw_actors_config){
        .task = settings.task,
        .actors = o->actors,
        .queue = o->queue,
        .batch = o->batch,
        .step_ns = o->step_ns,
        .jitter = o->jitter,
        .update_ns = o->update_ns,
        .max_lag = o->max_lag == UINT_MAX ? GW_LAG_ANY : o->max_lag,
        .plain = o->plain,
    };
    config->task.seed = common.seed;
    return code;
}

static void put_row(struct output *output, const struct gw_actors_report *r,
                    const struct totals *totals)
{
    output_row(output, (union value[FIELD_COUNT]){
                           {.integer = (int64_t)totals->updates},
                           {.integer = (int64_t)r->episodes},
                           {.real = r->mean_return},
                           {.real = r->policy_loss},
                           {.real = r->value_loss},
                           {.real = r->entropy},
                           {.real = r->lag_mean},
                           {.integer = (int64_t)r->lag_max},
                           {.real = r->queue_mean},
                           {.integer = (int64_t)r->dropped},
                           {.real = r->busy},
                           {.real = (double)totals->time_ns / 1e9}});
}

static void add(struct totals *t, const struct gw_actors_report *r)
{
    t->updates += r->updates;
    t->trajectories += r->trajectories;
    t->dropped += r->dropped;
    t->episodes += r->episodes;
    t->steps += r->steps;
    t->time_ns += r->time_ns;
    t->lag_sum += r->lag_mean * (double)r->trajectories;
    t->queue_sum += r->queue_mean * (double)r->updates;
    t->lag_max = r->lag_max > t->lag_max ? r->lag_max : t->lag_max;
    if (r->episodes)
        t->newest = r->mean_return;
}

static enum gw_err play(struct gw_actors *actors, struct output *output,
                        struct totals *totals, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    while (!code && totals->updates < options.updates) {
        struct gw_actors_report report;
        uint64_t left = options.updates - totals->updates;
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        code = gw_actors_run(
            actors, left < options.every ? left : options.every, &report, why);
        add(totals, &report);
        put_row(output, &report, totals);
        progress("update %llu of %u", (unsigned long long)totals->updates,
                 options.updates);
    }
    progress("%s", "");
    return code;
}

static void put_totals(struct output *o, const struct totals *t,
                       const struct gw_actors *actors)
{
    double updates = (double)t->updates, seconds = (double)t->time_ns / 1e9;
    double queued = t->queue_sum / updates;
    double in_flight = (double)options.actors + queued;
    char digest[24];
    train_fact(o, "lag", t->lag_sum / (double)t->trajectories, "%.2f updates",
               t->lag_sum / (double)t->trajectories);
    train_fact(o, "lag_formula", in_flight / options.batch,
               "%.2f: (actors + mean queue) / batch = (%u + %.2f) / %u",
               in_flight / options.batch, options.actors, queued,
               options.batch);
    output_note_integer(o, "lag_worst", (int64_t)t->lag_max);
    output_note_integer(o, "total_trajectories", (int64_t)t->trajectories);
    output_note_integer(o, "total_dropped", (int64_t)t->dropped);
    output_note_integer(o, "total_episodes", (int64_t)t->episodes);
    output_note_integer(o, "total_steps", (int64_t)t->steps);
    train_fact(o, "updates_per_s", updates / seconds,
               "%.1f in virtual time; the learner could make %.1f",
               updates / seconds, 1e9 / (double)options.update_ns);
    train_fact(o, "total_busy",
               updates * (double)options.update_ns / 1e9 / seconds,
               "%.3f of the learner's time",
               updates * (double)options.update_ns / 1e9 / seconds);
    train_fact(o, "last_return", t->newest, "%.1f steps, in the last row",
               t->newest);
    snprintf(digest, sizeof digest, "%016llx",
             (unsigned long long)gw_actors_digest(actors));
    output_note_text(o, "digest", digest);
}

static const char *correction(const struct gw_plugin *plugin)
{
    if (options.plain)
        return "none";
    return plugin ? plugin->name : "vtrace";
}

static enum gw_err actors(struct gw_plugin *plugin, struct gw_error *why)
{
    struct gw_actors_config config;
    struct gw_actors *made = NULL;
    struct output *output;
    struct totals totals = {.newest = (double)NAN};
    enum gw_err code = configure(&config, why);
    config.targets = plugin ? plugin->targets : NULL;
    if (!code)
        code = gw_actors_new(&config, &made, why);
    if (!code)
        code = output_begin("psnode actors", common.output, fields, FIELD_COUNT,
                            &output, why);
    if (!code) {
        output_spare(output,
                     "entropy policy_loss value_loss seconds lag_max queued");
        output_note_integer(output, "actors", options.actors);
        output_note_integer(output, "queue", options.queue);
        output_note_integer(output, "batch", options.batch);
        output_note_text(output, "correction", correction(plugin));
        output_note_integer(output, "seed", (int64_t)common.seed);
        code = play(made, output, &totals, why);
        put_totals(output, &totals, made);
        output_end(&output, code && code != GW_EINTR ? why : NULL,
                   code == GW_EINTR);
    }
    gw_actors_destroy(&made);
    return code;
}

static int run(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_plugin *plugin = NULL;
    enum gw_err code = GW_OK;
    (void)operand_count;
    if (strcmp(operands[0], "cartpole") != 0)
        return complain_with(GW_EINVAL,
                             "actors play cartpole; \"%.40s\" is no play",
                             operands[0]);
    if (options.targets)
        code =
            gw_plugin_open(options.targets, GW_PLUGIN_TARGETS, &plugin, &why);
    if (!code)
        code = actors(plugin, &why);
    if (plugin)
        gw_plugin_close(&plugin);
    return code ? complain(&why) : 0;
}

const struct command command_actors = {
    .name = "actors",
    .operands = "cartpole",
    .help = "actors and a learner apart, in virtual time: policy lag",
    .examples = "psnode actors cartpole --actors 16 --queue 4\n"
                "psnode actors cartpole --queue 56 --no-correction\n",
    .options = specs,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run,
};
