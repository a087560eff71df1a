/* SPDX-License-Identifier: MIT
 *
 * A call of MPI as one call of the library, with the copies before it (types
 * with gaps, inputs that would be overwritten) and after it (the same, and the
 * reductions that only MPI_Reduce_local can do).
 */
#ifndef GW__MPI_OPERATION_H
#define GW__MPI_OPERATION_H

#include "call.h"
#include "communicator.h"
#include "types.h"

/* Memory that an operation keeps for the next call. */
struct gw__mpi_memory {
    unsigned char *data;
    size_t room;
};

struct gw__mpi_operation {
    struct gw__mpi_comm *comm;
    struct gw__mpi_call mpi;
    struct gw_call call;
    struct gw_request *request;
    /* The own block of a rank's input or result, in or out of the buffer. */
    struct gw__mpi_memory in, out;
    size_t *counts; /* 4 per rank: of the call, in bytes */
    int *kept;      /* 2 per rank: of the result, because the user's arrays end
                       when a call has been started */
    size_t elems;   /* of a reduction's result on this rank */
    /* After the call: NULL, or completes the result. */
    int (*finish)(struct gw__mpi_operation *);
    struct gw__mpi_operation *next;
    /* non-blocking: see pending.h */
    enum gw_err err;
    bool ended;
    bool owns_type; /* of the result: a duplicate of a derived type */
    int tag;
};

/* Returns an operation that prepare has filled, or NULL: out of memory. The
 * lock of the communicator is held. */
struct gw__mpi_operation *
gw__mpi_operation_prepare(struct gw__mpi_comm *c,
                          const struct gw__mpi_call *call);
/* Ends it after the call is done: completes the result and keeps the memory
 * for the next one, with the lock held. Returns a code of MPI. */
int gw__mpi_operation_finish(struct gw__mpi_operation *o);
void gw__mpi_operation_recycle(struct gw__mpi_operation *o);
/* Frees a list. */
void gw__mpi_operations_free(struct gw__mpi_operation *first);

/* Returns room for `bytes`, or NULL. */
unsigned char *gw__mpi_room(struct gw__mpi_memory *memory, size_t bytes);

/* The preparation of calls that move data (move.c), and of reductions
 * (reduction.c). False: out of memory. */
bool gw__mpi_prepare_move(struct gw__mpi_operation *o);
bool gw__mpi_prepare_reduction(struct gw__mpi_operation *o);

/* Returns whether the reduction is done by gathering all inputs, and sets
 * *bytes to the memory that it takes. */
bool gw__mpi_gathers(const struct gw__mpi_call *call, int ranks, size_t *bytes);
/* Decides how the reduction is done. False: the library cannot do it. */
bool gw__mpi_take_reduction(struct gw__mpi_call *call, int ranks, bool later);

#endif
