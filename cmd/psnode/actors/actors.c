/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode actors: the options, and actors in virtual time; see actors.h.
 */
#include "actors.h"
#include "common/command.h"
#include "psnode/psnode.h"
#include "run/node/settings.h"

#include <gradwire/plugin.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The defaults for the actors' model, so simple that lag has an effect. */
#define SETTINGS "updater=sgd rate=1"

static struct options {
    unsigned actors, queue, batch, max_lag, updates, every;
    uint64_t step_ns, update_ns;
    double jitter;
    bool plain, processes;
    const char *settings, *targets, *wire, *fail;
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
    {"actors", 'n', OPTION_UNSIGNED, &options.actors, "N", "Actors.", NULL},
    {"queue", 'q', OPTION_UNSIGNED, &options.queue, "Q",
     "Trajectories that can wait for the learner, at most.", NULL},
    {"batch", 'b', OPTION_UNSIGNED, &options.batch, "B",
     "Trajectories per update.", NULL},
    {"updates", 'u', OPTION_UNSIGNED, &options.updates, "U", "Updates to make.",
     NULL},
    {"every", 'e', OPTION_UNSIGNED, &options.every, "E",
     "Updates per row of the table.", NULL},
    {"max-lag", 0, OPTION_UNSIGNED, &options.max_lag, "L",
     "Discard trajectories with a larger lag. Default: learn from all.", NULL},
    {"no-correction", 0, OPTION_FLAG, &options.plain, NULL,
     "Learn without the correction of the policy lag, to show its effect.",
     NULL},
    {"targets", 0, OPTION_TEXT, &options.targets, "FILE.so",
     "Plug-in that computes the targets of trajectories instead of V-trace.",
     NULL},
    {"step", 0, OPTION_DURATION, &options.step_ns, "TIME",
     "Duration of an actor's step.", NULL},
    {"update", 0, OPTION_DURATION, &options.update_ns, "TIME",
     "Duration of an update of the learner.", NULL},
    {"jitter", 0, OPTION_REAL, &options.jitter, "J",
     "Share of an actor's time that is exponentially distributed.", NULL},
    {"processes", 0, OPTION_FLAG, &options.processes, NULL,
     "Run each actor as a process, in real time.", NULL},
    {"wire", 'w', OPTION_CHOICE, &options.wire, "WIRE",
     "Transport of --processes: shm, ipc or tcp. Default: shm.", "shm|ipc|tcp"},
    {"fail", 0, OPTION_TEXT, &options.fail, "ACTOR@UPDATE:HOW[,...]",
     "With --processes: kill or stop this actor after UPDATE updates.", NULL},
    {"set", 0, OPTION_LIST, &options.settings, "NAME=VALUE,...",
     "Settings of the model. Default: " SETTINGS ".", NULL},
    {0},
};

static enum gw_err configure_processes(struct actors_spec *spec,
                                       struct gw_error *why)
{
    const struct options *o = &options;
    if (!o->processes && (o->wire || o->fail))
        return gw_fail(
            why, GW_EINVAL,
            "--wire and --fail need --processes, because virtual actors send "
            "no messages and cannot fail");
    if (!o->processes)
        return GW_OK;
    if (o->actors > ACTORS_PROCESSES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "--actors %u: too many processes; use at most %d",
                       o->actors, ACTORS_PROCESSES_MAX);
    spec->wire = o->wire ? o->wire : "shm";
    return o->fail
               ? faults_parse(o->fail, &(struct fault_words){"actor", "update"},
                              o->actors, o->updates, &spec->faults, why)
               : GW_OK;
}

static enum gw_err configure(struct actors_spec *spec, struct gw_error *why)
{
    const struct options *o = &options;
    struct settings settings;
    char text[512];
    snprintf(text, sizeof text, "%s %.400s", SETTINGS,
             o->settings ? o->settings : "");
    if (o->updates == 0 || o->every == 0)
        return gw_fail(why, GW_EINVAL,
                       "--updates and --every must be at least 1");
    enum gw_err code = settings_parse("cartpole", text, &settings, why);
    spec->config = (struct gw_actors_config){
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
    spec->config.task.seed = common.seed;
    return code ? code : configure_processes(spec, why);
}

unsigned actors_next(const struct actors_spec *spec,
                     const struct actors_totals *totals)
{
    uint64_t left = spec->updates - totals->updates;
    return left < spec->every ? (unsigned)left : spec->every;
}

/* Runs in virtual time; `output` NULL: prints nothing. */
static enum gw_err simulate_actors(const struct actors_spec *spec,
                                   struct output *output,
                                   struct actors_totals *totals,
                                   struct gw_error *why)
{
    struct gw_actors *actors = NULL;
    enum gw_err code = gw_actors_new(&spec->config, &actors, why);
    unsigned updates;
    while (!code && (updates = actors_next(spec, totals)) > 0) {
        struct gw_actors_report report;
        if (interrupted) {
            code = gw_fail(why, GW_EINTR, "interrupted");
            break;
        }
        code = gw_actors_run(actors, updates, &report, why);
        actors_row(output, &report, totals);
        progress("update %llu of %u", (unsigned long long)totals->updates,
                 spec->updates);
    }
    progress("%s", "");
    if (actors)
        totals->digest = gw_actors_digest(actors);
    gw_actors_destroy(&actors);
    return code;
}

static enum gw_err play_aloud(const struct actors_spec *spec,
                              struct gw_error *why)
{
    struct actors_totals totals = {.newest = (double)NAN};
    struct output *output;
    enum gw_err code = actors_begin(spec, &output, why);
    if (code)
        return code;
    code = simulate_actors(spec, output, &totals, why);
    actors_put_totals(output, spec, &totals);
    output_end(&output, code && code != GW_EINTR ? why : NULL,
               code == GW_EINTR);
    return code;
}

static enum gw_err actors(struct gw_plugin *plugin, struct gw_error *why)
{
    struct actors_spec spec = {.updates = options.updates,
                               .every = options.every};
    struct actors_totals virtual = {.newest = (double)NAN};
    enum gw_err code = configure(&spec, why);
    spec.config.targets = plugin ? plugin->targets : NULL;
    spec.correction = options.plain ? "none" : plugin ? plugin->name : "vtrace";
    if (code)
        return code;
    if (!options.processes)
        return play_aloud(&spec, why);
    code = simulate_actors(&spec, NULL, &virtual, why);
    return code ? code : actors_processes(&spec, &virtual, why);
}

static int run_actors(int operand_count, char **operands)
{
    struct gw_error why;
    struct gw_plugin *plugin = NULL;
    enum gw_err code = GW_OK;
    (void)operand_count;
    if (strcmp(operands[0], "cartpole") != 0)
        return complain_with(GW_EINVAL,
                             "actors: unknown environment \"%.40s\"; use "
                             "cartpole",
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

static const struct option_group groups[] = {
    {"actors", "Training"},
    {"max-lag", "Policy lag"},
    {"step", "Simulated times"},
    {"processes", "Processes"},
    {0},
};

const struct command command_actors = {
    .name = "actors",
    .operands = "cartpole",
    .help = "run actors and a learner, in virtual time or as processes, and "
            "measure the policy lag",
    .examples = "psnode actors cartpole --actors 16 --queue 4\n"
                "psnode actors cartpole --queue 56 --no-correction\n"
                "psnode actors cartpole --processes --fail 3@500:kill\n",
    .options = specs,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_actors,
};
