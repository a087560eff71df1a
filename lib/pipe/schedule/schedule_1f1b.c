/* SPDX-License-Identifier: MIT
 *
 * 1F1B, one forward, one backward (also called PipeDream-flush): a stage runs
 * each backward as soon as possible, which frees its memory.
 *
 *     stage i    F0 .. F(w-1)   then F(w) B0  F(w+1) B1 ..   then the last w B
 *                with w = min(m, p-1-i)
 *
 *     time (m+p-1)(F+b), bubble (p-1)(F+b), peak of stage i min(m, p-i)
 *
 * A stage warms up with as many forwards as there are later stages: this is the
 * delay of the first gradient. The bubble is that of GPipe; 1F1B saves memory.
 */
#include "schedule.h"

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void emit(const struct gw__pipe_shape *shape, unsigned stage,
                 struct gw__pass_emitter *emitter)
{
    unsigned micros = shape->micros;
    unsigned warm_up = smaller(micros, shape->stages - 1 - stage);
    for (unsigned micro = 0; micro < warm_up; micro++)
        gw__pass_put(emitter, GW_FORWARD, micro, 0);
    for (unsigned micro = warm_up; micro < micros; micro++) {
        gw__pass_put(emitter, GW_FORWARD, micro, 0);
        gw__pass_put(emitter, GW_BACKWARD, micro - warm_up, 0);
    }
    for (unsigned micro = micros - warm_up; micro < micros; micro++)
        gw__pass_put(emitter, GW_BACKWARD, micro, 0);
}

static double bubble_us(const struct gw__pipe_shape *shape,
                        const struct gw__pass_us *us)
{
    return (shape->stages - 1) * (us->forward + us->input + us->weight);
}

static unsigned peak(const struct gw__pipe_shape *shape, unsigned stage)
{
    return smaller(shape->micros, shape->stages - stage);
}

const struct gw__schedule_algorithm gw__schedule_1f1b = {
    .kind =
        {
            .name = "1f1b",
            .summary = "one forward, one backward, after a warm-up",
            .formula = "bubble (p-1)(F+b), peak min(m,p)",
            .source = "Narayanan et al. 2021, section 2.2.1",
        },
    .emit = emit,
    .bubble_us = bubble_us,
    .peak = peak,
};
