/* SPDX-License-Identifier: MIT
 *
 * Scratch, copies inside a rank, channels and ranges of chunks: their text,
 * their proof, their price, and the events of a simulation.
 */
#include <gradwire/plan.h>
#include <gradwire/topology.h>

#include <check.h>
#include <event/apply.h>
#include <stdlib.h>
#include <string.h>

#include "traffic_run.h"

Suite *suite_plan_scratch(void);

/* Each rank sends its part to the other's scratch, which adds it. */
static const char pair[] = "allreduce ranks=2 chunks=2\n"
                           "step 0>1.1 c0..1 = @1  1>0.1 c0..1 = @1\n"
                           "step 0.1>0 c0..1 +  1.1>1 c0..1 +\n";

static struct gw_plan *parse(const char *text)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_parse(text, strlen(text), "t", 0, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return plan;
}

static void expect_fault(const char *text, enum gw_fault fault,
                         const char *sentence)
{
    struct gw_plan *plan = parse(text);
    struct gw_verdict verdict;
    ck_assert_int_eq(gw_plan_verify(plan, 0, &verdict, NULL), GW_EPLAN);
    ck_assert_str_eq(verdict.sentence, sentence);
    ck_assert_int_eq(verdict.fault, fault);
    gw_plan_destroy(&plan);
}

