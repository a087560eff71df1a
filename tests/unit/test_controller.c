/* SPDX-License-Identifier: MIT
 *
 * Real controllers with threads, sockets and disks. Each request is answered
 * once, and its effect survives any death.
 */
#include "council.h"

Suite *suite_controller(void);

static struct council council;

static struct gw__command accusation(unsigned by, unsigned node)
{
    return (struct gw__command){
        .kind = GW__CMD_SUSPECT,
        .who = council_process(by),
        .suspect = {council_process(node), .certain = true}};
}

/* Executed twice, it would take two numbers. */
static struct gw__command newcomer(unsigned which)
{
    return (struct gw__command){
        .kind = GW__CMD_REGISTER,
        .who = {GW__NODE_ANY, {.high = 6, .low = 1 + which}},
        .join = {.role = GW__OBSERVER}};
}

/* It changes nothing. */
static struct gw__command register_again(void)
{
    return (struct gw__command){.kind = GW__CMD_REGISTER,
                                .who = council_process(COUNCIL_ASKER),
                                .join = {.role = GW__OBSERVER}};
}

static void set_slots(unsigned count)
{
    const struct gw__command c = {
        .kind = GW__CMD_ROUTES,
        .routes = {.slots = count, .replicas = 1, .servers = 1}};
    council_do(&council, &c, GW_OK);
}

static void expect_success(unsigned tag)
{
    struct gw__answer answer = council_answer(&council, tag);
    ck_assert_msg(answer.code == GW_OK, "%u: %s", tag, answer.text);
}

START_TEST(one_controller_serves_a_ring)
{
    council_begin(&council, 1);
    council_workers(&council, 4);
    struct gw__command c = accusation(COUNCIL_ASKER, 2);
    struct gw__answer answer = council_do(&council, &c, GW_OK);
    ck_assert_str_eq(answer.text, "node 2 is declared dead: epoch 2");
    council_agree(&council);
    ck_assert_uint_eq(council_sight(&council, 0).view.ring_count, 3);
    council_end(&council);
}
END_TEST

START_TEST(a_restart_finds_the_same_state)
{
    council_begin(&council, 1);
    council_workers(&council, 4);
    set_slots(50);
    gw__driver_stop(&council.asker); /* no new request comes in */
    council_close(&council, 0);
    const struct sight before = council_sight(&council, 0);
    council_open(&council, 0);
    struct sight now = {0};
    uint64_t until_ns = gw_now_ns() + 5000000000U;
    while (now.index <= before.index && gw_now_ns() < until_ns) {
        now = council_sight(&council, 0);
        if (now.index == before.index)
            ck_assert_uint_eq(now.digest, before.digest);
    }
    ck_assert_uint_gt(now.index, before.index); /* its new life registers */
    ck_assert_uint_eq(now.entries, now.index);
    ck_assert_uint_eq(now.view.ring_count, 4);
    ck_assert_uint_eq(now.slots, 50);
    council_end(&council);
}
END_TEST

/* A controller that is alone, and its next life: each leads, and an entry is
 * reported when it is new and not again when it is read. */
START_TEST(its_terms_and_its_entries_are_events)
{
    enum { KEPT = 256 };
    struct gw_event events[KEPT];
    struct gw_error why;
    struct gw__command c = accusation(COUNCIL_ASKER, 1);
    int64_t entry = 0;
    unsigned leads = 0;
    ck_assert_int_eq(gw_sink_ring(KEPT, &council.events, &why), GW_OK);
    council_begin(&council, 1);
    council_workers(&council, 2);
    council_close(&council, 0);
    council_open(&council, 0);
    council_do(&council, &c, GW_OK);
    council_end(&council);
    size_t count = gw_sink_ring_read(council.events, events, KEPT, NULL);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(events[i].rank, COUNCIL_NODE);
        leads += events[i].kind == GW_EV_LEADER && events[i].value >= 1;
        if (events[i].kind == GW_EV_COMMIT)
            ck_assert_int_eq(events[i].value, ++entry);
    }
    ck_assert_uint_eq(leads, 2);
    ck_assert_int_ge(entry, 5);
    gw_sink_close(&council.events);
}
END_TEST

