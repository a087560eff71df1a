/* SPDX-License-Identifier: MIT
 *
 * Steps in virtual time to which no formula of pipe.h applies: unequal stages,
 * messages that take time, schedules by hand. The reference is too simple to be
 * wrong: begin and end of every pass are moved later until all rules hold.
 */
#include "schedules.h"

#include <check.h>
#include <stdlib.h>

Suite *suite_pipe_simulate(void);

/* ---- the reference ---- */

static double pass_us(const struct gw_pipe_costs *costs, unsigned segment,
                      unsigned kind)
{
    double input = costs->input_each_us[segment];
    double weight = costs->weight_each_us[segment];
    return kind == GW_FORWARD          ? costs->forward_each_us[segment]
           : kind == GW_BACKWARD       ? input + weight
           : kind == GW_BACKWARD_INPUT ? input
                                       : weight;
}

static unsigned stage_of(const struct gw_schedule *s, size_t index)
{
    unsigned stage = 0;
    while (index >= s->begin[stage + 1])
        stage++;
    return stage;
}

/* The time at which pass `from` lets pass `to` begin: its end plus the time of
 * the message. Less than 0: `to` does not depend on `from`. */
static double edge_us(const struct gw_schedule *s,
                      const struct gw_pipe_costs *costs, size_t from, size_t to)
{
    struct gw_pass a = s->passes[from], b = s->passes[to];
    unsigned stage_a = stage_of(s, from), stage_b = stage_of(s, to);
    unsigned segment_a = gw_schedule_virtual(s, stage_a, a.chunk);
    unsigned segment_b = gw_schedule_virtual(s, stage_b, b.chunk);
    bool activation = a.kind == GW_FORWARD && b.kind == GW_FORWARD &&
                      segment_b == segment_a + 1;
    bool gradient = (a.kind == GW_BACKWARD || a.kind == GW_BACKWARD_INPUT) &&
                    (b.kind == GW_BACKWARD || b.kind == GW_BACKWARD_INPUT) &&
                    segment_a == segment_b + 1;
    if (a.micro != b.micro || !(activation || gradient))
        return -1;
    return stage_a == stage_b
               ? 0
               : costs->message_us +
                     costs->us_per_byte * (double)costs->activation_bytes;
}

/* Begins of all passes, by moving them later until nothing changes. */
static double *reference(const struct gw_schedule *s,
                         const struct gw_pipe_costs *costs)
{
    double *begin = calloc(s->pass_count, sizeof *begin);
    double *end = calloc(s->pass_count, sizeof *end);
    ck_assert(begin && end);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < s->pass_count; i++) {
            unsigned stage = stage_of(s, i);
            double at = i > s->begin[stage] ? end[i - 1] : 0;
            for (size_t j = 0; j < s->pass_count; j++) {
                double latency = edge_us(s, costs, j, i);
                if (latency >= 0 && end[j] + latency > at)
                    at = end[j] + latency;
            }
            unsigned segment =
                gw_schedule_virtual(s, stage, s->passes[i].chunk);
            begin[i] = at;
            at += pass_us(costs, segment, s->passes[i].kind);
            moved = moved || end[i] < at;
            end[i] = at;
        }
    }
    free(end);
    return begin;
}

/* ---- random costs ---- */

enum { SEGMENTS_MAX = 5 * 3 };

struct random_costs {
    double us[3][SEGMENTS_MAX];
    struct gw_pipe_costs costs;
};

static void draw(struct random_costs *r, struct gw_rng *rng)
{
    for (int kind = 0; kind < 3; kind++)
        for (int segment = 0; segment < SEGMENTS_MAX; segment++)
            r->us[kind][segment] = (double)gw_rng_below(rng, 20);
    r->costs = (struct gw_pipe_costs){
        .forward_each_us = r->us[0],
        .input_each_us = r->us[1],
        .weight_each_us = r->us[2],
        .message_us = (double)gw_rng_below(rng, 10),
        .us_per_byte = (double)gw_rng_below(rng, 3),
        .activation_bytes = gw_rng_below(rng, 4),
    };
}

static void expect_reference(const struct gw_schedule *s,
                             const struct gw_pipe_costs *costs)
{
    struct gw_timeline *timeline = schedule_simulate(s, costs);
    double *begin = reference(s, costs);
    for (size_t i = 0; i < s->pass_count; i++) {
        const struct gw_pass_time *time = &timeline->times[i];
        unsigned stage = stage_of(s, i);
        ck_assert_double_eq(time->begin_us, begin[i]);
        ck_assert_double_eq(time->ready_us,
                            i > s->begin[stage] ? time[-1].end_us : 0);
        ck_assert_int_eq(time->waited_for != GW_NONE,
                         time->begin_us > time->ready_us);
    }
    for (unsigned i = 0; i < s->stages; i++) {
        const struct gw_stage_total *total = &timeline->stage[i];
        ck_assert_double_eq(total->busy_us + total->wait_us + total->rest_us,
                            timeline->time_us);
        ck_assert_double_le(total->busy_us, timeline->ideal_us);
    }
    ck_assert_double_eq(timeline->bubble_us,
                        timeline->time_us - timeline->ideal_us);
    ck_assert_uint_eq(timeline->bytes,
                      timeline->messages * costs->activation_bytes);
    free(begin);
    gw_timeline_destroy(&timeline);
}

