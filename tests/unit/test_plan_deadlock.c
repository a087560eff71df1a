/* SPDX-License-Identifier: MIT
 *
 * The check for deadlocks: plans whose sums are correct but which hang, and the
 * reported cycle; and a naive reference, which tries every rule repeatedly
 * until nothing moves, on thousands of random plans.
 */
#include <gradwire/plan.h>
#include <plan/verify.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *suite_plan_deadlock(void);

static struct gw_plan *parse(const char *text, unsigned ranks)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err =
        gw_plan_parse(text, strlen(text), "t", ranks, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s\n%s", why.text, text);
    return plan;
}

static enum gw_err play(const struct gw_plan *plan, unsigned slices,
                        unsigned room, struct gw_verdict *v)
{
    struct gw__index index;
    struct gw__versions versions;
    struct gw__buckets by_link;
    ck_assert_int_eq(gw__index_init(&index, plan, NULL), GW_OK);
    ck_assert_int_eq(gw__versions_init(&versions, &index, NULL), GW_OK);
    ck_assert(
        gw__buckets_init(&by_link, index.link, index.transfers, index.links));
    enum gw_err err =
        gw__check_deadlock(&index, &versions, &by_link, slices, room, v, NULL);
    gw__buckets_fini(&by_link);
    gw__versions_fini(&versions);
    gw__index_fini(&index);
    return err;
}

static void expect_deadlock(const char *text, unsigned link_chunks,
                            const char *sentence, const char *history)
{
    struct gw_plan *plan = parse(text, 0);
    struct gw_verdict v;
    ck_assert_int_eq(gw_plan_verify(plan, link_chunks, &v, NULL), GW_EPLAN);
    ck_assert_int_eq(v.fault, GW_FAULT_DEADLOCK);
    ck_assert_str_eq(v.sentence, sentence);
    ck_assert_str_eq(v.history, history);
    gw_plan_destroy(&plan);
}

/* Each value must leave before the sum overwrites it, and each waits in its
 * queue for the other value to go first. */
START_TEST(an_exchange_in_opposite_orders)
{
    expect_deadlock("allreduce ranks=2 chunks=2\n"
                    "step 0>1 c0 + 0>1 c1 + 1>0 c1 + 1>0 c0 +\n",
                    8,
                    "step 1: 0>1 c0 waits forever: a cycle of 4 waits, with "
                    "room for 1 slice per link",
                    "rank 1 step 1: c0 waits until 1>0 c0 has left\n"
                    "rank 1 step 1: 1>0 c1 waits for room on 1>0\n"
                    "rank 0 step 1: c1 waits until 0>1 c1 has left\n"
                    "rank 0 step 1: 0>1 c0 waits for room on 0>1\n");
}
END_TEST

/* A sum of two sources takes both heads at once. Links that bring the chunks in
 * opposite orders never show the two heads of one chunk, however much room they
 * have. */
START_TEST(a_fan_in_in_opposite_orders)
{
    expect_deadlock(
        "reduce ranks=3 chunks=2 root=1\n"
        "step 0>1 c0 + 0>1 c1 + 2>1 c1 + 2>1 c0 +\n",
        1000,
        "step 1: 0>1 c0 waits forever: a cycle of 2 waits, with room for 1 "
        "slice per link",
        "rank 1 step 1: 2>1 c0 waits after c1 on the same link\nrank 1 step 1: "
        "0>1 c1 waits after c0 on the same link\n");
}
END_TEST

START_TEST(a_cycle_of_three)
{
    expect_deadlock(
        "reduce ranks=4 chunks=4 root=3\n"
        "step for i in 0..2: i>3 c3 +\n"
        "step for i in 0..2: for k in 0..2: i>3 c(i+k)%3 +\n",
        4,
        "step 2: 0>3 c0 waits forever: a cycle of 2 waits, with room for 1 "
        "slice per link",
        "rank 3 step 2: 1>3 c0 waits after c1 on the same link\nrank 3 step 2: "
        "0>3 c1 waits after c0 on the same link\n");
}
END_TEST

/* The first blocked transfer leads to the cycle but is not part of it: rank 2's
 * transfers wait for the step that never ends. */
START_TEST(victims_are_not_blamed)
{
    expect_deadlock("allreduce ranks=3 chunks=2\n"
                    "step 2>0 c0 + 2>0 c1 +\n"
                    "step 0>1 c0 + 0>1 c1 + 1>0 c1 + 1>0 c0 +\n"
                    "step 0>2 c0 = 0>2 c1 =\n",
                    1,
                    "step 2: 0>1 c0 waits forever: a cycle of 4 waits, with "
                    "room for 1 slice per link",
                    "rank 1 step 2: c0 waits until 1>0 c0 has left\n"
                    "rank 1 step 2: 1>0 c1 waits for room on 1>0\n"
                    "rank 0 step 2: c1 waits until 0>1 c1 has left\n"
                    "rank 0 step 2: 0>1 c0 waits for room on 0>1\n");
}
END_TEST

