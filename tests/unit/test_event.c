/* SPDX-License-Identifier: MIT
 *
 * All sinks except Chrome's, which is tested in test_event_chrome.c.
 */
#include "event_run.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_event(void);

static void assert_same(const struct gw_event *a, const struct gw_event *b)
{
    ck_assert_mem_eq(a, b, sizeof *a);
}

START_TEST(test_names)
{
    ck_assert_str_eq(gw_event_name(GW_EV_OP_BEGIN), "op_begin");
    ck_assert_str_eq(gw_event_name(GW_EV_LOSS), "loss");
    ck_assert_str_eq(gw_event_name(GW_EVENT_KINDS), "?");
}
END_TEST

START_TEST(test_no_sink)
{
    struct gw_sink *none = NULL;
    gw_emit(none, &sent);
    gw_sink_close(&none);
    ck_assert_ptr_null(none);
}
END_TEST

/* ---- JSON lines ---- */

START_TEST(test_jsonl_text)
{
    struct text_buffer buffer;
    struct gw_sink *sink;
    text_buffer_open(&buffer);
    ck_assert_int_eq(gw_sink_jsonl(buffer.file, 0, &sink, NULL), GW_OK);
    gw_emit(sink, &begin);
    gw_emit(sink, &sent);
    gw_sink_close(&sink);
    ck_assert_ptr_null(sink);
    ck_assert_str_eq(buffer.text,
                     "{\"time_ns\":1000,\"kind\":\"op_begin\",\"rank\":0,"
                     "\"epoch\":0,\"op\":3,\"bytes\":0,\"value\":2}\n"
                     "{\"time_ns\":2345,\"kind\":\"send\",\"rank\":0,"
                     "\"peer\":1,\"epoch\":0,\"op\":3,\"step\":1,\"chunk\":2,"
                     "\"bytes\":4096,\"value\":1}\n");
    text_buffer_close(&buffer);
}
END_TEST

START_TEST(test_jsonl_flushes_every_n)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    struct gw_sink *sink;
    ck_assert_int_eq(gw_sink_jsonl(file, 3, &sink, NULL), GW_OK);
    off_t sizes[7];
    for (int i = 0; i < 7; i++) {
        gw_emit(sink, &sent);
        sizes[i] = lseek(fileno(file), 0, SEEK_END);
    }
    ck_assert_int_eq(sizes[1], 0);
    ck_assert_int_gt(sizes[2], 0);
    ck_assert_int_eq(sizes[4], sizes[2]);
    ck_assert_int_eq(sizes[5], 2 * sizes[2]);
    gw_sink_close(&sink);
    ck_assert_int_eq(lseek(fileno(file), 0, SEEK_END) * 3, 7 * sizes[2]);
    fclose(file);
}
END_TEST

/* A value of `bits` random bits: small and extreme ones. */
static uint64_t draw(struct gw_rng *rng, unsigned bits)
{
    return gw_rng_next(rng) >> (64 - 1 - gw_rng_below(rng, bits));
}

static uint32_t draw_position(struct gw_rng *rng)
{
    return gw_rng_below(rng, 4) ? (uint32_t)draw(rng, 32) : GW_NONE;
}

START_TEST(test_jsonl_parses_back)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    for (int i = 0; i < 200; i++) {
        struct gw_event event = {
            .time_ns = draw(&rng, 63),
            .bytes = draw(&rng, 63),
            .value = (int64_t)(draw(&rng, 63) * (i % 2 ? 1 : UINT64_MAX)),
            .kind = (uint32_t)gw_rng_below(&rng, GW_EVENT_KINDS),
            .rank = draw_position(&rng),
            .peer = draw_position(&rng),
            .epoch = draw_position(&rng),
            .op = draw_position(&rng),
            .step = draw_position(&rng),
            .chunk = draw_position(&rng),
        };
        struct text_buffer buffer;
        struct gw_sink *sink;
        text_buffer_open(&buffer);
        ck_assert_int_eq(gw_sink_jsonl(buffer.file, 1, &sink, NULL), GW_OK);
        gw_emit(sink, &event);
        gw_sink_close(&sink);
        struct gw_event read;
        struct gw_error why = {0};
        ck_assert_msg(gw_event_parse(buffer.text, &read, &why) == GW_OK,
                      "seed %d: %s: %s", _i, buffer.text, why.text);
        assert_same(&read, &event);
        text_buffer_close(&buffer);
    }
}
END_TEST

START_TEST(test_parse_passes_over_the_unknown)
{
    struct gw_event event;
    ck_assert_int_eq(gw_event_parse("{\"kind\":\"lost\",\"peer\":7,"
                                    "\"colour\":[1,{}]}",
                                    &event, NULL),
                     GW_OK);
    ck_assert_uint_eq(event.kind, GW_EV_LOST);
    ck_assert_uint_eq(event.peer, 7);
    ck_assert_uint_eq(event.rank, GW_NONE);
    ck_assert_uint_eq(event.time_ns, 0);
}
END_TEST

