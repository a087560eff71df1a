/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See view_run.h. While ringtop runs, SIGINT and SIGTERM are passed on to it. A
 * shell or script continues afterwards, but SIGTERM ends this process, too.
 */
#include "view_run.h"

#include "common/command.h"
#include "common/process.h"
#include "ringctl/child_process.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

int view_run(char *const *words)
{
    char path[PATH_MAX + 16];
    int state = 0, passed = 0;
    struct gw_error why;
    const struct child_process ringtop = {.program =
                                              append_after(path) ? path : NULL,
                                          .words = (const char *const *)words,
                                          .output = stdout};
    progress("%s", "");
    if (child_process_await(&ringtop, &state, &passed, &why))
        return complain(&why);
    if (passed == SIGTERM)
        interrupted = passed;
    if (WIFEXITED(state) && WEXITSTATUS(state) == CHILD_NOT_FOUND)
        return complain_with(GW_EUNREACH, "ringtop could not be started");
    if (WIFEXITED(state))
        return WEXITSTATUS(state);
    int number = WTERMSIG(state); /* INT or TERM before ringtop caught it */
    if (number == SIGINT || number == SIGTERM)
        return complain_with(GW_EINTR, "interrupted");
    return complain_with(GW_EINTERNAL, "ringtop was killed by signal %d (%s)",
                         number, strsignal(number));
}
