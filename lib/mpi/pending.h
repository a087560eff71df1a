/* SPDX-License-Identifier: MIT
 *
 * Non-blocking calls. The handle that the user receives is a request of the
 * MPI: a receive of no bytes from this process itself, on a communicator of its
 * own. When the call of the library is done, the message is sent. So every
 * function of MPI that completes requests works as it is, with any mix of
 * handles; those of complete.c only make the library progress.
 *
 * A thread makes progress while the program computes or waits elsewhere in the
 * MPI. It calls only the library, never the MPI, so that it needs no level of
 * thread support.
 */
#ifndef GW__MPI_PENDING_H
#define GW__MPI_PENDING_H

#include "call.h"
#include "communicator.h"

/* Returns the tag of a new handle. */
int gw__mpi_new_tag(void);
/* Starts a call that has been taken and whose handle has the tag. Returns a
 * code of MPI. */
int gw__mpi_start(struct gw__mpi_comm *c, const struct gw__mpi_call *call,
                  int tag);
/* Starts it with a new handle. */
int gw__mpi_start_new(struct gw__mpi_comm *c, const struct gw__mpi_call *call,
                      MPI_Request *request);
/* Returns whether calls are pending. */
bool gw__mpi_is_pending(void);
/* Makes progress, and completes the handles of calls that are done. Returns the
 * code of the first one that failed. */
int gw__mpi_progress(void);
/* Stops the thread. */
void gw__mpi_pending_fini(void);

#endif