START_TEST(test_parse_refuses)
{
    static const struct {
        const char *line;
        const char *sentence;
    } lines[] = {
        {"{\"kind\":\"send\"", NULL},
        {"", NULL},
        {"[]", "an event must be a JSON object"},
        {"{}", "\"kind\" is missing or not a string"},
        {"{\"kind\":3}", "\"kind\" is missing or not a string"},
        {"{\"kind\":\"sing\"}", "\"sing\" is not a kind of event"},
        {"{\"kind\":\"send\",\"rank\":-1}",
         "\"rank\" must be an integer from 0 to 4294967294"},
        {"{\"kind\":\"send\",\"chunk\":1.5}",
         "\"chunk\" must be an integer from 0 to 4294967294"},
        {"{\"kind\":\"send\",\"bytes\":\"many\"}",
         "\"bytes\" must be an integer from 0 to 9223372036854775807"},
        {"{\"kind\":\"send\",\"kind\":\"send\"}", NULL},
        {"{\"kind\":\"send\"} {}", NULL},
        {"{\"kind\":\"send\",\"value\":9223372036854775808}", NULL},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct gw_event event = sent;
        struct gw_error why = {0};
        ck_assert_msg(gw_event_parse(lines[i].line, &event, &why) == GW_EDATA,
                      "%s was taken", lines[i].line);
        if (lines[i].sentence)
            ck_assert_str_eq(why.text, lines[i].sentence);
        else
            ck_assert_ptr_nonnull(strstr(why.text, "column "));
        assert_same(&event, &sent);
    }
}
END_TEST

/* ---- ring ---- */

START_TEST(test_ring_keeps_the_last)
{
    struct gw_sink *sink;
    struct gw_event out[8];
    uint64_t dropped = 99;
    ck_assert_int_eq(gw_sink_ring(4, &sink, NULL), GW_OK);
    ck_assert_uint_eq(gw_sink_ring_read(sink, out, 8, &dropped), 0);
    ck_assert_uint_eq(dropped, 0);
    for (uint32_t i = 0; i < 11; i++) {
        struct gw_event event = sent;
        event.step = i;
        gw_emit(sink, &event);
        uint32_t kept = i < 4 ? i + 1 : 4;
        ck_assert_uint_eq(gw_sink_ring_read(sink, out, 8, &dropped), kept);
        ck_assert_uint_eq(dropped, i + 1 - kept);
        for (uint32_t k = 0; k < kept; k++)
            ck_assert_uint_eq(out[k].step, i + 1 - kept + k);
    }
    ck_assert_uint_eq(gw_sink_ring_read(sink, out, 2, NULL), 2);
    ck_assert_uint_eq(out[0].step, 7);
    gw_sink_close(&sink);
}
END_TEST

