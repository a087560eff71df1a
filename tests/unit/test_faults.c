/* SPDX-License-Identifier: MIT
 *
 * Fault schedules as text and at random: printed schedules are read back equal,
 * errors are refused with their position, and a random schedule is within its
 * profile.
 */
#include "node_bits.h"

#include <sim/faults/faults.h>

#include <stdlib.h>
#include <string.h>

Suite *suite_faults(void);

#define MS UINT64_C(1000000)

static void parse(const char *text, unsigned nodes, struct gw__faults *faults)
{
    struct gw_error why = {0};
    enum gw_err err =
        gw__faults_parse(text, strlen(text), "t", nodes, faults, &why);
    ck_assert_msg(err == GW_OK, "%s\nfor\n%s", why.text, text);
}

static char *print(const struct gw__faults *faults)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(gw__faults_print(faults, file, NULL), GW_OK);
    fclose(file);
    return text;
}

static void expect_equal(const struct gw__faults *a, const struct gw__faults *b)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct gw__fault *x = &a->items[i], *y = &b->items[i];
        ck_assert(x->at_ns == y->at_ns && x->for_ns == y->for_ns);
        ck_assert(x->kind == y->kind && x->both_ways == y->both_ways);
        ck_assert(gw__nodes_equal(x->nodes, y->nodes) &&
                  gw__nodes_equal(x->to, y->to));
        ck_assert(x->chance == y->chance && x->ppm == y->ppm);
        ck_assert(x->least_ns == y->least_ns && x->most_ns == y->most_ns);
        ck_assert(x->kind != GW__CRASH || x->after == y->after);
        ck_assert(x->by_op == y->by_op && x->op == y->op);
        ck_assert(!x->by_op ||
                  (x->chunk == y->chunk && x->transfer == y->transfer));
    }
}

START_TEST(each_fault_is_read_as_it_is_meant)
{
    struct gw__faults faults;
    parse("at 12ms crash 2\n"
          "at 12ms crash 0,2 after 3 for 1.5ms\n"
          "cut 0>1 for 50ms # one way\n"
          "\n"
          "   # the rest\r\n"
          "at 30us cut 0,1|2,3\r\n"
          "\tdrop 0>* 0.1\n"
          "delay *|2 5ms..20ms for 1s\n"
          "clock 3 -2000ppm\n"
          "heal",
          4, &faults);
    const struct gw__fault *f = faults.items;
    ck_assert_uint_eq(faults.count, 8);
    ck_assert(f[0].kind == GW__CRASH && f[0].at_ns == 12 * MS &&
              node_bits(f[0].nodes) == 4 && f[0].after == GW__AT_ONCE &&
              !f[0].for_ns);
    ck_assert(node_bits(f[1].nodes) == 5 && f[1].after == 3 &&
              f[1].for_ns == 1500000);
    ck_assert(f[2].kind == GW__CUT && f[2].at_ns == 0 &&
              node_bits(f[2].nodes) == 1 && node_bits(f[2].to) == 2 &&
              !f[2].both_ways && f[2].for_ns == 50 * MS);
    ck_assert(f[3].at_ns == 30000 && node_bits(f[3].nodes) == 3 &&
              node_bits(f[3].to) == 12 && f[3].both_ways);
    ck_assert(f[4].kind == GW__DROP &&
              gw__nodes_equal(f[4].to, GW__ALL_NODES) && f[4].chance == 100000);
    ck_assert(f[5].kind == GW__DELAY &&
              gw__nodes_equal(f[5].nodes, GW__ALL_NODES) &&
              f[5].least_ns == 5 * MS && f[5].most_ns == 20 * MS);
    ck_assert(f[6].kind == GW__CLOCK && f[6].ppm == -2000);
    ck_assert(f[7].kind == GW__HEAL);
}
END_TEST

START_TEST(a_place_in_the_work_is_read_and_printed)
{
    static const char schedule[] = "at op 3 crash 2\n"
                                   "at op 4 chunk 0 pause 1\n"
                                   "at op 5 chunk 1 transfer 2 crash 0\n"
                                   "at op 6 transfer 7 crash 3\n";
    struct gw__faults faults, again;
    parse(schedule, 4, &faults);
    ck_assert(faults.items[0].by_op && faults.items[0].op == 3);
    ck_assert(faults.items[0].chunk == GW__ANY_CHUNK);
    ck_assert_uint_eq(faults.items[1].chunk, 0);
    ck_assert_uint_eq(faults.items[2].transfer, 2);
    ck_assert_uint_eq(faults.items[3].at_ns, 0);
    char *text = print(&faults);
    ck_assert_str_eq(text, schedule);
    parse(text, 4, &again);
    expect_equal(&faults, &again);
    free(text);
}
END_TEST

