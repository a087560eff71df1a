/* SPDX-License-Identifier: MIT
 *
 * Random calls on one communicator until the time is over: blocking or several
 * under way, each rank with its own placing, kinds of memory and delays, every
 * result checked. A failure prints the seed; GRADWIRE_STRESS_SEED repeats it.
 */
#ifndef STRESS_H
#define STRESS_H

#include <gradwire/gradwire.h>

struct stress {
    uint64_t seed; /* the same on all ranks */
    double seconds;
    size_t slice_bytes; /* sizes near it are tried */
    /* Called after a call has failed and its inputs were compared; ends the
     * run. NULL: a failure ends the process with an error. */
    void (*failed)(struct gw_comm *comm, enum gw_err err, bool inputs_kept,
                   void *context);
    void (*begun)(struct gw_comm *comm, void *context); /* may be NULL */
    void *context;
};

void stress_run(struct gw_comm *comm, const struct stress *stress);

/* $GRADWIRE_STRESS_SEED, or a new one. */
uint64_t stress_seed(void);
/* $GRADWIRE_STRESS_SECONDS, or `seconds`. */
double stress_seconds(double seconds);

#endif
