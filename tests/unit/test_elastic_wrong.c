/* SPDX-License-Identifier: MIT
 *
 * Data that elastic communicators refuse: contributions that would count twice
 * or must not count, contradictory slices, slices of another epoch, and invalid
 * calls.
 */
#include "elastic_hand.h"
#include "node_bits.h"

#include <stdatomic.h>
#include <string.h>

Suite *suite_elastic_wrong(void);

/* A member that fails stops the others, as a new view would. */
static void run_or_stop(struct elastic_ring *ring, unsigned rank, void *context)
{
    struct share *s = &((struct share *)context)[rank];
    share_run(s, ring, rank);
    for (unsigned r = 0; r < ring->size && s->err && s->err != GW_PENDING; r++)
        atomic_store(&ring->stops[r], true);
}

/* ---- the rule ---- */

/* Nodes are 5, 16 and 27. */
START_TEST(none_counts_twice)
{
    static const struct hop twice[] = {{0, 1, GW_ADD, false},
                                       {0, 1, GW_ADD, false}};
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    uint64_t sets[2] = {0};
    hand_open(&ring, shares, 1000);
    hand_plan(&ring, shares, twice, 2, ring_all_members(&ring), sets);
    ring_each(&ring, run_or_stop, shares);
    hand_expect(
        &ring, shares, 1, GW_EWRONG,
        "op 0, step 2, chunk 0 at node 16: node 5 would be counted twice");
    /* The old contents are unchanged, and no other member got an error. */
    ck_assert_uint_eq(node_bits(shares[1].sets[0]), ring_all_members(&ring));
    share_check(&shares[1], &ring, 1, ring.wire);
    ck_assert(shares[0].err == GW_OK || shares[0].err == GW_PENDING);
    hand_leave(&ring, shares);
}
END_TEST

