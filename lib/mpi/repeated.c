/* SPDX-License-Identifier: MIT
 *
 * See repeated.h. Whether a call is valid, and how it is prepared, depends on
 * its arguments, and of the buffers only on their class.
 */
#include "repeated.h"

#include "trace.h"

#include <stdlib.h>

/* The buffers that are missing, in place, or the same. */
static unsigned class_of(const struct gw__mpi_call *call)
{
    return (unsigned)!call->in | (unsigned)(call->in == MPI_IN_PLACE) << 1 |
           (unsigned)!call->out << 2 |
           (unsigned)(call->out == MPI_IN_PLACE) << 3 |
           (unsigned)(call->in == call->out) << 4;
}

static bool same_shape(const struct gw__mpi_shape *a,
                       const struct gw__mpi_shape *b)
{
    return a->count == b->count && a->type == b->type && !b->counts;
}

/* The library uses only buffers of MPI's own types as they are, and it has only
 * MPI's own operations. So no handle of the call can be freed. */
static bool is_repeatable(const struct gw__mpi_operation *o)
{
    const struct gw_call *call = &o->call;
    return !o->finish && !call->counts && !call->recv_counts &&
           (call->in == o->mpi.in || call->in == GW_IN_PLACE || !call->in) &&
           (call->out == o->mpi.out || !call->out);
}

void gw__mpi_repeated_keep(const struct gw__mpi_operation *o)
{
    struct gw__mpi_comm *c = o->comm;
    if (!gw__mpi_comm_is_newest(c) || gw__mpi_trace_is_on() ||
        !is_repeatable(o))
        return;
    if (!c->repeated)
        c->repeated = calloc(GW__MPI_KIND_COUNT, sizeof *c->repeated);
    if (!c->repeated) /* the next call is prepared again */
        return;
    c->repeated[o->mpi.kind] = (struct gw__mpi_repeated){
        .used = true,
        .takes_in = o->call.in == o->mpi.in,
        .takes_out = o->call.out == o->mpi.out,
        .mpi = o->mpi,
        .call = o->call,
    };
}

const struct gw_call *gw__mpi_repeated_find(const struct gw__mpi_comm *c,
                                            const struct gw__mpi_call *mpi)
{
    if (!c->repeated)
        return NULL;
    struct gw__mpi_repeated *kept = &c->repeated[mpi->kind];
    if (!kept->used || !same_shape(&kept->mpi.send, &mpi->send) ||
        !same_shape(&kept->mpi.recv, &mpi->recv) || kept->mpi.op != mpi->op ||
        kept->mpi.root != mpi->root || class_of(&kept->mpi) != class_of(mpi))
        return NULL;
    if (kept->takes_in)
        kept->call.in = mpi->in;
    if (kept->takes_out)
        kept->call.out = mpi->out;
    return &kept->call;
}
