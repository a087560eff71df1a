/* SPDX-License-Identifier: MIT
 *
 * The verifier: every kind of fault with its message and its history, and large
 * plans. Random plans are in test_plan_values.c, waits in test_plan_deadlock.c.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <string.h>

Suite *suite_plan_verify(void);

static struct gw_plan *parse(const char *text, unsigned ranks)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_parse(text, strlen(text), "t", ranks, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return plan;
}

struct wrong {
    const char *text;
    enum gw_fault fault;
    unsigned step, src, dst, chunk;
    const char *sentence;
    const char *history;
};

static void expect(const struct wrong *wrong)
{
    struct gw_plan *plan = parse(wrong->text, 0);
    struct gw_verdict v;
    struct gw_error why = {0};
    ck_assert_int_eq(gw_plan_verify(plan, 0, &v, &why), GW_EPLAN);
    ck_assert_str_eq(v.sentence, wrong->sentence);
    ck_assert_str_eq(why.text, wrong->sentence);
    ck_assert_str_eq(v.history, wrong->history);
    ck_assert_int_eq(v.fault, wrong->fault);
    ck_assert_uint_eq(v.step, wrong->step);
    ck_assert_uint_eq(v.src, wrong->src);
    ck_assert_uint_eq(v.dst, wrong->dst);
    ck_assert_uint_eq(v.chunk, wrong->chunk);
    gw_plan_destroy(&plan);
}

static void expect_all(const struct wrong *wrong, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect(&wrong[i]);
}

#define EXPECT_ALL(list) expect_all(list, sizeof list / sizeof *list)

/* ---- the faults ---- */

START_TEST(a_rank_counted_twice)
{
    static const struct wrong wrong[] = {
        {"reduce ranks=3 chunks=1 root=2\n"
         "step 0>1 c0 + 0>2 c0 +\n"
         "step 1>2 c0 +\n",
         GW_FAULT_DOUBLE, 2, 1, 2, 0, "step 2: 1>2 c0 would count rank 0 twice",
         "step 1: 0>1 c0 +  {1} + {0} = {0-1}\n"
         "step 1: 0>2 c0 +  {2} + {0} = {0,2}\n"
         "step 2: 1>2 c0 +  {0,2} + {0-1} shares {0}\n"},
        /* both sources in one step; the path of rank 4 is irrelevant */
        {"reduce ranks=5 chunks=2 root=3\n"
         "step 0>1 c1 + 0>2 c1 + 4>2 c0 +\n"
         "step 4>1 c1 +\n"
         "step 2>3 c1 + 1>3 c1 +\n",
         GW_FAULT_DOUBLE, 3, 1, 3, 1, "step 3: 1>3 c1 would count rank 0 twice",
         "step 1: 0>1 c1 +  {1} + {0} = {0-1}\n"
         "step 1: 0>2 c1 +  {2} + {0} = {0,2}\n"
         "step 3: 2>3 c1 +  {3} + {0,2} = {0,2-3}\n"
         "step 3: 1>3 c1 +  {0,2-3} + {0-1,4} shares {0}\n"},
        /* a value that returns to its origin */
        {"allreduce ranks=4 chunks=1\n"
         "step 0>1 c0 + 2>3 c0 +\n"
         "step 1>3 c0 +\n"
         "step 3>2 c0 +\n",
         GW_FAULT_DOUBLE, 3, 3, 2, 0, "step 3: 3>2 c0 would count rank 2 twice",
         "step 1: 2>3 c0 +  {3} + {2} = {2-3}\n"
         "step 3: 3>2 c0 +  {2} + {0-3} shares {2}\n"},
        /* the same transfer typed twice */
        {"reduce ranks=2 chunks=1\nstep 1>0 c0 + 1>0 c0 +\n", GW_FAULT_DOUBLE,
         1, 1, 0, 0, "step 1: 1>0 c0 would count rank 1 twice",
         "step 1: 1>0 c0 +  {0} + {1} = {0-1}\n"
         "step 1: 1>0 c0 +  {0-1} + {1} shares {1}\n"},
        {"allreduce ranks=8 chunks=1\n"
         "step for i in 1..7: i>0 c0 +\n"
         "step 0>1 c0 = 0>4 c0 =\n"
         "step 1>4 c0 +\n",
         GW_FAULT_DOUBLE, 3, 1, 4, 0,
         "step 3: 1>4 c0 would count ranks 0-7 twice",
         "step 2: 0>1 c0 =  {0-7}\n"
         "step 2: 0>4 c0 =  {0-7}\n"
         "step 3: 1>4 c0 +  {0-7} + {0-7} shares {0-7}\n"},
        {"broadcast ranks=2 chunks=1\nstep 0>1 c0 +\nstep 0>1 c0 +\n",
         GW_FAULT_DOUBLE, 2, 0, 1, 0, "step 2: 0>1 c0 + would count c0 twice",
         "step 1: 0>1 c0 +\nstep 2: 0>1 c0 +\n"},
    };
    EXPECT_ALL(wrong);
}
END_TEST

