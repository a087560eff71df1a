/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode sim: the cost of stragglers in each mode, in virtual time. The clock
 * is the servers' own (lib/ps/clock/clock_sim.h), the times are random, and
 * with a model gradients are computed, each from the parameters that its worker
 * would have pulled. Several modes are simulated with the same random times,
 * one after the other.
 */
#include "sim.h"

#include "common/command.h"
#include "common/text/items.h"
#include "psnode/psnode.h"
#include "run/node/settings.h"

#include <gradwire/plugin.h>

#include <stdio.h>
#include <string.h>

enum { MODES_MAX = 16, POINTS = 100 };

static unsigned workers = 4, parts, rounds = 1000, batch = WORK_UNSET;
static const char *modes = "bsp", *compute = "exp:1s", *slow, *late = "finish",
                  *straggler, *set_text, *test, *by_name = "mode";
static uint64_t pull_ns, push_ns;
static double target = (double)NAN;

static const struct option_spec options[] = {
    {"workers", 'n', OPTION_UNSIGNED, &workers, "W", "Simulated workers.",
     NULL},
    {"mode", 'm', OPTION_TEXT, &modes, "MODE,...",
     "Modes to simulate: bsp, ssp:S, asp, kofn:K; one row each.",
     "bsp|ssp:2|asp|kofn:3"},
    {"parts", 'p', OPTION_UNSIGNED, &parts, "P",
     "Parts of a batch. Default: the number of workers.", NULL},
    {"rounds", 0, OPTION_UNSIGNED, &rounds, "R", "Batches to simulate.", NULL},
    {"compute", 0, OPTION_TEXT, &compute, "LAW",
     "Distribution of compute times: fixed:1s, uniform:1s,2s, exp:1s, "
     "normal:1s,100ms, pareto:500ms,2.5.",
     NULL},
    {"slow", 0, OPTION_TEXT, &slow, "WORKER:TIMES,...",
     "Slow workers and their factors: 0:3, 0-3:2, 1:8@100s-300s.", NULL},
    {"pull", 0, OPTION_DURATION, &pull_ns, "TIME", "Duration of a pull.", NULL},
    {"push", 0, OPTION_DURATION, &push_ns, "TIME", "Duration of a push.", NULL},
    {"late", 0, OPTION_CHOICE, &late, "ACTION",
     "Action of a worker whose round has closed: finish its work item, or "
     "give-up.",
     "finish|give-up"},
    {"straggler", 0, OPTION_TEXT, &straggler, "FILE.so",
     "Plug-in that chooses K or S after each round.", NULL},
    {"by", 0, OPTION_CHOICE, &by_name, "ROWS",
     "Rows of the output: modes; or workers, stalenesses or samples of the "
     "loss of each mode.",
     "mode|worker|staleness|time"},
    {"test", 't', OPTION_TEXT, &test, "FILE",
     "Test rows for the loss of a model.", NULL},
    {"batch", 'b', OPTION_UNSIGNED, &batch, "ROWS",
     "Samples of a batch of a model, in all parts.", NULL},
    {"set", 0, OPTION_LIST, &set_text, "NAME=VALUE,...",
     "Settings of a model, as for train.", NULL},
    {"target", 0, OPTION_REAL, &target, "LOSS",
     "Report the time when a model reaches this loss.", NULL},
    {0},
};

struct named_mode {
    char name[48];
    struct gw_ps_mode mode;
};

struct simulation {
    enum sim_by by;
    struct named_mode modes[MODES_MAX];
    unsigned mode_count;
    struct gw__clock_sim how;
    struct sim_times times;
    struct gw_task *task; /* NULL: no model */
    struct sim_learn *learn;
    struct gw_plugin *plugin;
    struct output *output;
    struct gw__clock_sim_result result;
};

/* ---- callbacks of the simulation ---- */

static uint64_t on_compute(void *context, unsigned worker, uint64_t now_ns)
{
    struct simulation *s = context;
    return sim_times_draw(&s->times, worker, now_ns);
}

