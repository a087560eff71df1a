/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * up: starts a run. Typed alone it leaves the run in the background and says
 * how to go on; in a script or shell the run ends with it, unless it is kept.
 */
#include "ask.h"
#include "ringctl.h"
#include "session.h"
#include "task.h"
#include "tell.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_DEFAULT = 4 };

static const char *name, *wire = "shm";
static unsigned controllers = 1;
static uint64_t pace_ns;
static bool keep;

static const struct option_spec options[] = {
    {"name", 0, OPTION_TEXT, &name, "NAME",
     "of the run (default: --run, else a word that is free)", NULL},
    {"controllers", 0, OPTION_UNSIGNED, &controllers, "1|3|5",
     "1 lives in the supervisor, 3 and 5 are processes", "1|3|5"},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "shm, ipc or tcp",
     "shm|ipc|tcp"},
    {"pace", 0, OPTION_DURATION, &pace_ns, "TIME",
     "slow motion from the beginning", NULL},
    {"keep", 0, OPTION_FLAG, &keep, NULL,
     "the run outlives the script or shell", NULL},
    TASK_SPECS,
    {0},
};

static enum gw_err parse_ranks(const char *word, unsigned *ranks,
                               struct gw_error *why)
{
    char *end;
    unsigned long count = strtoul(word, &end, 10);
    if (*end || count < 1 || count > RUN_RANKS_MAX)
        return gw_fail(why, GW_EINVAL, "up: 1 to %d nodes, not \"%.40s\"",
                       RUN_RANKS_MAX, word);
    *ranks = (unsigned)count;
    return GW_OK;
}

/* [N] [train MODEL DATA | ops] */
static enum gw_err parse(int count, char **words, struct run_options *run,
                         struct gw_error *why)
{
    if (count > 0 && isdigit((unsigned char)*words[0])) {
        if (parse_ranks(words[0], &run->ranks, why))
            return why->code;
        count--;
        words++;
    }
    if (count == 0)
        return GW_OK;
    bool trains = strcmp(words[0], "train") == 0;
    if (!trains && strcmp(words[0], "ops") != 0)
        return gw_fail(why, GW_EINVAL,
                       "up: \"%.40s\" is neither a number of nodes nor train "
                       "nor ops",
                       words[0]);
    return task_parse(count - trains, words + trains, &run->work, why);
}

/* "run tiger is up: ring 0 1 2 3, epoch 1" */
static void describe(const json_t *status, const char *run, char *out,
                     size_t room)
{
    size_t i, used = (size_t)snprintf(out, room, "run %s is up: ring", run);
    json_t *node;
    json_array_foreach(json_object_get(status, "ring"), i,
                       node) if (used < room) used +=
        (size_t)snprintf(out + used, room - used, " %d",
                         (int)json_integer_value(node));
    if (used < room)
        snprintf(out + used, room - used, ", epoch %" PRId64,
                 integer_of(status, "epoch", 0));
}

static int tell(const char *run, uint64_t seed)
{
    char text[512];
    struct gw_error why;
    json_t *status;
    if (ask_data("status", &status, &why))
        return complain(&why);
    describe(status, run, text, sizeof text);
    json_t *answer = json_pack("{sssIs{sssI}}", "text", text, "epoch",
                               (json_int_t)integer_of(status, "epoch", 0),
                               "data", "run", run, "seed", (json_int_t)seed);
    int result = tell_answer("up", answer);
    json_decref(answer);
    json_decref(status);
    return result;
}

static int run(int operand_count, char **operands)
{
    struct gw_error why;
    struct run_options run = {.name = name ? name : session_run_named(),
                              .ranks = RANKS_DEFAULT,
                              .controllers = controllers,
                              .wire = wire,
                              .seed = common.seed,
                              .pace_ns = pace_ns,
                              .command = session_typed(),
                              .work = work_defaults};
    if (controllers != 1 && controllers != 3 && controllers != 5)
        return complain_with(GW_EINVAL, "--controllers is 1, 3 or 5, not %u",
                             controllers);
    if (parse(operand_count, operands, &run, &why))
        return complain(&why);
    progress("starting %u nodes", run.ranks);
    if (supervisor_start(&run, &why))
        return complain(&why);
    session_started(run.run, keep);
    int status = tell(run.run, run.seed);
    fflush(stdout);
    if (!session_lasts() && !status)
        fprintf(stderr,
                "It goes on in the background: ringctl status, ringtop, "
                "ringctl down\n");
    return status;
}

const struct command command_up = {
    .name = "up",
    .operands = "[N] [train lr|softmax DATA | ops]",
    .help = "start a ring of N nodes (4), idle or with work",
    .examples = "ringctl up 4\n"
                "ringctl up 4 train lr heart_scale --epochs 50\n"
                "ringctl up 3 ops --bytes 64K --pace 200ms --controllers 3\n",
    .options = options,
    .operands_max = 4,
    .run = run,
};
