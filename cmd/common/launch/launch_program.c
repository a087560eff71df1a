/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A rank that is a user's program: the child puts its place into GW_* variables
 * and executes it. It has a process group of its own, so that its own children
 * end with it. A failure to start it is the rank's result.
 */
#include "launch_parts.h"

#include "common/launched.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_number(const char *name, unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    setenv(name, text, 1);
}

static void set_launch_env(const struct launch *launch,
                           const struct rank_config *config)
{
    set_number("GW_RANK", config->rank);
    set_number("GW_SIZE", launch->ranks);
    set_number("GW_LOCAL_RANK", config->rank);
    set_number("GW_LOCAL_SIZE", launch->ranks);
    setenv("GW_RENDEZVOUS", config->rendezvous, 1);
    unsetenv("GW_INCARNATION"); /* each rank has its own */
    if (launch->wire)
        setenv("GW_WIRE", launch->wire, 1);
    if (key_file())
        setenv("GRADWIRE_KEY", key_file(), 1);
    if (launch->insecure || launch_options.insecure)
        setenv("GW_INSECURE", "1", 1);
}

/* Gives the program the signal dispositions that a shell would. */
static void usual_signals(const sigset_t *mask)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGPIPE, SIGCHLD};
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &usual, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Rank 0 reads piped input. A terminal belongs to the supervisor, since a
 * background process group that reads from it is stopped. */
static void choose_input(unsigned rank)
{
    int nowhere = -1;
    if (rank != 0 || isatty(STDIN_FILENO))
        nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDIN_FILENO);
    close(nowhere);
}

_Noreturn void rank_become(const struct launch *launch,
                           const struct rank_config *config)
{
    static struct reporter report;
    struct gw_error result;
    setpgid(0, 0);
    rank_be_child(config);
    choose_input(config->rank);
    set_launch_env(launch, config);
    if (!launch->no_pin)
        rank_pin(launch, config->rank);
    usual_signals(config->signals);
    execvp(launch->program[0], launch->program);
    gw_fail(&result, errno == ENOENT ? GW_EINVAL : GW_ESYS, "%s: %s",
            launch->program[0], strerror(errno));
    reporter_init(&report, config->rank, config->fd);
    reporter_result(&report, &result);
    _exit(0); /* the reason is in its result */
}
