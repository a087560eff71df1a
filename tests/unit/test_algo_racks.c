/* SPDX-License-Identifier: MIT
 *
 * The two-level algorithms, for all small numbers of racks, of ranks in a rack
 * and in a short last one: they verify, cannot deadlock, and send the bytes of
 * their formulas inside the racks and between them.
 */
#include "algo_check.h"

Suite *suite_algo_racks(void);

enum { GROUP_MAX = 6, FULL_MAX = 5 };

struct racks {
    unsigned group, full, rest;
};

static unsigned ranks_of(struct racks r)
{
    return r.full * r.group + r.rest;
}

static unsigned count_of(struct racks r)
{
    return r.full + (r.rest > 0);
}

/* Chunks and messages between racks; chunks that each rank receives. */
struct crossing {
    size_t chunks, messages;
    size_t received[GROUP_MAX * (FULL_MAX + 1)];
};

static struct crossing cross(const struct gw_plan *plan, unsigned group)
{
    struct crossing c = {.chunks = 0};
    for (unsigned step = 0; step < plan->steps; step++) {
        const struct gw_transfer *before = NULL;
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            bool crosses = t->src / group != t->dst / group;
            bool same =
                before && before->src == t->src && before->dst == t->dst;
            c.chunks += crosses;
            c.messages += crosses && !same;
            c.received[t->dst]++;
            before = t;
        }
    }
    return c;
}

static struct gw_plan *plan_of(enum gw_collective collective, struct racks r,
                               unsigned root)
{
    return algo_plan(gw_algo_find(collective, "hierarchical"),
                     &(struct gw_algo_args){
                         .ranks = ranks_of(r), .group = r.group, .root = root});
}

static void check_tree(enum gw_collective collective, struct racks r)
{
    for (unsigned root = 0; root < ranks_of(r); root++) {
        struct gw_plan *plan = plan_of(collective, r, root);
        struct tally t = check_plan(plan);
        struct crossing c = cross(plan, r.group);
        ck_assert_uint_eq(plan->steps,
                          log2_ceil(count_of(r)) + log2_ceil(r.group));
        ck_assert_uint_eq(t.all.messages, ranks_of(r) - 1);
        ck_assert_uint_eq(c.messages, count_of(r) - 1);
        ck_assert_uint_eq(plan->ports, 1);
        gw_plan_destroy(&plan);
    }
}

static void check_rings(enum gw_collective collective, struct racks r)
{
    unsigned p = ranks_of(r);
    struct gw_plan *plan = plan_of(collective, r, 0);
    struct tally t = check_plan(plan);
    struct crossing c = cross(plan, r.group);
    ck_assert_uint_eq(plan->steps,
                      count_of(r) - 1 + r.group - 1 + (r.rest > 0));
    ck_assert_uint_eq(t.all.chunks, p * (p - 1));
    for (unsigned rank = 0; collective == GW_ALLGATHER && rank < p; rank++)
        ck_assert_uint_eq(c.received[rank], p - 1);
    if (r.rest == 0) {
        ck_assert_uint_eq(t.most.chunks, p - 1);
        ck_assert_uint_eq(t.most.messages, r.full - 1 + r.group - 1);
        ck_assert_uint_eq(c.chunks, r.full * (p - r.group));
        ck_assert_uint_eq(plan->ports, 1);
    }
    gw_plan_destroy(&plan);
}

/* Every block for another rack crosses once. */
static void check_exchange(struct racks r)
{
    unsigned p = ranks_of(r), g = r.group, h = r.full;
    struct gw_plan *plan = plan_of(GW_ALLTOALL, r, 0);
    struct tally t = check_plan(plan);
    struct crossing c = cross(plan, g);
    ck_assert_uint_eq(plan->steps, count_of(r) - 1 + g - 1);
    ck_assert_uint_eq(c.chunks, p * p - h * g * g - r.rest * r.rest);
    ck_assert_uint_eq(c.messages, (count_of(r) - 1) * p);
    if (r.rest == 0) {
        ck_assert_uint_eq(t.most.messages, g - 1 + h - 1);
        ck_assert_uint_eq(t.most.chunks, h * (g - 1) + g * (h - 1));
        ck_assert_uint_eq(t.least.chunks, t.most.chunks);
    }
    gw_plan_destroy(&plan);
}

static void for_all_racks(void (*check)(struct racks))
{
    struct racks r;
    for (r.group = 1; r.group <= GROUP_MAX; r.group++)
        for (r.full = 1; r.full <= FULL_MAX; r.full++)
            for (r.rest = 0; r.rest < r.group; r.rest++)
                check(r);
}

static void check_all(struct racks r)
{
    check_tree(GW_BROADCAST, r);
    check_tree(GW_REDUCE, r);
    check_rings(GW_ALLGATHER, r);
    check_rings(GW_REDUCE_SCATTER, r);
    check_exchange(r);
}

START_TEST(racks_of_all_sizes)
{
    for_all_racks(check_all);
}
END_TEST

/* Two racks of three, drawn. */
START_TEST(broadcast_enters_each_rack_once)
{
    struct gw_plan *plan =
        plan_of(GW_BROADCAST, (struct racks){.group = 3, .full = 2}, 4);
    check_transfer(plan, 0, 0, 4, 0, 0);
    check_transfer(plan, 1, 0, 0, 2, 0);
    check_transfer(plan, 1, 1, 4, 3, 0);
    check_transfer(plan, 2, 0, 0, 1, 0);
    check_transfer(plan, 2, 1, 4, 5, 0);
    gw_plan_destroy(&plan);
}
END_TEST

Suite *suite_algo_racks(void)
{
    Suite *suite = suite_create("algo_racks");
    TCase *tcase = tcase_create("two levels");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, racks_of_all_sizes);
    tcase_add_test(tcase, broadcast_enters_each_rack_once);
    suite_add_tcase(suite, tcase);
    return suite;
}
