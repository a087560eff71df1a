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
static unsigned controllers = 1, parts, epochs = WORK_UNSAID,
                batch = WORK_UNSAID;
static uint64_t compute_ns, limit_ns;
static double times = 4, target = (double)NAN;
static bool reference, baseline;

/* clang-format off */
#define WORK_SPECS                                                             \
    {"mode", 'm', OPTION_TEXT, &mode, "MODE", "bsp, ssp:S, asp or kofn:K; with +drop a dead worker's share is left out",     \
     "bsp|ssp:2|asp|kofn:3|bsp+drop"},                                                  \
    {"parts", 'p', OPTION_UNSIGNED, &parts, "P",                               \
     "of a batch (default: as many as workers when it begins)", NULL},                        \
    {"test", 't', OPTION_TEXT, &test, "FILE",                                  \
     "rows to judge the finished model by", NULL},                             \
    {"epochs", 'E', OPTION_UNSIGNED, &epochs, "N",                             \
     "times that all samples are seen (default: the model's)", NULL},          \
    {"batch", 'b', OPTION_COUNT, &batch, "ROWS",                            \
     "samples of a batch, in all parts (default: the model's)", NULL},         \
    UNTIL_OPTION(until),                                                       \
    {"set", 0, OPTION_TEXT, &set_text, "NAME=VALUE,...",                       \
     "numbers of the model, switches of workers and servers", NULL}

const struct option_spec train_option_specs[] = {
    {"servers", 's', OPTION_UNSIGNED, &servers, "S", "processes", NULL},
    {"workers", 'n', OPTION_UNSIGNED, &workers, "W", "processes", NULL},
    {"replicas", 'R', OPTION_UNSIGNED, &replicas, "R",
     "of each slot (default: 3, or as many as servers)", NULL},
    {"controllers", 'C', OPTION_UNSIGNED, &controllers, "1|3|5",
     "1 lives in the supervisor, 3 and 5 are processes", "1|3|5"},
    {"slots", 0, OPTION_COUNT, &slots, "N",
     "that keys are spread over (default: 64)", NULL},
    {"placement", 0, OPTION_TEXT, &placement, "count|load|FILE.so",
     "slots are spread by count, by measured load, or by a plug-in",
     "count|load"},
    {"weights", 0, OPTION_TEXT, &slot_weights, "FILE",
     "for a plug-in: a number a slot (default: all weigh the same)", NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "shm, ipc or tcp",
     "shm|ipc|tcp"},
    KEY_OPTION,
    WORK_SPECS,
    {"name", 0, OPTION_TEXT, &name, "NAME",
     "of the run (default: a word that is free)", NULL},
    {"snapshot", 0, OPTION_TEXT, &snapshot, "DIR",
     "written when the training is done", NULL},
    {"restore", 0, OPTION_TEXT, &restore, "DIR",
     "go on from a snapshot", NULL},
    {"straggler", 0, OPTION_TEXT, &straggler, "FILE.so",
     "a plug-in that chooses K or S after each round", NULL},
    {"reference", 0, OPTION_FLAG, &reference, NULL,
     "train in one process as well, and compare", NULL},
    {"baseline", 0, OPTION_FLAG, &baseline, NULL,
     "word2vec: time Hogwild in one process as well", NULL},
    {"labels", 0, OPTION_TEXT, &labels, "FILE",
     "word2vec, deepwalk: do vectors tell these classes apart?", NULL},
    {"compute", 0, OPTION_DURATION, &compute_ns, "TIME",
     "workers sleep so long in each unit", NULL},
    {"slow", 0, OPTION_TEXT, &slow_text, "WORKER=TIME,...",
     "these workers sleep so long in each unit", NULL},
    {"compare", 0, OPTION_CHOICE, &compare, "modes",
     "all modes in turn, with one worker that is slower", "modes"},
    {"times", 0, OPTION_REAL, &times, "S",
     "--compare: so many times slower is the last worker", NULL},
    {"seconds", 0, OPTION_DURATION, &limit_ns, "TIME",
     "--compare: each mode runs no longer", NULL},
    {"sweep", 0, OPTION_CHOICE, &sweep, "ssp",
     "S = 0, 1, 2, 4, 8, 16 in turn, with random delays", "ssp"},
    {"target", 0, OPTION_REAL, &target, "LOSS",
     "--sweep: count the epochs until this loss", NULL},
    {0},
};

const struct option_spec worker_option_specs[] = {
    JOIN_SPECS,
    {"workers", 'n', OPTION_UNSIGNED, &workers, "W",
     "that begin together", NULL},
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
                       "--slow: WORKER=TIME with a worker from 0 to %u, not "
                       "\"%.40s\"",
                       workers - 1, one);
    return gw_parse_duration(end + 1, &delays->ns[worker], why);
}

