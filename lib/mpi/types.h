/* SPDX-License-Identifier: MIT
 *
 * MPI's types and operations as those of the library.
 */
#ifndef GW__MPI_TYPES_H
#define GW__MPI_TYPES_H

#include <gradwire/coll.h>

#include <mpi.h>

/* Bytes of `count` elements in memory, from the first to the last. */
struct gw__mpi_extent {
    size_t bytes;  /* of the data of one element */
    size_t stride; /* from one element to the next */
    size_t last;   /* from an element's address to the end of its data */
    bool dense;    /* the data is the memory: no gaps, in order */
    bool plain;    /* the memory begins at the address; elements do not
                      overlap */
};

struct gw__mpi_extent gw__mpi_extent(MPI_Datatype type);
/* Returns whether the type is one of MPI's own. */
bool gw__mpi_type_is_named(MPI_Datatype type);
/* Returns whether the type has been committed. `self` returns errors. */
bool gw__mpi_type_is_committed(MPI_Datatype type, MPI_Comm self);

/* A reduction of the library that does the work of an operation of MPI on one
 * type: a complex number is `lanes` = 2 real ones. */
struct gw__mpi_reduction {
    enum gw_dtype type;
    enum gw_redop op;
    unsigned lanes;
};

/* Finds it. False: the library has none, and MPI_Reduce_local must do the
 * work. The answer depends on the arguments only, which are the same on all
 * ranks. */
bool gw__mpi_reduction_find(MPI_Datatype type, MPI_Op op,
                            struct gw__mpi_reduction *found);

/* Returns whether the operation is one of MPI's own. */
bool gw__mpi_op_is_predefined(MPI_Op op);
/* Returns whether MPI defines its own operation for one of its own types. */
bool gw__mpi_op_is_defined(MPI_Datatype type, MPI_Op op);

#endif
