/* SPDX-License-Identifier: MIT
 *
 * The connections of peers. Until its first message a connection is a guest: it
 * may be a stranger's. Guests have a limited number of places, and a silent one
 * loses its place when another needs it.
 */
#include "messenger_socket.h"

#include "base/notice.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum gw_err gw__messenger_door_open(struct gw__messenger_socket *s,
                                    struct gw_error *why)
{
    bool tcp = s->address.transport == GW__SOCKET_TCP;
    enum gw_err err = gw__socket_bind(&s->address, &s->door, why);
    if (!err && tcp && !s->seal)
        err = gw__peers_open(&s->users, why);
    s->door_source = GW__MESSENGER_DOOR;
    if (!err && !gw__messenger_listen(s, s->door, &s->door_source, EPOLLIN))
        err = gw_fail_errno(why, "listening");
    return err;
}

/* ---- strangers ---- */

static void report_user(struct gw__messenger_socket *s, uid_t user)
{
    if (!s->reported)
        gw__notice("%s: a process of another user (%u) was refused, since "
                   "there is no key; further ones will be refused silently",
                   s->endpoint, (unsigned)user);
    s->reported = true;
}

static void report_stranger(struct gw__messenger_socket *s)
{
    if (!s->reported && s->seal)
        gw__notice("%s: a process without the key of this cluster was refused; "
                   "further ones will be refused silently",
                   s->endpoint);
    s->reported |= s->seal != NULL;
}

/* An abstract name has no permissions, so the kernel is asked for the user. */
static bool is_other_local_user(int fd, uid_t *user)
{
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return false;
    *user = who.uid;
    return who.uid != getuid() && who.uid != 0;
}

/* With a key, the key decides. */
static bool is_refused(struct gw__messenger_socket *s, int fd)
{
    uid_t user = 0;
    bool other = false;
    if (s->seal)
        return false;
    if (s->address.transport == GW__SOCKET_IPC)
        other = is_other_local_user(fd, &user);
    else
        other = gw__peers_receive(&s->users, fd, s->address.port, &user) ==
                GW__PEER_OTHER_USER;
    if (other)
        report_user(s, user);
    return other;
}

/* ---- connections ---- */

void gw__messenger_conn_close(struct gw__messenger_socket *s,
                              struct gw__messenger_conn *conn, bool stranger)
{
    unsigned at = 0;
    while (s->conns[at] != conn)
        at++;
    s->conn_count--;
    memmove(&s->conns[at], &s->conns[at + 1],
            (s->conn_count - at) * sizeof s->conns[0]);
    gw__messenger_unlisten(s, conn->fd, &conn->source);
    if (conn->message)
        gw__message_in_release(&conn->message->base.in);
    if (stranger) {
        s->messenger.counts.dropped++;
        report_stranger(s);
    }
    gw__seal_free(&conn->seal);
    free(conn);
}

static unsigned count_of(const struct gw__messenger_socket *s, bool guests)
{
    unsigned count = 0;
    for (unsigned i = 0; i < s->conn_count; i++)
        count += guests ? s->conns[i]->guest : s->conns[i]->early;
    return count;
}

static struct gw__messenger_conn *
oldest_of(const struct gw__messenger_socket *s, bool guests)
{
    for (unsigned i = 0; i < s->conn_count; i++)
        if (guests ? s->conns[i]->guest : s->conns[i]->early)
            return s->conns[i];
    return NULL;
}

/* Room for one more guest. The bytes of the oldest one are read first. If it
 * may still speak, the door stays shut until then. */
static bool free_guest_place(struct gw__messenger_socket *s)
{
    static const uint64_t patience_ns = 1000000000U;
    while (count_of(s, true) >= GW__MESSENGER_GUESTS) {
        struct gw__messenger_conn *oldest = oldest_of(s, true);
        uint64_t until_ns = oldest->came_ns + patience_ns;
        if (gw_now_ns() < until_ns) {
            gw__messenger_relisten(s, s->door, &s->door_source, 0);
            gw__messenger_remind(s, until_ns);
            s->door_shut = true;
            return false;
        }
        gw__messenger_conn_read(s, oldest);
        if (oldest_of(s, true) == oldest)
            gw__messenger_conn_close(s, oldest, false);
    }
    return true;
}

