/* SPDX-License-Identifier: MIT
 *
 * Plans in other formats: an exported plan imports as the same plan, for all
 * algorithms up to 16 ranks and for random plans with scratch and channels. (The
 * samples of tests/formats are in tests/cli/import.bats.)
 */
#include <gradwire/plan.h>

#include <check.h>
#include <plan/index.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_formats(void);

enum { RANKS_MOST = 16, RANDOM_PLANS = 300, CHUNKS_MOST = 1 << 12 };

static char *export(const struct gw_plan *plan, enum gw_format format,
                    size_t *bytes)
{
    const struct gw_export options = {
        .format = format, .count = 1000, .elem_bytes = 4};
    struct gw_error why = {0};
    char *text = NULL;
    FILE *file = open_memstream(&text, bytes);
    enum gw_err err = gw_plan_export(plan, &options, file, &why);
    fclose(file);
    ck_assert_msg(err == GW_OK, "%s: %s", plan->algo, why.text);
    return text;
}

/* Takes the notes of the plan out of the XML. */
static size_t without_notes(char *text, size_t bytes)
{
    static const char begin[] = " plan=\"";
    size_t used = 0;
    for (size_t at = 0; at < bytes;) {
        bool note = bytes - at > sizeof begin &&
                    memcmp(text + at, begin, sizeof begin - 1) == 0;
        if (note)
            at = (size_t)(strchr(text + at + sizeof begin, '"') - text) + 1;
        else
            text[used++] = text[at++];
    }
    return used;
}

static struct gw_plan *import(const char *text, size_t bytes, const char *name)
{
    struct gw_plan *plan;
    struct gw_error why = {0};
    enum gw_err err = gw_plan_parse(text, bytes, name, 0, &plan, &why);
    ck_assert_msg(err == GW_OK, "%s", why.text);
    return plan;
}

static void expect_same(const struct gw_plan *plan, enum gw_format format)
{
    size_t bytes;
    char *text = export(plan, format, &bytes);
    struct gw_plan *again = import(text, bytes, plan->algo);
    ck_assert_msg(gw_plan_hash(plan) == gw_plan_hash(again), "%s of %u ranks",
                  plan->algo, plan->ranks);
    ck_assert_str_eq(plan->algo, again->algo);
    gw_plan_destroy(&again);
    free(text);
}

/* As a file that another project made: right, and again the same from here. */
static void expect_right(const struct gw_plan *plan)
{
    size_t bytes;
    char *text = export(plan, GW_FORMAT_MSCCL, &bytes);
    bytes = without_notes(text, bytes);
    struct gw_plan *made = import(text, bytes, plan->algo);
    ck_assert_uint_eq(made->chunks, plan->chunks);
    expect_same(made, GW_FORMAT_MSCCL);
    expect_same(made, GW_FORMAT_GOAL);
    gw_plan_destroy(&made);
    free(text);
}

static bool msccl_has(const struct gw_plan *plan)
{
    return plan->collective != GW_GATHER && plan->collective != GW_SCATTER &&
           plan->collective != GW_BARRIER && plan->collective != GW_SCAN &&
           plan->collective != GW_EXSCAN;
}

START_TEST(every_algorithm_returns)
{
    size_t count;
    const struct gw_algo *algo = gw_algo_list(&count)[_i];
    for (unsigned ranks = 1; ranks <= RANKS_MOST; ranks++) {
        struct gw_algo_args args = {.ranks = ranks, .root = ranks / 2};
        struct gw_plan *plan;
        if (!algo->valid(ranks))
            continue;
        if (!gw_collective_rooted(algo->collective))
            args.root = 0;
        ck_assert_int_eq(
            gw_plan_make(algo->collective, algo->name, &args, &plan, NULL),
            GW_OK);
        expect_same(plan, GW_FORMAT_GOAL);
        if (msccl_has(plan)) {
            expect_same(plan, GW_FORMAT_MSCCL);
            if (ranks % 3 == 1 && plan->chunks < CHUNKS_MOST)
                expect_right(plan);
        }
        gw_plan_destroy(&plan);
    }
}
END_TEST

/* ---- random plans ---- */

static unsigned below(struct gw_rng *rng, unsigned limit)
{
    return (unsigned)(gw_rng_next(rng) % limit);
}

