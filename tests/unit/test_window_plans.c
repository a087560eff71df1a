/* SPDX-License-Identifier: MIT
 *
 * Plans of users in shared memory: which of them windows run in one pass, and
 * which as loads from the senders; and the results of every algorithm, written
 * as a plan, and of every sample of tests/formats, with every kind of memory.
 */
#include "coll/comm.h"
#include "must.h"
#include "ranks.h"

#include <gradwire/wire.h>

#include <check.h>
#include <dirent.h>
#include <string.h>

Suite *suite_window_plans(void);

enum { RANKS_MAX = 8 };

/* ---- the path ---- */

static struct gw_plan *parse(const char *text)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_parse(text, strlen(text), "t", 0, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return plan;
}

struct path {
    const struct gw_plan *plan;
    bool windowed, stepwise;
};

static void check_path(struct gw_comm *comm, void *context)
{
    const struct path *path = context;
    float in[4] = {1, 2, 3, 4}, out[4];
    struct gw_request *request;
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = 4,
                           .type = GW_F32,
                           .op = GW_SUM,
                           .plan = path->plan};
    MUST(gw_start(comm, &call, &request) == GW_OK);
    MUST(request->windowed == path->windowed);
    MUST(request->program->stepwise == path->stepwise);
    MUST(request->program->direct == (path->windowed && !path->stepwise));
    MUST(gw_wait(&request) == GW_OK);
    MUST(out[3] == 8);
}

static void expect_path(const char *text, bool no_windows, bool windowed,
                        bool stepwise)
{
    struct gw_plan *plan = parse(text);
    const struct gw_comm_config config = {.wire = "shm",
                                          .no_windows = no_windows};
    struct path path = {plan, windowed, stepwise};
    run_ranks(&config, 2, check_path, &path);
    gw_plan_destroy(&plan);
}

/* Plans as `collrun synth` makes them for one host. */
static const char two_shot[] = "allreduce ranks=2 chunks=2 name=synthesis\n"
                               "step 1>0 c0 +  0>1 c1 +\n"
                               "step 0>1 c0 =  1>0 c1 =\n";
static const char with_scratch[] = "allreduce ranks=2 chunks=1\n"
                                   "step 0>1.1 c0 =  1>0.1 c0 =\n"
                                   "step 0.1>0 c0 +  1.1>1 c0 +\n";
static const char with_channels[] = "allreduce ranks=2 chunks=2\n"
                                    "step 1>0 c0 +  1>0 c1 + @1\n"
                                    "step 0>1 c0 =  0>1 c1 = @1\n";

START_TEST(a_direct_plan_runs_in_one_pass)
{
    expect_path(two_shot, false, true, false);
    expect_path(with_channels, false, true, false);
}
END_TEST

START_TEST(a_plan_with_scratch_runs_as_loads)
{
    expect_path(with_scratch, false, true, true);
}
END_TEST

START_TEST(without_windows_both_send_messages)
{
    expect_path(two_shot, true, false, false);
    expect_path(with_scratch, true, false, false);
}
END_TEST

START_TEST(direct_is_what_one_pass_can_run)
{
    static const struct {
        const char *text;
        bool direct;
    } plans[] = {
        {two_shot, true},
        {with_scratch, false},
        {"broadcast ranks=3 chunks=1\nstep 0>1 c0 =  0>2 c0 =\n", true},
        {"broadcast ranks=3 chunks=1\nstep 0>1 c0 =\nstep 1>2 c0 =\n", false},
        {"reduce ranks=3 chunks=1\nstep 2>0 c0 +  1>0 c0 +\n", true},
        {"reduce ranks=3 chunks=1\nstep 2>0 c0 +\nstep 1>0 c0 +\n", false},
        {"reduce ranks=3 chunks=1\nstep 2>1 c0 +\nstep 1>0 c0 +\n", false},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct gw_plan *plan = parse(plans[i].text);
        bool direct;
        ck_assert_int_eq(gw__plan_is_direct(plan, &direct, NULL), GW_OK);
        ck_assert_msg(direct == plans[i].direct, "%s", plans[i].text);
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* A user's copy of such a plan runs in one pass, too. */
START_TEST(the_plans_of_direct_algorithms_are_direct)
{
    size_t count, found = 0;
    const struct gw_algo *const *list = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++) {
        struct gw_algo_args args = {.ranks = 5};
        struct gw_plan *plan;
        bool direct;
        if (!list[i]->direct || !list[i]->valid(args.ranks))
            continue;
        args.root = gw_collective_rooted(list[i]->collective) ? 3 : 0;
        ck_assert_int_eq(gw_plan_make(list[i]->collective, list[i]->name, &args,
                                      &plan, NULL),
                         GW_OK);
        ck_assert_int_eq(gw__plan_is_direct(plan, &direct, NULL), GW_OK);
        ck_assert_msg(direct, "%s %s", gw_collective_name(list[i]->collective),
                      list[i]->name);
        gw_plan_destroy(&plan);
        found++;
    }
    ck_assert_uint_ge(found, 12);
}
END_TEST

static void other_plan(struct gw_comm *comm, void *context)
{
    struct gw_plan **plans = context;
    float in[2] = {1, 2}, out[2];
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = 2,
                           .type = GW_F32,
                           .op = GW_SUM,
                           .plan = plans[gw_comm_rank(comm)]};
    MUST(gw_run(comm, &call) == GW_EMISMATCH);
}

