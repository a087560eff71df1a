/* SPDX-License-Identifier: MIT
 *
 * The equations of motion; see cartpole.h.
 */
#include "cartpole.h"

#include <math.h>

static const double gravity = 9.8, cart_mass = 1, pole_mass = 0.1;
static const double half_length = 0.5, force = 10, step_s = 0.02;
static const double x_end = 2.4, angle_end = 12 * M_PI / 180;

void gw__cartpole_begin(struct gw__cartpole *pole, struct gw_rng *rng)
{
    pole->x = 0.1 * gw_rng_unit(rng) - 0.05;
    pole->v = 0.1 * gw_rng_unit(rng) - 0.05;
    pole->angle = 0.1 * gw_rng_unit(rng) - 0.05;
    pole->spin = 0.1 * gw_rng_unit(rng) - 0.05;
}

bool gw__cartpole_push(struct gw__cartpole *pole, bool right)
{
    const double mass = cart_mass + pole_mass;
    double sine = sin(pole->angle), cosine = cos(pole->angle);
    double pull = (right ? force : -force) +
                  pole_mass * half_length * pole->spin * pole->spin * sine;
    double turned =
        (gravity * sine - cosine * pull / mass) /
        (half_length * (4.0 / 3 - pole_mass * cosine * cosine / mass));
    double moved = (pull - pole_mass * half_length * turned * cosine) / mass;
    pole->x += step_s * pole->v;
    pole->v += step_s * moved;
    pole->angle += step_s * pole->spin;
    pole->spin += step_s * turned;
    return fabs(pole->x) <= x_end && fabs(pole->angle) <= angle_end;
}

void gw__cartpole_observe(const struct gw__cartpole *pole,
                          double observation[GW__CARTPOLE_OBSERVED])
{
    observation[0] = pole->x / x_end;
    observation[1] = pole->v / 2;
    observation[2] = pole->angle / angle_end;
    observation[3] = pole->spin / 2;
}
