/* SPDX-License-Identifier: MIT
 *
 * The text form of networks: its meaning, that printing and parsing are inverse
 * to each other, and the errors of invalid texts.
 */
#include "nets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_network(void);

static const char digits[] = "# 64 pixels, one hidden layer, ten digits\n"
                             "network digits\n"
                             "input 64\n"
                             "dense 128 columns\n"
                             "relu\n"
                             "stage            # a pipeline stage begins here\n"
                             "dense 10 rows\n"
                             "softmax\n";

static char *printed(const struct gw_network *network)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *output = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(output);
    ck_assert_int_eq(gw_network_print(network, output, NULL), GW_OK);
    fclose(output);
    return text;
}

START_TEST(a_text_is_a_chain_of_operators)
{
    static const struct gw_operator expected[] = {
        {.kind = GW_OP_DENSE,
         .split = GW_SPLIT_COLUMNS,
         .in = 64,
         .out = 128,
         .line = 4},
        {.kind = GW_OP_RELU, .in = 128, .out = 128, .line = 5},
        {.kind = GW_OP_DENSE,
         .split = GW_SPLIT_ROWS,
         .in = 128,
         .out = 10,
         .begins_stage = true,
         .line = 7},
        {.kind = GW_OP_SOFTMAX, .in = 10, .line = 8},
    };
    struct gw_network *network = net_of(digits);
    ck_assert_str_eq(network->name, "digits");
    ck_assert_uint_eq(network->inputs, 64);
    ck_assert_uint_eq(network->classes, 10);
    ck_assert_uint_eq(network->operator_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct gw_operator *op = &network->operators[i];
        ck_assert_int_eq(op->kind, expected[i].kind);
        ck_assert_int_eq(op->split, expected[i].split);
        ck_assert_uint_eq(op->in, expected[i].in);
        ck_assert_uint_eq(op->out, expected[i].out);
        ck_assert_int_eq(op->begins_stage, expected[i].begins_stage);
        ck_assert_uint_eq(op->line, expected[i].line);
    }
    ck_assert_uint_eq(gw_network_parameters(network),
                      64 * 128 + 128 + 128 * 10 + 10);
    gw_network_destroy(&network);
    ck_assert_ptr_null(network);
}
END_TEST

START_TEST(an_embedding_has_no_biases)
{
    struct gw_network *network = net_of("network words\ninput 1000\n"
                                        "embedding 1000x16 rows\ntanh none\n"
                                        "dense 16x2 batch\nsoftmax 2 batch");
    ck_assert_uint_eq(gw_operator_parameters(&network->operators[0]), 16000);
    ck_assert_uint_eq(gw_operator_parameters(&network->operators[1]), 0);
    ck_assert_uint_eq(gw_operator_parameters(&network->operators[2]), 34);
    gw_network_destroy(&network);
}
END_TEST

/* Blanks, comments, foreign line ends, no line end at all. */
START_TEST(the_layout_of_a_text_is_free)
{
    static const char *const texts[] = {
        "network n\ninput 4\ndense 2\nsoftmax\n",
        ("\n# first\r\n  network\tn # x\r\n\r\n input 4\r\n"
         "dense 2 auto\r\n# \xc3\xa9\nsoftmax"),
        "network n\ninput 4\ndense 4x2\nsoftmax 2\n\n\n# end",
    };
    char *first = NULL;
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gw_network *network = net_of(texts[i]);
        char *text = printed(network);
        if (first)
            ck_assert_str_eq(text, first);
        free(i == 0 ? NULL : text);
        first = i == 0 ? text : first;
        gw_network_destroy(&network);
    }
    free(first);
}
END_TEST

START_TEST(what_is_printed_reads_back)
{
    struct gw_network *network = net_of(digits);
    char *text = printed(network);
    ck_assert_str_eq(text, "network digits\ninput 64\ndense 128 columns\nrelu\n"
                           "stage\ndense 10 rows\nsoftmax\n");
    struct gw_network *again = net_of(text);
    char *text_again = printed(again);
    ck_assert_str_eq(text, text_again);
    free(text);
    free(text_again);
    gw_network_destroy(&network);
    gw_network_destroy(&again);
}
END_TEST

#define HEAD "network n\ninput 4\n"

