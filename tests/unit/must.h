/* SPDX-License-Identifier: MIT
 *
 * Assertions in a rank of a test: a failure ends the process with a message
 * that names the rank and the communicator's error.
 */
#ifndef MUST_H
#define MUST_H

#include <gradwire/gradwire.h>

#include <stdio.h>
#include <stdlib.h>

/* For code in which `comm` is the rank's communicator. Check's own assertions
 * work in the main thread only. */
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
