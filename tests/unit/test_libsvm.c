/* SPDX-License-Identifier: MIT
 *
 * The LibSVM reader: accepted files, the rows made from them, and the position
 * in its error messages.
 */
#include <gradwire/learn.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_libsvm(void);

static struct gw_dataset *data;
static struct gw_error why;

static void clean(void)
{
    gw_dataset_destroy(&data);
}

static enum gw_err parse_as(const char *text, enum gw_index_base base)
{
    why = (struct gw_error){.code = GW_OK};
    gw_dataset_destroy(&data);
    return gw_libsvm_parse(text, strlen(text), "t", base, &data, &why);
}

static void parse(const char *text)
{
    enum gw_err code = parse_as(text, GW_BASE_AUTO);
    ck_assert_msg(code == GW_OK, "\"%s\": %s", text, why.text);
}

static void expect_row(size_t row, double label, size_t count,
                       const uint32_t *index, const float *value)
{
    size_t begin = data->row_begin[row];
    ck_assert_double_eq(data->classes[data->label[row]], label);
    ck_assert_uint_eq(data->row_begin[row + 1] - begin, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(data->index[begin + i], index[i]);
        ck_assert_double_eq((double)data->value[begin + i], (double)value[i]);
    }
}

START_TEST(rows)
{
    parse("+1 1:0.5 3:-2\n-1\n+1 2:1e2 7:.25\n");
    ck_assert_uint_eq(data->rows, 3);
    ck_assert_uint_eq(data->nonzeros, 4);
    ck_assert_uint_eq(data->features, 7);
    ck_assert_uint_eq(data->index_base, 1);
    expect_row(0, 1, 2, (uint32_t[]){0, 2}, (float[]){0.5f, -2});
    expect_row(1, -1, 0, NULL, NULL);
    expect_row(2, 1, 2, (uint32_t[]){1, 6}, (float[]){100, 0.25f});
}
END_TEST

START_TEST(labels_are_any_numbers)
{
    const double ascending[] = {-3, 0, 0.5, 7, 1e9};
    parse("7 1:1\n0.5 1:1\n-3 1:1\n1e9 1:1\n0.50 1:1\n-0 1:1\n+0 1:1\n");
    ck_assert_uint_eq(data->class_count, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq(data->classes[i], ascending[i]);
    const uint32_t class_of[] = {3, 2, 0, 4, 2, 1, 1};
    for (int i = 0; i < 7; i++)
        ck_assert_uint_eq(data->label[i], class_of[i]);
}
END_TEST

START_TEST(counts_from_0_or_1)
{
    parse("1 1:1 2:1\n2 4:1\n");
    ck_assert_uint_eq(data->index_base, 1);
    ck_assert_uint_eq(data->features, 4);
    parse("1 1:1 2:1\n2 0:1 4:1\n");
    ck_assert_uint_eq(data->index_base, 0);
    ck_assert_uint_eq(data->features, 5);
    ck_assert_uint_eq(data->index[0], 1);
    ck_assert_int_eq(parse_as("1 1:1 2:1\n", GW_BASE_0), GW_OK);
    ck_assert_uint_eq(data->index[0], 1);
    ck_assert_uint_eq(data->features, 3);
    ck_assert_int_eq(parse_as("1 1:1\n1 0:1\n", GW_BASE_1), GW_EDATA);
    ck_assert_str_eq(why.text,
                     "t:2:3: index 0, but the training data counts from 1");
}
END_TEST

START_TEST(no_entry_at_all)
{
    parse("1\n2\n");
    ck_assert_uint_eq(data->features, 0);
    ck_assert_uint_eq(data->nonzeros, 0);
}
END_TEST

/* All of these are equivalent. */
START_TEST(whitespace_comments_and_endings)
{
    static const char *const texts[] = {
        "1 2:3\n2 1:4\n",
        "1 2:3\n2 1:4",
        "1 2:3\r\n2 1:4\r\n",
        "  1\t 2:3 \n\n \t\n2 1:4 \t\n\n",
        "# head\n1 2:3 # 9:9\n   # more\r\n2 1:4#\n",
        "1 qid:17 2:3\n2 qid:0 1:4\n",
        "1 2:3 \r\n\r\n2 1:4 #\r",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        parse(texts[i]);
        ck_assert_msg(data->rows == 2, "text %zu", i);
        expect_row(0, 1, 1, (uint32_t[]){1}, (float[]){3});
        expect_row(1, 2, 1, (uint32_t[]){0}, (float[]){4});
    }
}
END_TEST

START_TEST(order_of_indices_is_kept)
{
    parse("1 5:1 2:2 9:3\n");
    expect_row(0, 1, 3, (uint32_t[]){4, 1, 8}, (float[]){1, 2, 3});
}
END_TEST

START_TEST(numbers_as_strtod_reads_them)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "+7",
        "00012",
        "1.",
        ".5",
        "-.5",
        "3.14159265358979",
        "0.1",
        "1e5",
        "1E+5",
        "1e-5",
        "12e0",
        "123456789012345678",
        "9007199254740993",
        "1.7976931348623157e10",
        "0.000000000000000000001",
        "1234567890123456789012345",
        "0.12345678901234567890123",
        "3e38",
        "1e-46",
        "1e-400",
        "1e-99999999999",
        "0e999999999999",
        "4.35",
        "16777217",
        "0.30000001192092896",
        "1e22",
        "1e23",
        "1e-22",
        "7e-23",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char line[80];
        snprintf(line, sizeof line, "%s 1:%s\n", texts[i], texts[i]);
        parse(line);
        double wanted = strtod(texts[i], NULL);
        ck_assert_msg(memcmp(&data->classes[0], &wanted, sizeof wanted) == 0,
                      "label %s became %.17g", texts[i], data->classes[0]);
        float rounded = (float)wanted;
        ck_assert_msg(memcmp(&data->value[0], &rounded, sizeof rounded) == 0,
                      "value %s became %.9g", texts[i], (double)data->value[0]);
    }
}
END_TEST

