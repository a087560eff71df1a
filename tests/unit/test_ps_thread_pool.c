/* SPDX-License-Identifier: MIT
 *
 * The thread pool (ps/pool.h), and large updates in pieces (ps/store_pool.h):
 * every piece and job is done once, and rows have the bits of a single thread.
 */
#include <ps/store/store_parallel.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_thread_pool(void);

static struct gw__thread_pool *make_pool(unsigned threads)
{
    struct gw_error why;
    struct gw__thread_pool *pool;
    ck_assert_msg(!gw__thread_pool_new(threads, NULL, NULL, &pool, &why), "%s",
                  why.text);
    ck_assert_uint_eq(gw__thread_pool_threads(pool), threads + 1);
    return pool;
}

/* ---- the pool ---- */

enum { BLOCKS = 40, JOBS = 500 };

static void count_block(void *context, unsigned block)
{
    unsigned *times = context;
    times[block]++;
}

struct counted_job {
    struct gw__thread_pool_job job;
    unsigned times;
};

static void count_job(struct gw__thread_pool_job *job)
{
    struct counted_job *counted = (struct counted_job *)(void *)job;
    counted->times++;
}

START_TEST(every_block_is_done_once)
{
    struct gw__thread_pool *pool = make_pool((unsigned)_i + 1);
    for (unsigned round = 0; round < 200; round++) {
        unsigned times[BLOCKS] = {0};
        gw__thread_pool_run(pool, BLOCKS, count_block, times);
        for (unsigned i = 0; i < BLOCKS; i++)
            ck_assert_uint_eq(times[i], 1);
    }
    gw__thread_pool_destroy(&pool);
    ck_assert_ptr_null(pool);
}
END_TEST

/* With pieces in between, which jobs do not delay. */
START_TEST(every_job_is_done_once)
{
    static struct counted_job tasks[JOBS];
    struct gw__thread_pool *pool = make_pool(3);
    unsigned taken = 0;
    memset(tasks, 0, sizeof tasks);
    for (unsigned i = 0; i < JOBS; i++) {
        tasks[i].job.work = count_job;
        gw__thread_pool_post(pool, &tasks[i].job);
        unsigned times[BLOCKS] = {0};
        if (i % 50 == 0)
            gw__thread_pool_run(pool, BLOCKS, count_block, times);
        if (i % 7 == 0 && gw__thread_pool_pop_done(pool))
            taken++;
    }
    gw__thread_pool_drain(pool);
    while (gw__thread_pool_pop_done(pool))
        taken++;
    ck_assert_uint_eq(taken, JOBS);
    for (unsigned i = 0; i < JOBS; i++)
        ck_assert_uint_eq(tasks[i].times, 1);
    gw__thread_pool_destroy(&pool);
}
END_TEST

START_TEST(a_pool_has_some_threads)
{
    struct gw_error why;
    struct gw__thread_pool *pool;
    ck_assert_int_eq(gw__thread_pool_new(0, NULL, NULL, &pool, &why),
                     GW_EINVAL);
    ck_assert_int_eq(
        gw__thread_pool_new(GW__THREAD_POOL_MAX + 1, NULL, NULL, &pool, &why),
        GW_EINVAL);
    ck_assert_ptr_null(pool);
    gw__thread_pool_destroy(&pool);
}
END_TEST

/* ---- rows ---- */

enum { ROWS = 30000, WIDTH = 5, ROUNDS = 4 };

static struct gw__store *make_store(enum gw_ps_updater kind)
{
    struct gw_error why;
    struct gw__updater updater;
    struct gw__store *store;
    const struct gw_ps_table_config config = {.name = "t",
                                              .width = WIDTH,
                                              .updater = kind,
                                              .rate = 0.1F,
                                              .momentum = 0.9F,
                                              .beta1 = 0.9F,
                                              .beta2 = 0.99F,
                                              .beta = 1,
                                              .l1 = 0.01F,
                                              .l2 = 0.01F,
                                              .epsilon = 1e-6F,
                                              .init_range = 1};
    ck_assert_msg(!gw__updater_init(&updater, &config, NULL, NULL, 0, &why),
                  "%s", why.text);
    ck_assert(!gw__store_new(&updater, 0, 0, &store, &why));
    return store;
}

