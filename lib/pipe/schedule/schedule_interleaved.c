/* SPDX-License-Identifier: MIT
 *
 * Interleaved 1F1B: a stage has v chunks of the network that are p virtual
 * stages apart. A chunk's forward takes F/v, so the first micro-batch fills the
 * pipeline sooner, and the bubble is divided by v; the number of messages is
 * multiplied by v.
 *
 * Micro-batches are processed in rounds. In a round of n, a stage runs all n
 * through its chunk 0, then all n through chunk 1, and so on; backwards
 * likewise, from the last chunk to the first. Forwards and backwards in these
 * orders, round by round, are then combined as one forward, one backward:
 *
 *     stage i    the first w forwards, then in turn a forward and a backward,
 *                then the last w backwards,
 *                w = min(m v, 2(p-1-i) + (v-1) n0)
 *
 * where n0 is the size of the first round. A stage's first gradient comes when
 * the last stage has run the round through all its chunks, (v-1) n0 forwards,
 * and the way there and back is 2(p-1-i) virtual stages.
 *
 *     m >= p:  bubble (p-1)(F+b)/v
 *     m <  p:  bubble (p-1 + (v-1)(p-m))(F+b)/v
 *     peak of stage i, in chunks: min(m v, 2(p-1-i) + (v-1) n0 + 1)
 *
 * The paper requires that p divides m and has rounds of p. A round of fewer
 * than p would leave the stages idle before each further chunk, because a
 * micro-batch returns to the first stage after p forwards, not sooner. A round
 * of more than p costs no time, only memory. So there are floor(m/p) rounds, of
 * sizes that differ by at most one, the larger ones first: n0 = ceil(m /
 * floor(m/p)), which is p if p divides m. Only m < p leaves no choice, and the
 * stages wait p-m forwards before each of v-1 chunks, in both directions. The
 * formulas hold for every m and any F and b.
 */
#include "schedule.h"

#include <assert.h>

static unsigned rounds(const struct gw__pipe_shape *shape)
{
    unsigned whole = shape->micros / shape->stages;
    return whole ? whole : 1;
}

static unsigned first_round(const struct gw__pipe_shape *shape)
{
    return (shape->micros + rounds(shape) - 1) / rounds(shape);
}

static unsigned warm_up(const struct gw__pipe_shape *shape, unsigned stage)
{
    unsigned all = shape->micros * shape->chunks;
    unsigned most = 2 * (shape->stages - 1 - stage) +
                    (shape->chunks - 1) * first_round(shape);
    return most < all ? most : all;
}

/* Iterates over the rounds: the next micro-batch and chunk. */
struct cursor {
    const struct gw__pipe_shape *shape;
    unsigned round, size; /* size: of the current round */
    unsigned begin;       /* first micro-batch of the round */
    unsigned micro;       /* within the round */
    unsigned turn;        /* number of chunks already done */
};

static unsigned round_size(const struct gw__pipe_shape *shape, unsigned round)
{
    unsigned count = rounds(shape);
    return shape->micros / count + (round < shape->micros % count);
}

static struct cursor cursor_new(const struct gw__pipe_shape *shape)
{
    return (struct cursor){.shape = shape, .size = round_size(shape, 0)};
}

static void cursor_next(struct cursor *cursor)
{
    if (++cursor->micro < cursor->size)
        return;
    cursor->micro = 0;
    if (++cursor->turn < cursor->shape->chunks)
        return;
    cursor->turn = 0;
    cursor->begin += cursor->size;
    cursor->size = round_size(cursor->shape, ++cursor->round);
}

static void put_forward(struct cursor *cursor, struct gw__pass_emitter *emitter)
{
    gw__pass_put(emitter, GW_FORWARD, cursor->begin + cursor->micro,
                 cursor->turn);
    cursor_next(cursor);
}

static void put_backward(struct cursor *cursor,
                         struct gw__pass_emitter *emitter)
{
    gw__pass_put(emitter, GW_BACKWARD, cursor->begin + cursor->micro,
                 cursor->shape->chunks - 1 - cursor->turn);
    cursor_next(cursor);
}

static void emit(const struct gw__pipe_shape *shape, unsigned stage,
                 struct gw__pass_emitter *emitter)
{
    struct cursor forward = cursor_new(shape), backward = cursor_new(shape);
    unsigned all = shape->micros * shape->chunks;
    unsigned warm = warm_up(shape, stage);
    assert(warm <= all);
    for (unsigned i = 0; i < warm; i++)
        put_forward(&forward, emitter);
    for (unsigned i = warm; i < all; i++) {
        put_forward(&forward, emitter);
        put_backward(&backward, emitter);
    }
    for (unsigned i = all - warm; i < all; i++)
        put_backward(&backward, emitter);
}

static double bubble_us(const struct gw__pipe_shape *shape,
                        const struct gw__pass_us *us)
{
    unsigned stages = shape->stages, micros = shape->micros;
    unsigned lacking = micros < stages ? stages - micros : 0;
    unsigned bubbles = stages - 1 + (shape->chunks - 1) * lacking;
    return bubbles * (us->forward + us->input + us->weight);
}

static unsigned peak(const struct gw__pipe_shape *shape, unsigned stage)
{
    unsigned all = shape->micros * shape->chunks;
    unsigned warm = warm_up(shape, stage);
    return warm < all ? warm + 1 : all;
}

const struct gw__schedule_algorithm gw__schedule_interleaved = {
    .kind =
        {
            .name = "interleaved",
            .summary = "1F1B with several model chunks per stage",
            .formula = "bubble (p-1)(F+b)/v, peak 2(p-1)+(v-1)p+1 chunks",
            .source = "Narayanan et al. 2021, section 2.2.2",
            .chunks = true,
        },
    .emit = emit,
    .bubble_us = bubble_us,
    .peak = peak,
};
