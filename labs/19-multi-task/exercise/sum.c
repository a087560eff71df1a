/* SPDX-License-Identifier: MIT
 *
 * This version adds up trunk and head over all ranks, as if there were one task.
 * Make a communicator for the ranks of each task (gw_comm_split, in
 * lib/include/gradwire/coll.h), and add up the head there.
 */
#include "tasks.h"

enum gw_err sums_begin(struct sums *sums, int task, struct gw_error *why)
{
    (void)sums;
    (void)task;
    (void)why;
    return GW_OK;
}

enum gw_err sums_step(struct sums *sums, float *trunk, size_t trunk_floats,
                      float *head, size_t head_floats)
{
    enum gw_err err = ring(sums->all, trunk, trunk_floats);
    return err ? err : ring(sums->all, head, head_floats);
}
