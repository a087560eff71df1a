/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun exec: a user's program as ranks. Each copy finds its place in GW_*
 * variables, and gw_comm_from_env(3) joins them. Under mpirun, srun and similar
 * launchers the ranks exist already. Then this command converts the launcher's
 * variables to GW_* variables and executes the program.
 */
#include "collrun/collrun.h"
#include "collrun/plan/plan_source.h"
#include "common/command.h"
#include "common/launch.h"
#include "common/launched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned ranks = RANKS_UNSET;
static const char *wire;
static bool no_pin;

static const struct option_spec options[] = {
    {"ranks", 'n', OPTION_UNSIGNED, &ranks, "N",
     "Processes. Default: 4, or as many as mpirun or another launcher started.",
     NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Transport. Default: shm.",
     "shm|ipc|tcp|zmq|verbs"},
    {"no-pin", 0, OPTION_FLAG, &no_pin, NULL,
     "Let the scheduler choose the CPU of each rank.", NULL},
    LAUNCHER_OPTIONS,
    {0},
};

static void set_number(const char *name, unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    setenv(name, text, 1);
}

static void set_if(const char *name, const char *text)
{
    if (text && *text)
        setenv(name, text, 1);
}

/* Sets GW_* variables from the launcher's. */
static void translate(const struct launched *launched)
{
    const struct gw_launch_env *env = &launched->env;
    char incarnation[GW_LAUNCH_TEXT_BYTES];
    set_number("GW_RANK", env->rank);
    set_number("GW_SIZE", env->size);
    set_number("GW_LOCAL_RANK", env->local_rank);
    if (env->local_size > 0)
        set_number("GW_LOCAL_SIZE", env->local_size);
    set_number("GW_RESTARTS", env->restarts);
    set_if("GW_JOB", env->job);
    gw_launch_env_value(env, GW_LAUNCH_INCARNATION, incarnation);
    set_if("GW_INCARNATION", incarnation);
    set_if("GW_RENDEZVOUS", launched->config.rendezvous);
    set_if("GW_WIRE", launched->config.wire);
    set_if("GW_INTERFACE", launched->config.interface);
    set_if("GRADWIRE_KEY", launched->config.key_file);
    if (launched->config.insecure)
        setenv("GW_INSECURE", "1", 1);
}

static int become(const struct launched *launched, char **program)
{
    translate(launched);
    execvp(program[0], program);
    return complain_with(errno == ENOENT ? GW_EINVAL : GW_ESYS, "%s: %s",
                         program[0], strerror(errno));
}

static int run_exec(int operand_count, char **operands)
{
    struct gw_error why;
    const struct launched *launched;
    int status = 0;
    launch_options.all_print = true;
    enum gw_err err =
        launched_begin(&ranks, PLAN_RANKS_DEFAULT, &wire, &launched, &why);
    if (err)
        return err == GW_PENDING ? 0 : complain(&why);
    if (operand_count == 0)
        return complain_with(
            GW_EINVAL, "exec: missing PROGRAM; name the program to start");
    if (launched)
        return become(launched, operands);
    const struct launch launch = {
        .ranks = ranks,
        .wire = wire,
        .no_pin = no_pin,
        .program = operands,
        .program_status = &status,
    };
    err = launch_run(&launch, &why);
    if (!err)
        return 0;
    int own = complain(&why);
    return err == GW_ELOST && status ? status : own;
}

const struct command command_exec = {
    .name = "exec",
    .operands = "PROGRAM [ARG...]",
    .help = "start a program as ranks, which gw_comm_from_env joins",
    .examples = "collrun exec -n 4 ./hello\n"
                "collrun exec -n 2 --wire tcp ./mine --its-own option\n"
                "mpirun -n 4 collrun exec ./hello\n",
    .options = options,
    .operands_min = 0,
    .operands_max = 1 << 20,
    .program = true,
    .run = run_exec,
};
