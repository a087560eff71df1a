/* SPDX-License-Identifier: MIT
 *
 * Elastic calls of members that are out of step: one is an op ahead, one makes
 * another call, one comes late; and overlapping writes to a chunk, slice by
 * slice.
 */
#include "elastic_hand.h"
#include "node_bits.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

Suite *suite_elastic_order(void);

/* ---- early, different, late ---- */

struct two_ops {
    struct share shares[2][RING_MOST];
    struct gw_sink sink; /* of rank 0 */
    _Atomic bool waits;  /* it does, and has for 50 ms */
};

static void record_wait(struct gw_sink *sink, const struct gw_event *event)
{
    struct two_ops *two =
        (struct two_ops *)((char *)sink - offsetof(struct two_ops, sink));
    if (event->kind == GW_EV_WAIT)
        atomic_store(&two->waits, true);
}

static void run_both(struct elastic_ring *ring, unsigned rank, void *context)
{
    struct two_ops *two = context;
    while (rank == 2 && !atomic_load(&two->waits))
        sched_yield();
    for (unsigned i = 0; i < 2; i++)
        share_run(&two->shares[i][rank], ring, rank);
}

/* Rank 1 has nothing to do in the first op. So it is soon in the second one,
 * and sends rank 0 its data for that one, while rank 0 still waits for rank 2,
 * and longer than a plain call would. */
START_TEST(who_is_ahead_is_not_reported)
{
    static const struct hop first[] = {{2, 0, GW_REPLACE, false}};
    static const struct hop second[] = {{1, 0, GW_REPLACE, false}};
    struct elastic_ring ring = ring_of(ring_wires[_i], 3);
    struct two_ops two = {.sink = {.emit = record_wait}};
    uint64_t all = ring_all_members(&ring), sets[3] = {0, all, all};
    ring.sinks[0] = &two.sink;
    ring.timeout_ms = 10;
    hand_open(&ring, two.shares[0], 5000);
    for (unsigned r = 0; r < 3; r++) {
        share_init(&two.shares[1][r], &ring, r, 5000, true);
        two.shares[0][r].op = 100;
        two.shares[1][r].op = 101;
    }
    hand_plan(&ring, two.shares[0], first, 1, all, sets);
    hand_plan(&ring, two.shares[1], second, 1, all, sets);
    ring_each(&ring, run_both, &two);
    for (unsigned r = 0; r < 3; r++)
        for (unsigned i = 0; i < 2; i++) {
            ck_assert_msg(two.shares[i][r].err == GW_OK, "rank %u: %s", r,
                          gw_comm_error(ring.comms[r])->text);
            ck_assert_uint_eq(node_bits(two.shares[i][r].sets[0]), all);
            share_check(&two.shares[i][r], &ring, r, ring.wire);
        }
    hand_leave(&ring, two.shares[0]);
    for (unsigned r = 0; r < 3; r++)
        share_fini(&two.shares[1][r], true);
}
END_TEST

START_TEST(calls_that_differ_are_both_named)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    hand_open(&ring, shares, 100);
    share_plan_clean(shares, &ring);
    shares[1].call.op = GW_MAX;
    share_run_all(shares, &ring);
    hand_expect(&ring, shares, 0, GW_EMISMATCH,
                "rank 0 called elastic allreduce(100 i64, sum, plan #");
    hand_expect(&ring, shares, 0, GW_EMISMATCH,
                "rank 1 called elastic allreduce(100 i64, max, plan #");
    hand_leave(&ring, shares);
}
END_TEST

/* A different call is detected even if the plan expects no data from it. */
START_TEST(who_calls_something_else_is_seen_despite_the_plan)
{
    static const struct hop hops[] = {{2, 0, GW_REPLACE, false}};
    struct elastic_ring ring = ring_of(ring_wires[_i], 3);
    struct share shares[RING_MOST];
    uint64_t all = ring_all_members(&ring), sets[3] = {0, all, all};
    struct hand_slice slice = {.epoch = 7, .bytes = 64, .contributors = all};
    hand_open(&ring, shares, 8);
    hand_plan(&ring, shares, hops, 1, all, sets);
    shares[1].call.op = GW_MIN;
    hand_send(&ring, &shares[1], 1, 0, &slice);
    share_run(&shares[0], &ring, 0);
    hand_expect(&ring, shares, 0, GW_EMISMATCH, "rank 1 called");
    hand_leave(&ring, shares);
}
END_TEST