START_TEST(the_printed_form_is_what_a_person_would_write)
{
    static const char text[] = "at 12ms crash 2\n"
                               "at 12ms crash 0,2 after 3 for 1500us\n"
                               "restart 2\n"
                               "at 1s pause 0 for 1ns\n"
                               "at 1001ms resume 0\n"
                               "cut 0>1 for 50ms\n"
                               "at 30us cut 0,1|2,3\n"
                               "drop 0>* 0.1\n"
                               "drop 0>1 0\n"
                               "dup *|* 1\n"
                               "dup 0>1 0.000001\n"
                               "delay *|2 5ms..20ms for 1s\n"
                               "delay 1>2 0s\n"
                               "clock 3 +2000ppm\n"
                               "clock 3 -500000ppm\n"
                               "at 24s heal\n";
    struct gw__faults faults;
    parse(text, 4, &faults);
    char *printed = print(&faults);
    ck_assert_str_eq(printed, text);
    free(printed);
}
END_TEST

START_TEST(the_longest_line_fits)
{
    struct gw__faults faults = {.count = 1}, again;
    faults.items[0] = (struct gw__fault){
        .kind = GW__DELAY,
        .at_ns = GW__FAULT_NS_MAX - 1,
        .for_ns = GW__FAULT_NS_MAX - 1,
        .least_ns = GW__FAULT_NS_MAX - 3,
        .most_ns = GW__FAULT_NS_MAX - 1,
        .both_ways = true,
    };
    for (unsigned node = 1; node < GW__NODES_MAX; node += 2)
        gw__nodes_add(&faults.items[0].nodes, node);
    faults.items[0].to = faults.items[0].nodes;
    char *text = print(&faults);
    ck_assert_uint_lt(strlen(text), GW__FAULT_TEXT_MAX - 1);
    parse(text, GW__NODES_MAX, &again);
    expect_equal(&faults, &again);
    free(text);
}
END_TEST

struct wrong {
    const char *text;
    const char *sentence;
};

static const struct wrong wrongs[] = {
    {"at", "t:1:3: expected a duration, such as 20ms, found the end of the "
           "line"},
    {"at 12xs crash 2",
     "t:1:4: \"12xs\" is not a duration; write 50us, 20ms, 1.5s or 2m"},
    {"at 25h crash 2", "t:1:4: 25h is longer than a day"},
    {"at op", "t:1:6: expected a number, found the end of the line"},
    {"at op 3x crash 1", "t:1:8: expected a blank, found `x`"},
    {"at op 3 transfer 1 chunk 2 crash 1",
     "t:1:20: expected crash, restart, pause, resume, cut, drop, dup, delay, "
     "clock or heal, found `chunk`"},
    {"at 1ms", "t:1:7: expected crash, restart, pause, resume, cut, drop, dup, "
               "delay, clock or heal, found the end of the line"},
    {"heal\n\n  at 1ms kill 2",
     "t:3:10: expected crash, restart, pause, resume, cut, drop, dup, delay, "
     "clock or heal, found `kill`"},
    {"crash", "t:1:6: expected a node's number, found the end of the line"},
    {"crash x", "t:1:7: expected a node's number, found `x`"},
    {"crash 4", "t:1:7: the number must be at most 3"},
    {"crash 0,", "t:1:9: expected a node's number, found the end of the word"},
    {"crash 0,9", "t:1:9: the number must be at most 3"},
    {"crash 99999999999999999999", "t:1:7: the number must be at most 3"},
    {"crash 0>1", "t:1:8: expected a blank, found `>1`"},
    {"crash 0 1", "t:1:9: expected the end of the line, found `1`"},
    {"crash 0 after",
     "t:1:14: expected a count of actions, found the end of the line"},
    {"crash 0 after 3x", "t:1:16: expected a blank, found `x`"},
    {"crash 0 after 10001", "t:1:15: the number must be at most 10000"},
    {"crash 0 for 1ms after 1",
     "t:1:17: expected the end of the line, found `after`"},
    {"crash 0 for",
     "t:1:12: expected a duration, such as 20ms, found the end of the line"},
    {"pause 0 for 0s", "t:1:13: the duration of a fault must be above 0"},
    {"restart 0 for 1ms", "t:1:11: expected the end of the line, found `for`"},
    {"cut 0", "t:1:6: expected `>` (one way) or `|` (both ways), found the end "
              "of the word"},
    {"cut 0-1", "t:1:8: expected `>` (one way) or `|` (both ways), found the "
                "end of the word"},
    {"crash 2-", "t:1:9: expected a node's number, found the end of the word"},
    {"crash 3-2", "t:1:7: a range of nodes must begin with the lower number"},
    {"cut 0>", "t:1:7: expected a node's number, found the end of the word"},
    {"cut 1|1", "t:1:5: a link must join two different nodes"},
    {"cut 0>1>2", "t:1:8: expected a blank, found `>2`"},
    {"drop 0>1",
     "t:1:9: expected a chance, such as 0.1, found the end of the line"},
    {"drop 0>1 2", "t:1:10: the number must be at most 1"},
    {"drop 0>1 1.5", "t:1:10: a chance must be at most 1"},
    {"drop 0>1 -1", "t:1:10: expected a chance, such as 0.1, found `-1`"},
    {"drop 0>1 0.1234567", "t:1:18: expected at most six decimals, found `7`"},
    {"drop 0>1 0.1%", "t:1:13: expected at most six decimals, found `%`"},
    {"delay 0>1", "t:1:10: expected a duration, such as 20ms, found the end of "
                  "the line"},
    {"delay 0>1 5ms..", "t:1:16: expected a duration, such as 20ms, found the "
                        "end of the word"},
    {"delay 0>1 ..5ms",
     "t:1:11: expected a duration, such as 20ms, found `..5ms`"},
    {"delay 0>1 5ms..4ms", "t:1:11: the second delay must be the longer one"},
    {"delay 0>1 0000000000000000000000000000000000000000000000001ms",
     "t:1:11: the duration is too long"},
    {"clock 0 2000", "t:1:13: expected `ppm`, found the end of the word"},
    {"clock 0 +", "t:1:10: expected a rate, such as +2000ppm, found the end of "
                  "the word"},
    {"clock 0 +500001ppm", "t:1:10: the number must be at most 500000"},
    {"clock 0 +5ppmx", "t:1:11: expected `ppm`, found `ppmx`"},
    {"heal 2", "t:1:6: expected the end of the line, found `2`"},
    {"crash 0\x01", "t:1:8: a schedule cannot contain byte 0x01"},
    {"crash \xc3\xa9", "t:1:7: a schedule cannot contain byte 0xc3"},
};

