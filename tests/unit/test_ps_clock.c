/* SPDX-License-Identifier: MIT
 *
 * The clock of a group, as a specification: whichever workers come, die and
 * come back (ps_group.h), each item of the plan is closed exactly once; ssp
 * keeps its bound; kofn drops late items, once.
 */
#include "ps_group.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct gw_error why;

static const struct gw_ps_mode bsp = {.kind = GW_PS_BSP},
                               asp = {.kind = GW_PS_ASP},
                               bsp_drop = {.kind = GW_PS_BSP, .drop = true};

static void check_once(const struct ps_group *c, uint64_t seed)
{
    for (unsigned e = 0; e < EPOCHS; e++)
        for (unsigned b = 0; b < BATCHES; b++)
            for (unsigned p = 0; p < PARTS; p++)
                ck_assert_msg(c->times[e][b][p] == 1,
                              "seed %llu: part %u of batch %u of epoch %u "
                              "closed %u times",
                              (unsigned long long)seed, p, b, e,
                              c->times[e][b][p]);
}

START_TEST(each_work_item_closes_once)
{
    static struct ps_group c;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        ps_group_run(&c, seed, bsp, seed % 3 ? 8 : 0);
        check_once(&c, seed);
        ps_group_run(&c, seed, asp, seed % 3 ? 8 : 0);
        check_once(&c, seed);
        ps_group_run(&c, seed,
                     (struct gw_ps_mode){.kind = GW_PS_SSP,
                                         .bound = (unsigned)(seed % 4)},
                     seed % 3 ? 8 : 0);
        check_once(&c, seed);
    }
}
END_TEST

/* Each batch is closed once as a whole, in its number of parts, and the clock's
 * counters match. */
static void check_whole(const struct ps_group *c, uint64_t seed)
{
    for (unsigned e = 0; e < EPOCHS; e++)
        for (unsigned b = 0; b < BATCHES; b++)
            for (unsigned p = 0; p < GROUP; p++)
                ck_assert_msg(c->times[e][b][p] == (p < c->parts[e][b]),
                              "seed %llu: part %u of %u of batch %u of epoch "
                              "%u closed %u times",
                              (unsigned long long)seed, p, c->parts[e][b], b, e,
                              c->times[e][b][p]);
}

START_TEST(parts_follow_workers)
{
    static struct ps_group c;
    unsigned most = 0, least = UINT32_MAX;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const struct gw_ps_mode modes[] = {
            bsp, asp, {.kind = GW_PS_SSP, .bound = 1}};
        ps_group_begin_parts(&c, seed, modes[seed % 3], 3, 0);
        ps_group_end(&c, seed, 8);
        check_whole(&c, seed);
        for (unsigned b = 0; b < BATCHES; b++) {
            unsigned parts = c.parts[EPOCHS - 1][b];
            most = parts > most ? parts : most;
            least = parts < least ? parts : least;
        }
    }
    ck_assert_uint_ge(most, 5);
    ck_assert_uint_le(least, 2);
}
END_TEST

static struct gw_ps_clock_status status_of(const struct ps_group *c)
{
    static struct gw_ps_clock_status status;
    gw__clock_status(c->clock, &status);
    return status;
}

static void do_item(struct ps_group *c, unsigned i)
{
    ck_assert(c->hands[i].holds);
    c->hands[i].holds = false;
    c->hands[i].number++;
    ps_group_request(c, i);
    ps_group_receive(c);
}

/* The next batch has a part for the worker that joined during this one. */
START_TEST(who_joins_works_from_the_next_batch_on)
{
    static struct ps_group c;
    ps_group_begin_parts(&c, 1, bsp, 2, 0);
    ps_group_request(&c, 0);
    ps_group_request(&c, 1);
    ps_group_receive(&c);
    ps_group_add(&c, 2);
    ps_group_send_alive(&c);
    ps_group_request(&c, 2);
    ps_group_receive(&c);
    ck_assert(!c.hands[2].holds);
    do_item(&c, 0);
    do_item(&c, 1);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(c.hands[i].holds);
        ck_assert_uint_eq(c.hands[i].work.parts, 3);
        ck_assert_uint_eq(c.hands[i].work.staleness, 0);
    }
    ck_assert_uint_eq(status_of(&c).parts_begun, 5);
    gw__clock_destroy(&c.clock);
}
END_TEST

/* Two parts and three workers: the third counts as far as the others, so no
 * worker waits for it when ssp begins; and bsp has no staleness. */
