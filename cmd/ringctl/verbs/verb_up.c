/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * up: starts a run, of a ring or of parameter servers. Typed alone it leaves
 * the run in the background and prints the next steps; in a script or shell the
 * run ends with it, unless it is kept.
 */
#include "answer_output.h"
#include "common/key.h"
#include "ringctl/request.h"
#include "ringctl/ringctl.h"
#include "ringctl/shell/session.h"
#include "ringctl/sim/sim.h"
#include "run/ring_algos.h"
#include "run/supervisor/supervisor_options.h"
#include "task.h"

#include <base/nodes/nodes.h>
#include <ctype.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_DEFAULT = 4, OPERANDS_MAX = 4 /* train MODEL NET DATA */ };

static const char *name, *wire = "shm";
static unsigned controllers = 1, workers, servers, replicas, slots;
static const char *restore, *topo, *placement, *slot_weights;
static const char *suspicion, *lockstep, *algo, *collective;
static uint64_t pace_ns;
static bool keep;

static const struct option_spec options[] = {
    {"name", 0, OPTION_TEXT, &name, "NAME",
     "Name of the run. Default: that of --run, or an unused word.", NULL},
    {"controllers", 0, OPTION_UNSIGNED, &controllers, "1|3|5",
     "Controllers: 1 runs in the supervisor, 3 and 5 are processes. Default: "
     "1.",
     "1|3|5"},
    {"servers", 0, OPTION_COUNT, &servers, "S",
     "Parameter servers, instead of a ring.", NULL},
    {"workers", 0, OPTION_COUNT, &workers, "W",
     "Workers: same as N, for use with --servers.", NULL},
    {"replicas", 0, OPTION_COUNT, &replicas, "R",
     "Servers: replicas per slot. Default: 3, or the number of servers if it "
     "is smaller.",
     NULL},
    {"slots", 0, OPTION_COUNT, &slots, "K",
     "Servers: number of slots. Default: 64.", NULL},
    {"restore", 0, OPTION_TEXT, &restore, "DIR",
     "Servers: start from the snapshot in DIR.", NULL},
    {"placement", 0, OPTION_TEXT, &placement, "count|load|FILE.so",
     "Servers: placement of the slots, by count, by measured load, or by a "
     "plug-in.",
     "count|load"},
    {"weights", 0, OPTION_TEXT, &slot_weights, "FILE",
     "Weights for a placement plug-in, one number per slot. Default: equal "
     "weights.",
     NULL},
    {"topo", 0, OPTION_TEXT, &topo, "FILE",
     "Set the delays and rates of the links from this topology.", NULL},
    {"suspicion", 0, OPTION_TEXT, &suspicion, "FILE.so",
     "Use this plug-in for suspicion in the ring.", NULL},
    {"algo", 'a', OPTION_TEXT, &algo, "ALGO,...",
     "Run the ops of the ring by these algorithms or plan files; the first "
     "with a plan for the number of members. Default: a built-in plan.",
     RING_ALGOS_WORDS},
    {"collective", 0, OPTION_CHOICE, &collective, "NAME",
     "ops: the collective that is run, and checked. Default: allreduce.",
     RING_COLLECTIVE_WORDS},
    {"lockstep", 0, OPTION_TEXT, &lockstep, "FAULTS",
     "Inject the faults of a file or text at ops instead of times, so that the "
     "run repeats exactly; or none.",
     NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Transport: shm, ipc or tcp.",
     "shm|ipc|tcp"},
    KEY_OPTION,
    {"pace", 0, OPTION_DURATION, &pace_ns, "TIME",
     "Delay each chunk by TIME (slow motion).", NULL},
    {"keep", 0, OPTION_FLAG, &keep, NULL,
     "Keep the run when the script or shell ends.", NULL},
    TASK_SPECS,
    {0},
};

static enum gw_err parse_ranks(const char *word, unsigned *ranks,
                               struct gw_error *why)
{
    char *end;
    unsigned long count = strtoul(word, &end, 10);
    if (*end || count < 1 || count > RUN_RANKS_MAX)
        return gw_fail(
            why, GW_EINVAL,
            "up: the number of nodes must be from 1 to %d, since larger rings "
            "do not recover reliably, not \"%.40s\"",
            RUN_RANKS_MAX, word);
    *ranks = (unsigned)count;
    return GW_OK;
}

/* The words of a program, which the supervisor and its members start from the
 * directory of this command. */
