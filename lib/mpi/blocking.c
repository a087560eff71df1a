/* SPDX-License-Identifier: MIT
 *
 * The blocking collectives, such as MPI_Bcast: those of collectives.h. A call
 * that is not taken falls through.
 */
#include "collectives.h"
#include "run.h"

#include <gradwire/base.h>

#define DEFINE(kind_, name, parameters, arguments, ...)                        \
    GW_API int MPI_##name(GW__MPI_LIST parameters)                             \
    {                                                                          \
        struct gw__mpi_call call = {                                           \
            .kind = GW__MPI_##kind_, .comm = comm, __VA_ARGS__};               \
        int code;                                                              \
        if (gw__mpi_run_again(&call, &code))                                   \
            return code;                                                       \
        struct gw__mpi_comm *c = gw__mpi_take(&call, false);                   \
        return c ? gw__mpi_run(c, &call) : PMPI_##name arguments;              \
    }

#define X(kind, name, lower, parameters, arguments, ...)                       \
    DEFINE(kind, name, parameters, arguments, __VA_ARGS__)
#define COUNT int
GW__MPI_COLLECTIVES(X)
GW__MPI_COLLECTIVES_OF_INTS(X)
#undef COUNT
#undef X

#if MPI_VERSION >= 4 /* MPI_Bcast_c */
#define X(kind, name, lower, parameters, arguments, ...)                       \
    DEFINE(kind, name##_c, parameters, arguments, __VA_ARGS__)
#define COUNT MPI_Count
GW__MPI_COLLECTIVES(X)
#endif
