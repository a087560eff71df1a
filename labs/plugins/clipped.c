/* SPDX-License-Identifier: MIT
 *
 * A targets plug-in: n-step returns, and advantages weighted by the probability
 * of the action under the policy that learns over that under the old policy, at
 * most 1. It is simpler than V-trace, which corrects the returns as well:
 *
 *     v_t = r + gamma v_t+1            (after the last step, V)
 *     A_t = min(1, ratio_t) (v_t - V_t)
 *
 * To try it:
 *
 *     cc -shared -fPIC -I lib/include -o clipped.so labs/plugins/clipped.c
 *     psnode actors cartpole --targets ./clipped.so
 *
 * gradwire-plugin(7) describes plug-ins, gradwire/actors.h the arguments of
 * this kind. V-trace is the exercise of lab 15.
 */
#include <gradwire/gradwire.h>

static void compute_targets(const struct gw_unrolled *u, double *targets,
                            double *advantages)
{
    double next = u->values[u->count];
    for (size_t t = u->count; t-- > 0;) {
        double ratio = u->ratios[t] < 1 ? u->ratios[t] : 1;
        targets[t] = next = u->reward + u->discount * next;
        advantages[t] = ratio * (targets[t] - u->values[t]);
    }
}

static const struct gw_targets clipped = {.compute = compute_targets};

const struct gw_plugin gw_plugin = {
    .version = GW_PLUGIN_VERSION,
    .kind = GW_PLUGIN_TARGETS,
    .name = "clipped",
    .summary = "n-step returns, advantages by clipped ratios",
    .targets = &clipped,
};
