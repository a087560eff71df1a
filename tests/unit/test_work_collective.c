/* SPDX-License-Identifier: MIT
 *
 * The checks of collectives in the work of a ring, without a ring: results by
 * the definition of each collective are right, and any other element is wrong.
 */
#include "run/node/work.h"

#include <check.h>
#include <string.h>

Suite *suite_work_collective(void);

enum { RANKS = 3, BLOCK = 40 };
static const unsigned ring[RANKS] = {5, 0, 9}; /* nodes by rank */

/* A member per rank, before its step 7. */
struct collective_group {
    struct work *works[RANKS];
    struct work_head head;
    struct gw_call calls[RANKS];
    struct gw_ring_result result;
};

static void collective_open(struct collective_group *group,
                            enum gw_collective collective)
{
    const struct work_order order = {.id = 1,
                                     .kind = WORK_OPS,
                                     .bytes = 8 * BLOCK,
                                     .collective = collective,
                                     .whole = true,
                                     .members = 1};
    struct gw_error why;
    *group = (struct collective_group){.head = {.step = 7},
                                       .result = {.initial_count = RANKS}};
    for (unsigned r = 0; r < RANKS; r++) {
        group->result.initial_members[r] = ring[r];
        ck_assert(!work_load(&order, 1, &group->works[r], &why));
        work_collective_call(group->works[r], &group->head, ring[r],
                             &group->calls[r]);
    }
}

static void collective_close(struct collective_group *group)
{
    for (unsigned r = 0; r < RANKS; r++)
        work_destroy(&group->works[r]);
}

static const uint64_t *input_of(const struct collective_group *group,
                                unsigned rank)
{
    return group->calls[rank].in;
}

/* Adds element `index` of the ranks below `end`. */
static uint64_t sum_of(const struct collective_group *group, unsigned end,
                       size_t index)
{
    uint64_t sum = 0;
    for (unsigned r = 0; r < end; r++)
        sum += input_of(group, r)[index];
    return sum;
}

/* The result of a rank by the definition of its collective, with root 0;
 * returns its length. */
static size_t run_collective(const struct collective_group *group,
                             unsigned rank, uint64_t *out)
{
    enum gw_collective collective = group->calls[rank].collective;
    bool blocks = collective == GW_ALLGATHER || collective == GW_ALLTOALL ||
                  collective == GW_GATHER;
    size_t length = blocks ? RANKS * BLOCK : BLOCK;
    for (size_t k = 0; k < length; k++) {
        size_t from = k / BLOCK, i = k % BLOCK, mine = rank * BLOCK + i;
        switch (collective) {
        case GW_ALLGATHER:
        case GW_GATHER:
            out[k] = input_of(group, (unsigned)from)[i];
            break;
        case GW_ALLTOALL:
            out[k] = input_of(group, (unsigned)from)[mine];
            break;
        case GW_BROADCAST:
            out[k] = input_of(group, 0)[i];
            break;
        case GW_SCATTER:
            out[k] = input_of(group, 0)[mine];
            break;
        case GW_REDUCE_SCATTER:
            out[k] = sum_of(group, RANKS, mine);
            break;
        case GW_SCAN:
            out[k] = sum_of(group, rank + 1, i);
            break;
        case GW_EXSCAN:
            out[k] = sum_of(group, rank, i);
            break;
        default:
            out[k] = sum_of(group, RANKS, i);
        }
    }
    bool to_root = collective == GW_REDUCE || collective == GW_GATHER;
    return (to_root && rank > 0) || (collective == GW_EXSCAN && rank == 0)
               ? 0
               : length;
}

static enum gw_err check_collective(struct collective_group *group,
                                    unsigned rank, struct gw_error *why)
{
    return work_collective_evaluate(group->works[rank], &group->head,
                                    ring[rank], ring[0], &group->result, why);
}

static const enum gw_collective collectives[] = {
    GW_ALLREDUCE, GW_REDUCE,   GW_BROADCAST,      GW_GATHER, GW_SCATTER,
    GW_ALLGATHER, GW_ALLTOALL, GW_REDUCE_SCATTER, GW_SCAN,   GW_EXSCAN};

