/* SPDX-License-Identifier: MIT
 *
 * The output of commands: the same rows in every format, documents that are
 * complete after any kind of end, and columns that stay aligned while rows come
 * one by one.
 */
#include "common/command.h"
#include "common/output/output_format.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_output(void);

static const struct field fields[] = {
    {"algo", NULL, FIELD_TEXT, 0, false},
    {"bytes", NULL, FIELD_INTEGER, 0, false},
    {"time_us", "time us", FIELD_REAL, 2, false},
    {"right", NULL, FIELD_BOOL, 0, false},
    {"note", NULL, FIELD_TEXT, 0, true},
};

static const union value ring[] = {
    {.text = "ring"}, {.integer = 1024}, {.real = 0.1}, {.boolean = true}, {0}};
static const union value swing[] = {{.text = "a, \"b\"\n"},
                                    {.integer = -1},
                                    {.real = (double)NAN},
                                    {.boolean = false},
                                    {.text = "n"}};

/* Prints a document of two rows; the caller frees the text. */
static char *document(const char *format, const struct gw_error *error,
                      bool partial, bool late_note)
{
    char *text;
    size_t size;
    struct output *output;
    FILE *file = open_memstream(&text, &size);
    output_to(file);
    ck_assert_int_eq(
        output_begin("collrun test", format, fields, 5, &output, NULL), GW_OK);
    output_note_integer(output, "seed", 7);
    output_row(output, ring);
    output_row(output, swing);
    if (late_note)
        output_note_real(output, "seconds", 1.5);
    output_end(&output, error, partial);
    ck_assert_ptr_null(output);
    output_to(NULL);
    fclose(file);
    return text;
}

/* Removes the one provenance of the document. */
static char *without_provenance(char *text)
{
    char *from = strstr(text, ",\"provenance\":{\"date\":\"20");
    ck_assert_ptr_nonnull(from);
    char *to = strchr(from, '}');
    ck_assert_ptr_nonnull(to);
    memmove(from, to + 1, strlen(to));
    ck_assert_ptr_null(strstr(text, "provenance"));
    return text;
}

START_TEST(json_is_one_object)
{
    char *text = document("json", NULL, false, true);
    ck_assert_str_eq(
        without_provenance(text),
        "{\"schema\":\"collrun test\",\"version\":\"" GW_VERSION
        "\",\"seed\":7,\"rows\":[\n"
        " {\"algo\":\"ring\",\"bytes\":1024,\"time_us\":0.1,\"right\":true,"
        "\"note\":null},\n"
        " {\"algo\":\"a, \\\"b\\\"\\n\",\"bytes\":-1,\"time_us\":null,"
        "\"right\":false,\"note\":\"n\"}\n"
        "],\"seconds\":1.5,\"partial\":false,\"status\":0}\n");
    free(text);
}
END_TEST

START_TEST(jsonl_rows_stand_alone)
{
    char *text = document("jsonl", NULL, false, false);
    ck_assert_str_eq(
        without_provenance(text),
        "{\"algo\":\"ring\",\"bytes\":1024,\"time_us\":0.1,\"right\":true,"
        "\"note\":null,\"seed\":7}\n"
        "{\"algo\":\"a, \\\"b\\\"\\n\",\"bytes\":-1,\"time_us\":null,"
        "\"right\":false,\"note\":\"n\",\"seed\":7}\n");
    free(text);
    text = document("jsonl", NULL, false, true);
    ck_assert_ptr_nonnull(strstr(text, "\"seconds\":1.5,\"partial\":false,"));
    free(text);
}
END_TEST

START_TEST(csv_quotes)
{
    static const char names[] =
        "algo,bytes,time_us,right,note,seed,provenance.date,provenance.host,"
        "provenance.cpu,provenance.cores,provenance.kernel,"
        "provenance.versions,provenance.command,provenance.seed,"
        "provenance.calibration,provenance.calibration_date\n"
        "ring,1024,0.10,true,,7,20";
    char *text = document("csv", NULL, false, true);
    ck_assert_mem_eq(text, names, sizeof names - 1);
    ck_assert_ptr_nonnull(
        strstr(text, "\n\"a, \"\"b\"\"\n\",-1,,false,n,7,20"));
    free(text);
}
END_TEST

/* The first row has it, or the ending of a document without rows. */
START_TEST(provenance_is_in_every_document)
{
    static const char *const names[] = {
        "date", "host",    "cpu",  "cores",       "kernel", "versions",
        "seed", "command", "seed", "calibration", NULL};
    const struct gw_error error = {.code = GW_ELOST, .text = "gone"};
    setenv("GRADWIRE_CALIBRATION", "/no/such/file", 1);
    common.seed = 11;
    char *text = document("jsonl", &error, false, true);
    *strchr(text, '\n') = 0;
    json_t *row = json_loads(text, 0, NULL);
    json_t *facts = json_object_get(row, "provenance");
    for (unsigned i = 0; names[i]; i++)
        ck_assert_ptr_nonnull(json_object_get(facts, names[i]));
    ck_assert_int_eq(json_integer_value(json_object_get(facts, "seed")), 11);
    ck_assert_str_eq(json_string_value(json_object_get(facts, "calibration")),
                     "built-in");
    ck_assert(json_is_null(json_object_get(facts, "calibration_date")));
    ck_assert_ptr_nonnull(
        strstr(json_string_value(json_object_get(facts, "versions")),
               "gradwire " GW_VERSION ", libzmq "));
    json_decref(row);
    free(text);
}
END_TEST

