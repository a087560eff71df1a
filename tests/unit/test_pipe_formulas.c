/* SPDX-License-Identifier: MIT
 *
 * The formulas of the built-in schedules against their simulation: total time,
 * the bubble by both conventions and the peak of every stage are exactly equal,
 * for every number of stages from 2 to 8 and of micro-batches from 1 to 64.
 * Times are whole numbers of microseconds, so that sums are exact.
 */
#include "schedules.h"

#include <check.h>

Suite *suite_pipe_formulas(void);

/* F, I, W: all equal, backward passes twice as long, and unusual ones: long
 * weight gradients, none at all, forward passes of no time. */
static const double costs_us[][3] = {
    {1, 1, 1}, {10, 12, 9}, {2, 3, 1}, {7, 2, 2}, {1, 1, 5},
    {3, 1, 2}, {5, 5, 0},   {0, 2, 3}, {4, 0, 4}, {1000, 2000, 1},
};
enum { COSTS = sizeof costs_us / sizeof *costs_us };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* One shape of one schedule by the formulas, which are repeated here to check
 * those of the library. */
struct wanted {
    double time_us;
    unsigned peak[8];
};

static struct gw_timeline *simulate(const struct gw_schedule *schedule,
                                    const double us[3])
{
    struct gw_pipe_costs costs = {
        .forward_us = us[0], .input_us = us[1], .weight_us = us[2]};
    return schedule_simulate(schedule, &costs);
}

static void expect_price(const struct gw_schedule *s, const double us[3],
                         const struct gw_timeline *timeline)
{
    struct gw_pipe_costs costs = {.forward_us = us[0],
                                  .input_us = us[1],
                                  .weight_us = us[2],
                                  .activation_bytes = 100};
    struct gw_pipe_price price;
    struct gw_error why = {0};
    ck_assert_msg(gw_pipe_price(s->name, s->stages, s->micros, s->chunks,
                                &costs, &price, &why) == GW_OK,
                  "%s", why.text);
    ck_assert_double_eq(price.time_us, timeline->time_us);
    ck_assert_double_eq(price.ideal_us, timeline->ideal_us);
    ck_assert_double_eq(price.bubble_us, timeline->bubble_us);
    ck_assert_double_eq(price.bubble_of_ideal, timeline->bubble_of_ideal);
    ck_assert_double_eq(price.bubble_of_total, timeline->bubble_of_total);
    ck_assert_uint_eq(price.peak_activations, timeline->peak_activations);
    ck_assert_double_eq(price.peak_share,
                        (double)timeline->peak_activations / s->chunks);
    ck_assert_uint_eq(price.messages, timeline->messages);
    ck_assert_uint_eq(price.messages,
                      2 * (s->stages * s->chunks - 1) * s->micros);
    ck_assert_uint_eq(price.bytes, 100 * price.messages);
}

static void expect_totals(const struct gw_timeline *timeline)
{
    for (unsigned stage = 0; stage < timeline->stages; stage++) {
        const struct gw_stage_total *total = &timeline->stage[stage];
        ck_assert_double_eq(total->busy_us, timeline->ideal_us);
        ck_assert_double_eq(total->busy_us + total->wait_us + total->rest_us,
                            timeline->time_us);
    }
}

static void expect_equal(const struct gw_schedule *s, const double us[3],
                         const struct wanted *wanted)
{
    struct gw_timeline *timeline = simulate(s, us);
    double ideal_us = s->micros * s->chunks * (us[0] + us[1] + us[2]);
    ck_assert_msg(timeline->time_us == wanted->time_us,
                  "%s p=%u m=%u v=%u F=%g I=%g W=%g: %g us, by formula %g us",
                  s->name, s->stages, s->micros, s->chunks, us[0], us[1], us[2],
                  timeline->time_us, wanted->time_us);
    ck_assert_double_eq(timeline->ideal_us, ideal_us);
    ck_assert_double_eq(timeline->bubble_us, wanted->time_us - ideal_us);
    ck_assert_double_eq(timeline->bubble_of_ideal,
                        (wanted->time_us - ideal_us) / ideal_us);
    ck_assert_double_eq(timeline->bubble_of_total,
                        (wanted->time_us - ideal_us) / wanted->time_us);
    for (unsigned stage = 0; stage < s->stages; stage++) {
        ck_assert_msg(gw_schedule_peak(s, stage) == wanted->peak[stage],
                      "%s p=%u m=%u v=%u: stage %u holds %u, by formula %u",
                      s->name, s->stages, s->micros, s->chunks, stage,
                      gw_schedule_peak(s, stage), wanted->peak[stage]);
        ck_assert_uint_eq(timeline->stage[stage].peak_activations,
                          wanted->peak[stage]);
    }
    expect_totals(timeline);
    expect_price(s, us, timeline);
    gw_timeline_destroy(&timeline);
}

typedef struct wanted formula(unsigned p, unsigned m, unsigned v,
                              const double us[3]);

static void all_shapes(const char *name, unsigned v, formula *of)
{
    for (unsigned p = 2; p <= 8; p++)
        for (unsigned m = 1; m <= 64; m++) {
            struct gw_schedule *schedule;
            struct gw_error why = {0};
            ck_assert_int_eq(gw_schedule_make(name, p, m, v, &schedule, &why),
                             GW_OK);
            ck_assert_msg(gw_schedule_check(schedule, &why) == GW_OK, "%s",
                          why.text);
            for (int i = 0; i < COSTS; i++) {
                struct wanted wanted = of(p, m, v, costs_us[i]);
                expect_equal(schedule, costs_us[i], &wanted);
            }
            gw_schedule_destroy(&schedule);
        }
}

