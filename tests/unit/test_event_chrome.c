/* SPDX-License-Identifier: MIT
 *
 * The Chrome trace is valid JSON, and its spans and arrows are paired.
 */
#include "event_run.h"

#include <gradwire/pipe.h>
#include <jansson.h>
#include <string.h>

Suite *suite_event_chrome(void);

static json_t *trace_of(const struct gw_event *events, size_t count)
{
    struct text_buffer buffer;
    struct gw_sink *sink;
    text_buffer_open(&buffer);
    ck_assert_int_eq(gw_sink_chrome(buffer.file, &sink, NULL), GW_OK);
    for (size_t i = 0; i < count; i++)
        gw_emit(sink, &events[i]);
    gw_sink_close(&sink);
    json_error_t error;
    json_t *trace = json_loads(buffer.text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(trace, "line %d: %s", error.line, error.text);
    text_buffer_close(&buffer);
    return trace;
}

static const char *text(const json_t *record, const char *name)
{
    const char *value = json_string_value(json_object_get(record, name));
    return value ? value : "";
}

/* The only record with this phase and category. */
static const json_t *only(const json_t *trace, const char *phase,
                          const char *category)
{
    const json_t *found = NULL, *record;
    size_t i;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, record)
    {
        if (strcmp(text(record, "ph"), phase) ||
            strcmp(text(record, "cat"), category))
            continue;
        ck_assert_msg(!found, "two records of phase %s", phase);
        found = record;
    }
    ck_assert_msg(found, "no record of phase %s, category %s", phase, category);
    return found;
}

static double number(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(record, name);
    ck_assert_msg(json_is_number(value), "%s is no number", name);
    return json_number_value(value);
}

START_TEST(test_chrome_empty)
{
    json_t *trace = trace_of(NULL, 0);
    ck_assert_uint_eq(json_array_size(json_object_get(trace, "traceEvents")),
                      0);
    json_decref(trace);
}
END_TEST

START_TEST(test_chrome_every_record_is_whole)
{
    const struct gw_event run[] = {begin, sent, applied, loss};
    json_t *trace = trace_of(run, 4);
    const json_t *record;
    size_t i;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, record)
    {
        ck_assert_uint_eq(strlen(text(record, "ph")), 1);
        ck_assert_str_ne(text(record, "name"), "");
        number(record, "pid");
        number(record, "tid");
        number(record, "ts");
    }
    json_decref(trace);
}
END_TEST

/* The span of a transfer is in the sender's row, from send to apply. The arrow
 * leads from the sender to the receiver, and both ends are existing slices. */
START_TEST(test_chrome_transfer)
{
    const struct gw_event run[] = {sent, applied};
    json_t *trace = trace_of(run, 2);
    const json_t *b = only(trace, "b", "transfer");
    const json_t *e = only(trace, "e", "transfer");
    ck_assert_str_eq(text(b, "name"), "c2 0>1");
    ck_assert_str_eq(text(b, "name"), text(e, "name"));
    ck_assert_str_eq(text(b, "id"), text(e, "id"));
    ck_assert_double_eq(number(b, "pid"), number(e, "pid"));
    ck_assert_double_eq(number(b, "ts"), 2.345);
    ck_assert_double_eq(number(e, "ts"), 6.789);
    const json_t *s = only(trace, "s", "flow"), *f = only(trace, "f", "flow");
    ck_assert_str_eq(text(s, "id"), text(f, "id"));
    ck_assert_double_eq(number(s, "pid"), 0);
    ck_assert_double_eq(number(f, "pid"), 1);
    ck_assert_str_eq(text(f, "bp"), "e");
    unsigned slices = 0;
    const json_t *record;
    size_t i;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, record)
    {
        if (strcmp(text(record, "ph"), "X"))
            continue;
        const json_t *end = number(record, "pid") > 0 ? f : s;
        ck_assert_double_eq(number(record, "ts"), number(end, "ts"));
        ck_assert_double_eq(number(record, "tid"), number(end, "tid"));
        slices++;
    }
    ck_assert_uint_eq(slices, 2);
    json_decref(trace);
}
END_TEST

START_TEST(test_chrome_ops_do_not_mix)
{
    struct gw_event run[4] = {begin, begin, begin, begin};
    run[1].op = 4;
    run[2].kind = run[3].kind = GW_EV_OP_END;
    run[3].op = 4;
    json_t *trace = trace_of(run, 4);
    const char *ids[2][2] = {{NULL}};
    const json_t *record;
    size_t i;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, record)
    {
        const char *phase = text(record, "ph");
        if (phase[0] == 'b' || phase[0] == 'e')
            ids[phase[0] == 'e'][!strcmp(text(record, "name"), "op 4")] =
                text(record, "id");
    }
    ck_assert_str_eq(ids[0][0], ids[1][0]);
    ck_assert_str_eq(ids[0][1], ids[1][1]);
    ck_assert_str_ne(ids[0][0], ids[0][1]);
    json_decref(trace);
}
END_TEST

/* Each pass of a stage is a slice, named by letter and micro-batch. */
START_TEST(test_chrome_passes)
{
    char name[8];
    struct gw_event events[] = {
        {.kind = GW_EV_STAGE, .rank = 5, .peer = 2, .step = 4, .op = 8},
        {.kind = GW_EV_PASS_BEGIN, .rank = 5, .peer = 1, .op = 3, .step = 7},
        {.kind = GW_EV_PASS_END, .rank = 5, .op = 3, .step = 7, .bytes = 2},
    };
    for (int kind = 0; kind < GW_PASS_KINDS; kind++) {
        events[1].value = events[2].value = kind;
        events[1].time_ns = 1000;
        events[2].time_ns = 6000;
        snprintf(name, sizeof name, "%c3",
                 gw_pass_symbol((enum gw_pass_kind)kind));
        json_t *trace = trace_of(events, 3);
        const json_t *first = only(trace, "B", "pass");
        const json_t *last = only(trace, "E", "pass");
        ck_assert_str_eq(text(first, "name"), name);
        ck_assert_str_eq(text(last, "name"), name);
        ck_assert_double_eq(number(first, "ts"), 1);
        ck_assert_double_eq(number(last, "ts"), 6);
        ck_assert_double_eq(number(first, "pid"), 5);
        ck_assert_double_eq(number(first, "tid"), number(last, "tid"));
        const json_t *args = json_object_get(first, "args");
        ck_assert_double_eq(number(args, "waited_for"), 1);
        ck_assert_double_eq(number(json_object_get(last, "args"), "held"), 2);
        json_decref(trace);
    }
}
END_TEST

Suite *suite_event_chrome(void)
{
    Suite *suite = suite_create("event_chrome");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_chrome_passes);
    tcase_add_test(all, test_chrome_empty);
    tcase_add_test(all, test_chrome_every_record_is_whole);
    tcase_add_test(all, test_chrome_transfer);
    tcase_add_test(all, test_chrome_ops_do_not_mix);
    suite_add_tcase(suite, all);
    return suite;
}
