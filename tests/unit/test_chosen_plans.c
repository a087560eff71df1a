/* SPDX-License-Identifier: MIT
 *
 * Plans of the configuration in an elastic ring: which of them are refused, what
 * the op table makes of them, and the recovery. For the recovery a plan is
 * executed up to each of its transfers, with contributor sets as values. Then
 * each of its members in turn is lost, the survivors' reports are decided, and
 * the recovery plan of the decision must verify.
 */
#include <cluster/registry/decide.h>
#include <ring/op_table.h>
#include <ring/plans/addition_order.h>
#include <ring/plans/chosen_plans.h>

#include <check.h>
#include <string.h>

Suite *suite_chosen_plans(void);

enum { MEMBERS_MOST = 8 };

static const struct gw_algo *algo_of(const char *name)
{
    const struct gw_algo *algo = gw_algo_find(GW_ALLREDUCE, name);
    ck_assert_ptr_nonnull(algo);
    return algo;
}

static struct gw_plan *parse(const char *text)
{
    struct gw_plan *plan;
    struct gw_error why;
    enum gw_err err = gw_plan_parse(text, strlen(text), "text", 0, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return plan;
}

/* ---- which plans are refused ---- */

static void expect_order(const char *text, enum gw_err wanted)
{
    struct gw_plan *plan = parse(text);
    struct gw_error why;
    ck_assert_int_eq(gw__addition_order_check(plan, &why), wanted);
    gw_plan_destroy(&plan);
}

START_TEST(ranks_that_add_in_different_orders_are_refused)
{
    expect_order("allreduce ranks=2 chunks=1\n"
                 "step 0>1 c0 +  1>0 c0 +\n",
                 GW_OK); /* a + b and b + a */
    expect_order("allreduce ranks=3 chunks=1\n"
                 "step 0>1 c0 +\nstep 2>1 c0 +\nstep 1>0 c0 =  1>2 c0 =\n",
                 GW_OK);
    expect_order("allreduce ranks=3 chunks=1\n" /* ascending on each rank */
                 "step 1>0 c0 +  2>0 c0 +  0>1 c0 +  2>1 c0 +  0>2 c0 +  "
                 "1>2 c0 +\n",
                 GW_OK);
    expect_order("allreduce ranks=4 chunks=1\n"
                 "step 0>1 c0 +  1>0 c0 +\n"
                 "step 2>0 c0 +  3>0 c0 +  2>3 c0 +  3>2 c0 +\n"
                 "step 2>1 c0 +\n"            /* (0 + 1) + (2 + 3) */
                 "step 0>2 c0 =  0>3 c0 =\n", /* ((0 + 1) + 2) + 3 */
                 GW_ENOTSUP);
}
END_TEST

static unsigned too_many_chunks(const struct gw_algo_args *args)
{
    (void)args;
    return GW__REPORT_CHUNKS_MAX + 1;
}

static bool any_ranks(unsigned ranks)
{
    (void)ranks;
    return true;
}

static void emit_pairs(struct gw_builder *b, const struct gw_algo_args *args)
{
    (void)args;
    gw_builder_step(b);
    for (unsigned c = 0; c <= GW__REPORT_CHUNKS_MAX; c++) {
        gw_builder_add(b, 0, 1, c, GW_ADD);
        gw_builder_add(b, 1, 0, c, GW_ADD);
    }
}

START_TEST(a_plan_of_more_chunks_than_a_report_has_is_refused)
{
    static const struct gw_algo many = {.name = "many",
                                        .collective = GW_ALLREDUCE,
                                        .valid = any_ranks,
                                        .chunks = too_many_chunks,
                                        .emit = emit_pairs};
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_int_eq(gw_algo_add(&many, &why), GW_OK);
    ck_assert_int_eq(gw__chosen_plan_make(&many, 2, &plan, &why), GW_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(why.text, "129 chunks"));
    ck_assert_ptr_null(plan);
    gw_algo_remove(&many);
}
END_TEST

START_TEST(another_collective_is_refused)
{
    struct gw_plan *plan;
    struct gw_error why;
    const struct gw_algo *algo = gw_algo_find(GW_ALLGATHER, "ring");
    ck_assert_int_eq(gw__chosen_plan_make(algo, 4, &plan, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "allgather"));
}
END_TEST

START_TEST(the_first_algorithm_with_a_plan_is_chosen)
{
    const struct gw_algo *list[] = {algo_of("swing"), /* even numbers only */
                                    algo_of("double_tree")};
    struct gw__chosen_plans chosen;
    gw__chosen_plans_init(&chosen, list, 2);
    ck_assert_str_eq(gw__chosen_plan(&chosen, 4)->algo, "swing");
    ck_assert_str_eq(gw__chosen_plan(&chosen, 3)->algo, "double_tree");
    ck_assert_ptr_eq(gw__chosen_plan(&chosen, 3), gw__chosen_plan(&chosen, 3));
    ck_assert_ptr_null(gw__chosen_plan(&chosen, 1));
    gw__chosen_plans_fini(&chosen);
    gw__chosen_plans_init(&chosen, list, 1);
    ck_assert_ptr_null(gw__chosen_plan(&chosen, 3));
    ck_assert_uint_eq(gw__chosen_chunks(&chosen, 3), 3);
    ck_assert_uint_eq(gw__chosen_chunks(NULL, 5), 5);
    ck_assert_uint_eq(gw__chosen_event_chunk(&chosen, 2), 2);
    ck_assert_uint_eq(gw__chosen_event_chunk(&chosen, 3), 0);
    gw__chosen_plans_fini(&chosen);
}
END_TEST

/* ---- plans that are run as a whole ---- */

static unsigned one_chunk(const struct gw_algo_args *args)
{
    (void)args;
    return 1;
}

/* Each rank gathers in scratch, and adds. */
static void emit_scratch(struct gw_builder *b, const struct gw_algo_args *args)
{
    (void)args;
    gw_builder_step(b);
    for (uint16_t rank = 0; rank < 2; rank++)
        gw_builder_transfer(b, &(struct gw_transfer){.src = rank ^ 1,
                                                     .dst = rank,
                                                     .action = GW_REPLACE,
                                                     .dst_scratch = 1});
    gw_builder_step(b);
    for (uint16_t rank = 0; rank < 2; rank++)
        gw_builder_transfer(b, &(struct gw_transfer){.src = rank,
                                                     .dst = rank,
                                                     .action = GW_ADD,
                                                     .src_scratch = 1});
}

static bool two_ranks(unsigned ranks)
{
    return ranks == 2;
}

START_TEST(scratch_needs_ops_that_run_as_a_whole)
{
    static const struct gw_algo algo = {.name = "in_scratch",
                                        .collective = GW_ALLREDUCE,
                                        .valid = two_ranks,
                                        .chunks = one_chunk,
                                        .emit = emit_scratch};
    const struct gw_algo *list[] = {gw_algo_find(GW_ALLGATHER, "ring"), &algo};
    struct gw__chosen_plans chosen;
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_int_eq(gw_algo_add(&algo, &why), GW_OK);
    ck_assert_int_eq(gw__chosen_plan_make(&algo, 2, &plan, &why), GW_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(why.text, "in_scratch uses scratch"));
    ck_assert_msg(!gw__whole_plan_make(GW_ALLREDUCE, &algo, 2, &plan, &why),
                  "%s", why.text);
    ck_assert_int_eq(gw__plan_has_chunk_recovery(plan, &why), GW_ENOTSUP);
    gw_plan_destroy(&plan);
    gw__whole_plans_init(&chosen, GW_ALLREDUCE, list, 2);
    ck_assert_str_eq(gw__chosen_plan(&chosen, 2)->algo, "in_scratch");
    ck_assert_ptr_null(gw__chosen_plan(&chosen, 3));
    gw__chosen_plans_fini(&chosen);
    gw__whole_plans_init(&chosen, GW_ALLGATHER, list, 2);
    ck_assert_int_eq(gw__chosen_plan(&chosen, 3)->collective, GW_ALLGATHER);
    gw__chosen_plans_fini(&chosen);
    gw_algo_remove(&algo);
}
END_TEST

/* ---- the op table ---- */

static struct gw__view view_of(uint64_t epoch, unsigned count)
{
    struct gw__view view = {.epoch = epoch, .ring_epoch = epoch};
    for (unsigned i = 0; i < count; i++)
        view.ring[view.ring_count++] =
            (struct gw__ring_member){.node = i, .incarnation = {1, i + 1}};
    return view;
}

START_TEST(the_chunks_of_an_op_are_those_of_its_plan)
{
    static struct gw__op_table ops;
    static struct gw__report report;
    const struct gw_algo *list[] = {algo_of("recursive_doubling")};
    const struct gw__report *reports[GW__NODES_MAX] = {&report, &report};
    struct gw__chosen_plans chosen;
    struct gw__recovery_task task;
    struct gw__view four = view_of(1, 4), three = view_of(2, 3);
    const struct gw__decision decision = {.epoch = 2,
                                          .op = 0,
                                          .fate = GW__EXCLUDE,
                                          .contributors = 7,
                                          .initial_count = 4,
                                          .initial_members = {0, 1, 2, 3}};
    gw__chosen_plans_init(&chosen, list, 1);
    gw__op_table_init(&ops, 1, 0);
    ops.chosen = &chosen;
    ck_assert(gw__op_table_adopt(&ops, &four));
    gw__op_table_begin(&ops);
    ck_assert(gw__op_table_recovery_task(&ops, &task));
    ck_assert_uint_eq(task.plan.chunks, 1);
    ck_assert_ptr_eq(task.plan.chosen, gw__chosen_plan(&chosen, 4));
    gw__op_table_freeze(&ops);
    gw__op_table_report(&ops, &report);
    ck_assert_uint_eq(report.ops[0].members, 4);
    ck_assert_uint_eq(report.ops[0].chunks, 1);
    gw__op_table_resume(&ops, &three, &decision, 1, reports);
    ck_assert(gw__op_table_recovery_task(&ops, &task));
    ck_assert(task.recovers);
    ck_assert_uint_eq(task.plan.chunks, 1);
    ck_assert_ptr_null(task.plan.chosen);
    ck_assert_ptr_nonnull(task.plan.held[0]);
    gw__chosen_plans_fini(&chosen);
}
END_TEST

START_TEST(an_undisturbed_op_runs_the_plan)
{
    const unsigned nodes[] = {5, 2, 7, 4};
    const struct gw_algo_args args = {.ranks = 4};
    struct gw_plan *plan;
    struct gw_error why;
    struct gw_verdict verdict;
    struct gw__recovery recovery;
    ck_assert_int_eq(
        gw_plan_make(GW_ALLREDUCE, "double_tree", &args, &plan, &why), GW_OK);
    const struct gw__recovery_case c = {.ranks = 4,
                                        .nodes = nodes,
                                        .chunks = plan->chunks,
                                        .target = 0xb4,
                                        .initial_count = 4,
                                        .initial_members = nodes,
                                        .chosen = plan};
    ck_assert_int_eq(gw__recovery_make(&c, &recovery, &why), GW_OK);
    ck_assert_uint_eq(gw_plan_hash(recovery.plan), gw_plan_hash(plan));
    ck_assert_int_eq(gw__recovery_verify(&recovery, 1, &verdict, &why), GW_OK);
    gw__recovery_fini(&recovery);
    gw_plan_destroy(&plan);
}
END_TEST

/* ---- a death at each transfer ---- */

/* The contributors of all values, by rank. */
struct values {
    uint64_t sets[MEMBERS_MOST][GW__REPORT_CHUNKS_MAX];
};

/* After the first `count` transfers. Those of a step read the values from
 * before it. */
static void execute(const struct gw_plan *plan, size_t count, struct values *v)
{
    static struct values before;
    for (unsigned rank = 0; rank < plan->ranks; rank++)
        for (unsigned c = 0; c < plan->chunks; c++)
            v->sets[rank][c] = (uint64_t)1 << rank;
    for (unsigned s = 0; s < plan->steps; s++) {
        before = *v;
        for (size_t t = plan->step_begin[s];
             t < plan->step_begin[s + 1] && t < count; t++) {
            const struct gw_transfer *x = &plan->transfers[t];
            uint64_t *there = &v->sets[x->dst][x->chunk];
            uint64_t sent = before.sets[x->src][x->chunk];
            ck_assert(x->action != GW_ADD || !(*there & sent));
            *there = x->action == GW_ADD ? *there | sent : sent;
        }
    }
}

static void report_values(const struct gw_plan *plan, unsigned rank,
                          const struct values *v, struct gw__report *report)
{
    struct gw__contributor_sets sets;
    gw__contributor_sets_begin(&sets, 0, rank, plan->chunks,
                               ((uint64_t)1 << plan->ranks) - 1);
    sets.members = plan->ranks;
    memcpy(sets.sets, v->sets[rank], plan->chunks * sizeof *sets.sets);
    memset(report, 0, sizeof *report);
    report->op_count = 1;
    gw__contributor_sets_report(&sets, &report->ops[0]);
}

/* Loses a member; returns the fate of the op. */
static enum gw__fate lose(const struct gw_plan *plan, unsigned dead,
                          const struct values *v)
{
    static struct gw__report reports[MEMBERS_MOST];
    struct gw__survivor survivors[MEMBERS_MOST];
    const struct gw__holdings *held[MEMBERS_MOST];
    unsigned nodes[MEMBERS_MOST], initial[MEMBERS_MOST], count = 0;
    struct gw__decision decision = {.initial_count = plan->ranks};
    for (unsigned rank = 0; rank < plan->ranks; rank++) {
        initial[rank] = rank;
        if (rank == dead)
            continue;
        report_values(plan, rank, v, &reports[rank]);
        survivors[count] = (struct gw__survivor){rank, 0, &reports[rank]};
        held[count] = &reports[rank].ops[0];
        nodes[count++] = rank;
    }
    gw__decide(survivors, count, &decision);
    const struct gw__recovery_case c = {.ranks = count,
                                        .nodes = nodes,
                                        .held = held,
                                        .chunks = plan->chunks,
                                        .target = decision.contributors,
                                        .initial_count = plan->ranks,
                                        .initial_members = initial};
    struct gw__recovery recovery;
    struct gw_verdict verdict;
    struct gw_error why;
    enum gw_err err = gw__recovery_make(&c, &recovery, &why);
    if (!err)
        err = gw__recovery_verify(&recovery, 1, &verdict, &why);
    ck_assert_msg(err == GW_OK, "%s, node %u dies: %s", plan->algo, dead,
                  why.text);
    gw__recovery_fini(&recovery);
    return decision.fate;
}

static void lose_everywhere(const char *name, unsigned members)
{
    static struct values values;
    const struct gw_algo_args args = {.ranks = members};
    struct gw_plan *plan;
    struct gw_error why;
    ck_assert_int_eq(gw_plan_make(GW_ALLREDUCE, name, &args, &plan, &why),
                     GW_OK);
    for (size_t count = 0; count <= plan->transfer_count; count++) {
        execute(plan, count, &values);
        for (unsigned dead = 0; dead < members; dead++) {
            enum gw__fate fate = lose(plan, dead, &values);
            ck_assert(count > 0 || fate == GW__EXCLUDE);
            ck_assert(count < plan->transfer_count || fate == GW__FORWARD);
        }
    }
    gw_plan_destroy(&plan);
}

START_TEST(an_op_recovers_from_a_death_at_any_transfer)
{
    static const char *const names[] = {
        "ring",        "partitioned", "recursive_doubling", "rabenseifner",
        "double_tree", "circulant",   "reduce_broadcast",   "one_shot",
        "hierarchical"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        for (unsigned members = 2; members <= MEMBERS_MOST; members++)
            lose_everywhere(names[i], members);
}
END_TEST

Suite *suite_chosen_plans(void)
{
    Suite *suite = suite_create("chosen_plans");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, ranks_that_add_in_different_orders_are_refused);
    tcase_add_test(t, a_plan_of_more_chunks_than_a_report_has_is_refused);
    tcase_add_test(t, another_collective_is_refused);
    tcase_add_test(t, the_first_algorithm_with_a_plan_is_chosen);
    tcase_add_test(t, scratch_needs_ops_that_run_as_a_whole);
    tcase_add_test(t, the_chunks_of_an_op_are_those_of_its_plan);
    tcase_add_test(t, an_undisturbed_op_runs_the_plan);
    tcase_add_test(t, an_op_recovers_from_a_death_at_any_transfer);
    suite_add_tcase(suite, t);
    return suite;
}