static const struct refusal {
    const char *text, *sentence;
} refusals[] = {
    {"", "t: the file has no row"},
    {"\n# nothing\n", "t: the file has no row"},
    {"1 1:1\nx 1:1\n", "t:2:1: the row must begin with a number as label"},
    {"nan 1:1\n", "t:1:1: the row must begin with a number as label"},
    {"-inf 1:1\n", "t:1:1: the row must begin with a number as label"},
    {"1e999 1:1\n", "t:1:1: the label is too large"},
    {"1:1 2:1\n", "t:1:1: the label is missing: the row begins with an entry"},
    {"1,2 1:1\n", "t:1:2: a row can have one label only"},
    {"0x10 1:1\n", "t:1:2: the label must be a number, then a blank"},
    {"1 1:1\n\n\n 1 2\n", "t:4:5: expected INDEX:VALUE"},
    {"1 a:1\n", "t:1:3: expected INDEX:VALUE"},
    {"1 -1:1\n", "t:1:3: expected INDEX:VALUE"},
    {"1 1.5:1\n", "t:1:4: expected INDEX:VALUE"},
    {"1 1 :1\n", "t:1:4: expected INDEX:VALUE"},
    {"1 1:1 qid:3\n", "t:1:7: \"qid:\" must come right after the label"},
    {"1 qid:x 1:1\n", "t:1:7: \"qid:\" needs a number after it"},
    {"1 1:\n", "t:1:5: expected a number after the colon"},
    {"1 1: 2\n", "t:1:5: expected a number after the colon"},
    {"1 1:inf\n", "t:1:5: expected a number after the colon"},
    {"1 1:2x\n", "t:1:6: expected a blank after the value"},
    {"1 1:2,5\n", "t:1:6: expected a blank after the value"},
    {"1 1:1e\n", "t:1:6: expected a blank after the value"},
    {"1 1:0x1p3\n", "t:1:6: expected a blank after the value"},
    {"1 1:1e39\n", "t:1:5: the value is too large for f32"},
    {"1 1:1\r2:1\n", "t:1:6: expected a blank after the value"},
    {"1 1073741825:1\n", "t:1:3: the index must be at most 1073741824"},
    {"1 99999999999999999999999:1\n",
     "t:1:3: the index must be at most 1073741824"},
    {"1 2:1 2:1\n", "t:1:7: index 2 occurs twice in this row"},
    {"1 3:1\n1 7:1 2:1 3:1 02:1\n", "t:2:15: index 2 occurs twice in this row"},
};

START_TEST(refuses)
{
    const struct refusal *refusal = &refusals[_i];
    ck_assert_msg(parse_as(refusal->text, GW_BASE_AUTO) == GW_EDATA,
                  "\"%s\" was accepted", refusal->text);
    ck_assert_str_eq(why.text, refusal->sentence);
    ck_assert_ptr_null(data);
}
END_TEST

