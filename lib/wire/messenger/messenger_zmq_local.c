/* SPDX-License-Identifier: MIT
 *
 * The local path: a small message to a process of this host is one datagram of
 * a Unix socket, written by the sender's thread and read by the receiver's.
 *
 * Over ZeroMQ each message wakes two more threads, its I/O threads. A request
 * of 6400 bytes and its answer, 2 virtual cores, libzmq 4.3.4: six wake-ups, 23
 * us when the kernel happened to keep all four threads on one core, else 40 to
 * 63 us, since a wake-up on another core takes 5 to 10 us. How long both ends
 * spun before they slept made no difference. With datagrams there are two
 * wake-ups, or none while both ends spin: 8 to 16 us.
 *
 * The limit is 64 KiB: a message of 26 or 64 KB and its answer took 13 and 18
 * to 25 us, instead of 23 and 30 to 60. A larger one needs ZeroMQ's thread,
 * which sends it while ours does other work.
 *
 * The kernel takes a datagram whole or not at all, at once, so no message ever
 * waits at the sender on this path. It goes by ZeroMQ instead if there is no
 * room (the kernel queues ten), if it is large, if the peer has not been heard
 * yet, or while ZeroMQ still holds messages for the same peer.
 * messenger_zmq_reorder.c restores the order of both paths.
 *
 *     datagram:  head | part | ...       (messenger_frame.h)
 *
 * An abstract name has no permissions: the kernel reports the user of each
 * datagram, and those of other users are refused. With a key there is no local
 * path.
 */
#include "messenger_zmq.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    MESSAGE_BYTES =
        sizeof(struct gw__messenger_head) + GW__MESSENGER_LOCAL_BYTES
};

static const char scheme[] = "ipc://@";

/* The name of the endpoint with the suffix "-near". */
static socklen_t name_place(const char *endpoint, struct sockaddr_un *place)
{
    size_t room = sizeof place->sun_path - 1;
    *place = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(place->sun_path + 1, room, "%s-near",
                          endpoint + strlen(scheme));
    assert(length > 0 && (size_t)length < room);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)length);
}

static bool is_local(const char *endpoint)
{
    return strncmp(endpoint, scheme, strlen(scheme)) == 0 &&
           strlen(endpoint) < 80;
}

enum gw_err gw__messenger_local_open(struct gw__messenger_zmq *zmq,
                                     struct gw_error *why)
{
    int yes = 1;
    struct sockaddr_un place;
    if (zmq->secured || !is_local(zmq->endpoint))
        return GW_OK;
    socklen_t bytes = name_place(zmq->endpoint, &place);
    zmq->local_fd =
        socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    zmq->local_message = malloc(MESSAGE_BYTES);
    if (zmq->local_fd < 0 || !zmq->local_message ||
        setsockopt(zmq->local_fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) !=
            0 ||
        bind(zmq->local_fd, (struct sockaddr *)&place, bytes) != 0)
        return gw_fail_errno(why, "a local socket for %s", zmq->endpoint);
    return GW_OK;
}

void gw__messenger_local_close(struct gw__messenger_zmq *zmq)
{
    if (zmq->local_fd >= 0)
        close(zmq->local_fd);
    free(zmq->local_message);
}

/* ---- sending ---- */

static bool may_go(const struct gw__messenger_zmq *zmq,
                   const struct gw__message_out *message)
{
    const struct gw__messenger_zmq_peer *peer = &zmq->peers[message->node];
    return zmq->local_fd >= 0 && peer->local == GW__MESSENGER_LOCAL_OPEN &&
           peer->waiting == 0 &&
           gw__message_out_bytes(message) <= GW__MESSENGER_LOCAL_BYTES;
}

bool gw__messenger_local_send(struct gw__messenger_zmq *zmq,
                              const struct gw__message_out *out,
                              const struct gw__messenger_head *head)
{
    struct gw__messenger_zmq_peer *peer = &zmq->peers[out->node];
    struct gw__messenger_head sealed = *head;
    struct sockaddr_un place;
    struct iovec vectors[1 + GW__MESSENGER_PARTS] = {{&sealed, sizeof sealed}};
    if (!may_go(zmq, out))
        return false;
    for (unsigned i = 0; i < out->part_count; i++)
        vectors[1 + i] =
            (struct iovec){.iov_base = (void *)(uintptr_t)out->parts[i].data,
                           .iov_len = out->parts[i].bytes};
    struct msghdr message = {.msg_name = &place,
                             .msg_namelen = name_place(peer->endpoint, &place),
                             .msg_iov = vectors,
                             .msg_iovlen = 1 + out->part_count};
    gw__messenger_head_seal(&sealed, &sealed);
    return sendmsg(zmq->local_fd, &message, MSG_NOSIGNAL) >= 0;
}

/* ---- receiving ---- */

static bool is_of_this_user(struct msghdr *message)
{
    const struct cmsghdr *extra = CMSG_FIRSTHDR(message);
    struct ucred who;
    if (!extra || extra->cmsg_level != SOL_SOCKET ||
        extra->cmsg_type != SCM_CREDENTIALS)
        return false;
    memcpy(&who, CMSG_DATA(extra), sizeof who);
    return who.uid == getuid();
}

static struct gw__messenger_zmq_message *
unpack(const struct gw__messenger_zmq *zmq, size_t bytes)
{
    struct gw__messenger_head head;
    const unsigned char *from = zmq->local_message + sizeof head;
    if (bytes < sizeof head ||
        gw__messenger_head_read(zmq->local_message, sizeof head, &zmq->mine,
                                &head, NULL))
        return NULL;
    size_t left = bytes - sizeof head, room = 0;
    for (unsigned i = 0; i < head.part_count; i++) {
        if (head.bytes[i] > left)
            return NULL;
        left -= head.bytes[i];
        room += gw__messenger_padded(head.bytes[i]);
    }
    struct gw__messenger_zmq_message *message =
        left == 0 ? gw__messenger_zmq_message_new(&head, room) : NULL;
    if (!message)
        return NULL;
    message->local = true;
    unsigned char *to = message->copies;
    for (unsigned i = 0; i < head.part_count; i++) {
        size_t part = head.bytes[i];
        message->base.in.parts[i] = (struct gw__messenger_part){to, part};
        message->base.bytes += part;
        memcpy(to, from, part);
        to += gw__messenger_padded(part);
        from += part;
    }
    return message;
}

enum gw__arrival
gw__messenger_local_read(struct gw__messenger_zmq *zmq,
                         struct gw__messenger_zmq_message **read)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } extra;
    struct iovec vector = {zmq->local_message, MESSAGE_BYTES};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &extra,
                             .msg_controllen = sizeof extra};
    if (!gw__messenger_local_is_read(zmq))
        return GW__ARRIVAL_NONE;
    ssize_t bytes = recvmsg(zmq->local_fd, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return GW__ARRIVAL_NONE;
    bool good = !(message.msg_flags & MSG_TRUNC) && is_of_this_user(&message);
    *read = good ? unpack(zmq, (size_t)bytes) : NULL;
    if (*read)
        return GW__ARRIVAL_MESSAGE;
    zmq->messenger.counts.dropped++;
    return GW__ARRIVAL_REFUSED;
}