static void register_from(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        struct gw__command c = newcomer(i);
        council_request(&council, &c, i);
    }
}

START_TEST(three_work_through_the_death_of_their_leader)
{
    council_begin(&council, 3);
    council_workers(&council, 4);
    unsigned leader = council_leader(&council);
    register_from(0, 20);
    council_close(&council, leader); /* with requests under way */
    register_from(20, 20);
    for (unsigned i = 0; i < 40; i++)
        expect_success(i);
    ck_assert_uint_ne(council_leader(&council), leader);
    struct gw__command c = accusation(COUNCIL_ASKER, 2);
    council_do(&council, &c, GW_OK);
    council_agree(&council);
    ck_assert_uint_eq(council_sight(&council, (leader + 1) % 3).observers, 41);
    council_open(&council, leader);
    council_leader(&council);
    council_agree(&council);
    ck_assert_uint_eq(council_sight(&council, leader).observers, 41);
    ck_assert_uint_eq(council_sight(&council, leader).view.ring_count, 3);
    council_end(&council);
}
END_TEST

START_TEST(a_minority_answers_nothing_and_a_partition_heals)
{
    council_begin(&council, 3);
    council_workers(&council, 2);
    unsigned old = council_leader(&council);
    for (unsigned i = 0; i < 3; i++)
        if (i != old) {
            gw__controller_cut(council.chairs[old].controller, COUNCIL_NODE + i,
                               true);
            gw__controller_cut(council.chairs[i].controller, COUNCIL_NODE + old,
                               true);
        }
    set_slots(10); /* by the others */
    ck_assert_uint_ne(council_sight(&council, old).slots, 10);
    for (unsigned i = 0; i < 3; i++)
        if (i != old) {
            gw__controller_cut(council.chairs[old].controller, COUNCIL_NODE + i,
                               false);
            gw__controller_cut(council.chairs[i].controller, COUNCIL_NODE + old,
                               false);
        }
    council_leader(&council);
    council_agree(&council);
    ck_assert_uint_eq(council_sight(&council, old).slots, 10);
    council_end(&council);
}
END_TEST

/* Many entries: the log is compacted, and a controller that was away gets a
 * snapshot, which its service loads between two inputs. */
START_TEST(who_was_away_for_long_gets_a_snapshot)
{
    council_begin(&council, 3);
    council_workers(&council, 4);
    unsigned away = (council_leader(&council) + 1) % 3, tag = 0;
    council_close(&council, away);
    for (unsigned round = 0; round < 9; round++) {
        unsigned first = tag;
        for (unsigned i = 0; i < 150; i++, tag++) {
            struct gw__command c = register_again();
            council_request(&council, &c, tag);
        }
        for (unsigned i = first; i < tag; i++)
            expect_success(i);
    }
    council_open(&council, away);
    council_leader(&council);
    council_agree(&council);
    ck_assert_uint_lt(council_sight(&council, away).entries, 1000);
    set_slots(10);
    council_agree(&council);
    ck_assert_uint_eq(council_sight(&council, away).slots, 10);
    council_close(&council, away);
    council_open(&council, away); /* its own snapshot, and the log after it */
    council_leader(&council);
    council_agree(&council);
    ck_assert_uint_lt(council_sight(&council, away).entries, 1000);
    ck_assert_uint_eq(council_sight(&council, away).slots, 10);
    council_end(&council);
}
END_TEST

/* ---- processes that use the same number ---- */

/* A process of node 2, which the controller reaches at this endpoint. */
static struct gw__control_channel *speak(struct gw__id life,
                                         const char *endpoint)
{
    const struct gw__control_channel_config config = {
        .node = 2,
        .incarnation_high = life.high,
        .incarnation_low = life.low,
        .endpoint = endpoint,
        .security.token = 1};
    struct gw__control_channel *channel;
    struct gw_error why = {0};
    ck_assert_msg(gw__control_channel_open(&config, &channel, &why) == GW_OK,
                  "%s", why.text);
    ck_assert_int_eq(gw__control_channel_know(channel, COUNCIL_NODE,
                                              council_endpoint(COUNCIL_NODE),
                                              NULL),
                     GW_OK);
    return channel;
}

