/* SPDX-License-Identifier: MIT
 *
 * The work of the members of a ring, without a ring: equal results make equal
 * states, each row counts once per data epoch whichever members take part, and
 * the sums of ops show wrong members.
 */
#include "run/node/work.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_work(void);

enum { MEMBERS = 4, ROWS = 210, BATCH = 8 };
enum { SHARDS = (ROWS + BATCH - 1) / BATCH };

static char path[] = "/tmp/gradwire-test-work-XXXXXX";

/* Two linearly separable classes, except for every tenth row. */
static void write_rows(void)
{
    struct gw_rng rng;
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    gw_rng_seed(&rng, 1);
    for (int i = 0; i < ROWS; i++) {
        double x = gw_rng_unit(&rng) * 2 - 1, y = gw_rng_unit(&rng) * 2 - 1;
        int above = (x + y > 0) ^ (i % 10 == 0);
        fprintf(file, "%d 1:%f 2:%f\n", above ? 1 : -1, x, y);
    }
    ck_assert(!fclose(file));
}

static void remove_rows(void)
{
    unlink(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
}

/* ---- a ring of members in one process ---- */

struct work_group {
    struct work *works[MEMBERS];
    void *states[MEMBERS];
    uint64_t op;
};

static void work_group_open(struct work_group *group,
                            const struct work_order *order)
{
    struct gw_error why;
    memset(group, 0, sizeof *group);
    for (unsigned m = 0; m < MEMBERS; m++) {
        ck_assert_msg(!work_load(order, 1, &group->works[m], &why), "%s",
                      why.text);
        group->states[m] = calloc(1, group->works[m]->state_bytes);
        work_begin(group->works[m], group->states[m]);
    }
}

static void work_group_close(struct work_group *group)
{
    for (unsigned m = 0; m < MEMBERS; m++) {
        work_destroy(&group->works[m]);
        free(group->states[m]);
    }
}

/* Adds the inputs of `contributors`. */
static void add_up(const struct gw_ring_call *calls, uint64_t contributors,
                   void *out)
{
    const void *sources[MEMBERS];
    unsigned count = 0;
    for (unsigned m = 0; m < MEMBERS; m++)
        if (contributors >> m & 1)
            sources[count++] = calls[m].in;
    gw_reduce_local(&(struct gw_reduce_local){.sources = sources,
                                              .dests = &out,
                                              .source_count = count,
                                              .dest_count = 1,
                                              .count = calls[0].count,
                                              .type = calls[0].type,
                                              .op = calls[0].op});
}

/* One op with the members `present`. Those of them that are not contributors
 * die in it (their states still advance, which has no effect). */
static struct gw_ring_result work_group_op(struct work_group *group,
                                           uint64_t present,
                                           uint64_t contributors, void *out)
{
    struct gw_ring_call calls[MEMBERS];
    struct gw_ring_result result = {
        .op = group->op++, .contributors = {{contributors}}, .data = out};
    for (unsigned m = 0; m < MEMBERS; m++) {
        if (!(present >> m & 1))
            continue;
        struct gw_error why;
        ck_assert_int_eq(work_contribute(group->works[m], group->states[m], m,
                                         result.initial_count, &calls[m], &why),
                         GW_OK);
        result.initial_members[result.initial_count++] = m;
        result.tag = calls[m].tag;
        result.count = calls[m].count;
    }
    unsigned first = (unsigned)__builtin_ctzll(contributors);
    if (first != 0)
        calls[0] = calls[first];
    add_up(calls, contributors, out);
    for (unsigned m = 0; m < MEMBERS; m++)
        work_apply(group->works[m], group->states[m], &result);
    return result;
}

static const struct work_head *head_of(const struct work_group *group)
{
    return group->states[0];
}

static void assert_equal(const struct work_group *group)
{
    for (unsigned m = 1; m < MEMBERS; m++)
        ck_assert_mem_eq(group->states[m], group->states[0],
                         group->works[0]->state_bytes);
}

/* ---- training ---- */

static struct work_order training(unsigned epochs)
{
    struct work_order order = {.id = 1,
                               .kind = WORK_TRAIN,
                               .model = "lr",
                               .epochs = epochs,
                               .batch = BATCH,
                               .rate = 0.5,
                               .momentum = 0.9,
                               .l2 = 1e-4};
    snprintf(order.file, sizeof order.file, "%s", path);
    return order;
}

/* Runs to the end with the members `who(step)`, all of which contribute except
 * those of `lost(step)`. */
static void train(struct work_group *group, uint64_t (*who)(uint64_t step),
                  uint64_t (*lost)(uint64_t step))
{
    float *sums = calloc(group->works[0]->count, sizeof *sums);
    unsigned ops = 0;
    while (!head_of(group)->done && ops++ < 10000) {
        uint64_t step = head_of(group)->step, present = who(step);
        work_group_op(group, present, present & ~lost(step), sums);
        assert_equal(group);
    }
    free(sums);
    ck_assert(head_of(group)->done && !head_of(group)->diverged);
    ck_assert_uint_eq(head_of(group)->unequal, 0);
}

static uint64_t all(uint64_t step)
{
    (void)step;
    return 0xf;
}

static uint64_t no_contributors(uint64_t step)
{
    (void)step;
    return 0;
}

static uint64_t coming_and_going(uint64_t step)
{
    return step < 10 ? 0xf : step < 20 ? 0xb : step < 21 ? 0x2 : 0xf;
}

static uint64_t now_and_then(uint64_t step)
{
    return step == 9 ? 0x4 : step == 19 ? 0x9 : step == 40 ? 0x1 : 0;
}

/* Undisturbed: an epoch has the shards divided by the members steps, rounded
 * up; the last step has places without a shard. */
START_TEST(undisturbed_training)
{
    enum { EPOCHS = 5 };
    struct work_order order = training(EPOCHS);
    struct node_status note = {.stage = STAGE_MEMBER};
    struct score score;
    struct work_group group;
    work_group_open(&group, &order);
    train(&group, all, no_contributors);
    ck_assert_uint_eq(head_of(&group)->step,
                      EPOCHS * ((SHARDS + MEMBERS - 1) / MEMBERS));
    ck_assert_double_eq(head_of(&group)->epoch_rows, ROWS);
    work_audit(group.works[0], group.states[0], &note);
    ck_assert_uint_eq(note.data_epoch, EPOCHS);
    work_score(group.works[0], group.states[0], &score);
    ck_assert_double_gt(score.train_accuracy, 0.85);
    ck_assert_double_lt(score.train_loss, 0.5);
    ck_assert(isnan(score.test_loss));
    work_group_close(&group);
}
END_TEST

/* With members that come, go and die: each row once per epoch, and nearly the
 * same loss. */
START_TEST(disturbed_training)
{
    enum { EPOCHS = 12 };
    struct work_order order = training(EPOCHS);
    struct node_status note = {.stage = STAGE_MEMBER};
    struct score calm, disturbed;
    struct work_group group;
    work_group_open(&group, &order);
    train(&group, all, no_contributors);
    work_score(group.works[0], group.states[0], &calm);
    work_group_close(&group);
    work_group_open(&group, &order);
    train(&group, coming_and_going, now_and_then);
    work_score(group.works[0], group.states[0], &disturbed);
    work_audit(group.works[0], group.states[0], &note);
    ck_assert_uint_eq(note.samples_lost, 0);
    ck_assert_uint_eq(note.samples_doubled, 0);
    ck_assert_double_eq(head_of(&group)->epoch_rows, ROWS);
    ck_assert_double_eq_tol(disturbed.train_loss / calm.train_loss, 1, 0.01);
    work_group_close(&group);
}
END_TEST

/* Rows that stay in their file: the same states, each row read once per epoch
 * by one member, and an error at the member whose rows are missing. */
START_TEST(rows_on_demand)
{
    enum { EPOCHS = 3 };
    struct work_order order = training(EPOCHS);
    struct score here, there;
    struct work_group memory, file;
    struct gw_ring_call call;
    struct gw_error why;
    ck_assert_int_eq(setenv("XDG_CACHE_HOME", "/dev/null", 1), 0);
    work_group_open(&memory, &order);
    train(&memory, all, no_contributors);
    order.on_demand = true;
    work_group_open(&file, &order);
    train(&file, all, no_contributors);
    ck_assert_mem_eq(file.states[0], memory.states[0],
                     file.works[0]->state_bytes);
    work_score(memory.works[0], memory.states[0], &here);
    work_score(file.works[0], file.states[0], &there);
    ck_assert_double_eq(there.train_loss, here.train_loss);
    uint64_t bytes = gw__row_source_bytes(&file.works[0]->train), read = 0;
    for (unsigned m = 0; m < MEMBERS; m++)
        read += file.works[m]->data_bytes;
    ck_assert_uint_gt(bytes, 0);
    ck_assert_uint_eq(read, EPOCHS * bytes);
    work_begin(file.works[0], file.states[0]);
    ck_assert_int_eq(truncate(path, 10), 0);
    ck_assert_int_eq(
        work_contribute(file.works[0], file.states[0], 0, 0, &call, &why),
        GW_EDATA);
    work_group_close(&file);
    work_group_close(&memory);
}
END_TEST

/* A loss that is not finite ends the training, on all members alike. */
START_TEST(divergence_ends_it)
{
    struct work_order order = training(50);
    struct work_group group;
    order.rate = 1e30;
    work_group_open(&group, &order);
    float *sums = calloc(group.works[0]->count, sizeof *sums);
    for (unsigned ops = 0; !head_of(&group)->done && ops < 10000; ops++)
        work_group_op(&group, 0xf, 0xf, sums);
    free(sums);
    ck_assert(head_of(&group)->done && head_of(&group)->diverged);
    assert_equal(&group);
    work_group_close(&group);
}
END_TEST

/* There is one check every so many steps; it finds a state that differs. */
START_TEST(checks_find_differences)
{
    struct work_order order = training(50);
    struct work_group group;
    unsigned checks = 0;
    work_group_open(&group, &order);
    float *sums = calloc(group.works[0]->count + 8, sizeof *sums);
    for (unsigned op = 0; op < 2 * (WORK_CHECK_STEPS + 1); op++)
        checks += work_group_op(&group, 0xf, 0xf, sums).tag == WORK_CHECK;
    ck_assert_uint_eq(checks, 2);
    ck_assert_uint_eq(head_of(&group)->step, 2 * WORK_CHECK_STEPS);
    ck_assert_uint_eq(head_of(&group)->unequal, 0);
    ((float *)((struct work_head *)group.states[2] + 1))[0] += 1;
    for (unsigned op = 0; op <= WORK_CHECK_STEPS; op++)
        work_group_op(&group, 0xf, 0xf, sums);
    ck_assert_uint_eq(head_of(&group)->unequal, 1);
    free(sums);
    work_group_close(&group);
}
END_TEST

START_TEST(bad_data_is_an_error)
{
    struct work_order order = training(1);
    struct work *work;
    struct gw_error why;
    FILE *file = fopen(path, "w");
    fputs("1 1:x\n", file);
    fclose(file);
    ck_assert_int_eq(work_load(&order, 1, &work, &why), GW_EDATA);
    ck_assert_ptr_null(work);
    ck_assert_ptr_nonnull(strstr(why.text, ":1:"));
}
END_TEST

/* ---- ops ---- */

static struct work_order ops(void)
{
    return (struct work_order){
        .id = 1, .kind = WORK_OPS, .bytes = 80, .count = 3};
}

START_TEST(sums_prove_themselves)
{
    struct work_order order = ops();
    struct gw_error why;
    int64_t sums[10];
    struct work_group group;
    work_group_open(&group, &order);
    struct gw_ring_result result = work_group_op(&group, 0xf, 0xb, sums);
    ck_assert_int_eq(sums[9], 1 + 4 + 64);
    ck_assert_msg(!work_evaluate(group.works[0], &result, &why), "%s",
                  why.text);
    work_group_op(&group, 0xf, 0xf, sums);
    ck_assert(!head_of(&group)->done);
    work_group_op(&group, 0x3, 0x3, sums);
    ck_assert(head_of(&group)->done);
    work_group_close(&group);
}
END_TEST

/* The wrong digit identifies the node. */
START_TEST(wrong_sums_name_the_node)
{
    struct work_order order = ops();
    struct gw_error why;
    int64_t sums[10];
    struct work_group group;
    work_group_open(&group, &order);
    struct gw_ring_result result = work_group_op(&group, 0xf, 0xf, sums);
    sums[7] += 16;
    ck_assert_int_eq(work_evaluate(group.works[0], &result, &why), GW_EWRONG);
    ck_assert_str_eq(why.text, "op 0, element 7: node 2 counts 2 times, and "
                               "is a contributor");
    ck_assert_uint_eq(group.works[0]->sums_doubled, 1);
    sums[7] -= 32;
    ck_assert_int_eq(work_evaluate(group.works[0], &result, &why), GW_EWRONG);
    ck_assert_uint_eq(group.works[0]->sums_lost, 1);
    result.contributors = (struct gw_nodes){{0xb}};
    sums[7] += 16;
    ck_assert_int_eq(work_evaluate(group.works[0], &result, &why), GW_EWRONG);
    ck_assert_str_eq(why.text, "op 0, element 0: node 2 counts 1 times, and "
                               "is not a contributor");
    work_group_close(&group);
}
END_TEST

/* ---- no work ---- */

START_TEST(nothing_to_do_is_ticks)
{
    struct work_order order = {.kind = WORK_NONE};
    struct work_group group;
    work_group_open(&group, &order);
    ck_assert_uint_eq(work_next(group.states[0]), WORK_TICK);
    work_group_close(&group);
}
END_TEST

Suite *suite_work(void)
{
    Suite *suite = suite_create("work");
    TCase *training_case = tcase_create("training");
    tcase_add_checked_fixture(training_case, write_rows, remove_rows);
    tcase_add_test(training_case, undisturbed_training);
    tcase_add_test(training_case, disturbed_training);
    tcase_add_test(training_case, rows_on_demand);
    tcase_add_test(training_case, divergence_ends_it);
    tcase_add_test(training_case, checks_find_differences);
    tcase_add_test(training_case, bad_data_is_an_error);
    suite_add_tcase(suite, training_case);
    TCase *ops_case = tcase_create("ops");
    tcase_add_test(ops_case, sums_prove_themselves);
    tcase_add_test(ops_case, wrong_sums_name_the_node);
    tcase_add_test(ops_case, nothing_to_do_is_ticks);
    suite_add_tcase(suite, ops_case);
    return suite;
}