/* Moves values into scratch, where they harm no result; some are wrong, and the
 * verifier finds those plans. */
static void add_detours(struct gw_builder *b, struct gw_rng *rng,
                        const struct gw_plan *shape)
{
    unsigned count = below(rng, 4);
    gw_builder_step(b);
    for (unsigned i = 0; i < count; i++) {
        struct gw_transfer x = {
            .src = (uint16_t)below(rng, shape->ranks),
            .dst = (uint16_t)below(rng, shape->ranks),
            .chunk = below(rng, shape->chunks) & 0xffffff,
            .channel = below(rng, 3) & 3U,
            .action = below(rng, 4) == 0 ? GW_ADD : GW_REPLACE,
            .src_scratch = (uint16_t)(below(rng, 3) ? 0 : below(rng, 3)),
            .dst_scratch = (uint16_t)(1 + below(rng, 2)),
        };
        if (x.src != x.dst || x.src_scratch != x.dst_scratch)
            gw_builder_transfer(b, &x);
    }
}

static struct gw_plan *random_plan(struct gw_rng *rng)
{
    size_t count;
    const struct gw_algo *const *algos = gw_algo_list(&count);
    const struct gw_algo *algo = algos[below(rng, (unsigned)count)];
    struct gw_algo_args args = {.ranks = 2 + below(rng, 6)};
    struct gw_plan *plain, *plan;
    struct gw_builder *b;
    if (!algo->valid(args.ranks) || algo->collective == GW_BARRIER)
        return NULL;
    ck_assert_int_eq(
        gw_plan_make(algo->collective, algo->name, &args, &plain, NULL), GW_OK);
    ck_assert_int_eq(gw_builder_new(plain->collective, plain->ranks,
                                    plain->chunks, plain->root, &b, NULL),
                     GW_OK);
    gw_builder_name(b, "random");
    for (unsigned step = 0; step < plain->steps; step++) {
        add_detours(b, rng, plain);
        gw_builder_step(b);
        for (size_t t = plain->step_begin[step];
             t < plain->step_begin[step + 1]; t++) {
            struct gw_transfer x = plain->transfers[t];
            x.channel = below(rng, 2) & 1U;
            gw_builder_transfer(b, &x);
        }
    }
    gw_plan_destroy(&plain);
    ck_assert_int_eq(gw_builder_finish(&b, &plan, NULL), GW_OK);
    return plan;
}

START_TEST(random_plans_return)
{
    struct gw_rng rng;
    unsigned right = 0;
    gw_rng_seed(&rng, 26);
    for (unsigned i = 0; i < RANDOM_PLANS; i++) {
        struct gw_plan *plan = random_plan(&rng);
        struct gw_verdict verdict;
        if (plan && gw_plan_verify(plan, 0, &verdict, NULL) == GW_OK) {
            right += plan->scratch > 0;
            expect_same(plan, GW_FORMAT_GOAL);
            if (msccl_has(plan)) {
                expect_same(plan, GW_FORMAT_MSCCL);
                expect_right(plan);
            }
        }
        gw_plan_destroy(&plan);
    }
    ck_assert_uint_gt(right, RANDOM_PLANS / 10);
}
END_TEST

START_TEST(a_format_has_a_name)
{
    enum gw_format format = GW_FORMAT_DOT;
    struct gw_error why;
    for (unsigned i = 0; i < GW_FORMATS; i++) {
        ck_assert_int_eq(
            gw_format_parse(gw_format_name((enum gw_format)i), &format, NULL),
            GW_OK);
        ck_assert_uint_eq(format, i);
    }
    ck_assert_int_eq(gw_format_parse("xml", &format, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "unknown format \"xml\"; use msccl, goal, chakra "
                     "or dot");
    ck_assert_str_eq(gw_format_name(GW_FORMATS), "?");
}
END_TEST

Suite *suite_formats(void)
{
    Suite *suite = suite_create("formats");
    TCase *tests = tcase_create("all");
    size_t algos;
    gw_algo_list(&algos);
    tcase_add_loop_test(tests, every_algorithm_returns, 0, (int)algos);
    tcase_add_test(tests, random_plans_return);
    tcase_add_test(tests, a_format_has_a_name);
    suite_add_tcase(suite, tests);
    return suite;
}
