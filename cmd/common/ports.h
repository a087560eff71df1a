/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ports on loopback for controllers. They communicate over TCP by addresses
 * that all of them know before any has started, and a restarted one returns to
 * its own. Each port is held meanwhile, so that the kernel assigns it to no
 * other process: a socket is bound to it and never listens, with SO_REUSEADDR,
 * which the controller's socket has, too. socket(7): both may then be bound.
 */
#ifndef PORTS_H
#define PORTS_H

#include <gradwire/gradwire.h>

enum { PORTS_MAX = 5 };

struct ports {
    unsigned count;
    int fds[PORTS_MAX];
};

/* `count` of them, all different: "127.0.0.1:PORT" each. They must be released
 * on failure, too. */
GW_MUST_CHECK enum gw_err ports_hold(struct ports *ports, char raft[][32],
                                     unsigned count, struct gw_error *why);
void ports_let_go(struct ports *ports);

#endif