static enum gw_err on_granted(void *context, unsigned worker,
                              const struct gw_ps_work *work,
                              struct gw_error *why)
{
    struct simulation *s = context;
    if (interrupted)
        return gw_fail(why, GW_EINTR, "interrupted");
    return s->learn ? sim_learn_granted(s->learn, worker, work, why) : GW_OK;
}

static enum gw_err on_closed(void *context,
                             const struct gw__round_commit *commit,
                             uint64_t now_ns, struct gw_error *why)
{
    struct simulation *s = context;
    return s->learn ? sim_learn_closed(s->learn, commit, now_ns, why) : GW_OK;
}

/* ---- one mode ---- */

static void put_outcome(struct simulation *s, const char *mode)
{
    struct sim_outcome outcome = {.mode = mode,
                                  .clock_result = &s->result,
                                  .workers = s->how.workers,
                                  .rounds = s->how.rounds,
                                  .target = target};
    if (s->learn)
        outcome.points = sim_learn_points(s->learn, &outcome.point_count);
    sim_rows_put(s->output, s->by, &outcome);
}

static enum gw_err run_mode(struct simulation *s,
                            const struct named_mode *named,
                            struct gw_error *why)
{
    const char *mode = named->name;
    enum gw_err code = GW_OK;
    s->how.mode = named->mode;
    if (s->task)
        code = sim_learn_new(s->task, s->how.parts, s->how.rounds, POINTS,
                             &s->learn, why);
    if (code)
        return code;
    progress("%s: %u workers, %u rounds", mode, s->how.workers, rounds);
    sim_times_begin(&s->times, common.seed);
    code = gw__clock_sim_run(&s->how, &s->result, why);
    progress("%s", "");
    if (!code)
        put_outcome(s, mode);
    sim_learn_destroy(&s->learn);
    return code ? gw_wrap(why, code, "%s", mode) : GW_OK;
}

static enum gw_err run_modes(struct simulation *s, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (unsigned i = 0; i < s->mode_count && !code; i++)
        code = run_mode(s, &s->modes[i], why);
    return code;
}

/* ---- options ---- */

static enum sim_by by_of(const char *name)
{
    static const char *const names[] = {[SIM_BY_MODE] = "mode",
                                        [SIM_BY_WORKER] = "worker",
                                        [SIM_BY_STALENESS] = "staleness",
                                        [SIM_BY_TIME] = "time"};
    unsigned by = 0;
    while (strcmp(names[by], name) != 0)
        by++;
    return (enum sim_by)by;
}

/* Refuses everything invalid before the first row, also in the last mode. */
static enum gw_err read_modes(struct simulation *s, struct gw_error *why)
{
    struct named_mode next;
    for (const char *rest = modes;
         items_next(&rest, next.name, sizeof next.name);) {
        if (gw_ps_mode_parse(next.name, &next.mode, why))
            return GW_EINVAL;
        if (next.mode.kind == GW_PS_KOFN && next.mode.bound > parts)
            return gw_fail(why, GW_EINVAL,
                           "%s needs more parts than the %u of a batch",
                           next.name, parts);
        if (s->mode_count == MODES_MAX)
            return gw_fail(why, GW_EINVAL,
                           "--mode: too many modes; use at most %d", MODES_MAX);
        s->modes[s->mode_count++] = next;
    }
    return GW_OK;
}

static enum gw_err check_sim(struct simulation *s, struct gw_error *why)
{
    parts = parts ? parts : workers;
    if (workers < 1 || workers > GW_PS_NODES)
        return gw_fail(why, GW_EINVAL, "--workers must be from 1 to %d, not %u",
                       GW_PS_NODES, workers);
    if (parts > GW_PS_NODES)
        return gw_fail(why, GW_EINVAL, "--parts must be from 1 to %d, not %u",
                       GW_PS_NODES, parts);
    if (rounds < 1)
        return gw_fail(why, GW_EINVAL, "--rounds must be at least 1");
    return read_modes(s, why);
}

/* A simulation has neither messages nor threads. */
static enum gw_err check_settings(const char *model, struct gw_error *why)
{
    struct settings settings;
    enum gw_err code =
        settings_parse(model, set_text ? set_text : "", &settings, why);
    if (!code && settings.server.hogwild)
        code = gw_fail(why, GW_EINVAL,
                       "hogwild needs train; a simulation has no threads");
    if (!code && settings.worker.aggregate)
        code = gw_fail(why, GW_EINVAL,
                       "aggregate needs train; a simulation has no messages");
    return code;
}