START_TEST(a_value_that_is_not_there)
{
    static const struct wrong wrong[] = {
        {"broadcast ranks=3 chunks=2 root=1\nstep 1>0 c0 = 0>2 c0 =\n",
         GW_FAULT_ABSENT, 1, 0, 2, 0, "step 1: 0>2 c0: rank 0 does not hold c0",
         "start: rank 1 holds c0\n"
         "step 1: 0>2 c0 =\n"
         "step 1: 1>0 c0 = comes too late\n"},
        {"allgather ranks=3 chunks=3\nstep 0>1 c0 = 1>2 c1 =\nstep 1>0 c2 =\n",
         GW_FAULT_ABSENT, 2, 1, 0, 2, "step 2: 1>0 c2: rank 1 does not hold c2",
         "start: rank 2 holds c2\nstep 2: 1>0 c2 =\n"},
    };
    EXPECT_ALL(wrong);
}
END_TEST

START_TEST(a_promise_that_is_not_kept)
{
    static const struct wrong wrong[] = {
        {"allreduce ranks=3 chunks=1\n"
         "step 0>1 c0 +\n"
         "step 1>0 c0 =\n",
         GW_FAULT_INCOMPLETE, 2, 0, 0, 0,
         "after step 2: rank 0 c0 lacks rank 2",
         "step 1: 0>1 c0 +  {1} + {0} = {0-1}\n"
         "step 2: 1>0 c0 =  {0-1}\n"
         "end: rank 0 c0 has {0-1}\n"},
        {"allreduce ranks=130 chunks=3\n"
         "step for i in 1..99: for k in 0..2: i>0 ck +\n"
         "step for i in 1..129: for k in 0..2: 0>i ck =\n",
         GW_FAULT_INCOMPLETE, 2, 0, 0, 0,
         "after step 2: rank 0 c0 lacks ranks 100-129", NULL},
        {"reduce_scatter ranks=2 chunks=4\nstep for k in 0..1: 1>0 ck +\n",
         GW_FAULT_INCOMPLETE, 1, 1, 1, 2,
         "after step 1: rank 1 c2 lacks rank 0", "end: rank 1 c2 has {1}\n"},
        {"scatter ranks=3 chunks=3 root=2\nstep 2>0 c0 =\n",
         GW_FAULT_INCOMPLETE, 1, 1, 1, 1,
         "after step 1: rank 1 does not hold c1",
         "end: rank 1 never receives c1\n"},
        {"barrier ranks=4 chunks=1\n"
         "step 0>1 c0 | 1>0 c0 | 2>3 c0 | 3>2 c0 |\n"
         "step 0>2 c0 |\n",
         GW_FAULT_INCOMPLETE, 2, 0, 0, 0,
         "after step 2: rank 0 c0 has no token of ranks 2-3",
         "step 1: 1>0 c0 |  {0} | {1} = {0-1}\n"
         "end: rank 0 c0 has {0-1}\n"},
        {"broadcast ranks=2 chunks=1\n", GW_FAULT_INCOMPLETE, 0, 1, 1, 0,
         "after step 0: rank 1 does not hold c0",
         "end: rank 1 never receives c0\n"},
    };
    expect(&wrong[0]);
    for (size_t i = 2; i < sizeof wrong / sizeof *wrong; i++)
        expect(&wrong[i]);
    /* A long history keeps its last lines, and counts the omitted ones. */
    struct gw_plan *plan = parse(wrong[1].text, 0);
    struct gw_verdict v;
    ck_assert_int_eq(gw_plan_verify(plan, 0, &v, NULL), GW_EPLAN);
    ck_assert_str_eq(v.sentence, wrong[1].sentence);
    ck_assert_ptr_nonnull(strstr(v.history, "(71 earlier transfers)\n"));
    ck_assert_ptr_nonnull(
        strstr(v.history, "step 1: 99>0 c0 +  {0-98} + {99} = {0-99}\n"));
    ck_assert_ptr_nonnull(strstr(v.history, "end: rank 0 c0 has {0-99}\n"));
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(more_peers_than_ports)
{
    static const struct wrong wrong[] = {
        {"broadcast ranks=3 chunks=1 ports=1\nstep 0>1 c0 = 0>2 c0 =\n",
         GW_FAULT_PORTS, 1, 0, 2, 0,
         "step 1: 0>2 c0: rank 0 sends to more than ports=1 peer",
         "step 1: 0>1 c0 =\nstep 1: 0>2 c0 =\n"},
        {"reduce ranks=4 chunks=1 ports=2\nstep 1>0 c0 + 2>0 c0 + 3>0 c0 +\n",
         GW_FAULT_PORTS, 1, 3, 0, 0,
         "step 1: 3>0 c0: rank 0 receives from more than ports=2 peers",
         "step 1: 1>0 c0 +\nstep 1: 2>0 c0 +\nstep 1: 3>0 c0 +\n"},
    };
    EXPECT_ALL(wrong);
    /* Several chunks to a peer are one message. Sending and receiving count
     * separately, and each step starts again at zero. */
    struct gw_plan *plan = parse("allreduce ranks=3 chunks=2 ports=1\n"
                                 "step 0>1 c0 + 0>1 c1 +\n"
                                 "step 1>2 c0 + 1>2 c1 +\n"
                                 "step 2>0 c0 = 2>0 c1 =\n"
                                 "step 0>1 c0 = 0>1 c1 =\n",
                                 0);
    struct gw_verdict v;
    ck_assert_msg(gw_plan_verify(plan, 0, &v, NULL) == GW_OK, "%s", v.sentence);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(writes_that_conflict)
{
    static const struct wrong wrong[] = {
        {"allgather ranks=3 chunks=3\n"
         "step 0>1 c0 =\n"
         "step 0>2 c0 = 1>2 c0 =\n",
         GW_FAULT_CONFLICT, 2, 1, 2, 0,
         "step 2: 0>2 c0 = and 1>2 c0 = both replace rank 2's c0",
         "step 2: 0>2 c0 =\nstep 2: 1>2 c0 =\n"},
        {"allreduce ranks=3 chunks=1\nstep 0>2 c0 + 1>2 c0 =\n",
         GW_FAULT_CONFLICT, 1, 1, 2, 0,
         "step 1: 0>2 c0 + and 1>2 c0 = replace and add to rank 2's c0",
         "step 1: 0>2 c0 +\nstep 1: 1>2 c0 =\n"},
        {"barrier ranks=2 chunks=1\nstep 0>1 c0 | 1>0 c0 | 0>1 c0 |\n",
         GW_FAULT_CONFLICT, 1, 0, 1, 0, "step 1: 0>1 c0 | occurs twice",
         "step 1: 0>1 c0 |\nstep 1: 0>1 c0 |\n"},
    };
    EXPECT_ALL(wrong);
}
END_TEST

static struct gw_plan *build(enum gw_collective collective, unsigned ranks,
                             unsigned chunks, enum gw_action action)
{
    struct gw_builder *b;
    struct gw_plan *plan;
    ck_assert_int_eq(gw_builder_new(collective, ranks, chunks, 0, &b, NULL),
                     GW_OK);
    gw_builder_add(b, 0, 1, 0, action);
    ck_assert_int_eq(gw_builder_finish(&b, &plan, NULL), GW_OK);
    return plan;
}

/* The text form refuses these; a builder does not. */
START_TEST(shapes_that_do_not_fit)
{
    static const struct {
        enum gw_collective collective;
        unsigned chunks;
        int action;
        const char *sentence;
    } cases[] = {
        {GW_ALLGATHER, 4, GW_REPLACE,
         "allgather of 3 ranks needs a multiple of 3 chunks, not 4"},
        {GW_ALLTOALL, 3, GW_REPLACE,
         "alltoall of 3 ranks needs a multiple of 9 chunks, not 3"},
        {GW_BARRIER, 2, GW_TOKEN, "a barrier must have one chunk, not 2"},
        {GW_BARRIER, 1, GW_ADD,
         "step 1: 0>1 c0 + is not allowed: barrier allows only tokens (`|`)"},
        {GW_REDUCE, 1, GW_TOKEN,
         "step 1: 0>1 c0 | is not allowed: reduce allows only `+` (add) and "
         "`=` (replace)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_plan *plan = build(cases[i].collective, 3, cases[i].chunks,
                                     (enum gw_action)cases[i].action);
        struct gw_verdict v;
        ck_assert_int_eq(gw_plan_verify(plan, 0, &v, NULL), GW_EPLAN);
        ck_assert_int_eq(v.fault, GW_FAULT_SHAPE);
        ck_assert_str_eq(v.sentence, cases[i].sentence);
        gw_plan_destroy(&plan);
    }
}
END_TEST

START_TEST(the_first_fault_is_reported)
{
    /* Chunk 1 fails in step 1, chunk 0 in step 2, ports in step 3. */
    static const struct wrong wrong = {
        "allreduce ranks=3 chunks=2 ports=1\n"
        "step 0>1 c0 + 0>1 c1 + 0>1 c1 +\n"
        "step 0>1 c0 +\n"
        "step 0>1 c0 = 0>2 c0 =\n",
        GW_FAULT_DOUBLE,
        1,
        0,
        1,
        1,
        "step 1: 0>1 c1 would count rank 0 twice",
        "step 1: 0>1 c1 +  {1} + {0} = {0-1}\n"
        "step 1: 0>1 c1 +  {0-1} + {0} shares {0}\n"};
    expect(&wrong);
}
END_TEST

START_TEST(faults_have_names)
{
    ck_assert_str_eq(gw_fault_name(GW_FAULT_NONE), "none");
    ck_assert_str_eq(gw_fault_name(GW_FAULT_SHAPE), "shape");
    ck_assert_str_eq(gw_fault_name((enum gw_fault)99), "?");
}
END_TEST

START_TEST(wrong_lab_plans_are_wrong_as_named)
{
    static const struct {
        const char *path;
        enum gw_fault fault;
        const char *sentence;
    } cases[] = {
        {"labs/plans/wrong-double.plan", GW_FAULT_DOUBLE,
         "step 2: 1>2 c0 would count rank 0 twice"},
        {"labs/plans/wrong-incomplete.plan", GW_FAULT_INCOMPLETE,
         "after step 4: rank 0 c0 lacks ranks 0-1"},
        {"labs/plans/wrong-deadlock.plan", GW_FAULT_DEADLOCK,
         "step 1: 0>1 c0 waits forever: a cycle of 4 waits, with room for 1 "
         "slice per link"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_plan *plan;
        struct gw_verdict v;
        ck_assert_int_eq(gw_plan_load(cases[i].path, 0, &plan, NULL), GW_OK);
        ck_assert_int_eq(gw_plan_verify(plan, 0, &v, NULL), GW_EPLAN);
        ck_assert_int_eq(v.fault, cases[i].fault);
        ck_assert_str_eq(v.sentence, cases[i].sentence);
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* ---- large plans ---- */

START_TEST(a_ring_of_256)
{
    struct gw_plan *plan =
        parse("allreduce ranks=256 chunks=P ports=1\n"
              "for s in 0..P-2:\n"
              "    step for i in 0..P-1: i>(i+1)%P c(i-s)%P +\n"
              "for s in 0..P-2:\n"
              "    step for i in 0..P-1: i>(i+1)%P c(i+1-s)%P =\n",
              0);
    struct gw_verdict v;
    ck_assert_uint_eq(plan->transfer_count, 2 * 255 * 256);
    ck_assert_msg(gw_plan_verify(plan, 0, &v, NULL) == GW_OK, "%s", v.sentence);
    /* One transfer of the first loop is wrong, which affects two chunks. */
    plan->transfers[1000].action = GW_REPLACE;
    ck_assert_int_eq(gw_plan_verify(plan, 0, &v, NULL), GW_EPLAN);
    ck_assert_int_eq(v.fault, GW_FAULT_INCOMPLETE);
    gw_plan_destroy(&plan);
}
END_TEST

/* Bruck's all-to-all: 262144 transfers, 65536 chunks. */
START_TEST(an_alltoall_of_256)
{
    struct gw_plan *plan =
        parse("alltoall ranks=256 chunks=P*P\n"
              "for s in 0..log2(P)-1:\n"
              "  step for i in 0..P-1: for h in 0..P/2**(s+1)-1: for l in "
              "0..2**s-1:\n"
              "    (i+l)%P>(i+l+2**s)%P c(i*P+(i+h*2**(s+1)+2**s+l)%P) =\n",
              0);
    struct gw_verdict v;
    ck_assert_uint_eq(plan->transfer_count, 262144);
    ck_assert_msg(gw_plan_verify(plan, 0, &v, NULL) == GW_OK, "%s", v.sentence);
    gw_plan_destroy(&plan);
}
END_TEST

/* A shape alone, however large, costs next to nothing. */
START_TEST(an_empty_plan_of_the_largest_shape)
{
    struct gw_plan *plan = parse("allreduce ranks=16384 chunks=16777216\n", 0);
    struct gw_verdict v;
    ck_assert_int_eq(gw_plan_verify(plan, 0, &v, NULL), GW_EPLAN);
    ck_assert_str_eq(v.sentence, "after step 0: rank 0 c0 lacks ranks 1-16383");
    gw_plan_destroy(&plan);
}
END_TEST

Suite *suite_plan_verify(void)
{
    Suite *suite = suite_create("plan_verify");
    TCase *t = tcase_create("faults");
    tcase_add_test(t, a_rank_counted_twice);
    tcase_add_test(t, a_value_that_is_not_there);
    tcase_add_test(t, a_promise_that_is_not_kept);
    tcase_add_test(t, more_peers_than_ports);
    tcase_add_test(t, writes_that_conflict);
    tcase_add_test(t, shapes_that_do_not_fit);
    tcase_add_test(t, the_first_fault_is_reported);
    tcase_add_test(t, faults_have_names);
    tcase_add_test(t, wrong_lab_plans_are_wrong_as_named);
    suite_add_tcase(suite, t);
    t = tcase_create("large");
    tcase_add_test(t, a_ring_of_256);
    tcase_add_test(t, an_alltoall_of_256);
    tcase_add_test(t, an_empty_plan_of_the_largest_shape);
    suite_add_tcase(suite, t);
    return suite;
}
