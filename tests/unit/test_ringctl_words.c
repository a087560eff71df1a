/* SPDX-License-Identifier: MIT
 *
 * The operands of ringctl: nodes and roles, the sides of a cut, link profiles,
 * events as sentences.
 */
#include "run/link_words.h"
#include "run/target.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ringctl_words(void);

/* Splits `text` at blanks. */
static int split(const char *text, char buffer[256], char *words[16])
{
    int count = 0;
    strncpy(buffer, text, 255);
    buffer[255] = 0;
    for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    return count;
}

START_TEST(nodes_have_roles)
{
    static const struct {
        const char *text;
        enum role role;
        int node;
    } cases[] = {
        {"2", ROLE_WORKER, 2},
        {"0", ROLE_WORKER, 0},
        {"worker 2", ROLE_WORKER, 2},
        {"w2", ROLE_WORKER, 2},
        {"server 0", ROLE_SERVER, 0},
        {"s0", ROLE_SERVER, 0},
        {"controller 1", ROLE_CONTROLLER, 1},
        {"c1", ROLE_CONTROLLER, 1},
        {"leader", ROLE_CONTROLLER, TARGET_LEADER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[256], *words[16];
        struct target target;
        int count = split(cases[i].text, buffer, words);
        ck_assert_int_eq(target_parse_words(count, words, &target, NULL),
                         GW_OK);
        ck_assert_int_eq(target.role, cases[i].role);
        ck_assert_int_eq(target.node, cases[i].node);
    }
}
END_TEST

START_TEST(roles_have_ranges_of_numbers)
{
    ck_assert_int_eq(target_number((struct target){ROLE_WORKER, 3}), 3);
    ck_assert_int_eq(target_number((struct target){ROLE_SERVER, 0}), 32);
    ck_assert_int_eq(target_number((struct target){ROLE_SERVER, 23}), 55);
    ck_assert_int_eq(target_number((struct target){ROLE_CONTROLLER, 0}),
                     GW_RING_CONTROLLER);
    ck_assert_int_eq(target_number((struct target){ROLE_CONTROLLER, 4}),
                     GW_RING_CONTROLLER - 4);
}
END_TEST

START_TEST(an_invalid_node_is_reported)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"x", "\"x\" is not a node; use 2, s0 for a server"},
        {"2x", "\"2x\" is not a node"},
        {"-1", "\"-1\" is not a node"},
        {"c", "\"c\" is not a node"},
        {"99999999999999999999", "is not a node"},
        {"server", "server: missing node number"},
        {"server x", "server: \"x\" is not a number"},
        {"nurse 2",
         "\"nurse\" is not a role; use worker, server or controller"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[256], *words[16];
        struct target target;
        struct gw_error why;
        int count = split(cases[i].text, buffer, words);
        ck_assert_int_eq(target_parse_words(count, words, &target, &why),
                         GW_EINVAL);
        ck_assert_msg(strstr(why.text, cases[i].expected) != NULL, "%s: %s",
                      cases[i].text, why.text);
    }
}
END_TEST

START_TEST(a_cut_has_two_sides)
{
    static const char *const texts[] = {"0,1|2,c0", "0,1 2,c0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char buffer[256], *words[16];
        struct cut cut;
        int count = split(texts[i], buffer, words);
        ck_assert_int_eq(cut_parse(count, words, &cut, NULL), GW_OK);
        ck_assert_uint_eq(cut.sides[0].count, 2);
        ck_assert_uint_eq(cut.sides[1].count, 2);
        ck_assert_int_eq(cut.sides[0].targets[1].node, 1);
        ck_assert_int_eq(cut.sides[1].targets[0].node, 2);
        ck_assert_int_eq(cut.sides[1].targets[1].role, ROLE_CONTROLLER);
    }
}
END_TEST

START_TEST(bad_cuts_are_reported)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"0,1", "cut needs two sides"},    {"0|", "cut needs two sides"},
        {"|0", "cut needs two sides"},     {"0|1 2", "cut needs two sides"},
        {"0,1|1,2", "1 is on both sides"}, {"c0 leader,c0", "c0 is on both"},
        {"0,x|1", "\"x\" is not a node"},  {"0,,1|2", "\"\" is not a node"},
        {"0|1|2", "cut needs two sides"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[256], *words[16];
        struct cut cut;
        struct gw_error why;
        int count = split(cases[i].text, buffer, words);
        ck_assert_int_eq(cut_parse(count, words, &cut, &why), GW_EINVAL);
        ck_assert_msg(strstr(why.text, cases[i].expected) != NULL, "%s: %s",
                      cases[i].text, why.text);
    }
}
END_TEST