START_TEST(another_plan_is_another_call)
{
    struct gw_plan *plans[2] = {parse(with_scratch), parse(two_shot)};
    const struct gw_comm_config config = {.wire = "shm"};
    run_ranks(&config, 2, other_plan, plans);
    gw_plan_destroy(&plans[0]);
    gw_plan_destroy(&plans[1]);
}
END_TEST

static void give_up(struct gw_comm *comm, void *context)
{
    struct gw_plan *plan = context;
    float in[2] = {1, 2}, out[2];
    struct gw_call call = {.collective = GW_ALLREDUCE,
                           .in = in,
                           .out = out,
                           .count = 2,
                           .type = GW_F32,
                           .op = GW_SUM,
                           .plan = plan};
    MUST(gw_run(comm, &call) == GW_OK);
    if (gw_comm_rank(comm) == 1)
        gw_comm_abort(comm, GW_ECLOSED, "it has seen enough");
    else
        MUST(gw_run(comm, &call) == GW_ECLOSED);
}

START_TEST(a_rank_that_gives_up_ends_the_call)
{
    struct gw_plan *plan = parse(with_scratch);
    const struct gw_comm_config config = {.wire = "shm"};
    run_ranks(&config, 2, give_up, plan);
    gw_plan_destroy(&plan);
}
END_TEST

/* ---- the results ---- */

/* Element i of the input of `rank` in this chunk, less its part that depends on
 * i, which is the same for all ranks. */
static int32_t first_input(unsigned rank, unsigned chunk)
{
    return (int32_t)(1 + rank * 100000 + chunk * 1000);
}

static int32_t input_part(size_t i)
{
    return (int32_t)(i % 997);
}

/* A chunk of the result: element i is the sum of `inputs` inputs, `first` and
 * their parts that depend on i. */
struct wanted {
    int32_t first, inputs;
};

static struct wanted wanted(const struct gw_plan *plan, unsigned rank,
                            unsigned chunk)
{
    bool reduces = gw_collective_reduces(plan->collective) &&
                   plan->collective != GW_CUSTOM;
    unsigned ranks = plan->ranks;
    struct wanted sum = {0, 0};
    if (plan->collective == GW_SCAN)
        ranks = rank + 1;
    if (plan->collective == GW_EXSCAN)
        ranks = rank;
    for (unsigned q = 0; q < ranks; q++)
        if (reduces || gw_plan_holds(plan, q, chunk)) {
            sum.first += first_input(q, chunk);
            sum.inputs++;
        }
    return sum;
}

/* The elements of a chunk in a buffer of this rank. */
struct chunk_view {
    int32_t *first;
    size_t length;
};

static struct chunk_view view_of(const struct gw_call *call, unsigned rank,
                                 unsigned chunk, bool result)
{
    bool in_place = call->in == GW_IN_PLACE;
    size_t offset, length;
    gw_plan_extent(call->plan, chunk, call->count, sizeof(int32_t), &offset,
                   &length);
    int32_t *base =
        result || in_place ? call->out : (int32_t *)(uintptr_t)call->in;
    offset = result ? gw__offset_out(call, call->plan, rank, chunk, in_place)
                    : gw__offset_in(call, call->plan, rank, chunk, in_place);
    return (struct chunk_view){base + offset, length};
}

static void fill_input(const struct gw_call *call, unsigned rank)
{
    const struct gw_plan *plan = call->plan;
    for (unsigned c = 0; c < plan->chunks; c++) {
        struct chunk_view v = view_of(call, rank, c, false);
        int32_t first = first_input(rank, c);
        if (!gw_plan_holds(plan, rank, c))
            continue;
        for (size_t i = 0; i < v.length; i++)
            v.first[i] = first + input_part(i);
    }
}

static void check_result(struct gw_comm *comm, const struct gw_call *call,
                         const char *name)
{
    const struct gw_plan *plan = call->plan;
    unsigned rank = gw_comm_rank(comm);
    for (unsigned c = 0; c < plan->chunks; c++) {
        struct chunk_view v = view_of(call, rank, c, true);
        struct wanted w = wanted(plan, rank, c);
        if (!gw_plan_wants(plan, rank, c))
            continue;
        for (size_t i = 0; i < v.length; i++) {
            int32_t right = w.first + w.inputs * input_part(i);
            if (v.first[i] == right)
                continue;
            fprintf(stderr, "%s, %u ranks: rank %u c%u[%zu] is %d, not %d\n",
                    name, plan->ranks, rank, c, i, v.first[i], right);
            abort();
        }
    }
}