static enum gw_err parse_program(int count, char **words,
                                 struct work_options *work,
                                 struct gw_error *why)
{
    static char text[FILE_MAX];
    json_t *list = json_array();
    work->kind = WORK_PROGRAM;
    work->program = text;
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_string(words[i]));
    size_t used = json_dumpb(list, text, sizeof text - 1, JSON_COMPACT);
    bool whole = json_array_size(list) == (size_t)count;
    json_decref(list);
    if (count == 0)
        return gw_fail(why, GW_EINVAL,
                       "exec: missing PROGRAM; name the program to start");
    if (!whole || used == 0 || used >= sizeof text)
        return gw_fail(why, GW_EINVAL,
                       "exec: the command line must be UTF-8 and at most %d "
                       "bytes long",
                       FILE_MAX - 1);
    text[used] = 0;
    return GW_OK;
}

/* [N] [train MODEL DATA | ops | exec PROGRAM ...] */
static enum gw_err parse(int count, char **words, struct run_options *run,
                         struct gw_error *why)
{
    if (count > 0 && isdigit((unsigned char)*words[0])) {
        if (parse_ranks(words[0], &run->ranks, why))
            return why->code;
        count--;
        words++;
    }
    const enum task_for whom = run->servers ? TASK_FOR_SERVERS : TASK_FOR_RING;
    run->work = task_values;
    if (count == 0)
        return GW_OK;
    if (strcmp(words[0], "exec") == 0)
        return parse_program(count - 1, words + 1, &run->work, why);
    if (count > OPERANDS_MAX)
        return gw_fail(why, GW_EINVAL, "up: unexpected operand \"%.60s\"",
                       words[OPERANDS_MAX]);
    bool trains = strcmp(words[0], "train") == 0;
    if (!trains && strcmp(words[0], "ops") != 0)
        return gw_fail(why, GW_EINVAL,
                       "up: \"%.40s\" must be a number of nodes, train, ops or "
                       "exec",
                       words[0]);
    return task_parse(whom, count - trains, words + trains, &run->work, why);
}

/* "run tiger is up: ring 0 1 2 3, epoch 1", or "3 servers, 4 workers" */
static void describe_run(const json_t *status, const char *run, char *out,
                         size_t room)
{
    const char *policy = text_of(status, "placement", "count");
    bool by_count = strcmp(policy, "count") == 0;
    if (json_object_get(status, "slots")) {
        int64_t s = integer_of(status, "servers", 0);
        int64_t w = integer_of(status, "workers", 0);
        int64_t r = integer_of(status, "replicas", 0);
        snprintf(out, room,
                 "run %s is up: %" PRId64 " server%s, %" PRId64
                 " worker%s, %" PRId64 " replica%s, epoch %" PRId64 "%s%s",
                 run, s, s == 1 ? "" : "s", w, w == 1 ? "" : "s", r,
                 r == 1 ? "" : "s", integer_of(status, "epoch", 0),
                 by_count ? "" : ", placement ", by_count ? "" : policy);
        return;
    }
    const json_t *members = json_object_get(status, "ring");
    uint16_t ring[GW__NODES_MAX];
    unsigned count = 0;
    for (; count < json_array_size(members) && count < GW__NODES_MAX; count++)
        ring[count] =
            (uint16_t)json_integer_value(json_array_get(members, count));
    size_t used = (size_t)snprintf(out, room, "run %s is up: ring", run);
    if (used < room)
        gw__node_list_text(ring, count, out + used, room - used);
    used = strlen(out);
    snprintf(out + used, room - used, ", epoch %" PRId64,
             integer_of(status, "epoch", 0));
}

/* ", topology racks" */
static void describe_topology(const json_t *status, char *out, size_t room)
{
    const char *topology = text_of(status, "topology", "");
    size_t used = strlen(out);
    if (*topology)
        snprintf(out + used, room - used, ", topology %s", topology);
}

static int print_run(const char *run, uint64_t seed)
{
    char text[512];
    struct gw_error why;
    json_t *status;
    if (request_status(&status, &why))
        return complain(&why);
    describe_run(status, run, text, sizeof text);
    describe_topology(status, text, sizeof text);
    json_t *answer = json_pack("{sssIs{sssI}}", "text", text, "epoch",
                               (json_int_t)integer_of(status, "epoch", 0),
                               "data", "run", run, "seed", (json_int_t)seed);
    int result = report_answer("up", answer);
    json_decref(answer);
    json_decref(status);
    return result;
}

/* The members, which may have another working directory, open it by its full
 * path. Errors are reported before anything starts. */
