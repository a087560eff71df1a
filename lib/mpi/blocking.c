/* SPDX-License-Identifier: MIT
 *
 * The blocking collectives. A call that is not taken falls through.
 */
#include "run.h"

#include <gradwire/base.h>

GW_API int MPI_Barrier(MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_BARRIER, .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call) : PMPI_Barrier(comm);
}

GW_API int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root,
                     MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_BCAST,
                                      .out = buffer,
                                      .recv = {.count = count, .type = type},
                                      .root = root,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Bcast(buffer, count, type, root, comm);
}

GW_API int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type,
                      MPI_Op op, int root, MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .root = root,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Reduce(in, out, count, type, op, root, comm);
}

GW_API int MPI_Allreduce(const void *in, void *out, int count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_ALLREDUCE,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Allreduce(in, out, count, type, op, comm);
}

GW_API int MPI_Scan(const void *in, void *out, int count, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_SCAN,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Scan(in, out, count, type, op, comm);
}

GW_API int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type,
                      MPI_Op op, MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_EXSCAN,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Exscan(in, out, count, type, op, comm);
}

GW_API int MPI_Reduce_scatter_block(const void *in, void *out, int count,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE_SCATTER_BLOCK,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Reduce_scatter_block(in, out, count, type, op, comm);
}

GW_API int MPI_Reduce_scatter(const void *in, void *out, const int counts[],
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE_SCATTER,
                                      .in = in,
                                      .out = out,
                                      .recv = {.counts = counts, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Reduce_scatter(in, out, counts, type, op, comm);
}

GW_API int MPI_Gather(const void *in, int send_count, MPI_Datatype send_type,
                      void *out, int recv_count, MPI_Datatype recv_type,
                      int root, MPI_Comm comm)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_GATHER,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .root = root,
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Gather(in, send_count, send_type, out, recv_count,
                           recv_type, root, comm);
}

GW_API int MPI_Gatherv(const void *in, int send_count, MPI_Datatype send_type,
                       void *out, const int recv_counts[],
                       const int recv_displs[], MPI_Datatype recv_type,
                       int root, MPI_Comm comm)
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
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Gatherv(in, send_count, send_type, out, recv_counts,
                            recv_displs, recv_type, root, comm);
}

GW_API int MPI_Scatter(const void *in, int send_count, MPI_Datatype send_type,
                       void *out, int recv_count, MPI_Datatype recv_type,
                       int root, MPI_Comm comm)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_SCATTER,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .root = root,
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Scatter(in, send_count, send_type, out, recv_count,
                            recv_type, root, comm);
}

GW_API int MPI_Scatterv(const void *in, const int send_counts[],
                        const int send_displs[], MPI_Datatype send_type,
                        void *out, int recv_count, MPI_Datatype recv_type,
                        int root, MPI_Comm comm)
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
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Scatterv(in, send_counts, send_displs, send_type, out,
                             recv_count, recv_type, root, comm);
}

GW_API int MPI_Allgather(const void *in, int send_count, MPI_Datatype send_type,
                         void *out, int recv_count, MPI_Datatype recv_type,
                         MPI_Comm comm)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_ALLGATHER,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Allgather(in, send_count, send_type, out, recv_count,
                              recv_type, comm);
}

GW_API int MPI_Allgatherv(const void *in, int send_count,
                          MPI_Datatype send_type, void *out,
                          const int recv_counts[], const int recv_displs[],
                          MPI_Datatype recv_type, MPI_Comm comm)
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
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Allgatherv(in, send_count, send_type, out, recv_counts,
                               recv_displs, recv_type, comm);
}

GW_API int MPI_Alltoall(const void *in, int send_count, MPI_Datatype send_type,
                        void *out, int recv_count, MPI_Datatype recv_type,
                        MPI_Comm comm)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_ALLTOALL,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Alltoall(in, send_count, send_type, out, recv_count,
                             recv_type, comm);
}

GW_API int MPI_Alltoallv(const void *in, const int send_counts[],
                         const int send_displs[], MPI_Datatype send_type,
                         void *out, const int recv_counts[],
                         const int recv_displs[], MPI_Datatype recv_type,
                         MPI_Comm comm)
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
    struct gw__mpi_comm *c = gw__mpi_take(&call, false);
    return c ? gw__mpi_run(c, &call)
             : PMPI_Alltoallv(in, send_counts, send_displs, send_type, out,
                              recv_counts, recv_displs, recv_type, comm);
}
