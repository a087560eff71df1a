/* SPDX-License-Identifier: MIT
 *
 * The root cause of a chain of waits, and the graph of observers.
 */
#include "node_bits.h"
#include <cluster/controller/stall_diagnosis.h>

#include <cluster/detector/observers.h>

#include <check.h>
#include <string.h>

Suite *suite_stall_diagnosis(void);

enum { NODES = 5 };
static struct gw__progress_report at[GW__NODES_MAX];

/* In op 12 each node of the ring waits for the one before it. */
static void setup(void)
{
    memset(at, 0, sizeof at);
    for (unsigned i = 0; i < NODES; i++)
        at[i] =
            (struct gw__progress_report){.stamp = 1,
                                         .op = 12,
                                         .phase = GW__REDUCING,
                                         .waits_for = (i + NODES - 1) % NODES};
}

static const struct gw_nodes none;

/* The diagnosis is the same from every member's view. */
static void expect_diagnosis(uint64_t dead, const char *sentence)
{
    const struct gw_nodes gone = node_set(dead);
    char text[160];
    for (unsigned i = 0; i < NODES; i++) {
        struct gw__stall_diagnosis found =
            gw__stall_diagnosis_find(at, &gone, i);
        gw__stall_diagnosis_text(&found, text);
        if (at[i].phase != GW__COMPUTE && at[i].waits_for != i &&
            at[i].waits_for != GW__WAITS_FOR_NONE)
            ck_assert_str_eq(text, sentence);
    }
}

START_TEST(the_dead)
{
    expect_diagnosis(1 << 3,
                     "op 12, reduce: node 3 is dead; node 4 waits for it");
}
END_TEST

START_TEST(who_has_not_entered)
{
    at[3].phase = GW__COMPUTE;
    expect_diagnosis(
        0, "op 12, reduce: node 3 has not entered it; node 4 waits for it");
}
END_TEST

START_TEST(who_is_behind)
{
    at[3].waits_for = GW__WAITS_FOR_NONE;
    expect_diagnosis(0,
                     "op 12, reduce: node 3 lags behind; node 4 waits for it");
    at[3].op = 11;
    at[3].phase = GW__GATHERING;
    expect_diagnosis(0,
                     "op 12, reduce: node 3 lags behind; node 4 waits for it");
}
END_TEST

START_TEST(who_is_in_an_earlier_op_and_waits_leads_on)
{
    for (unsigned i = 0; i < 3; i++)
        at[i].op = 11;
    at[0].phase = GW__COMPUTE;
    expect_diagnosis(
        0, "op 11, reduce: node 0 has not entered it; node 1 waits for it");
}
END_TEST

START_TEST(none_has_received_it)
{
    at[2].stamp = 0;
    expect_diagnosis(
        0, "op 12, reduce: node 2 has not reported; node 3 waits for it");
}
END_TEST

START_TEST(a_cycle_has_no_root)
{
    at[0].waits_for = 2; /* 0 > 2 > 1 > 0; 3 and 4 depend on it */
    for (unsigned i = 0; i < NODES; i++) {
        struct gw__stall_diagnosis found =
            gw__stall_diagnosis_find(at, &none, i);
        ck_assert_int_eq(found.lag, GW__LAG_CYCLE);
        ck_assert_uint_eq(node_bits(found.cycle), 7);
    }
    expect_diagnosis(0, "nodes 0 1 2 wait for each other in op 12");
}
END_TEST

START_TEST(who_has_gone_on_is_not_to_blame)
{
    char text[160];
    at[2].op = 13;
    at[2].phase = GW__COMPUTE;
    struct gw__stall_diagnosis found = gw__stall_diagnosis_find(at, &none, 3);
    gw__stall_diagnosis_text(&found, text);
    ck_assert_str_eq(text, "op 12, reduce: node 3 lags behind");
    at[2].phase = GW__REDUCING;
    found = gw__stall_diagnosis_find(at, &none, 4);
    ck_assert_int_eq(found.lag, GW__LAG_BEHIND);
    ck_assert_uint_eq(found.node, 3);
    at[1].phase = GW__COMPUTE;
    at[1].op = 13;
    found = gw__stall_diagnosis_find(at, &none, 1);
    ck_assert_int_eq(found.lag, GW__LAG_NONE);
    gw__stall_diagnosis_text(&found, text);
    ck_assert_str_eq(text, "node 1 does not wait");
}
END_TEST

