/* SPDX-License-Identifier: MIT
 *
 * The non-blocking collectives, such as MPI_Ibcast: those of collectives.h. They
 * never make a communicator of the library, which would wait for other ranks, so
 * that they fall through until blocking collectives have made it.
 */
#include "collectives.h"
#include "pending.h"
#include "run.h"

#include <gradwire/base.h>

#define DEFINE(kind_, name, parameters, arguments, ...)                        \
    GW_API int MPI_##name(GW__MPI_LIST parameters, MPI_Request *request)       \
    {                                                                          \
        struct gw__mpi_call call = {                                           \
            .kind = GW__MPI_##kind_, .comm = comm, __VA_ARGS__};               \
        struct gw__mpi_comm *c = gw__mpi_take(&call, true);                    \
        return c ? gw__mpi_start_new(c, &call, request)                        \
                 : PMPI_##name(GW__MPI_LIST arguments, request);               \
    }

#define X(kind, name, lower, parameters, arguments, ...)                       \
    DEFINE(kind, I##lower, parameters, arguments, __VA_ARGS__)
#define COUNT int
GW__MPI_COLLECTIVES(X)
GW__MPI_COLLECTIVES_OF_INTS(X)
#undef COUNT
#undef X

#if MPI_VERSION >= 4 /* MPI_Ibcast_c */
#define X(kind, name, lower, parameters, arguments, ...)                       \
    DEFINE(kind, I##lower##_c, parameters, arguments, __VA_ARGS__)
#define COUNT MPI_Count
GW__MPI_COLLECTIVES(X)
#endif
