/* SPDX-License-Identifier: MIT
 *
 * The collectives as functions: each one fills a struct gw_call and runs it.
 */
#include <gradwire/coll.h>
#include <gradwire/scan.h>

enum gw_err gw_broadcast(struct gw_comm *comm, const void *in, void *out,
                         size_t count, enum gw_dtype type, unsigned root)
{
    struct gw_call call = {.collective = GW_BROADCAST,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .root = root};
    return gw_run(comm, &call);
}

enum gw_err gw_reduce(struct gw_comm *comm, const void *in, void *out,
                      size_t count, enum gw_dtype type, enum gw_redop op,
                      unsigned root)
{
    struct gw_call call = {.collective = GW_REDUCE,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .op = op,
                           .root = root};
    return gw_run(comm, &call);
}

enum gw_err gw_allreduce(struct gw_comm *comm, const void *in, void *out,
                         size_t count, enum gw_dtype type, enum gw_redop op)
{
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .op = op};
    return gw_run(comm, &call);
}

enum gw_err gw_gather(struct gw_comm *comm, const void *in, void *out,
                      size_t count, enum gw_dtype type, unsigned root)
{
    struct gw_call call = {.collective = GW_GATHER,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .root = root};
    return gw_run(comm, &call);
}

enum gw_err gw_scatter(struct gw_comm *comm, const void *in, void *out,
                       size_t count, enum gw_dtype type, unsigned root)
{
    struct gw_call call = {.collective = GW_SCATTER,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .root = root};
    return gw_run(comm, &call);
}

enum gw_err gw_allgather(struct gw_comm *comm, const void *in, void *out,
                         size_t count, enum gw_dtype type)
{
    struct gw_call call = {.collective = GW_ALLGATHER,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type};
    return gw_run(comm, &call);
}

enum gw_err gw_reduce_scatter(struct gw_comm *comm, const void *in, void *out,
                              size_t count, enum gw_dtype type,
                              enum gw_redop op)
{
    struct gw_call call = {.collective = GW_REDUCE_SCATTER,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .op = op};
    return gw_run(comm, &call);
}

enum gw_err gw_scan(struct gw_comm *comm, const void *in, void *out,
                    size_t count, enum gw_dtype type, enum gw_redop op)
{
    struct gw_call call = {.collective = GW_SCAN,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .op = op};
    return gw_run(comm, &call);
}

enum gw_err gw_exscan(struct gw_comm *comm, const void *in, void *out,
                      size_t count, enum gw_dtype type, enum gw_redop op)
{
    struct gw_call call = {.collective = GW_EXSCAN,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type,
                           .op = op};
    return gw_run(comm, &call);
}

enum gw_err gw_alltoall(struct gw_comm *comm, const void *in, void *out,
                        size_t count, enum gw_dtype type)
{
    struct gw_call call = {.collective = GW_ALLTOALL,
                           .in = in,
                           .out = out,
                           .count = count,
                           .type = type};
    return gw_run(comm, &call);
}

enum gw_err gw_barrier(struct gw_comm *comm)
{
    struct gw_call call = {.collective = GW_BARRIER};
    return gw_run(comm, &call);
}

enum gw_err gw_gatherv(struct gw_comm *comm, const void *in, void *out,
                       const size_t *counts, const size_t *displs,
                       enum gw_dtype type, unsigned root)
{
    struct gw_call call = {.collective = GW_GATHER,
                           .in = in,
                           .out = out,
                           .counts = counts,
                           .displs = displs,
                           .type = type,
                           .root = root};
    return gw_run(comm, &call);
}

enum gw_err gw_scatterv(struct gw_comm *comm, const void *in,
                        const size_t *counts, const size_t *displs, void *out,
                        enum gw_dtype type, unsigned root)
{
    struct gw_call call = {.collective = GW_SCATTER,
                           .in = in,
                           .out = out,
                           .counts = counts,
                           .displs = displs,
                           .type = type,
                           .root = root};
    return gw_run(comm, &call);
}

enum gw_err gw_allgatherv(struct gw_comm *comm, const void *in, void *out,
                          const size_t *counts, const size_t *displs,
                          enum gw_dtype type)
{
    struct gw_call call = {.collective = GW_ALLGATHER,
                           .in = in,
                           .out = out,
                           .counts = counts,
                           .displs = displs,
                           .type = type};
    return gw_run(comm, &call);
}

enum gw_err gw_alltoallv(struct gw_comm *comm, const void *in,
                         const size_t *counts, const size_t *displs, void *out,
                         const size_t *recv_counts, const size_t *recv_displs,
                         enum gw_dtype type)
{
    struct gw_call call = {.collective = GW_ALLTOALL,
                           .in = in,
                           .out = out,
                           .counts = counts,
                           .displs = displs,
                           .recv_counts = recv_counts,
                           .recv_displs = recv_displs,
                           .type = type};
    return gw_run(comm, &call);
}
