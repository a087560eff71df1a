/* SPDX-License-Identifier: MIT
 *
 * Reports of launched ranks: see launch_heard.h.
 */
#include "launch_heard.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void heard_report(void *context, unsigned rank, const void *data, size_t bytes)
{
    struct heard *heard = context;
    ck_assert_uint_lt(rank, RANKS);
    heard->reports[rank]++;
    heard->bytes += bytes;
    memcpy(heard->last[rank], data, bytes < 64 ? bytes : 64);
    for (; heard->interrupts > 0; heard->interrupts--)
        kill(getpid(), heard->interrupts % 2 ? SIGINT : SIGTERM);
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
