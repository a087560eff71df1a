/* SPDX-License-Identifier: MIT
 *
 * Ranks as threads of a test: each with its own communicator over a real wire.
 */
#ifndef RANKS_H
#define RANKS_H

#include <gradwire/gradwire.h>

typedef void (*rank_body)(struct gw_comm *comm, void *context);

/* Runs `body` on `ranks` threads and returns when all have ended. Fails the
 * test when a communicator cannot be made. `config` (may be NULL) gives wire,
 * timeouts and so on; rank, size and rendezvous are filled in. */
void run_ranks(const struct gw_comm_config *config, unsigned ranks,
               rank_body body, void *context);

#endif
