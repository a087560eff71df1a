/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Opening a run and sending it requests. Requests are numbered ("id"), and the
 * answer repeats the number. So a late answer is not taken for the answer to
 * the next request.
 */
#include "common/attach/attach_parts.h"

#include "command.h"

#include <wire/zmq/zmq_context.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { LOOK_MS = 100, LINGER_MS = 200, ANSWER_MAX = 64 << 20 };
#define HELLO_NS UINT64_C(10000000000)

/* ---- is the supervisor alive? ---- */

/* Any user may take an abstract name that is free again, or copy the folder of
 * a run. So the peer's user is checked. */
static enum gw_err check_user(int fd, const char *run, struct gw_error *why)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return attach_ended(run, why);
    if (peer.uid == geteuid())
        return GW_OK;
    return gw_fail(why, GW_EUNREACH,
                   "run %s belongs to another user (%u); only its owner may "
                   "attach to it",
                   run, (unsigned)peer.uid);
}

enum gw_err attach_knock(const char *run, const char *endpoint,
                         struct gw_error *why)
{
    static const char scheme[] = "ipc://@";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t skip = sizeof scheme - 1;
    if (strncmp(endpoint, scheme, skip) != 0)
        return attach_ended(run, why);
    size_t length = strlen(endpoint + skip);
    if (length == 0 || length + 1 > sizeof address.sun_path)
        return attach_ended(run, why);
    memcpy(address.sun_path + 1, endpoint + skip, length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return attach_ended(run, why);
    socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    enum gw_err code = connect(fd, (struct sockaddr *)&address, size) == 0
                           ? check_user(fd, run, why)
                           : attach_ended(run, why);
    close(fd);
    return code;
}

enum gw_err attach_ended(const char *run, struct gw_error *why)
{
    return gw_fail(why, GW_EUNREACH,
                   "run %s has ended; start a run with: ringctl up 4", run);
}

bool attach_dead(const struct attach *attach)
{
    struct pollfd pid = {.fd = attach->pidfd, .events = POLLIN};
    return attach->pidfd >= 0 && poll(&pid, 1, 0) > 0;
}

int attach_ms(uint64_t deadline_ns, int most)
{
    uint64_t now = gw_now_ns();
    if (deadline_ns <= now)
        return 0;
    uint64_t ms = (deadline_ns - now + 999999) / 1000000;
    return ms < (uint64_t)most ? (int)ms : most;
}

/* ---- opening ---- */

static enum gw_err read_endpoint(const char *run, const char *directory,
                                 char out[ATTACH_ENDPOINT_MAX],
                                 struct gw_error *why)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/endpoint", directory);
    FILE *file = fopen(path, "re");
    if (!file)
        return attach_ended(run, why);
    bool read = fgets(out, ATTACH_ENDPOINT_MAX, file) != NULL;
    fclose(file);
    if (!read)
        return attach_ended(run, why);
    out[strcspn(out, "\n")] = 0;
    return attach_knock(run, out, why);
}

