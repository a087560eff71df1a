/* SPDX-License-Identifier: MIT
 *
 * What a supervisor hears from ranks that are real processes, for the tests of
 * launching.
 */
#ifndef LAUNCH_HEARD_H
#define LAUNCH_HEARD_H

#include "common/launch.h"

enum { RANKS = 3 };

struct heard {
    unsigned reports[RANKS];
    unsigned char last[RANKS][64];
    size_t bytes;
    unsigned begins[RANKS], applies[RANKS];
    unsigned interrupts; /* to raise at the first report */
};

typedef enum gw_err rank_main(struct gw_comm *, struct reporter *, void *,
                              struct gw_error *);

/* For `on_report` of a launch whose context is a struct heard. */
void heard_report(void *context, unsigned rank, const void *data, size_t bytes);

/* What a rank does that is to be ended. */
_Noreturn void hang(void);

/* Fails the test if anybody is left to wait for. */
void expect_no_child(void);

#endif