START_TEST(what_is_wrong_is_refused_with_its_place)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const char *text = wrongs[i].text;
        struct gw__faults faults;
        struct gw_error why = {0};
        enum gw_err err =
            gw__faults_parse(text, strlen(text), "t", 4, &faults, &why);
        ck_assert_msg(err == GW_EDATA, "%d for %s", err, text);
        ck_assert_msg(strcmp(why.text, wrongs[i].sentence) == 0,
                      "%s\nexpected: %s\nfor: %s", why.text, wrongs[i].sentence,
                      text);
        ck_assert_uint_eq(faults.count, 0);
        ck_assert_int_eq(
            gw__faults_parse(text, strlen(text), "t", 4, &faults, NULL),
            GW_EDATA);
    }
}
END_TEST

START_TEST(a_text_is_bounded)
{
    struct gw__faults faults;
    struct gw_error why = {0};
    char text[5 * (GW__FAULTS_MAX + 1) + 1] = "";
    for (size_t i = 0; i < GW__FAULTS_MAX + 1; i++)
        for (size_t k = 0; k < 5; k++)
            text[5 * i + k] = "heal\n"[k];
    ck_assert_int_eq(
        gw__faults_parse(text, 5 * GW__FAULTS_MAX, "t", 4, &faults, &why),
        GW_OK);
    ck_assert_uint_eq(faults.count, GW__FAULTS_MAX);
    ck_assert_int_eq(
        gw__faults_parse(text, strlen(text), "t", 4, &faults, &why), GW_EDATA);
    ck_assert_str_eq(why.text,
                     "t:257:1: a schedule can have at most 256 faults");
    ck_assert_int_eq(gw__faults_parse("a\0b", 3, "t", 4, &faults, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text, "t:1:2: a schedule cannot contain byte 0x00");
    ck_assert_int_eq(gw__faults_parse("", 0, "t", 577, &faults, &why),
                     GW_EINVAL);
    ck_assert_int_eq(gw__faults_parse("", 0, "t", 576, &faults, &why), GW_OK);
}
END_TEST

/* ---- at random ---- */

static const struct gw__fault_profile profile = {
    .nodes = 5,
    .end_ns = 100 * MS,
    .most = {[GW__CRASH] = 6,
             [GW__PAUSE] = 2,
             [GW__CUT] = 3,
             [GW__DROP] = 2,
             [GW__DUP] = 1,
             [GW__DELAY] = 4,
             [GW__CLOCK] = 2},
    .for_least_ns = MS,
    .for_most_ns = 40 * MS,
    .heals = true,
    .mortal = {{1 << 1 | 1 << 2 | 1 << 4}},
    .down_most = 2,
    .chance_most = 0.3,
    .delay_most_ns = 7 * MS,
    .ppm_most = 5000,
};

static void check_random_fault(const struct gw__faults *faults, size_t i,
                               bool heals)
{
    const struct gw__fault *f = &faults->items[i];
    ck_assert_uint_lt(f->at_ns, profile.end_ns);
    ck_assert(i == 0 || faults->items[i - 1].at_ns <= f->at_ns);
    ck_assert(!heals ||
              (f->for_ns > 0 && f->at_ns + f->for_ns <= profile.end_ns));
    ck_assert_uint_le(f->for_ns, profile.for_most_ns);
    ck_assert_uint_le(f->chance, 300000);
    ck_assert_uint_le(f->most_ns, profile.delay_most_ns);
    ck_assert_int_le(abs(f->ppm), profile.ppm_most);
    ck_assert(!gw__nodes_is_empty(f->nodes));
    if (f->kind == GW__CRASH) {
        ck_assert(gw__nodes_within(f->nodes, profile.mortal));
        ck_assert_uint_lt(gw__faults_down(faults, f), profile.down_most);
    }
}

/* Each schedule is within the profile, and its text form reads back equal. */
static void check_random(uint64_t seed, const struct gw__fault_profile *p,
                         unsigned counts[GW__FAULT_KINDS])
{
    struct gw__faults faults, again;
    unsigned own[GW__FAULT_KINDS] = {0};
    gw__faults_random(seed, p, &faults);
    for (size_t i = 0; i < faults.count; i++) {
        check_random_fault(&faults, i, p->heals);
        own[faults.items[i].kind]++;
        counts[faults.items[i].kind]++;
    }
    for (unsigned kind = 0; kind < GW__FAULT_KINDS; kind++)
        ck_assert_uint_le(own[kind], p->most[kind]);
    char *text = print(&faults);
    parse(text, p->nodes, &again);
    expect_equal(&faults, &again);
    gw__faults_random(seed, p, &again);
    expect_equal(&faults, &again);
    free(text);
}

START_TEST(random_schedules_keep_within_their_profile)
{
    unsigned counts[GW__FAULT_KINDS] = {0};
    for (uint64_t seed = 0; seed < 1000; seed++)
        check_random(seed, &profile, counts);
    for (unsigned kind = 0; kind < GW__FAULT_KINDS; kind++)
        ck_assert_msg((counts[kind] > 300) == (profile.most[kind] > 0),
                      "%u of kind %s", counts[kind],
                      gw__fault_verbs[kind].name);
}
END_TEST

START_TEST(without_healing_some_last_for_ever)
{
    struct gw__fault_profile never = profile;
    unsigned counts[GW__FAULT_KINDS] = {0}, ever = 0, all = 0;
    never.heals = false;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct gw__faults faults;
        check_random(seed, &never, counts);
        gw__faults_random(seed, &never, &faults);
        for (size_t i = 0; i < faults.count; i++)
            ever += faults.items[i].for_ns == 0;
        all += (unsigned)faults.count;
    }
    ck_assert_uint_gt(ever, all / 8);
    ck_assert_uint_lt(ever, all / 2);
}
END_TEST

