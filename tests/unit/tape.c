/* SPDX-License-Identifier: MIT
 *
 * See tape.h.
 */
#include "tape.h"

#include <check.h>
#include <event/apply.h>
#include <string.h>

struct gw_event *tape_add(struct tape *tape, enum gw_event_kind kind,
                          uint32_t rank, int64_t value)
{
    ck_assert_uint_lt(tape->count, TAPE_MAX);
    struct gw_event *event = &tape->events[tape->count++];
    *event = (struct gw_event){
        .time_ns = tape->now_ns,
        .kind = (uint32_t)kind,
        .rank = rank,
        .value = value,
        .peer = GW_NONE,
        .step = GW_NONE,
        .chunk = GW_NONE,
    };
    tape->now_ns += 1000;
    return event;
}

static void add_event(struct tape *tape, const struct gw_transfer *t,
                      uint32_t op, unsigned step, bool sent)
{
    const struct gw__apply apply = {t->action, t->src_scratch, t->dst_scratch};
    if (sent && t->src == t->dst)
        return;
    struct gw_event *event =
        tape_add(tape, sent ? GW_EV_SEND : GW_EV_APPLY, sent ? t->src : t->dst,
                 sent ? 1 : gw__apply_value(&apply));
    event->peer = sent ? t->dst : t->src;
    event->op = op;
    event->step = step;
    event->chunk = t->chunk;
    event->bytes = 1024;
}

void tape_op(struct tape *tape, const struct gw_plan *plan, uint32_t op,
             uint64_t bytes)
{
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        struct gw_event *event =
            tape_add(tape, GW_EV_OP_BEGIN, rank, plan->collective);
        event->op = op;
        event->bytes = bytes;
    }
    for (unsigned step = 0; step < plan->steps; step++)
        for (int sent = 1; sent >= 0; sent--)
            for (size_t i = plan->step_begin[step];
                 i < plan->step_begin[step + 1]; i++)
                add_event(tape, &plan->transfers[i], op, step, sent);
    for (unsigned rank = 0; rank < plan->ranks; rank++)
        tape_add(tape, GW_EV_OP_END, rank, 0)->op = op;
}

void tape_shuffle(struct tape *tape, size_t first, uint64_t seed)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (size_t left = tape->count - first; left > 1; left--) {
        size_t pick = first + gw_rng_below(&rng, left);
        struct gw_event swap = tape->events[pick];
        tape->events[pick] = tape->events[first + left - 1];
        tape->events[first + left - 1] = swap;
    }
}

struct gw_plan *tape_ring(unsigned ranks)
{
    struct gw_plan *plan;
    const struct gw_algo_args args = {.ranks = ranks};
    ck_assert_int_eq(gw_plan_make(GW_ALLREDUCE, "ring", &args, &plan, NULL),
                     GW_OK);
    return plan;
}

struct gw_plan *tape_plan(const char *text)
{
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_msg(!gw_plan_parse(text, strlen(text), "test", 0, &plan, &why),
                  "%s", why.text);
    return plan;
}
