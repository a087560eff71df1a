/* SPDX-License-Identifier: MIT
 *
 * Stochastic gradient descent, plain, with momentum, and Adam:
 *
 *     sgd        w -= rate g
 *     momentum   v = mu v + g;  w -= rate v
 *     adam       m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *                w -= rate m' / (sqrt(v') + eps),
 *                m' = m / (1 - b1^t),  v' = v / (1 - b2^t)
 *                (Kingma, Ba 2015, algorithm 1, with its b1 = 0.9,
 *                b2 = 0.999, eps = 1e-8)
 *
 * Each formula is computed in double and rounded once, when it is stored.
 */
#include "optimiser.h"

#include "ps/store/update.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned words; /* f32 of state per parameter */
} kinds[] = {
    [GW_SGD] = {"sgd", 0},
    [GW_MOMENTUM] = {"momentum", 1},
    [GW_ADAM] = {"adam", 2},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

unsigned gw_optimiser_words(enum gw_optimiser optimiser)
{
    return (unsigned)optimiser < KINDS ? kinds[optimiser].words : 0;
}

enum gw_err gw_optimiser_parse(const char *name, enum gw_optimiser *optimiser,
                               struct gw_error *why)
{
    for (unsigned i = 0; i < KINDS; i++)
        if (strcmp(name, kinds[i].name) == 0) {
            *optimiser = (enum gw_optimiser)i;
            return GW_OK;
        }
    return gw_fail(why, GW_EINVAL,
                   "\"%s\" is not an optimiser; use sgd, momentum or adam",
                   name);
}

static void step_sgd(double rate, float *values, const float *gradient,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((double)values[i] - rate * (double)gradient[i]);
}

static void step_momentum(const struct gw__optimiser *optimiser, float *values,
                          const float *gradient, float *velocities,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double velocity =
            optimiser->momentum * (double)velocities[i] + (double)gradient[i];
        velocities[i] = (float)velocity;
        values[i] = (float)((double)values[i] - optimiser->rate * velocity);
    }
}

static void step_adam(double rate, uint64_t step, float *values,
                      const float *gradient, float *means, float *squares,
                      size_t count)
{
    double share1 = 1 / (1 - pow(beta1, (double)step));
    double share2 = 1 / (1 - pow(beta2, (double)step));
    for (size_t i = 0; i < count; i++) {
        double slope = (double)gradient[i];
        double mean = beta1 * (double)means[i] + (1 - beta1) * slope;
        double square =
            beta2 * (double)squares[i] + (1 - beta2) * slope * slope;
        means[i] = (float)mean;
        squares[i] = (float)square;
        double change = mean * share1 / (sqrt(square * share2) + epsilon);
        values[i] = (float)((double)values[i] - rate * change);
    }
}

/* Elements [at, at + some) of `count`. */
static void step_some(const struct gw__optimiser *optimiser, uint64_t step,
                      float *values, const float *gradient, float *state,
                      size_t count, size_t at, size_t some)
{
    switch (optimiser->kind) {
    case GW_SGD:
        step_sgd(optimiser->rate, values + at, gradient + at, some);
        break;
    case GW_MOMENTUM:
        step_momentum(optimiser, values + at, gradient + at, state + at, some);
        break;
    case GW_ADAM:
        step_adam(optimiser->rate, step, values + at, gradient + at, state + at,
                  state + count + at, some);
        break;
    }
}

/* In blocks that are still in the first-level cache for the check. */
bool gw__optimiser_step(const struct gw__optimiser *optimiser, uint64_t step,
                        float *values, const float *gradient, float *state,
                        size_t count)
{
    enum { BLOCK = 2048 };
    bool finite = true;
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t some = count - at < BLOCK ? count - at : BLOCK;
        step_some(optimiser, step, values, gradient, state, count, at, some);
        finite &= gw__first_bad(values + at, some) == some;
    }
    return finite;
}
