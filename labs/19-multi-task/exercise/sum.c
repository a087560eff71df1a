/* SPDX-License-Identifier: MIT
 *
 * As it is, trunk and head are added up over all ranks: as if there were one
 * task. Make the ranks of a task a communicator of their own (gw_comm_split, in
 * lib/include/gradwire/coll.h), and add the head up there.
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