static bool is_answer(const struct gw__control_channel_message *message)
{
    const uint8_t *data = message->data;
    return *data == GW__PROTOCOL_ANSWER;
}

static uint64_t least_index;

/* An update that is newer than those that may have been under way. */
static bool is_late_update(const struct gw__control_channel_message *message)
{
    const uint8_t *data = message->data;
    static struct gw__membership_update none, update;
    struct gw_error why;
    return *data == GW__PROTOCOL_UPDATE &&
           gw__membership_update_decode(message->data, message->bytes, &none,
                                        &update, &why) == GW_OK &&
           update.index >= least_index;
}

/* Sends it repeatedly until the answer comes. */
static void
send_until(struct gw__control_channel *channel, const void *data, size_t bytes,
           bool (*is_it)(const struct gw__control_channel_message *))
{
    uint64_t until_ns = gw_now_ns() + 20000000000U, again_ns = 0;
    struct gw__control_channel_message message;
    do {
        if (gw_now_ns() >= again_ns) {
            gw__control_channel_send(channel, COUNCIL_NODE, data, bytes);
            again_ns = gw_now_ns() + 100000000;
        }
        gw__control_channel_wait(channel, -1, again_ns);
        if (gw__control_channel_receive(channel, &message) == GW_OK &&
            is_it(&message))
            return;
    } while (gw_now_ns() < until_ns);
    ck_abort_msg("no answer");
}

/* A process draws the number of a dead member in order to ask for any number.
 * It is answered; and the member learns, when it resumes, that it was declared
 * dead. */
START_TEST(a_drawn_number_is_returned)
{
    uint8_t hello[64],
        request[1 + GW__COMMAND_BYTES_MAX] = {GW__PROTOCOL_REQUEST};
    struct gw__command join = newcomer(0), c = accusation(COUNCIL_ASKER, 2);
    council_begin(&council, 1);
    council_workers(&council, 4);
    council_do(&council, &c, GW_OK);
    const struct gw__hello greeting = {.incarnation =
                                           council_process(2).incarnation};
    size_t hello_bytes = gw__hello_encode(&greeting, hello, sizeof hello);
    struct gw__control_channel *sleeper =
        speak(greeting.incarnation, council_endpoint(2));
    least_index = 0;
    send_until(sleeper, hello, hello_bytes, is_late_update);
    snprintf(join.join.endpoint, sizeof join.join.endpoint, "%.40s-drawn",
             council_endpoint(2));
    join.client = (struct gw__id){9, 9};
    join.sequence = 1;
    size_t bytes = gw__command_encode(&join, request + 1, sizeof request - 1);
    struct gw__control_channel *drawer =
        speak(join.who.incarnation, join.join.endpoint);
    send_until(drawer, request, 1 + bytes, is_answer);
    c = register_again(); /* the next entry, at the latest */
    council_do(&council, &c, GW_OK);
    least_index = council_sight(&council, 0).index;
    send_until(sleeper, hello, hello_bytes, is_late_update);
    gw__control_channel_close(&drawer);
    gw__control_channel_close(&sleeper);
    council_end(&council);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    struct gw_error why = {0};
    struct gw__controller *controller;
    struct gw__controller_config config = {.count = 0};
    ck_assert_int_eq(gw__controller_start(&config, &controller, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "controller 0 of 0: there can be 1 to 7 controllers");
    config.count = config.index = 3;
    ck_assert_int_eq(gw__controller_start(&config, &controller, &why),
                     GW_EINVAL);
    ck_assert_ptr_null(controller);
    gw__controller_stop(&controller);
}
END_TEST

Suite *suite_controller(void)
{
    Suite *suite = suite_create("controller");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, its_terms_and_its_entries_are_events);
    tcase_add_test(t, one_controller_serves_a_ring);
    tcase_add_test(t, a_restart_finds_the_same_state);
    tcase_add_test(t, three_work_through_the_death_of_their_leader);
    tcase_add_test(t, a_minority_answers_nothing_and_a_partition_heals);
    tcase_add_test(t, who_was_away_for_long_gets_a_snapshot);
    tcase_add_test(t, a_drawn_number_is_returned);
    tcase_add_test(t, what_makes_no_sense_is_refused);
    suite_add_tcase(suite, t);
    return suite;
}
