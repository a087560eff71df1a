/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ctrl-C once: the command is asked to end with what it has. Twice: at once.
 */
#include "internal.h"

#include <signal.h>
#include <unistd.h>

volatile int interrupted;

static void on_signal(int number)
{
    (void)number;
    if (interrupted)
        _exit(gw_err_exit(GW_EINTR));
    interrupted = 1;
}

void signals_catch(void)
{
    /* Without SA_RESTART, so that what blocks comes back and looks. */
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
