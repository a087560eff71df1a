/* SPDX-License-Identifier: MIT
 *
 * ZB-H1, zero bubble with the memory of 1F1B: a backward is split into I, for
 * which the previous stage waits, and W, which has no dependents. W fills the
 * bubble.
 *
 *     stage i    F0 .. F(w-1)  with w = min(m, p-i),
 *                then for k = 0, 1, .., m-1:  I(k), W(k-i) if k >= i,
 *                F(w+k) if there is one; then the last i of W
 *
 * Stage i delays its weight gradients by i micro-batches. It warms up with i
 * forwards fewer than the first stage, so it has room for them. Thus every
 * stage has at most min(m, p) activations, as only the first one in 1F1B.
 *
 *     time m(F+I+W) + (p-1)(F+I) - (n-1) min(F, I, W),   n = min(m, p)
 *
 * For the derivation consider the last stage. It works without a pause from its
 * first F, (p-1)F late, to its last I, and then still has the n-1 delayed
 * weight gradients. Its last I is followed by p-1 stages of length I and a W.
 * If m >= p and W is not longer than F and I, the bubble is (p-1)(F+I-W) =
 * (p-1)(F+b-2W), as in the paper. A W longer than the pauses that it fills
 * gains only these: hence the minimum. The formula holds for every m and any F,
 * I and W.
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
    unsigned warm_up = smaller(micros, shape->stages - stage);
    unsigned held_back = smaller(micros, stage);
    for (unsigned micro = 0; micro < warm_up; micro++)
        gw__pass_put(emitter, GW_FORWARD, micro, 0);
    for (unsigned micro = 0; micro < micros; micro++) {
        gw__pass_put(emitter, GW_BACKWARD_INPUT, micro, 0);
        if (micro >= held_back)
            gw__pass_put(emitter, GW_BACKWARD_WEIGHT, micro - held_back, 0);
        if (warm_up + micro < micros)
            gw__pass_put(emitter, GW_FORWARD, warm_up + micro, 0);
    }
    for (unsigned micro = micros - held_back; micro < micros; micro++)
        gw__pass_put(emitter, GW_BACKWARD_WEIGHT, micro, 0);
}

static double least_us(const struct gw__pass_us *us)
{
    double least = us->forward < us->input ? us->forward : us->input;
    return us->weight < least ? us->weight : least;
}

static double bubble_us(const struct gw__pipe_shape *shape,
                        const struct gw__pass_us *us)
{
    unsigned held = smaller(shape->micros, shape->stages);
    return (shape->stages - 1) * (us->forward + us->input) -
           (held - 1) * least_us(us);
}

static unsigned peak(const struct gw__pipe_shape *shape, unsigned stage)
{
    (void)stage;
    return smaller(shape->micros, shape->stages);
}

const struct gw__schedule_algorithm gw__schedule_zb_h1 = {
    .kind =
        {
            .name = "zb-h1",
            .summary = "1F1B whose weight gradients fill the bubble",
            .formula = "bubble (p-1)(F+b-2W), peak min(m,p)",
            .source = "Qi et al. 2023, section 2.1",
            .splits = true,
        },
    .emit = emit,
    .bubble_us = bubble_us,
    .peak = peak,
};