static enum gw_err parse_delays(struct train_delays *delays,
                                struct gw_error *why)
{
    const char *at = slow_text;
    *delays = (struct train_delays){.given = compute_ns > 0 || slow_text};
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

static enum gw_err check(struct gw_error *why)
{
    struct gw_ps_mode parsed;
    if (servers < 1 || servers > RUN_SERVERS_MAX)
        return gw_fail(why, GW_EINVAL, "--servers is from 1 to %d, not %u",
                       RUN_SERVERS_MAX, servers);
    if (workers < 1 || workers > RUN_WORKERS_MAX)
        return gw_fail(why, GW_EINVAL, "--workers is from 1 to %d, not %u",
                       RUN_WORKERS_MAX, workers);
    if (replicas > servers)
        return gw_fail(why, GW_EINVAL, "%u replicas need as many servers",
                       replicas);
    if (controllers != 1 && controllers != 3 && controllers != 5)
        return gw_fail(why, GW_EINVAL, "--controllers is 1, 3 or 5, not %u",
                       controllers);
    if (compare && sweep)
        return gw_fail(why, GW_EINVAL, "--compare or --sweep, not both");
    if (!(times >= 1))
        return gw_fail(why, GW_EINVAL, "--times is at least 1, not %g", times);
    return gw_ps_mode_parse(mode, &parsed, why);
}

/* The process that writes or reads it may be elsewhere. */
static enum gw_err whole(const char **path, char *room, struct gw_error *why)
{
    if (!*path)
        return GW_OK;
    enum gw_err code = train_whole_path(*path, room, PATH_MAX, why);
    *path = room;
    return code;
}

/* What a supervisor or a server would refuse is refused before anything is
 * printed. */
static enum gw_err check_job(const struct train_job *job, struct gw_error *why)
{
    static struct work_order order; /* large */
    struct gw_plugin *plugin = NULL;
    enum gw_err code = options_check(&job->run, why);
    if (!code && straggler)
        code = gw_plugin_open(straggler, GW_PLUGIN_STRAGGLER, &plugin, why);
    gw_plugin_close(&plugin);
    return code ? code
                : work_order_make(&job->run, &job->run.work, 1, &order, why);
}

static bool is_stream(const char *file)
{
    return file && strcmp(file, "-") == 0;
}

/* The rows that drift makes are those of a linear regression: where they come
 * from a pipe, it is one. */
static enum gw_err take_operands(int count, char *const *operands,
                                 struct work_options *work,
                                 struct gw_error *why)
{
    static char linear[] = "linear", dash[] = "-";
    static char *const stream[] = {linear, dash};
    if (count == 2 && is_stream(operands[1]) &&
        strcmp(operands[0], gw_task_name(GW_TASK_DRIFT)) == 0)
        operands = stream;
    return work_take_operands(count, operands, work, why);
}

/* Rows that come once are read once. */
static enum gw_err open_stream(struct work_options *work,
                               const struct train_wishes *wishes,
                               struct gw_error *why)
{
    if (strcmp(work->model, gw_task_name(GW_TASK_LINEAR)) != 0)
        return gw_fail(why, GW_EINVAL,
                       "standard input is a stream, for linear and drift, "
                       "not for %s",
                       work->model);
    if (wishes->compare || wishes->sweep || wishes->reference || restore)
        return gw_fail(why, GW_EINVAL,
                       "a stream comes once: --compare, --sweep, --reference "
                       "and --restore need a file");
    return train_stream_open(&work->file, why);
}

enum gw_err train_options_parse(int count, char *const *operands,
                                struct train_job *job,
                                struct train_wishes *wishes,
                                struct gw_error *why)
{
    static char snapshot_room[PATH_MAX], restore_room[PATH_MAX],
        straggler_room[PATH_MAX];
    const char *to = snapshot, *from = restore, *policy = straggler;
    *job = (struct train_job){.run = {.name = name,
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
    struct work_options *work = &job->run.work;
    if (check(why) || take_operands(count, operands, work, why) ||
        parse_delays(&job->delays, why) || whole(&to, snapshot_room, why) ||
        whole(&from, restore_room, why) || whole(&policy, straggler_room, why))
        return why->code;
    job->run.restore = from;
    job->run.straggler = policy;
    work->kind = WORK_TRAIN;
    work->test = test;
    work->epochs = epochs;
    work->batch = batch;
    work->mode = mode;
    /* What is compared bit by bit must not depend on who lives. */
    work->parts = parts || !reference ? parts : workers;
    work->settings = set_text;
    work->until = until;
    work->snapshot = to;
    if (is_stream(work->file) && open_stream(work, wishes, why))
        return why->code;
    enum gw_err code = check_job(job, why);
    if (code)
        train_stream_end();
    return code;
}
