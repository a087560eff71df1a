/* SPDX-License-Identifier: MIT
 *
 * The driver of machines: the inputs of a machine and their times, and the
 * effects of its actions.
 */
#include "scripted_node.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

Suite *suite_driver(void);

static const uint64_t MS = 1000000;

static void begun(struct scripted_node *scripted, unsigned node)
{
    char line[SCRIPTED_LINE];
    snprintf(line, sizeof line, "start %u/7 seed 5, abc, kept nothing", node);
    scripted_open(scripted, node);
    scripted_expect(scripted, line);
    scripted_expect(scripted, "then something");
}

/* ---- inputs ---- */

/* START brings a copy of its data, and comes before all requests. */
START_TEST(start_comes_first)
{
    static struct scripted_node scripted;
    char data[] = "abc";
    scripted_init(&scripted);
    struct gw__driver_config config = scripted_config(&scripted, 3);
    config.start = data;
    scripted_hold(&scripted, true);
    scripted_start(&scripted, &config);
    memset(data, 'x', 3);
    scripted_run(&scripted, "say hello");
    scripted_hold(&scripted, false);
    scripted_expect(&scripted, "start 3/7 seed 5, abc, kept nothing");
    scripted_expect(&scripted, "then something");
    scripted_expect(&scripted, "hello");
    scripted_close(&scripted);
}
END_TEST

enum { ASKERS = 4, REQUESTS = 500 };

struct asker {
    struct scripted_node *scripted;
    unsigned number;
};

static void *send_many(void *context)
{
    struct asker *asker = context;
    for (unsigned i = 0; i < REQUESTS; i++) {
        char order[32];
        snprintf(order, sizeof order, "say %u %u", asker->number, i);
        scripted_run(asker->scripted, order);
    }
    return NULL;
}

START_TEST(requests_of_many_threads_keep_their_order)
{
    static struct scripted_node scripted;
    pthread_t threads[ASKERS];
    struct asker askers[ASKERS];
    unsigned next[ASKERS] = {0};
    scripted_open(&scripted, 0);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){&scripted, i};
        pthread_create(&threads[i], NULL, send_many, &askers[i]);
    }
    for (unsigned i = 0; i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    scripted_run(&scripted, "say all");
    scripted_await(&scripted, "all");
    for (unsigned i = 0; i < scripted.count; i++) {
        unsigned asker, number;
        if (sscanf(scripted.lines[i], "%u %u", &asker, &number) == 2) {
            ck_assert_uint_lt(asker, ASKERS);
            ck_assert_uint_eq(number, next[asker]++);
        }
    }
    for (unsigned i = 0; i < ASKERS; i++)
        ck_assert_uint_eq(next[i], REQUESTS);
    scripted_close(&scripted);
}
END_TEST

START_TEST(timers_fire_in_their_order)
{
    static struct scripted_node scripted;
    begun(&scripted, 0);
    scripted_run(&scripted, "set 1 9; set 63 3; set 2 6; set 0 0");
    scripted_expect(&scripted, "timer 0");
    scripted_expect(&scripted, "timer 63");
    scripted_expect(&scripted, "timer 2");
    scripted_expect(&scripted, "timer 1");
    scripted_run(&scripted,
                 "set 1 600000; set 2 2; set 3 4; set 4 1; cancel 4; set 1 6");
    scripted_expect(&scripted, "timer 2");
    scripted_expect(&scripted, "timer 3");
    scripted_expect(&scripted, "timer 1");
    scripted_run(&scripted, "set 5 1; set 5 3; cancel 6; set 6 5");
    scripted_expect(&scripted, "timer 5");
    scripted_expect(&scripted, "timer 6");
    scripted_close(&scripted);
}
END_TEST

START_TEST(a_timer_that_always_fires_starves_no_other)
{
    static struct scripted_node nodes[2];
    begun(&nodes[0], 0);
    begun(&nodes[1], 1);
    scripted_know(&nodes[1], &nodes[0]);
    scripted_run(&nodes[0], "storm 1");
    scripted_run(&nodes[0], "say still here; set 2 1");
    scripted_expect(&nodes[0], "still here");
    scripted_expect(&nodes[0], "timer 2");
    scripted_run(&nodes[1], "send 0 hello");
    scripted_expect(&nodes[0], "from 1/7: hello");
    scripted_close(&nodes[0]);
    scripted_close(&nodes[1]);
}
END_TEST

