/* SPDX-License-Identifier: MIT
 *
 * A trainer's use of its shards besides taking steps: the parameters of several
 * operators at once, saving and continuing from a saved state, the time of the
 * reduction, and giving up in the middle of a step.
 */
#include "shard_rank.h"

#include "learn/parallel/shards_parts.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_shards_life(void);

enum { FIRST = 0, SECOND = 2, THIRD = 4 }; /* operators with parameters */

static void run_setup(const struct shard_setup *setup, rank_body body)
{
    struct shard_setup copy = *setup;
    run_ranks(NULL, shard_setup_ranks(setup), body, &copy);
}

/* ---- optimisers ---- */

START_TEST(optimisers_have_names_and_state)
{
    static const struct {
        const char *name;
        enum gw_optimiser optimiser;
        unsigned words;
    } all[] = {
        {"sgd", GW_SGD, 0}, {"momentum", GW_MOMENTUM, 1}, {"adam", GW_ADAM, 2}};
    enum gw_optimiser found;
    struct gw_error why;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        ck_assert_int_eq(gw_optimiser_parse(all[i].name, &found, &why), GW_OK);
        ck_assert_int_eq(found, all[i].optimiser);
        ck_assert_uint_eq(gw_optimiser_words(found), all[i].words);
    }
    ck_assert_int_eq(gw_optimiser_parse("Adam", &found, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "\"Adam\" is not an optimiser; use sgd, momentum or adam");
}
END_TEST

/* However an array is cut, each element comes out the same. */
START_TEST(chunks_step_like_the_whole)
{
    enum { COUNT = 301, SPLIT_POINT = 77, STEPS = 5 };
    struct gw__optimiser optimiser = {
        .kind = (enum gw_optimiser)_i, .rate = 0.01, .momentum = 0.9};
    float whole[COUNT], split[COUNT], gradient[COUNT];
    float state[2 * COUNT] = {0}, left[2 * SPLIT_POINT] = {0},
                    right[2 * COUNT] = {0};
    struct gw_rng rng;
    gw_rng_seed(&rng, 7);
    for (unsigned i = 0; i < COUNT; i++)
        whole[i] = split[i] = (float)gw_rng_unit(&rng);
    for (unsigned s = 1; s <= STEPS; s++) {
        for (unsigned i = 0; i < COUNT; i++)
            gradient[i] = (float)(gw_rng_unit(&rng) - 0.5);
        gw__optimiser_step(&optimiser, s, whole, gradient, state, COUNT);
        gw__optimiser_step(&optimiser, s, split, gradient, left, SPLIT_POINT);
        gw__optimiser_step(&optimiser, s, split + SPLIT_POINT,
                           gradient + SPLIT_POINT, right, COUNT - SPLIT_POINT);
    }
    ck_assert_mem_eq(whole, split, sizeof whole);
}
END_TEST

/* ---- gathered parameters ---- */

static size_t whole_bytes(const struct shard_rank *rank, unsigned i)
{
    return gw_layout_block(rank->layout,
                           rank->layout->op_layouts[i].parameters_local) *
           rank->layout->options.shard_group * sizeof(float);
}

static uint64_t most_gathered(struct shard_rank *rank)
{
    uint64_t parameters, gradients, optimiser, gathered;
    gw__shards_memory(rank->shards, true, &parameters, &gradients, &optimiser,
                      &gathered);
    return gathered;
}

static const float *use_operator(struct shard_rank *rank, unsigned i)
{
    struct gw_comm *comm = rank->comm;
    const float *values;
    MUST(gw__shards_acquire(rank->shards, i, &values, NULL) == GW_OK);
    return values;
}