enum gw_err attach_connect(struct attach *attach, int type,
                           const char *endpoint, void **socket,
                           struct gw_error *why)
{
    int linger = LINGER_MS, high_water = 1 << 16;
    int64_t most = ANSWER_MAX;
    *socket = zmq_socket(attach->context, type);
    if (!*socket ||
        zmq_setsockopt(*socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_setsockopt(*socket, ZMQ_RCVHWM, &high_water, sizeof high_water) !=
            0 ||
        zmq_setsockopt(*socket, ZMQ_MAXMSGSIZE, &most, sizeof most) != 0 ||
        zmq_connect(*socket, endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "run %s: %s: %s", attach->run,
                       endpoint, zmq_strerror(errno));
    return GW_OK;
}

/* Reads the supervisor's process id and the endpoint of its events. */
static enum gw_err greet(struct attach *attach, struct gw_error *why)
{
    json_t *answer = NULL, *data;
    enum gw_err code = attach_ask(attach, json_pack("{s:s}", "verb", "hello"),
                                  HELLO_NS, &answer, why);
    if (code)
        return code;
    data = json_object_get(answer, "data");
    const char *events = json_string_value(json_object_get(data, "events"));
    json_int_t pid = json_integer_value(json_object_get(data, "pid"));
    if (!events || pid <= 0) {
        json_decref(answer);
        return gw_fail(why, GW_EDATA,
                       "run %s: the process that answered is not a supervisor",
                       attach->run);
    }
    snprintf(attach->endpoint, sizeof attach->endpoint, "%s", events);
    attach->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    json_decref(answer);
    return GW_OK;
}

enum gw_err attach_open(const char *name, struct attach **out,
                        struct gw_error *why)
{
    char directory[PATH_MAX], real[PATH_MAX];
    *out = NULL;
    enum gw_err code = attach_directory(name, directory, sizeof directory, why);
    if (code)
        return code;
    if (!realpath(directory, real))
        return gw_fail_errno(why, "%s", directory);
    struct attach *attach = calloc(1, sizeof *attach);
    if (!attach)
        return gw_fail(why, GW_ENOMEM, "no memory to attach");
    attach->pidfd = attach->epoll = -1;
    snprintf(attach->run, sizeof attach->run, "%s", strrchr(real, '/') + 1);
    code = read_endpoint(attach->run, directory, attach->asks_at, why);
    if (!code) {
        code = gw__zmq_context_new(1, 0, 0, &attach->context, why);
        if (!code)
            code = attach_connect(attach, ZMQ_DEALER, attach->asks_at,
                                  &attach->asks, why);
    }
    if (!code)
        code = greet(attach, why);
    if (code)
        attach_close(&attach);
    *out = attach;
    return code;
}

void attach_close(struct attach **attach)
{
    struct attach *a = *attach;
    if (!a)
        return;
    attach_events_close(a);
    if (a->asks)
        zmq_close(a->asks);
    if (a->context)
        zmq_ctx_term(a->context);
    if (a->pidfd >= 0)
        close(a->pidfd);
    free(a);
    *attach = NULL;
}

const char *attach_run(const struct attach *attach)
{
    return attach->run;
}

/* ---- requests ---- */

static enum gw_err send_request(struct attach *attach, json_t *request,
                                struct gw_error *why)
{
    json_object_set_new(request, "id", json_integer(++attach->asked));
    char *text = json_dumps(request, JSON_COMPACT);
    if (!text)
        return gw_fail(why, GW_EINVAL, "the request is not valid JSON");
    int sent = zmq_send(attach->asks, text, strlen(text), ZMQ_DONTWAIT);
    free(text);
    return sent < 0 ? gw_fail(why, GW_EUNREACH, "run %s: %s", attach->run,
                              zmq_strerror(errno))
                    : GW_OK;
}

/* The answer to the current request, if it has arrived. */
static json_t *take_answer(struct attach *attach)
{
    zmq_msg_t message;
    json_t *answer = NULL;
    zmq_msg_init(&message);
    while (!answer && zmq_msg_recv(&message, attach->asks, ZMQ_DONTWAIT) >= 0) {
        answer =
            json_loadb(zmq_msg_data(&message), zmq_msg_size(&message), 0, NULL);
        json_t *id = json_object_get(answer, "id");
        if (answer && json_integer_value(id) != attach->asked) {
            json_decref(answer);
            answer = NULL;
        }
    }
    zmq_msg_close(&message);
    if (answer)
        json_object_del(answer, "id");
    return answer;
}

/* There is no pidfd before the answer to hello. */
static bool is_dead(const struct attach *attach)
{
    return attach->pidfd < 0
               ? attach_knock(attach->run, attach->asks_at, NULL) != GW_OK
               : attach_dead(attach);
}

static enum gw_err await(struct attach *attach, uint64_t deadline_ns,
                         json_t **answer, struct gw_error *why)
{
    zmq_pollitem_t items[] = {
        {.socket = attach->asks, .events = ZMQ_POLLIN},
        {.fd = attach->pidfd, .events = ZMQ_POLLIN},
    };
    for (;;) {
        bool dead = is_dead(attach); /* its last answers still count */
        *answer = take_answer(attach);
        if (*answer)
            return GW_OK;
        if (dead)
            return attach_ended(attach->run, why);
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        if (gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "run %s: the supervisor does not answer",
                           attach->run);
        zmq_poll(items, attach->pidfd >= 0 ? 2 : 1,
                 attach_ms(deadline_ns, LOOK_MS));
    }
}

enum gw_err attach_ask(struct attach *attach, json_t *request,
                       uint64_t timeout_ns, json_t **answer,
                       struct gw_error *why)
{
    uint64_t now = gw_now_ns();
    uint64_t deadline = timeout_ns > UINT64_MAX - now || timeout_ns == 0
                            ? UINT64_MAX
                            : now + timeout_ns;
    *answer = NULL;
    if (!request)
        return gw_fail(why, GW_ENOMEM, "no memory for a request");
    enum gw_err code = send_request(attach, request, why);
    json_decref(request);
    return code ? code : await(attach, deadline, answer, why);
}
