/* SPDX-License-Identifier: MIT
 *
 * The persistent collectives of MPI 4, and of Open MPI's extension before it.
 */
#include "persistent.h"
#include "run.h"

#include <gradwire/base.h>

#ifdef GW__MPI_PERSISTENT

GW_API int GW__MPI_PERSISTENT(MPI, Barrier_init)(MPI_Comm comm, MPI_Info info,
                                                 MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_BARRIER, .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Barrier_init)(comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Bcast_init)(void *buffer, int count,
                                               MPI_Datatype type, int root,
                                               MPI_Comm comm, MPI_Info info,
                                               MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_BCAST,
                                      .out = buffer,
                                      .recv = {.count = count, .type = type},
                                      .root = root,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Bcast_init)(buffer, count, type, root,
                                                    comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Reduce_init)(const void *in, void *out,
                                                int count, MPI_Datatype type,
                                                MPI_Op op, int root,
                                                MPI_Comm comm, MPI_Info info,
                                                MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .root = root,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Reduce_init)(in, out, count, type, op,
                                                     root, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Allreduce_init)(const void *in, void *out,
                                                   int count, MPI_Datatype type,
                                                   MPI_Op op, MPI_Comm comm,
                                                   MPI_Info info,
                                                   MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_ALLREDUCE,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Allreduce_init)(
                   in, out, count, type, op, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Scan_init)(const void *in, void *out,
                                              int count, MPI_Datatype type,
                                              MPI_Op op, MPI_Comm comm,
                                              MPI_Info info,
                                              MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_SCAN,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Scan_init)(in, out, count, type, op,
                                                   comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Exscan_init)(const void *in, void *out,
                                                int count, MPI_Datatype type,
                                                MPI_Op op, MPI_Comm comm,
                                                MPI_Info info,
                                                MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_EXSCAN,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Exscan_init)(in, out, count, type, op,
                                                     comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Reduce_scatter_block_init)(
    const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE_SCATTER_BLOCK,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Reduce_scatter_block_init)(
                   in, out, count, type, op, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Reduce_scatter_init)(
    const void *in, void *out, const int counts[], MPI_Datatype type, MPI_Op op,
    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE_SCATTER,
                                      .in = in,
                                      .out = out,
                                      .recv = {.counts = counts, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Reduce_scatter_init)(
                   in, out, counts, type, op, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Gather_init)(
    const void *in, int send_count, MPI_Datatype send_type, void *out,
    int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
    MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_GATHER,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .root = root,
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Gather_init)(in, send_count, send_type,
                                                     out, recv_count, recv_type,
                                                     root, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Gatherv_init)(
    const void *in, int send_count, MPI_Datatype send_type, void *out,
    const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type,
    int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_GATHERV,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.counts = recv_counts,
                 .displs = recv_displs,
                 .type = recv_type},
        .root = root,
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Gatherv_init)(
                   in, send_count, send_type, out, recv_counts, recv_displs,
                   recv_type, root, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Scatter_init)(
    const void *in, int send_count, MPI_Datatype send_type, void *out,
    int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
    MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_SCATTER,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .root = root,
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Scatter_init)(
                   in, send_count, send_type, out, recv_count, recv_type, root,
                   comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Scatterv_init)(
    const void *in, const int send_counts[], const int send_displs[],
    MPI_Datatype send_type, void *out, int recv_count, MPI_Datatype recv_type,
    int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_SCATTERV,
        .in = in,
        .out = out,
        .send = {.counts = send_counts,
                 .displs = send_displs,
                 .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .root = root,
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Scatterv_init)(
                   in, send_counts, send_displs, send_type, out, recv_count,
                   recv_type, root, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Allgather_init)(
    const void *in, int send_count, MPI_Datatype send_type, void *out,
    int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info,
    MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_ALLGATHER,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Allgather_init)(
                   in, send_count, send_type, out, recv_count, recv_type, comm,
                   info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Allgatherv_init)(
    const void *in, int send_count, MPI_Datatype send_type, void *out,
    const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type,
    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_ALLGATHERV,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.counts = recv_counts,
                 .displs = recv_displs,
                 .type = recv_type},
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Allgatherv_init)(
                   in, send_count, send_type, out, recv_counts, recv_displs,
                   recv_type, comm, info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Alltoall_init)(
    const void *in, int send_count, MPI_Datatype send_type, void *out,
    int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info,
    MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_ALLTOALL,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Alltoall_init)(
                   in, send_count, send_type, out, recv_count, recv_type, comm,
                   info, request);
}

GW_API int GW__MPI_PERSISTENT(MPI, Alltoallv_init)(
    const void *in, const int send_counts[], const int send_displs[],
    MPI_Datatype send_type, void *out, const int recv_counts[],
    const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm,
    MPI_Info info, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_ALLTOALLV,
                                      .in = in,
                                      .out = out,
                                      .send = {.counts = send_counts,
                                               .displs = send_displs,
                                               .type = send_type},
                                      .recv = {.counts = recv_counts,
                                               .displs = recv_displs,
                                               .type = recv_type},
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_persistent_new(c, &call, request)
             : GW__MPI_PERSISTENT(PMPI, Alltoallv_init)(
                   in, send_counts, send_displs, send_type, out, recv_counts,
                   recv_displs, recv_type, comm, info, request);
}

#else
typedef int gw__mpi_no_persistent_collectives; /* a file must not be empty */
#endif