static void several_in_use(struct gw_comm *comm, void *context)
{
    const struct shard_setup *setup = context;
    struct shard_rank rank;
    shard_rank_join(&rank, setup, comm);
    shard_rank_begin(&rank, setup);
    bool gathers = rank.group && setup->mode == GW_DATA_SHARDED;
    const float *first = use_operator(&rank, FIRST),
                *second = use_operator(&rank, SECOND);
    size_t last = rank.layout->op_layouts[SECOND].parameters_local - 1;
    MUST(first[1] == shard_first(&rank, FIRST, 1));
    MUST(second[last] == shard_first(&rank, SECOND, last));
    gw__shards_release(rank.shards, FIRST);
    MUST(second[0] == shard_first(&rank, SECOND, 0));
    gw__shards_release(rank.shards, SECOND);
    size_t both = whole_bytes(&rank, FIRST) + whole_bytes(&rank, SECOND);
    MUST(most_gathered(&rank) == (gathers ? both : 0));
    /* Two buffers suffice for any two operators. */
    use_operator(&rank, THIRD);
    use_operator(&rank, FIRST);
    gw__shards_release(rank.shards, THIRD);
    use_operator(&rank, SECOND);
    gw__shards_release(rank.shards, FIRST);
    gw__shards_release(rank.shards, SECOND);
    MUST(most_gathered(&rank) == (gathers ? both : 0));
    shard_rank_leave(&rank);
}

START_TEST(several_operators_in_use)
{
    static const enum gw_data_mode modes[] = {GW_DATA_REPLICATED, GW_DATA_ZERO1,
                                              GW_DATA_SHARDED};
    struct shard_setup setup = {.data = 3, .mode = modes[_i]};
    run_setup(&setup, several_in_use);
}
END_TEST

/* ---- the pool ---- */

START_TEST(a_pool_has_as_many_buffers_as_were_borrowed)
{
    struct gw__shard_pool pool;
    struct gw_error why;
    ck_assert_int_eq(gw__shard_pool_init(&pool, 3, &why), GW_OK);
    float *small = gw__shard_pool_acquire(&pool, 100, &why);
    gw__shard_pool_release(&pool, small);
    float *large = gw__shard_pool_acquire(&pool, 9000, &why);
    ck_assert_uint_eq(pool.held_bytes, 9000); /* the small one was replaced */
    float *other = gw__shard_pool_acquire(&pool, 200, &why);
    gw__shard_pool_release(&pool, large);
    gw__shard_pool_release(&pool, other);
    ck_assert_ptr_eq(gw__shard_pool_acquire(&pool, 150, &why), other);
    ck_assert_ptr_eq(gw__shard_pool_acquire(&pool, 150, &why), large);
    ck_assert_uint_eq(pool.most_bytes, 9200);
    gw__shard_pool_release(&pool, large);
    gw__shard_pool_trim(&pool);
    ck_assert_uint_eq(pool.held_bytes, 200);
    gw__shard_pool_fini(&pool);
    ck_assert_uint_eq(pool.held_bytes, 0);
}
END_TEST

/* ---- saved states ---- */

static void save_and_go_on(struct gw_comm *comm, void *context)
{
    struct shard_setup setup = *(const struct shard_setup *)context;
    struct shard_rank rank;
    enum { BEFORE = 2, AFTER = 3 };
    shard_rank_join(&rank, &setup, comm);
    shard_rank_begin(&rank, &setup);
    while (rank.step < BEFORE)
        shard_rank_step(&rank);
    size_t bytes = gw__shards_state_bytes(rank.shards);
    void *state = malloc(bytes);
    MUST(state);
    gw__shards_save(rank.shards, state);
    while (rank.step < BEFORE + AFTER)
        shard_rank_step(&rank);
    uint64_t digest = shard_rank_digest(&rank);
    shard_rank_begin(&rank, &setup); /* starts again */
    MUST(gw__shards_state_bytes(rank.shards) == bytes);
    gw__shards_restore(rank.shards, state);
    rank.step = BEFORE;
    while (rank.step < BEFORE + AFTER)
        shard_rank_step(&rank);
    MUST(shard_rank_digest(&rank) == digest);
    free(state);
    shard_rank_leave(&rank);
}

START_TEST(a_picture_is_all)
{
    static const struct shard_setup setups[] = {
        {.data = 2, .mode = GW_DATA_REPLICATED},
        {.data = 3, .mode = GW_DATA_ZERO1},
        {.data = 2, .mode = GW_DATA_SHARDED},
        {.data = 4, .mode = GW_DATA_SHARDED, .group = 2}};
    struct shard_setup setup = setups[_i / 3];
    setup.optimiser = (enum gw_optimiser)(_i % 3);
    setup.odd = 1.0 / 3;
    setup.overlap = true;
    run_setup(&setup, save_and_go_on);
}
END_TEST

