/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See losses.h. Several ranks may report one step; a point is their mean. A
 * step before the last ones begins a new curve: another run.
 */
#include "losses.h"

#include <string.h>

enum { STEPS_BACK = 8 }; /* the greatest distance of ranks */

static void halve(struct losses *l)
{
    for (unsigned i = 0; i < LOSS_POINTS / 2; i++) {
        l->sum[i] = l->sum[2 * i] + l->sum[2 * i + 1];
        l->count[i] = l->count[2 * i] + l->count[2 * i + 1];
    }
    memset(l->sum + LOSS_POINTS / 2, 0, LOSS_POINTS / 2 * sizeof *l->sum);
    memset(l->count + LOSS_POINTS / 2, 0, LOSS_POINTS / 2 * sizeof *l->count);
    l->stride *= 2;
}

static void begin_losses(struct losses *l, uint64_t step)
{
    memset(l, 0, sizeof *l);
    l->first_step = step;
    l->stride = 1;
}

void losses_add(struct losses *l, uint64_t step, double loss)
{
    if (l->stride == 0 || step + STEPS_BACK < l->last_step)
        begin_losses(l, step);
    uint64_t past = step > l->first_step ? step - l->first_step : 0;
    while (past / l->stride >= LOSS_POINTS)
        halve(l);
    l->sum[past / l->stride] += loss;
    l->count[past / l->stride]++;
    l->last_step = step > l->last_step ? step : l->last_step;
    l->last = loss;
}

unsigned losses_used(const struct losses *l)
{
    if (l->stride == 0)
        return 0;
    return (unsigned)((l->last_step - l->first_step) / l->stride) + 1;
}
