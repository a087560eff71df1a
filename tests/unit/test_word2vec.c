/* SPDX-License-Identifier: MIT
 *
 * word2vec: pairs of words that are independent of the cuts of a text, steps
 * that are slopes, and words of one topic that get similar vectors.
 */
#include "learn/tasks/task.h"
#include "learn/words/word2vec.h"
#include "skip.h"
#include "task_run.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_word2vec(void);

enum { SEED = 9, TOPICS = 4, WORDS = 12, LENGTH = 12000, STRETCH = 25 };

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

static void configure_text(const char *text, size_t bytes)
{
    ck_assert_int_eq(gw_task_defaults("word2vec", &run.config, &run.why),
                     GW_OK);
    run.config.train = task_file(&run, 0, text, bytes);
    run.config.words.min_count = 1;
}

/* Runs of words of one topic each: "a0 a7 a3 ... c5 c1 ...". */
static void configure(void)
{
    static char text[LENGTH * 4];
    size_t used = 0;
    unsigned topic = 0;
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    for (int i = 0; i < LENGTH; i++) {
        topic = i % STRETCH ? topic : (unsigned)gw_rng_below(&rng, TOPICS);
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%c%u%c", 'a' + (int)topic,
            (unsigned)gw_rng_below(&rng, WORDS), i % 10 ? ' ' : '\n');
    }
    configure_text(text, used);
    run.config.epochs = 4;
    run.config.batch = 500;
    run.config.words.dimension = 20;
    run.config.words.subsample = 0;
    run.config.rate = 0.05f;
}

/* ---- pairs ---- */

/* Columns and aliases together give each word its probability. */
START_TEST(negatives_are_drawn_by_frequency)
{
    configure();
    task_begin(&run);
    const struct gw__word2vec *data = run.task->data;
    size_t count = data->words.word_count;
    double share[TOPICS * WORDS] = {0}, sum = 0;
    ck_assert_uint_eq(count, TOPICS * WORDS);
    for (size_t i = 0; i < count; i++) {
        double own = (double)data->alias[i].threshold / 0x1p32;
        share[i] += own / (double)count;
        share[data->alias[i].alias] += (1 - own) / (double)count;
        sum += pow((double)data->words.word[i].count, 0.75);
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_double_eq_tol(
            share[i], pow((double)data->words.word[i].count, 0.75) / sum, 1e-8);
}
END_TEST

/* With a window of one word each word but the ends has two neighbours; for any
 * cuts of the text all pairs are there once. */
START_TEST(splits_lose_no_pair)
{
    static const unsigned parts[] = {1, 2, 7, 64};
    configure();
    run.config.words.window = 1;
    run.config.words.negatives = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        run.config.batch = i % 2 ? 0 : 77;
        task_begin(&run);
        struct gw_task_score score = task_train(&run, 0, 1, parts[i]);
        ck_assert_uint_eq(score.samples, 2 * (LENGTH - 1));
        task_end(&run);
    }
}
END_TEST

/* Gives all words random vectors. */
static void scatter(void)
{
    float vector[20];
    struct gw_rng rng;
    gw_rng_seed(&rng, SEED);
    for (unsigned table = 0; table < 2; table++)
        for (uint64_t key = 0; key < TOPICS * WORDS; key++) {
            for (int k = 0; k < 20; k++)
                vector[k] = (float)gw_rng_unit(&rng) - 0.5f;
            ck_assert_int_eq(gw_table_store_push(run.store, table, &key, 1,
                                                 vector, &run.why),
                             GW_OK);
        }
    gw_table_store_step(run.store);
}

/* With dropped words, wide windows and negatives: the same pairs, which at a
 * rate of 0 do not change each other. */
START_TEST(parts_have_the_pairs_of_the_whole)
{
    configure();
    run.config.rate = 0;
    run.config.words.subsample = 1e-2;
    task_begin(&run);
    scatter();
    for (unsigned count = 2; count < 9; count += 3)
        task_expect_parts(&run, count, count);
    task_expect_parts(&run, 1, 64);
}
END_TEST