START_TEST(an_empty_profile_has_no_faults)
{
    struct gw__faults faults;
    struct gw__fault_profile none = {.nodes = 1, .end_ns = MS};
    gw__faults_random(1, &none, &faults);
    ck_assert_uint_eq(faults.count, 0);
    for (unsigned kind = 0; kind < GW__FAULT_KINDS; kind++)
        none.most[kind] = 3; /* but no node may die, and no link exists */
    for (uint64_t seed = 0; seed < 100; seed++) {
        gw__faults_random(seed, &none, &faults);
        for (size_t i = 0; i < faults.count; i++)
            ck_assert(faults.items[i].kind == GW__PAUSE ||
                      faults.items[i].kind == GW__CLOCK);
    }
}
END_TEST

Suite *suite_faults(void)
{
    Suite *suite = suite_create("faults");
    TCase *text = tcase_create("faults text");
    tcase_add_test(text, each_fault_is_read_as_it_is_meant);
    tcase_add_test(text, a_place_in_the_work_is_read_and_printed);
    tcase_add_test(text, the_printed_form_is_what_a_person_would_write);
    tcase_add_test(text, the_longest_line_fits);
    tcase_add_test(text, what_is_wrong_is_refused_with_its_place);
    tcase_add_test(text, a_text_is_bounded);
    suite_add_tcase(suite, text);
    TCase *random = tcase_create("faults at random");
    tcase_add_test(random, random_schedules_keep_within_their_profile);
    tcase_add_test(random, without_healing_some_last_for_ever);
    tcase_add_test(random, an_empty_profile_has_no_faults);
    suite_add_tcase(suite, random);
    return suite;
}
