/* SPDX-License-Identifier: MIT
 *
 * Taking a call, and running it.
 */
#ifndef GW__MPI_RUN_H
#define GW__MPI_RUN_H

#include "call.h"
#include "communicator.h"

/* Returns the communicator that takes the call, or NULL: it falls through to
 * the MPI. `later`: of a non-blocking or persistent call, which must not wait
 * for other ranks. */
struct gw__mpi_comm *gw__mpi_take(struct gw__mpi_call *call, bool later);
/* Runs a call that repeats an earlier one (repeated.h), and sets *code. False:
 * it does not; nothing has happened. */
bool gw__mpi_run_again(const struct gw__mpi_call *call, int *code);
/* Runs a call that has been taken. Returns a code of MPI. */
int gw__mpi_run(struct gw__mpi_comm *c, const struct gw__mpi_call *call);

#endif
