/* SPDX-License-Identifier: MIT
 *
 * The live matrix of a plan, drawn character by character; events in any order
 * give the same picture.
 */
#include "collrun/plan/matrix.h"
#include "collrun/run/live_matrix.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_live(void);

static const char ring[] = "allreduce ranks=3 chunks=3\n"
                           "step   0>1 c0 +   1>2 c1 +   2>0 c2 +\n"
                           "step   0>1 c2 +   1>2 c0 +   2>0 c1 +\n"
                           "step   0>1 c1 =   1>2 c2 =   2>0 c0 =\n"
                           "step   0>1 c0 =   1>2 c1 =   2>0 c2 =\n";

static const char ring_drawn[] =
    "before\n"
    "         c0   c1   c2\n"
    "rank 0   1+   1+   1+\n"
    "rank 1   1+   1+   1+\n"
    "rank 2   1+   1+   1+\n"
    "\n"
    "step 1 of 4   0>1 c0 +   1>2 c1 +   2>0 c2 +\n"
    "         c0   c1   c2\n"
    "rank 0   1+   1+  [2+]\n"
    "rank 1  [2+]  1+   1+\n"
    "rank 2   1+  [2+]  1+\n"
    "\n"
    "step 2 of 4   0>1 c2 +   1>2 c0 +   2>0 c1 +\n"
    "         c0   c1   c2\n"
    "rank 0   1+  [3=]  2+\n"
    "rank 1   2+   1+  [3=]\n"
    "rank 2  [3=]  2+   1+\n"
    "\n"
    "step 3 of 4   0>1 c1 =   1>2 c2 =   2>0 c0 =\n"
    "         c0   c1   c2\n"
    "rank 0  [3=]  3=   2+\n"
    "rank 1   2+  [3=]  3=\n"
    "rank 2   3=   2+  [3=]\n"
    "\n"
    "step 4 of 4   0>1 c0 =   1>2 c1 =   2>0 c2 =\n"
    "         c0   c1   c2\n"
    "rank 0   3=   3=  [3=]\n"
    "rank 1  [3=]  3=   3=\n"
    "rank 2   3=  [3=]  3=\n"
    "\n";

static struct gw_error why;
static struct gw_plan *plan;
static struct live_matrix live;
static FILE *file;
static char *drawn;
static size_t drawn_bytes;

static void begin(const char *text, unsigned width)
{
    ck_assert_msg(!gw_plan_parse(text, strlen(text), "test", 0, &plan, &why),
                  "%s", why.text);
    file = open_memstream(&drawn, &drawn_bytes);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(live_matrix_init(&live, plan, file, width, &why), GW_OK);
}

static void finish(void)
{
    live_matrix_fini(&live);
    fclose(file);
    free(drawn);
    gw_plan_destroy(&plan);
}

/* The event that reports transfer `i` of step `s`. */
static struct gw_event event_of(unsigned s, size_t i)
{
    const struct gw_transfer *t = &plan->transfers[i];
    return (struct gw_event){
        .kind = GW_EV_APPLY,
        .rank = t->dst,
        .peer = t->src,
        .step = s,
        .chunk = t->chunk,
        .value = t->action,
    };
}

static void report_all(void)
{
    for (unsigned s = 0; s < plan->steps; s++)
        for (size_t i = plan->step_begin[s]; i < plan->step_begin[s + 1]; i++) {
            struct gw_event event = event_of(s, i);
            live_matrix_event(&live, &event);
        }
}

START_TEST(a_ring_drawn)
{
    begin(ring, 80);
    report_all();
    fflush(file);
    ck_assert_str_eq(drawn, ring_drawn);
    ck_assert_int_eq(live_matrix_end(&live, &why), GW_OK);
    finish();
}
END_TEST

/* Ranks run ahead of each other; the picture is the same in any order. */
START_TEST(events_in_any_order)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, (uint64_t)_i);
    begin(ring, 80);
    struct gw_event events[12];
    unsigned count = 0;
    for (unsigned s = 0; s < plan->steps; s++)
        for (size_t i = plan->step_begin[s]; i < plan->step_begin[s + 1]; i++)
            events[count++] = event_of(s, i);
    for (; count > 0; count--) {
        size_t pick = gw_rng_below(&rng, count);
        live_matrix_event(&live, &events[pick]);
        events[pick] = events[count - 1];
    }
    fflush(file);
    ck_assert_msg(strcmp(drawn, ring_drawn) == 0, "seed %d:\n%s", _i, drawn);
    finish();
}
END_TEST

