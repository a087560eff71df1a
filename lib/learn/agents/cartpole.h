/* SPDX-License-Identifier: MIT
 *
 * Cart and pole: a cart on a track carries a pole on a hinge. A push to the
 * left or to the right, fifty times a second, must keep the pole up. The
 * equations are those of Barto, Sutton and Anderson (1983, appendix) without
 * friction:
 *
 *     w' = (g sin a - cos a (F + m l w^2 sin a) / M)
 *          / (l (4/3 - m cos^2 a / M))
 *     v' = (F + m l (w^2 sin a - w' cos a)) / M
 *
 * with the angle a of the pole and its speed w, the position x of the cart and
 * its speed v, the force F = +-10 N, and M = m + cart. One step of Euler's
 * method is 0.02 s. An episode fails beyond 2.4 m or 12 degrees. Every step has
 * a reward of one, so a return is a number of steps; random pushes get about
 * 20.
 */
#ifndef GW__CARTPOLE_H
#define GW__CARTPOLE_H

#include <gradwire/base.h>

enum { GW__CARTPOLE_OBSERVED = 4 };

struct gw__cartpole {
    double x, v, angle, spin;
};

/* Nearly upright, with a small random deviation. */
void gw__cartpole_begin(struct gw__cartpole *pole, struct gw_rng *rng);
/* Applies a push. False: the episode has failed. */
bool gw__cartpole_push(struct gw__cartpole *pole, bool right);
/* The observation: the whole state, scaled to about 1. */
void gw__cartpole_observe(const struct gw__cartpole *pole,
                          double observation[GW__CARTPOLE_OBSERVED]);

#endif
