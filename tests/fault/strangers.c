/* SPDX-License-Identifier: MIT
 *
 * Strangers at a port of a cluster, which speak ZMTP 3.0
 * (rfc.zeromq.org/spec:23) over a plain socket:
 *
 *     strangers silent HOST PORT COUNT   connect, and send nothing
 *     strangers half   HOST PORT COUNT   connect without a key, send half a
 *                                        frame
 *     strangers huge   HOST PORT COUNT   the same, of a frame of 1 TB
 *     strangers flood  HOST PORT COUNT   send messages, so many MiB in all,
 *                                        as fast as they are accepted
 *     strangers slices HOST PORT COUNT   the same, as a rank (PAIR)
 *     strangers parts  HOST PORT COUNT   the same, of one endless message of
 *                                        empty parts
 *
 * `silent` and `half` print "there" when all have connected, and stay until
 * standard input ends; then all of them end. `huge` waits until it is
 * disconnected, and reports that. The others report the amount that was
 * accepted before they were disconnected. A user number after COUNT: connect as
 * that user instead of root.
 */
#define _GNU_SOURCE /* POLLRDHUP */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    GREETING_BYTES = 64,
    FRAME_BYTES = 60000,
    PATIENCE_S = 20,
    STRANGERS_MAX = 512
};

static int come(const char *host, const char *port)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || fd < 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        perror(host);
        exit(1);
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

/* False if the other end has hung up. Some systems give no other sign: data
 * sent afterwards may just be buffered. */
static bool send_all(int fd, const void *data, size_t bytes)
{
    const char *rest = data;
    while (bytes > 0) {
        struct pollfd room = {.fd = fd, .events = POLLOUT | POLLRDHUP};
        if (poll(&room, 1, PATIENCE_S * 1000) <= 0 || room.revents != POLLOUT)
            return false;
        ssize_t sent = send(fd, rest, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return false;
        rest += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/* Version 3.0 without security, then READY of a DEALER or a PAIR. The reply is
 * not read: a peer that requires a key hangs up. */
static bool introduce(int fd, bool rank)
{
    static const char dealer[] = "\4\x1c\5READY\13Socket-Type\0\0\0\6DEALER";
    static const char pair[] = "\4\x1a\5READY\13Socket-Type\0\0\0\4PAIR";
    unsigned char greeting[GREETING_BYTES] = {0xff};
    greeting[9] = 0x7f;
    greeting[10] = 3;
    memcpy(greeting + 12, "NULL", 4);
    return send_all(fd, greeting, sizeof greeting) &&
           (rank ? send_all(fd, pair, sizeof pair - 1)
                 : send_all(fd, dealer, sizeof dealer - 1));
}

/* The head of a frame: "long", and its length. */
static bool send_length(int fd, uint64_t bytes)
{
    unsigned char head[9] = {2};
    for (unsigned i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(bytes >> (56 - 8 * i));
    return send_all(fd, head, sizeof head);
}

/* True when the other end has hung up, after any last data. */
static bool is_thrown_out(int fd)
{
    char received[256];
    ssize_t got;
    while ((got = recv(fd, received, sizeof received, 0)) > 0)
        ;
    return got == 0 || errno == ECONNRESET;
}

static void stay(void)
{
    char byte;
    puts("there");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

/* An empty frame is two bytes: the flag "more", and length 0. */
static bool send_frames(int fd, char junk[FRAME_BYTES])
{
    for (size_t i = 0; i < FRAME_BYTES; i += 2)
        junk[i] = 1;
    return send_all(fd, junk, FRAME_BYTES);
}

/* The number of MiB accepted before it was disconnected, or all. */
static unsigned flood(int fd, const char *what, unsigned most_mib)
{
    static char junk[FRAME_BYTES];
    uint64_t sent = 0, most = (uint64_t)most_mib << 20;
    bool good = introduce(fd, strcmp(what, "slices") == 0);
    while (good && sent < most) {
        good = strcmp(what, "parts") == 0 ? send_frames(fd, junk)
                                          : send_length(fd, sizeof junk) &&
                                                send_all(fd, junk, sizeof junk);
        sent += good ? sizeof junk : 0;
    }
    return (unsigned)(sent >> 20);
}

static bool is_flood(const char *what)
{
    return strcmp(what, "flood") == 0 || strcmp(what, "slices") == 0 ||
           strcmp(what, "parts") == 0;
}

int main(int argc, char **argv)
{
    static const char half[FRAME_BYTES / 2];
    static int fds[STRANGERS_MAX];
    unsigned count = argc >= 5 ? (unsigned)atoi(argv[4]) : 0, accepted = 0;
    signal(SIGPIPE, SIG_IGN);
    if (count == 0 || count > STRANGERS_MAX || argc > 6)
        return 64;
    if (argc == 6 && setuid((uid_t)atoi(argv[5])) != 0) {
        perror(argv[5]);
        return 77;
    }
    const char *what = argv[1];
    if (is_flood(what)) {
        fds[0] = come(argv[2], argv[3]);
        accepted = flood(fds[0], what, count);
        printf("%u of %u MiB were taken\n", accepted, count);
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        fds[i] = come(argv[2], argv[3]);
        if (strcmp(what, "silent") != 0 && introduce(fds[i], false) &&
            send_length(fds[i], *what == 'h' && what[1] == 'u'
                                    ? UINT64_C(1) << 40
                                    : FRAME_BYTES))
            (void)send_all(fds[i], half, sizeof half);
    }
    if (strcmp(what, "huge") != 0) {
        stay();
        return 0;
    }
    for (unsigned i = 0; i < count; i++)
        accepted += is_thrown_out(fds[i]);
    printf("%u of %u were thrown out\n", accepted, count);
    return accepted != count;
}
