/* SPDX-License-Identifier: MIT
 *
 * Phi-accrual; see phi.h.
 */
#include "phi.h"

#include <math.h>

void gw__phi_begin(struct gw__phi *phi, const struct gw__phi_config *config,
                   uint64_t now_ns)
{
    *phi = (struct gw__phi){.config = *config, .alive_ns = now_ns};
}

void gw__phi_alive(struct gw__phi *phi, uint64_t now_ns)
{
    if (now_ns > phi->alive_ns)
        phi->alive_ns = now_ns;
}

/* A longer interval was a stopped process or a clock that jumped, and is not an
 * estimate of later intervals. */
static uint64_t interval_most(const struct gw__phi_config *config)
{
    enum { MOST = 8 };
    return MOST * (config->expected_ns + config->pause_ns);
}

void gw__phi_beat(struct gw__phi *phi, uint64_t now_ns)
{
    if (phi->beat_ns && now_ns > phi->beat_ns &&
        now_ns - phi->beat_ns <= interval_most(&phi->config)) {
        phi->intervals[phi->next] = now_ns - phi->beat_ns;
        phi->next = (phi->next + 1) % GW__PHI_WINDOW;
        phi->count += phi->count < GW__PHI_WINDOW;
    }
    phi->beat_ns = now_ns;
    gw__phi_alive(phi, now_ns);
}

static uint64_t later(uint64_t then_ns, uint64_t ns, uint64_t now_ns)
{
    if (then_ns >= now_ns)
        return then_ns;
    return now_ns - then_ns < ns ? now_ns : then_ns + ns;
}

void gw__phi_shift(struct gw__phi *phi, uint64_t ns, uint64_t now_ns)
{
    phi->alive_ns = later(phi->alive_ns, ns, now_ns);
    if (phi->beat_ns)
        phi->beat_ns = later(phi->beat_ns, ns, now_ns);
}

uint64_t gw__phi_silence(const struct gw__phi *phi, uint64_t now_ns)
{
    return now_ns > phi->alive_ns ? now_ns - phi->alive_ns : 0;
}

unsigned gw__phi_intervals(const struct gw__phi *phi,
                           uint64_t out[GW__PHI_WINDOW])
{
    unsigned oldest = phi->next + GW__PHI_WINDOW - phi->count;
    for (unsigned i = 0; i < phi->count; i++)
        out[i] = phi->intervals[(oldest + i) % GW__PHI_WINDOW];
    return phi->count;
}

/* Two passes: a running sum of squares would lose the variance of intervals
 * that are nearly equal. The expected interval counts as one more. */
static void estimate(const struct gw__phi *phi, double *mean, double *deviation)
{
    enum { FARTHEST = 3 }; /* standard deviations */
    double n = phi->count + 1, sum = (double)phi->config.expected_ns,
           longest = 0;
    for (unsigned i = 0; i < phi->count; i++) {
        sum += (double)phi->intervals[i];
        longest = fmax(longest, (double)phi->intervals[i]);
    }
    *mean = sum / n;
    double away = (double)phi->config.expected_ns - *mean,
           squares = away * away;
    for (unsigned i = 0; i < phi->count; i++) {
        away = (double)phi->intervals[i] - *mean;
        squares += away * away;
    }
    *deviation = fmax(sqrt(squares / n), (double)phi->config.deviation_ns);
    *deviation = fmax(*deviation, (longest - *mean) / FARTHEST);
}

double gw__phi_by_config(const struct gw__phi_config *config,
                         uint64_t silence_ns)
{
    double over = (double)silence_ns - (double)config->expected_ns -
                  (double)config->pause_ns;
    return gw__phi_tail(over / fmax((double)config->deviation_ns, 1));
}

double gw__phi_now(const struct gw__phi *phi, uint64_t now_ns)
{
    double mean, deviation;
    estimate(phi, &mean, &deviation);
    double over = (double)gw__phi_silence(phi, now_ns) - mean -
                  (double)phi->config.pause_ns;
    return gw__phi_tail(over / fmax(deviation, 1));
}

/* P(Z > z) = erfc(x) / 2 with x = z / sqrt 2. For large x, erfc(x) falls below
 * the smallest double. Its logarithm then comes from the asymptotic series
 * (Abramowitz, Stegun 7.1.23)
 *     erfc(x) = exp(-x²) / (x sqrt pi) (1 - 1/(2x²) + 3/(4x⁴) - ...)
 * with an error below the first omitted term, 2e-6 at x = 10. */
double gw__phi_tail(double z)
{
    enum { FAR = 10 };
    double x = z * M_SQRT1_2;
    if (x < FAR)
        return -log10(erfc(x) / 2);
    double u = 1 / (2 * x * x), series = 1 - u * (1 - 3 * u);
    return x * x * M_LOG10E + log10(2 * x / M_2_SQRTPI * 2) - log10(series);
}
