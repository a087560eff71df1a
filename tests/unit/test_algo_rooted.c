/* SPDX-License-Identifier: MIT
 *
 * The algorithms of broadcast, reduce, gather, scatter, all-to-all and barrier,
 * and those of the other collectives that send all data through rank 0. Each
 * verifies for every p and root, and its rounds, messages and moved chunks are
 * exactly those of its formula. The table `specs` is the specification; p is
 * the number of ranks and k that of segments.
 */
#include <gradwire/plan.h>

#include <check.h>
#include <stdlib.h>

Suite *suite_algo_rooted(void);

/* The formulas: functions of p and k. */
static size_t none(size_t p, size_t k)
{
    (void)p, (void)k;
    return 0;
}

static size_t one(size_t p, size_t k)
{
    (void)k;
    return p > 1;
}

static size_t two(size_t p, size_t k)
{
    return 2 * one(p, k);
}

static size_t log2_up(size_t p, size_t k)
{
    size_t q = 0;
    (void)k;
    while ((size_t)1 << q < p)
        q++;
    return q;
}

static size_t others(size_t p, size_t k)
{
    (void)k;
    return p - 1;
}

static size_t segments(size_t p, size_t k)
{
    return p > 1 ? k : 0;
}

static size_t segments_to_others(size_t p, size_t k)
{
    return k * (p - 1);
}

static size_t chain_rounds(size_t p, size_t k)
{
    return p > 1 ? k + p - 2 : 0;
}

static size_t circulant_rounds(size_t p, size_t k)
{
    return p > 1 ? k - 1 + log2_up(p, k) : 0;
}

static size_t pairs(size_t p, size_t k)
{
    (void)k;
    return p * (p - 1);
}

/* The sum of the depths in a binomial tree; a place's depth is the number of
 * its one bits. */
static size_t depths(size_t p, size_t k)
{
    size_t sum = 0;
    (void)k;
    for (size_t place = 0; place < p; place++)
        sum += (size_t)__builtin_popcountll(place);
    return sum;
}

static size_t scatter_ring_rounds(size_t p, size_t k)
{
    return log2_up(p, k) + p - 1;
}

/* One message along each edge of the tree; then one message per part, except
 * the parts that the tree has already delivered. */
static size_t scatter_ring_messages(size_t p, size_t k)
{
    return p - 1 + pairs(p, k) - depths(p, k);
}

static size_t twice_others(size_t p, size_t k)
{
    return 2 * others(p, k);
}

static size_t pairs_and_others(size_t p, size_t k)
{
    return pairs(p, k) + others(p, k);
}

static size_t all_each_round(size_t p, size_t k)
{
    return p * log2_up(p, k);
}

static size_t bruck_moved(size_t p, size_t k)
{
    return p * depths(p, k);
}

static size_t twice_log2(size_t p, size_t k)
{
    return 2 * log2_up(p, k);
}

/* n is p chunks. */
static size_t all_by_root(size_t p, size_t k)
{
    return p * log2_up(p, k);
}

static size_t tree_there_and_back(size_t p, size_t k)
{
    return depths(p, k) + pairs(p, k);
}

/* root_sends, root_hears: chunks that the root, or rank 0 where there is no
 * root, sends and receives. */
struct spec {
    enum gw_collective collective;
    const char *name;
    size_t (*rounds)(size_t p, size_t k);
    size_t (*messages)(size_t p, size_t k);
    size_t (*moved)(size_t p, size_t k);
    size_t (*root_sends)(size_t p, size_t k);
    size_t (*root_receives)(size_t p, size_t k);
    unsigned ports; /* 0: any number */
    bool direct;
};

static const struct spec specs[] = {
    {GW_BROADCAST, "direct", one, others, others, others, none, 0, true},
    {GW_BROADCAST, "binomial", log2_up, others, others, log2_up, none, 1,
     false},
    {GW_BROADCAST, "chain", chain_rounds, segments_to_others,
     segments_to_others, segments, none, 1, false},
    {GW_BROADCAST, "scatter_allgather", scatter_ring_rounds,
     scatter_ring_messages, pairs, twice_others, none, 1, false},
    {GW_BROADCAST, "circulant", circulant_rounds, segments_to_others,
     segments_to_others, circulant_rounds, none, 1, false},
    {GW_REDUCE, "direct", one, others, others, none, others, 0, true},
    {GW_REDUCE, "partitioned", two, pairs_and_others, pairs_and_others, others,
     twice_others, 0, true},
    {GW_REDUCE, "binomial", log2_up, others, others, none, log2_up, 1, false},
    {GW_REDUCE, "chain", chain_rounds, segments_to_others, segments_to_others,
     none, segments, 1, false},
    {GW_REDUCE, "circulant", circulant_rounds, segments_to_others,
     segments_to_others, none, circulant_rounds, 1, false},
    {GW_GATHER, "linear", one, others, others, none, others, 0, true},
    {GW_GATHER, "binomial", log2_up, others, depths, none, others, 1, false},
    {GW_SCATTER, "linear", one, others, others, others, none, 0, true},
    {GW_SCATTER, "binomial", log2_up, others, depths, others, none, 1, false},
    {GW_ALLTOALL, "linear", one, pairs, pairs, others, others, 0, true},
    {GW_ALLTOALL, "pairwise", others, pairs, pairs, others, others, 1, false},
    {GW_ALLTOALL, "bruck", log2_up, all_each_round, bruck_moved, depths, depths,
     1, false},
    {GW_ALLREDUCE, "main_replica", two, twice_others, twice_others, others,
     others, 0, true},
    {GW_ALLGATHER, "gather_broadcast", twice_log2, twice_others,
     tree_there_and_back, all_by_root, others, 1, false},
    {GW_REDUCE_SCATTER, "reduce_scatter_root", twice_log2, twice_others,
     tree_there_and_back, others, all_by_root, 1, false},
    {GW_BARRIER, "dissemination", log2_up, all_each_round, all_each_round,
     log2_up, log2_up, 1, false},
};

