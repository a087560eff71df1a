/* SPDX-License-Identifier: MIT
 *
 * GRADWIRE_MPI_TRACE=1: at the end, rank 0 prints its calls, per collective and
 * size, and those that fell through, with the reason. With =events each rank
 * also writes the events of its calls.
 */
#ifndef GW__MPI_TRACE_H
#define GW__MPI_TRACE_H

#include "operation.h"

/* Why a call falls through: name, text. */
#define GW__MPI_REASONS(X)                                                     \
    X(GW__MPI_NO_COMMUNICATOR,                                                 \
      "one of the first calls on a communicator, or one rank, two groups, "    \
      "ranks that cannot be connected, or GRADWIRE_MPI=0")                     \
    X(GW__MPI_INVALID, "arguments for which the MPI has an error")             \
    X(GW__MPI_NO_REDUCTION,                                                    \
      "an operation of the user on a type with gaps, or later")

enum gw__mpi_reason {
#define X(name, text) name,
    GW__MPI_REASONS(X)
#undef X
        GW__MPI_REASON_COUNT
};

bool gw__mpi_trace_is_on(void);
/* Returns the clock, or 0 without a trace. */
uint64_t gw__mpi_trace_now(void);
/* Counts a call that has been taken; begin_ns 0: only started. */
void gw__mpi_trace_call(const struct gw__mpi_operation *o, uint64_t begin_ns);
/* Counts a call that falls through. */
void gw__mpi_trace_fall(const struct gw__mpi_call *call,
                        enum gw__mpi_reason reason);
/* Prints a sentence, with a trace. */
void gw__mpi_trace_note(const char *sentence);
/* Returns the sink of the events of this process, or NULL. They are those of
 * MPI_COMM_WORLD: ranks and numbers of ops have a meaning in one communicator. */
struct gw_sink *gw__mpi_trace_sink(void);
/* Prints the table, and closes the events. */
void gw__mpi_trace_fini(void);

#endif
