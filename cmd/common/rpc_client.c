/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Opening a run and sending it requests. Requests are numbered ("id"), and the
 * answer repeats the number. So a late answer is not taken for the answer to
 * the next request.
 */
#include "common/rpc/rpc_client_parts.h"

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

enum { POLL_INTERVAL_MS = 100, LINGER_MS = 200, ANSWER_MAX = 64 << 20 };
#define HELLO_NS UINT64_C(10000000000)

/* ---- is the supervisor alive? ---- */

/* Any user may take an abstract name that is free again, or copy the folder of
 * a run. So the peer's user is checked. */
static enum gw_err check_user(int fd, const char *run, struct gw_error *why)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return rpc_client_ended(run, why);
    if (peer.uid == geteuid())
        return GW_OK;
    return gw_fail(why, GW_EUNREACH,
                   "run %s belongs to another user (%u); only its owner may "
                   "attach to it",
                   run, (unsigned)peer.uid);
}

enum gw_err rpc_client_knock(const char *run, const char *endpoint,
                             struct gw_error *why)
{
    static const char scheme[] = "ipc://@";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t skip = sizeof scheme - 1;
    if (strncmp(endpoint, scheme, skip) != 0)
        return rpc_client_ended(run, why);
    size_t length = strlen(endpoint + skip);
    if (length == 0 || length + 1 > sizeof address.sun_path)
        return rpc_client_ended(run, why);
    memcpy(address.sun_path + 1, endpoint + skip, length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return rpc_client_ended(run, why);
    socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
    /* The queue of a supervisor that is stopped may be full: EAGAIN. */
    bool connected = connect(fd, (struct sockaddr *)&address, size) == 0;
    bool full = !connected && errno == EAGAIN;
    enum gw_err code = connected ? check_user(fd, run, why)
                       : full    ? GW_OK
                                 : rpc_client_ended(run, why);
    close(fd);
    return code;
}

enum gw_err rpc_client_ended(const char *run, struct gw_error *why)
{
    return gw_fail(why, GW_EUNREACH,
                   "run %s has ended; start a run with: ringctl up 4", run);
}

bool rpc_client_dead(const struct rpc_client *client)
{
    struct pollfd pid = {.fd = client->pidfd, .events = POLLIN};
    return client->pidfd >= 0 && poll(&pid, 1, 0) > 0;
}

int rpc_client_ms(uint64_t deadline_ns, int most)
{
    uint64_t now = gw_now_ns();
    if (deadline_ns <= now)
        return 0;
    uint64_t ms = (deadline_ns - now + 999999) / 1000000;
    return ms < (uint64_t)most ? (int)ms : most;
}

/* ---- opening ---- */

static enum gw_err read_endpoint(const char *run, const char *directory,
                                 char out[RPC_CLIENT_ENDPOINT_MAX],
                                 struct gw_error *why)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/endpoint", directory);
    FILE *file = fopen(path, "re");
    if (!file)
        return rpc_client_ended(run, why);
    bool read = fgets(out, RPC_CLIENT_ENDPOINT_MAX, file) != NULL;
    fclose(file);
    if (!read)
        return rpc_client_ended(run, why);
    out[strcspn(out, "\n")] = 0;
    return rpc_client_knock(run, out, why);
}

