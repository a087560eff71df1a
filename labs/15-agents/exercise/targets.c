/* SPDX-License-Identifier: MIT
 *
 * What a learner learns from a trajectory. As it is these are n-step returns:
 * as if the policy that learns had played it. Make V-trace of it:
 *
 *     cc -shared -fPIC -I lib/include -o targets.so targets.c
 *     psnode actors cartpole -q 24 --set rate=2 --targets ./targets.so
 *
 * u->ratios[t] is pi / mu of the action of step t, u->values[t] is V of what
 * was seen then, and u->values[u->count] that of what came after the last step.
 */
#include <gradwire/gradwire.h>

static void judge(const struct gw_unrolled *u, double *targets,
                  double *advantages)
{
    double next = u->values[u->count]; /* the target of the step after t */
    for (size_t t = u->count; t-- > 0;) {
        advantages[t] = u->reward + u->discount * next - u->values[t];
        targets[t] = u->reward + u->discount * next;
        next = targets[t];
    }
}

static const struct gw_targets mine = {.judge = judge};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_TARGETS,
    .name = "mine",
    .summary = "what I learn from a trajectory",
    .targets = &mine,
};
