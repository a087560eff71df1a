/* SPDX-License-Identifier: MIT
 *
 * Data shards: each is used once an epoch, whoever dies, and the work is shared
 * evenly. Seeds are printed where a random run fails.
 */
#include "registry_pair.h"

Suite *suite_registry_shards(void);

static enum gw_err shards(uint32_t count)
{
    return pair_apply(
        (struct gw__command){.kind = GW__CMD_SHARDS, .shards = count});
}

static enum gw_err lease(struct gw__process who, uint64_t step, unsigned count)
{
    return pair_apply((struct gw__command){
        .kind = GW__CMD_LEASE, .who = who, .lease = {step, count}});
}

static enum gw_err done(struct gw__process who, uint64_t through)
{
    return pair_apply((struct gw__command){
        .kind = GW__CMD_DONE, .who = who, .through = through});
}

static enum gw_err settle(struct gw__process who, uint64_t through)
{
    return pair_apply((struct gw__command){
        .kind = GW__CMD_SETTLE, .who = who, .through = through});
}

START_TEST(leases_are_balanced_and_lowest_first)
{
    pair_ring_of(3);
    ck_assert_int_eq(shards(10), GW_OK);
    pair_says("shards: 10, epoch 0 of the data");
    lease(pair_process(1, 0), 5, 9);
    pair_says("shards leased to node 1: 4; free: 6");
    ck_assert_uint_eq(pair.answer.shard_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(pair.answer.shards[i], i);
    lease(pair_process(1, 0), 9, 1);
    ck_assert_uint_eq(pair.answer.shard_count, 0);
    lease(pair_process(0, 0), 5, 2);
    ck_assert_uint_eq(pair.answer.shards[0], 4);
    lease(pair_process(2, 0), 5, 9);
    ck_assert_uint_eq(pair.answer.shard_count, 4);
    done(pair_process(1, 0), 6);
    pair_says("shards of node 1: 2 more done; 2 of 10 in epoch 0");
    lease(pair_process(1, 0), 9, 9); /* 8 undone: 3 each, of which 2 held */
    ck_assert_uint_eq(pair.answer.shard_count, 0);
    pair_says("shards leased to node 1: 0; free: 0");
}
END_TEST

START_TEST(the_undone_shards_of_the_dead_come_back_when_settled)
{
    pair_ring_of(3);
    shards(6);
    lease(pair_process(2, 0), 10, 2);
    pair_accuse(pair_process(0, 0), pair_process(2, 0), true);
    ck_assert_int_eq(done(pair_process(2, 0), 10), GW_EINVAL);
    pair_says("node 2 is already convicted");
    lease(pair_process(0, 0), 10, 9);
    ck_assert_uint_eq(pair.answer.shards[0], 2); /* not yet 0 or 1 */
    ck_assert_int_eq(settle(pair_process(0, 0), 10), GW_EINVAL);
    pair_says("node 0 is active and can speak for itself");
    pair_join(2, 1, GW__WORKER); /* its next incarnation has nothing to do
                                    with the shards of the last */
    ck_assert_int_eq(settle(pair_process(2, 0), 10), GW_OK);
    pair_says("shards of node 2: 1 done, 1 free again");
    settle(pair_process(2, 0), 11);
    pair_says("shards of node 2: 0 done, 0 free again");
    lease(pair_process(1, 0), 10, 1);
    ck_assert_uint_eq(pair.answer.shards[0], 1);
}
END_TEST

START_TEST(who_leaves_gives_back_at_once)
{
    pair_ring_of(2);
    shards(4);
    lease(pair_process(1, 0), 0, 2);
    done(pair_process(1, 0), 0);
    pair_leave(1);
    ck_assert_uint_eq(pair.first->shards_free, 3);
    ck_assert_uint_eq(pair.first->shards_done, 1);
    lease(pair_process(0, 0), 0, 1);
    ck_assert_uint_eq(pair.answer.shards[0], 1);
}
END_TEST

START_TEST(leases_are_refused_with_a_sentence)
{
    pair_ring_of(2);
    ck_assert_int_eq(shards(0), GW_EINVAL);
    ck_assert_int_eq(shards(GW__SHARDS_MAX + 1), GW_EINVAL);
    pair_says("the data has 1 to 16384 shards, not 16385");
    lease(pair_process(0, 0), 0, 1);
    pair_says("shards leased to node 0: 0; free: 0");
    shards(GW__SHARDS_MAX);
    lease(pair_process(0, 0), 7, 3);
    ck_assert_int_eq(lease(pair_process(0, 0), 9, 1), GW_EINVAL);
    pair_says("node 0 has shards for the steps below 10");
    ck_assert_int_eq(shards(5), GW_EINVAL);
    pair_says("shards are leased: 3");
    pair_join(5, 0, GW__OBSERVER);
    ck_assert_int_eq(lease(pair_process(5, 0), 0, 1), GW_EINVAL);
    pair_says("node 5 is no worker but observer");
    ck_assert_int_eq(lease(pair_process(1, 0), UINT64_MAX, 1), GW_EINVAL);
}
END_TEST

/* ---- a run of many epochs with deaths ---- */

enum { WORKERS = 5, SHARDS = 37 };

struct run {
    struct gw_rng rng;
    unsigned life[WORKERS];
    uint64_t step;
    unsigned held[WORKERS]; /* shards leased, first used at from[] */
    uint64_t from[WORKERS];
    uint32_t shard[WORKERS][GW__LEASE_MAX];
    unsigned used[SHARDS]; /* this data epoch */
};

/* Worker w's data counts in this step, if it has a shard for it. */
static void use(struct run *run, unsigned w)
{
    uint64_t at = run->step - run->from[w];
    if (run->held[w] > 0 && run->step >= run->from[w] && at < run->held[w])
        run->used[run->shard[w][at]]++;
}

static void expect_epoch(struct run *run, uint64_t before)
{
    if (pair.answer.data_epoch == before)
        return;
    for (unsigned i = 0; i < SHARDS; i++)
        ck_assert_uint_eq(run->used[i], 1);
    memset(run->used, 0, sizeof run->used);
    /* Nobody holds a shard any more. */
    memset(run->held, 0, sizeof run->held);
}

static void refill(struct run *run, unsigned w)
{
    uint64_t before = pair.first->data_epoch;
    if (run->held[w] > 0 && run->step < run->from[w] + run->held[w])
        return;
    if (run->held[w] > 0) {
        done(pair_process(w, run->life[w]), run->step - 1);
        run->held[w] = 0;
        expect_epoch(run, before);
    }
    lease(pair_process(w, run->life[w]), run->step,
          1 + (unsigned)gw_rng_below(&run->rng, 4));
    run->held[w] = pair.answer.shard_count;
    run->from[w] = run->step;
    memcpy(run->shard[w], pair.answer.shards, sizeof run->shard[w]);
}

/* Worker w dies in this step; its data counts or not, by the decision. */
static void die(struct run *run, unsigned w, unsigned witness, bool counts)
{
    struct gw__process dead = pair_process(w, run->life[w]);
    uint64_t before = pair.first->data_epoch;
    pair_accuse(pair_process(witness, run->life[witness]), dead, true);
    for (unsigned i = 0; i < WORKERS; i++)
        if (i != w)
            pair_apply(
                (struct gw__command){.kind = GW__CMD_REPORT,
                                     .who = pair_process(i, run->life[i]),
                                     .flush = {.epoch = pair.answer.epoch}});
    settle(dead, counts ? run->step : run->step - 1);
    run->held[w] = 0;
    expect_epoch(run, before);
    run->life[w]++;
    pair_join(w, run->life[w], GW__WORKER);
    ck_assert_int_eq(pair_admit(w, run->life[w], 0), GW_OK);
}

START_TEST(every_shard_is_used_once_an_epoch_whoever_dies)
{
    enum { STEPS = 400 };
    struct run run = {.step = 1};
    gw_rng_seed(&run.rng, (uint64_t)_i);
    pair_ring_of(WORKERS);
    shards(SHARDS);
    for (; run.step < STEPS; run.step++) {
        for (unsigned w = 0; w < WORKERS; w++)
            refill(&run, w);
        bool death = gw_rng_below(&run.rng, 4) == 0;
        bool counts = gw_rng_below(&run.rng, 2);
        unsigned dead = (unsigned)gw_rng_below(&run.rng, WORKERS);
        for (unsigned w = 0; w < WORKERS; w++)
            if (!death || w != dead || counts)
                use(&run, w);
        if (death)
            die(&run, dead, (dead + 1) % WORKERS, counts);
    }
    ck_assert_msg(pair.first->data_epoch > 10, "seed %d: epoch %llu", _i,
                  (unsigned long long)pair.first->data_epoch);
}
END_TEST

Suite *suite_registry_shards(void)
{
    Suite *suite = suite_create("registry_shards");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, pair_setup, pair_teardown);
    tcase_add_test(t, leases_are_balanced_and_lowest_first);
    tcase_add_test(t, the_undone_shards_of_the_dead_come_back_when_settled);
    tcase_add_test(t, who_leaves_gives_back_at_once);
    tcase_add_test(t, leases_are_refused_with_a_sentence);
    tcase_add_loop_test(t, every_shard_is_used_once_an_epoch_whoever_dies, 1,
                        6);
    suite_add_tcase(suite, t);
    return suite;
}
