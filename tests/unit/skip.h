/* SPDX-License-Identifier: MIT
 *
 * A test that cannot run on this machine reports that: the summary of make
 * check lists these lines. No test is skipped silently.
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
