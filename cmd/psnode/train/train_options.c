/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See train_options.h.
 */
#include "train_options.h"

#include "common/key.h"
#include "psnode/join.h"
#include "run/until.h"
#include "train_stream.h"

#include <gradwire/plugin.h>

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_DEFAULT = 2 };

static const char *name, *wire = "shm", *mode = "bsp", *test, *set_text,
                         *snapshot, *restore, *straggler, *slow_text, *compare,
                         *sweep, *placement, *slot_weights, *until, *labels;
static unsigned servers = 1, workers = WORKERS_DEFAULT, replicas, slots;
static unsigned controllers = 1, parts, epochs = WORK_UNSET, batch = WORK_UNSET;
static uint64_t compute_ns, limit_ns;
static double times = 4, target = (double)NAN;
static bool reference, baseline;

/* clang-format off */
#define WORK_SPECS                                                             \
    {"mode", 'm', OPTION_TEXT, &mode, "MODE",                                  \
     "Mode: bsp, ssp:S, asp or kofn:K; +drop leaves out the parts of a dead "  \
     "worker.",                                                                \
     "bsp|ssp:2|asp|kofn:3|bsp+drop"},                                         \
    {"parts", 'p', OPTION_UNSIGNED, &parts, "P",                               \
     "Parts of a batch. Default: the number of workers when the batch starts.",\
     NULL},                                                                    \
    {"test", 't', OPTION_TEXT, &test, "FILE",                                  \
     "Test rows for the finished model.", NULL},                               \
    {"epochs", 'E', OPTION_UNSIGNED, &epochs, "N",                             \
     "Passes over the data. Default: depends on the model.", NULL},            \
    {"batch", 'b', OPTION_COUNT, &batch, "ROWS",                               \
     "Samples of a batch, in all parts. Default: depends on the model.",       \
     NULL},                                                                    \
    UNTIL_OPTION(until),                                                       \
    {"set", 0, OPTION_LIST, &set_text, "NAME=VALUE,...",                       \
     "Settings of the model, and switches of workers and servers.", NULL}

const struct option_spec train_option_specs[] = {
    {"servers", 's', OPTION_UNSIGNED, &servers, "S", "Servers.", NULL},
    {"workers", 'n', OPTION_UNSIGNED, &workers, "W", "Workers.", NULL},
    {"replicas", 'R', OPTION_UNSIGNED, &replicas, "R",
     "Replicas per slot. Default: 3, or the number of servers if it is "
     "smaller.", NULL},
    {"controllers", 'C', OPTION_UNSIGNED, &controllers, "1|3|5",
     "Controllers: 1 runs in the supervisor, 3 and 5 are processes.", "1|3|5"},
    {"slots", 0, OPTION_COUNT, &slots, "N",
     "Slots into which the keys are divided. Default: 64.", NULL},
    {"placement", 0, OPTION_TEXT, &placement, "count|load|FILE.so",
     "Placement of the slots: by count, by measured load, or by a plug-in.",
     "count|load"},
    {"weights", 0, OPTION_TEXT, &slot_weights, "FILE",
     "Weights for a placement plug-in, one number per slot. Default: equal "
     "weights.", NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Transport: shm, ipc or tcp.",
     "shm|ipc|tcp"},
    KEY_OPTION,
    WORK_SPECS,
    {"name", 0, OPTION_TEXT, &name, "NAME",
     "Name of the run. Default: an unused word.", NULL},
    {"snapshot", 0, OPTION_TEXT, &snapshot, "DIR",
     "Write a snapshot to DIR when the training is complete.", NULL},
    {"restore", 0, OPTION_TEXT, &restore, "DIR",
     "Continue from the snapshot in DIR.", NULL},
    {"straggler", 0, OPTION_TEXT, &straggler, "FILE.so",
     "Plug-in that chooses K or S after each round.", NULL},
    {"reference", 0, OPTION_FLAG, &reference, NULL,
     "Also train in a single process, and compare.", NULL},
    {"baseline", 0, OPTION_FLAG, &baseline, NULL,
     "word2vec: also measure Hogwild in a single process.", NULL},
    {"labels", 0, OPTION_TEXT, &labels, "FILE",
     "word2vec, deepwalk: measure how well the vectors separate these classes.",
     NULL},
    {"compute", 0, OPTION_DURATION, &compute_ns, "TIME",
     "Workers sleep for TIME in each work item.", NULL},
    {"slow", 0, OPTION_TEXT, &slow_text, "WORKER=TIME,...",
     "These workers sleep for TIME in each work item.", NULL},
    {"compare", 0, OPTION_CHOICE, &compare, "modes",
     "Train in all modes in turn, with one slower worker.", "modes"},
    {"times", 0, OPTION_REAL, &times, "S",
     "--compare: factor by which the last worker is slower.", NULL},
    {"seconds", 0, OPTION_DURATION, &limit_ns, "TIME",
     "--compare: maximum duration of each mode.", NULL},
    {"sweep", 0, OPTION_CHOICE, &sweep, "ssp",
     "Train with S = 0, 1, 2, 4, 8, 16 in turn, with random delays.", "ssp"},
    {"target", 0, OPTION_REAL, &target, "LOSS",
     "--sweep: count the epochs until this loss.", NULL},
    {0},
};

