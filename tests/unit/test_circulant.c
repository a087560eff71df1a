/* SPDX-License-Identifier: MIT
 *
 * The circulant graph and its broadcast schedule. The code does not show that
 * the schedule is correct, so the test runs it for every p up to 256 and some
 * larger ones: no rank sends a block before it has it, and after k - 1 +
 * ceil(log2 p) rounds each rank has received each of the k blocks once.
 */
#include "plan/algo/circulant_schedule.h"

#include <check.h>
#include <string.h>

Suite *suite_circulant(void);

START_TEST(skips_halve_rounding_up)
{
    for (unsigned p = 1; p <= GW_RANKS_MAX; p++) {
        unsigned skips[GW__CIRCULANT_MAX];
        unsigned q = gw__circulant_skips(p, skips);
        bool right = skips[0] == 1 && skips[q] == p;
        right = right && p <= 1U << q && (q == 0 || p > 1U << (q - 1));
        for (unsigned k = 0; k < q; k++)
            right = right && skips[k] == (skips[k + 1] + 1) / 2;
        ck_assert_msg(right, "p=%u", p);
    }
}
END_TEST

/* The blocks that each rank has, one bit per block. */
static uint64_t has[GW_RANKS_MAX], had[GW_RANKS_MAX];

/* Check's assertions are slow, so only failures call Check. */
static void check_hop(const struct gw_algo_args *args, unsigned round,
                      unsigned place, const struct gw__hop *hop)
{
    uint64_t bit = (uint64_t)1 << hop->chunk;
    if (hop->dst != place || !(had[hop->src] & bit) || (has[place] & bit))
        ck_abort_msg("p=%u k=%u round %u: place %u hears %u>%u c%u",
                     args->ranks, args->segments, round, place, hop->src,
                     hop->dst, hop->chunk);
    has[place] |= bit;
}

static void run(unsigned p, unsigned k)
{
    const uint64_t all = ((uint64_t)1 << k) - 1;
    const struct gw_algo_args args = {.ranks = p, .segments = k};
    memset(has, 0, p * sizeof *has);
    has[0] = all;
    for (unsigned round = 0; round < gw__circulant_rounds(&args); round++) {
        memcpy(had, has, p * sizeof *has);
        struct gw__hop hop;
        for (unsigned place = 0; place < p; place++)
            if (gw__circulant_hop(&args, round, place, &hop))
                check_hop(&args, round, place, &hop);
    }
    for (unsigned place = 0; place < p; place++)
        if (has[place] != all)
            ck_abort_msg("p=%u k=%u: place %u lacks blocks", p, k, place);
}

START_TEST(brings_each_block_once)
{
    for (unsigned p = 1; p <= 64; p++)
        for (unsigned k = 1; k <= 17; k++)
            run(p, k);
    for (unsigned p = 65; p <= 256; p++)
        for (unsigned k = 1; k <= 9; k += 4)
            run(p, k);
    run(1000, 4);
    run(4097, 2);
    run(GW_RANKS_MAX, 1);
}
END_TEST

START_TEST(takes_the_fewest_rounds)
{
    struct gw_algo_args args = {.ranks = 1, .segments = 5};
    ck_assert_uint_eq(gw__circulant_rounds(&args), 0);
    args.ranks = 2;
    ck_assert_uint_eq(gw__circulant_rounds(&args), 5 - 1 + 1);
    args.ranks = 9;
    ck_assert_uint_eq(gw__circulant_rounds(&args), 5 - 1 + 4);
    args.ranks = GW_RANKS_MAX;
    ck_assert_uint_eq(gw__circulant_rounds(&args), 5 - 1 + 14);
}
END_TEST

/* Place 1 receives from the root at once; the root receives nothing. */
START_TEST(counts_places_from_the_root)
{
    struct gw_algo_args args = {.ranks = 5, .root = 3, .segments = 1};
    struct gw__hop hop;
    ck_assert(gw__circulant_hop(&args, 0, 1, &hop));
    ck_assert_uint_eq(hop.src, 3);
    ck_assert_uint_eq(hop.dst, 4);
    ck_assert_uint_eq(hop.chunk, 0);
    for (unsigned round = 0; round < gw__circulant_rounds(&args); round++)
        ck_assert(!gw__circulant_hop(&args, round, 0, &hop));
}
END_TEST

Suite *suite_circulant(void)
{
    Suite *suite = suite_create("circulant");
    TCase *graph = tcase_create("graph");
    tcase_add_test(graph, skips_halve_rounding_up);
    suite_add_tcase(suite, graph);
    TCase *schedule = tcase_create("schedule");
    tcase_add_test(schedule, brings_each_block_once);
    tcase_add_test(schedule, takes_the_fewest_rounds);
    tcase_add_test(schedule, counts_places_from_the_root);
    suite_add_tcase(suite, schedule);
    return suite;
}