START_TEST(messages_reach_the_other_machine)
{
    static struct scripted_node nodes[2];
    begun(&nodes[0], 0);
    begun(&nodes[1], 1);
    scripted_run(&nodes[0], "send 1 lost, the address of 1 is unknown");
    scripted_know(&nodes[0], &nodes[1]);
    scripted_know(&nodes[1], &nodes[0]);
    scripted_run(&nodes[0], "send 1 hello; send 0 to myself");
    scripted_expect(&nodes[1], "from 0/7: hello");
    scripted_expect(&nodes[0], "from 0/7: to myself");
    scripted_run(&nodes[1], "send 0 ");
    scripted_expect(&nodes[0], "from 1/7: ");
    ck_assert_int_eq(gw__driver_know(nodes[0].driver, 1, ""), GW_OK);
    scripted_run(&nodes[0], "send 1 lost; say forgotten");
    scripted_expect(&nodes[0], "forgotten");
    scripted_close(&nodes[0]);
    scripted_close(&nodes[1]);
}
END_TEST

START_TEST(a_restarted_driver_is_reached)
{
    static struct scripted_node nodes[2];
    begun(&nodes[0], 0);
    begun(&nodes[1], 1);
    scripted_know(&nodes[0], &nodes[1]);
    scripted_run(&nodes[0], "send 1 one");
    scripted_expect(&nodes[1], "from 0/7: one");
    scripted_close(&nodes[1]);
    scripted_init(&nodes[1]);
    struct gw__driver_config config = scripted_config(&nodes[1], 1);
    config.channel.incarnation_low = 8;
    scripted_start(&nodes[1], &config);
    scripted_expect(&nodes[1], "start 1/8 seed 5, abc, kept nothing");
    scripted_expect(&nodes[1], "then something");
    scripted_know(&nodes[1], &nodes[0]);
    scripted_run(&nodes[1], "send 0 back");
    scripted_expect(&nodes[0], "from 1/8: back");
    scripted_run(&nodes[0], "send 1 two");
    scripted_expect(&nodes[1], "from 0/7: two");
    scripted_close(&nodes[0]);
    scripted_close(&nodes[1]);
}
END_TEST

START_TEST(unknown_messages_bypass_the_machine)
{
    static struct scripted_node nodes[2];
    begun(&nodes[0], 0);
    begun(&nodes[1], 1);
    scripted_know(&nodes[0], &nodes[1]);
    struct gw__driver *driver = nodes[0].driver;
    ck_assert_int_eq(gw__driver_send(driver, 1, "\200abc", 4), GW_OK);
    ck_assert_int_eq(gw__driver_send(driver, 1, "\377", 1), GW_OK);
    scripted_expect(&nodes[1], "foreign from 0/0.7: 128+abc");
    scripted_expect(&nodes[1], "foreign from 0/0.7: 255+");
    ck_assert_int_eq(gw__driver_send(driver, 1, "abc", 3), GW_EINVAL);
    ck_assert_int_eq(gw__driver_send(driver, 1, "", 0), GW_EINVAL);
    ck_assert_int_eq(gw__driver_send(driver, 576, "\200", 1), GW_EINVAL);
    ck_assert_int_eq(gw__driver_send(driver, 2, "\200", 1), GW_OK); /* lost */
    scripted_close(&nodes[0]);
    scripted_close(&nodes[1]);
}
END_TEST

START_TEST(deaths_are_passed_on)
{
    static struct scripted_node scripted;
    begun(&scripted, 0);
    ck_assert_int_eq(gw__driver_died(scripted.driver, 2, 9), GW_OK);
    scripted_expect(&scripted, "died 2/9");
    ck_assert_int_eq(gw__driver_died(scripted.driver, 576, 9), GW_EINVAL);
    scripted_close(&scripted);
}
END_TEST

/* ---- the queue ---- */

START_TEST(stop_drains)
{
    static struct scripted_node scripted;
    begun(&scripted, 0);
    scripted_hold(&scripted, true);
    for (unsigned i = 0; i < 1000; i++)
        scripted_run(&scripted, "say once more");
    scripted_run(&scripted, "say last");
    scripted_hold(&scripted, false);
    gw__driver_stop(&scripted.driver);
    ck_assert_ptr_null(scripted.driver);
    ck_assert_uint_eq(scripted.count, 2 + 1000 + 1);
    ck_assert_str_eq(scripted.lines[scripted.count - 1], "last");
    scripted_close(&scripted);
}
END_TEST