/* The same exchange completes if there is room for both chunks. */
START_TEST(room_breaks_an_exchange_free)
{
    struct gw_plan *plan = parse("allreduce ranks=2 chunks=2\n"
                                 "step 0>1 c0 + 0>1 c1 + 1>0 c1 + 1>0 c0 +\n",
                                 0);
    struct gw_verdict v;
    ck_assert_int_eq(play(plan, 3, 1, &v), GW_EPLAN);
    ck_assert_int_eq(play(plan, 1, 1, &v), GW_EPLAN);
    ck_assert_ptr_nonnull(strstr(v.sentence, "room for 1 chunk"));
    ck_assert_int_eq(play(plan, 1, 2, &v), GW_OK);
    gw_plan_destroy(&plan);
}
END_TEST

START_TEST(right_orders_run)
{
    static const char *const texts[] = {
        "allreduce ranks=2 chunks=2\n"
        "step 0>1 c0 + 0>1 c1 + 1>0 c0 + 1>0 c1 +\n",
        "reduce ranks=3 chunks=2 root=1\n"
        "step 0>1 c0 + 0>1 c1 + 2>1 c0 + 2>1 c1 +\n",
        "broadcast ranks=2 chunks=1\n"
        "step 0>1 c0 =\nstep 0>1 c0 =\nstep 1>0 c0 =\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gw_plan *plan = parse(texts[i], 0);
        struct gw_verdict v;
        ck_assert_msg(gw_plan_verify(plan, 0, &v, NULL) == GW_OK, "%s\n%s%s",
                      texts[i], v.sentence, v.history);
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* ---- a naive reference ---- */

enum { MOST = 24, SLICES = GW__SLICES_MAX };

struct witness {
    const struct gw_plan *plan;
    unsigned slices, room;
    unsigned step[MOST];
    bool pushed[MOST][SLICES];
    bool applied[MOST][SLICES]; /* removed from the link, and written */
};

static bool same_link(const struct witness *w, size_t a, size_t b)
{
    const struct gw_transfer *x = w->plan->transfers;
    return x[a].src == x[b].src && x[a].dst == x[b].dst;
}

static bool writes(const struct witness *w, size_t t, unsigned rank,
                   unsigned chunk)
{
    const struct gw_transfer *x = &w->plan->transfers[t];
    return x->dst == rank && x->chunk == chunk;
}

static bool reads(const struct witness *w, size_t t, unsigned rank,
                  unsigned chunk)
{
    const struct gw_transfer *x = &w->plan->transfers[t];
    return x->src == rank && x->chunk == chunk;
}

static bool may_push(const struct witness *w, size_t t, unsigned k)
{
    const struct gw_transfer *x = &w->plan->transfers[t];
    unsigned inside = 0;
    for (size_t u = 0; u < w->plan->transfer_count; u++)
        for (unsigned j = 0; j < w->slices; j++) {
            bool before = u < t || (u == t && j < k);
            if (same_link(w, u, t) && before && !w->pushed[u][j])
                return false;
            inside +=
                same_link(w, u, t) && w->pushed[u][j] && !w->applied[u][j];
            if (j == k && w->step[u] < w->step[t] && !w->applied[u][j] &&
                writes(w, u, x->src, x->chunk))
                return false;
        }
    return inside < w->room;
}

static bool is_head(const struct witness *w, size_t t, unsigned k)
{
    for (size_t u = 0; u <= t; u++)
        for (unsigned j = 0; j < w->slices; j++)
            if (same_link(w, u, t) && (u < t || j < k) && !w->applied[u][j])
                return false;
    return w->pushed[t][k];
}

/* The writes of t's step to the destination of t all happen together. */
static bool may_apply(const struct witness *w, size_t t, unsigned k)
{
    const struct gw_transfer *x = &w->plan->transfers[t];
    for (size_t u = 0; u < w->plan->transfer_count; u++) {
        if (writes(w, u, x->dst, x->chunk)) {
            if (w->step[u] == w->step[t] && !is_head(w, u, k))
                return false;
            if (w->step[u] < w->step[t] && !w->applied[u][k])
                return false;
        }
        if (reads(w, u, x->dst, x->chunk) && w->step[u] <= w->step[t] &&
            !w->pushed[u][k])
            return false;
    }
    return true;
}

static bool move(struct witness *w)
{
    bool moved = false;
    const struct gw_transfer *x = w->plan->transfers;
    for (size_t t = 0; t < w->plan->transfer_count; t++)
        for (unsigned k = 0; k < w->slices; k++) {
            if (!w->pushed[t][k] && may_push(w, t, k))
                moved = w->pushed[t][k] = true;
            if (w->applied[t][k] || !may_apply(w, t, k))
                continue;
            for (size_t u = 0; u < w->plan->transfer_count; u++)
                if (w->step[u] == w->step[t] &&
                    writes(w, u, x[t].dst, x[t].chunk))
                    moved = w->applied[u][k] = true;
        }
    return moved;
}

/* Does the plan run to its end? */
static bool witness(const struct gw_plan *plan, unsigned slices, unsigned room)
{
    struct witness w = {.plan = plan, .slices = slices, .room = room};
    ck_assert_uint_le(plan->transfer_count, MOST);
    for (unsigned s = 0; s < plan->steps; s++)
        for (size_t t = plan->step_begin[s]; t < plan->step_begin[s + 1]; t++)
            w.step[t] = s;
    while (move(&w))
        ;
    for (size_t t = 0; t < plan->transfer_count; t++)
        for (unsigned k = 0; k < slices; k++)
            if (!w.applied[t][k])
                return false;
    return true;
}

static struct gw_plan *random_plan(struct gw_rng *rng)
{
    unsigned ranks = 2 + (unsigned)gw_rng_below(rng, 3);
    unsigned chunks = 1 + (unsigned)gw_rng_below(rng, 3);
    struct gw_builder *b;
    struct gw_plan *plan;
    ck_assert_int_eq(gw_builder_new(GW_ALLREDUCE, ranks, chunks, 0, &b, NULL),
                     GW_OK);
    for (uint64_t i = gw_rng_below(rng, MOST); i > 0; i--) {
        unsigned src = (unsigned)gw_rng_below(rng, ranks);
        unsigned away = 1 + (unsigned)gw_rng_below(rng, ranks - 1);
        if (gw_rng_below(rng, 3) == 0)
            gw_builder_step(b);
        gw_builder_add(b, src, (src + away) % ranks,
                       (unsigned)gw_rng_below(rng, chunks), GW_ADD);
    }
    ck_assert_int_eq(gw_builder_finish(&b, &plan, NULL), GW_OK);
    return plan;
}

/* Every line of a cycle has a reason, and all lines are of one step. */
static void expect_one_step(const struct gw_verdict *v)
{
    char step[32];
    snprintf(step, sizeof step, " step %u: ", v->step);
    ck_assert_int_eq(v->fault, GW_FAULT_DEADLOCK);
    ck_assert_uint_gt(strlen(v->history), 0);
    for (const char *line = v->history; *line;
         line += strcspn(line, "\n") + 1) {
        const char *at = strstr(line, step);
        ck_assert_msg(at && at < strchr(line, '\n'), "%s\n%s", v->sentence,
                      v->history);
    }
}

START_TEST(agrees_with_a_naive_game)
{
    enum { ROUNDS = 4000 };
    static const unsigned games[][2] = {{3, 1}, {1, 1}, {1, 2}, {1, 9}};
    const uint64_t seed = 11;
    struct gw_rng rng;
    unsigned stuck = 0, ran = 0;
    gw_rng_seed(&rng, seed);
    for (int i = 0; i < ROUNDS; i++) {
        struct gw_plan *plan = random_plan(&rng);
        const unsigned *game = games[gw_rng_below(&rng, 4)];
        struct gw_verdict v = {0};
        bool runs = witness(plan, game[0], game[1]);
        enum gw_err err = play(plan, game[0], game[1], &v);
        ck_assert_msg(runs == (err == GW_OK),
                      "seed %llu round %d, %u slices, room %u: %s\n%s",
                      (unsigned long long)seed, i, game[0], game[1], v.sentence,
                      v.history);
        if (!runs)
            expect_one_step(&v);
        runs ? ran++ : stuck++;
        gw_plan_destroy(&plan);
    }
    ck_assert_msg(ran > ROUNDS / 10 && stuck > ROUNDS / 10,
                  "%u ran, %u got stuck", ran, stuck);
}
END_TEST

Suite *suite_plan_deadlock(void)
{
    Suite *suite = suite_create("plan_deadlock");
    TCase *t = tcase_create("all");
    tcase_add_test(t, an_exchange_in_opposite_orders);
    tcase_add_test(t, a_fan_in_in_opposite_orders);
    tcase_add_test(t, a_cycle_of_three);
    tcase_add_test(t, victims_are_not_blamed);
    tcase_add_test(t, room_breaks_an_exchange_free);
    tcase_add_test(t, right_orders_run);
    tcase_add_test(t, agrees_with_a_naive_game);
    suite_add_tcase(suite, t);
    return suite;
}