struct trial {
    const struct gw_plan *plan;
    const char *name;
};

/* The counters are those that the price predicts. */
static void check_counters(struct gw_comm *comm, const struct gw_call *call)
{
    uint64_t messages[RANKS_MAX], bytes[RANKS_MAX];
    gw_plan_price_rank(call->plan, call->count, sizeof(int32_t),
                       gw_comm_rank(comm), messages, bytes);
    for (unsigned q = 0; q < gw_comm_size(comm); q++) {
        struct gw_counters counted;
        gw_comm_counters(comm, q, &counted);
        MUST(counted.messages_sent == messages[q]);
        MUST(counted.bytes_sent == bytes[q]);
    }
    gw_comm_counters_reset(comm);
}

/* Both buffers in memory that peers can map, or none, or either. */
static void try_plan(struct gw_comm *comm, void *context)
{
    static const size_t counts[] = {1, 17001};
    const struct trial *trial = context;
    size_t bytes = gw_comm_size(comm) * counts[1] * sizeof(int32_t);
    int32_t *shared[2] = {gw_alloc(bytes, NULL), gw_alloc(bytes, NULL)};
    int32_t *private[2] = {malloc(bytes), malloc(bytes)};
    MUST(shared[0] && shared[1] && private[0] && private[1]);
    for (unsigned round = 0; round < 6; round++) {
        unsigned kind = round + gw_comm_rank(comm);
        struct gw_call call = {.collective = trial->plan->collective,
                               .in = kind & 1 ? private[0] : shared[0],
                               .out = kind & 2 ? private[1] : shared[1],
                               .count = counts[round % 3 > 0],
                               .type = GW_I32,
                               .op = GW_SUM,
                               .root = trial->plan->root,
                               .plan = trial->plan};
        if (round >= 3)
            call.in = GW_IN_PLACE;
        memset(call.out, 0xee, bytes);
        fill_input(&call, gw_comm_rank(comm));
        MUST(gw_run(comm, &call) == GW_OK);
        check_result(comm, &call, trial->name);
        check_counters(comm, &call);
    }
    for (unsigned i = 0; i < 2; i++) {
        gw_free(shared[i]);
        free(private[i]);
    }
}

static void run_trial(const struct gw_plan *plan, const char *name)
{
    const struct gw_comm_config config = {.wire = "shm"};
    struct trial trial = {plan, name};
    ck_assert_uint_le(plan->ranks, RANKS_MAX);
    run_ranks(&config, plan->ranks, try_plan, &trial);
}

START_TEST(every_sample_of_other_formats)
{
    DIR *folder = opendir("tests/formats");
    unsigned read = 0;
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *file; (file = readdir(folder));) {
        char path[300];
        struct gw_plan *plan;
        snprintf(path, sizeof path, "tests/formats/%s", file->d_name);
        if (file->d_name[0] == '.' || gw_plan_load(path, 0, &plan, NULL))
            continue;
        run_trial(plan, file->d_name);
        gw_plan_destroy(&plan);
        read++;
    }
    closedir(folder);
    ck_assert_uint_ge(read, 20);
}
END_TEST

/* _i: the number of ranks */
START_TEST(every_algorithm_as_a_plan)
{
    size_t count;
    const struct gw_algo *const *list = gw_algo_list(&count);
    for (size_t i = 0; i < count; i++) {
        struct gw_algo_args args = {.ranks = (unsigned)_i, .root = 1};
        struct gw_plan *plan;
        if (!gw_collective_rooted(list[i]->collective))
            args.root = 0;
        if (!list[i]->valid(args.ranks) || list[i]->collective == GW_BARRIER)
            continue;
        ck_assert_int_eq(gw_plan_make(list[i]->collective, list[i]->name, &args,
                                      &plan, NULL),
                         GW_OK);
        run_trial(plan, list[i]->name);
        gw_plan_destroy(&plan);
    }
}
END_TEST

Suite *suite_window_plans(void)
{
    Suite *suite = suite_create("window_plans");
    TCase *path = tcase_create("window_plans_path");
    tcase_add_test(path, a_direct_plan_runs_in_one_pass);
    tcase_add_test(path, a_plan_with_scratch_runs_as_loads);
    tcase_add_test(path, without_windows_both_send_messages);
    tcase_add_test(path, direct_is_what_one_pass_can_run);
    tcase_add_test(path, the_plans_of_direct_algorithms_are_direct);
    tcase_add_test(path, another_plan_is_another_call);
    tcase_add_test(path, a_rank_that_gives_up_ends_the_call);
    suite_add_tcase(suite, path);
    TCase *results = tcase_create("window_plans_results");
    tcase_set_timeout(results, 60);
    tcase_add_test(results, every_sample_of_other_formats);
    tcase_add_loop_test(results, every_algorithm_as_a_plan, 4, 6);
    tcase_add_loop_test(results, every_algorithm_as_a_plan, 8, 9);
    suite_add_tcase(suite, results);
    return suite;
}
