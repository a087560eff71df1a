/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Flushing to a reader that may never read. A write to a full pipe blocks, and
 * a launch blocks SIGINT and SIGTERM, so the write alone would wait for ever.
 * `output_flush` waits for room and for a signal together. After a signal the
 * reader has LAST_MS more; then the rows that have no room are dropped.
 */
#include "common/internal.h"

#include <poll.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { LAST_MS = 200 };

static bool has_room(FILE *file, int timeout_ms)
{
    struct pollfd out = {.fd = fileno(file), .events = POLLOUT};
    return out.fd < 0 || poll(&out, 1, timeout_ms) > 0; /* -1: in memory */
}

/* Both signals are blocked here, so poll does not miss one that came before. */
static void await_room_or_signal(FILE *file)
{
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    struct pollfd polls[2] = {
        {.fd = fileno(file), .events = POLLOUT},
        {.fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN}};
    if (!interrupted && polls[1].fd >= 0)
        poll(polls, 2, -1);
    if (polls[1].fd >= 0)
        close(polls[1].fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void output_flush(FILE *file)
{
    static bool unread; /* the reader's last time limit is over */
    if (!has_room(file, 0))
        await_room_or_signal(file);
    if (has_room(file, unread ? 0 : LAST_MS)) {
        fflush(file);
        return;
    }
    unread = true;
    __fpurge(file);
}
