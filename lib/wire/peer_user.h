/* SPDX-License-Identifier: MIT
 *
 * The user of the process at the other end of a TCP connection over loopback. A
 * port without a key is open to its own user, as an ipc path is, and to root.
 */
#ifndef GW__PEER_USER_H
#define GW__PEER_USER_H

#include <gradwire/base.h>

#include <linux/inet_diag.h>
#include <sys/types.h>

struct gw__peers {
    int table; /* sock_diag(7), the kernel's table of TCP sockets; -1: none */
    int hand;  /* duplicates a connection while it is examined */
};

enum { GW__PEERS_FILES = 2 }; /* opened by it */

enum gw__peer {
    GW__PEER_ONE_OF_US, /* or it cannot be known */
    GW__PEER_OTHER_USER,
    GW__PEER_GONE /* no process of this host has that end (any more) */
};

/* A kernel without the table is not an error: all peers are accepted then. */
GW_MUST_CHECK enum gw_err gw__peers_open(struct gw__peers *peers,
                                         struct gw_error *why);
void gw__peers_close(struct gw__peers *peers);

/* Finds the user of the socket with these ends, its own end first. False: there
 * is no such socket, or no process has it. */
bool gw__peers_find(const struct gw__peers *peers, int family,
                    const struct inet_diag_sockid *ends, uid_t *user);

/* Checks the connection that `port` accepted as this descriptor, which may be
 * closed already or reused. A peer that is foreign or gone is cut off; `user`
 * is set for a foreign one. */
enum gw__peer gw__peers_receive(struct gw__peers *peers, int descriptor,
                                unsigned port, uid_t *user);

#endif