START_TEST(who_has_no_work_is_not_the_slowest)
{
    static struct ps_group c;
    ps_group_begin_parts(&c, 1, bsp, 3, 2);
    for (unsigned i = 0; i < 3; i++)
        ps_group_request(&c, i);
    ps_group_receive(&c);
    for (unsigned round = 0; round < EPOCHS * BATCHES - 4; round++) {
        do_item(&c, 0);
        do_item(&c, 1);
        ck_assert_uint_eq(status_of(&c).workers[2].clock, round + 1);
    }
    ck_assert_uint_eq(status_of(&c).staleness[0],
                      2 * (EPOCHS * BATCHES - 4) + 2);
    ps_group_command(&c, &(struct gw__clock_command){
                             .kind = GW__CLOCK_MODE,
                             .mode = {.kind = GW_PS_SSP, .bound = 2}});
    ps_group_receive(&c);
    ck_assert(c.hands[2].holds);
    do_item(&c, 0);
    do_item(&c, 0);
    ck_assert(c.hands[0].holds); /* two ahead of a worker that has just begun */
    gw__clock_destroy(&c.clock);
}
END_TEST

START_TEST(kofn_closes_k_and_drops_the_late)
{
    static struct ps_group c;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        ps_group_run(&c, seed,
                     (struct gw_ps_mode){.kind = GW_PS_KOFN, .bound = 3},
                     seed % 3 ? 8 : 0);
        for (unsigned e = 0; e < EPOCHS; e++)
            for (unsigned b = 0; b < BATCHES; b++) {
                unsigned closed = 0;
                for (unsigned p = 0; p < PARTS; p++) {
                    ck_assert_uint_le(c.times[e][b][p], 1);
                    closed += c.times[e][b][p];
                }
                ck_assert_uint_eq(closed, 3);
            }
    }
}
END_TEST

START_TEST(ssp_keeps_its_bound)
{
    for (unsigned bound = 0; bound <= 4; bound++) {
        static struct ps_group c;
        ps_group_begin(&c, 40 + bound,
                       (struct gw_ps_mode){.kind = GW_PS_SSP, .bound = bound},
                       3);
        for (unsigned i = 0; i < 3; i++)
            ps_group_request(&c, i);
        for (unsigned t = 0; t < 4000 && !ps_group_is_done(&c); t++) {
            ps_group_step(&c, 0);
            uint64_t low = UINT64_MAX, high = 0;
            for (unsigned i = 0; i < 3; i++) {
                uint64_t at = c.hands[i].number;
                low = at < low ? at : low;
                if (c.hands[i].holds && at > high)
                    high = at;
                ck_assert(!c.hands[i].holds ||
                          c.hands[i].work.staleness <= bound);
            }
            ck_assert(high <= low + bound);
        }
        gw__clock_destroy(&c.clock);
    }
}
END_TEST

/* Each part is applied once, or left out and counted: returns their number. */
static unsigned check_left_out(const struct ps_group *c, uint64_t seed,
                               const struct gw_ps_clock_status *status)
{
    unsigned zero = 0;
    for (unsigned i = 0; i < EPOCHS * BATCHES * PARTS; i++) {
        unsigned at = i / PARTS;
        unsigned times = c->times[at / BATCHES][at % BATCHES][i % PARTS];
        ck_assert_msg(times <= 1,
                      "seed %llu: part %u of batch %u closed %u times",
                      (unsigned long long)seed, i % PARTS, at, times);
        zero += times == 0;
    }
    ck_assert_uint_eq(status->parts_dropped, zero);
    ck_assert_uint_eq(status->skipped, zero);
    return zero;
}

/* The mode may change at any time; each item is still closed once. */
START_TEST(modes_change)
{
    static struct ps_group c;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        ps_group_begin(&c, seed, bsp, 3);
        for (unsigned t = 0; !ps_group_is_done(&c); t++) {
            ck_assert_msg(t < 200000, "seed %llu", (unsigned long long)seed);
            ps_group_step(&c, 4);
            if (gw_rng_below(&c.rng, 15) == 0) {
                bool is_bsp = gw_rng_below(&c.rng, 2) != 0;
                const struct gw__clock_command change = {
                    .kind = GW__CLOCK_MODE,
                    .mode = {.kind = is_bsp ? GW_PS_BSP : GW_PS_SSP, 2}};
                ps_group_command(&c, &change);
                ps_group_receive(&c);
            }
        }
        const struct gw_ps_clock_status status = status_of(&c);
        seed % 2 ? check_once(&c, seed)
                 : (void)check_left_out(&c, seed, &status);
        gw__clock_destroy(&c.clock);
    }
}
END_TEST

