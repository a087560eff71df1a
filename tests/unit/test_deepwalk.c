/* SPDX-License-Identifier: MIT
 *
 * Walks over a graph as sentences: each step is along an edge, equally many
 * walks begin at each node, no window leaves a walk; and related nodes get
 * similar vectors.
 */
#include "learn/tasks/task.h"
#include "learn/words/walks.h"
#include "learn/words/word2vec.h"
#include "task_run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_deepwalk(void);

static struct task_run run;

static void clean(void)
{
    task_clean(&run);
}

static void configure(const char *edges)
{
    ck_assert_int_eq(gw_task_defaults("deepwalk", &run.config, &run.why),
                     GW_OK);
    run.config.train = task_file(&run, 0, edges, strlen(edges));
    run.config.words.walks = 4;
    run.config.words.length = 10;
    run.config.words.dimension = 8;
}

static const char path_and_pair[] = "# two parts\n"
                                    "a b\nb c\n"
                                    "\n"
                                    "c d\n"
                                    "x y\n";

static char name_of(const struct gw__word_table *words, size_t at)
{
    return *words->word[words->stream[at]].text;
}

static bool is_edge(char a, char b)
{
    return strchr("xy", a) ? (a ^ b) == ('x' ^ 'y') : abs(a - b) == 1;
}

START_TEST(walks_go_along_edges)
{
    configure(path_and_pair);
    task_begin(&run);
    const struct gw__word2vec *data = run.task->data;
    const struct gw__word_table *words = &data->words;
    unsigned begins[128] = {0};
    uint64_t pairs = 0;
    ck_assert_uint_eq(words->word_count, 6);
    ck_assert_uint_eq(words->length, 6 * 4 * 10);
    for (size_t at = 0; at < words->length; at++)
        if (at % 10 == 0)
            begins[(unsigned char)name_of(words, at)]++;
        else
            ck_assert(is_edge(name_of(words, at - 1), name_of(words, at)));
    for (size_t v = 0; v < words->word_count; v++) {
        ck_assert_uint_eq(begins[(unsigned char)*words->word[v].text], 4);
        pairs += words->word[v].count;
    }
    ck_assert_uint_eq(pairs, words->length);
}
END_TEST

/* A window that left a walk would pair nodes without a path between them. */
START_TEST(no_window_leaves_a_walk)
{
    configure(path_and_pair);
    task_begin(&run);
    const struct gw__word2vec *data = run.task->data;
    struct gw__pairs pairs = {0};
    ck_assert(
        !gw__pairs_make(&pairs, run.task, 0, 0, data->words.length, &run.why));
    ck_assert_uint_gt(pairs.count, data->words.length);
    for (size_t i = 0; i < pairs.count; i++) {
        const struct gw__pair *pair = &pairs.pair[i];
        char in = *data->words.word[pair->in].text;
        char target = *data->words.word[pairs.targets[pair->first]].text;
        ck_assert_int_eq(in >= 'x', target >= 'x');
    }
    gw__pairs_fini(&pairs);
}
END_TEST

START_TEST(bad_graphs_and_walks_are_refused)
{
    configure("a b\nb c d\n");
    task_expect_refused(&run, GW_EDATA, ":2: a line must have 2 words, not 3");
    clean();
    configure("a b\n\n#\nb");
    task_expect_refused(&run, GW_EDATA, ":4: a line must have 2 words, not 1");
    clean();
    configure("# nothing\n");
    task_expect_refused(&run, GW_EDATA, "no words");
    clean();
    configure("a b\n");
    run.config.words.walks = 0;
    task_expect_refused(&run, GW_EINVAL, "0 walks of 10 nodes");
    run.config.words.walks = 1;
    run.config.words.length = 1;
    task_expect_refused(&run, GW_EINVAL, "1 walks of 1 nodes");
}
END_TEST

START_TEST(parts_and_seeds_give_the_same_bits)
{
    configure(path_and_pair);
    task_expect_seed(&run, 2, 2);
}
END_TEST

/* Two complete groups of six, with one edge between them. */
static void two_groups(char *edges, char *labels)
{
    for (int a = 0; a < 12; a++) {
        labels += sprintf(labels, "n%d %s\n", a, a < 6 ? "left" : "right");
        for (int b = a + 1; b < 12; b++)
            if (a / 6 == b / 6 || (a == 0 && b == 6))
                edges += sprintf(edges, "n%d n%d\n", a, b);
    }
    sprintf(labels, "stranger left\n");
}

START_TEST(vectors_separate_groups)
{
    char edges[1000], labels[400];
    size_t queried, right;
    struct gw_embedding *nodes;
    two_groups(edges, labels);
    configure(edges);
    run.config.words.length = 40;
    task_begin(&run);
    const char *path = task_file(&run, 1, labels, strlen(labels));
    const struct gw_fetch fetch = gw_table_store_fetch(run.store);
    task_train(&run, 0, run.config.epochs, 1);
    ck_assert(!gw_embedding_new(run.task, &fetch, &nodes, &run.why));
    ck_assert(!gw_embedding_classes(nodes, path, &queried, &right, &run.why));
    ck_assert_uint_eq(queried, 12);
    ck_assert_uint_eq(right, 12);
    ck_assert_int_eq(
        gw_embedding_classes(nodes, "/nowhere", &queried, &right, &run.why),
        GW_EDATA);
    gw_embedding_destroy(&nodes);
}
END_TEST

Suite *suite_deepwalk(void)
{
    Suite *suite = suite_create("deepwalk");
    TCase *c = tcase_create("deepwalk");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, walks_go_along_edges);
    tcase_add_test(c, no_window_leaves_a_walk);
    tcase_add_test(c, bad_graphs_and_walks_are_refused);
    tcase_add_test(c, parts_and_seeds_give_the_same_bits);
    tcase_add_test(c, vectors_separate_groups);
    suite_add_tcase(suite, c);
    return suite;
}
