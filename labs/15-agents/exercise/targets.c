/* SPDX-License-Identifier: MIT
 *
 * Computes the learner's targets for a trajectory. This version computes n-step
 * returns, as if the policy that learns had chosen the actions. Change it to
 * V-trace:
 *
 *     cc -shared -fPIC -I lib/include -o targets.so targets.c
 *     psnode actors cartpole -q 24 --set rate=2 --targets ./targets.so
 *
 * u->ratios[t] is pi / mu of the action of step t, u->values[t] is V of the
 * observation before it, and u->values[u->count] V of the last observation.
 */
#include <gradwire/gradwire.h>

static void compute_targets(const struct gw_unrolled *u, double *targets,
                            double *advantages)
{
    double next = u->values[u->count]; /* the target of the step after t */
    for (size_t t = u->count; t-- > 0;) {
        advantages[t] = u->reward + u->discount * next - u->values[t];
        targets[t] = u->reward + u->discount * next;
        next = targets[t];
    }
}

static const struct gw_targets mine = {.compute = compute_targets};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_TARGETS,
    .name = "mine",
    .summary = "my targets",
    .targets = &mine,
};
