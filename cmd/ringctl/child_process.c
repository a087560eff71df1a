/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See child_process.h.
 */
#include "ringctl/child_process.h"

#include "common/command.h"
#include "common/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* `mask` are its blocked signals. A signal that was passed on already ends it:
 * a handler of this program would lose it. */
_Noreturn static void become(const struct child_process *process,
                             const sigset_t *mask)
{
    const struct rlimit limit = {process->file_bytes, process->file_bytes};
    int output = process->output ? fileno(process->output) : STDERR_FILENO;
    bool ready = dup2(output, STDOUT_FILENO) >= 0 &&
                 (!process->directory || chdir(process->directory) == 0) &&
                 (!process->file_bytes || setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (const char *const *set = process->set; set && *set; set += 2)
        setenv(set[0], set[1], 1);
    unsetenv("TAR_OPTIONS");
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (ready)
        execvp(process->program ? process->program : process->words[0],
               (char *const *)(uintptr_t)process->words);
    _exit(CHILD_NOT_FOUND);
}

/* `awaited` are blocked. Returns the last signal that was passed on; the first
 * one may have come before the child was there. */
static int wait_for(pid_t child, const sigset_t *awaited, int *state)
{
    int passed = interrupted;
    if (passed)
        kill(child, passed);
    while (waitpid(child, state, WNOHANG) == 0) {
        int number = sigwaitinfo(awaited, NULL);
        if (number != SIGINT && number != SIGTERM)
            continue;
        kill(child, number);
        passed = number;
    }
    return passed;
}

enum gw_err child_process_await(const struct child_process *process, int *state,
                                int *passed, struct gw_error *why)
{
    sigset_t awaited, before;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGCHLD);
    fflush(stdout);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    pid_t pid = fork();
    if (pid == 0)
        become(process, &before);
    enum gw_err err =
        pid < 0 ? gw_fail_errno(why, "%s", process->words[0]) : GW_OK;
    *passed = err ? 0 : wait_for(pid, &awaited, state);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return err;
}

enum gw_err child_process_run(const struct child_process *process, int *status,
                              struct gw_error *why)
{
    char end[PROCESS_END_MAX];
    int state = 0, passed = 0;
    enum gw_err err = child_process_await(process, &state, &passed, why);
    if (passed)
        interrupted = passed;
    if (err)
        return err;
    if (interrupted)
        return gw_fail(why, GW_EINTR, "interrupted");
    if (!WIFEXITED(state))
        return gw_fail(why, GW_EINTERNAL, "%s: %s", process->words[0],
                       process_end(state, end));
    *status = WEXITSTATUS(state);
    return *status == CHILD_NOT_FOUND
               ? gw_fail(why, GW_EUNREACH, "%s could not be started",
                         process->words[0])
               : GW_OK;
}
