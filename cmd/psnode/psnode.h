/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The commands of psnode, one file each, or one family of files. main.c lists
 * them.
 */
#ifndef PSNODE_H
#define PSNODE_H

#include "common/command.h"

#include <gradwire/ring.h>

extern const struct command command_train, command_bench, command_controller,
    command_server, command_worker, command_snapshot, command_restore,
    command_key, command_sim, command_actors;

/* Numbers of nodes in a cluster without a supervisor. Workers and servers get
 * theirs from the controllers, or choose one. */
enum {
    CONTROLLER_NODES = GW_RING_CONTROLLER, /* of controller 0; the others count
                                              down */
    OBSERVER_NODES = CONTROLLER_NODES - GW_RING_CONTROLLERS, /* likewise */
    AGGREGATOR_NODES = 53, /* of a benchmark */
    SERVER_NODES = 32      /* of server 0; the others count up */
};

/* A new directory in $TMPDIR, or /tmp; it is removed also when a library ends
 * the process by SIGABRT. False: errno is set, and `directory` is "". */
bool directory_make(char *directory, size_t room);
/* Removes a directory of this tool's own, which holds files only. */
void directory_remove(const char *directory);

#endif
