/* SPDX-License-Identifier: MIT
 *
 * Calls that move data. All of them move bytes: only the number of bytes of a
 * block must be equal on its two ranks, not its types.
 *
 * Of a gatherv only the root knows all counts, and of a scatterv, too, so both
 * are an alltoallv whose other blocks are empty. The displacements of an
 * allgatherv may differ between ranks, but the windows of the library rely on
 * equal ones, so that blocks which do not follow each other are received in a
 * copy.
 */
#include "packing.h"

#include <string.h>

static bool is_root(const struct gw__mpi_operation *o)
{
    return o->mpi.root == o->comm->rank;
}

/* ---- results ---- */

static struct gw__mpi_side recv_side(const struct gw__mpi_operation *o)
{
    enum gw__mpi_kind kind = o->mpi.kind;
    bool one = kind == GW__MPI_BCAST || kind == GW__MPI_SCATTER ||
               kind == GW__MPI_SCATTERV;
    return gw__mpi_side(o->mpi.out, o->mpi.recv, one ? 1 : o->comm->size);
}

static struct gw__mpi_side send_side(const struct gw__mpi_operation *o)
{
    enum gw__mpi_kind kind = o->mpi.kind;
    bool all = kind == GW__MPI_SCATTER || kind == GW__MPI_SCATTERV ||
               kind == GW__MPI_ALLTOALL || kind == GW__MPI_ALLTOALLV;
    return gw__mpi_side(o->mpi.in, o->mpi.send, all ? o->comm->size : 1);
}

static int finish_move(struct gw__mpi_operation *o)
{
    const struct gw__mpi_side side = recv_side(o);
    return gw__mpi_copy_back(&side, o->out.data, gw__mpi_self());
}

static size_t all_bytes(const struct gw__mpi_side *side)
{
    size_t bytes = 0;
    for (int b = 0; b < side->blocks; b++)
        bytes += gw__mpi_block_bytes(side, b);
    return bytes;
}

static void keep_row(const int **row, int *kept, int blocks)
{
    if (*row)
        memcpy(kept, *row, (size_t)blocks * sizeof *kept);
    *row = *row ? kept : NULL;
}

/* Receives into the buffer, or into a copy that is unpacked afterwards. */
static bool set_out(struct gw__mpi_operation *o,
                    const struct gw__mpi_side *side, bool direct)
{
    o->call.out = direct ? side->base : gw__mpi_room(&o->out, all_bytes(side));
    if (direct)
        return true;
    o->finish = finish_move;
    keep_row(&o->mpi.recv.counts, o->kept, side->blocks);
    keep_row(&o->mpi.recv.displs, o->kept + side->blocks, side->blocks);
    return o->call.out;
}

/* Sends blocks `first` to `end` of a side: from the buffer, or from a copy. */
static bool set_in(struct gw__mpi_operation *o, const struct gw__mpi_side *side,
                   int first, int end, bool direct)
{
    o->call.in = direct
                     ? side->base
                     : gw__mpi_pack(&o->in, side, first, end, gw__mpi_self());
    return direct || o->call.in;
}

/* ---- calls with blocks of one length ---- */

static bool prepare_broadcast(struct gw__mpi_operation *o)
{
    const struct gw__mpi_side side = recv_side(o);
    bool direct = gw__mpi_is_direct(&side);
    o->call.collective = GW_BROADCAST;
    o->call.count = gw__mpi_block_bytes(&side, 0);
    if (!is_root(o))
        return set_out(o, &side, direct);
    o->call.in = GW_IN_PLACE;
    o->call.out = side.base;
    if (direct)
        return true;
    o->call.out = NULL;
    return set_in(o, &side, 0, 1, false);
}

/* The own block of a gather or all-gather. In place it is in the result. */
static bool set_own_block(struct gw__mpi_operation *o,
                          const struct gw__mpi_side *recv, bool recv_direct)
{
    int rank = o->comm->rank;
    if (o->mpi.in == MPI_IN_PLACE && recv_direct) {
        o->call.in = GW_IN_PLACE;
        return true;
    }
    if (o->mpi.in == MPI_IN_PLACE)
        return set_in(o, recv, rank, rank + 1, false);
    const struct gw__mpi_side send = send_side(o);
    return set_in(o, &send, 0, 1, gw__mpi_is_direct(&send));
}