static void expect_refusal(const char *text, const char *sentence)
{
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_int_eq(gw_plan_parse(text, strlen(text), "t", 0, &plan, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text, sentence);
}

START_TEST(a_range_is_a_transfer_per_chunk)
{
    struct gw_plan *plan = parse(pair);
    struct gw_verdict verdict;
    ck_assert_uint_eq(plan->transfer_count, 8);
    ck_assert_uint_eq(plan->scratch, 1);
    ck_assert_uint_eq(plan->transfers[1].chunk, 1);
    ck_assert_uint_eq(plan->transfers[1].channel, 1);
    ck_assert_uint_eq(plan->transfers[1].src_scratch, 0);
    ck_assert_uint_eq(plan->transfers[1].dst_scratch, 1);
    ck_assert_int_eq(gw_plan_verify(plan, 0, &verdict, NULL), GW_OK);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(scratch_begins_empty_and_keeps_its_value)
{
    expect_fault("allreduce ranks=2 chunks=1\n"
                 "step 0.2>1 c0 +\n",
                 GW_FAULT_ABSENT,
                 "step 1: 0.2>1 c0: rank 0 does not hold c0 in scratch 2");
    expect_fault("allreduce ranks=2 chunks=1\n"
                 "step 0>1.1 c0 +  1>0 c0 +\n"
                 "step 1.1>1 c0 +\n"
                 "step 1.1>1 c0 +\n",
                 GW_FAULT_DOUBLE, "step 3: 1.1>1 c0 would count rank 0 twice");
    expect_fault("allreduce ranks=2 chunks=1\n"
                 "step 0>1.1 c0 =  1>0.1 c0 =\n"
                 "step 0.1>0 c0 +\n",
                 GW_FAULT_INCOMPLETE, "after step 2: rank 1 c0 lacks rank 0");
}
END_TEST

START_TEST(a_copy_needs_no_memory_between_so_a_swap_deadlocks)
{
    expect_fault(
        "allreduce ranks=2 chunks=1\n"
        "step 0>1.1 c0 =  1>0.1 c0 =\n"
        "step 0.1>0 c0 +  0>0.1 c0 =  1.1>1 c0 +\n",
        GW_FAULT_DEADLOCK,
        "step 2: 0.1>0 c0 waits forever: a cycle of 2 waits, with room "
        "for 1 slice per link");
}
END_TEST

START_TEST(scratch_and_channels_have_limits)
{
    expect_refusal("allreduce ranks=2 chunks=1\nstep 0.1>0.1 c0 +\n",
                   "t:2:6: rank 0 sends to itself");
    expect_refusal("allreduce ranks=2 chunks=1\nstep 0.1024>1 c0 +\n",
                   "t:2:8: scratch 1024 must be in 0..1023");
    expect_refusal("allreduce ranks=2 chunks=1\nstep 0>1 c0 + @64\n",
                   "t:2:16: channel 64 must be in 0..63");
    expect_refusal("allreduce ranks=2 chunks=2\nstep 0>1 c0..2 +\n",
                   "t:2:14: c2 must be in 0..1");
}
END_TEST

START_TEST(messages_are_counted_per_channel_and_copies_are_none)
{
    static const struct gw_cost_model model = {1, 0, 1};
    struct gw_price price;
    uint64_t messages[2], bytes[2];
    struct gw_plan *plan = parse("allreduce ranks=2 chunks=2\n"
                                 "step 0>1.1 c0 =  0>1.1 c1 = @1  1>0.1 c0 =  "
                                 "1>0.1 c1 =\n"
                                 "step 0.1>0.2 c0 =\n"
                                 "step 0.2>0 c0 +  0.1>0 c1 +  1.1>1 c0 +  "
                                 "1.1>1 c1 +\n");
    ck_assert_int_eq(gw_plan_price(plan, 200, 1, &model, &price, NULL), GW_OK);
    ck_assert_uint_eq(price.messages, 3);
    ck_assert_uint_eq(price.bytes, 400);
    ck_assert_uint_eq(price.rank_reduced_max, 200);
    /* two messages; the copy of 100; the sum of 200 */
    ck_assert_double_eq(price.predicted_us, 2 + 100 + 200);
    gw_plan_price_rank(plan, 200, 1, 0, messages, bytes);
    ck_assert_uint_eq(messages[0], 0);
    ck_assert_uint_eq(messages[1], 2);
    ck_assert_uint_eq(bytes[0], 0);
    ck_assert_uint_eq(bytes[1], 200);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(the_text_of_a_plan_is_its_plan)
{
    struct gw_plan *plan = parse(pair), *again;
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_int_eq(gw_plan_print(plan, file, NULL), GW_OK);
    fclose(file);
    again = parse(text);
    ck_assert(gw_plan_hash(plan) == gw_plan_hash(again));
    ck_assert_ptr_nonnull(strstr(text, "0>1.1 c0 = @1"));
    free(text);
    gw_plan_destroy(&again);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(the_value_of_an_apply_has_the_scratch)
{
    static const struct gw__apply all[] = {
        {0, 0, 0}, {2, 0, 0}, {1, 3, 0}, {0, 0, 1023}, {1, 1023, 1023}};
    struct gw__apply read;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int64_t value = gw__apply_value(&all[i]);
        ck_assert(gw__apply_parse(value, &read));
        ck_assert_mem_eq(&read, &all[i], sizeof read);
    }
    ck_assert_int_eq(gw__apply_value(&all[1]), 2);
    ck_assert(!gw__apply_parse(3, &read));
    ck_assert(!gw__apply_parse(-1, &read));
    ck_assert(!gw__apply_parse((int64_t)4 << 20, &read));
}
END_TEST

/* Of the events of a simulated run. */
struct seen {
    struct gw_sink sink;
    unsigned sends, applies, copies;
};

static void see(struct gw_sink *sink, const struct gw_event *event)
{
    struct seen *seen = (struct seen *)sink;
    seen->sends += event->kind == GW_EV_SEND;
    seen->applies += event->kind == GW_EV_APPLY;
    seen->copies += event->kind == GW_EV_APPLY && event->peer == event->rank;
}

START_TEST(a_simulation_shows_copies_and_charges_no_link)
{
    struct gw_plan *plan = parse(pair);
    struct gw_topology *topology = traffic_topology(RACK);
    struct gw_topology_result *result;
    struct seen seen = {.sink = {.emit = see}};
    const struct gw_topology_run run = {.plan = plan,
                                        .count = 1000,
                                        .elem_bytes = 4,
                                        .message_us = 1,
                                        .reduce_us_per_byte = 0.001,
                                        .events = &seen.sink};
    ck_assert_int_eq(gw_topology_simulate(topology, &run, &result, NULL),
                     GW_OK);
    ck_assert_uint_eq(result->messages, 2);
    ck_assert_uint_eq(result->bytes, 8000);
    ck_assert_uint_eq(seen.sends, 4);
    ck_assert_uint_eq(seen.applies, 8);
    ck_assert_uint_eq(seen.copies, 4);
    gw_topology_result_destroy(&result);
    gw_topology_destroy(&topology);
    gw_plan_destroy(&plan);
}
END_TEST

Suite *suite_plan_scratch(void)
{
    Suite *suite = suite_create("plan_scratch");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_range_is_a_transfer_per_chunk);
    tcase_add_test(tests, scratch_begins_empty_and_keeps_its_value);
    tcase_add_test(tests, a_copy_needs_no_memory_between_so_a_swap_deadlocks);
    tcase_add_test(tests, scratch_and_channels_have_limits);
    tcase_add_test(tests, messages_are_counted_per_channel_and_copies_are_none);
    tcase_add_test(tests, the_text_of_a_plan_is_its_plan);
    tcase_add_test(tests, the_value_of_an_apply_has_the_scratch);
    tcase_add_test(tests, a_simulation_shows_copies_and_charges_no_link);
    suite_add_tcase(suite, tests);
    return suite;
}