START_TEST(typed_words_can_be_typed_again)
{
    char bench[] = "bench", sizes[] = "--sizes=1K,64K", quote[] = "it's",
         empty[] = "", blank[] = "a b";
    char *const words[] = {bench, sizes, quote, empty, blank};
    char out[64];
    provenance_words(5, words, out, sizeof out);
    ck_assert_str_eq(out, "bench --sizes=1K,64K 'it'\\''s' '' 'a b'");
    provenance_words(5, words, out, 16);
    ck_assert_uint_lt(strlen(out), 16);
    provenance_words(0, words, out, sizeof out);
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(table_has_notes_and_no_hidden_columns)
{
    char *text = document("table", NULL, true, true);
    ck_assert_str_eq(text, "# seed: 7\n"
                           "algo     bytes      time us  right\n"
                           "ring      1024         0.10  true\n"
                           "a, \"b\"\n     -1            -  false\n"
                           "# seconds: 1.500\n"
                           "# partial: interrupted\n");
    free(text);
}
END_TEST

static void check_json(const char *text, int status, bool partial,
                       const char *error)
{
    json_error_t why;
    json_t *root = json_loads(text, 0, &why);
    ck_assert_msg(root != NULL, "%s in: %s", why.text, text);
    ck_assert_int_eq(json_integer_value(json_object_get(root, "status")),
                     status);
    ck_assert_int_eq(json_is_true(json_object_get(root, "partial")), partial);
    if (error)
        ck_assert_str_eq(json_string_value(json_object_get(root, "error")),
                         error);
    else
        ck_assert_ptr_null(json_object_get(root, "error"));
    json_decref(root);
}

START_TEST(endings_are_reported)
{
    struct gw_error lost = {GW_ELOST, "rank 2 is gone"};
    struct {
        const struct gw_error *error;
        bool partial;
        int status;
    } cases[] = {{NULL, false, 0}, {NULL, true, 130}, {&lost, false, 1}};
    for (int i = 0; i < 3; i++) {
        char *text = document("json", cases[i].error, cases[i].partial, false);
        check_json(text, cases[i].status, cases[i].partial,
                   cases[i].error ? lost.text : NULL);
        free(text);
        text = document("jsonl", cases[i].error, cases[i].partial, false);
        const char *last = strstr(text, "{\"schema\"");
        ck_assert_int_eq(last != NULL, i > 0);
        if (last)
            check_json(last, cases[i].status, cases[i].partial,
                       cases[i].error ? lost.text : NULL);
        free(text);
    }
}
END_TEST

START_TEST(a_document_without_rows_is_valid)
{
    static const char *const formats[] = {"json", "jsonl", "csv", "table"};
    for (int i = 0; i < 4; i++) {
        char *text;
        size_t size;
        struct output *output;
        FILE *file = open_memstream(&text, &size);
        output_to(file);
        ck_assert_int_eq(
            output_begin("collrun test", formats[i], fields, 5, &output, NULL),
            GW_OK);
        output_end(&output, NULL, false);
        fclose(file);
        if (i == 0)
            check_json(text, 0, false, NULL);
        if (i == 1)
            ck_assert_str_eq(text, "");
        if (i == 2) {
            ck_assert_ptr_nonnull(strstr(text, "note,provenance.date,"));
            ck_assert_ptr_eq(strchr(text, '\n') + 1, text + strlen(text));
        }
        free(text);
    }
    output_to(NULL);
}
END_TEST

START_TEST(a_record_is_flat)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    output_to(file);
    ck_assert_int_eq(output_record("collrun test", "json", fields, ring, 5,
                                   NULL, false, NULL),
                     GW_OK);
    ck_assert_int_eq(output_record("collrun test", "table", fields, ring, 5,
                                   NULL, false, NULL),
                     GW_OK);
    ck_assert_int_eq(output_record("collrun test", "csv", fields, ring, 5, NULL,
                                   false, NULL),
                     GW_OK);
    output_to(NULL);
    fclose(file);
    char *csv = strstr(text, ",provenance.date");
    ck_assert_ptr_nonnull(csv);
    *csv = 0; /* the values follow */
    ck_assert_str_eq(
        without_provenance(text),
        "{\"schema\":\"collrun test\",\"version\":\"" GW_VERSION
        "\",\"algo\":\"ring\",\"bytes\":1024,\"time_us\":0.1,"
        "\"right\":true,\"note\":null,\"partial\":false,\"status\":0}\n"
        "algo     ring\nbytes    1024\ntime us  0.10\nright    true\n"
        "algo,bytes,time_us,right,note");
    ck_assert_ptr_nonnull(strstr(csv + 1, "\nring,1024,0.10,true,,20"));
    free(text);
}
END_TEST