START_TEST(the_queue_is_bounded)
{
    enum { QUEUE_SLOTS = (4 << 20) / (GW__MESSAGE_MAX + 24) };
    static struct scripted_node scripted;
    static char order[GW__MESSAGE_MAX + 1] = "say long";
    begun(&scripted, 0);
    ck_assert_int_eq(gw__driver_request(scripted.driver, order, sizeof order),
                     GW_EINVAL);
    scripted_block(&scripted);
    unsigned accepted = 0;
    while (gw__driver_request(scripted.driver, order, GW__MESSAGE_MAX) == GW_OK)
        ck_assert_uint_le(++accepted, QUEUE_SLOTS);
    ck_assert_uint_eq(accepted, QUEUE_SLOTS);
    ck_assert_int_eq(
        gw__driver_request(scripted.driver, order, GW__MESSAGE_MAX), GW_ENOMEM);
    scripted_hold(&scripted, false);
    scripted_expect(&scripted, "held");
    for (unsigned i = 0; i < accepted; i++)
        scripted_expect(&scripted, "long");
    scripted_run(&scripted, "say again");
    scripted_expect(&scripted, "again");
    scripted_close(&scripted);
}
END_TEST

/* A peer that cannot be served fast enough must not end this member. */
START_TEST(messages_leave_room_for_requests)
{
    enum { QUEUE_SLOTS = (4 << 20) / (GW__MESSAGE_MAX + 24) };
    static struct scripted_node scripted;
    static unsigned char message[GW__MESSAGE_MAX] = {GW__STATE_TRANSFER};
    static char order[GW__MESSAGE_MAX] = "say long";
    unsigned sent = 0;
    begun(&scripted, 0);
    scripted_block(&scripted);
    while (gw__driver_send(scripted.driver, 3, message, sizeof message) ==
           GW_OK)
        ck_assert_uint_le(++sent, QUEUE_SLOTS / 4 * 3 + 3);
    ck_assert_int_eq(
        gw__driver_send(scripted.driver, 3, message, sizeof message),
        GW_ENOMEM);
    for (unsigned i = 0; i < QUEUE_SLOTS / 4; i++)
        ck_assert_int_eq(
            gw__driver_request(scripted.driver, order, sizeof order), GW_OK);
    scripted_hold(&scripted, false);
    scripted_expect(&scripted, "held");
    for (unsigned i = 0; i < QUEUE_SLOTS / 4; i++)
        scripted_expect(&scripted, "long");
    scripted_close(&scripted);
}
END_TEST

/* ---- turns ---- */

static uint64_t count_turn(void *context)
{
    struct scripted_node *scripted = context;
    if (++scripted->turns == 6)
        scripted_report(scripted, "6 turns");
    return 20 * MS;
}

/* A turn when the last one wanted it, and not much more often without input. The
 * first is immediate, and the actions at START cause no further one. */
START_TEST(an_idle_driver_turns_when_it_is_time)
{
    static struct scripted_node scripted;
    scripted_init(&scripted);
    struct gw__driver_config config = scripted_config(&scripted, 0);
    config.on_turn = count_turn;
    uint64_t before = gw_now_ns();
    scripted_start(&scripted, &config);
    scripted_await(&scripted, "6 turns");
    uint64_t took = gw_now_ns() - before;
    ck_assert_msg(took >= 100 * MS && took < 10000 * MS, "%llu us",
                  (unsigned long long)took / 1000);
    scripted_close(&scripted);
}
END_TEST

/* Without on_turn it sleeps until there is input. */
START_TEST(an_idle_driver_takes_no_time)
{
    static struct scripted_node scripted;
    struct timespec before, after;
    begun(&scripted, 0);
    scripted_run(&scripted, "say ready; set 1 100");
    scripted_expect(&scripted, "ready");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    scripted_expect(&scripted, "timer 1");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t spent_ns = (after.tv_sec - before.tv_sec) * 1000000000 +
                       after.tv_nsec - before.tv_nsec;
    ck_assert_int_lt(spent_ns, 20000000);
    scripted_close(&scripted);
}
END_TEST

START_TEST(its_thread_blocks_signals)
{
    static struct scripted_node scripted;
    begun(&scripted, 0);
    scripted_run(&scripted, "signals");
    scripted_expect(&scripted, "signals are blocked");
    scripted_close(&scripted);
}
END_TEST

/* ---- failure ---- */

