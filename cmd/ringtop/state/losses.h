/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loss over the training steps, in a bounded number of points: when they
 * are full, neighbours are averaged and each point covers twice the steps.
 */
#ifndef RINGTOP_LOSSES_H
#define RINGTOP_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

enum { LOSS_POINTS = 512 };

struct losses {
    double sum[LOSS_POINTS];
    unsigned count[LOSS_POINTS]; /* 0: these steps were not reported */
    uint64_t first_step;
    uint64_t stride; /* steps per point; 0: none yet */
    uint64_t last_step;
    double last;
};

void losses_add(struct losses *losses, uint64_t step, double loss);
/* Points up to the last step. */
unsigned losses_used(const struct losses *losses);

#endif