/* Negatives from pools: the same pairs again, and fewer words to pull. */
START_TEST(pools_belong_to_the_text)
{
    size_t words[2];
    for (int i = 0; i < 2; i++) {
        configure();
        run.config.rate = 0;
        run.config.batch = 3000;
        run.config.words.pool = i ? 5 : 0;
        task_begin(&run);
        scatter();
        task_expect_parts(&run, 1, 7);
        task_pull(&run, &(struct gw_work_item_id){0, 0, 0, 300});
        gw_work_item_keys(run.item, 1, &words[i]);
        clean();
    }
    ck_assert_uint_eq(words[0], TOPICS * WORDS);
    ck_assert_uint_le(words[1], 10 + 5); /* 10 targets, and the pool */
}
END_TEST

START_TEST(frequent_words_are_dropped)
{
    uint64_t samples[2];
    for (int i = 0; i < 2; i++) {
        configure();
        /* All words have a share of about 1/48: kept is sqrt(s) + s of it. */
        run.config.words.subsample = i ? 0.25 / 48 : 0;
        task_begin(&run);
        samples[i] = task_train(&run, 0, 1, 1).samples;
        clean();
    }
    double kept = (double)samples[1] / (double)samples[0];
    ck_assert_msg(fabs(kept - 0.75) < 0.02, "%g of the pairs are kept", kept);
}
END_TEST

/* ---- steps ---- */

enum { DIMENSION = 10, STRIDE = GW__LANES, TARGETS = 4 };

/* The loss of one pair, exactly. */
static double pair_loss(const float *in, const float *out)
{
    double loss = 0;
    for (int target = 0; target < TARGETS; target++) {
        double score = 0;
        for (int k = 0; k < DIMENSION; k++)
            score += (double)in[k] * (double)out[target * STRIDE + k];
        loss += log1p(exp(target == 0 ? -score : score));
    }
    return loss;
}

static double slope_at(const float *in, const float *out, float *value)
{
    float kept = *value;
    *value = kept + 1e-3f;
    double above = pair_loss(in, out), distance = (double)*value;
    *value = kept - 1e-3f;
    double below = pair_loss(in, out);
    distance -= (double)*value;
    *value = kept;
    return (above - below) / distance;
}

static void randomise(float *vectors, size_t count, uint64_t seed)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, seed);
    for (size_t i = 0; i < count * STRIDE; i++)
        vectors[i] =
            i % STRIDE < DIMENSION ? (float)(gw_rng_unit(&rng) - 0.5) * 2 : 0;
}

START_TEST(steps_are_slopes)
{
    float in[STRIDE], out[TARGETS * STRIDE], error[STRIDE];
    float moved_in[STRIDE], moved_out[TARGETS * STRIDE];
    uint32_t targets[TARGETS] = {2, 0, 3, 1};
    struct gw__pair pair = {.count = TARGETS, .rate = 0.5f};
    struct gw__pairs pairs = {.pair = &pair, .count = 1, .targets = targets};
    struct gw__vectors vectors = {
        .in = moved_in, .out = moved_out, .stride = STRIDE};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct gw_sample_sums sums = {0};
        randomise(in, 1, seed);
        randomise(out, TARGETS, seed + 100);
        memcpy(moved_in, in, sizeof in);
        for (int t = 0; t < TARGETS; t++)
            memcpy(moved_out + targets[t] * STRIDE, out + t * STRIDE,
                   sizeof in);
        gw__word2vec_train(&vectors, &pairs, error, &sums);
        ck_assert_uint_eq(sums.samples, 1);
        ck_assert_double_eq_tol(sums.loss, pair_loss(in, out), 5e-3);
        for (int k = 0; k < DIMENSION; k++)
            ck_assert_double_eq_tol((double)(in[k] - moved_in[k]) / 0.5,
                                    slope_at(in, out, in + k), 3e-3);
        for (int k = 0; k < TARGETS * STRIDE; k++) {
            float moved =
                moved_out[(int)targets[k / STRIDE] * STRIDE + k % STRIDE];
            ck_assert_double_eq_tol((double)(out[k] - moved) / 0.5,
                                    slope_at(in, out, out + k), 3e-3);
        }
    }
}
END_TEST