/* Node 1's messages take 5 ms. A chunk passes that node twice: once for the
 * reduction and once for the distribution. */
START_TEST(links_have_profiles)
{
    const struct gw_link_profile slow = {.delay_us = 5000};
    struct elastic_ring ring = ring_of(ring_wires[_i], 3);
    struct share shares[RING_MOST];
    ck_assert_int_eq(gw__link_profiles_new(1, &ring.profiles, NULL), GW_OK);
    gw__link_profiles_set(ring.profiles, ring.nodes[1], &slow);
    hand_open(&ring, shares, 1000);
    share_plan_clean(shares, &ring);
    uint64_t begin_ns = gw_now_ns();
    share_run_all(shares, &ring);
    ck_assert_uint_ge(gw_now_ns() - begin_ns, 10000000);
    for (unsigned r = 0; r < 3; r++) {
        ck_assert_int_eq(shares[r].err, GW_OK);
        ck_assert_uint_eq(node_bits(shares[r].sets[r]),
                          ring_all_members(&ring));
        share_check(&shares[r], &ring, r, ring.wire);
    }
    hand_leave(&ring, shares);
    gw__link_profiles_destroy(&ring.profiles);
}
END_TEST

/* ---- slice by slice ---- */

/* Lets rank 1 apply `moved` slices in total. */
static void apply(struct share *s, uint64_t moved)
{
    while (s->contributors.moved < moved)
        ck_assert_int_eq(gw_test(&s->request), GW_PENDING);
}

/* Each write has two slices. While one is under way the chunk has two versions
 * and counts as the input; after the last slice it counts as the sum. */
START_TEST(a_chunk_is_bare_while_writes_are_in_flight)
{
    static const struct hop hops[] = {{0, 1, GW_ADD, false},
                                      {2, 1, GW_ADD, false}};
    static const struct {
        unsigned from;
        uint32_t slice;
        bool bare; /* after it */
    } sequences[2][4] = {
        {{0, 0, true}, {0, 1, false}, {2, 0, true}, {2, 1, false}},
        {{0, 0, true}, {2, 0, true}, {0, 1, true}, {2, 1, false}},
    };
    struct elastic_ring ring = ring_of(ring_wires[_i % RING_WIRES], 3);
    struct share shares[RING_MOST];
    struct share *s = &shares[1];
    uint64_t sets[3] = {0}, own = ring_bit(&ring, 1), sum = own;
    ring.slice_bytes = 64;
    hand_open(&ring, shares, 16);
    hand_plan(&ring, shares, hops, 2, ring_all_members(&ring), sets);
    ck_assert_int_eq(gw__contributors_start(ring.comms[1], &s->call, s->program,
                                            s->op, &s->contributors,
                                            &s->request),
                     GW_OK);
    for (unsigned i = 0; i < 4; i++) {
        unsigned from = sequences[_i / RING_WIRES][i].from;
        struct hand_slice slice = {.epoch = 7,
                                   .step = from / 2,
                                   .slice = sequences[_i / RING_WIRES][i].slice,
                                   .bytes = 64,
                                   .contributors = ring_bit(&ring, from)};
        hand_send(&ring, &shares[from], from, 1, &slice);
        if (i < 3)
            apply(s, i + 1);
        else
            s->err = gw__contributors_wait(&s->request, &ring.stops[1]);
        sum |= ring_bit(&ring, from);
        bool bare = sequences[_i / RING_WIRES][i].bare;
        ck_assert_uint_eq(node_bits(s->sets[0]), bare ? own : sum);
        share_check(s, &ring, 1, ring.wire);
    }
    ck_assert_int_eq(s->err, GW_OK);
    hand_leave(&ring, shares);
}
END_TEST

Suite *suite_elastic_order(void)
{
    Suite *suite = suite_create("elastic_order");
    TCase *order = tcase_create("elastic/order");
    tcase_add_loop_test(order, who_is_ahead_is_not_reported, 0, RING_WIRES);
    tcase_add_loop_test(order, calls_that_differ_are_both_named, 0, RING_WIRES);
    tcase_add_loop_test(order,
                        who_calls_something_else_is_seen_despite_the_plan, 0,
                        RING_WIRES);
    tcase_add_loop_test(order, links_have_profiles, 0, RING_WIRES);
    tcase_add_loop_test(order, a_chunk_is_bare_while_writes_are_in_flight, 0,
                        2 * RING_WIRES);
    suite_add_tcase(suite, order);
    return suite;
}