START_TEST(a_broken_contract_is_a_failure)
{
    static const struct {
        const char *order, *sentence;
    } cases[] = {
        {"long 1 131073",
         "toy on node 0: it sends 131073 bytes to node 1; a message has at "
         "most "
         "131072 bytes, and nodes are numbered below 576: internal error"},
        {"send 576 x",
         "toy on node 0: it sends 1 bytes to node 576; a message has at most "
         "131072 bytes, and nodes are numbered below 576: internal error"},
        {"set 64 1", "toy on node 0: it sets timer 64; timers are numbered "
                     "below 64: internal error"},
        {"load 1",
         "toy on node 0: it loads its state outside of START: internal error"},
        {"foreign", "toy on node 0: it sends a message that begins with byte "
                    "128; it must be below 128: internal error"},
    };
    static struct scripted_node scripted;
    struct gw_error why;
    char commands[64];
    begun(&scripted, 0);
    ck_assert_int_eq(gw__driver_error(scripted.driver, &why), GW_OK);
    snprintf(commands, sizeof commands, "say before;%s;say after; set 64 1",
             cases[_i].order);
    scripted_hold(&scripted, true);
    scripted_run(&scripted, commands);
    ck_assert_int_eq(gw__driver_send(scripted.driver, 0, "\200late", 5), GW_OK);
    scripted_hold(&scripted, false);
    uint64_t until = gw_now_ns() + 5000 * MS;
    enum gw_err err;
    while ((err = gw__driver_request(scripted.driver, "say late", 8)) == GW_OK)
        ck_assert(gw_now_ns() < until);
    while (err == GW_ENOMEM && gw_now_ns() < until)
        err = gw__driver_request(scripted.driver, "say late", 8);
    ck_assert_int_eq(err, GW_ECLOSED);
    ck_assert_int_eq(gw__driver_error(scripted.driver, &why), GW_EINTERNAL);
    ck_assert_str_eq(why.text, cases[_i].sentence);
    ck_assert_int_eq(gw__driver_error(scripted.driver, NULL), GW_EINTERNAL);
    gw__driver_stop(&scripted.driver);
    ck_assert_uint_eq(scripted.count, 3); /* start, then, before */
    scripted_close(&scripted);
}
END_TEST

START_TEST(who_is_known_before_the_start_can_be_reached)
{
    static struct scripted_node a, b;
    scripted_open(&b, 1);
    scripted_init(&a);
    const struct gw__driver_peer peer = {1, gw__driver_endpoint(b.driver)};
    struct gw__driver_config config = scripted_config(&a, 0);
    config.peers = &peer;
    config.peer_count = 1;
    scripted_start(&a, &config);
    scripted_run(&a, "send 1 hello");
    scripted_await(&b, "from 0/7: hello");
    scripted_close(&a);
    scripted_close(&b);
}
END_TEST

START_TEST(an_invalid_endpoint_starts_nothing)
{
    static struct scripted_node scripted;
    struct gw__driver *driver;
    struct gw_error why;
    scripted_init(&scripted);
    struct gw__driver_config config = scripted_config(&scripted, 0);
    config.channel.endpoint = "nowhere";
    ck_assert_int_eq(gw__driver_start(&config, &driver, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "toy: control channel: \"nowhere\" is neither ipc://@name "
                     "nor tcp://host:port");
    ck_assert_ptr_null(driver);
    gw__driver_stop(&driver);
    const struct gw__driver_peer peer = {1, "none"};
    config = scripted_config(&scripted, 0);
    config.peers = &peer;
    config.peer_count = 1;
    ck_assert_int_eq(gw__driver_start(&config, &driver, &why), GW_EINVAL);
    ck_assert_ptr_null(driver);
    begun(&scripted, 0);
    ck_assert_int_eq(gw__driver_know(scripted.driver, 1, "nowhere"), GW_EINVAL);
    ck_assert_int_eq(gw__driver_know(scripted.driver, 576, ""), GW_EINVAL);
    scripted_close(&scripted);
}
END_TEST

Suite *suite_driver(void)
{
    Suite *suite = suite_create("driver");
    TCase *tests = tcase_create("driver");
    tcase_add_test(tests, start_comes_first);
    tcase_add_test(tests, requests_of_many_threads_keep_their_order);
    tcase_add_test(tests, timers_fire_in_their_order);
    tcase_add_test(tests, a_timer_that_always_fires_starves_no_other);
    tcase_add_test(tests, messages_reach_the_other_machine);
    tcase_add_test(tests, a_restarted_driver_is_reached);
    tcase_add_test(tests, unknown_messages_bypass_the_machine);
    tcase_add_test(tests, deaths_are_passed_on);
    tcase_add_test(tests, stop_drains);
    tcase_add_test(tests, the_queue_is_bounded);
    tcase_add_test(tests, messages_leave_room_for_requests);
    tcase_add_test(tests, an_idle_driver_turns_when_it_is_time);
    tcase_add_test(tests, an_idle_driver_takes_no_time);
    tcase_add_test(tests, its_thread_blocks_signals);
    tcase_add_loop_test(tests, a_broken_contract_is_a_failure, 0, 5);
    tcase_add_test(tests, who_is_known_before_the_start_can_be_reached);
    tcase_add_test(tests, an_invalid_endpoint_starts_nothing);
    suite_add_tcase(suite, tests);
    return suite;
}
