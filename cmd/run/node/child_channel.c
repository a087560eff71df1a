/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The messages of child_channel.h on their socket, and the start of a child.
 */
#include "child_channel.h"

#include "common/process.h"
#include "common/rpc_server.h"

#include <cluster/driver/describe.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void child_channel_endpoint(uint64_t token, const char *who,
                            char out[ENDPOINT_MAX])
{
    rpc_server_endpoint(token, who, out);
}

void child_channel_endpoint_of(uint64_t token, unsigned node,
                               char out[ENDPOINT_MAX])
{
    char who[16];
    snprintf(who, sizeof who, "%u", node);
    child_channel_endpoint(token, who, out);
}

_Static_assert((int)ENDPOINT_MAX == (int)RPC_SERVER_ENDPOINT_MAX, "one length");

/* ---- messages ---- */

static void *unconst(const void *data)
{
    union {
        const void *in;
        void *out;
    } view = {.in = data};
    return view.out; /* sendmsg only reads */
}

enum gw_err child_channel_send(int fd, enum child_channel_kind kind,
                               const void *data, size_t bytes, bool wait)
{
    struct gw__supervised_head head = {
        .magic = GW__SUPERVISED_MAGIC, .kind = kind, .bytes = bytes};
    struct iovec parts[] = {{&head, sizeof head}, {unconst(data), bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    int flags = MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT);
    if (bytes > CHILD_CHANNEL_BYTES_MAX)
        return GW_EINVAL;
    for (;;) {
        if (sendmsg(fd, &message, flags) >= 0)
            return GW_OK;
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
            return GW_PENDING;
        if (errno != EINTR)
            return GW_ECLOSED;
    }
}

static bool size_fits(enum child_channel_kind kind, size_t bytes)
{
    switch (kind) {
    case CHILD_CHANNEL_CHILD_CONFIG:
        return bytes == sizeof(struct child_config);
    case CHILD_CHANNEL_DESIRED_STATE:
        return bytes == sizeof(struct desired_state);
    case CHILD_CHANNEL_STATUS:
        return true; /* node_status_unpack checks it */
    case CHILD_CHANNEL_PROGRAM_ORDERS:
        return bytes == sizeof(struct gw__supervised_orders);
    case CHILD_CHANNEL_PROGRAM_STATUS:
        return bytes == sizeof(struct gw__supervised_status);
    case CHILD_CHANNEL_EVENTS:
    case CHILD_CHANNEL_PROGRAM_EVENTS:
        return bytes % sizeof(struct gw_event) == 0;
    case CHILD_CHANNEL_EXIT:
        return bytes == sizeof(struct gw_error);
    case CHILD_CHANNEL_KNOWN:
        return true;
    case CHILD_CHANNEL_KINDS:
        break;
    }
    return false;
}

enum gw_err child_channel_receive(int fd, void *buffer,
                                  enum child_channel_kind *kind, size_t *bytes)
{
    struct gw__supervised_head head = {0};
    struct iovec parts[] = {{&head, sizeof head},
                            {buffer, CHILD_CHANNEL_BYTES_MAX}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got;
    do
        got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? GW_PENDING
                                                       : GW_ECLOSED;
    if (got == 0)
        return GW_ECLOSED;
    *kind = (enum child_channel_kind)head.kind;
    *bytes = head.bytes;
    bool whole = (size_t)got >= sizeof head &&
                 head.magic == GW__SUPERVISED_MAGIC &&
                 (size_t)got == sizeof head + head.bytes &&
                 head.kind < CHILD_CHANNEL_KINDS && size_fits(*kind, *bytes);
    return whole ? GW_OK : GW_EDATA;
}

static _Alignas(
    16) char buffer[CHILD_CHANNEL_BYTES_MAX]; /* per child, for one reader */

void desired_state_await(int wake_fd, int most_ms, bool blocked,
                         void (*obey)(void *context,
                                      const struct desired_state *desired),
                         void *context)
{
    struct pollfd polls[] = {
        {.fd = CHILD_CHANNEL_FD, .events = blocked ? POLLIN | POLLOUT : POLLIN},
        {.fd = wake_fd, .events = POLLIN}};
    enum child_channel_kind kind = CHILD_CHANNEL_KINDS;
    enum gw_err code;
    eventfd_t woken;
    size_t bytes;
    poll(polls, 2, most_ms);
    if (polls[1].revents)
        eventfd_read(wake_fd, &woken);
    while ((code = child_channel_receive(CHILD_CHANNEL_FD, buffer, &kind,
                                         &bytes)) != GW_PENDING) {
        if (code == GW_ECLOSED)
            _exit(gw_err_exit(GW_ECLOSED)); /* the supervisor is gone */
        if (code == GW_OK && kind == CHILD_CHANNEL_DESIRED_STATE)
            obey(context, (const struct desired_state *)(void *)buffer);
    }
}

void child_channel_known(const char *more)
{
    enum { KNOWN_MAX = 32768 };
    static const uint64_t patience_ns = 2000000000;
    char *text = malloc(KNOWN_MAX);
    if (!text)
        return;
    size_t used = (size_t)snprintf(text, KNOWN_MAX, "  %s\n", more);
    if (used < KNOWN_MAX)
        used +=
            gw__drivers_describe(text + used, KNOWN_MAX - used, patience_ns);
    child_channel_send(CHILD_CHANNEL_FD, CHILD_CHANNEL_KNOWN, text, used, true);
    free(text);
}

/* ---- starting a child ---- */

_Noreturn void child_channel_become(int fd, bool silent, char *const *arguments)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (fd == CHILD_CHANNEL_FD)
        fcntl(fd, F_SETFD, 0);
    else
        dup2(fd, CHILD_CHANNEL_FD);
    int nothing = silent ? open("/dev/null", O_RDWR) : -1;
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
    }
    close_range(CHILD_CHANNEL_FD + 1, ~0U, 0);
    execv("/proc/self/exe", arguments);
    _exit(EXEC_FAILED);
}

bool child_channel_open(int argc, char **argv, struct child_config *config)
{
    enum child_channel_kind kind = CHILD_CHANNEL_KINDS;
    size_t bytes = 0;
    sigset_t none;
    pid_t parent = argc > 2 ? (pid_t)strtol(argv[2], NULL, 10) : 0;
    if (parent <= 0 || !process_follow(parent, SIGKILL))
        return false;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* the supervisor handles it */
    if (child_channel_receive(CHILD_CHANNEL_FD, buffer, &kind, &bytes) ||
        kind != CHILD_CHANNEL_CHILD_CONFIG)
        return false;
    memcpy(config, buffer, sizeof *config);
    return true;
}