START_TEST(any_costs_as_the_reference)
{
    enum { ROUNDS = 20 };
    struct gw_rng rng;
    uint64_t seed = 20261122;
    gw_rng_seed(&rng, seed);
    for (const struct gw_schedule_kind *const *kind = gw_schedule_kinds();
         *kind; kind++)
        for (int round = 0; round < ROUNDS; round++) {
            struct random_costs random;
            unsigned p = 1 + (unsigned)gw_rng_below(&rng, 5);
            unsigned m = 1 + (unsigned)gw_rng_below(&rng, 7);
            unsigned v =
                (*kind)->chunks ? 1 + (unsigned)gw_rng_below(&rng, 3) : 1;
            struct gw_schedule *schedule =
                schedule_made((*kind)->name, p, m, v);
            draw(&random, &rng);
            expect_reference(schedule, &random.costs);
            gw_schedule_destroy(&schedule);
        }
}
END_TEST

/* ---- by hand ---- */

/* Two stages, two micro-batches, F = 2, I = 1, W = 1, a message 5:
 *
 *     0: F0 0-2  F1 2-4                 B0 16-18  B1 20-22
 *     1:       F0 7-9  B0 9-11  F1 11-13  B1 13-15
 */
START_TEST(messages_take_time_while_stages_work)
{
    struct gw_schedule *schedule = schedule_made("1f1b", 2, 2, 1);
    struct gw_pipe_costs costs = {.forward_us = 2,
                                  .input_us = 1,
                                  .weight_us = 1,
                                  .message_us = 3,
                                  .us_per_byte = 0.5,
                                  .activation_bytes = 4};
    struct gw_timeline *t = schedule_simulate(schedule, &costs);
    static const double begin_us[] = {0, 2, 16, 20, 7, 9, 11, 13};
    static const uint32_t waited_for[] = {GW_NONE, GW_NONE, 1,       1,
                                          0,       GW_NONE, GW_NONE, GW_NONE};
    for (size_t i = 0; i < t->pass_count; i++) {
        ck_assert_double_eq(t->times[i].begin_us, begin_us[i]);
        ck_assert_double_eq(t->times[i].end_us, begin_us[i] + 2);
        ck_assert_uint_eq(t->times[i].waited_for, waited_for[i]);
    }
    ck_assert_double_eq(t->time_us, 22);
    ck_assert_double_eq(t->ideal_us, 8);
    ck_assert_double_eq(t->bubble_of_ideal, 14.0 / 8);
    ck_assert_double_eq(t->stage[0].wait_us, 14);
    ck_assert_double_eq(t->stage[0].rest_us, 0);
    ck_assert_double_eq(t->stage[1].wait_us, 7);
    ck_assert_double_eq(t->stage[1].rest_us, 7);
    ck_assert_uint_eq(t->stage[0].waits_most_for, 1);
    ck_assert_uint_eq(t->stage[1].waits_most_for, 0);
    ck_assert_uint_eq(t->messages, 4);
    ck_assert_uint_eq(t->bytes, 16);
    gw_timeline_destroy(&t);
    gw_schedule_destroy(&schedule);
}
END_TEST

/* GPipe with unequal stages: the slowest sets the pace of each direction, sum F
 * + (m-1) max F, then the same for b; the time of a message counts 2(p-1)
 * times. */
START_TEST(the_slowest_stage_sets_the_pace)
{
    enum { P = 4 };
    static const double forward[P] = {3, 10, 4, 5}, input[P] = {2, 4, 9, 1};
    static const double weight[P] = {1, 1, 3, 2};
    for (unsigned m = 1; m <= 20; m++) {
        struct gw_schedule *schedule = schedule_made("gpipe", P, m, 1);
        struct gw_pipe_costs costs = {.forward_each_us = forward,
                                      .input_each_us = input,
                                      .weight_each_us = weight,
                                      .message_us = 6};
        struct gw_timeline *t = schedule_simulate(schedule, &costs);
        ck_assert_double_eq(t->time_us,
                            22 + 23 + (m - 1) * (10.0 + 12) + 2 * (P - 1) * 6);
        ck_assert_double_eq(t->ideal_us, m * 16.0);
        double all_us = P * t->time_us;
        ck_assert_double_eq(t->bubble_of_total,
                            (all_us - m * (6.0 + 15 + 16 + 8)) / all_us);
        ck_assert_uint_eq(t->stage[1].waits_most_for, 2);
        gw_timeline_destroy(&t);
        gw_schedule_destroy(&schedule);
    }
}
END_TEST

