/* SPDX-License-Identifier: MIT
 *
 * The reports that a supervisor receives from ranks that are real processes,
 * for the tests of launching.
 */
#ifndef LAUNCH_RECEIVED_H
#define LAUNCH_RECEIVED_H

#include "common/launch.h"

enum { RANKS = 3 };

struct received {
    unsigned reports[RANKS];
    unsigned char last[RANKS][64];
    size_t bytes;
    unsigned begins[RANKS], applies[RANKS];
    unsigned interrupts; /* to raise at the first report */
};

typedef enum gw_err rank_main(struct gw_comm *, struct reporter *, void *,
                              struct gw_error *);

/* For `on_report` of a launch whose context is a struct received. */
void receive_report(void *context, unsigned rank, const void *data,
                    size_t bytes);

/* The main function of a rank that the test must end: it blocks forever. */
_Noreturn void hang(void);

/* Fails the test if this process still has a child. */
void expect_no_child(void);

#endif
