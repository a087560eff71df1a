/* SPDX-License-Identifier: MIT
 *
 * A test that cannot be made on this machine says so: the summary of make check
 * lists these lines. Nothing is skipped in silence.
 */
#ifndef SKIP_H
#define SKIP_H

#include <stdio.h>

/* Ends the test. `suite` is the suite's name; the rest is the reason, as for
 * printf: "skipped: SUITE: REASON". */
#define SKIP(suite, ...)                                                       \
    do {                                                                       \
        printf("skipped: %s: ", suite);                                        \
        printf(__VA_ARGS__);                                                   \
        puts("");                                                              \
        fflush(stdout);                                                        \
        return;                                                                \
    } while (0)

#endif