START_TEST(standings_survive_the_journey)
{
    uint8_t bytes[64];
    struct gw__progress_report back, one = {1, 2, 3, GW__FLUSHING, 63};
    struct gw__writer w = gw__writer_on(bytes, sizeof bytes);
    gw__put_progress_report(&w, &one);
    struct gw__reader r = gw__reader_on(bytes, w.used);
    gw__get_progress_report(&r, &back);
    ck_assert(gw__reader_done(&r));
    ck_assert_uint_eq(back.moved, 3);
    bytes[w.used - 2] = GW__NODES_MAX & 255; /* unknown node */
    bytes[w.used - 1] = GW__NODES_MAX >> 8;
    r = gw__reader_on(bytes, w.used);
    gw__get_progress_report(&r, &back);
    ck_assert(!gw__reader_done(&r));
}
END_TEST

/* ---- observers ---- */

/* The diameter of the graph of observers, edges in both directions. */
static unsigned diameter(const struct gw__observers *o)
{
    unsigned longest = 0;
    for (unsigned from = 0; from < o->count; from++) {
        struct gw_nodes seen = gw__nodes_only(from), front = seen;
        unsigned hops = 0;
        while (!gw__nodes_is_empty(front)) {
            struct gw_nodes next = {{0}};
            for (unsigned i = 0; i < o->count; i++)
                if (gw__nodes_has(&front, i))
                    next = gw__nodes_or(
                        next, gw__nodes_or(gw__observers_of(o, i),
                                           gw__observers_observed(o, i)));
            front = gw__nodes_minus(next, seen);
            seen = gw__nodes_or(seen, next);
            hops += !gw__nodes_is_empty(front);
        }
        longest = hops > longest ? hops : longest;
    }
    return longest;
}

START_TEST(each_is_observed_by_two_neighbours_and_one_other)
{
    for (unsigned p = 1; p <= 64; p++) {
        struct gw__observers o;
        gw__observers_make(&o, p, (uint64_t)_i);
        unsigned want = p < 4 ? p - 1 : 3;
        for (unsigned i = 0; i < p; i++) {
            struct gw_nodes of = gw__observers_of(&o, i);
            struct gw_nodes observed = gw__observers_observed(&o, i);
            ck_assert_uint_eq(gw__nodes_count(of), want);
            ck_assert_uint_eq(gw__nodes_count(observed), want);
            ck_assert(!gw__nodes_has(&of, i));
            if (p > 1)
                ck_assert(gw__nodes_has(&of, (i + 1) % p) &&
                          gw__nodes_has(&of, (i + p - 1) % p));
            for (unsigned j = 0; j < p; j++) {
                observed = gw__observers_observed(&o, j);
                ck_assert(gw__nodes_has(&of, j) == gw__nodes_has(&observed, i));
            }
        }
        ck_assert_msg(diameter(&o) <= 7, "epoch %d, p %u: %u hops", _i, p,
                      diameter(&o));
    }
}
END_TEST

START_TEST(a_new_epoch_brings_other_strangers)
{
    struct gw__observers a, b;
    gw__observers_make(&a, 16, 1);
    gw__observers_make(&b, 16, 2);
    ck_assert_mem_ne(a.stranger, b.stranger, 16);
    gw__observers_make(&b, 16, 1);
    ck_assert_mem_eq(a.stranger, b.stranger, 16);
}
END_TEST

Suite *suite_stall_diagnosis(void)
{
    Suite *suite = suite_create("stall_diagnosis");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, the_dead);
    tcase_add_test(t, who_has_not_entered);
    tcase_add_test(t, who_is_behind);
    tcase_add_test(t, who_is_in_an_earlier_op_and_waits_leads_on);
    tcase_add_test(t, none_has_received_it);
    tcase_add_test(t, a_cycle_has_no_root);
    tcase_add_test(t, who_has_gone_on_is_not_to_blame);
    tcase_add_test(t, standings_survive_the_journey);
    tcase_add_loop_test(t, each_is_observed_by_two_neighbours_and_one_other, 1,
                        6);
    tcase_add_test(t, a_new_epoch_brings_other_strangers);
    suite_add_tcase(suite, t);
    return suite;
}
