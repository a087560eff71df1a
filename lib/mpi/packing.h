/* SPDX-License-Identifier: MIT
 *
 * One side of a call: the blocks of a buffer that are sent to or received from
 * the ranks, and their copies without gaps.
 *
 * Types with gaps are packed on the rank that has them, so that a call never
 * falls through because of a type: a root may send columns of a matrix to ranks
 * that receive rows.
 */
#ifndef GW__MPI_PACKING_H
#define GW__MPI_PACKING_H

#include "operation.h"

struct gw__mpi_side {
    unsigned char *base;
    struct gw__mpi_shape shape;
    struct gw__mpi_extent extent;
    int blocks;
};

/* Returns the side of an operation; `blocks` of it. */
struct gw__mpi_side gw__mpi_side(const void *base, struct gw__mpi_shape shape,
                                 int blocks);
/* Returns the bytes of block `b`, without gaps. */
size_t gw__mpi_block_bytes(const struct gw__mpi_side *side, int b);
/* Returns where block `b` begins, in bytes from the base. */
ptrdiff_t gw__mpi_block_at(const struct gw__mpi_side *side, int b);
/* Returns whether the library can use the buffer as it is. */
bool gw__mpi_is_direct(const struct gw__mpi_side *side);
/* Returns whether the blocks follow each other, in order and without gaps. */
bool gw__mpi_is_consecutive(const struct gw__mpi_side *side);
/* Returns whether the memory from the first to the last block of two sides
 * overlaps; both are direct. */
bool gw__mpi_overlap(const struct gw__mpi_side *a,
                     const struct gw__mpi_side *b);
/* Copies blocks `first` to `end` into `memory`, without gaps. Returns the copy,
 * or NULL: out of memory. */
unsigned char *gw__mpi_pack(struct gw__mpi_memory *memory,
                            const struct gw__mpi_side *side, int first, int end,
                            MPI_Comm comm);
/* Copies all blocks back. Returns a code of MPI. */
int gw__mpi_copy_back(const struct gw__mpi_side *side,
                      const unsigned char *from, MPI_Comm comm);

#endif
