/* SPDX-License-Identifier: MIT
 *
 * MPICH's hydra puts rank and size into the environment, and nothing that tells
 * one job from another. What does is the name of the job's key-value space,
 * which the process manager tells over the socket PMI_FD, in lines of text
 * (Balaji et al., "PMI: A Scalable Parallel Process-Management Interface for
 * Extreme-Scale Systems", 2010; the wire form is PMI-1's):
 *
 *     cmd=init pmi_version=1 pmi_subversion=1
 *                         -> cmd=response_to_init ... rc=0
 *     cmd=get_my_kvsname  -> cmd=my_kvsname kvsname=kvs_4711_0_1804289383_host
 *     cmd=finalize        -> cmd=finalize_ack
 *
 * After that the manager treats the process as one that does not use MPI: a
 * death is still seen, and there is no second conversation.
 */
#include "coll/place.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, ANSWER_MS = 10000 };

/* One byte after the other: what follows the line belongs to the next one. */
static bool read_line(int fd, char line[LINE_BYTES])
{
    uint64_t until_ns = gw_now_ns() + ANSWER_MS * UINT64_C(1000000);
    for (size_t n = 0; n + 1 < LINE_BYTES;) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        uint64_t now_ns = gw_now_ns();
        if (now_ns >= until_ns)
            return false;
        if (poll(&item, 1, (int)((until_ns - now_ns) / 1000000) + 1) <= 0)
            continue;
        ssize_t got = read(fd, line + n, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (line[n] == '\n') {
            line[n] = 0;
            return true;
        }
        n++;
    }
    return false;
}

/* Says `command` and hears a line that begins with `expected`. */
static enum gw_err ask(int fd, const char *command, const char *expected,
                       char line[LINE_BYTES], struct gw_error *why)
{
    char said[LINE_BYTES];
    int length = snprintf(said, sizeof said, "%s\n", command);
    if (send(fd, said, (size_t)length, MSG_NOSIGNAL) != length)
        return gw_fail_errno(why, "PMI_FD %d", fd);
    if (!read_line(fd, line))
        return gw_fail(why, GW_ESYS, "PMI_FD %d: no answer to \"%s\"", fd,
                       command);
    if (strncmp(line, expected, strlen(expected)) != 0)
        return gw_fail(why, GW_ESYS, "PMI_FD %d: \"%.60s\" to \"%s\"", fd, line,
                       command);
    return GW_OK;
}

enum gw_err gw__place_ask_pmi(int fd, char name[GW_PLACE_TEXT_BYTES],
                              struct gw_error *why)
{
    static const char init[] = "cmd=init pmi_version=1 pmi_subversion=1";
    char line[LINE_BYTES], ignored[LINE_BYTES];
    enum gw_err err = ask(fd, init, "cmd=response_to_init", line, why);
    if (!err && !strstr(line, "rc=0"))
        err = gw_fail(why, GW_ESYS,
                      "PMI_FD %d: the process manager speaks no PMI-1: %.60s",
                      fd, line);
    if (!err)
        err = ask(fd, "cmd=get_my_kvsname", "cmd=my_kvsname", line, why);
    if (err)
        return err;
    const char *value = strstr(line, "kvsname=kvs");
    if (!value)
        return gw_fail(why, GW_ESYS, "PMI_FD %d: no name in \"%.60s\"", fd,
                       line);
    value += strlen("kvsname=");
    snprintf(name, GW_PLACE_TEXT_BYTES, "%.*s", (int)strcspn(value, " "),
             value);
    return ask(fd, "cmd=finalize", "cmd=finalize_ack", ignored, why);
}