#ifdef __x86_64__
START_TEST(all_cpus_find_the_same_bits)
{
    enum { VECTORS = 20, PAIRS = 500 };
    static float in[2][VECTORS * STRIDE], out[2][VECTORS * STRIDE];
    static struct gw__pair pair[PAIRS];
    static uint32_t targets[PAIRS * TARGETS];
    float error[STRIDE];
    struct gw__pairs pairs = {.pair = pair, .count = PAIRS, .targets = targets};
    struct gw_sample_sums sums[2] = {{0}};
    struct gw_rng rng;
    if (!__builtin_cpu_supports("avx2"))
        SKIP("word2vec", "this CPU has no avx2");
    gw_rng_seed(&rng, SEED);
    for (size_t i = 0; i < PAIRS; i++) {
        pair[i] = (struct gw__pair){
            i * TARGETS, TARGETS, (uint32_t)gw_rng_below(&rng, VECTORS), 0.3f};
        for (size_t k = 0; k < TARGETS; k++)
            targets[i * TARGETS + k] = (uint32_t)gw_rng_below(&rng, VECTORS);
    }
    for (int i = 0; i < 2; i++) {
        struct gw__vectors vectors = {
            .in = in[i], .out = out[i], .stride = STRIDE};
        randomise(in[i], VECTORS, 1);
        randomise(out[i], VECTORS, 2);
        if (i == 0)
            gw__word2vec_train_any(&vectors, &pairs, error, &sums[i]);
        else
            gw__word2vec_train_avx2(&vectors, &pairs, error, &sums[i]);
    }
    ck_assert_mem_eq(in[0], in[1], sizeof in[0]);
    ck_assert_mem_eq(out[0], out[1], sizeof out[0]);
    ck_assert_mem_eq(&sums[0], &sums[1], sizeof sums[0]);
}
END_TEST
#endif

START_TEST(the_seed_decides)
{
    configure();
    task_expect_seed(&run, 1, 3);
}
END_TEST

/* ---- learning ---- */

/* The three words nearest to each word are of its topic, but for a few. */
static void expect_topics(const struct gw_fetch *fetch)
{
    struct gw_embedding *words;
    unsigned strangers = 0;
    ck_assert_int_eq(gw_embedding_new(run.task, fetch, &words, &run.why),
                     GW_OK);
    for (int i = 0; i < TOPICS * WORDS; i++) {
        struct gw_neighbour nearest[3];
        size_t count = 3, bytes;
        char word[8];
        snprintf(word, sizeof word, "%c%d", 'a' + i / WORDS, i % WORDS);
        ck_assert_int_eq(
            gw_embedding_nearest(words, word, nearest, &count, &run.why),
            GW_OK);
        ck_assert_uint_eq(count, 3);
        ck_assert_double_ge(nearest[0].cosine, nearest[1].cosine);
        ck_assert_double_ge(nearest[1].cosine, nearest[2].cosine);
        for (size_t k = 0; k < 3; k++)
            strangers +=
                *gw_words_word(run.task, nearest[k].number, &bytes) != *word;
    }
    ck_assert_msg(strangers <= 4, "%u of %d neighbours are of other topics",
                  strangers, 3 * TOPICS * WORDS);
    gw_embedding_destroy(&words);
}

START_TEST(topics_are_found)
{
    configure();
    task_begin(&run);
    struct gw_task_score before = task_score(&run, GW_TASK_TRAIN, 0);
    ck_assert_double_eq_tol(before.loss, 6 * log(2), 0.2);
    task_train(&run, 0, 4, 2);
    struct gw_task_score after = task_score(&run, GW_TASK_TRAIN, 4);
    ck_assert_msg(after.loss < 0.8 * before.loss && after.quality > 0.3,
                  "loss %g, first %g", after.loss, after.quality);
    ck_assert_uint_eq(after.samples, before.samples);
    struct gw_fetch fetch = gw_table_store_fetch(run.store);
    expect_topics(&fetch);
    ck_assert_int_eq(
        gw_task_evaluate(run.task, GW_TASK_TEST, 4, &fetch, &after, &run.why),
        GW_ENOTSUP);
}
END_TEST

