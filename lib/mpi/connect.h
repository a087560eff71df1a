/* SPDX-License-Identifier: MIT
 *
 * Connecting the ranks of a communicator.
 */
#ifndef GW__MPI_CONNECT_H
#define GW__MPI_CONNECT_H

#include "communicator.h"

/* Returns the decision of all ranks: true if all have passed true. */
bool gw__mpi_agree(const struct gw__mpi_comm *c, bool own);
/* Makes c->comm, on all ranks or on none. */
void gw__mpi_connect(struct gw__mpi_comm *c);

#endif