/* ---- overlap ---- */

static void send_while_computing(struct gw_comm *comm, void *context)
{
    struct shard_setup setup = *(const struct shard_setup *)context;
    struct shard_rank rank;
    struct gw_layout_price price;
    struct gw_error why;
    double comm_us, exposed_us;
    shard_rank_join(&rank, &setup, comm);
    shard_rank_begin(&rank, &setup);
    for (unsigned i = 0; i < SHARD_OPERATORS; i++)
        MUST(gw__shards_complete(rank.shards, i, &why) == GW_OK);
    gw_layout_price(rank.layout, 0, &price);
    while (setup.overlap && shard_rank_data_bytes(&rank) < price.data_bytes)
        MUST(gw__shards_poll(rank.shards, &why) == GW_OK);
    MUST(gw__shards_poll(rank.shards, &why) == GW_OK);
    MUST(setup.overlap || shard_rank_data_bytes(&rank) == 0);
    MUST(gw_barrier(rank.comm) == GW_OK);
    MUST(gw__shards_step(rank.shards, &why) == GW_OK);
    gw__shards_times(rank.shards, &comm_us, &exposed_us);
    MUST(comm_us > 0 && exposed_us > 0);
    MUST(shard_rank_data_bytes(&rank) == price.data_bytes);
    shard_rank_leave(&rank);
}

START_TEST(overlapped_gradients_need_no_step)
{
    struct shard_setup setup = {
        .data = 3, .bucket_bytes = 3000, .overlap = _i == 1};
    run_setup(&setup, send_while_computing);
}
END_TEST

static void alone(struct gw_comm *comm, void *context)
{
    struct shard_rank rank;
    double comm_us = 1, exposed_us = 1;
    shard_rank_join(&rank, context, comm);
    shard_rank_begin(&rank, context);
    shard_rank_step(&rank);
    gw__shards_times(rank.shards, &comm_us, &exposed_us);
    MUST(comm_us == 0 && exposed_us == 0);
    shard_rank_leave(&rank);
}

START_TEST(nothing_is_sent_for_one_rank)
{
    struct shard_setup setup = {
        .data = 1, .mode = (enum gw_data_mode)_i, .overlap = true};
    run_setup(&setup, alone);
}
END_TEST

/* ---- algorithms ---- */

static void with_algo(struct gw_comm *comm, void *context)
{
    struct shard_rank rank;
    shard_rank_join(&rank, context, comm);
    shard_rank_begin(&rank, context);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < SHARD_OPERATORS; i++)
        bytes += whole_bytes(&rank, i);
    shard_rank_step(&rank);
    shard_rank_check(&rank);
    MUST(shard_rank_data_bytes(&rank) == 2 * bytes); /* p - 1 times all data */
    shard_rank_leave(&rank);
}

START_TEST(the_algorithm_that_was_requested)
{
    struct shard_setup setup = {.data = 3, .algo = "one_shot"};
    run_setup(&setup, with_algo);
}
END_TEST

/* For a few elements the communicator would choose fewer rounds and more
 * bytes. */
static void thrifty(struct gw_comm *comm, void *context)
{
    static const size_t counts[] = {16, 256, 65536};
    static const struct {
        enum gw_collective collective;
        unsigned blocks; /* the fewest bytes per peer of a rank */
    } all[] = {{GW_ALLREDUCE, 2}, {GW_ALLGATHER, 1}, {GW_REDUCE_SCATTER, 1}};
    unsigned p = gw_comm_size(comm);
    (void)context;
    for (unsigned c = 0; c < 3; c++)
        for (unsigned i = 0; i < 3; i++) {
            enum gw_collective collective = all[i].collective;
            size_t count = counts[c] * (collective == GW_ALLREDUCE ? p : 1);
            struct gw_algo_args args = {.ranks = p};
            struct gw_cost_model model = {1, 1, 1};
            struct gw_plan *plan;
            struct gw_price price;
            MUST(gw_plan_make(
                     collective,
                     gw__bandwidth_optimal_algo(comm, collective, count, 4),
                     &args, &plan, NULL) == GW_OK);
            MUST(gw_plan_price(plan, count, 4, &model, &price, NULL) == GW_OK);
            gw_plan_destroy(&plan);
            MUST(price.rank_bytes_max ==
                 all[i].blocks * (p - 1) * counts[c] * 4);
        }
}