static const struct {
    const char *text, *sentence;
} wrong[] = {
    {"", "t:1:1: expected `network` and a name, found the end of the text"},
    {"\n dense 4\n", "t:2:2: expected `network` and a name, found `dense`"},
    {"network\n", "t:1:8: expected the network's name, found the end of the "
                  "line"},
    {"network a-name-that-is-far-too-long-for-any-report\n",
     "t:1:9: the name must have at most 39 characters"},
    {"network n m\n", "t:1:11: expected the end of the line, found `m`"},
    {"network n\n", "t:2:1: expected `input` and the features of a row, found "
                    "the end of the text"},
    {"network n\ninput\n", "t:2:6: expected the features of a row, such as 64, "
                           "or of an image, such as 3x8x8, found the end of "
                           "the line"},
    {"network n\ninput 0\n", "t:2:7: a width must be at least 1"},
    {"network n\ninput 1048577\n", "t:2:7: a width must be at most 1048576"},
    {"network n\ninput 4k\n", "t:2:8: expected `x` or a blank, found `k`"},
    {HEAD "input 4\n", "t:3:1: `input` occurs twice"},
    {HEAD "network m\n", "t:3:1: `network` occurs twice"},
    {HEAD "dens 4\n", "t:3:1: expected embedding, dense, relu, tanh, conv, "
                      "maxpool, flatten, add, softmax, name or stage, found "
                      "`dens`"},
    {HEAD "dense\n", "t:3:6: expected a width, such as 128 or 64x128, found "
                     "the end of the line"},
    {HEAD "dense columns\n", "t:3:7: expected a width, such as 128 or 64x128, "
                             "found `columns`"},
    {HEAD "dense 99999999999999999999\n",
     "t:3:7: a width must be at most 1048576"},
    {HEAD "dense 4x\n",
     "t:3:9: expected the width of the output, found the end of the word"},
    {HEAD "dense 4y2\n", "t:3:8: expected `x` or a blank, found `y2`"},
    {HEAD "dense 5x2\n", "t:3:7: it expects 5 features, but gets 4"},
    {HEAD "dense 2 sideways\n",
     "t:3:9: expected auto, none, columns, rows, batch or the end of the line, "
     "found `sideways`"},
    {HEAD "dense 2 rows rows\n",
     "t:3:14: expected the end of the line, found `rows`"},
    {HEAD "relu 4\n", "t:3:6: expected auto, none, columns, rows, batch or the "
                      "end of the line, found `4`"},
    {HEAD "dense 2\nsoftmax 3\n", "t:4:9: it expects 3 features, but gets 2"},
    {HEAD "dense 2\nsoftmax 2y\n", "t:4:10: expected a blank, found `y`"},
    {HEAD "dense 2\nembedding 2\nsoftmax\n",
     "t:4:1: an embedding must be the first operator"},
    {HEAD "dense 2\nsoftmax\nrelu\n",
     "t:5:1: softmax must be the last operator"},
    {HEAD "dense 2\nsoftmax\nsoftmax\n",
     "t:5:1: softmax must be the last operator"},
    {HEAD "dense 2\n", "t:4:1: a network must end with softmax, its loss"},
    {HEAD, "t:3:1: a network must end with softmax, its loss"},
    {HEAD "relu\nsoftmax\n",
     "t:5:1: a network needs at least one dense, conv or embedding to train"},
    {HEAD "stage\ndense 2\nsoftmax\n",
     "t:3:1: `stage` must come between operators; the first stage needs none"},
    {HEAD "dense 2\nstage\nstage\nsoftmax\n",
     "t:5:1: the previous stage has no operator"},
    {HEAD "dense 2\nstage\n", "t:4:1: this stage has no operator"},
    {HEAD "dense 2\nstage 2\nsoftmax\n",
     "t:4:7: expected the end of the line, found `2`"},
    {HEAD "dense 2\nsoftmax\nstage\n", "t:5:1: this stage has no operator"},
    {HEAD "dense \x01\n", "t:3:7: a network cannot contain byte 0x01"},
    {"network \xc3\xa9\n", "t:1:9: a network cannot contain byte 0xc3"},
};

static void expect_error(const char *text, size_t bytes, const char *sentence)
{
    struct gw_network *network = NULL;
    struct gw_error why = {0};
    ck_assert_msg(gw_network_parse(text, bytes, "t", &network, &why) ==
                      GW_EDATA,
                  "accepted:\n%s", text);
    ck_assert_str_eq(why.text, sentence);
    ck_assert_ptr_null(network);
    ck_assert_int_eq(gw_network_parse(text, bytes, "t", &network, NULL),
                     GW_EDATA);
}

START_TEST(a_wrong_text_is_refused_with_its_place)
{
    expect_error(wrong[_i].text, strlen(wrong[_i].text), wrong[_i].sentence);
}
END_TEST

START_TEST(a_zero_byte_is_no_end)
{
    static const char text[] = HEAD "dense 2\0\nsoftmax\n";
    expect_error(text, sizeof text - 1,
                 "t:3:8: a network cannot contain byte 0x00");
}
END_TEST

START_TEST(operators_are_bounded)
{
    enum { LINES = GW_OPERATORS_MAX + 1 };
    char *text = malloc(32 + 6 * LINES);
    ck_assert_ptr_nonnull(text);
    size_t at = (size_t)snprintf(text, 32, HEAD);
    for (unsigned i = 0; i < LINES; i++, at += 5)
        memcpy(text + at, "relu\n", 5);
    expect_error(text, at, "t:259:1: a network can have at most 256 operators");
    free(text);
}
END_TEST

START_TEST(files_load_or_report_why_not)
{
    char path[] = "/tmp/gradwire-network-XXXXXX";
    struct gw_network *network = NULL;
    struct gw_error why = {0};
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, digits, sizeof digits - 1),
                     (ssize_t)sizeof digits - 1);
    close(fd);
    ck_assert_int_eq(gw_network_load(path, &network, &why), GW_OK);
    ck_assert_uint_eq(network->operator_count, 4);
    gw_network_destroy(&network);
    unlink(path);
    ck_assert_int_eq(gw_network_load(path, &network, &why), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "No such file"));
    ck_assert_int_eq(gw_network_load("/tmp", &network, &why), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, "directory"));
    ck_assert_ptr_null(network);
}
END_TEST

Suite *suite_network(void)
{
    Suite *suite = suite_create("network");
    TCase *tests = tcase_create("network");
    tcase_add_test(tests, a_text_is_a_chain_of_operators);
    tcase_add_test(tests, an_embedding_has_no_biases);
    tcase_add_test(tests, the_layout_of_a_text_is_free);
    tcase_add_test(tests, what_is_printed_reads_back);
    tcase_add_loop_test(tests, a_wrong_text_is_refused_with_its_place, 0,
                        sizeof wrong / sizeof *wrong);
    tcase_add_test(tests, a_zero_byte_is_no_end);
    tcase_add_test(tests, operators_are_bounded);
    tcase_add_test(tests, files_load_or_report_why_not);
    suite_add_tcase(suite, tests);
    return suite;
}
