/* SPDX-License-Identifier: MIT
 *
 * Timelines as text and as SVG: compared with files of tests/view, and drawn at
 * every width.
 */
#include "golden.h"

#include "pipebench/gantt/gantt.h"
#include "pipebench/gantt/gantt_parts.h"

#include <gradwire/gradwire.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_gantt(void);

static const struct gantt_style utf8_80 = {.width = 80, .utf8 = true};
static const struct gantt_style ascii_80 = {.width = 80};

/* A schedule and its simulated step: each pass of a whole stage takes 1 ms. */
struct scene_of_gantt {
    struct gw_schedule *schedule;
    struct gw_timeline *timeline;
    struct gantt gantt;
};

static struct scene_of_gantt scene_of(const char *name, unsigned stages,
                                      unsigned micros)
{
    struct gw_error why = {.code = GW_OK};
    struct scene_of_gantt s;
    ck_assert_msg(!gw_schedule_make(name, stages, micros, 0, &s.schedule, &why),
                  "%s", why.text);
    double us = 1000.0 / s.schedule->chunks;
    const struct gw_pipe_costs costs = {
        .forward_us = us, .input_us = us, .weight_us = us};
    ck_assert_msg(!gw_pipe_simulate(s.schedule, &costs, &s.timeline, &why),
                  "%s", why.text);
    s.gantt = (struct gantt){
        .schedule = s.schedule, .timeline = s.timeline, .shortest_pass_us = us};
    return s;
}

static void scene_free(struct scene_of_gantt *s)
{
    gw_timeline_destroy(&s->timeline);
    gw_schedule_destroy(&s->schedule);
}

static char *drawn(const struct gantt *gantt, const struct gantt_style *style)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(file);
    gantt_figure(file, gantt, style);
    ck_assert_int_eq(fclose(file), 0);
    return text;
}

static void assert_drawn(const struct gantt *gantt,
                         const struct gantt_style *style, const char *path)
{
    char *text = drawn(gantt, style);
    assert_golden_text(text, path);
    free(text);
}

/* The state at that time: later passes are removed, and the current pass has no
 * end yet. */
static void cut_off_at(struct gw_timeline *timeline, double now_us)
{
    for (size_t i = 0; i < timeline->pass_count; i++) {
        struct gw_pass_time *time = &timeline->times[i];
        if (time->begin_us >= now_us)
            time->begin_us = time->end_us = 0;
        else if (time->end_us > now_us)
            time->end_us = now_us;
    }
    timeline->time_us = 0;
}

/* ---- pictures ---- */

START_TEST(golden_1f1b)
{
    struct scene_of_gantt s = scene_of("1f1b", 4, 8);
    assert_drawn(&s.gantt, &utf8_80, "tests/view/gantt-1f1b-80.txt");
    scene_free(&s);
}
END_TEST

START_TEST(golden_zero_bubble_in_ascii)
{
    struct scene_of_gantt s = scene_of("zb-h1", 4, 4);
    assert_drawn(&s.gantt, &ascii_80, "tests/view/gantt-zb-h1-80-ascii.txt");
    scene_free(&s);
}
END_TEST

START_TEST(golden_segments)
{
    struct scene_of_gantt s = scene_of("interleaved", 4, 4);
    const struct gantt_style wide = {.width = 120, .utf8 = true};
    assert_drawn(&s.gantt, &wide, "tests/view/gantt-interleaved-120.txt");
    scene_free(&s);
}
END_TEST

START_TEST(golden_in_colour)
{
    struct scene_of_gantt s = scene_of("gpipe", 2, 2);
    const struct gantt_style colour = {
        .width = 50, .color = true, .utf8 = true};
    assert_drawn(&s.gantt, &colour, "tests/view/gantt-gpipe-50-colour.txt");
    scene_free(&s);
}
END_TEST

START_TEST(golden_several_passes_a_cell)
{
    struct scene_of_gantt s = scene_of("1f1b", 8, 64);
    const struct gantt_style narrow = {.width = 60};
    assert_drawn(&s.gantt, &narrow, "tests/view/gantt-1f1b-60-ascii.txt");
    scene_free(&s);
}
END_TEST

START_TEST(golden_until_now)
{
    struct scene_of_gantt s = scene_of("1f1b", 4, 8);
    s.gantt.span_us = s.timeline->time_us;
    cut_off_at(s.timeline, 12500);
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_uint_eq(gantt_draw(file, &s.gantt, &utf8_80), 5);
    ck_assert_int_eq(fclose(file), 0);
    assert_golden_text(text, "tests/view/gantt-until-80.txt");
    free(text);
    scene_free(&s);
}
END_TEST

START_TEST(golden_page)
{
    struct gw_error why;
    struct scene_of_gantt first = scene_of("gpipe", 2, 3);
    struct scene_of_gantt second = scene_of("interleaved", 2, 2);
    struct scene_of_gantt slower = scene_of("interleaved", 2, 2);
    for (size_t i = 0; i < slower.timeline->pass_count; i++) {
        slower.timeline->times[i].begin_us *= 1.25;
        slower.timeline->times[i].end_us *= 1.25;
        slower.timeline->times[i].ready_us *= 1.25;
    }
    gw_timeline_complete(slower.timeline, slower.schedule);
    const struct gantt_panel panels[] = {
        {"a <b> & c", first.schedule, first.timeline, NULL},
        {"interleaved", second.schedule, second.timeline, slower.timeline},
    };
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_int_eq(gantt_svg(file, "Two & more", panels, 2, &why), GW_OK);
    ck_assert_int_eq(fclose(file), 0);
    assert_golden_text(text, "tests/view/gantt-page.svg");
    free(text);
    scene_free(&first);
    scene_free(&second);
    scene_free(&slower);
}
END_TEST

