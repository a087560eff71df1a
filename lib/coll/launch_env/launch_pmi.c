/* SPDX-License-Identifier: MIT
 *
 * Asks hydra, MPICH's process manager, for the job and the host of rank 0.
 * Hydra puts only rank and size into the environment. The job is identified by
 * the name of its key-value space. The process manager sends it over the socket
 * PMI_FD, in lines of text. If there are several hosts, rank 0 stores its
 * address in the space itself (Balaji et al., "PMI: A Scalable Parallel
 * Process-Management Interface for Extreme-Scale Systems", 2010; the wire
 * format is PMI-1's):
 *
 *     cmd=init pmi_version=1 pmi_subversion=1
 *                         -> cmd=response_to_init ... rc=0
 *     cmd=get_my_kvsname  -> cmd=my_kvsname kvsname=kvs_4711_0_1804289383_host
 *     cmd=put kvsname=... key=gradwire value=192.0.2.1
 *                            (rank 0, if there are several hosts)
 *     cmd=barrier_in      -> cmd=barrier_out
 *     cmd=get kvsname=... key=gradwire
 *                         -> cmd=get_result rc=0 msg=success value=192.0.2.1
 *     cmd=finalize        -> cmd=finalize_ack
 *
 * After that the manager treats the process as one that does not use MPI: it
 * still notices a death, but accepts no second conversation.
 */
#include "base/file.h"
#include "launch_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, ANSWER_MS = 10000 };

/* Reads byte by byte: the bytes after the line belong to the next one. */
static bool read_line(int fd, char line[LINE_BYTES])
{
    uint64_t until_ns = gw_now_ns() + ANSWER_MS * UINT64_C(1000000);
    for (size_t n = 0; n + 1 < LINE_BYTES;) {
        uint64_t now_ns = gw_now_ns();
        if (now_ns >= until_ns)
            return false;
        if (!gw__file_wait(fd, POLLIN,
                           (int)((until_ns - now_ns) / 1000000) + 1))
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

/* Sends `command` and reads a line that begins with `expected`. */
static enum gw_err exchange_line(int fd, const char *command,
                                 const char *expected, char line[LINE_BYTES],
                                 struct gw_error *why)
{
    char text[LINE_BYTES];
    int length = snprintf(text, sizeof text, "%s\n", command);
    if (send(fd, text, (size_t)length, MSG_NOSIGNAL) != length)
        return gw_fail_errno(why, "PMI_FD %d", fd);
    if (!read_line(fd, line))
        return gw_fail(why, GW_ESYS, "PMI_FD %d: no answer to \"%s\"", fd,
                       command);
    if (strncmp(line, expected, strlen(expected)) != 0)
        return gw_fail(why, GW_ESYS,
                       "PMI_FD %d: unexpected answer \"%.60s\" to \"%s\"", fd,
                       line, command);
    return GW_OK;
}

/* The value of the last word of a line: "cmd=... key=VALUE". */
static enum gw_err copy_value(int fd, const char *line, const char *key,
                              char value[GW_LAUNCH_TEXT_BYTES],
                              struct gw_error *why)
{
    const char *found = strstr(line, key);
    if (!found || !found[strlen(key)])
        return gw_fail(why, GW_ESYS, "PMI_FD %d: no %s in \"%.60s\"", fd, key,
                       line);
    found += strlen(key);
    snprintf(value, GW_LAUNCH_TEXT_BYTES, "%.*s", (int)strcspn(found, " "),
             found);
    return GW_OK;
}

static enum gw_err learn_name(int fd, char name[GW_LAUNCH_TEXT_BYTES],
                              struct gw_error *why)
{
    char line[LINE_BYTES];
    enum gw_err err =
        exchange_line(fd, "cmd=init pmi_version=1 pmi_subversion=1",
                      "cmd=response_to_init", line, why);
    if (err)
        return err;
    if (!strstr(line, "rc=0"))
        return gw_fail(
            why, GW_ESYS,
            "PMI_FD %d: the process manager does not support PMI-1: %.60s", fd,
            line);
    err = exchange_line(fd, "cmd=get_my_kvsname", "cmd=my_kvsname", line, why);
    return err ? err : copy_value(fd, line, "kvsname=", name, why);
}

/* Passes the value of rank 0 to all ranks, with a barrier between put and
 * get. */
static enum gw_err pass_host(int fd, const char *name, const char *offer,
                             char host[GW_LAUNCH_TEXT_BYTES],
                             struct gw_error *why)
{
    char line[LINE_BYTES], command[LINE_BYTES];
    enum gw_err err = GW_OK;
    snprintf(command, sizeof command,
             "cmd=put kvsname=%.255s key=gradwire value=%.255s", name, offer);
    if (offer[0])
        err = exchange_line(fd, command, "cmd=put_result rc=0", line, why);
    if (!err)
        err = exchange_line(fd, "cmd=barrier_in", "cmd=barrier_out", line, why);
    snprintf(command, sizeof command, "cmd=get kvsname=%.255s key=gradwire",
             name);
    if (!err)
        err = exchange_line(fd, command, "cmd=get_result rc=0", line, why);
    return err ? err : copy_value(fd, line, "value=", host, why);
}

enum gw_err gw__launch_env_query_pmi(int fd, const char *offer,
                                     char name[GW_LAUNCH_TEXT_BYTES],
                                     char host[GW_LAUNCH_TEXT_BYTES],
                                     struct gw_error *why)
{
    char line[LINE_BYTES];
    host[0] = 0;
    enum gw_err err = learn_name(fd, name, why);
    if (!err && offer)
        err = pass_host(fd, name, offer, host, why);
    return err ? err
               : exchange_line(fd, "cmd=finalize", "cmd=finalize_ack", line,
                               why);
}