/* Two simultaneous sources and the own value must be disjoint, too. */
START_TEST(several_sources_have_no_common_contributor)
{
    static const struct hop hops[] = {{0, 2, GW_ADD, false},
                                      {1, 2, GW_ADD, true}};
    struct elastic_ring ring = ring_of("shm", 3);
    uint64_t a = ring_bit(&ring, 0), b = ring_bit(&ring, 1),
             all = ring_all_members(&ring);
    const struct {
        uint64_t sets[3];
        const char *text;
    } cases[] = {
        {{a | b, b, 0}, "node 16 would be counted twice"},
        {{a | b, a | b, 0}, "nodes 5, 16 would be counted twice"},
        {{0, 0, all}, "nodes 5, 16 would be counted twice"},
        {{0, 0, 0}, NULL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct share shares[RING_MOST];
        hand_open(&ring, shares, 500);
        hand_plan(&ring, shares, hops, 2, all, cases[i].sets);
        ring_each(&ring, run_or_stop, shares);
        if (cases[i].text)
            hand_expect(&ring, shares, 2, GW_EWRONG, cases[i].text);
        else
            ck_assert_int_eq(shares[2].err, GW_OK);
        share_check(&shares[2], &ring, 2, "three");
        hand_leave(&ring, shares);
    }
}
END_TEST

START_TEST(none_counts_that_must_not)
{
    static const struct hop hops[] = {{0, 1, GW_REPLACE, false}};
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    uint64_t sets[2] = {0};
    hand_open(&ring, shares, 10);
    hand_plan(&ring, shares, hops, 1, ring_all_members(&ring), sets);
    shares[1].contributors.target = node_set(ring_bit(&ring, 1));
    ring_each(&ring, run_or_stop, shares);
    hand_expect(&ring, shares, 1, GW_EWRONG, "node 5 must not be counted");
    ck_assert_uint_eq(node_bits(shares[1].sets[0]), ring_bit(&ring, 1));
    share_check(&shares[1], &ring, 1, ring.wire);
    hand_leave(&ring, shares);
}
END_TEST

/* ---- slices with false headers ---- */

/* The headers of rank 0's two slices. */
struct lie {
    uint32_t epoch;
    uint64_t first, second; /* contributors */
    enum gw_err code;
    const char *text;
};

START_TEST(a_slice_that_lies_is_found_out)
{
    static const struct hop hops[] = {{0, 1, GW_ADD, false}};
    struct elastic_ring ring = ring_of(ring_wires[_i % RING_WIRES], 2);
    uint64_t a = ring_bit(&ring, 0), b = ring_bit(&ring, 1);
    const uint64_t apart = UINT64_C(0xaaaaaaaaaaaaaaaa);
    const struct lie lies[] = {
        {7, a, a, GW_OK, ""},
        {7, a, a | b, GW_EWRONG, "node 5 changed the contributors within"},
        {7, a, 0, GW_EWRONG, "node 5 sent data without contributors"},
        {7, 0, 0, GW_EWRONG, "node 5 sent data without contributors"},
        /* too many runs for a header: only their hash */
        {7, apart, apart, GW_EWRONG, "node 5 sent data without contributors"},
        {6, a, a, GW_EMISMATCH,
         "rank 1 is in epoch 7, but rank 0 is in epoch 6"},
        {8, a, a, GW_EMISMATCH,
         "rank 1 is in epoch 7, but rank 0 is in epoch 8"},
    };
    const struct lie *lie = &lies[_i / RING_WIRES];
    struct share shares[RING_MOST];
    uint64_t sets[2] = {0};
    ring.slice_bytes = 64;
    hand_open(&ring, shares, 16);
    hand_plan(&ring, shares, hops, 1, a | b, sets);
    for (uint32_t k = 0; k < 2; k++) {
        struct hand_slice slice = {.epoch = lie->epoch,
                                   .slice = k,
                                   .bytes = 64,
                                   .contributors =
                                       k ? lie->second : lie->first};
        hand_send(&ring, &shares[0], 0, 1, &slice);
    }
    share_run(&shares[1], &ring, 1);
    hand_expect(&ring, shares, 1, lie->code, lie->text);
    ck_assert_uint_eq(node_bits(shares[1].sets[0]), lie->code ? b : a | b);
    share_check(&shares[1], &ring, 1, "a lie");
    hand_leave(&ring, shares);
}
END_TEST

START_TEST(members_of_two_epochs_do_not_mix)
{
    struct elastic_ring ring = ring_of(ring_wires[_i], 2);
    struct share shares[RING_MOST];
    ring.epochs[1]++;
    hand_open(&ring, shares, 100);
    share_plan_clean(shares, &ring);
    share_run_all(shares, &ring);
    for (unsigned r = 0; r < 2; r++) {
        ck_assert(shares[r].err == GW_EMISMATCH);
        ck_assert(strstr(gw_comm_error(ring.comms[r])->text, "epoch 8"));
        for (unsigned c = 0; c < 2; c++)
            ck_assert_uint_eq(node_bits(shares[r].sets[c]), ring_bit(&ring, r));
    }
    hand_leave(&ring, shares);
}
END_TEST

/* ---- invalid calls ---- */

enum fault { AVG, IN_PLACE, NOT_ALLREDUCE, OTHER_RANK, NO_SET, BEYOND, FAULTS };

START_TEST(senseless_calls_are_refused)
{
    static const char *const texts[FAULTS] = {
        [AVG] = "avg",
        [IN_PLACE] =
            "the operation needs an input buffer separate from the output",
        [NOT_ALLREDUCE] = "need an all-reduce",
        [OTHER_RANK] = "seen from rank 1",
        [NO_SET] = "chunk 1: the initial set must not be empty",
        [BEYOND] = "chunk 0: the initial set must not be empty",
    };
    struct elastic_ring ring = ring_of("shm", 2);
    struct share shares[RING_MOST];
    hand_open(&ring, shares, 100);
    share_plan_clean(shares, &ring);
    struct share *s = &shares[0];
    struct gw_call call = s->call;
    struct gw__program *program = s->program;
    switch ((enum fault)_i) {
    case AVG:
        s->call.op = GW_AVG;
        break;
    case IN_PLACE:
        s->call.in = GW_IN_PLACE;
        break;
    case NOT_ALLREDUCE:
        s->call.collective = GW_BROADCAST;
        break;
    case OTHER_RANK:
        s->program = shares[1].program;
        break;
    case NO_SET:
        s->sets[1] = node_set(0);
        break;
    default:
        s->contributors.target = node_set(ring_bit(&ring, 1));
    }
    share_run(s, &ring, 0);
    hand_expect(&ring, shares, 0, GW_EINVAL, texts[_i]);
    ck_assert_ptr_null(s->request);
    s->call = call;
    s->program = program;
    hand_leave(&ring, shares);
}
END_TEST

START_TEST(impossible_member_sets)
{
    static const struct {
        unsigned nodes[2];
        const char *text;
    } member_sets[] = {
        {{3, GW__NODES_MAX},
         "rank 1: node number 576 is out of range or used twice"},
        {{3, 3}, "rank 1: node number 3 is out of range or used twice"}};
    _Atomic bool stop = false;
    for (unsigned i = 0; i < 2; i++) {
        struct gw__comm_setup setup = {.config = {.size = 2},
                                       .nodes = member_sets[i].nodes,
                                       .interrupt = &stop};
        struct gw_comm *comm;
        struct gw_error why = {0};
        ck_assert_int_eq(gw__comm_prepare(&setup, &comm, &why), GW_EINVAL);
        ck_assert_str_eq(why.text, member_sets[i].text);
        ck_assert_ptr_null(comm);
    }
}
END_TEST

Suite *suite_elastic_wrong(void)
{
    Suite *suite = suite_create("elastic_wrong");
    TCase *arguments = tcase_create("elastic/link_profile");
    TCase *lies = tcase_create("elastic/lies");
    TCase *rest = tcase_create("elastic/refused");
    tcase_add_loop_test(arguments, none_counts_twice, 0, RING_WIRES);
    tcase_add_test(arguments, several_sources_have_no_common_contributor);
    tcase_add_loop_test(arguments, none_counts_that_must_not, 0, RING_WIRES);
    tcase_add_loop_test(lies, a_slice_that_lies_is_found_out, 0,
                        7 * RING_WIRES);
    tcase_add_loop_test(lies, members_of_two_epochs_do_not_mix, 0, RING_WIRES);
    tcase_add_loop_test(rest, senseless_calls_are_refused, 0, FAULTS);
    tcase_add_test(rest, impossible_member_sets);
    suite_add_tcase(suite, arguments);
    suite_add_tcase(suite, lies);
    suite_add_tcase(suite, rest);
    return suite;
}