static void add_guest(struct gw__messenger_socket *s, int fd)
{
    struct gw__messenger_conn *conn = calloc(1, sizeof *conn);
    if (conn) {
        conn->source = GW__MESSENGER_IN;
        conn->guest = true;
        conn->fd = fd;
        conn->came_ns = gw_now_ns();
    }
    if (!conn || !gw__messenger_listen(s, fd, &conn->source, EPOLLIN)) {
        free(conn);
        close(fd);
        return;
    }
    gw__socket_prepare(fd, &s->address);
    s->conns[s->conn_count++] = conn;
}

void gw__messenger_door_event(struct gw__messenger_socket *s)
{
    if (s->door_shut)
        gw__messenger_relisten(s, s->door, &s->door_source, EPOLLIN);
    s->door_shut = false;
    while (free_guest_place(s)) {
        int fd = accept4(s->door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        if (is_refused(s, fd))
            close(fd);
        else
            add_guest(s, fd);
    }
}

/* ---- members ---- */

static bool is_from(const struct gw__messenger_conn *conn, unsigned node,
                    uint64_t high, uint64_t low)
{
    return !conn->guest && conn->node == node && conn->high == high &&
           conn->low == low;
}

static void close_others(struct gw__messenger_socket *s,
                         const struct gw__messenger_conn *newest)
{
    for (unsigned i = s->conn_count; i-- > 0;)
        if (s->conns[i] != newest &&
            is_from(s->conns[i], newest->node, newest->high, newest->low))
            gw__messenger_conn_close(s, s->conns[i], false);
}

/* Is it neither known nor forgotten? */
static bool is_early(const struct gw__messenger_socket *s,
                     const struct gw__messenger_conn *conn)
{
    const struct gw__messenger_socket_peer *peer = &s->peers[conn->node];
    bool former = peer->was_known && conn->high == peer->former_high &&
                  conn->low == peer->former_low;
    return !former && !gw__messenger_knows(&s->messenger, conn->node,
                                           conn->high, conn->low);
}

bool gw__messenger_conn_admit(struct gw__messenger_socket *s,
                              struct gw__messenger_conn *conn,
                              const struct gw__messenger_head *head)
{
    struct gw__messenger_socket_peer *peer = &s->peers[head->from];
    bool seen =
        peer->seen_high == head->from_high && peer->seen_low == head->from_low;
    if (seen && head->session <= peer->session_seen)
        return false;
    peer->seen_high = head->from_high;
    peer->seen_low = head->from_low;
    peer->session_seen = head->session;
    conn->guest = false;
    conn->node = head->from;
    conn->high = head->from_high;
    conn->low = head->from_low;
    conn->session = head->session;
    close_others(s, conn);
    conn->early = is_early(s, conn);
    if (conn->early)
        gw__messenger_relisten(s, conn->fd, &conn->source, 0);
    if (count_of(s, false) > GW__MESSENGER_EARLY)
        gw__messenger_conn_close(s, oldest_of(s, false), false);
    return true;
}

void gw__messenger_conn_welcome(struct gw__messenger_socket *s, unsigned node)
{
    const struct gw__messenger_peer *peer = &s->messenger.peers[node];
    for (unsigned i = s->conn_count; i-- > 0;) {
        struct gw__messenger_conn *conn = s->conns[i];
        if (conn->guest || conn->node != node)
            continue;
        if (conn->high != peer->incarnation_high ||
            conn->low != peer->incarnation_low) {
            gw__messenger_conn_close(s, conn, false);
        } else if (conn->early) {
            conn->early = false;
            gw__messenger_relisten(s, conn->fd, &conn->source, EPOLLIN);
        }
    }
}
