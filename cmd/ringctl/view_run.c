/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See view_run.h. Ctrl-C on the terminal is ringtop's while it runs: it comes
 * here, too, but is not meant for the shell or script.
 */
#include "view_run.h"

#include "common/command.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The ringtop that was built or installed with us. */
static bool beside(char out[PATH_MAX + 16])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX);
    if (length <= 0)
        return false;
    out[length] = 0;
    char *name = strrchr(out, '/') + 1;
    snprintf(name, 16, "ringtop");
    return access(out, X_OK) == 0;
}

/* With signals as usual, whatever they are here. */
static int spawn(char *const *words, pid_t *child)
{
    char path[PATH_MAX + 16];
    posix_spawnattr_t how;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
    int failed =
        beside(path)
            ? posix_spawn(child, path, NULL, &how, words, environ)
            : posix_spawnp(child, "ringtop", NULL, &how, words, environ);
    posix_spawnattr_destroy(&how);
    return failed;
}

int view_run(char *const *words)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    pid_t child;
    int state = 0;
    progress("%s", "");
    fflush(stdout);
    sigaction(SIGINT, &ignore, &before);
    int failed = spawn(words, &child);
    while (!failed && waitpid(child, &state, 0) < 0 && errno == EINTR)
        continue;
    sigaction(SIGINT, &before, NULL);
    if (failed)
        return complain_with(GW_EUNREACH, "cannot start ringtop: %s",
                             strerror(failed));
    return WIFEXITED(state) ? WEXITSTATUS(state) : gw_err_exit(GW_EINTERNAL);
}
