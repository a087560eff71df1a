/* SPDX-License-Identifier: MIT
 *
 * What must hold in a rank of a test; otherwise the process ends with a
 * sentence that names the rank and the communicator's error.
 */
#ifndef MUST_H
#define MUST_H

#include <gradwire/gradwire.h>

#include <stdio.h>
#include <stdlib.h>

/* In a rank, where `comm` is its communicator: Check's own assertions work in
 * the main thread only. */
#define MUST(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: rank %u: %s (%s)\n", __FILE__, __LINE__,   \
                    gw_comm_rank(comm), #condition,                            \
                    gw_comm_error(comm)->text);                                \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