START_TEST(every_wrong_element_of_a_collective_is_found)
{
    struct collective_group group;
    struct gw_error why;
    collective_open(&group, collectives[_i]);
    for (unsigned r = 0; r < RANKS; r++) {
        uint64_t *out = group.works[r]->result;
        size_t length = run_collective(&group, r, out);
        ck_assert_msg(!check_collective(&group, r, &why), "%s", why.text);
        for (size_t k = 0; k < length; k++) {
            out[k] ^= UINT64_C(1) << k % 64;
            ck_assert_int_eq(check_collective(&group, r, &why), GW_EWRONG);
            out[k] ^= UINT64_C(1) << k % 64;
        }
        ck_assert_uint_eq(group.works[r]->wrong, length);
    }
    collective_close(&group);
}
END_TEST

START_TEST(a_result_of_another_step_or_ring_is_wrong)
{
    struct collective_group group;
    struct gw_error why;
    collective_open(&group, collectives[_i]);
    run_collective(&group, 2, group.works[2]->result);
    size_t length = run_collective(&group, 0, group.works[0]->result);
    unsigned rank = length > 0 ? 0 : 2;
    group.head.step++;
    ck_assert_int_eq(check_collective(&group, rank, &why), GW_EWRONG);
    group.head.step--;
    ck_assert_int_eq(check_collective(&group, rank, &why), GW_OK);
    group.result.initial_count = rank; /* it is not in this ring */
    ck_assert_int_eq(check_collective(&group, rank, &why), GW_EWRONG);
    collective_close(&group);
}
END_TEST

START_TEST(a_missing_and_a_doubled_contribution_are_counted)
{
    struct collective_group group;
    struct gw_error why;
    collective_open(&group, GW_ALLREDUCE);
    struct work *work = group.works[1];
    run_collective(&group, 1, work->result);
    work->result[3] += input_of(&group, 2)[3];
    ck_assert_int_eq(check_collective(&group, 1, &why), GW_EWRONG);
    ck_assert_str_eq(why.text,
                     "op 0, allreduce among 3 members: 1 of 40 elements are "
                     "wrong at node 0; the first is 3, in which node 9 counts "
                     "twice");
    ck_assert_uint_eq(work->sums_doubled, 1);
    work->result[3] -= 2 * input_of(&group, 2)[3];
    ck_assert_int_eq(check_collective(&group, 1, &why), GW_EWRONG);
    ck_assert_ptr_nonnull(strstr(why.text, "in which node 9 is missing"));
    ck_assert_uint_eq(work->sums_lost, 1);
    work->result[3] += 1;
    ck_assert_int_eq(check_collective(&group, 1, &why), GW_EWRONG);
    ck_assert_ptr_nonnull(strstr(why.text, "is not the sum of 3 nodes"));
    ck_assert_uint_eq(work->wrong, 3);
    collective_close(&group);
}
END_TEST

/* The block is the same for any number of members. */
START_TEST(all_blocks_of_a_collective_are_the_given_bytes)
{
    struct work_order order = {.kind = WORK_OPS,
                               .bytes = 96,
                               .collective = GW_ALLTOALL,
                               .whole = true,
                               .members = 4};
    struct work *work;
    struct gw_error why;
    ck_assert(!work_load(&order, 1, &work, &why));
    ck_assert_uint_eq(work->count, 3);
    work_destroy(&work);
    order.collective = GW_BROADCAST;
    ck_assert(!work_load(&order, 1, &work, &why));
    ck_assert_uint_eq(work->count, 12);
    work_destroy(&work);
}
END_TEST

Suite *suite_work_collective(void)
{
    Suite *suite = suite_create("work_collective");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, every_wrong_element_of_a_collective_is_found, 0,
                        sizeof collectives / sizeof *collectives);
    tcase_add_loop_test(t, a_result_of_another_step_or_ring_is_wrong, 0,
                        sizeof collectives / sizeof *collectives);
    tcase_add_test(t, a_missing_and_a_doubled_contribution_are_counted);
    tcase_add_test(t, all_blocks_of_a_collective_are_the_given_bytes);
    suite_add_tcase(suite, t);
    return suite;
}