START_TEST(a_side_has_a_limit)
{
    char text[1024] = "0";
    struct cut cut;
    struct gw_error why;
    for (int i = 0; i < SIDE_MAX; i++)
        strcat(text, ",1");
    strcat(text, "|2");
    char *words[] = {text};
    ck_assert_int_eq(cut_parse(1, words, &cut, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "at most 64"));
}
END_TEST

static void expect_profile(const char *text, const char *json,
                           const char *printed)
{
    char buffer[256], *words[16], output[200];
    json_t *fields, *wanted = json_loads(json, 0, NULL);
    struct gw_error why;
    int count = split(text, buffer, words);
    ck_assert_msg(link_words_parse(count, words, &fields, &why) == GW_OK,
                  "%s: %s", text, why.text);
    ck_assert_msg(json_equal(fields, wanted), "%s", text);
    link_words_print(fields, output, sizeof output);
    ck_assert_str_eq(output, printed);
    json_decref(fields);
    json_decref(wanted);
}

START_TEST(profiles_of_links)
{
    expect_profile("delay 5ms", "{\"delay_us\": 5000}", "delay 5ms, up");
    expect_profile("delay 50us jitter 1.5ms",
                   "{\"delay_us\": 50, \"jitter_us\": 1500}",
                   "delay 50us, jitter 1.5ms, up");
    expect_profile("rate 100M loss 1%",
                   "{\"rate\": 104857600, \"loss_ppm\": 10000}",
                   "rate 100M/s, loss 1%, up");
    expect_profile("rate 1K/s", "{\"rate\": 1024}", "rate 1K/s, up");
    expect_profile("loss 0.001", "{\"loss_ppm\": 1000}", "loss 0.1%, up");
    expect_profile("down", "{\"down\": true}", "down");
    expect_profile("up", "{\"down\": false}", "no emulation");
    expect_profile("delay 1ms down", "{\"delay_us\": 1000, \"down\": true}",
                   "delay 1ms, down");
    expect_profile("clear",
                   "{\"delay_us\": 0, \"jitter_us\": 0, \"rate\": 0, "
                   "\"loss_ppm\": 0, \"down\": false}",
                   "no emulation");
}
END_TEST

START_TEST(bad_profiles_are_reported)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"dealy 5ms",
         "unknown property \"dealy\" of a link; did you mean \"delay\"?"},
        {"delay", "delay needs a value"},
        {"delay soon", "delay: \"soon\" is not a duration"},
        {"delay 2h", "delay: 2h is more than one hour"},
        {"rate fast", "rate: \"fast\" is not a rate"},
        {"loss 101%", "loss: \"101%\" is not a share"},
        {"loss 2", "loss: \"2\" is not a share"},
        {"loss -1%", "loss: \"-1%\" is not a share"},
        {"loss x", "loss: \"x\" is not a share"},
        {"down sideways", "unknown property \"sideways\" of a link"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[256], *words[16];
        json_t *fields;
        struct gw_error why;
        int count = split(cases[i].text, buffer, words);
        ck_assert_int_eq(link_words_parse(count, words, &fields, &why),
                         GW_EINVAL);
        ck_assert_ptr_null(fields);
        ck_assert_msg(strstr(why.text, cases[i].expected) != NULL, "%s: %s",
                      cases[i].text, why.text);
    }
}
END_TEST

struct sentence {
    struct gw_event event;
    const char *expected;
};

static void expect_sentences(const struct sentence *cases, size_t count)
{
    char text[256];
    for (size_t i = 0; i < count; i++) {
        gw_event_text(&cases[i].event, text, sizeof text);
        ck_assert_str_eq(text, cases[i].expected);
    }
}

