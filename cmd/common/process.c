/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See process.h.
 */
#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum gw_err signals_acquire(struct signal_file *file, struct gw_error *why)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGCHLD);
    sigaction(SIGCHLD, &usual, NULL); /* inherited SIG_IGN would reap for us */
    sigprocmask(SIG_BLOCK, &mask, &file->before);
    file->fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
    if (file->fd >= 0)
        return GW_OK;
    gw_fail_errno(why, "signalfd");
    sigprocmask(SIG_SETMASK, &file->before, NULL);
    return GW_ESYS;
}

int signals_next(const struct signal_file *file)
{
    struct signalfd_siginfo info;
    return read(file->fd, &info, sizeof info) == sizeof info
               ? (int)info.ssi_signo
               : 0;
}

void signals_release(struct signal_file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    sigprocmask(SIG_SETMASK, &file->before, NULL);
}

/* Requests the signal first, then checks that the parent still lives. */
bool process_follow(pid_t parent, int number)
{
    prctl(PR_SET_PDEATHSIG, number);
    return getppid() == parent;
}

bool process_reap(pid_t pid, int flags, int *status)
{
    pid_t ended;
    do
        ended = waitpid(pid, status, flags);
    while (ended < 0 && errno == EINTR);
    return ended == pid;
}

const char *process_end(int status, char out[PROCESS_END_MAX])
{
    if (WIFSIGNALED(status))
        snprintf(out, PROCESS_END_MAX, "killed by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out, PROCESS_END_MAX, "exited with status %d",
                 WEXITSTATUS(status));
    return out;
}
