/* SPDX-License-Identifier: MIT
 *
 * For any distribution of the parameters along the data axis, and any buckets
 * of gradients, a step gives the result of one process; and the bytes sent and
 * held are those of gw_layout_price, exactly.
 */
#include "shard_rank.h"

#include <check.h>
#include <string.h>

Suite *suite_shards_modes(void);

/* The use of the data axis. */
struct shape {
    enum gw_data_mode mode;
    unsigned data, group;
};

static const struct shape shapes[] = {
    {GW_DATA_REPLICATED, 1, 0}, {GW_DATA_REPLICATED, 2, 0},
    {GW_DATA_REPLICATED, 3, 0}, {GW_DATA_REPLICATED, 4, 0},
    {GW_DATA_ZERO1, 1, 0},      {GW_DATA_ZERO1, 2, 0},
    {GW_DATA_ZERO1, 3, 0},      {GW_DATA_ZERO1, 2, 1},
    {GW_DATA_ZERO1, 4, 2},      {GW_DATA_ZERO1, 6, 3},
    {GW_DATA_SHARDED, 1, 0},    {GW_DATA_SHARDED, 2, 0},
    {GW_DATA_SHARDED, 3, 0},    {GW_DATA_SHARDED, 4, 0},
    {GW_DATA_SHARDED, 2, 1},    {GW_DATA_SHARDED, 4, 2},
    {GW_DATA_SHARDED, 6, 2},    {GW_DATA_SHARDED, 6, 3},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Buckets of gradients: all at once, a few, one by one (the first operator is
 * larger than a bucket, and the last ones are smaller). */
static const size_t buckets[] = {0, 200, 4500, 1, 1 << 30};
enum { BUCKETS = sizeof buckets / sizeof *buckets };

static struct shard_setup setup_of(const struct shape *shape)
{
    return (struct shard_setup){.data = shape->data,
                                .mode = shape->mode,
                                .group = shape->group,
                                .steps = 3};
}

static void run_setup(const struct shard_setup *setup, const char *wire,
                      bool no_windows, rank_body body)
{
    struct gw_comm_config config = {.wire = wire, .no_windows = no_windows};
    struct shard_setup copy = *setup;
    run_ranks(&config, shard_setup_ranks(setup), body, &copy);
}

/* With weights that are replicated along the tensor axis, whose gradients are
 * summands. */
static void run_tensor(const struct shape *shape, unsigned tensor,
                       rank_body body)
{
    struct shard_setup setup = setup_of(shape);
    if (setup.data > 3)
        return;
    setup.tensor = tensor;
    setup.split = GW_SPLIT_BATCH;
    run_setup(&setup, "shm", false, body);
}

/* ---- parameters ---- */

static void train_and_check(struct shard_rank *rank,
                            const struct shard_setup *setup)
{
    shard_rank_begin(rank, setup);
    for (unsigned s = 0; s < setup->steps; s++)
        shard_rank_step(rank);
    shard_rank_check(rank);
}

static void all_buckets(struct gw_comm *comm, void *context)
{
    struct shard_setup setup = *(const struct shard_setup *)context;
    struct shard_rank rank;
    shard_rank_join(&rank, &setup, comm);
    for (unsigned i = 0; i < 2 * BUCKETS; i++) {
        setup.bucket_bytes = buckets[i / 2];
        setup.overlap = i % 2;
        setup.optimiser = (enum gw_optimiser)(i % 3);
        train_and_check(&rank, &setup);
    }
    shard_rank_leave(&rank);
}

START_TEST(all_are_one_process)
{
    struct shard_setup setup = setup_of(&shapes[_i]);
    run_setup(&setup, "shm", false, all_buckets);
}
END_TEST

START_TEST(summands_along_the_tensor_axis)
{
    run_tensor(&shapes[_i], 2, all_buckets);
}
END_TEST

static void any_order(struct gw_comm *comm, void *context)
{
    struct shard_setup setup = *(const struct shard_setup *)context;
    static const unsigned order[SHARD_OPERATORS] = {2, 5, 0, 6, 1, 4, 3};
    struct shard_rank rank;
    struct gw_error why;
    setup.overlap = true;
    shard_rank_join(&rank, &setup, comm);
    shard_rank_begin(&rank, &setup);
    for (unsigned s = 0; s < 2; s++) {
        for (unsigned i = 0; i < SHARD_OPERATORS; i++)
            MUST(gw__shards_complete(rank.shards, order[i], &why) == GW_OK);
        MUST(gw__shards_step(rank.shards, &why) == GW_OK);
    }
    shard_rank_check(&rank); /* zero gradients change nothing */
    shard_rank_step(&rank);
    shard_rank_check(&rank);
    shard_rank_leave(&rank);
}

START_TEST(completed_in_any_order)
{
    struct shard_setup setup = setup_of(&shapes[_i]);
    setup.bucket_bytes = 200;
    run_setup(&setup, "shm", false, any_order);
}
END_TEST

/* ---- bits ---- */

static uint64_t digest_of(struct shard_rank *rank,
                          const struct shard_setup *setup)
{
    shard_rank_begin(rank, setup);
    for (unsigned s = 0; s < setup->steps; s++)
        shard_rank_step(rank);
    return shard_rank_digest(rank);
}

static void overlap_or_not(struct gw_comm *comm, void *context)
{
    struct shard_setup setup = *(const struct shard_setup *)context;
    struct shard_rank rank;
    setup.odd = 1.0 / 3;
    shard_rank_join(&rank, &setup, comm);
    for (unsigned i = 0; i < 3 * BUCKETS; i++) {
        setup.bucket_bytes = buckets[i / 3];
        setup.optimiser = (enum gw_optimiser)(i % 3);
        setup.overlap = false;
        uint64_t after = digest_of(&rank, &setup);
        setup.overlap = true;
        MUST(digest_of(&rank, &setup) == after);
    }
    shard_rank_leave(&rank);
}

START_TEST(overlap_changes_no_bit)
{
    struct shard_setup setup = setup_of(&shapes[_i]);
    run_setup(&setup, "shm", _i % 2, overlap_or_not);
}
END_TEST

/* ---- bytes and memory ---- */

/* The formulas, spelled out for S padded bytes. */
static uint64_t formula(const struct shard_setup *setup, uint64_t whole)
{
    uint64_t data = setup->data, group = setup->group ? setup->group : data;
    uint64_t twice = 2 * whole;
    if (setup->mode == GW_DATA_REPLICATED)
        return twice * (data - 1) / data;
    uint64_t across = twice / group * (data / group - 1) / (data / group);
    if (setup->mode == GW_DATA_ZERO1)
        return twice * (group - 1) / group + across;
    /* Two micro-batches: four gathers and a scatter. */
    return 5 * whole * (group - 1) / group + across;
}

static uint64_t padded_bytes(const struct shard_rank *rank)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < SHARD_OPERATORS; i++)
        bytes += gw_layout_block(rank->layout,
                                 rank->layout->op_layouts[i].parameters_local) *
                 rank->layout->options.shard_group * sizeof(float);
    return bytes;
}

