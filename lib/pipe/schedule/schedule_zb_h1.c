/* SPDX-License-Identifier: MIT
 *
 * ZB-H1, zero bubble with the memory of 1F1B: a backward is split into I, for
 * which the stage before waits, and W, for which nobody waits. W fills what
 * would be bubble.
 *
 *     stage i    F0 .. F(w-1)  with w = min(m, p-i),
 *                then for k = 0, 1, .., m-1:  I(k), W(k-i) if k >= i,
 *                F(w+k) if there is one; then the last i of W
 *
 * Stage i holds back its weight gradients by i micro-batches: it warms up with
 * i forwards fewer than the first stage, so that it has room for as many. Thus
 * every stage holds at most min(m, p) activations, what in 1F1B only the first
 * one does.
 *
 *     time m(F+I+W) + (p-1)(F+I) - (n-1) min(F, I, W),   n = min(m, p)
 *
 * To see it, follow the last stage: it works without a pause from its first F,
 * (p-1)F late, to its last I, and has then still to do the n-1 weight gradients
 * that it held back; that last I has p-1 stages to go, each I long, and a W
 * comes behind it. With m >= p and W no longer than F and I the bubble is
 * (p-1)(F+I-W) = (p-1)(F+b-2W), as in the paper. A W that is longer than the
 * pauses that it fills gains no more than them: hence the minimum. The formula
 * holds for every m and any F, I and W.
 */
#include "schedule.h"

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void emit(const struct gw__pipe_shape *shape, unsigned stage,
                 struct gw__pass_pen *pen)
{
    unsigned micros = shape->micros;
    unsigned warm_up = smaller(micros, shape->stages - stage);
    unsigned held_back = smaller(micros, stage);
    for (unsigned micro = 0; micro < warm_up; micro++)
        gw__pass_put(pen, GW_FORWARD, micro, 0);
    for (unsigned micro = 0; micro < micros; micro++) {
        gw__pass_put(pen, GW_BACKWARD_INPUT, micro, 0);
        if (micro >= held_back)
            gw__pass_put(pen, GW_BACKWARD_WEIGHT, micro - held_back, 0);
        if (warm_up + micro < micros)
            gw__pass_put(pen, GW_FORWARD, warm_up + micro, 0);
    }
    for (unsigned micro = micros - held_back; micro < micros; micro++)
        gw__pass_put(pen, GW_BACKWARD_WEIGHT, micro, 0);
}

static double least(const struct gw__pass_us *us)
{
    double least = us->forward < us->input ? us->forward : us->input;
    return us->weight < least ? us->weight : least;
}

static double bubble_us(const struct gw__pipe_shape *shape,
                        const struct gw__pass_us *us)
{
    unsigned held = smaller(shape->micros, shape->stages);
    return (shape->stages - 1) * (us->forward + us->input) -
           (held - 1) * least(us);
}

static unsigned peak(const struct gw__pipe_shape *shape, unsigned stage)
{
    (void)stage;
    return smaller(shape->micros, shape->stages);
}

const struct gw__schedule_form gw__schedule_zb_h1 = {
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
