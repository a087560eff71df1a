/* SPDX-License-Identifier: MIT
 *
 * Connecting the two ends of a stream. The lower rank listens and the higher
 * connects. Each sends its rank with a tag over it, under the key and the token
 * of the other. Both were in the other's address, so only a member can do so. A
 * replayed greeting is accepted at most once, in place of the member's, whose
 * own connection then fails; and data from the replaying process do not open.
 */
#include "stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* No body has this number. */
static const uint64_t greeting_number = UINT64_MAX;

union socket_address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* "127.0.0.1", "::1" or "[::1]"; 0: not an address. */
static socklen_t parse_address(const char *host, uint16_t port,
                               union socket_address *address)
{
    char bare[INET6_ADDRSTRLEN + 2];
    size_t length = strcspn(host, "]");
    memset(address, 0, sizeof *address);
    address->four.sin_port = htons(port);
    if (inet_pton(AF_INET, host, &address->four.sin_addr) == 1) {
        address->four.sin_family = AF_INET;
        return sizeof address->four;
    }
    bool brackets = host[0] == '[';
    if (length - brackets >= sizeof bare)
        return 0;
    memcpy(bare, host + brackets, length - brackets);
    bare[length - brackets] = 0;
    address->six.sin6_port = htons(port);
    address->six.sin6_family = AF_INET6;
    return inet_pton(AF_INET6, bare, &address->six.sin6_addr) == 1
               ? sizeof address->six
               : 0;
}

