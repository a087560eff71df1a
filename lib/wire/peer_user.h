/* SPDX-License-Identifier: MIT
 *
 * Whose process is at the other end of a TCP connection over loopback: a port
 * without a key is for its own user, as an ipc path is, and for root.
 */
#ifndef GW__PEER_USER_H
#define GW__PEER_USER_H

#include <gradwire/base.h>

#include <linux/inet_diag.h>
#include <sys/types.h>

struct gw__peers {
    int table; /* the kernel's, of all TCP sockets (sock_diag(7)); -1: none */
    int hand;  /* holds a connection while it is looked at */
};

enum { GW__PEERS_FILES = 2 }; /* that it opens */

enum gw__peer {
    GW__PEER_ONE_OF_US, /* or nobody can know */
    GW__PEER_FOREIGN,
    GW__PEER_GONE /* no process of this host has that end (any more) */
};

/* A kernel without the table is no error: then all are let in. */
GW_MUST_CHECK enum gw_err gw__peers_open(struct gw__peers *peers,
                                         struct gw_error *why);
void gw__peers_close(struct gw__peers *peers);

/* The user of the socket with these ends, its own first. False: there is none,
 * or no process has it. */
bool gw__peers_find(const struct gw__peers *peers, int family,
                    const struct inet_diag_sockid *ends, uid_t *user);

/* Who has come to `port` by this descriptor, which may be closed by now, or
 * another's. Whoever is not one of us is cut off; `user` is the foreign one. */
enum gw__peer gw__peers_receive(struct gw__peers *peers, int descriptor,
                                unsigned port, uid_t *user);

#endif
