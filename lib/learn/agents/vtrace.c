/* SPDX-License-Identifier: MIT
 *
 * V-trace (Espeholt et al., IMPALA, 2018, section 4.1): the target of the value
 * function from a trajectory that was played by another policy mu than the
 * learning policy pi:
 *
 *     rho_t = c_t = min(1, pi(a_t | x_t) / mu(a_t | x_t))
 *     delta_t = rho_t (r_t + gamma V(x_t+1) - V(x_t))
 *     v_t = V(x_t) + delta_t + gamma c_t (v_t+1 - V(x_t+1))
 *     A_t = rho_t (r_t + gamma v_t+1 - V(x_t))
 *
 * Actions that are improbable under pi have a small weight. No weight exceeds
 * 1, which bounds the variance. If both policies are equal, v_t are the n-step
 * returns of A3C (Mnih et al. 2016; remark 1 of the paper).
 */
#include <gradwire/actors.h>

static void compute_targets(const struct gw_unrolled *v, double *targets,
                            double *advantages)
{
    double target = v->values[v->count]; /* of the step after t */
    for (size_t t = v->count; t-- > 0;) {
        double ratio = v->ratios[t] > 1 ? 1 : v->ratios[t]; /* a NaN stays */
        double value = v->values[t], next = v->values[t + 1];
        double delta = ratio * (v->reward + v->discount * next - value);
        advantages[t] = ratio * (v->reward + v->discount * target - value);
        target = value + delta + v->discount * ratio * (target - next);
        targets[t] = target;
    }
}

const struct gw_targets gw_vtrace = {.compute = compute_targets};