static bool prepare_gather(struct gw__mpi_operation *o)
{
    o->call.collective =
        o->mpi.kind == GW__MPI_GATHER ? GW_GATHER : GW_ALLGATHER;
    if (o->mpi.kind == GW__MPI_GATHER && !is_root(o)) {
        const struct gw__mpi_side send = send_side(o);
        o->call.count = gw__mpi_block_bytes(&send, 0);
        return set_in(o, &send, 0, 1, gw__mpi_is_direct(&send));
    }
    const struct gw__mpi_side recv = recv_side(o);
    bool direct = gw__mpi_is_direct(&recv);
    o->call.count = gw__mpi_block_bytes(&recv, 0);
    return set_own_block(o, &recv, direct) && set_out(o, &recv, direct);
}

static bool prepare_scatter(struct gw__mpi_operation *o)
{
    o->call.collective = GW_SCATTER;
    if (is_root(o)) {
        const struct gw__mpi_side send = send_side(o);
        o->call.count = gw__mpi_block_bytes(&send, 0);
        if (!set_in(o, &send, 0, send.blocks, gw__mpi_is_direct(&send)))
            return false;
        if (o->mpi.out == MPI_IN_PLACE) { /* the own block stays */
            o->call.out = gw__mpi_room(&o->out, o->call.count);
            return o->call.out;
        }
    }
    const struct gw__mpi_side recv = recv_side(o);
    o->call.count = gw__mpi_block_bytes(&recv, 0);
    return set_out(o, &recv, gw__mpi_is_direct(&recv));
}

static bool prepare_all_to_all(struct gw__mpi_operation *o)
{
    const struct gw__mpi_side recv = recv_side(o);
    bool direct = gw__mpi_is_direct(&recv);
    o->call.collective = GW_ALLTOALL;
    o->call.count = gw__mpi_block_bytes(&recv, 0);
    if (!set_out(o, &recv, direct))
        return false;
    if (o->mpi.in == MPI_IN_PLACE && direct) {
        o->call.in = GW_IN_PLACE;
        return true;
    }
    const struct gw__mpi_side send =
        o->mpi.in == MPI_IN_PLACE ? recv : send_side(o);
    return set_in(o, &send, 0, send.blocks, gw__mpi_is_direct(&send));
}

/* ---- calls with blocks of several lengths ---- */

enum { SEND, SEND_AT, RECV, RECV_AT }; /* rows of `counts` */

static size_t *row(const struct gw__mpi_operation *o, int which)
{
    return o->counts + (size_t)which * (size_t)o->comm->size;
}

static bool prepare_allgatherv(struct gw__mpi_operation *o)
{
    const struct gw__mpi_side recv = recv_side(o);
    bool direct = gw__mpi_is_direct(&recv) && gw__mpi_is_consecutive(&recv);
    for (int b = 0; b < recv.blocks; b++)
        row(o, RECV)[b] = gw__mpi_block_bytes(&recv, b);
    o->call.collective = GW_ALLGATHER;
    o->call.counts = row(o, RECV);
    return set_own_block(o, &recv, direct) && set_out(o, &recv, direct);
}

/* Lengths and places of all blocks; in a copy they have no gaps. */
static void fill_rows(const struct gw__mpi_side *side, bool direct,
                      size_t *bytes, size_t *at)
{
    size_t end = 0;
    for (int b = 0; b < side->blocks; b++) {
        bytes[b] = gw__mpi_block_bytes(side, b);
        at[b] = !direct    ? end
                : bytes[b] ? (size_t)gw__mpi_block_at(side, b)
                           : 0;
        end += bytes[b];
    }
}

static bool set_send_rows(struct gw__mpi_operation *o,
                          const struct gw__mpi_side *send, bool direct)
{
    if (send->blocks > 1)
        fill_rows(send, direct, row(o, SEND), row(o, SEND_AT));
    else
        row(o, SEND)[o->mpi.root] = gw__mpi_block_bytes(send, 0);
    return set_in(o, send, 0, send->blocks, direct);
}

