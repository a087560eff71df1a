/* SPDX-License-Identifier: MIT
 *
 * Persistent collectives. Their handle is a persistent receive of no bytes from
 * this process itself (see pending.h). MPI_Start starts the receive, and the
 * call that belongs to it.
 */
#ifndef GW__MPI_PERSISTENT_H
#define GW__MPI_PERSISTENT_H

#include "call.h"
#include "communicator.h"

#if MPI_VERSION >= 4
#define GW__MPI_PERSISTENT(prefix, name) prefix##_##name
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define GW__MPI_PERSISTENT(prefix, name) prefix##X_##name
#endif
#endif

/* Makes the handle of a call that has been taken. */
int gw__mpi_persistent_new(struct gw__mpi_comm *c,
                           const struct gw__mpi_call *call,
                           MPI_Request *request);

#endif
