/* SPDX-License-Identifier: MIT
 *
 * Finds the owner of a loopback connection: see peer_user.h. Both ends of such
 * a connection are in the kernel's table of TCP sockets, the other end with the
 * two addresses swapped. The table stores the user of each socket and is
 * queried for one entry, whatever its size.
 *
 * The caller has only the number of a descriptor of another thread. It may be
 * closed already and the number reused. So it is first duplicated, by one
 * system call, onto a descriptor of our own, and all further calls use the
 * duplicate. It is examined only if it is TCP, over loopback, and its local
 * port is the listening one, which no outgoing connection has. Its two ends are
 * looked up, and shutdown is called on the duplicate. So no unrelated
 * connection is harmed, whatever the number refers to now. The duplicate
 * replaces an open descriptor, so a peer that exhausts the descriptors does not
 * escape. It is closed at once, since a connection lives as long as its last
 * descriptor.
 *
 * A connection whose other end has no owner is cut off, too. Either its process
 * has closed it (data that arrived before is still read), or it was never on
 * this host, since address translation lets other hosts in to loopback. On
 * older kernels a socket without a process has user 0, hence the check of its
 * inode. If our own end is not in the table either, nothing can be concluded:
 * the connection is over, or the kernel has no such table.
 *
 * Data that a foreign process has sent until then has been read: as much as
 * passes in the moment between two threads and fits the socket's buffer. That
 * bounds memory, but it may be a whole message. Where no other user may send
 * anything at all, a key is needed.
 */
#include "peer_user.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum gw_err gw__peers_open(struct gw__peers *peers, struct gw_error *why)
{
    *peers = (struct gw__peers){-1, -1};
    int table = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (table < 0)
        return GW_OK;
    int hand = fcntl(table, F_DUPFD_CLOEXEC, 0);
    if (hand < 0) {
        close(table);
        return gw_fail_errno(why, "a descriptor");
    }
    *peers = (struct gw__peers){table, hand};
    return GW_OK;
}

void gw__peers_close(struct gw__peers *peers)
{
    if (peers->table >= 0) {
        close(peers->table);
        close(peers->hand);
    }
    *peers = (struct gw__peers){-1, -1};
}

/* The kernel answers before send returns. It may return the listening socket
 * instead, which has no other end. */
bool gw__peers_find(const struct gw__peers *peers, int family,
                    const struct inet_diag_sockid *ends, uid_t *user)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } question = {.head = {.nlmsg_len = sizeof question,
                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                           .nlmsg_flags = NLM_F_REQUEST},
                  .request = {.sdiag_family = (uint8_t)family,
                              .sdiag_protocol = IPPROTO_TCP,
                              .idiag_states = UINT32_MAX,
                              .id = *ends}};
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg found;
    } answer; /* the rest is truncated */
    if (send(peers->table, &question, sizeof question, 0) !=
            (ssize_t)sizeof question ||
        recv(peers->table, &answer, sizeof answer, MSG_DONTWAIT) !=
            (ssize_t)sizeof answer ||
        answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        answer.found.id.idiag_sport != ends->idiag_sport ||
        answer.found.id.idiag_dport != ends->idiag_dport)
        return false;
    *user = answer.found.idiag_uid;
    return *user != 0 || answer.found.idiag_inode != 0;
}

/* ---- a connection ---- */

static bool read_end(const struct sockaddr_storage *end, uint32_t address[4],
                     uint16_t *port)
{
    const struct sockaddr_in *four = (const void *)end;
    const struct sockaddr_in6 *six = (const void *)end;
    if (end->ss_family == AF_INET)
        memcpy(address, &four->sin_addr, sizeof four->sin_addr);
    else if (end->ss_family == AF_INET6)
        memcpy(address, &six->sin6_addr, sizeof six->sin6_addr);
    else
        return false;
    *port = end->ss_family == AF_INET ? four->sin_port : six->sin6_port;
    return true;
}

static bool read_ends(int socket, int *family, struct inet_diag_sockid *ends)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC}, other = own;
    socklen_t own_size = sizeof own, other_size = sizeof other;
    int protocol;
    socklen_t size = sizeof protocol;
    *ends = (struct inet_diag_sockid){
        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
    if (getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 ||
        protocol != IPPROTO_TCP ||
        getsockname(socket, (void *)&own, &own_size) != 0 ||
        getpeername(socket, (void *)&other, &other_size) != 0)
        return false;
    *family = own.ss_family;
    return read_end(&own, ends->idiag_src, &ends->idiag_sport) &&
           read_end(&other, ends->idiag_dst, &ends->idiag_dport);
}

static bool is_loopback(int family, const uint32_t address[4])
{
    struct in6_addr six;
    memcpy(&six, address, sizeof six);
    if (family == AF_INET)
        return six.s6_addr[0] == 127;
    return IN6_IS_ADDR_LOOPBACK(&six) ||
           (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

static struct inet_diag_sockid swapped(struct inet_diag_sockid ends)
{
    struct inet_diag_sockid other = ends;
    memcpy(other.idiag_src, ends.idiag_dst, sizeof other.idiag_src);
    memcpy(other.idiag_dst, ends.idiag_src, sizeof other.idiag_dst);
    other.idiag_sport = ends.idiag_dport;
    other.idiag_dport = ends.idiag_sport;
    return other;
}

static enum gw__peer check_owner(const struct gw__peers *peers, int socket,
                                 unsigned port, uid_t *user)
{
    struct inet_diag_sockid own, other;
    uid_t me;
    int family;
    if (!read_ends(socket, &family, &own) || ntohs(own.idiag_sport) != port ||
        !is_loopback(family, own.idiag_src))
        return GW__PEER_ONE_OF_US;
    other = swapped(own);
    if (gw__peers_find(peers, family, &other, user))
        return *user == 0 || *user == geteuid() ? GW__PEER_ONE_OF_US
                                                : GW__PEER_OTHER_USER;
    return gw__peers_find(peers, family, &own, &me) ? GW__PEER_GONE
                                                    : GW__PEER_ONE_OF_US;
}

enum gw__peer gw__peers_receive(struct gw__peers *peers, int descriptor,
                                unsigned port, uid_t *user)
{
    if (peers->table < 0 || dup3(descriptor, peers->hand, O_CLOEXEC) < 0)
        return GW__PEER_ONE_OF_US;
    enum gw__peer who = check_owner(peers, peers->hand, port, user);
    if (who != GW__PEER_ONE_OF_US)
        shutdown(peers->hand, SHUT_RDWR);
    dup3(peers->table, peers->hand, O_CLOEXEC);
    return who;
}
