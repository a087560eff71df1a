/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ports on loopback for controllers, which speak to each other over TCP by
 * addresses that all of them know before any has begun; one that is restarted
 * comes back to its own. So that the kernel gives such a port to nobody else
 * meanwhile, it is held: by a socket that is bound and never listens, with
 * SO_REUSEADDR, as the controller's has, too. socket(7): then both may be
 * bound.
 */
#ifndef PORTS_H
#define PORTS_H

#include <gradwire/gradwire.h>

enum { PORTS_MAX = 5 };

struct ports {
    unsigned count;
    int fds[PORTS_MAX];
};

/* `count` of them, all different: "127.0.0.1:PORT" each. Whatever comes of it,
 * they are to be let go. */
GW_MUST_CHECK enum gw_err ports_hold(struct ports *ports, char raft[][32],
                                     unsigned count, struct gw_error *why);
void ports_let_go(struct ports *ports);

#endif
