/* SPDX-License-Identifier: MIT
 *
 * GPipe: all forwards, then all backwards.
 *
 *     stage i    F0 F1 .. F(m-1)  B0 B1 .. B(m-1)
 *
 *     time (m+p-1)(F+b), bubble (p-1)(F+b), peak m
 *
 * The first micro-batch needs p-1 forwards to reach the last stage, and its
 * gradient p-1 backwards to come back; in between every stage works without a
 * pause. Each stage keeps the activations of all m micro-batches, which 1F1B
 * improves. Backwards are in the order of the forwards, so that all schedules
 * add a stage's gradients in the same order. The paper's figure has the reverse
 * order, which takes the same time.
 */
#include "schedule.h"

static void emit(const struct gw__pipe_shape *shape, unsigned stage,
                 struct gw__pass_emitter *emitter)
{
    (void)stage;
    for (unsigned micro = 0; micro < shape->micros; micro++)
        gw__pass_put(emitter, GW_FORWARD, micro, 0);
    for (unsigned micro = 0; micro < shape->micros; micro++)
        gw__pass_put(emitter, GW_BACKWARD, micro, 0);
}

static double bubble_us(const struct gw__pipe_shape *shape,
                        const struct gw__pass_us *us)
{
    return (shape->stages - 1) * (us->forward + us->input + us->weight);
}

static unsigned peak(const struct gw__pipe_shape *shape, unsigned stage)
{
    (void)stage;
    return shape->micros;
}

const struct gw__schedule_algorithm gw__schedule_gpipe = {
    .kind =
        {
            .name = "gpipe",
            .summary = "all forwards, then all backwards",
            .formula = "bubble (p-1)(F+b), peak m",
            .source = "Huang et al. 2019",
        },
    .emit = emit,
    .bubble_us = bubble_us,
    .peak = peak,
};