START_TEST(a_step_waits_for_its_last_transfer)
{
    begin(ring, 80);
    struct gw_event first = event_of(0, 0), second = event_of(0, 1);
    live_matrix_event(&live, &first);
    live_matrix_event(&live, &second);
    ck_assert_uint_eq(live.step, 0);
    ck_assert_int_eq(live_matrix_end(&live, &why), GW_EWRONG);
    ck_assert_str_eq(why.text,
                     "1 transfers of step 1 were not reported by any rank");
    finish();
}
END_TEST

START_TEST(surprises_are_reported)
{
    begin(ring, 80);
    struct gw_event event = event_of(0, 0), other = event_of(0, 0);
    live_matrix_event(&live, &event);
    live_matrix_event(&live, &event); /* twice */
    other.step = 4;                   /* no such step in the plan */
    live_matrix_event(&live, &other);
    other.step = 1; /* exists only in another step */
    live_matrix_event(&live, &other);
    other.kind = GW_EV_SEND; /* ignored */
    live_matrix_event(&live, &other);
    ck_assert_int_eq(live_matrix_end(&live, &why), GW_EWRONG);
    ck_assert_str_eq(why.text,
                     "3 events describe transfers that are not in the plan");
    finish();
}
END_TEST

START_TEST(nothing_held_is_a_dot)
{
    begin("broadcast ranks=3 chunks=1 root=1\nstep 1>2 c0 =\nstep 1>0 c0 =\n",
          80);
    report_all();
    fflush(file);
    ck_assert_str_eq(drawn, "before\n"
                            "         c0\n"
                            "rank 0   .\n"
                            "rank 1   1=\n"
                            "rank 2   .\n"
                            "\n"
                            "step 1 of 2   1>2 c0 =\n"
                            "         c0\n"
                            "rank 0   .\n"
                            "rank 1   1=\n"
                            "rank 2  [1=]\n"
                            "\n"
                            "step 2 of 2   1>0 c0 =\n"
                            "         c0\n"
                            "rank 0  [1=]\n"
                            "rank 1   1=\n"
                            "rank 2   1=\n"
                            "\n");
    finish();
}
END_TEST

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        longest = length > longest ? length : longest;
        text += length + (text[length] == '\n');
    }
    return longest;
}

static void begin_made(const char *algo, unsigned ranks, unsigned width)
{
    struct gw_algo_args args = {.ranks = ranks};
    ck_assert_int_eq(gw_plan_make(GW_ALLREDUCE, algo, &args, &plan, &why),
                     GW_OK);
    file = open_memstream(&drawn, &drawn_bytes);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(live_matrix_init(&live, plan, file, width, &why), GW_OK);
}

START_TEST(wide_matrices_are_truncated)
{
    begin_made("ring", 60, 80);
    report_all();
    fflush(file);
    ck_assert_uint_le(longest_line(drawn), 80);
    ck_assert_ptr_nonnull(strstr(drawn, "(12 more ranks)\n"));
    ck_assert_ptr_nonnull(strstr(drawn, "(49 more chunks do not fit in 80 "
                                        "columns)\n"));
    ck_assert_ptr_nonnull(strstr(drawn, "   ...\n"));
    finish();
}
END_TEST

/* However narrow it is, one chunk is drawn. */
START_TEST(narrow_terminals)
{
    for (unsigned width = 0; width < 40; width++) {
        begin_made("ring", 12, width);
        report_all();
        fflush(file);
        ck_assert_ptr_nonnull(strstr(drawn, "c0"));
        ck_assert_int_eq(live_matrix_end(&live, &why), GW_OK);
        finish();
    }
}
END_TEST

Suite *suite_live(void)
{
    Suite *suite = suite_create("live");
    TCase *matrix = tcase_create("matrix");
    tcase_add_test(matrix, a_ring_drawn);
    tcase_add_loop_test(matrix, events_in_any_order, 0, 50);
    tcase_add_test(matrix, a_step_waits_for_its_last_transfer);
    tcase_add_test(matrix, surprises_are_reported);
    tcase_add_test(matrix, nothing_held_is_a_dot);
    tcase_add_test(matrix, wide_matrices_are_truncated);
    tcase_add_test(matrix, narrow_terminals);
    suite_add_tcase(suite, matrix);
    return suite;
}