static bool set_recv_rows(struct gw__mpi_operation *o,
                          const struct gw__mpi_side *recv, bool direct)
{
    if (recv->blocks > 1)
        fill_rows(recv, direct, row(o, RECV), row(o, RECV_AT));
    else
        row(o, RECV)[o->mpi.root] = gw__mpi_block_bytes(recv, 0);
    return set_out(o, recv, direct);
}

/* No rank has a block for itself: it is in place. */
static void skip_own_block(struct gw__mpi_operation *o)
{
    row(o, SEND)[o->comm->rank] = row(o, RECV)[o->comm->rank] = 0;
}

static void begin_rows(struct gw__mpi_operation *o)
{
    for (int i = 0; i < 4 * o->comm->size; i++)
        o->counts[i] = 0;
    o->call.collective = GW_ALLTOALL;
    o->call.counts = row(o, SEND);
    o->call.displs = row(o, SEND_AT);
    o->call.recv_counts = row(o, RECV);
    o->call.recv_displs = row(o, RECV_AT);
}

static bool prepare_gatherv(struct gw__mpi_operation *o)
{
    begin_rows(o);
    bool in_place = is_root(o) && o->mpi.in == MPI_IN_PLACE;
    if (!in_place) {
        const struct gw__mpi_side send = send_side(o);
        if (!set_send_rows(o, &send, gw__mpi_is_direct(&send)))
            return false;
    }
    if (!is_root(o))
        return true;
    const struct gw__mpi_side recv = recv_side(o);
    int rank = o->comm->rank;
    bool direct = gw__mpi_is_direct(&recv);
    if (!set_recv_rows(o, &recv, direct))
        return false;
    if (in_place && direct)
        skip_own_block(o);
    else if (in_place) {
        row(o, SEND)[rank] = gw__mpi_block_bytes(&recv, rank);
        return set_in(o, &recv, rank, rank + 1, false);
    }
    return true;
}

static bool prepare_scatterv(struct gw__mpi_operation *o)
{
    begin_rows(o);
    if (is_root(o)) {
        const struct gw__mpi_side send = send_side(o);
        if (!set_send_rows(o, &send, gw__mpi_is_direct(&send)))
            return false;
        if (o->mpi.out == MPI_IN_PLACE) {
            skip_own_block(o);
            return true;
        }
    }
    const struct gw__mpi_side recv = recv_side(o);
    return set_recv_rows(o, &recv, gw__mpi_is_direct(&recv));
}

static bool prepare_alltoallv(struct gw__mpi_operation *o)
{
    const struct gw__mpi_side recv = recv_side(o);
    bool in_place = o->mpi.in == MPI_IN_PLACE;
    const struct gw__mpi_side send = in_place ? recv : send_side(o);
    bool recv_direct = gw__mpi_is_direct(&recv);
    bool send_direct = gw__mpi_is_direct(&send) && !in_place &&
                       !(recv_direct && gw__mpi_overlap(&send, &recv));
    begin_rows(o);
    return set_send_rows(o, &send, send_direct) &&
           set_recv_rows(o, &recv, recv_direct);
}

bool gw__mpi_prepare_move(struct gw__mpi_operation *o)
{
    o->call.type = GW_U8;
    o->call.root = gw__mpi_rooted(o->mpi.kind) ? (unsigned)o->mpi.root : 0;
    switch (o->mpi.kind) {
    case GW__MPI_BCAST:
        return prepare_broadcast(o);
    case GW__MPI_GATHER:
    case GW__MPI_ALLGATHER:
        return prepare_gather(o);
    case GW__MPI_SCATTER:
        return prepare_scatter(o);
    case GW__MPI_ALLTOALL:
        return prepare_all_to_all(o);
    case GW__MPI_ALLGATHERV:
        return prepare_allgatherv(o);
    case GW__MPI_GATHERV:
        return prepare_gatherv(o);
    case GW__MPI_SCATTERV:
        return prepare_scatterv(o);
    default:
        return prepare_alltoallv(o);
    }
}