static struct wanted of_gpipe(unsigned p, unsigned m, unsigned v,
                              const double us[3])
{
    (void)v;
    struct wanted wanted = {(m + p - 1) * (us[0] + us[1] + us[2]), {0}};
    for (unsigned i = 0; i < p; i++)
        wanted.peak[i] = m;
    return wanted;
}

START_TEST(gpipe)
{
    all_shapes("gpipe", 1, of_gpipe);
}
END_TEST

static struct wanted of_1f1b(unsigned p, unsigned m, unsigned v,
                             const double us[3])
{
    struct wanted wanted = of_gpipe(p, m, v, us);
    for (unsigned i = 0; i < p; i++)
        wanted.peak[i] = least(m, p - i);
    return wanted;
}

START_TEST(one_forward_one_backward)
{
    all_shapes("1f1b", 1, of_1f1b);
}
END_TEST

/* (p-1)(F+b)/v more than the work, and the additional waits of a short step.
 * The times are those of a piece. */
static struct wanted of_interleaved(unsigned p, unsigned m, unsigned v,
                                    const double us[3])
{
    unsigned segments = m * v + p - 1 + (m < p ? (v - 1) * (p - m) : 0);
    unsigned rounds = m < p ? 1 : m / p;
    unsigned round = (m + rounds - 1) / rounds;
    struct wanted wanted = {segments * (us[0] + us[1] + us[2]), {0}};
    for (unsigned i = 0; i < p; i++)
        wanted.peak[i] = least(m * v, 2 * (p - 1 - i) + (v - 1) * round + 1);
    return wanted;
}

START_TEST(interleaved)
{
    all_shapes("interleaved", (unsigned)_i, of_interleaved);
}
END_TEST

static struct wanted of_zb_h1(unsigned p, unsigned m, unsigned v,
                              const double us[3])
{
    (void)v;
    double pause_us = us[0] < us[1] ? us[0] : us[1];
    double filled_us = us[2] < pause_us ? us[2] : pause_us;
    struct wanted wanted = {m * (us[0] + us[1] + us[2]) +
                                (p - 1) * (us[0] + us[1]) -
                                (least(m, p) - 1) * filled_us,
                            {0}};
    for (unsigned i = 0; i < p; i++)
        wanted.peak[i] = least(m, p);
    return wanted;
}

START_TEST(zero_bubble)
{
    all_shapes("zb-h1", 1, of_zb_h1);
}
END_TEST

/* The formulas of the paper. */
START_TEST(the_papers)
{
    struct gw_pipe_costs costs = {
        .forward_us = 10, .input_us = 10, .weight_us = 10};
    struct gw_pipe_price price;
    ck_assert_int_eq(gw_pipe_price("zb-h1", 4, 8, 1, &costs, &price, NULL),
                     GW_OK);
    ck_assert_double_eq(price.bubble_us, 3 * (10 + 20 - 2 * 10));
    ck_assert_double_eq(price.bubble_of_ideal, 3.0 / (3 * 8));
    ck_assert_int_eq(gw_pipe_price("1f1b", 4, 8, 1, &costs, &price, NULL),
                     GW_OK);
    ck_assert_double_eq(price.bubble_of_ideal, 3.0 / 8);
    ck_assert_double_eq(price.bubble_of_total, 3.0 / (8 + 3));
    ck_assert_int_eq(
        gw_pipe_price("interleaved", 4, 8, 4, &costs, &price, NULL), GW_OK);
    ck_assert_double_eq(price.bubble_of_ideal, 3.0 / (4 * 8));
}
END_TEST

/* A single stage has no other to wait for. */
START_TEST(one_stage_has_no_bubble)
{
    struct gw_pipe_costs costs = {
        .forward_us = 1, .input_us = 2, .weight_us = 3, .message_us = 100};
    for (const struct gw_schedule_kind *const *kind = gw_schedule_kinds();
         *kind; kind++) {
        struct gw_schedule *schedule;
        struct gw_timeline *timeline;
        struct gw_pipe_price price;
        unsigned v = (*kind)->chunks ? 3 : 1;
        ck_assert_int_eq(
            gw_schedule_make((*kind)->name, 1, 5, v, &schedule, NULL), GW_OK);
        ck_assert_int_eq(gw_schedule_check(schedule, NULL), GW_OK);
        ck_assert_int_eq(gw_pipe_simulate(schedule, &costs, &timeline, NULL),
                         GW_OK);
        ck_assert_int_eq(
            gw_pipe_price((*kind)->name, 1, 5, v, &costs, &price, NULL), GW_OK);
        ck_assert_double_eq(timeline->time_us, 5 * v * 6);
        ck_assert_double_eq(price.time_us, 5 * v * 6);
        ck_assert_double_eq(timeline->bubble_of_total, 0);
        ck_assert_uint_eq(timeline->messages, 0);
        ck_assert_uint_eq(price.messages, 0);
        gw_timeline_destroy(&timeline);
        gw_schedule_destroy(&schedule);
    }
}
END_TEST

Suite *suite_pipe_formulas(void)
{
    Suite *suite = suite_create("pipe_formulas");
    TCase *t = tcase_create("pipe_formulas");
    tcase_add_test(t, gpipe);
    tcase_add_test(t, one_forward_one_backward);
    tcase_add_loop_test(t, interleaved, 1, 5);
    tcase_add_test(t, zero_bubble);
    tcase_add_test(t, the_papers);
    tcase_add_test(t, one_stage_has_no_bubble);
    suite_add_tcase(suite, t);
    return suite;
}