const struct option_group train_option_groups[] = {
    {"servers", "Cluster"},
    {"mode", "Training"},
    {"name", "Run and snapshots"},
    {"straggler", "Experiments"},
    {0},
};

const struct option_spec worker_option_specs[] = {
    JOIN_SPECS,
    {"workers", 'n', OPTION_UNSIGNED, &workers, "W",
     "Workers at the start.", NULL},
    WORK_SPECS,
    {0},
};
/* clang-format on */

/* ---- --slow ---- */

/* "3=60ms" */
static enum gw_err parse_slow_one(const char *text, size_t length,
                                  struct train_delays *delays,
                                  struct gw_error *why)
{
    char one[48], *end;
    snprintf(one, sizeof one, "%.*s", (int)length, text);
    unsigned long worker = strtoul(one, &end, 10);
    if (!isdigit((unsigned char)*one) || *end != '=' || worker >= workers)
        return gw_fail(why, GW_EINVAL,
                       "--slow must be WORKER=TIME with a worker from 0 to "
                       "%u, not \"%.40s\"",
                       workers - 1, one);
    return gw_parse_duration(end + 1, &delays->ns[worker], why);
}

static enum gw_err parse_delays(struct train_delays *delays,
                                struct gw_error *why)
{
    const char *at = slow_text;
    *delays = (struct train_delays){.is_set = compute_ns > 0 || slow_text};
    for (unsigned k = 0; k < RUN_WORKERS_MAX; k++)
        delays->ns[k] = compute_ns;
    while (at && *at) {
        size_t length = strcspn(at, ",");
        if (parse_slow_one(at, length, delays, why))
            return GW_EINVAL;
        at += length + (at[length] == ',');
    }
    return GW_OK;
}

/* ---- the job ---- */

static enum gw_err check_numbers(struct gw_error *why)
{
    struct gw_ps_mode parsed;
    if (servers < 1 || servers > RUN_SERVERS_MAX)
        return gw_fail(why, GW_EINVAL, "--servers must be from 1 to %d, not %u",
                       RUN_SERVERS_MAX, servers);
    if (workers < 1 || workers > RUN_WORKERS_MAX)
        return gw_fail(why, GW_EINVAL, "--workers must be from 1 to %d, not %u",
                       RUN_WORKERS_MAX, workers);
    if (replicas > servers)
        return gw_fail(why, GW_EINVAL,
                       "--replicas %u: only %u servers; use at most that many",
                       replicas, servers);
    if (controllers != 1 && controllers != 3 && controllers != 5)
        return gw_fail(why, GW_EINVAL,
                       "--controllers must be 1, 3 or 5, not %u", controllers);
    if (compare && sweep)
        return gw_fail(why, GW_EINVAL,
                       "use either --compare or --sweep, not both");
    if (!(times >= 1))
        return gw_fail(why, GW_EINVAL, "--times must be at least 1, not %g",
                       times);
    return gw_ps_mode_parse(mode, &parsed, why);
}

/* The process that writes or reads it may have another working directory. */
static enum gw_err whole(const char **path, char *room, struct gw_error *why)
{
    if (!*path)
        return GW_OK;
    enum gw_err code = train_whole_path(*path, room, PATH_MAX, why);
    *path = room;
    return code;
}

