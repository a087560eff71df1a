/* SPDX-License-Identifier: MIT
 *
 * The formulas of the built-in schedules, for equal stages and messages that
 * take no time. Each algorithm's file derives its bubble and its peak; here
 * they become a price. Times of passes are per virtual stage. With v of them
 * per stage, F = v forward_us and b = v (input_us + weight_us).
 */
#include "pipe/schedule/schedule.h"

/* The common value of times that may differ between virtual stages. GW_EINVAL:
 * they differ. */
static enum gw_err alike(const struct gw__pipe_shape *shape, const char *what,
                         const double *each_us, double all_us, double *us,
                         struct gw_error *why)
{
    unsigned virtual_stages = shape->stages * shape->chunks;
    *us = each_us ? each_us[0] : all_us;
    if (!(*us >= 0))
        return gw_fail(why, GW_EINVAL, "a %s takes %g us", what, *us);
    for (unsigned i = 1; each_us && i < virtual_stages; i++)
        if (each_us[i] < *us || each_us[i] > *us)
            return gw_fail(why, GW_EINVAL,
                           "the formula needs equal stages: a %s takes %g us "
                           "in stage 0, but %g us in stage %u",
                           what, *us, each_us[i], i % shape->stages);
    return GW_OK;
}

static enum gw_err read_costs(const struct gw__pipe_shape *shape,
                              const struct gw_pipe_costs *costs,
                              struct gw__pass_us *us, struct gw_error *why)
{
    enum gw_err err = alike(shape, "forward", costs->forward_each_us,
                            costs->forward_us, &us->forward, why);
    if (!err)
        err = alike(shape, "backward for the input", costs->input_each_us,
                    costs->input_us, &us->input, why);
    if (!err)
        err = alike(shape, "backward for the weights", costs->weight_each_us,
                    costs->weight_us, &us->weight, why);
    return err;
}

/* Each micro-batch crosses each border between virtual stages twice; there are
 * no messages within one process. */
static uint64_t count_messages(const struct gw__pipe_shape *shape)
{
    uint64_t borders = (uint64_t)shape->stages * shape->chunks - 1;
    return shape->stages > 1 ? 2 * borders * shape->micros : 0;
}

static unsigned most_held(const struct gw__schedule_algorithm *algorithm,
                          const struct gw__pipe_shape *shape)
{
    unsigned most = 0;
    for (unsigned stage = 0; stage < shape->stages; stage++) {
        unsigned peak = algorithm->peak(shape, stage);
        most = peak > most ? peak : most;
    }
    return most;
}

enum gw_err gw_pipe_price(const char *name, unsigned stages, unsigned micros,
                          unsigned chunks, const struct gw_pipe_costs *costs,
                          struct gw_pipe_price *price, struct gw_error *why)
{
    const struct gw__schedule_algorithm *algorithm =
        gw__schedule_algorithm(name);
    struct gw__pipe_shape shape = {stages, micros, chunks};
    struct gw__pass_us us;
    *price = (struct gw_pipe_price){0};
    if (!algorithm)
        return gw__schedule_no_such(name, why);
    enum gw_err err = gw__schedule_shape(algorithm, &shape, why);
    if (!err)
        err = read_costs(&shape, costs, &us, why);
    if (err)
        return err;
    double passes = (double)micros * shape.chunks;
    double ideal_us = passes * (us.forward + us.input + us.weight);
    double bubble_us = algorithm->bubble_us(&shape, &us);
    double time_us = ideal_us + bubble_us;
    unsigned peak = most_held(algorithm, &shape);
    *price = (struct gw_pipe_price){
        .ideal_us = ideal_us,
        .time_us = time_us,
        .bubble_us = bubble_us,
        .bubble_of_ideal = ideal_us > 0 ? bubble_us / ideal_us : 0,
        .bubble_of_total = time_us > 0 ? bubble_us / time_us : 0,
        .peak_activations = peak,
        .peak_share = (double)peak / shape.chunks,
        .messages = count_messages(&shape),
        .bytes = count_messages(&shape) * costs->activation_bytes,
    };
    return GW_OK;
}