START_TEST(events_of_rings_have_sentences)
{
    static const struct sentence cases[] = {
        {{.kind = GW_EV_MEMBER, .rank = 2, .value = GW_MEMBER_DEAD},
         "node 2 is dead"},
        {{.kind = GW_EV_EPOCH, .epoch = 3, .value = 4, .chunk = GW_NONE},
         "epoch 3: 4 members"},
        {{.kind = GW_EV_EPOCH, .epoch = 3, .value = 4},
         "epoch 3: 4 members, built-in plan"},
        {{.kind = GW_EV_EPOCH, .epoch = 3, .value = 4, .chunk = 1},
         "epoch 3: 4 members, given plan, 1 chunk"},
        {{.kind = GW_EV_FAILURE, .rank = 1, .peer = 2, .value = GW_BY_RESET},
         "node 1 suspects 2: its connection was reset"},
        {{.kind = GW_EV_APPLY,
          .rank = 1,
          .peer = 0,
          .chunk = 3,
          .op = 9,
          .bytes = 4096,
          .value = 1},
         "node 1 adds from 0: chunk 3 of op 9, 4K"},
        {{.kind = GW_EV_OP_END, .rank = 1, .op = 9, .value = GW_ELOST},
         "node 1 ends op 9: peer lost"},
        {{.kind = GW_EV_LOSS, .value = 350000000}, "loss 0.35"},
        {{.kind = GW_EV_MEMBER, .rank = 2, .value = 77}, "node 2 ?"},
        {{.kind = 999}, "event 999"},
    };
    expect_sentences(cases, sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(events_of_pipelines_have_sentences)
{
    static const struct sentence cases[] = {
        {{.kind = GW_EV_STAGE,
          .rank = 5,
          .peer = 2,
          .step = 4,
          .op = 16,
          .chunk = 1,
          .value = 95000000},
         "node 5 is stage 2 of 4: 16 micro-batches, chunks 1, predicted step "
         "time 95.000 ms"},
        {{.kind = GW_EV_PASS_BEGIN,
          .rank = 5,
          .peer = 1,
          .op = 3,
          .step = 7,
          .value = GW_FORWARD},
         "node 5 begins F3, chunk 0, step 7, waited for stage 1"},
        {{.kind = GW_EV_PASS_END,
          .rank = 5,
          .peer = GW_NONE,
          .op = 3,
          .step = 7,
          .value = GW_BACKWARD_WEIGHT,
          .bytes = 2},
         "node 5 ends W3, chunk 0, step 7, holds 2"},
        {{.kind = GW_EV_PASS_END, .value = 77},
         "node 0 ends ?0, chunk 0, "
         "step 0, holds 0"},
    };
    expect_sentences(cases, sizeof cases / sizeof *cases);
}
END_TEST

/* lib/event is below lib/pipe, so it has a table of its own. */
START_TEST(events_have_the_letters_of_passes)
{
    char text[256], begin[32];
    for (int kind = 0; kind < GW_PASS_KINDS; kind++) {
        struct gw_event event = {
            .kind = GW_EV_PASS_BEGIN, .peer = GW_NONE, .value = kind};
        snprintf(begin, sizeof begin, "node 0 begins %c0,",
                 gw_pass_symbol((enum gw_pass_kind)kind));
        gw_event_text(&event, text, sizeof text);
        ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "%s", text);
    }
}
END_TEST

START_TEST(events_of_servers_have_sentences)
{
    static const struct sentence cases[] = {
        {{.kind = GW_EV_REQUEST,
          .rank = 1,
          .peer = 33,
          .op = 7,
          .chunk = 5,
          .value = 1},
         "node 1 pushes to 33: slot 5, message 7"},
        {{.kind = GW_EV_REPLY, .rank = 1, .peer = 33, .op = 7},
         "node 1 received the reply of 33 to message 7"},
        {{.kind = GW_EV_LEADER, .rank = GW_RING_CONTROLLER - 1, .value = 4},
         "controller 1 leads in term 4"},
        {{.kind = GW_EV_VOTE,
          .rank = GW_RING_CONTROLLER - 2,
          .peer = GW_RING_CONTROLLER - 1,
          .value = 4},
         "controller 2 votes for controller 1 in term 4"},
        {{.kind = GW_EV_LEASE, .rank = GW_RING_CONTROLLER - 1, .peer = 33},
         "node 33 no longer has a lease"},
        {{.kind = GW_EV_ROUTE, .peer = GW_NONE, .chunk = 5},
         "slot 5 has no primary"},
    };
    expect_sentences(cases, sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(every_event_has_a_sentence)
{
    char text[256];
    for (unsigned kind = 0; kind < GW_EVENT_KINDS; kind++) {
        gw_event_text(&(struct gw_event){.kind = kind}, text, sizeof text);
        ck_assert_int_ne(strncmp(text, "event ", 6), 0);
    }
}
END_TEST

Suite *suite_ringctl_words(void)
{
    const TTest *const tests[] = {
        nodes_have_roles,
        roles_have_ranges_of_numbers,
        an_invalid_node_is_reported,
        a_cut_has_two_sides,
        bad_cuts_are_reported,
        a_side_has_a_limit,
        profiles_of_links,
        bad_profiles_are_reported,
        events_of_rings_have_sentences,
        events_of_pipelines_have_sentences,
        events_have_the_letters_of_passes,
        events_of_servers_have_sentences,
        every_event_has_a_sentence,
    };
    Suite *suite = suite_create("ringctl_words");
    TCase *tcase = tcase_create("words");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