START_TEST(test_ring_refuses)
{
    struct gw_sink *sink;
    struct gw_error why;
    ck_assert_int_eq(gw_sink_ring(0, &sink, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "a ring sink must have room for at least one event");
    ck_assert_ptr_null(sink);
    ck_assert_int_eq(gw_sink_ring(SIZE_MAX / 8, &sink, &why), GW_ENOMEM);
    ck_assert_ptr_null(sink);
}
END_TEST

/* ---- Prometheus ---- */

START_TEST(test_prometheus_text)
{
    struct text_buffer buffer;
    struct gw_sink *sink;
    text_buffer_open(&buffer);
    ck_assert_int_eq(gw_sink_prometheus(buffer.file, &sink, NULL), GW_OK);
    gw_emit(sink, &applied);
    gw_emit(sink, &sent);
    gw_emit(sink, &loss);
    gw_emit(sink, &sent);
    gw_emit(sink, &begin);
    gw_sink_close(&sink);
    ck_assert_str_eq(
        buffer.text,
        "# HELP gradwire_events_total Events by kind, rank and peer.\n# TYPE "
        "gradwire_events_total "
        "counter\ngradwire_events_total{kind=\"op_begin\",rank=\"0\"} "
        "1\ngradwire_events_total{kind=\"send\",rank=\"0\",peer=\"1\"} "
        "2\ngradwire_events_total{kind=\"apply\",rank=\"1\",peer=\"0\"} "
        "1\ngradwire_events_total{kind=\"loss\",rank=\"0\"} 1\n# HELP "
        "gradwire_event_bytes_total Bytes of those events.\n# TYPE "
        "gradwire_event_bytes_total "
        "counter\ngradwire_event_bytes_total{kind=\"send\",rank=\"0\",peer="
        "\"1\"} "
        "8192\ngradwire_event_bytes_total{kind=\"apply\",rank=\"1\",peer=\"0\"}"
        " 4096\n# HELP gradwire_loss The last training loss.\n# TYPE "
        "gradwire_loss gauge\ngradwire_loss{rank=\"0\"} 0.693147181\n# HELP "
        "gradwire_events_uncounted_total Events not counted individually for "
        "lack of memory.\n# TYPE gradwire_events_uncounted_total "
        "counter\ngradwire_events_uncounted_total 0\n");
    text_buffer_close(&buffer);
}
END_TEST

START_TEST(test_prometheus_grows)
{
    enum { RANKS = 40 };
    struct text_buffer buffer;
    struct gw_sink *sink;
    text_buffer_open(&buffer);
    ck_assert_int_eq(gw_sink_prometheus(buffer.file, &sink, NULL), GW_OK);
    for (int times = 0; times < 3; times++)
        for (uint32_t r = 0; r < RANKS; r++)
            for (uint32_t p = 0; p < RANKS; p++) {
                struct gw_event event = sent;
                event.rank = r;
                event.peer = p;
                gw_emit(sink, &event);
            }
    gw_sink_close(&sink);
    unsigned lines = 0;
    for (const char *at = buffer.text; (at = strstr(at, "\"} 3\n")); at++)
        lines++;
    ck_assert_uint_eq(lines, RANKS * RANKS);
    ck_assert_ptr_nonnull(strstr(buffer.text, "_uncounted_total 0\n"));
    text_buffer_close(&buffer);
}
END_TEST

/* ---- descriptor and tee ---- */

START_TEST(test_fd_writes_whole_records)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct gw_sink *sink;
    ck_assert_int_eq(gw_sink_fd(ends[1], &sink, NULL), GW_OK);
    gw_emit(sink, &sent);
    gw_emit(sink, &applied);
    gw_sink_close(&sink);
    struct gw_event read_back[2];
    ck_assert_int_eq(read(ends[0], read_back, sizeof read_back), 128);
    assert_same(&read_back[0], &sent);
    assert_same(&read_back[1], &applied);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

enum { MANY = 5000 }; /* more than a pipe holds */

static void *write_many(void *sink)
{
    for (uint32_t i = 0; i < MANY; i++) {
        struct gw_event event = sent;
        event.step = i;
        gw_emit(sink, &event);
    }
    return NULL;
}

START_TEST(test_fd_loses_nothing_when_full)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, _i ? O_NONBLOCK : 0), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, 0), 0);
    struct gw_sink *sink;
    ck_assert_int_eq(gw_sink_fd(ends[1], &sink, NULL), GW_OK);
    pthread_t writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, write_many, sink), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        struct gw_event event;
        ck_assert_int_eq(read(ends[0], &event, sizeof event), sizeof event);
        ck_assert_uint_eq(event.step, i);
    }
    pthread_join(writer, NULL);
    gw_sink_close(&sink);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(test_fd_survives_its_reader)
{
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct gw_sink *sink;
    ck_assert_int_eq(gw_sink_fd(ends[1], &sink, NULL), GW_OK);
    close(ends[0]);
    gw_emit(sink, &sent);
    gw_emit(sink, &sent);
    gw_sink_close(&sink);
    close(ends[1]);
}
END_TEST

START_TEST(test_tee_feeds_and_closes_all)
{
    struct text_buffer buffer;
    struct gw_sink *sinks[3] = {NULL}, *tee;
    text_buffer_open(&buffer);
    ck_assert_int_eq(gw_sink_jsonl(buffer.file, 0, &sinks[0], NULL), GW_OK);
    ck_assert_int_eq(gw_sink_ring(1, &sinks[2], NULL), GW_OK);
    ck_assert_int_eq(gw_sink_tee(sinks, 3, &tee, NULL), GW_OK);
    gw_emit(tee, &sent);
    struct gw_event kept;
    ck_assert_uint_eq(gw_sink_ring_read(sinks[2], &kept, 1, NULL), 1);
    assert_same(&kept, &sent);
    gw_sink_close(&tee);
    ck_assert_ptr_nonnull(strstr(buffer.text, "\"send\""));
    text_buffer_close(&buffer);
}
END_TEST

Suite *suite_event(void)
{
    Suite *suite = suite_create("event");
    TCase *lines = tcase_create("jsonl");
    tcase_add_test(lines, test_names);
    tcase_add_test(lines, test_no_sink);
    tcase_add_test(lines, test_jsonl_text);
    tcase_add_test(lines, test_jsonl_flushes_every_n);
    tcase_add_loop_test(lines, test_jsonl_parses_back, 1, 6);
    tcase_add_test(lines, test_parse_passes_over_the_unknown);
    tcase_add_test(lines, test_parse_refuses);
    suite_add_tcase(suite, lines);
    TCase *others = tcase_create("others");
    tcase_add_test(others, test_ring_keeps_the_last);
    tcase_add_test(others, test_ring_refuses);
    tcase_add_test(others, test_prometheus_text);
    tcase_add_test(others, test_prometheus_grows);
    tcase_add_test(others, test_fd_writes_whole_records);
    tcase_add_loop_test(others, test_fd_loses_nothing_when_full, 0, 2);
    tcase_add_test(others, test_fd_survives_its_reader);
    tcase_add_test(others, test_tee_feeds_and_closes_all);
    suite_add_tcase(suite, others);
    return suite;
}