enum { SPECS = sizeof specs / sizeof *specs };

struct counts {
    size_t messages, root_sends, root_receives;
};

/* `latest` has a word for each pair of ranks: the last step, from 1, in which
 * the pair exchanged a message. */
static void count_step(const struct gw_plan *plan, unsigned step,
                       unsigned *latest, struct counts *counts)
{
    for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
         i++) {
        const struct gw_transfer *t = &plan->transfers[i];
        unsigned *spoke = &latest[t->src * plan->ranks + t->dst];
        counts->messages += *spoke != step + 1;
        *spoke = step + 1;
        counts->root_sends += t->src == plan->root;
        counts->root_receives += t->dst == plan->root;
    }
}

static struct counts count(const struct gw_plan *plan)
{
    struct counts counts = {0};
    unsigned *latest =
        calloc((size_t)plan->ranks * plan->ranks, sizeof *latest);
    ck_assert_ptr_nonnull(latest);
    for (unsigned step = 0; step < plan->steps; step++)
        count_step(plan, step, latest, &counts);
    free(latest);
    return counts;
}

static struct gw_plan *make(const struct spec *spec,
                            const struct gw_algo_args *args)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_make(spec->collective, spec->name, args, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    ck_assert_str_eq(plan->algo, spec->name);
    ck_assert_uint_eq(plan->ports, spec->ports);
    ck_assert_int_eq(gw_algo_find(spec->collective, spec->name)->direct,
                     spec->direct);
    return plan;
}

static void check_counts(const struct spec *spec, const struct gw_plan *plan,
                         size_t k, const char *where)
{
    size_t p = plan->ranks;
    struct counts counts = count(plan);
#define EQUAL(is, formula)                                                     \
    ck_assert_msg((is) == spec->formula(p, k),                                 \
                  "%s: " #formula " %zu, not %zu", where, (size_t)(is),        \
                  spec->formula(p, k))
    EQUAL(plan->steps, rounds);
    EQUAL(plan->transfer_count, moved);
    EQUAL(counts.messages, messages);
    EQUAL(counts.root_sends, root_sends);
    EQUAL(counts.root_receives, root_receives);
#undef EQUAL
}

static void check(const struct spec *spec, const struct gw_algo_args *args)
{
    char where[128];
    snprintf(where, sizeof where, "%s %s ranks=%u root=%u segments=%u",
             gw_collective_name(spec->collective), spec->name, args->ranks,
             args->root, args->segments);
    struct gw_plan *plan = make(spec, args);
    check_counts(spec, plan, args->segments ? args->segments : 8, where);
    struct gw_verdict verdict;
    enum gw_err err = gw_plan_verify(plan, 1, &verdict, NULL);
    ck_assert_msg(err == GW_OK, "%s: %s\n%s", where, verdict.sentence,
                  verdict.history);
    gw_plan_destroy(&plan);
}

static bool pipelined(const struct spec *spec)
{
    return spec->root_sends == segments || spec->root_receives == segments ||
           spec->rounds == circulant_rounds;
}

START_TEST(every_root_of_few_ranks)
{
    const struct spec *spec = &specs[_i];
    unsigned roots_matter = gw_collective_rooted(spec->collective);
    for (unsigned p = 1; p <= 11; p++)
        for (unsigned root = 0; root < (roots_matter ? p : 1); root++)
            check(spec, &(struct gw_algo_args){.ranks = p, .root = root});
}
END_TEST

START_TEST(many_ranks)
{
    const struct spec *spec = &specs[_i];
    unsigned roots_matter = gw_collective_rooted(spec->collective);
    for (unsigned p = 12; p <= 33; p++)
        check(spec, &(struct gw_algo_args){
                        .ranks = p, .root = roots_matter ? p * 2 / 3 : 0});
}
END_TEST

START_TEST(any_number_of_segments)
{
    const struct spec *spec = &specs[_i];
    if (!pipelined(spec))
        return;
    for (unsigned p = 1; p <= 64; p += p < 20 ? 1 : 11)
        for (unsigned k = 1; k <= 40; k += k < 10 ? 1 : 15)
            check(spec, &(struct gw_algo_args){
                            .ranks = p, .root = p / 3, .segments = k});
}
END_TEST

START_TEST(up_to_256_ranks)
{
    static const unsigned ranks[] = {100, 127, 128, 129, 251, 256};
    const struct spec *spec = &specs[_i];
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (spec->collective != GW_ALLTOALL || ranks[i] <= 129)
            check(spec,
                  &(struct gw_algo_args){.ranks = ranks[i], .segments = 3});
}
END_TEST

Suite *suite_algo_rooted(void)
{
    Suite *suite = suite_create("algo_rooted");
    TCase *counts = tcase_create("verified, and the counts of the formula");
    tcase_add_loop_test(counts, every_root_of_few_ranks, 0, SPECS);
    tcase_add_loop_test(counts, many_ranks, 0, SPECS);
    tcase_add_loop_test(counts, any_number_of_segments, 0, SPECS);
    tcase_add_loop_test(counts, up_to_256_ranks, 0, SPECS);
    suite_add_tcase(suite, counts);
    return suite;
}
