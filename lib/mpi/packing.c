/* SPDX-License-Identifier: MIT
 *
 * See packing.h. MPI_Pack counts bytes in an int, so that large blocks are
 * packed in pieces.
 */
#include "packing.h"

#include <string.h>

enum { BLOCK_BYTES = 1 << 26 };

struct gw__mpi_side gw__mpi_side(const void *base, struct gw__mpi_shape shape,
                                 int blocks)
{
    struct gw__mpi_side side = {
        .shape = shape, .extent = gw__mpi_extent(shape.type), .blocks = blocks};
    memcpy(&side.base, &base, sizeof base); /* the other side is written */
    return side;
}

static size_t block_elems(const struct gw__mpi_side *side, int b)
{
    return (size_t)(side->shape.counts ? side->shape.counts[b]
                                       : side->shape.count);
}

size_t gw__mpi_block_bytes(const struct gw__mpi_side *side, int b)
{
    return block_elems(side, b) * side->extent.bytes;
}

ptrdiff_t gw__mpi_block_at(const struct gw__mpi_side *side, int b)
{
    ptrdiff_t elems = side->shape.displs ? side->shape.displs[b]
                                         : (ptrdiff_t)side->shape.count * b;
    return elems * (ptrdiff_t)side->extent.stride;
}

bool gw__mpi_is_direct(const struct gw__mpi_side *side)
{
    for (int b = 0; side->shape.displs && b < side->blocks; b++)
        if (side->shape.displs[b] < 0)
            return false;
    return side->extent.dense;
}

bool gw__mpi_is_consecutive(const struct gw__mpi_side *side)
{
    ptrdiff_t at = 0;
    for (int b = 0; side->shape.displs && b < side->blocks; b++) {
        if (block_elems(side, b) > 0 && gw__mpi_block_at(side, b) != at)
            return false;
        at += (ptrdiff_t)gw__mpi_block_bytes(side, b);
    }
    return true;
}

static size_t span_of(const struct gw__mpi_side *side)
{
    size_t end = 0;
    for (int b = 0; b < side->blocks; b++) {
        size_t bytes = gw__mpi_block_bytes(side, b);
        size_t stop = (size_t)gw__mpi_block_at(side, b) + bytes;
        end = bytes > 0 && stop > end ? stop : end;
    }
    return end;
}

bool gw__mpi_overlap(const struct gw__mpi_side *a, const struct gw__mpi_side *b)
{
    uintptr_t at_a = (uintptr_t)a->base, at_b = (uintptr_t)b->base;
    return at_a < at_b + span_of(b) && at_b < at_a + span_of(a);
}

static void pack_block(const struct gw__mpi_side *side, int b,
                       unsigned char *to, MPI_Comm comm)
{
    const struct gw__mpi_extent *e = &side->extent;
    const unsigned char *from = side->base + gw__mpi_block_at(side, b);
    size_t left = block_elems(side, b);
    size_t most = e->bytes ? BLOCK_BYTES / e->bytes + 1 : left;
    while (left > 0) {
        size_t n = left < most ? left : most;
        int position = 0;
        PMPI_Pack(from, (int)n, side->shape.type, to, (int)(n * e->bytes),
                  &position, comm);
        from += (ptrdiff_t)n * (ptrdiff_t)e->stride;
        to += n * e->bytes;
        left -= n;
    }
}

static int unpack_block(const struct gw__mpi_side *side, int b,
                        const unsigned char *from, MPI_Comm comm)
{
    const struct gw__mpi_extent *e = &side->extent;
    unsigned char *to = side->base + gw__mpi_block_at(side, b);
    size_t left = block_elems(side, b);
    size_t most = e->bytes ? BLOCK_BYTES / e->bytes + 1 : left;
    int code = MPI_SUCCESS;
    while (left > 0 && code == MPI_SUCCESS) {
        size_t n = left < most ? left : most;
        int position = 0;
        code = PMPI_Unpack(from, (int)(n * e->bytes), &position, to, (int)n,
                           side->shape.type, comm);
        from += n * e->bytes;
        to += (ptrdiff_t)n * (ptrdiff_t)e->stride;
        left -= n;
    }
    return code;
}

unsigned char *gw__mpi_pack(struct gw__mpi_memory *memory,
                            const struct gw__mpi_side *side, int first, int end,
                            MPI_Comm comm)
{
    size_t bytes = 0;
    for (int b = first; b < end; b++)
        bytes += gw__mpi_block_bytes(side, b);
    unsigned char *to = gw__mpi_room(memory, bytes), *at = to;
    for (int b = first; to && b < end; b++) {
        size_t length = gw__mpi_block_bytes(side, b);
        if (side->extent.dense && length > 0)
            memcpy(at, side->base + gw__mpi_block_at(side, b), length);
        else if (length > 0)
            pack_block(side, b, at, comm);
        at += length;
    }
    return to;
}

int gw__mpi_copy_back(const struct gw__mpi_side *side,
                      const unsigned char *from, MPI_Comm comm)
{
    int code = MPI_SUCCESS;
    for (int b = 0; b < side->blocks && code == MPI_SUCCESS; b++) {
        size_t length = gw__mpi_block_bytes(side, b);
        if (side->extent.dense && length > 0)
            memcpy(side->base + gw__mpi_block_at(side, b), from, length);
        else if (length > 0)
            code = unpack_block(side, b, from, comm);
        from += length;
    }
    return code;
}