static enum gw_err find_suspicion(char path[PATH_MAX], struct gw_error *why)
{
    struct gw_plugin *plugin;
    if (!suspicion)
        return GW_OK;
    enum gw_err err =
        gw_plugin_open(suspicion, GW_PLUGIN_SUSPICION, &plugin, why);
    gw_plugin_close(&plugin);
    if (!err && !realpath(suspicion, path))
        err = gw_fail_errno(why, "%.200s", suspicion);
    return err;
}

/* Checked before anything starts, too. */
static enum gw_err find_algos(char list[FILE_MAX], struct gw_error *why)
{
    struct ring_algos algos;
    enum gw_collective kind;
    if (!algo)
        return GW_OK;
    enum gw_err err = ring_algos_list(algo, list, FILE_MAX, why);
    if (!err)
        err = ring_algos_collective(collective, &kind, why);
    return err ? err : ring_algos_open(list, kind, &algos, why);
}

static int run_up(int operand_count, char **operands)
{
    struct gw_error why;
    char policy[PATH_MAX], algos[FILE_MAX];
    if (find_suspicion(policy, &why) || find_algos(algos, &why))
        return complain(&why);
    struct run_options run = {.name = name ? name : session_run_named(),
                              .ranks = workers ? workers : RANKS_DEFAULT,
                              .controllers = controllers,
                              .wire = wire,
                              .seed = common.seed,
                              .pace_ns = pace_ns,
                              .command = session_typed(),
                              .servers = servers,
                              .replicas = replicas,
                              .slots = slots,
                              .restore = restore,
                              .placement = placement,
                              .slot_weights = slot_weights,
                              .topo = topo,
                              .suspicion = suspicion ? policy : NULL,
                              .algos = algo ? algos : NULL,
                              .collective = collective,
                              .work = work_defaults};
    if (controllers != 1 && controllers != 3 && controllers != 5)
        return complain_with(
            GW_EINVAL, "--controllers must be 1, 3 or 5, not %u", controllers);
    if (parse(operand_count, operands, &run, &why))
        return complain(&why);
    if (workers && run.ranks != workers)
        return complain_with(
            GW_EINVAL,
            "up: %u workers and --workers %u conflict; use one of them",
            run.ranks, workers);
    if (servers && replicas > servers)
        return complain_with(
            GW_EINVAL, "--replicas %u: only %u servers; use at most that many",
            replicas, servers);
    static const struct simcluster_group members[SIMCLUSTER_GROUPS] = {
        {'w', 0, RUN_RANKS_MAX}};
    struct sim_faults schedule;
    if (sim_faults_read("--lockstep", lockstep, members, &schedule, &why)) {
        sim_faults_fini(&schedule);
        return complain(&why);
    }
    run.lockstep = schedule.text;
    progress("starting %u nodes", run.ranks + run.servers);
    char *line = session_line();
    run.line = line;
    enum gw_err code = supervisor_start(&run, &why);
    free(line);
    sim_faults_fini(&schedule);
    if (code)
        return complain(&why);
    session_started(run.run, run.supervisor, keep);
    int status = print_run(run.run, run.seed);
    fflush(stdout);
    if (!session_lasts() && !status)
        fprintf(stderr,
                "The run continues in the background; see ringctl status, "
                "ringtop, ringctl down.\n");
    return status;
}

static const struct option_group groups[] = {
    {"name", "Run and cluster"},
    {"test", "Training"},
    {"bytes", "Operations of ops"},
    {0},
};

const struct command command_up = {
    .name = "up",
    .operands = "[N] [train MODEL [NET] [DATA] | ops | exec PROGRAM ...]",
    .program_after = "exec",
    .help = "start a ring of N nodes (default 4), or parameter servers and N "
            "workers",
    .examples = "ringctl up 4\n"
                "ringctl up 4 train lr heart_scale --epochs 50\n"
                "ringctl up 3 ops --bytes 64K --pace 200ms --controllers 3\n"
                "ringctl up --servers 3 --workers 4 --mode ssp:2 train mf\n"
                "ringctl up 8 --topo racks.topo ops\n"
                "ringctl up 4 --suspicion ./mine.so ops\n"
                "ringctl up 8 --algo eight.xml,seven.plan ops\n"
                "ringctl up 4 --collective alltoall --algo two-step.xml ops\n"
                "ringctl up 4 exec python3 train.py --epochs 3\n",
    .options = options,
    .groups = groups,
    .operands_max = UINT_MAX,
    .run = run_up,
};
