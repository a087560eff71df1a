/* SPDX-License-Identifier: MIT
 *
 * Repeated calls: a loop calls the same collective with the same arguments
 * except for the buffers. Of each kind, a communicator keeps the newest call
 * that uses its buffers as they are. An equal one needs neither the checks nor
 * the preparation, which take longer than a small collective itself.
 *
 * There are no repeated calls with MPI_THREAD_MULTIPLE, where another thread may
 * free a communicator meanwhile, and none with a trace.
 */
#ifndef GW__MPI_REPEATED_H
#define GW__MPI_REPEATED_H

#include "operation.h"

struct gw__mpi_repeated {
    bool used;
    bool takes_in, takes_out; /* the buffers are those of the call of MPI */
    struct gw__mpi_call mpi;
    struct gw_call call;
};

/* Keeps the call of an operation that has run, if it may be repeated. */
void gw__mpi_repeated_keep(const struct gw__mpi_operation *o);
/* Returns the call of the library if `mpi` repeats a kept one, or NULL. It is
 * valid until the next call is kept. */
const struct gw_call *gw__mpi_repeated_find(const struct gw__mpi_comm *c,
                                            const struct gw__mpi_call *mpi);

#endif
