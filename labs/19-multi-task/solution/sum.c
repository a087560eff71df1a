/* SPDX-License-Identifier: MIT
 *
 * All ranks share the trunk; the ranks of a task share its head.
 */
#include "tasks.h"

enum gw_err sums_begin(struct sums *sums, int task, struct gw_error *why)
{
    return gw_comm_split(sums->all, task, 0, &sums->mine, why);
}

enum gw_err sums_step(struct sums *sums, float *trunk, size_t trunk_floats,
                      float *head, size_t head_floats)
{
    enum gw_err err = ring(sums->all, trunk, trunk_floats);
    return err ? err : ring(sums->mine, head, head_floats);
}
