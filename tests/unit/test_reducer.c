/* SPDX-License-Identifier: MIT
 *
 * Buckets of gradients: the grouping of tensors, completion in any order and in
 * any memory, and that a bucket is sent before the others are complete.
 * test_reducer_fail.c has the errors.
 */
#include "reducer_model.h"

#include <check.h>

Suite *suite_reducer(void);

enum { STEPS = 3 };

/* ---- buckets ---- */

static void assign(struct gw_comm *comm, void *context)
{
    /* bytes: 20, 1200, 68, 256, 4, 4000, 132 */
    static const struct {
        size_t bytes, first;
        unsigned buckets, of[TENSORS];
    } cases[] = {
        {1, 1, 7, {6, 5, 4, 3, 2, 1, 0}},
        {1000, 100, 4, {3, 2, 2, 2, 2, 1, 0}},
        {1000, 133, 3, {2, 1, 1, 1, 1, 0, 0}},
        {250, 0, 4, {3, 2, 2, 1, 1, 0, 0}},
        {0, 0, 1, {0, 0, 0, 0, 0, 0, 0}},
    };
    struct reducer_model model;
    (void)context;
    reducer_model_init(&model, comm, true);
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gw_reducer_config config = {.tensors = model.tensors,
                                           .tensor_count = TENSORS,
                                           .type = GW_F32,
                                           .bucket_bytes = cases[c].bytes,
                                           .first_bucket_bytes =
                                               cases[c].first};
        struct gw_reducer *reducer;
        MUST(gw_reducer_new(comm, &config, &reducer, NULL) == GW_OK);
        MUST(gw_reducer_buckets(reducer) == cases[c].buckets);
        for (unsigned i = 0; i < TENSORS; i++)
            MUST(gw_reducer_bucket(reducer, i) == cases[c].of[i]);
        MUST(gw_reducer_bucket(reducer, TENSORS) == cases[c].buckets);
        gw_reducer_free(&reducer);
        MUST(!reducer);
    }
    reducer_model_fini(&model, &(struct gw_reducer *){NULL});
}

START_TEST(last_tensors_first)
{
    run_ranks(NULL, 1, assign, NULL);
}
END_TEST

/* ---- sums and means ---- */