/* The loss is 3 in epoch 0 and 2 in epoch 1, which is therefore the last epoch
 * for all workers. Every item that was assigned is closed once. */
START_TEST(stops_after_the_epoch_that_meets_the_condition)
{
    static struct ps_group c;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        ps_group_begin_until(&c, seed, seed % 2 ? bsp : asp, 3, 2.5);
        ps_group_end(&c, seed, 6);
        for (unsigned i = 0; i < EPOCHS * BATCHES * PARTS; i++) {
            unsigned e = i / PARTS / BATCHES;
            ck_assert_uint_eq(c.times[e][i / PARTS % BATCHES][i % PARTS],
                              e < 2);
        }
    }
    ps_group_begin_until(&c, 1, bsp, 3, 1); /* never: 1 is not below 1 */
    ps_group_end(&c, 1, 6);
    check_once(&c, 1);
}
END_TEST

/* Whichever workers die: a part is applied once, or left out once. */
START_TEST(drop_leaves_out_what_the_dead_had)
{
    static const struct gw_ps_mode modes[] = {
        {.kind = GW_PS_BSP, .drop = true},
        {.kind = GW_PS_ASP, .drop = true},
        {.kind = GW_PS_SSP, .bound = 1, .drop = true}};
    static struct ps_group c;
    unsigned dropped = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct gw_ps_clock_status status;
        ps_group_begin(&c, seed, modes[seed % 3], 3);
        ps_group_end_status(&c, seed, seed % 4 ? 8 : 0, &status);
        dropped += check_left_out(&c, seed, &status);
    }
    ck_assert_uint_gt(dropped, 60);
}
END_TEST

/* Worker 0 has two of four parts and has pushed one when it dies. That one is
 * applied, the other is left out, and the sum of three is scaled to four. */
START_TEST(drop_makes_up_by_the_scale)
{
    static struct ps_group c;
    ps_group_begin(&c, 1, bsp_drop, 3);
    for (unsigned i = 0; i < 3; i++)
        ps_group_request(&c, i);
    ps_group_receive(&c);
    do_item(&c, 0); /* it gets part 3 */
    ck_assert_uint_eq(c.hands[0].work.part, 3);
    c.hands[0].alive = false;
    ps_group_send_alive(&c);
    do_item(&c, 1);
    do_item(&c, 2);
    const struct gw__round_commit *commit =
        gw__clock_round_commit(c.clock, gw__clock_closed(c.clock));
    ck_assert_uint_eq(commit->apply, 3);
    ck_assert_double_eq_tol((double)commit->scale, 4.0 / 3, 1e-6);
    ck_assert_uint_eq(status_of(&c).parts_dropped, 1);
    c.hands[1].alive = c.hands[2].alive = false;
    ps_group_send_alive(&c);
    ck_assert_uint_eq(status_of(&c).parts_dropped, 5);
    ck_assert_uint_eq(status_of(&c).batch, 2);
    gw__clock_destroy(&c.clock);
}
END_TEST

/* Without a plan: a round is one item of each worker that has requested one. */
START_TEST(rounds_without_a_plan)
{
    static struct ps_group c;
    struct gw_ps_work work;
    memset(&c, 0, sizeof c);
    ck_assert_int_eq(gw__clock_new(&c.clock, &why), GW_OK);
    ps_group_command(
        &c, &(struct gw__clock_command){.kind = GW__CLOCK_PLAN,
                                        .mode = bsp,
                                        .plan = {.parts = 1, .workers = 2}});
    ps_group_add(&c, 0);
    ps_group_add(&c, 1);
    ps_group_send_alive(&c);
    struct gw__alive zero = {0, c.hands[0].incarnation},
                     one = {1, c.hands[1].incarnation};
    ps_group_request(&c, 0);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 0, &work), GW_PENDING);
    ps_group_request(&c, 1);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 0, &work), GW_OK);
    ck_assert_int_eq(gw__clock_granted(c.clock, one, 0, &work), GW_OK);
    c.hands[0].number = 1;
    ps_group_request(&c, 0);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 1, &work), GW_PENDING);
    char text[200];
    gw__clock_describe_wait(c.clock, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "worker 1"));
    /* The death of the last awaited worker ends the round. */
    c.hands[1].alive = false;
    ps_group_send_alive(&c);
    ck_assert_int_eq(gw__clock_granted(c.clock, zero, 1, &work), GW_OK);
    gw__clock_destroy(&c.clock);
}
END_TEST

