/* SPDX-License-Identifier: MIT
 *
 * The communicator of the library that belongs to an intracommunicator of MPI.
 * It is an attribute of MPI's, and freed with it. The one of all ranks is made
 * by MPI_Init, others by their fourth blocking collective: connecting ranks
 * takes some milliseconds, which a short-lived communicator does not repay.
 *
 * All ranks make the same decisions, because they depend only on facts that are
 * equal on all ranks: the sequence of collectives on the communicator, and the
 * agreement in gw__mpi_comm_open.
 */
#ifndef GW__MPI_COMMUNICATOR_H
#define GW__MPI_COMMUNICATOR_H

#include <gradwire/coll.h>

#include <mpi.h>
#include <pthread.h>

struct gw__mpi_operation; /* operation.h */
struct gw__mpi_repeated;  /* repeated.h */

struct gw__mpi_comm {
    struct gw_comm *comm; /* NULL: calls fall through */
    MPI_Comm mpi;
    int rank, size;
    unsigned calls; /* blocking, before the decision */
    bool decided;
    pthread_mutex_t lock; /* of everything below, and of `comm` */
    struct gw__mpi_operation *idle;
    struct gw__mpi_repeated *repeated; /* by kind; NULL: none */
    unsigned pending;                  /* non-blocking calls */
    bool freed; /* MPI has freed its communicator; `mpi` is void */
    struct gw__mpi_comm *next;
};

/* Returns the communicator for a call, or NULL: the call falls through. With
 * `create` a missing one is made: a collective call, which waits for all
 * ranks. */
struct gw__mpi_comm *gw__mpi_comm_find(MPI_Comm mpi, bool create);
/* Returns the communicator of the newest call, if it is that of MPI's, or NULL:
 * it must be found. For programs that call MPI from one thread at a time. */
struct gw__mpi_comm *gw__mpi_comm_newest(MPI_Comm mpi);
bool gw__mpi_comm_is_newest(const struct gw__mpi_comm *c);
/* Reports an error of the library to the error handler of the communicator,
 * and returns the code for the caller of MPI. */
int gw__mpi_comm_fail(const struct gw__mpi_comm *c, const char *name,
                      enum gw_err err);
/* Begins a non-blocking call, which ends with gw__mpi_comm_release. */
void gw__mpi_comm_retain(struct gw__mpi_comm *c);
/* Ends a non-blocking call: frees the communicator if MPI has freed its own in
 * the meantime. */
void gw__mpi_comm_release(struct gw__mpi_comm *c);
/* Closes all communicators of the library; calls fall through from now on. */
void gw__mpi_comm_close_all(void);

/* A communicator of this process alone, for the handles of requests. It returns
 * errors. */
MPI_Comm gw__mpi_self(void);
/* The largest tag. */
int gw__mpi_unused_tag(void);

#endif