/* ---- properties of any picture ---- */

static unsigned columns(const char *line, const char *end)
{
    unsigned count = 0;
    for (; line < end; line++)
        count += (*line & 0xc0) != 0x80;
    return count;
}

/* No lane is longer than the terminal's width, if that is sufficient at all. */
START_TEST(every_width)
{
    static const char *const names[] = {"gpipe", "interleaved", "zb-h1"};
    for (unsigned n = 0; n < 3; n++) {
        struct scene_of_gantt s = scene_of(names[n], 3, 7);
        for (unsigned width = 18; width < 400; width += 1 + width / 16) {
            const struct gantt_style style = {.width = width, .utf8 = n == 1};
            char *text = NULL;
            size_t bytes = 0;
            FILE *file = open_memstream(&text, &bytes);
            unsigned lines = gantt_draw(file, &s.gantt, &style);
            ck_assert_int_eq(fclose(file), 0);
            for (char *at = text, *end; *at; at = end + 1) {
                end = strchr(at, '\n');
                ck_assert_ptr_nonnull(end);
                ck_assert_uint_le(columns(at, end), width);
                lines--;
            }
            ck_assert_uint_eq(lines, 0);
            free(text);
        }
        scene_free(&s);
    }
}
END_TEST

START_TEST(nothing_has_happened)
{
    struct scene_of_gantt s = scene_of("1f1b", 2, 2);
    cut_off_at(s.timeline, 0);
    s.gantt.shortest_pass_us = 0;
    char *text = drawn(&s.gantt, &ascii_80);
    ck_assert_ptr_nonnull(strstr(text, "stage 0 \nstage 1 \n"));
    free(text);
    scene_free(&s);
}
END_TEST

/* A cell of 3 ms with passes of 1.2, 1.0 and 0.2 ms shows the first; one with
 * 0.4 ms of work is idle. */
START_TEST(a_cell_shows_what_most_of_it_is)
{
    struct scene_of_gantt s = scene_of("1f1b", 1, 3);
    static const double ends_us[][2] = {{0, 1000},    {1000, 2200},
                                        {2200, 2400}, {3000, 3400},
                                        {6000, 9000}, {9000, 30000}};
    for (unsigned i = 0; i < 6; i++) {
        s.timeline->times[i].begin_us = ends_us[i][0];
        s.timeline->times[i].end_us = ends_us[i][1];
    }
    s.timeline->time_us = 30000;
    s.gantt.shortest_pass_us = 0;
    const struct gantt_style style = {.width = 18};
    char *text = drawn(&s.gantt, &style);
    ck_assert_ptr_nonnull(strstr(text, "\nstage 0 B.FB2#####\n"));
    free(text);
    scene_free(&s);
}
END_TEST

START_TEST(ticks_are_round)
{
    static const struct {
        double span_us;
        unsigned most;
        double tick_us;
    } cases[] = {{33000, 7, 5000}, {33000, 3, 20000}, {10, 10, 1},
                 {1, 10, 0.1},     {21000, 10, 5000}, {20000, 10, 2000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_double_eq_tol(gantt_tick_us(cases[i].span_us, cases[i].most),
                                cases[i].tick_us, 1e-9);
}
END_TEST

START_TEST(times_have_their_unit)
{
    char text[24];
    gantt_time(640, text);
    ck_assert_str_eq(text, "640 us");
    gantt_time(33000, text);
    ck_assert_str_eq(text, "33 ms");
    gantt_time(1254321, text);
    ck_assert_str_eq(text, "1.254 s");
    gantt_tick_label(2500, 33000, text);
    ck_assert_str_eq(text, "2.5 ms");
    gantt_tick_label(0, 33000, text);
    ck_assert_str_eq(text, "0");
}
END_TEST

START_TEST(too_many_passes_are_no_page)
{
    struct gw_error why = {.code = GW_OK};
    struct scene_of_gantt s = scene_of("gpipe", 8, 20000);
    const struct gantt_panel panel = {"g", s.schedule, s.timeline, NULL};
    FILE *file = tmpfile();
    ck_assert_int_eq(gantt_svg(file, "Many", &panel, 1, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "320000 passes are too many"));
    ck_assert_int_eq(ftell(file), 0);
    fclose(file);
    scene_free(&s);
}
END_TEST

Suite *suite_gantt(void)
{
    const TTest *const tests[] = {
        golden_1f1b,
        golden_zero_bubble_in_ascii,
        golden_segments,
        golden_in_colour,
        golden_several_passes_a_cell,
        golden_until_now,
        golden_page,
        every_width,
        nothing_has_happened,
        a_cell_shows_what_most_of_it_is,
        ticks_are_round,
        times_have_their_unit,
        too_many_passes_are_no_page,
    };
    Suite *suite = suite_create("gantt");
    TCase *tcase = tcase_create("gantt");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