struct push {
    uint64_t keys[ROWS];
    uint32_t places[ROWS];
    float values[ROWS * WIDTH];
};

/* Distinct keys in random order; every second round has half of them. */
static void draw(struct push *push, struct gw_rng *rng)
{
    for (size_t i = 0; i < ROWS; i++)
        push->keys[i] = i * 7 + gw_rng_below(rng, 7);
    for (size_t i = ROWS - 1; i > 0; i--) {
        size_t j = gw_rng_below(rng, i + 1);
        uint64_t key = push->keys[i];
        push->keys[i] = push->keys[j];
        push->keys[j] = key;
    }
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        push->values[i] = (float)gw_rng_below(rng, 2000) / 1000 - 1;
}

START_TEST(blocks_give_the_same_bits)
{
    static struct push push;
    static float alone[ROWS * WIDTH], together[ROWS * WIDTH];
    enum gw_ps_updater kind = (enum gw_ps_updater)_i;
    struct gw_rng rng;
    if (kind == GW_PS_CALLBACK)
        return;
    struct gw__thread_pool *pool = make_pool(2);
    struct gw__store *one = make_store(kind), *three = make_store(kind);
    gw_rng_seed(&rng, 77);
    for (unsigned round = 0; round < ROUNDS; round++) {
        draw(&push, &rng);
        ck_assert(
            !gw__store_find(one, push.keys, ROWS, true, push.places, NULL));
        gw__store_update_parallel(NULL, one, push.places, ROWS, push.values,
                                  0.5F);
        ck_assert(
            !gw__store_find(three, push.keys, ROWS, true, push.places, NULL));
        gw__store_update_parallel(pool, three, push.places, ROWS, push.values,
                                  0.5F);
        ck_assert(gw__store_digest(one) == gw__store_digest(three));
    }
    push.keys[5] = UINT64_MAX; /* one that was never pushed */
    ck_assert(
        !gw__store_find(three, push.keys, ROWS, false, push.places, NULL));
    gw__store_read_parallel(NULL, three, push.keys, push.places, ROWS, false,
                            alone);
    for (unsigned relaxed = 0; relaxed < 2; relaxed++) {
        memset(together, 0xff, sizeof together);
        gw__store_read_parallel(pool, three, push.keys, push.places, ROWS,
                                relaxed, together);
        ck_assert(memcmp(alone, together, sizeof alone) == 0);
    }
    gw__store_destroy(&one);
    gw__store_destroy(&three);
    gw__thread_pool_destroy(&pool);
}
END_TEST

/* A single Hogwild thread writes the same as the others. */
START_TEST(relaxed_updates_have_the_same_bits)
{
    static struct push push;
    const enum gw_ps_updater kinds[] = {GW_PS_ADD, GW_PS_SGD, GW_PS_ADAGRAD};
    struct gw__store *usual = make_store(kinds[_i]);
    struct gw__store *relaxed = make_store(kinds[_i]);
    struct gw_rng rng;
    gw_rng_seed(&rng, 78);
    ck_assert(gw__store_has_relaxed(usual));
    for (unsigned round = 0; round < ROUNDS; round++) {
        draw(&push, &rng);
        ck_assert(
            !gw__store_find(usual, push.keys, ROWS, true, push.places, NULL));
        gw__store_update(usual, push.places, ROWS, push.values, 0.5F);
        ck_assert(
            !gw__store_find(relaxed, push.keys, ROWS, true, push.places, NULL));
        gw__store_update_relaxed(relaxed, push.places, ROWS, push.values, 0.5F);
        ck_assert(gw__store_digest(usual) == gw__store_digest(relaxed));
    }
    gw__store_destroy(&usual);
    gw__store_destroy(&relaxed);
}
END_TEST

Suite *suite_ps_thread_pool(void)
{
    Suite *suite = suite_create("ps_thread_pool");
    TCase *c = tcase_create("ps_pool");
    tcase_add_loop_test(c, every_block_is_done_once, 0, 4);
    tcase_add_test(c, every_job_is_done_once);
    tcase_add_test(c, a_pool_has_some_threads);
    tcase_add_loop_test(c, blocks_give_the_same_bits, 0, GW_PS_UPDATERS);
    tcase_add_loop_test(c, relaxed_updates_have_the_same_bits, 0, 3);
    suite_add_tcase(suite, c);
    return suite;
}
