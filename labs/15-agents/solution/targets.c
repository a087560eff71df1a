/* SPDX-License-Identifier: MIT
 *
 * V-trace: the weight of an action is its probability under the policy that
 * learns over that under the policy that chose it, at most 1.
 */
#include <gradwire/gradwire.h>

static void compute_targets(const struct gw_unrolled *u, double *targets,
                            double *advantages)
{
    double target = u->values[u->count]; /* of the step after t */
    for (size_t t = u->count; t-- > 0;) {
        double rho = u->ratios[t] < 1 ? u->ratios[t] : 1;
        double value = u->values[t], next = u->values[t + 1];
        double delta = rho * (u->reward + u->discount * next - value);
        advantages[t] = rho * (u->reward + u->discount * target - value);
        target = value + delta + u->discount * rho * (target - next);
        targets[t] = target;
    }
}

static const struct gw_targets mine = {.compute = compute_targets};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_TARGETS,
    .name = "mine",
    .summary = "V-trace",
    .targets = &mine,
};