START_TEST(columns_align_from_a_hundredth_to_ten_million)
{
    static const double times[] = {0.01, 9.99, 12345.67, 9999999.99};
    char *text;
    size_t size;
    struct output *output;
    FILE *file = open_memstream(&text, &size);
    output_to(file);
    ck_assert_int_eq(output_begin("t", "table", fields, 5, &output, NULL),
                     GW_OK);
    for (int i = 0; i < 4; i++) {
        union value row[5] = {{.text = "ring"}, {.integer = 1}, {0}, {0}, {0}};
        row[2].real = times[i];
        output_row(output, row);
    }
    output_end(&output, NULL, false);
    output_to(NULL);
    fclose(file);
    char *line = strchr(text, '\n') + 1, *end;
    long point = strchr(line, '.') - line;
    for (int i = 0; i < 4; i++, line = end + 1) {
        end = strchr(line, '\n');
        ck_assert_int_eq(strchr(line, '.') - line, point);
    }
    free(text);
}
END_TEST

START_TEST(a_long_text_borrows_room)
{
    char *text;
    size_t size;
    struct output *output;
    union value row[5] = {
        {.text = "recursive"}, {.integer = 5}, {.real = 2}, {0}, {0}};
    FILE *file = open_memstream(&text, &size);
    output_to(file);
    ck_assert_int_eq(output_begin("t", "table", fields, 5, &output, NULL),
                     GW_OK);
    output_row(output, ring);
    output_row(output, row);
    output_end(&output, NULL, false);
    output_to(NULL);
    fclose(file);
    ck_assert_str_eq(text, "algo     bytes      time us  right\n"
                           "ring      1024         0.10  true\n"
                           "recursive    5         2.00  false\n");
    free(text);
}
END_TEST

START_TEST(a_collected_table_is_as_wide_as_its_content)
{
    char *text;
    size_t size;
    struct output *output;
    FILE *file = open_memstream(&text, &size);
    output_to(file);
    ck_assert_int_eq(output_begin("t", "table", fields, 5, &output, NULL),
                     GW_OK);
    output_collect(output);
    output_row(output, ring);
    output_end(&output, NULL, false);
    output_to(NULL);
    fclose(file);
    ck_assert_str_eq(text, "algo  bytes  time us  right\n"
                           "ring   1024     0.10  true\n");
    free(text);
}
END_TEST

static char *json_of(const char *text)
{
    char *out;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    put_json_text(file, text);
    fclose(file);
    return out;
}

START_TEST(any_bytes_become_valid_json)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a\tb\\\"\x01", "\"a\\tb\\\\\\\"\\u0001\""},
        {"Tr\xc3\xa4"
         "ff",
         "\"Tr\xc3\xa4"
         "ff\""},
        {"\xff", "\"\\ufffd\""},
        {"\xc3", "\"\\ufffd\""},                       /* cut off */
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},            /* overlong */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},  /* four bytes */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = json_of(cases[i].in);
        ck_assert_str_eq(text, cases[i].out);
        json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
        ck_assert_ptr_nonnull(value);
        json_decref(value);
        free(text);
    }
}
END_TEST

START_TEST(reals_read_back_the_same)
{
    static const double reals[] = {0.1, 1.0 / 3, 1e300, 5e-324, -2, 12345.678};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        char *text;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        put_json_real(file, reals[i]);
        fclose(file);
        ck_assert_double_eq(strtod(text, NULL), reals[i]);
        ck_assert_uint_le(strlen(text), 24);
        free(text);
    }
}
END_TEST

START_TEST(an_unknown_format_is_refused)
{
    struct output *output;
    struct gw_error why;
    ck_assert_int_eq(output_begin("t", "xml", fields, 5, &output, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, "unknown output format \"xml\"");
}
END_TEST

/* A diverged loss has 77 digits, of which a cell once kept the first 63. */
START_TEST(a_huge_real_is_not_truncated)
{
    const struct field loss = {"loss", NULL, FIELD_REAL, 5, false};
    char cell[64];
    ck_assert_str_eq(
        output_cell(&loss, (union value){.real = 1.81872e77}, "-", cell),
        "1.81872e+77");
    ck_assert_str_eq(
        output_cell(&loss, (union value){.real = -9e14}, "-", cell),
        "-900000000000000.00000");
}
END_TEST

Suite *suite_output(void)
{
    const TTest *const tests[] = {
        json_is_one_object,
        jsonl_rows_stand_alone,
        csv_quotes,
        provenance_is_in_every_document,
        typed_words_can_be_typed_again,
        table_has_notes_and_no_hidden_columns,
        endings_are_reported,
        a_document_without_rows_is_valid,
        a_record_is_flat,
        columns_align_from_a_hundredth_to_ten_million,
        a_long_text_borrows_room,
        a_collected_table_is_as_wide_as_its_content,
        any_bytes_become_valid_json,
        reals_read_back_the_same,
        a_huge_real_is_not_truncated,
        an_unknown_format_is_refused,
    };
    Suite *suite = suite_create("output");
    TCase *tcase = tcase_create("output");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