START_TEST(barriers)
{
    static struct ps_group c;
    ps_group_begin(&c, 1, asp, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(gw__clock_barrier(c.clock, 7), GW_PENDING);
        for (unsigned twice = 0; twice < 2; twice++)
            ps_group_command(&c, &(struct gw__clock_command){
                                     .kind = GW__CLOCK_BARRIER,
                                     .who = {i, c.hands[i].incarnation},
                                     .number = 7,
                                     .count = 3});
    }
    ck_assert_int_eq(gw__clock_barrier(c.clock, 7), GW_OK);
    gw__clock_destroy(&c.clock);
}
END_TEST

START_TEST(refusals_change_nothing)
{
    static struct ps_group c;
    ps_group_begin(&c, 1, bsp, 1);
    size_t bytes = gw__clock_save(c.clock, NULL, 0);
    uint8_t *before = malloc(bytes), *after = malloc(bytes);
    ck_assert(before && after);
    gw__clock_save(c.clock, before, bytes);
    const struct gw__clock_command wrong[] = {
        {.kind = GW__CLOCK_NEXT, .who = {0, 99}},
        {.kind = GW__CLOCK_NEXT, .who = {0, 1}, .number = 1},
        {.kind = GW__CLOCK_PLAN, .mode = bsp, .plan = {.parts = 65}},
        {.kind = GW__CLOCK_PLAN, .mode = bsp, .plan = {.parts = 2}},
        {.kind = GW__CLOCK_MODE,
         .mode = {.kind = GW_PS_KOFN, .bound = PARTS + 1}},
        {.kind = GW__CLOCK_MODE, .mode = {.kind = GW_PS_KOFN}},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_ne(gw__clock_apply(c.clock, &wrong[i], &why), GW_OK);
        ck_assert_uint_eq(gw__clock_save(c.clock, after, bytes), bytes);
        ck_assert_mem_eq(before, after, bytes);
    }
    /* A truncated clock is refused. */
    struct gw__clock *other;
    ck_assert_int_eq(gw__clock_new(&other, &why), GW_OK);
    for (size_t length = 0; length < bytes; length++)
        ck_assert_int_eq(gw__clock_load(other, before, length, false, &why),
                         GW_EDATA);
    gw__clock_destroy(&other);
    gw__clock_destroy(&c.clock);
    free(before);
    free(after);
}
END_TEST

/* After a restore no earlier worker is alive, and each item is still closed
 * once. */
START_TEST(fresh_after_a_restore)
{
    static struct ps_group c;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        ps_group_begin(&c, seed, seed % 2 ? bsp : asp, 3);
        for (unsigned t = 0; t < 30 + seed; t++)
            ps_group_step(&c, 4);
        size_t bytes = gw__clock_save(c.clock, NULL, 0);
        uint8_t *room = malloc(bytes);
        ck_assert_ptr_nonnull(room);
        gw__clock_save(c.clock, room, bytes);
        ck_assert_int_eq(gw__clock_load(c.clock, room, bytes, true, &why),
                         GW_OK);
        free(room);
        for (unsigned i = 0; i < GROUP; i++)
            c.hands[i].alive = false;
        for (unsigned i = 0; i < 3; i++)
            ps_group_add(&c, i);
        ps_group_send_alive(&c);
        for (unsigned t = 0; !ps_group_is_done(&c); t++) {
            ck_assert_msg(t < 200000, "seed %llu", (unsigned long long)seed);
            ps_group_step(&c, 4);
        }
        check_once(&c, seed);
        gw__clock_destroy(&c.clock);
    }
}
END_TEST

Suite *suite_ps_clock(void);
Suite *suite_ps_clock(void)
{
    Suite *suite = suite_create("ps_clock");
    TCase *tcase = tcase_create("clock");
    tcase_add_test(tcase, each_work_item_closes_once);
    tcase_add_test(tcase, parts_follow_workers);
    tcase_add_test(tcase, who_joins_works_from_the_next_batch_on);
    tcase_add_test(tcase, who_has_no_work_is_not_the_slowest);
    tcase_add_test(tcase, kofn_closes_k_and_drops_the_late);
    tcase_add_test(tcase, ssp_keeps_its_bound);
    tcase_add_test(tcase, modes_change);
    tcase_add_test(tcase, stops_after_the_epoch_that_meets_the_condition);
    tcase_add_test(tcase, drop_leaves_out_what_the_dead_had);
    tcase_add_test(tcase, drop_makes_up_by_the_scale);
    tcase_add_test(tcase, rounds_without_a_plan);
    tcase_add_test(tcase, barriers);
    tcase_add_test(tcase, refusals_change_nothing);
    tcase_add_test(tcase, fresh_after_a_restore);
    suite_add_tcase(suite, tcase);
    return suite;
}
