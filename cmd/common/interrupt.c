/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ctrl-C once: the command is asked to end with what it has. Twice: at once.
 * What comes within a quarter of a second is one: timeout(1) signals a process
 * and then the group that it is in. A command that only computes ends wherever
 * it is: computing.c.
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

/* Without SA_RESTART what blocks comes back and looks; what only computes is
 * ended from outside. */
void interrupt_by(int number)
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
