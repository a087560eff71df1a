/* SPDX-License-Identifier: MIT
 *
 * Reports of launched ranks: see launch_received.h.
 */
#include "launch_received.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void receive_report(void *context, unsigned rank, const void *data,
                    size_t bytes)
{
    struct received *received = context;
    ck_assert_uint_lt(rank, RANKS);
    received->reports[rank]++;
    received->bytes += bytes;
    memcpy(received->last[rank], data, bytes < 64 ? bytes : 64);
    for (; received->interrupts > 0; received->interrupts--)
        kill(getpid(), received->interrupts % 2 ? SIGINT : SIGTERM);
}

_Noreturn void hang(void)
{
    for (;;)
        pause();
}

void expect_no_child(void)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
