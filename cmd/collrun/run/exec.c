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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned ranks = RANKS_UNSET;
static const char *wire;
static bool no_pin, mpi;

static const struct option_spec options[] = {
    {"ranks", 'n', OPTION_UNSIGNED, &ranks, "N",
     "Processes. Default: 4, or as many as mpirun or another launcher started.",
     NULL},
    {"wire", 'w', OPTION_CHOICE, &wire, "WIRE", "Transport. Default: shm.",
     "shm|ipc|tcp|zmq|verbs"},
    {"no-pin", 0, OPTION_FLAG, &no_pin, NULL,
     "Let the scheduler choose the CPU of each rank.", NULL},
    {"mpi", 0, OPTION_FLAG, &mpi, NULL,
     "The program uses MPI: start it by mpirun, with its collectives on "
     "gradwire.",
     NULL},
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

/* ---- programs of MPI: gradwire-mpi(7) ---- */

/* Writes the path of a file that is installed with this program. */
static bool find_installed(const char *folder, const char *name,
                           char path[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (!slash)
        return false;
    *slash = 0;
    int n = snprintf(path, PATH_MAX, "%s/%s%s", self, folder, name);
    return n < PATH_MAX && access(path, R_OK) == 0;
}

static int missing(const char *name)
{
    return complain_with(GW_EUNREACH,
                         "exec: --mpi: %s is not installed with collrun; build "
                         "gradwire where the headers of an MPI are",
                         name);
}

/* As without MPI, there may be more ranks than cores. Open MPI 4, Open MPI 5. */
static void allow_more_ranks_than_cores(void)
{
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
}

/* Is replaced by gradwire-mpirun, which starts the ranks. */
static int become_mpirun(int count, char **program)
{
    char path[PATH_MAX], number[16];
    if (!find_installed("", "gradwire-mpirun", path))
        return missing("gradwire-mpirun");
    char **words = calloc((size_t)count + 4, sizeof *words);
    if (!words)
        return complain_with(GW_ENOMEM, "exec: --mpi");
    char option[] = "-n";
    snprintf(number, sizeof number, "%u",
             ranks == RANKS_UNSET ? PLAN_RANKS_DEFAULT : ranks);
    words[0] = path;
    words[1] = option;
    words[2] = number;
    for (int i = 0; i < count; i++)
        words[3 + i] = program[i];
    set_if("GW_WIRE", wire);
    allow_more_ranks_than_cores();
    execv(path, words);
    free(words);
    return complain_with(GW_ESYS, "%s: %s", path, strerror(errno));
}

/* A rank of an mpirun: the program replaces it, with the library of its MPI. */
static int become_mpi_rank(const char *library, char **program)
{
    char path[PATH_MAX];
    if (!find_installed("", library, path) &&
        !find_installed("../lib/", library, path))
        return missing(library);
    setenv("LD_PRELOAD", path, 1);
    execvp(program[0], program);
    return complain_with(errno == ENOENT ? GW_EINVAL : GW_ESYS, "%s: %s",
                         program[0], strerror(errno));
}

/* MPI_Init talks to the launcher, so that nothing here may do so before. */
static int run_mpi(int count, char **program)
{
    struct gw_launch_env env = {0};
    struct gw_error why;
    if (!launch_options.alone &&
        gw_launch_env_read((const char *const *)environ, &env, &why))
        return complain(&why);
    switch (env.source) {
    case GW_LAUNCH_OPENMPI:
    case GW_LAUNCH_PMIX:
        return become_mpi_rank("libgradwire-mpi-openmpi.so", program);
    case GW_LAUNCH_PMI:
        return become_mpi_rank("libgradwire-mpi-mpich.so", program);
    default:
        return become_mpirun(count, program);
    }
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
    if (mpi && operand_count > 0)
        return run_mpi(operand_count, operands);
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
                "collrun exec -n 4 --mpi ./mpi-program\n",
    .options = options,
    .operands_min = 0,
    .operands_max = 1 << 20,
    .program = true,
    .run = run_exec,
};