static void be_prompt(int fd)
{
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* ---- greetings ---- */

static void make_greeting(const struct gw__seal *seal,
                          const unsigned char token[GW__TOKEN_BYTES],
                          uint32_t rank,
                          unsigned char out[GW__STREAM_GREETING_BYTES])
{
    struct gw__seal_pass pass;
    gw__seal_begin(seal, false, rank, greeting_number, token, GW__TOKEN_BYTES,
                   &pass);
    memcpy(out, &rank, sizeof rank);
    gw__seal_end(&pass, out + sizeof rank);
}

static bool is_greeting(const struct gw__seal *own,
                        const unsigned char token[GW__TOKEN_BYTES],
                        const unsigned char greeting[GW__STREAM_GREETING_BYTES],
                        uint32_t *rank)
{
    struct gw__seal_pass pass;
    memcpy(rank, greeting, sizeof *rank);
    gw__seal_begin(own, true, *rank, greeting_number, token, GW__TOKEN_BYTES,
                   &pass);
    return gw__seal_fits(&pass, greeting + sizeof *rank);
}

/* Reads on. False: the connection has ended or failed. */
static bool listen_to(int fd, unsigned char *greeting, unsigned *received)
{
    while (*received < GW__STREAM_GREETING_BYTES) {
        ssize_t came =
            recv(fd, greeting + *received,
                 GW__STREAM_GREETING_BYTES - *received, MSG_DONTWAIT);
        if (came > 0)
            *received += (unsigned)came;
        else
            return came < 0 && (errno == EAGAIN || errno == EINTR);
    }
    return true;
}

static bool send_greeting(struct gw__stream *s)
{
    unsigned char own[GW__STREAM_GREETING_BYTES];
    if (s->greeted == sizeof own)
        return true;
    make_greeting(s->theirs, s->their_token, s->rank, own);
    ssize_t wrote = send(s->fd, own + s->greeted, sizeof own - s->greeted,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
    s->greeted += wrote > 0 ? (unsigned)wrote : 0;
    return s->greeted == sizeof own;
}

static enum gw_err receive_greeting(struct gw__stream *s, struct gw_error *why)
{
    uint32_t rank;
    (void)listen_to(s->fd, s->greeting, &s->greeting_received);
    if (s->greeting_received < sizeof s->greeting)
        return GW_PENDING;
    if (!is_greeting(s->own, s->token, s->greeting, &rank) || rank != s->peer)
        return gw_fail(why, GW_EMISMATCH,
                       "another process answered in place of rank %u", s->peer);
    return GW_OK;
}

/* A peer that cannot be reached or has hung up stays pending until the timeout.
 */
enum gw_err gw__stream_greet(struct gw__stream *s, struct gw_error *why)
{
    bool is_sent = send_greeting(s);
    enum gw_err err = s->has_called ? GW_OK : receive_greeting(s, why);
    return err || is_sent ? err : GW_PENDING;
}

/* ---- the connecting side ---- */

enum gw_err gw__stream_call(struct gw__stream *s, const char *host,
                            uint16_t port, struct gw_error *why)
{
    union socket_address address;
    socklen_t bytes = parse_address(host, port, &address);
    if (!bytes)
        return gw_fail(why, GW_EUNREACH, "rank %u at %s: not an address",
                       s->peer, host);
    s->fd = socket(address.any.sa_family,
                   SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        return gw_fail_errno(why, "a connection to rank %u", s->peer);
    be_prompt(s->fd);
    if (connect(s->fd, &address.any, bytes) != 0 && errno != EINPROGRESS)
        return gw_fail(why, GW_EUNREACH, "rank %u at %s: %s", s->peer, host,
                       strerror(errno));
    return GW_OK;
}

/* ---- the listening side ---- */

enum gw_err gw__door_open(struct gw__door *door, const char *host,
                          uint16_t *port, struct gw_error *why)
{
    union socket_address address;
    socklen_t bytes = parse_address(host, 0, &address);
    if (!bytes)
        return gw_fail(why, GW_EUNREACH, "%s is not an address", host);
    door->fd = socket(address.any.sa_family,
                      SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (door->fd < 0 || bind(door->fd, &address.any, bytes) != 0 ||
        listen(door->fd, SOMAXCONN) != 0 ||
        getsockname(door->fd, &address.any, &bytes) != 0)
        return gw_fail_errno(why, "listening at %s", host);
    *port = ntohs(address.four.sin_port); /* at the same offset as sin6_port */
    return GW_OK;
}

static void show_out(struct gw__door *door, unsigned guest)
{
    close(door->guests[guest].fd);
    door->guests[guest] = door->guests[--door->count];
}

void gw__door_close(struct gw__door *door)
{
    while (door->count > 0)
        show_out(door, door->count - 1);
    if (door->fd >= 0)
        close(door->fd);
    door->fd = -1;
}

/* Room for one more guest. False: all places have guests that may still greet.
 */
static bool free_guest_slot(struct gw__door *door)
{
    enum { MOST = sizeof door->guests / sizeof *door->guests };
    static const uint64_t patience_ns = 1000000000U;
    uint64_t now_ns = gw_now_ns();
    for (unsigned i = door->count; i-- > 0 && door->count == MOST;)
        if (now_ns - door->guests[i].came_ns > patience_ns)
            show_out(door, i);
    return door->count < MOST;
}

static void accept_guests(struct gw__door *door)
{
    while (free_guest_slot(door)) {
        int fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        be_prompt(fd);
        door->guests[door->count++] =
            (struct gw__door_guest){.fd = fd, .came_ns = gw_now_ns()};
    }
}

int gw__door_admit(struct gw__door *door, const struct gw__seal *own,
                   const unsigned char token[GW__TOKEN_BYTES], uint32_t *rank)
{
    accept_guests(door);
    for (unsigned i = door->count; i-- > 0;) {
        struct gw__door_guest *guest = &door->guests[i];
        bool open =
            listen_to(guest->fd, guest->greeting, &guest->greeting_received);
        if (open && guest->greeting_received < sizeof guest->greeting)
            continue;
        int fd = guest->fd;
        bool known = guest->greeting_received == sizeof guest->greeting &&
                     is_greeting(own, token, guest->greeting, rank);
        door->guests[i] = door->guests[--door->count];
        if (known)
            return fd;
        close(fd);
    }
    return -1;
}