/* The same code sums up a measured timeline. */
START_TEST(a_measured_timeline)
{
    struct gw_schedule *schedule = schedule_made("1f1b", 2, 2, 1);
    struct gw_timeline *t;
    ck_assert_int_eq(gw_timeline_new(schedule, &t, NULL), GW_OK);
    for (size_t i = 0; i < t->pass_count; i++)
        ck_assert_uint_eq(t->times[i].waited_for, GW_NONE);
    t->times[0] = (struct gw_pass_time){0, 4, 0, GW_NONE};
    t->times[1] = (struct gw_pass_time){4, 6, 4, GW_NONE};
    t->times[2] = (struct gw_pass_time){9, 10, 6, 1};
    t->times[3] = (struct gw_pass_time){11, 12, 10, 1};
    t->times[4] = (struct gw_pass_time){5, 6, 0, 0};
    t->times[5] = (struct gw_pass_time){6, 7, 6, GW_NONE};
    t->times[6] = (struct gw_pass_time){7, 8, 7, GW_NONE};
    t->times[7] = (struct gw_pass_time){8, 9, 8, GW_NONE};
    t->bytes = 77;
    gw_timeline_complete(t, schedule);
    gw_timeline_complete(t, schedule); /* a second call changes nothing */
    ck_assert_double_eq(t->time_us, 12);
    ck_assert_double_eq(t->ideal_us, 8);
    ck_assert_double_eq(t->bubble_us, 4);
    ck_assert_double_eq(t->bubble_of_total, 0.5);
    ck_assert_double_eq(t->bubble_of_ideal, 0.5);
    ck_assert_uint_eq(t->messages, 4);
    ck_assert_uint_eq(t->bytes, 77);
    ck_assert_uint_eq(t->peak_activations, 2);
    ck_assert_double_eq(t->stage[1].busy_us, 4);
    ck_assert_double_eq(t->stage[1].wait_us, 5);
    ck_assert_double_eq(t->stage[1].rest_us, 3);
    ck_assert_uint_eq(t->stage[1].peak_activations, 1);
    gw_timeline_destroy(&t);
    ck_assert_ptr_null(t);
    gw_timeline_destroy(&t);
    gw_schedule_destroy(&schedule);
}
END_TEST

START_TEST(no_formula_for_stages_that_differ)
{
    static const double equal[] = {3, 3, 3, 3}, uneven[] = {3, 3, 4, 3};
    struct gw_pipe_costs costs = {
        .forward_each_us = equal, .input_us = 1, .weight_us = 2};
    struct gw_pipe_price price;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_pipe_price("1f1b", 4, 2, 0, &costs, &price, &why),
                     GW_OK);
    ck_assert_double_eq(price.time_us, (2 + 3) * 6);
    costs.weight_each_us = uneven;
    ck_assert_int_eq(gw_pipe_price("1f1b", 4, 2, 0, &costs, &price, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "the formula needs equal stages: a backward for the "
                     "weights takes 3 us in stage 0, but 4 us in stage 2");
    costs.weight_each_us = NULL;
    costs.input_us = -1;
    ck_assert_int_eq(gw_pipe_price("1f1b", 4, 2, 0, &costs, &price, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, "a backward for the input takes -1 us");
}
END_TEST

/* The execution is linear in the passes, so a million are feasible. */
START_TEST(many_passes)
{
    struct gw_schedule *schedule = schedule_made("zb-h1", 64, 5000, 1);
    struct gw_pipe_costs costs = {
        .forward_us = 1, .input_us = 1, .weight_us = 1};
    ck_assert_int_eq(gw_schedule_check(schedule, NULL), GW_OK);
    struct gw_timeline *t = schedule_simulate(schedule, &costs);
    ck_assert_double_eq(t->bubble_us, 63);
    gw_timeline_destroy(&t);
    gw_schedule_destroy(&schedule);
}
END_TEST

Suite *suite_pipe_simulate(void)
{
    Suite *suite = suite_create("pipe_simulate");
    TCase *t = tcase_create("pipe_simulate");
    tcase_add_test(t, any_costs_as_the_reference);
    tcase_add_test(t, messages_take_time_while_stages_work);
    tcase_add_test(t, the_slowest_stage_sets_the_pace);
    tcase_add_test(t, a_measured_timeline);
    tcase_add_test(t, no_formula_for_stages_that_differ);
    tcase_add_test(t, many_passes);
    suite_add_tcase(suite, t);
    return suite;
}