START_TEST(as_few_bytes_as_can_be)
{
    static const struct gw_comm_config wires[] = {
        {.wire = "shm"}, {.wire = "shm", .no_windows = true}, {.wire = "ipc"}};
    run_ranks(&wires[_i / 6], 2 + (unsigned)_i % 6, thrifty, NULL);
}
END_TEST

/* ---- errors ---- */

static void wrong_group(struct gw_comm *comm, void *context)
{
    struct shard_setup setup = *(const struct shard_setup *)context;
    static const unsigned first[] = {0};
    struct shard_rank rank;
    struct gw__shards *shards;
    struct gw_error why;
    shard_rank_join(&rank, &setup, comm);
    shard_rank_begin(&rank, &setup);
    struct gw__shards_config config = {.layout = rank.layout,
                                       .operators = first,
                                       .operator_count = 1,
                                       .axis = rank.axis};
    MUST(gw__shards_new(&config, &shards, &why) == GW_EINVAL);
    MUST(!shards);
    MUST(strcmp(why.text, "1 ranks share a copy and 1 have the same block, but "
                          "the layout has 2 and 1") == 0);
    shard_rank_leave(&rank);
}

START_TEST(communicators_that_do_not_fit)
{
    struct shard_setup setup = {.data = 2, .mode = GW_DATA_ZERO1};
    run_setup(&setup, wrong_group);
}
END_TEST

/* The first of these calls that meets the error returns it. */
static enum gw_err go_on(struct shard_rank *rank, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned i = SHARD_OPERATORS; !err && i-- > 0;)
        err = gw__shards_complete(rank->shards, i, why);
    return err ? err : gw__shards_step(rank->shards, why);
}

/* Rank 0 gives up with gradients under way; the others get an error. */
static void give_up(struct gw_comm *comm, void *context)
{
    struct shard_rank rank;
    struct gw_error why = {0};
    shard_rank_join(&rank, context, comm);
    shard_rank_begin(&rank, context);
    MUST(gw_barrier(comm) == GW_OK);
    if (rank.d > 0) {
        MUST(go_on(&rank, &why) == GW_ECLOSED);
        MUST(strstr(why.text, "ended during a step"));
    } else
        MUST(gw__shards_complete(rank.shards, SHARD_OPERATORS - 2, &why) ==
             GW_OK);
    gw__shards_destroy(&rank.shards);
    MUST(gw_barrier(comm) == GW_OK);
    shard_rank_leave(&rank);
}

START_TEST(abandoned_in_the_midst)
{
    struct shard_setup setup = {.data = 3,
                                .mode = (enum gw_data_mode)_i,
                                .bucket_bytes = 1,
                                .overlap = true};
    run_setup(&setup, give_up);
}
END_TEST

Suite *suite_shards_life(void)
{
    Suite *suite = suite_create("shards life");
    TCase *tcase = tcase_create("optimisers");
    tcase_add_test(tcase, optimisers_have_names_and_state);
    tcase_add_loop_test(tcase, chunks_step_like_the_whole, 0, 3);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("memory");
    tcase_add_loop_test(tcase, several_operators_in_use, 0, 3);
    tcase_add_test(tcase, a_pool_has_as_many_buffers_as_were_borrowed);
    tcase_add_loop_test(tcase, a_picture_is_all, 0, 12);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("calls");
    tcase_add_loop_test(tcase, overlapped_gradients_need_no_step, 0, 2);
    tcase_add_loop_test(tcase, nothing_is_sent_for_one_rank, 0, 3);
    tcase_add_test(tcase, the_algorithm_that_was_requested);
    tcase_add_loop_test(tcase, as_few_bytes_as_can_be, 0, 18);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("failures");
    tcase_add_test(tcase, communicators_that_do_not_fit);
    tcase_add_loop_test(tcase, abandoned_in_the_midst, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}
