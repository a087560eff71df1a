/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A node that is the user's program: `ringctl up 4 exec python3 train.py`. The
 * process becomes the program, so that its number, its signals and its death
 * are those of the node. The program finds the supervisor's socket by
 * GW_SUPERVISED, and gw_ring_from_env(3) does the rest (ring/supervised/supervised.h).
 */
#include "node.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL: no words, or no memory. They last until the program begins. */
static char **words_of(const json_t *list)
{
    size_t i, count = json_array_size(list);
    const json_t *word;
    char **words = count > 0 ? calloc(count + 1, sizeof *words) : NULL;
    json_array_foreach(list, i, word) if (words) words[i] =
        strdup(json_string_value(word));
    return words;
}

/* The end of a socket with unread messages would destroy the last one from
 * here. */
static void forget_orders(void)
{
    static _Alignas(16) char buffer[CHILD_CHANNEL_BYTES_MAX];
    enum child_channel_kind kind;
    size_t bytes;
    enum gw_err code;
    do
        code = child_channel_receive(CHILD_CHANNEL_FD, buffer, &kind, &bytes);
    while (code != GW_PENDING && code != GW_ECLOSED);
}

/* The program has the rest of the process for itself; the supervisor handles
 * Ctrl-C. */
enum gw_err node_become_program(const struct work_order *order,
                                struct gw_error *why)
{
    char fd[16];
    json_t *list = json_loads(order->program, 0, NULL);
    char **words = words_of(list);
    json_decref(list);
    if (!words)
        return gw_fail(why, GW_EINVAL, "exec: no program");
    snprintf(fd, sizeof fd, "%d", CHILD_CHANNEL_FD);
    setenv(GW__SUPERVISED_VARIABLE, fd, 1);
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words);
    const int failure = errno;
    forget_orders();
    gw_fail(why, failure == ENOENT ? GW_EINVAL : GW_ESYS, "exec: %.200s: %s",
            words[0], strerror(failure));
    free(words);
    return why->code;
}