/* As psnode train loads it. */
static enum gw_err load_model(struct simulation *s, int count, char **operands,
                              struct gw_error *why)
{
    static struct train_spec spec; /* large */
    unsigned unused;
    if (count == 0 &&
        (set_text || test || !isnan(target) || s->by == SIM_BY_TIME))
        return gw_fail(why, GW_EINVAL,
                       "--set, --test, --target and --by time need a model");
    if (count == 0)
        return GW_OK;
    if (strcmp(operands[0], "word2vec") == 0 ||
        strcmp(operands[0], "deepwalk") == 0)
        return gw_fail(why, GW_EINVAL, "%s has no loss; use lr, mf or drift",
                       operands[0]);
    spec.run = (struct run_options){.ranks = workers,
                                    .controllers = 1,
                                    .wire = "shm",
                                    .seed = common.seed,
                                    .servers = 1,
                                    .work = work_defaults};
    spec.run.work.kind = WORK_TRAIN;
    spec.run.work.test = test;
    spec.run.work.batch = batch;
    spec.run.work.parts = parts;
    spec.run.work.settings = set_text;
    enum gw_err code = work_set_operands(count, operands, &spec.run.work, why);
    if (!code)
        code = check_settings(operands[0], why);
    return code ? code : train_task(&spec, &s->task, &unused, why);
}

static enum gw_err prepare_sim(struct simulation *s, int count, char **operands,
                               struct gw_error *why)
{
    s->by = by_of(by_name);
    enum gw_err code = check_sim(s, why);
    if (!code)
        code = sim_time_parse(compute, &s->times.compute, why);
    if (!code)
        code = sim_slow_parse(slow, workers, &s->times, why);
    if (!code && straggler)
        code = gw_plugin_open(straggler, GW_PLUGIN_STRAGGLER, &s->plugin, why);
    if (!code)
        code = load_model(s, count, operands, why);
    s->how = (struct gw__clock_sim){
        .workers = workers,
        .parts = parts,
        .rounds = rounds,
        .straggler = s->plugin ? s->plugin->straggler : NULL,
        .give_up = strcmp(late, "give-up") == 0,
        .pull_ns = pull_ns,
        .push_ns = push_ns,
        .context = s,
        .compute_ns = on_compute,
        .granted = on_granted,
        .closed = on_closed,
    };
    return code;
}

static int run_sim(int operand_count, char **operands)
{
    static struct simulation s; /* large */
    struct gw_error why = {.code = GW_OK};
    enum gw_err code = prepare_sim(&s, operand_count, operands, &why);
    if (!code)
        code = sim_rows_begin(s.by, s.task != NULL, s.plugin != NULL, &s.output,
                              &why);
    if (!code) {
        output_collect(s.output);
        output_note_integer(s.output, "seed", (int64_t)common.seed);
        output_note_text(s.output, "compute", compute);
        if (s.plugin)
            output_note_text(s.output, "straggler", s.plugin->name);
        code = run_modes(&s, &why);
        output_end(&s.output, code ? &why : NULL, code == GW_EINTR);
    }
    gw_task_destroy(&s.task);
    gw_plugin_close(&s.plugin);
    return code ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"workers", "Cluster"}, {"compute", "Times"}, {"late", "Stragglers"},
    {"by", "Output"},       {"test", "Model"},    {0},
};

const struct command command_sim = {
    .name = "sim",
    .operands = "[lr DATA | mf | drift]",
    .help = "simulate stragglers and modes in virtual time, with the servers' "
            "own clock",
    .examples = "psnode sim -n 16 --mode bsp,ssp:2,asp,kofn:14 --slow 0:3\n"
                "psnode sim -n 18 --mode kofn:16 --late give-up\n"
                "psnode sim drift -n 8 --mode bsp,asp --rounds 400 --target "
                "0.1\n",
    .options = options,
    .groups = groups,
    .operands_min = 0,
    .operands_max = 3,
    .computes = true,
    .run = run_sim,
};