static void check_memory(const struct shard_rank *rank,
                         const struct gw_layout_price *price)
{
    struct gw_comm *comm = rank->comm;
    const struct shard_setup *setup = rank->setup;
    uint64_t whole = padded_bytes(rank);
    uint64_t share = whole / rank->layout->options.shard_group;
    uint64_t held = setup->mode == GW_DATA_SHARDED ? share : whole;
    uint64_t parameters, gradients, optimiser, gathered;
    gw__shards_memory(rank->shards, false, &parameters, &gradients, &optimiser,
                      &gathered);
    MUST(parameters == held && parameters == price->parameter_bytes);
    MUST(gradients == held && gradients == price->gradient_bytes);
    MUST(optimiser == gw_optimiser_words(setup->optimiser) * share &&
         optimiser == price->optimiser_bytes);
    MUST(gathered == price->gathered_bytes);
    bool gathers = setup->mode == GW_DATA_SHARDED && share < whole;
    MUST(gw__shards_summand_bytes(rank->shards, false) ==
         (gathers ? whole : 0));
}

static void count_bytes(struct gw_comm *comm, void *context)
{
    struct shard_setup setup = *(const struct shard_setup *)context;
    struct shard_rank rank;
    shard_rank_join(&rank, &setup, comm);
    for (unsigned i = 0; i < BUCKETS; i++) {
        struct gw_layout_price price;
        setup.bucket_bytes = buckets[i];
        setup.overlap = i % 2;
        setup.optimiser = (enum gw_optimiser)(i % 3);
        shard_rank_begin(&rank, &setup);
        gw_layout_price(rank.layout, 0, &price);
        for (unsigned s = 0; s < 2; s++)
            shard_rank_step(&rank);
        MUST(shard_rank_data_bytes(&rank) ==
             2 * formula(&setup, padded_bytes(&rank)));
        MUST(shard_rank_data_bytes(&rank) == 2 * price.data_bytes);
        MUST(shard_bytes_sent(rank.tensor) == 2 * price.tensor_weight_bytes);
        check_memory(&rank, &price);
    }
    shard_rank_leave(&rank);
}

START_TEST(bytes_are_the_formulas)
{
    static const char *const wires[] = {"shm", "shm", "ipc"};
    struct shard_setup setup = setup_of(&shapes[_i]);
    for (unsigned w = 0; w < 3; w++)
        run_setup(&setup, wires[w], w == 1, count_bytes);
}
END_TEST

START_TEST(bytes_along_the_tensor_axis)
{
    run_tensor(&shapes[_i], 3, count_bytes);
}
END_TEST

Suite *suite_shards_modes(void)
{
    Suite *suite = suite_create("shards modes");
    TCase *tcase = tcase_create("parameters");
    tcase_add_loop_test(tcase, all_are_one_process, 0, SHAPES);
    tcase_add_loop_test(tcase, summands_along_the_tensor_axis, 0, SHAPES);
    tcase_add_loop_test(tcase, completed_in_any_order, 0, SHAPES);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("bits");
    tcase_add_loop_test(tcase, overlap_changes_no_bit, 0, SHAPES);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("bytes");
    tcase_add_loop_test(tcase, bytes_are_the_formulas, 0, SHAPES);
    tcase_add_loop_test(tcase, bytes_along_the_tensor_axis, 0, SHAPES);
    suite_add_tcase(suite, tcase);
    return suite;
}
