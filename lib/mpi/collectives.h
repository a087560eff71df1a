/* SPDX-License-Identifier: MIT
 *
 * The collectives of MPI: for each its parameters, the same as arguments of the
 * MPI, and the struct gw__mpi_call that they make. blocking.c, nonblocking.c and
 * persistent_calls.c define one function per row, which has a few lines. Before
 * the table is used, COUNT is the type of counts. Rows with one count per rank
 * are in a table of their own, since the functions with large counts fall
 * through there.
 *
 *     X(kind, name, name in lower case, parameters, arguments, members)
 */
#ifndef GW__MPI_COLLECTIVES_H
#define GW__MPI_COLLECTIVES_H

/* Parameters and arguments are lists in parentheses, which this takes off. */
#define GW__MPI_LIST(...) __VA_ARGS__

/* clang-format off */
/* Rows that several collectives have: reductions without a root, blocks of one
 * length with a root, and without one. */
#define GW__MPI_REDUCTION(X, kind, name, lower)                                \
    X(kind, name, lower,                                                       \
      (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op,   \
       MPI_Comm comm),                                                         \
      (in, out, count, type, op, comm),                                        \
      .in = in, .out = out, .recv = {.count = count, .type = type}, .op = op)

#define GW__MPI_ROOTED_BLOCKS(X, kind, name, lower)                            \
    X(kind, name, lower,                                                       \
      (const void *in, COUNT send_count, MPI_Datatype send_type, void *out,    \
       COUNT recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm),     \
      (in, send_count, send_type, out, recv_count, recv_type, root, comm),     \
      .in = in, .send = {.count = send_count, .type = send_type},              \
      .out = out, .recv = {.count = recv_count, .type = recv_type},            \
      .root = root)

#define GW__MPI_BLOCKS(X, kind, name, lower)                                   \
    X(kind, name, lower,                                                       \
      (const void *in, COUNT send_count, MPI_Datatype send_type, void *out,    \
       COUNT recv_count, MPI_Datatype recv_type, MPI_Comm comm),               \
      (in, send_count, send_type, out, recv_count, recv_type, comm),           \
      .in = in, .send = {.count = send_count, .type = send_type},              \
      .out = out, .recv = {.count = recv_count, .type = recv_type})

#define GW__MPI_COLLECTIVES(X)                                                 \
    X(BCAST, Bcast, bcast,                                                     \
      (void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm), \
      (buffer, count, type, root, comm),                                       \
      .out = buffer, .recv = {.count = count, .type = type}, .root = root)     \
    X(REDUCE, Reduce, reduce,                                                  \
      (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op,   \
       int root, MPI_Comm comm),                                               \
      (in, out, count, type, op, root, comm),                                  \
      .in = in, .out = out, .recv = {.count = count, .type = type}, .op = op,  \
      .root = root)                                                            \
    GW__MPI_REDUCTION(X, ALLREDUCE, Allreduce, allreduce)                      \
    GW__MPI_REDUCTION(X, REDUCE_SCATTER_BLOCK, Reduce_scatter_block,           \
                      reduce_scatter_block)                                    \
    GW__MPI_REDUCTION(X, SCAN, Scan, scan)                                     \
    GW__MPI_REDUCTION(X, EXSCAN, Exscan, exscan)                               \
    GW__MPI_ROOTED_BLOCKS(X, GATHER, Gather, gather)                           \
    GW__MPI_ROOTED_BLOCKS(X, SCATTER, Scatter, scatter)                        \
    GW__MPI_BLOCKS(X, ALLGATHER, Allgather, allgather)                         \
    GW__MPI_BLOCKS(X, ALLTOALL, Alltoall, alltoall)

#define GW__MPI_COLLECTIVES_OF_INTS(X)                                         \
    X(BARRIER, Barrier, barrier, (MPI_Comm comm), (comm), .root = 0)           \
    X(REDUCE_SCATTER, Reduce_scatter, reduce_scatter,                          \
      (const void *in, void *out, const int counts[], MPI_Datatype type,       \
       MPI_Op op, MPI_Comm comm),                                              \
      (in, out, counts, type, op, comm),                                       \
      .in = in, .out = out, .recv = {.counts = counts, .type = type},          \
      .op = op)                                                                \
    X(GATHERV, Gatherv, gatherv,                                               \
      (const void *in, int send_count, MPI_Datatype send_type, void *out,      \
       const int counts[], const int displs[], MPI_Datatype recv_type,         \
       int root, MPI_Comm comm),                                               \
      (in, send_count, send_type, out, counts, displs, recv_type, root, comm), \
      .in = in, .send = {.count = send_count, .type = send_type},              \
      .out = out,                                                              \
      .recv = {.counts = counts, .displs = displs, .type = recv_type},         \
      .root = root)                                                            \
    X(SCATTERV, Scatterv, scatterv,                                            \
      (const void *in, const int counts[], const int displs[],                 \
       MPI_Datatype send_type, void *out, int recv_count,                      \
       MPI_Datatype recv_type, int root, MPI_Comm comm),                       \
      (in, counts, displs, send_type, out, recv_count, recv_type, root, comm), \
      .in = in,                                                                \
      .send = {.counts = counts, .displs = displs, .type = send_type},         \
      .out = out, .recv = {.count = recv_count, .type = recv_type},            \
      .root = root)                                                            \
    X(ALLGATHERV, Allgatherv, allgatherv,                                      \
      (const void *in, int send_count, MPI_Datatype send_type, void *out,      \
       const int counts[], const int displs[], MPI_Datatype recv_type,         \
       MPI_Comm comm),                                                         \
      (in, send_count, send_type, out, counts, displs, recv_type, comm),       \
      .in = in, .send = {.count = send_count, .type = send_type},              \
      .out = out,                                                              \
      .recv = {.counts = counts, .displs = displs, .type = recv_type})         \
    X(ALLTOALLV, Alltoallv, alltoallv,                                         \
      (const void *in, const int send_counts[], const int send_displs[],       \
       MPI_Datatype send_type, void *out, const int recv_counts[],             \
       const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm),        \
      (in, send_counts, send_displs, send_type, out, recv_counts,              \
       recv_displs, recv_type, comm),                                          \
      .in = in,                                                                \
      .send = {.counts = send_counts, .displs = send_displs,                   \
               .type = send_type},                                             \
      .out = out,                                                              \
      .recv = {.counts = recv_counts, .displs = recv_displs,                   \
               .type = recv_type})
/* clang-format on */

#endif