enum gw_err rpc_client_connect(struct rpc_client *client, int type,
                               const char *endpoint, void **socket,
                               struct gw_error *why)
{
    int linger = LINGER_MS, high_water = 1 << 16;
    int64_t most = ANSWER_MAX;
    *socket = zmq_socket(client->context, type);
    if (!*socket ||
        zmq_setsockopt(*socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_setsockopt(*socket, ZMQ_RCVHWM, &high_water, sizeof high_water) !=
            0 ||
        zmq_setsockopt(*socket, ZMQ_MAXMSGSIZE, &most, sizeof most) != 0 ||
        zmq_connect(*socket, endpoint) != 0)
        return gw_fail(why, GW_EUNREACH, "run %s: %s: %s", client->run,
                       endpoint, zmq_strerror(errno));
    return GW_OK;
}

/* Reads the supervisor's process id and the endpoint of its events. */
static enum gw_err greet(struct rpc_client *client, struct gw_error *why)
{
    json_t *answer = NULL, *data;
    enum gw_err code = rpc_client_request(
        client, json_pack("{s:s}", "verb", "hello"), HELLO_NS, &answer, why);
    if (code)
        return code;
    data = json_object_get(answer, "data");
    const char *events = json_string_value(json_object_get(data, "events"));
    json_int_t pid = json_integer_value(json_object_get(data, "pid"));
    if (!events || pid <= 0) {
        json_decref(answer);
        return gw_fail(why, GW_EDATA,
                       "run %s: the process that answered is not a supervisor",
                       client->run);
    }
    snprintf(client->endpoint, sizeof client->endpoint, "%s", events);
    client->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    json_decref(answer);
    return GW_OK;
}

enum gw_err rpc_client_open(const char *name, struct rpc_client **out,
                            struct gw_error *why)
{
    char directory[PATH_MAX], real[PATH_MAX];
    *out = NULL;
    enum gw_err code =
        rpc_client_directory(name, directory, sizeof directory, why);
    if (code)
        return code;
    if (!realpath(directory, real))
        return gw_fail_errno(why, "%s", directory);
    struct rpc_client *client = calloc(1, sizeof *client);
    if (!client)
        return gw_fail(why, GW_ENOMEM, "no memory to attach");
    client->pidfd = client->epoll = -1;
    snprintf(client->run, sizeof client->run, "%s", strrchr(real, '/') + 1);
    code = read_endpoint(client->run, directory, client->request_endpoint, why);
    if (!code) {
        code = gw__zmq_context_new(1, 0, 0, &client->context, why);
        if (!code)
            code =
                rpc_client_connect(client, ZMQ_DEALER, client->request_endpoint,
                                   &client->request_socket, why);
    }
    if (!code)
        code = greet(client, why);
    if (code)
        rpc_client_close(&client);
    *out = client;
    return code;
}

void rpc_client_close(struct rpc_client **client)
{
    struct rpc_client *a = *client;
    if (!a)
        return;
    rpc_client_events_close(a);
    if (a->request_socket)
        zmq_close(a->request_socket);
    if (a->context)
        zmq_ctx_term(a->context);
    if (a->pidfd >= 0)
        close(a->pidfd);
    free(a);
    *client = NULL;
}

const char *rpc_client_run(const struct rpc_client *client)
{
    return client->run;
}

/* ---- requests ---- */

static enum gw_err send_request(struct rpc_client *client, json_t *request,
                                struct gw_error *why)
{
    json_object_set_new(request, "id", json_integer(++client->request_id));
    char *text = json_dumps(request, JSON_COMPACT);
    if (!text)
        return gw_fail(why, GW_EINVAL, "the request is not valid JSON");
    int sent =
        zmq_send(client->request_socket, text, strlen(text), ZMQ_DONTWAIT);
    free(text);
    return sent < 0 ? gw_fail(why, GW_EUNREACH, "run %s: %s", client->run,
                              zmq_strerror(errno))
                    : GW_OK;
}

/* The answer to the current request, if it has arrived. */
static json_t *receive_answer(struct rpc_client *client)
{
    zmq_msg_t message;
    json_t *answer = NULL;
    zmq_msg_init(&message);
    while (!answer &&
           zmq_msg_recv(&message, client->request_socket, ZMQ_DONTWAIT) >= 0) {
        answer =
            json_loadb(zmq_msg_data(&message), zmq_msg_size(&message), 0, NULL);
        json_t *id = json_object_get(answer, "id");
        if (answer && json_integer_value(id) != client->request_id) {
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
static bool is_dead(const struct rpc_client *client)
{
    return client->pidfd < 0
               ? rpc_client_knock(client->run, client->request_endpoint,
                                  NULL) != GW_OK
               : rpc_client_dead(client);
}

static enum gw_err await(struct rpc_client *client, uint64_t deadline_ns,
                         json_t **answer, struct gw_error *why)
{
    zmq_pollitem_t items[] = {
        {.socket = client->request_socket, .events = ZMQ_POLLIN},
        {.fd = client->pidfd, .events = ZMQ_POLLIN},
    };
    for (;;) {
        bool dead = is_dead(client); /* its last answers still count */
        *answer = receive_answer(client);
        if (*answer)
            return GW_OK;
        if (dead)
            return rpc_client_ended(client->run, why);
        if (interrupted)
            return gw_fail(why, GW_EINTR, "interrupted");
        if (gw_now_ns() >= deadline_ns)
            return gw_fail(why, GW_ETIMEOUT,
                           "run %s: the supervisor does not answer",
                           client->run);
        zmq_poll(items, client->pidfd >= 0 ? 2 : 1,
                 rpc_client_ms(deadline_ns, POLL_INTERVAL_MS));
    }
}

enum gw_err rpc_client_request(struct rpc_client *client, json_t *request,
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
    enum gw_err code = send_request(client, request, why);
    json_decref(request);
    return code ? code : await(client, deadline, answer, why);
}