START_TEST(refuses_a_byte_that_is_no_text)
{
    ck_assert_int_eq(
        gw_libsvm_parse("1 1:1\0\n", 7, "t", GW_BASE_AUTO, &data, &why),
        GW_EDATA);
    ck_assert_str_eq(why.text, "t:1:6: expected a blank after the value");
}
END_TEST

START_TEST(refuses_more_labels_than_classes)
{
    size_t bytes = 0, room = (size_t)(GW_CLASSES_MAX + 1) * 8 + 1;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    for (int i = 0; i <= GW_CLASSES_MAX; i++)
        bytes += (size_t)snprintf(text + bytes, room - bytes, "%d\n", i);
    ck_assert_int_eq(
        gw_libsvm_parse(text, bytes, "t", GW_BASE_AUTO, &data, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "t:65537: more than 65536 distinct labels; for "
                               "numbers as labels use the task linear");
    free(text);
}
END_TEST

/* ---- files and pipes ---- */

static FILE *scratch(char path[32])
{
    strcpy(path, "/tmp/gradwire-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "w");
    ck_assert_ptr_nonnull(file);
    return file;
}

/* Row i is "i%5 1+i%97:i"; ends of lines and of blocks do not coincide. */
START_TEST(a_file_of_many_blocks)
{
    enum { ROWS = 200000 };
    char path[32];
    FILE *file = scratch(path);
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "%d %d:%d\n", i % 5, 1 + i % 97, i);
    fclose(file);
    enum gw_err code = gw_libsvm_load(path, GW_BASE_AUTO, &data, &why);
    unlink(path);
    ck_assert_msg(code == GW_OK, "%s", why.text);
    ck_assert_uint_eq(data->rows, ROWS);
    for (int i = 0; i < ROWS; i++) {
        ck_assert_int_eq((int)data->label[i], i % 5);
        ck_assert_int_eq((int)data->index[i], i % 97);
        ck_assert(data->value[i] >= (float)i && data->value[i] <= (float)i);
    }
}
END_TEST

START_TEST(a_line_longer_than_a_block)
{
    enum { ENTRIES = 100000 };
    char path[32];
    FILE *file = scratch(path);
    fprintf(file, "1 1:1\n2");
    for (int i = 1; i <= ENTRIES; i++)
        fprintf(file, " %d:%d", i, i % 10);
    fprintf(file, "\n3 2:1\n");
    fclose(file);
    enum gw_err code = gw_libsvm_load(path, GW_BASE_AUTO, &data, &why);
    unlink(path);
    ck_assert_msg(code == GW_OK, "%s", why.text);
    ck_assert_uint_eq(data->rows, 3);
    ck_assert_uint_eq(data->row_begin[2], 1 + ENTRIES);
    ck_assert_double_eq((double)data->value[ENTRIES - 1], 9);
}
END_TEST

/* Lines arrive from a pipe in pieces. */
START_TEST(a_pipe_that_trickles)
{
    static const char text[] = "1 1:1 2:2\n2 1:3\nx";
    char path[32];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        for (size_t i = 0; i + 1 < sizeof text; i++)
            if (write(ends[1], &text[i], 1) != 1)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    ck_assert_int_eq(gw_libsvm_load(path, GW_BASE_AUTO, &data, &why), GW_EDATA);
    ck_assert_ptr_nonnull(strstr(why.text, ":3:1: the row must begin"));
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
    ck_assert_int_eq(gw_libsvm_load("/no/such/file", GW_BASE_AUTO, &data, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text, "/no/such/file: No such file or directory");
    ck_assert_int_eq(gw_libsvm_load("/", GW_BASE_AUTO, &data, &why), GW_EDATA);
    ck_assert_str_eq(why.text, "/: Is a directory");
}
END_TEST

/* Values printed with enough digits are read back with the same bits. */
START_TEST(round_trip_of_random_rows)
{
    enum { ROWS = 300, PER_ROW = 20 };
    const uint64_t seed = 20;
    struct gw_rng rng;
    char text[ROWS * (PER_ROW * 24 + 8)];
    float values[ROWS * PER_ROW];
    size_t used = 0, count = 0;
    gw_rng_seed(&rng, seed);
    for (int row = 0; row < ROWS; row++) {
        used += (size_t)sprintf(text + used, "%d", row % 3);
        for (int j = 1; j <= PER_ROW; j++) {
            double size = gw_rng_unit(&rng) * 60 - 30;
            float value = (float)((gw_rng_unit(&rng) - 0.5) * pow(10, size));
            values[count++] = value;
            used += (size_t)sprintf(text + used, " %d:%.9g", j, (double)value);
        }
        text[used++] = '\n';
    }
    text[used] = 0;
    parse(text);
    ck_assert_uint_eq(data->nonzeros, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(memcmp(&data->value[i], &values[i], sizeof(float)) == 0,
                      "seed %d: value %zu is %.9g, not %.9g", (int)seed, i,
                      (double)data->value[i], (double)values[i]);
}
END_TEST

/* ---- operations on a data set ---- */

START_TEST(scaling)
{
    parse("1 1:4 2:-8\n2 3:2\n");
    ck_assert_double_eq((double)gw_dataset_largest(data), 8);
    gw_dataset_scale(data, 0.125f);
    ck_assert_double_eq((double)data->value[0], 0.5);
    ck_assert_double_eq((double)data->value[1], -1);
    ck_assert_double_eq((double)data->value[2], 0.25);
}
END_TEST

static struct gw_dataset *test_set(const char *text)
{
    struct gw_dataset *test;
    ck_assert_int_eq(
        gw_libsvm_parse(text, strlen(text), "test", GW_BASE_1, &test, &why),
        GW_OK);
    return test;
}

START_TEST(a_test_set_speaks_as_its_training_set)
{
    parse("-1 1:1\n0 2:1\n1 3:1\n");
    struct gw_dataset *test = test_set("1 4:9 2:5 8:9\n-1 3:6\n1 9:9\n");
    size_t ignored = 0;
    ck_assert_int_eq(gw_dataset_match(test, data, &ignored, &why), GW_OK);
    ck_assert_uint_eq(ignored, 3);
    ck_assert_uint_eq(test->features, 3);
    ck_assert_uint_eq(test->nonzeros, 2);
    ck_assert_uint_eq(test->class_count, 3);
    const uint32_t label[] = {2, 0, 2};
    const size_t begin[] = {0, 1, 2, 2};
    ck_assert_mem_eq(test->label, label, sizeof label);
    ck_assert_mem_eq(test->row_begin, begin, sizeof begin);
    ck_assert_uint_eq(test->index[0], 1);
    ck_assert_double_eq((double)test->value[0], 5);
    ck_assert_uint_eq(test->index[1], 2);
    gw_dataset_destroy(&test);
}
END_TEST

START_TEST(a_label_that_training_never_saw)
{
    parse("-1 1:1\n1 2:1\n");
    struct gw_dataset *test = test_set("1 1:1 9:9\n2 1:1\n");
    size_t ignored = 77;
    ck_assert_int_eq(gw_dataset_match(test, data, &ignored, &why), GW_EDATA);
    ck_assert_str_eq(why.text,
                     "the label 2 does not occur in the training data");
    ck_assert_uint_eq(test->nonzeros, 3);
    ck_assert_uint_eq(ignored, 77);
    gw_dataset_destroy(&test);
}
END_TEST

Suite *suite_libsvm(void)
{
    Suite *suite = suite_create("libsvm");
    TCase *c = tcase_create("reader");
    tcase_add_checked_fixture(c, NULL, clean);
    tcase_add_test(c, rows);
    tcase_add_test(c, labels_are_any_numbers);
    tcase_add_test(c, counts_from_0_or_1);
    tcase_add_test(c, no_entry_at_all);
    tcase_add_test(c, whitespace_comments_and_endings);
    tcase_add_test(c, order_of_indices_is_kept);
    tcase_add_test(c, numbers_as_strtod_reads_them);
    tcase_add_loop_test(c, refuses, 0, sizeof refusals / sizeof *refusals);
    tcase_add_test(c, refuses_a_byte_that_is_no_text);
    tcase_add_test(c, refuses_more_labels_than_classes);
    tcase_add_test(c, a_file_of_many_blocks);
    tcase_add_test(c, a_line_longer_than_a_block);
    tcase_add_test(c, a_pipe_that_trickles);
    tcase_add_test(c, what_cannot_be_opened);
    tcase_add_test(c, round_trip_of_random_rows);
    tcase_add_test(c, scaling);
    tcase_add_test(c, a_test_set_speaks_as_its_training_set);
    tcase_add_test(c, a_label_that_training_never_saw);
    suite_add_tcase(suite, c);
    return suite;
}
