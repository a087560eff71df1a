/* SPDX-License-Identifier: MIT
 *
 * The non-blocking collectives. They never make a communicator of the library,
 * which would wait for other ranks, so that they fall through until blocking
 * collectives have made it.
 */
#include "pending.h"
#include "run.h"

#include <gradwire/base.h>

GW_API int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_BARRIER, .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Ibarrier(comm, request);
}

GW_API int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root,
                      MPI_Comm comm, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_BCAST,
                                      .out = buffer,
                                      .recv = {.count = count, .type = type},
                                      .root = root,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Ibcast(buffer, count, type, root, comm, request);
}

GW_API int MPI_Ireduce(const void *in, void *out, int count, MPI_Datatype type,
                       MPI_Op op, int root, MPI_Comm comm, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .root = root,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Ireduce(in, out, count, type, op, root, comm, request);
}

GW_API int MPI_Iallreduce(const void *in, void *out, int count,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_ALLREDUCE,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

GW_API int MPI_Iscan(const void *in, void *out, int count, MPI_Datatype type,
                     MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_SCAN,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Iscan(in, out, count, type, op, comm, request);
}

GW_API int MPI_Iexscan(const void *in, void *out, int count, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_EXSCAN,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Iexscan(in, out, count, type, op, comm, request);
}

GW_API int MPI_Ireduce_scatter_block(const void *in, void *out, int count,
                                     MPI_Datatype type, MPI_Op op,
                                     MPI_Comm comm, MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE_SCATTER_BLOCK,
                                      .in = in,
                                      .out = out,
                                      .recv = {.count = count, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Ireduce_scatter_block(in, out, count, type, op, comm,
                                          request);
}

GW_API int MPI_Ireduce_scatter(const void *in, void *out, const int counts[],
                               MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                               MPI_Request *request)
{
    const struct gw__mpi_call call = {.kind = GW__MPI_REDUCE_SCATTER,
                                      .in = in,
                                      .out = out,
                                      .recv = {.counts = counts, .type = type},
                                      .op = op,
                                      .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Ireduce_scatter(in, out, counts, type, op, comm, request);
}

GW_API int MPI_Igather(const void *in, int send_count, MPI_Datatype send_type,
                       void *out, int recv_count, MPI_Datatype recv_type,
                       int root, MPI_Comm comm, MPI_Request *request)
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
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Igather(in, send_count, send_type, out, recv_count,
                            recv_type, root, comm, request);
}

GW_API int MPI_Igatherv(const void *in, int send_count, MPI_Datatype send_type,
                        void *out, const int recv_counts[],
                        const int recv_displs[], MPI_Datatype recv_type,
                        int root, MPI_Comm comm, MPI_Request *request)
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
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Igatherv(in, send_count, send_type, out, recv_counts,
                             recv_displs, recv_type, root, comm, request);
}

GW_API int MPI_Iscatter(const void *in, int send_count, MPI_Datatype send_type,
                        void *out, int recv_count, MPI_Datatype recv_type,
                        int root, MPI_Comm comm, MPI_Request *request)
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
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Iscatter(in, send_count, send_type, out, recv_count,
                             recv_type, root, comm, request);
}

GW_API int MPI_Iscatterv(const void *in, const int send_counts[],
                         const int send_displs[], MPI_Datatype send_type,
                         void *out, int recv_count, MPI_Datatype recv_type,
                         int root, MPI_Comm comm, MPI_Request *request)
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
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Iscatterv(in, send_counts, send_displs, send_type, out,
                              recv_count, recv_type, root, comm, request);
}

GW_API int MPI_Iallgather(const void *in, int send_count,
                          MPI_Datatype send_type, void *out, int recv_count,
                          MPI_Datatype recv_type, MPI_Comm comm,
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
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Iallgather(in, send_count, send_type, out, recv_count,
                               recv_type, comm, request);
}

GW_API int MPI_Iallgatherv(const void *in, int send_count,
                           MPI_Datatype send_type, void *out,
                           const int recv_counts[], const int recv_displs[],
                           MPI_Datatype recv_type, MPI_Comm comm,
                           MPI_Request *request)
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
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Iallgatherv(in, send_count, send_type, out, recv_counts,
                                recv_displs, recv_type, comm, request);
}

GW_API int MPI_Ialltoall(const void *in, int send_count, MPI_Datatype send_type,
                         void *out, int recv_count, MPI_Datatype recv_type,
                         MPI_Comm comm, MPI_Request *request)
{
    const struct gw__mpi_call call = {
        .kind = GW__MPI_ALLTOALL,
        .in = in,
        .out = out,
        .send = {.count = send_count, .type = send_type},
        .recv = {.count = recv_count, .type = recv_type},
        .comm = comm};
    struct gw__mpi_comm *c = gw__mpi_take(&call, true);
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Ialltoall(in, send_count, send_type, out, recv_count,
                              recv_type, comm, request);
}

GW_API int MPI_Ialltoallv(const void *in, const int send_counts[],
                          const int send_displs[], MPI_Datatype send_type,
                          void *out, const int recv_counts[],
                          const int recv_displs[], MPI_Datatype recv_type,
                          MPI_Comm comm, MPI_Request *request)
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
    return c ? gw__mpi_start_new(c, &call, request)
             : PMPI_Ialltoallv(in, send_counts, send_displs, send_type, out,
                               recv_counts, recv_displs, recv_type, comm,
                               request);
}