/* Fisher-Yates shuffle. */
static void shuffle(struct gw_rng *rng, unsigned order[TENSORS])
{
    for (unsigned i = 0; i < TENSORS; i++)
        order[i] = i;
    for (unsigned i = TENSORS - 1; i > 0; i--) {
        unsigned j = (unsigned)gw_rng_below(rng, i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
}

/* Each rank has its own order in each step, and its own kind of memory. */
static void any_order(struct gw_comm *comm, void *context)
{
    static const size_t sizes[] = {1, 250, 1000, 0};
    uint64_t seed = *(const uint64_t *)context;
    struct gw_rng rng;
    struct reducer_model model;
    struct gw_error why;
    unsigned order[TENSORS];
    gw_rng_seed(&rng, seed * 16 + gw_comm_rank(comm));
    reducer_model_init(&model, comm, gw_rng_below(&rng, 2));
    for (unsigned c = 0; c < 8; c++) {
        bool mean = c % 2;
        struct gw_reducer *reducer = reducer_model_reducer(
            comm, &model, mean ? GW_AVG : GW_SUM, sizes[c / 2]);
        for (unsigned s = 0; s < STEPS; s++) {
            shuffle(&rng, order);
            for (unsigned i = 0; i < TENSORS; i++)
                reducer_model_ready(comm, reducer, &model, s, order[i]);
            MUST(gw_reducer_wait(reducer, &why) == GW_OK);
            MUST(reducer_model_is_reduced(&model, s, mean));
        }
        gw_reducer_free(&reducer);
    }
    gw_free(model.memory);
}

START_TEST(ready_in_any_order)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        on_wire(_i, 1 + (unsigned)seed, 0, any_order, &seed);
}
END_TEST

static void other_types(struct gw_comm *comm, void *context)
{
    int64_t ones[70], twos[3];
    unsigned rank = gw_comm_rank(comm);
    const struct gw_reducer_tensor tensors[] = {{NULL, ones, 70},
                                                {NULL, twos, 3}};
    const struct gw_reducer_config config = {
        .tensors = tensors, .tensor_count = 2, .type = GW_I64};
    struct gw_reducer *reducer;
    (void)context;
    MUST(gw_reducer_new(comm, &config, &reducer, NULL) == GW_OK);
    for (unsigned i = 0; i < 70; i++)
        ones[i] = rank + i;
    twos[0] = twos[1] = twos[2] = -2;
    for (unsigned i = 0; i < 2; i++)
        MUST(gw_reducer_ready(reducer, i, NULL) == GW_OK);
    MUST(gw_reducer_wait(reducer, NULL) == GW_OK);
    for (unsigned i = 0; i < 70; i++)
        MUST(ones[i] == 3 + 3 * (int64_t)i);
    MUST(twos[2] == -6);
    gw_reducer_free(&reducer);
}

START_TEST(integers_are_summed)
{
    run_ranks(NULL, 3, other_types, NULL);
}
END_TEST

/* ---- overlap ---- */

static uint64_t bytes_sent(struct gw_comm *comm)
{
    uint64_t bytes = 0;
    for (unsigned peer = 0; peer < gw_comm_size(comm); peer++) {
        struct gw_counters counters;
        if (peer == gw_comm_rank(comm))
            continue;
        gw_comm_counters(comm, peer, &counters);
        bytes += counters.bytes_sent;
    }
    return bytes;
}

enum { FLOATS = 3 * 64 }; /* equal parts for three ranks */

static struct gw_reducer *two_buckets(struct gw_comm *comm, float *data)
{
    struct gw_reducer_tensor tensors[4];
    struct gw_reducer *reducer;
    for (unsigned i = 0; i < 4; i++)
        tensors[i] =
            (struct gw_reducer_tensor){NULL, data + i * FLOATS, FLOATS};
    const struct gw_reducer_config config = {.tensors = tensors,
                                             .tensor_count = 4,
                                             .type = GW_F32,
                                             .bucket_bytes = 8 * FLOATS};
    MUST(gw_reducer_new(comm, &config, &reducer, NULL) == GW_OK);
    MUST(gw_reducer_buckets(reducer) == 2);
    gw_comm_counters_reset(comm);
    return reducer;
}

/* All of a bucket is sent while later ones lack a gradient, and nothing of a
 * bucket before its turn. All together send as much as one all-reduce. */
static void send_early(struct gw_comm *comm, void *context)
{
    float *data = gw_alloc(4 * FLOATS * sizeof *data, NULL);
    const uint64_t bucket_bytes = 2 * 2 * FLOATS * sizeof *data * 2 / 3;
    double comm_us, exposed_us;
    (void)context;
    MUST(data);
    struct gw_reducer *reducer = two_buckets(comm, data);
    MUST(gw_reducer_ready(reducer, 3, NULL) == GW_OK);
    MUST(bytes_sent(comm) == 0);
    MUST(gw_reducer_ready(reducer, 2, NULL) == GW_OK);
    while (bytes_sent(comm) < bucket_bytes)
        MUST(gw_reducer_poll(reducer, NULL) == GW_OK);
    MUST(bytes_sent(comm) == bucket_bytes);
    MUST(gw_reducer_ready(reducer, 1, NULL) == GW_OK);
    MUST(gw_reducer_ready(reducer, 0, NULL) == GW_OK);
    MUST(gw_reducer_wait(reducer, NULL) == GW_OK);
    MUST(bytes_sent(comm) == 2 * bucket_bytes);
    gw_reducer_times(reducer, &comm_us, &exposed_us);
    MUST(comm_us > 0 && exposed_us >= 0 && exposed_us <= comm_us);
    for (unsigned i = 0; i < 2; i++)
        MUST(gw_reducer_ready(reducer, i, NULL) == GW_OK);
    MUST(bytes_sent(comm) == 2 * bucket_bytes);
    for (unsigned i = 2; i < 4; i++)
        MUST(gw_reducer_ready(reducer, i, NULL) == GW_OK);
    MUST(gw_reducer_wait(reducer, NULL) == GW_OK);
    MUST(bytes_sent(comm) == 4 * bucket_bytes);
    gw_reducer_free(&reducer);
    gw_free(data);
}

START_TEST(a_bucket_is_sent_before_the_next)
{
    on_wire(_i, 3, 0, send_early, NULL);
}
END_TEST

Suite *suite_reducer(void)
{
    Suite *suite = suite_create("reducer");
    TCase *tcase = tcase_create("buckets");
    tcase_add_test(tcase, last_tensors_first);
    tcase_add_loop_test(tcase, ready_in_any_order, 0, WIRES);
    tcase_add_test(tcase, integers_are_summed);
    tcase_add_loop_test(tcase, a_bucket_is_sent_before_the_next, 0, WIRES);
    suite_add_tcase(suite, tcase);
    return suite;
}
