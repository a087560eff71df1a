/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See view_run.h. While ringtop runs, SIGINT and SIGTERM are passed on to it.
 * It gets a terminal's Ctrl-C twice, which it counts as one. A shell or script
 * continues afterwards, but SIGTERM ends this process, too.
 */
#include "view_run.h"

#include "common/command.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The ringtop in the same directory or installation as this program. */
static bool append_after(char out[PATH_MAX + 16])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX);
    if (length <= 0)
        return false;
    out[length] = 0;
    char *name = strrchr(out, '/') + 1;
    snprintf(name, 16, "ringtop");
    return access(out, X_OK) == 0;
}

/* With the default signal handling. */
static int spawn(char *const *words, const sigset_t *mask, pid_t *child)
{
    char path[PATH_MAX + 16];
    posix_spawnattr_t how;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setsigmask(&how, mask);
    posix_spawnattr_setflags(&how,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int failed =
        append_after(path)
            ? posix_spawn(child, path, NULL, &how, words, environ)
            : posix_spawnp(child, "ringtop", NULL, &how, words, environ);
    posix_spawnattr_destroy(&how);
    return failed;
}

/* Until the child has ended; `awaited` are blocked. */
static int wait_for(pid_t child, const sigset_t *awaited)
{
    int state = 0;
    while (waitpid(child, &state, WNOHANG) == 0) {
        int number = sigwaitinfo(awaited, NULL);
        if (number == SIGINT || number == SIGTERM)
            kill(child, number);
        if (number == SIGTERM)
            interrupted = number;
    }
    return state;
}

int view_run(char *const *words)
{
    sigset_t awaited, before;
    pid_t child;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGCHLD);
    progress("%s", "");
    fflush(stdout);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    int failed = spawn(words, &before, &child);
    int state = failed ? 0 : wait_for(child, &awaited);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return complain_with(GW_EUNREACH, "cannot start ringtop: %s",
                             strerror(failed));
    if (WIFEXITED(state))
        return WEXITSTATUS(state);
    int number = WTERMSIG(state); /* INT or TERM before ringtop caught it */
    if (number == SIGINT || number == SIGTERM)
        return complain_with(GW_EINTR, "interrupted");
    return complain_with(GW_EINTERNAL, "ringtop was killed by signal %d (%s)",
                         number, strsignal(number));
}