/* Each part moves each word far; the sum must not diverge. */
START_TEST(many_parts_stay_finite)
{
    configure();
    run.config.batch = 400;
    task_begin(&run);
    struct gw_task_score before = task_score(&run, GW_TASK_TRAIN, 0);
    task_train(&run, 0, 4, 8);
    struct gw_task_score after = task_score(&run, GW_TASK_TRAIN, 4);
    ck_assert_msg(after.loss < before.loss, "loss %g after %g", after.loss,
                  before.loss);
}
END_TEST

/* A single hogwild thread equals a run of items, except for rounding. */
START_TEST(hogwild_alone_is_the_sequence)
{
    struct gw_hogwild *hogwild;
    struct gw_sample_sums sums;
    uint64_t ns, key;
    float a[20], b[20];
    configure();
    task_begin(&run);
    struct gw_task_score local = task_train(&run, 0, 1, 1);
    ck_assert_int_eq(gw_hogwild_new(run.task, &hogwild, &run.why), GW_OK);
    ck_assert_int_eq(gw_hogwild_epoch(hogwild, 0, 1, &sums, &ns, &run.why),
                     GW_OK);
    ck_assert_uint_eq(sums.samples, local.samples);
    ck_assert_double_eq_tol(sums.loss / (double)sums.samples, local.loss, 1e-4);
    struct gw_fetch fetch = gw_hogwild_fetch(hogwild);
    for (unsigned table = 0; table < 2; table++)
        for (key = 0; key < TOPICS * WORDS; key++) {
            ck_assert_int_eq(
                fetch.rows(fetch.context, table, &key, 1, a, &run.why), GW_OK);
            gw_table_store_pull(run.store, table, &key, 1, b);
            for (int k = 0; k < 20; k++)
                task_expect_close(a[k], b[k], 1e-3);
        }
    gw_hogwild_destroy(&hogwild);
}
END_TEST

START_TEST(hogwild_learns)
{
    struct gw_hogwild *hogwild;
    struct gw_sample_sums sums;
    uint64_t ns;
    configure();
    task_begin(&run);
    ck_assert_int_eq(gw_hogwild_new(run.task, &hogwild, &run.why), GW_OK);
    ck_assert_int_eq(gw_hogwild_epoch(hogwild, 0, 0, &sums, &ns, &run.why),
                     GW_EINVAL);
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        ck_assert_int_eq(
            gw_hogwild_epoch(hogwild, epoch, 3, &sums, &ns, &run.why), GW_OK);
        ck_assert_uint_eq(sums.rows, LENGTH);
    }
    struct gw_fetch fetch = gw_hogwild_fetch(hogwild);
    expect_topics(&fetch);
    gw_hogwild_destroy(&hogwild);
}
END_TEST

Suite *suite_word2vec(void)
{
    Suite *suite = suite_create("word2vec");
    TCase *c = tcase_create("word2vec");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, negatives_are_drawn_by_frequency);
    tcase_add_test(c, splits_lose_no_pair);
    tcase_add_test(c, parts_have_the_pairs_of_the_whole);
    tcase_add_test(c, pools_belong_to_the_text);
    tcase_add_test(c, frequent_words_are_dropped);
    tcase_add_test(c, steps_are_slopes);
#ifdef __x86_64__
    tcase_add_test(c, all_cpus_find_the_same_bits);
#endif
    tcase_add_test(c, the_seed_decides);
    tcase_add_test(c, topics_are_found);
    tcase_add_test(c, many_parts_stay_finite);
    tcase_add_test(c, hogwild_alone_is_the_sequence);
    tcase_add_test(c, hogwild_learns);
    suite_add_tcase(suite, c);
    return suite;
}
