/* SPDX-License-Identifier: MIT
 *
 * The words of a text: their numbering, unusable texts and configurations, and
 * analogy questions.
 */
#include "task_run.h"

#include <check.h>
#include <string.h>

Suite *suite_words(void);

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

START_TEST(words_are_numbered_by_frequency)
{
    static const char text[] = "  b c\na\tb\r\n c b long-word a\n d";
    static const char *const sorted[] = {"b", "a", "c"};
    size_t bytes, number;
    configure_text(text, sizeof text - 1);
    run.config.words.min_count = 2;
    task_begin(&run);
    ck_assert_uint_eq(gw_words_count(run.task), 3);
    ck_assert_uint_eq(gw_task_rows(run.task), 7); /* rare words are removed */
    for (size_t i = 0; i < 3; i++) {
        const char *word = gw_words_word(run.task, i, &bytes);
        ck_assert(bytes == 1 && *word == *sorted[i]);
        ck_assert_uint_eq(gw_words_frequency(run.task, i), i == 0 ? 3 : 2);
        ck_assert_int_eq(gw_words_find(run.task, sorted[i], &number, &run.why),
                         GW_OK);
        ck_assert_uint_eq(number, i);
    }
    ck_assert_int_eq(gw_words_find(run.task, "d", &number, &run.why), GW_EDATA);
    ck_assert_int_eq(gw_words_find(run.task, "", &number, &run.why), GW_EDATA);
}
END_TEST

START_TEST(bad_texts_are_refused)
{
    configure_text("", 0);
    task_expect_refused(&run, GW_EDATA, "no words");
    clean();
    configure_text(" \n\t\n ", 5);
    task_expect_refused(&run, GW_EDATA, "no words");
    clean();
    configure_text("a b c a b a", 11);
    run.config.words.min_count = 4;
    task_expect_refused(&run, GW_EDATA, "0 of its 3 different words");
    run.config.words.min_count = 3;
    task_expect_refused(&run, GW_EDATA, run.path[0]);
    run.config.train = "/nowhere/to/be.found";
    task_expect_refused(&run, GW_EDATA, "/nowhere/to/be.found");
    run.config.train = "/tmp";
    task_expect_refused(&run, GW_EDATA, "/tmp: Is a directory");
}
END_TEST

START_TEST(bad_configs_are_refused)
{
    configure_text("a b c", 5);
    struct gw_task_config good = run.config;
    run.config.words.dimension = 0;
    task_expect_refused(&run, GW_EINVAL, "dimension 0");
    run.config = good;
    run.config.words.window = 0;
    task_expect_refused(&run, GW_EINVAL, "window 0");
    run.config = good;
    run.config.epochs = 0;
    task_expect_refused(&run, GW_EINVAL, "a number of epochs");
    run.config = good;
    run.config.updater = GW_PS_SGD;
    task_expect_refused(&run, GW_EINVAL, "sgd");
    run.config = good;
    run.config.words.subsample = -1;
    task_expect_refused(&run, GW_EINVAL, "subsampling");
    run.config = good;
    run.config.train = NULL;
    task_expect_refused(&run, GW_EINVAL, "the text or edge list is missing");
}
END_TEST

/* Vectors with b - a + c = d. */
static enum gw_err made_vectors(void *context, unsigned table,
                                const uint64_t *keys, size_t count, float *rows,
                                struct gw_error *why)
{
    (void)context, (void)table, (void)why;
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        char word = *gw_words_word(run.task, keys[i], &bytes);
        rows[i * 3] = 1;
        rows[i * 3 + 1] = word == 'b' || word == 'd' ? 1 : -1;
        rows[i * 3 + 2] = word == 'c' || word == 'd' ? 1 : -1;
    }
    return GW_OK;
}

START_TEST(analogies_are_queried)
{
    static const char quiz[] = ": letters\nA b c D\nb a d c\n\na b c x\n"
                               "a b d c\n";
    struct gw_fetch fetch = {.rows = made_vectors};
    struct gw_embedding *words;
    size_t queried, right;
    configure_text("a b c d", 7);
    run.config.words.dimension = 3;
    task_begin(&run);
    ck_assert_int_eq(gw_embedding_new(run.task, &fetch, &words, &run.why),
                     GW_OK);
    const char *path = task_file(&run, 1, quiz, sizeof quiz - 1);
    ck_assert_int_eq(
        gw_embedding_analogies(words, path, &queried, &right, &run.why), GW_OK);
    ck_assert_uint_eq(queried, 3);
    ck_assert_uint_eq(right, 3); /* the last one can only answer c */
    ck_assert_int_eq(
        gw_embedding_analogies(words, run.path[0], &queried, &right, &run.why),
        GW_OK);
    ck_assert_int_eq(
        gw_embedding_analogies(words, "/nowhere", &queried, &right, &run.why),
        GW_EDATA);
    gw_embedding_destroy(&words);
}
END_TEST

START_TEST(questions_have_four_words)
{
    struct gw_fetch fetch = {.rows = made_vectors};
    struct gw_embedding *words;
    size_t queried, right;
    configure_text("a b c d", 7);
    run.config.words.dimension = 3;
    task_begin(&run);
    ck_assert_int_eq(gw_embedding_new(run.task, &fetch, &words, &run.why),
                     GW_OK);
    const char *path = task_file(&run, 1, "a b c d\na b c\n", 14);
    ck_assert_int_eq(
        gw_embedding_analogies(words, path, &queried, &right, &run.why),
        GW_EDATA);
    ck_assert_ptr_nonnull(strstr(run.why.text, ":2: 3 words"));
    gw_embedding_destroy(&words);
}
END_TEST

Suite *suite_words(void)
{
    Suite *suite = suite_create("words");
    TCase *c = tcase_create("words");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, words_are_numbered_by_frequency);
    tcase_add_test(c, bad_texts_are_refused);
    tcase_add_test(c, bad_configs_are_refused);
    tcase_add_test(c, analogies_are_queried);
    tcase_add_test(c, questions_have_four_words);
    suite_add_tcase(suite, c);
    return suite;
}
