/* SPDX-License-Identifier: MIT
 *
 * The best size of a micro-batch. Small ones shorten the bubble; large ones pay
 * the fixed cost of a pass less often. If s samples take `fixed` + `sample` s
 * in a stage, forward and backward, a step over B samples takes
 *
 *     T(s) = (B/s + p-1)(fixed + sample s)
 *          = B fixed/s + (p-1) sample s + (sample B + (p-1) fixed)
 *
 * The minimum is where the first two terms are equal, at s = sqrt(fixed B /
 * (sample (p-1))), and is (sqrt(sample B) + sqrt((p-1) fixed))^2. Narayanan et
 * al. 2021 choose the size by the same T, with measured times instead of two
 * constants.
 *
 * T is linear in both costs, so two steps with different s give two equations
 * for them.
 */
#include <gradwire/pipe.h>

#include <math.h>

double gw_pipe_fit_us(const struct gw_pipe_fit *fit, unsigned stages,
                      unsigned batch, double size)
{
    return (batch / size + stages - 1) *
           (fit->fixed_us + fit->sample_us * size);
}

static enum gw_err check_fit(unsigned stages, unsigned batch,
                             const unsigned sizes[2], const double times_us[2],
                             struct gw_error *why)
{
    if (stages == 0)
        return gw_fail(why, GW_EINVAL,
                       "a pipeline must have at least one stage");
    if (batch == 0)
        return gw_fail(why, GW_EINVAL, "a batch must have at least one sample");
    for (int i = 0; i < 2; i++) {
        if (sizes[i] == 0 || batch % sizes[i])
            return gw_fail(why, GW_EINVAL,
                           "micro-batches of %u samples do not divide a batch "
                           "of %u samples",
                           sizes[i], batch);
        if (!(times_us[i] > 0) || !isfinite(times_us[i]))
            return gw_fail(why, GW_EINVAL,
                           "a step with micro-batches of %u samples took %g us",
                           sizes[i], times_us[i]);
    }
    if (sizes[0] == sizes[1])
        return gw_fail(why, GW_EINVAL,
                       "the two micro-batch sizes must differ; both are %u",
                       sizes[0]);
    return GW_OK;
}

/* Computes the minimum of T(s). */
static void set_best(struct gw_pipe_fit *fit, unsigned stages, unsigned batch)
{
    double per_stage = fit->sample_us * (stages - 1);
    double best =
        per_stage > 0 ? sqrt(fit->fixed_us * batch / per_stage) : batch;
    fit->best_size = fmin(fmax(best, 1), batch);
    fit->best_us = gw_pipe_fit_us(fit, stages, batch, fit->best_size);
}

enum gw_err gw_pipe_fit(unsigned stages, unsigned batch,
                        const unsigned sizes[2], const double times_us[2],
                        struct gw_pipe_fit *fit, struct gw_error *why)
{
    *fit = (struct gw_pipe_fit){0};
    enum gw_err err = check_fit(stages, batch, sizes, times_us, why);
    if (err)
        return err;
    /* The time of one micro-batch in a stage, from each step. */
    double pass_us[2];
    for (int i = 0; i < 2; i++)
        pass_us[i] = times_us[i] / ((double)batch / sizes[i] + stages - 1);
    fit->sample_us =
        (pass_us[1] - pass_us[0]) / ((double)sizes[1] - (double)sizes[0]);
    fit->fixed_us = pass_us[0] - fit->sample_us * sizes[0];
    double rounding_us = 1e-9 * (pass_us[0] + pass_us[1]);
    if (fit->fixed_us < 0 && fit->fixed_us > -rounding_us)
        fit->fixed_us = 0;
    if (fit->sample_us < 0 || fit->fixed_us < 0)
        return gw_fail(why, GW_EWRONG,
                       "%g us with micro-batches of %u and %g us with %u fit"
                       " only a %s cost of %g us",
                       times_us[0], sizes[0], times_us[1], sizes[1],
                       fit->sample_us < 0 ? "per-sample" : "fixed",
                       fmin(fit->sample_us, fit->fixed_us));
    set_best(fit, stages, batch);
    return GW_OK;
}
