/* SPDX-License-Identifier: MIT
 *
 * The persistent collectives of MPI 4, such as MPI_Bcast_init, and of Open MPI's
 * extension before it, MPIX_Bcast_init: those of collectives.h.
 */
#include "collectives.h"
#include "persistent.h"
#include "run.h"

#include <gradwire/base.h>

#ifdef GW__MPI_PERSISTENT

#define DEFINE(kind_, name, parameters, arguments, ...)                        \
    GW_API int GW__MPI_PERSISTENT(MPI, name)(                                  \
        GW__MPI_LIST parameters, MPI_Info info, MPI_Request * request)         \
    {                                                                          \
        struct gw__mpi_call call = {                                           \
            .kind = GW__MPI_##kind_, .comm = comm, __VA_ARGS__};               \
        struct gw__mpi_comm *c = gw__mpi_take(&call, true);                    \
        return c ? gw__mpi_persistent_new(c, &call, request)                   \
                 : GW__MPI_PERSISTENT(PMPI, name)(GW__MPI_LIST arguments,      \
                                                  info, request);              \
    }

#define X(kind, name, lower, parameters, arguments, ...)                       \
    DEFINE(kind, name##_init, parameters, arguments, __VA_ARGS__)
#define COUNT int
GW__MPI_COLLECTIVES(X)
GW__MPI_COLLECTIVES_OF_INTS(X)
#undef COUNT
#undef X

#if MPI_VERSION >= 4 /* MPI_Bcast_init_c */
#define X(kind, name, lower, parameters, arguments, ...)                       \
    DEFINE(kind, name##_init_c, parameters, arguments, __VA_ARGS__)
#define COUNT MPI_Count
GW__MPI_COLLECTIVES(X)
#endif

#else
typedef int gw__mpi_no_persistent_collectives; /* a file must not be empty */
#endif
