/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starting a supervisor, on the side of the starter. The supervisor is this
 * same program, executed in a session of its own as an orphaned grandchild, so
 * that neither a terminal nor the end of a shell ends it. A socket carries the
 * options there and one answer back.
 */
#include "supervisor_options.h"

#include "common/key.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MAX = 4096, POLL_MS = 100, WAIT_S = 90 };

static enum gw_err spawn(int fd, struct gw_error *why)
{
    char word[] = SUPERVISOR_WORD;
    char *const arguments[] = {program_invocation_short_name, word, NULL};
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return gw_fail_errno(why, "a process for the supervisor");
    if (pid == 0) {
        setsid();
        pid_t grandchild = fork();
        if (grandchild == 0)
            child_channel_become(fd, true, arguments);
        _exit(grandchild < 0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return gw_fail(why, GW_ESYS, "the supervisor could not be started");
    return GW_OK;
}

/* The processes of the run find their key as those of a cluster do, in any
 * working directory. The environment of this process does not change. */
static enum gw_err spawn_with_key(int fd, struct gw_error *why)
{
    static const char variable[] = "GRADWIRE_KEY";
    char path[PATH_MAX];
    const char *file = key_file(), *outer = getenv(variable);
    if (!file)
        return spawn(fd, why);
    if (!realpath(file, path))
        return gw_fail(why, GW_EINVAL, "key file %.200s: %s", file,
                       strerror(errno));
    char *before = outer ? strdup(outer) : NULL;
    setenv(variable, path, 1);
    enum gw_err err = spawn(fd, why);
    if (before)
        setenv(variable, before, 1);
    else
        unsetenv(variable);
    free(before);
    return err;
}

/* An answer that has arrived counts, even after an interruption: the run has
 * begun, and the caller ends it. After shutdown() the supervisor cannot send
 * one and ends the run itself. */
static enum gw_err await(int fd, char *answer, size_t room,
                         struct gw_error *why)
{
    uint64_t deadline = gw_now_ns() + WAIT_S * UINT64_C(1000000000);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    bool late = false;
    while (poll(&ready, 1, POLL_MS) <= 0 && !interrupted && !late)
        late = gw_now_ns() > deadline;
    if (interrupted || late)
        shutdown(fd, SHUT_RD);
    ssize_t bytes = recv(fd, answer, room - 1, 0);
    if (bytes <= 0 && interrupted)
        return gw_fail(why, GW_EINTR, "interrupted");
    if (bytes <= 0 && late)
        return gw_fail(why, GW_ETIMEOUT,
                       "the supervisor did not answer within %d s", WAIT_S);
    if (bytes <= 0)
        return gw_fail(why, GW_EUNREACH,
                       "the supervisor ended before the run started");
    answer[bytes] = 0;
    return GW_OK;
}

static enum gw_err read_answer(const char *text, struct run_options *options,
                               struct gw_error *why)
{
    json_t *json = json_loads(text, 0, NULL);
    const char *run = json_string_value(json_object_get(json, "run"));
    const char *reply = json_string_value(json_object_get(json, "text"));
    json_int_t pid = json_integer_value(json_object_get(json, "pid"));
    int code = (int)json_integer_value(json_object_get(json, "code"));
    if (!run || !reply || pid <= 0)
        gw_fail(why, GW_EINTERNAL, "the supervisor's answer cannot be read");
    else if (code)
        gw_fail(why, (enum gw_err)code, "%s", reply);
    else
        snprintf(options->run, sizeof options->run, "%s", run);
    bool ok = run && reply && pid > 0 && !code;
    options->supervisor = (pid_t)pid;
    json_decref(json);
    return ok ? GW_OK : why->code;
}

static enum gw_err start_supervisor(struct run_options *options, int fd,
                                    int its_fd, struct gw_error *why)
{
    char answer[ANSWER_MAX];
    json_t *json = options_encode(options);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    enum gw_err code = GW_OK;
    json_decref(json);
    if (!text)
        return gw_fail(why, GW_EINVAL, "the options cannot be encoded as text");
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        code = gw_fail_errno(why, "the supervisor's options");
    free(text);
    if (!code)
        code = spawn_with_key(its_fd, why);
    close(its_fd);
    if (!code)
        code = await(fd, answer, sizeof answer, why);
    return code ? code : read_answer(answer, options, why);
}

enum gw_err supervisor_start(struct run_options *options, struct gw_error *why)
{
    struct gw_error own;
    int ends[2];
    if (!why)
        why = &own;
    enum gw_err code = options_check(options, why);
    if (code)
        return code;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return gw_fail_errno(why, "a socket pair");
    code = start_supervisor(options, ends[0], ends[1], why);
    close(ends[0]);
    return code;
}
