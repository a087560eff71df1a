/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One Ctrl-C asks the command to end with a partial result. A second one ends
 * it at once. Signals within a quarter of a second count as one: timeout(1)
 * signals a process and then its group. A command that only computes may end
 * anywhere: computing.c.
 */
#include "internal.h"

#include <signal.h>
#include <unistd.h>

volatile int interrupted;
void (*interrupted_twice)(void);

enum { SAME_NS = 250000000 };

static void on_signal(int number)
{
    static uint64_t first_ns;
    uint64_t now_ns = gw_now_ns(); /* clock_gettime: safe here */
    if (interrupted && now_ns - first_ns > SAME_NS) {
        if (interrupted_twice)
            interrupted_twice();
        _exit(gw_err_exit(GW_EINTR));
    }
    if (!interrupted)
        first_ns = now_ns;
    interrupted = number;
    computing_wake();
}

/* The signal sets `interrupted`, too, unless it is ignored. Without SA_RESTART,
 * blocking calls return and the caller checks the flag. The watcher ends a
 * command that only computes. */
static void interrupt_by(int number)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    action.sa_flags = computing_now() ? SA_RESTART : 0;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void interrupt_by_terminal(void)
{
    interrupt_by(SIGHUP);
    interrupt_by(SIGQUIT);
}

void signals_catch(void)
{
    interrupt_by(SIGINT);
    interrupt_by(SIGTERM);
}