/* Refuses, before anything is printed, what a supervisor or a server would
 * refuse. */
static enum gw_err check_spec(const struct train_spec *spec,
                              struct gw_error *why)
{
    static struct work_order order; /* large */
    struct gw_plugin *plugin = NULL;
    enum gw_err code = options_check(&spec->run, why);
    if (!code && straggler)
        code = gw_plugin_open(straggler, GW_PLUGIN_STRAGGLER, &plugin, why);
    gw_plugin_close(&plugin);
    if (!code)
        code = work_order_make(&spec->run, &spec->run.work, 1, &order, why);
    bool later = spec->delays.is_set || compare || sweep;
    if (!code && later && work_aggregates(&order))
        code = gw_fail(why, GW_EINVAL,
                       "aggregate: with --compute, --slow, --compare and "
                       "--sweep workers connect before they have their work");
    return code;
}

static bool is_stream(const char *file)
{
    return file && strcmp(file, "-") == 0;
}

/* The rows of drift are a linear regression: from a pipe, `drift` means linear.
 */
static enum gw_err set_operands(int count, char *const *operands,
                                struct work_options *work, struct gw_error *why)
{
    static char linear[] = "linear", dash[] = "-";
    static char *const stream[] = {linear, dash};
    if (count == 2 && is_stream(operands[1]) &&
        strcmp(operands[0], gw_task_name(GW_TASK_DRIFT)) == 0)
        operands = stream;
    return work_set_operands(count, operands, work, why);
}

/* Rows from a pipe can be read only once. */
static enum gw_err open_stream(struct work_options *work,
                               const struct train_wishes *wishes,
                               struct gw_error *why)
{
    if (strcmp(work->model, gw_task_name(GW_TASK_LINEAR)) != 0)
        return gw_fail(why, GW_EINVAL,
                       "%s cannot read a stream from standard input; only "
                       "linear and drift can",
                       work->model);
    if (wishes->compare || wishes->sweep || wishes->reference || restore)
        return gw_fail(why, GW_EINVAL,
                       "a stream can be read only once; use a file with "
                       "--compare, --sweep, --reference and --restore");
    return train_stream_open(&work->file, why);
}

enum gw_err train_options_parse(int count, char *const *operands,
                                struct train_spec *spec,
                                struct train_wishes *wishes,
                                struct gw_error *why)
{
    static char snapshot_room[PATH_MAX], restore_room[PATH_MAX],
        straggler_room[PATH_MAX];
    const char *to = snapshot, *from = restore, *policy = straggler;
    *spec = (struct train_spec){.run = {.name = name,
                                        .ranks = workers,
                                        .controllers = controllers,
                                        .wire = wire,
                                        .seed = common.seed,
                                        .command = "psnode train",
                                        .work = work_defaults,
                                        .servers = servers,
                                        .replicas = replicas,
                                        .slots = slots,
                                        .placement = placement,
                                        .slot_weights = slot_weights}};
    *wishes = (struct train_wishes){.compare = compare,
                                    .sweep = sweep,
                                    .reference = reference,
                                    .baseline = baseline,
                                    .labels = labels,
                                    .compute_ns = compute_ns,
                                    .limit_ns = limit_ns,
                                    .times = times,
                                    .target = target};
    struct work_options *work = &spec->run.work;
    if (check_numbers(why) || set_operands(count, operands, work, why) ||
        parse_delays(&spec->delays, why) || whole(&to, snapshot_room, why) ||
        whole(&from, restore_room, why) || whole(&policy, straggler_room, why))
        return why->code;
    spec->run.restore = from;
    spec->run.straggler = policy;
    work->kind = WORK_TRAIN;
    work->test = test;
    work->epochs = epochs;
    work->batch = batch;
    work->mode = mode;
    /* A comparison of bits must not depend on the number of living workers. */
    work->parts = parts || !reference ? parts : workers;
    work->settings = set_text;
    work->until = until;
    work->snapshot = to;
    if (is_stream(work->file) && open_stream(work, wishes, why))
        return why->code;
    enum gw_err code = check_spec(spec, why);
    if (code)
        train_stream_end();
    return code;
}
