/* SPDX-License-Identifier: MIT
 *
 * The driver of machines: the inputs of a machine and their times, and the
 * effects of its actions.
 */
#include "driver_toy.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

Suite *suite_driver(void);

static const uint64_t MS = 1000000;

static void begun(struct toy_node *toy, unsigned node)
{
    char line[TOY_LINE];
    snprintf(line, sizeof line, "start %u/7 seed 5, abc, kept nothing", node);
    toy_open(toy, node);
    toy_expect(toy, line);
    toy_expect(toy, "then something");
}

/* ---- inputs ---- */

/* START brings a copy of its data, and comes before all requests. */
START_TEST(start_comes_first)
{
    static struct toy_node toy;
    char data[] = "abc";
    toy_init(&toy);
    struct gw__driver_config config = toy_config(&toy, 3);
    config.start = data;
    toy_hold(&toy, true);
    toy_start(&toy, &config);
    memset(data, 'x', 3);
    sim_node_ask(&toy, "say hello");
    toy_hold(&toy, false);
    toy_expect(&toy, "start 3/7 seed 5, abc, kept nothing");
    toy_expect(&toy, "then something");
    toy_expect(&toy, "hello");
    toy_close(&toy);
}
END_TEST

enum { ASKERS = 4, ASKS = 500 };

struct asker {
    struct toy_node *toy;
    unsigned number;
};

static void *ask_many(void *context)
{
    struct asker *asker = context;
    for (unsigned i = 0; i < ASKS; i++) {
        char order[32];
        snprintf(order, sizeof order, "say %u %u", asker->number, i);
        sim_node_ask(asker->toy, order);
    }
    return NULL;
}

START_TEST(asks_of_many_threads_keep_their_order)
{
    static struct toy_node toy;
    pthread_t threads[ASKERS];
    struct asker askers[ASKERS];
    unsigned next[ASKERS] = {0};
    toy_open(&toy, 0);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){&toy, i};
        pthread_create(&threads[i], NULL, ask_many, &askers[i]);
    }
    for (unsigned i = 0; i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    sim_node_ask(&toy, "say all");
    toy_await(&toy, "all");
    for (unsigned i = 0; i < toy.count; i++) {
        unsigned asker, number;
        if (sscanf(toy.lines[i], "%u %u", &asker, &number) == 2) {
            ck_assert_uint_lt(asker, ASKERS);
            ck_assert_uint_eq(number, next[asker]++);
        }
    }
    for (unsigned i = 0; i < ASKERS; i++)
        ck_assert_uint_eq(next[i], ASKS);
    toy_close(&toy);
}
END_TEST

START_TEST(timers_fire_in_their_order)
{
    static struct toy_node toy;
    begun(&toy, 0);
    sim_node_ask(&toy, "set 1 9; set 63 3; set 2 6; set 0 0");
    toy_expect(&toy, "timer 0");
    toy_expect(&toy, "timer 63");
    toy_expect(&toy, "timer 2");
    toy_expect(&toy, "timer 1");
    sim_node_ask(&toy,
                 "set 1 600000; set 2 2; set 3 4; set 4 1; cancel 4; set 1 6");
    toy_expect(&toy, "timer 2");
    toy_expect(&toy, "timer 3");
    toy_expect(&toy, "timer 1");
    sim_node_ask(&toy, "set 5 1; set 5 3; cancel 6; set 6 5");
    toy_expect(&toy, "timer 5");
    toy_expect(&toy, "timer 6");
    toy_close(&toy);
}
END_TEST

START_TEST(a_timer_that_always_fires_starves_nobody)
{
    static struct toy_node toys[2];
    begun(&toys[0], 0);
    begun(&toys[1], 1);
    toy_know(&toys[1], &toys[0]);
    sim_node_ask(&toys[0], "storm 1");
    sim_node_ask(&toys[0], "say still here; set 2 1");
    toy_expect(&toys[0], "still here");
    toy_expect(&toys[0], "timer 2");
    sim_node_ask(&toys[1], "send 0 hello");
    toy_expect(&toys[0], "from 1/7: hello");
    toy_close(&toys[0]);
    toy_close(&toys[1]);
}
END_TEST

START_TEST(messages_reach_the_other_machine)
{
    static struct toy_node toys[2];
    begun(&toys[0], 0);
    begun(&toys[1], 1);
    sim_node_ask(&toys[0], "send 1 lost, nobody knows where 1 is");
    toy_know(&toys[0], &toys[1]);
    toy_know(&toys[1], &toys[0]);
    sim_node_ask(&toys[0], "send 1 hello; send 0 to myself");
    toy_expect(&toys[1], "from 0/7: hello");
    toy_expect(&toys[0], "from 0/7: to myself");
    sim_node_ask(&toys[1], "send 0 ");
    toy_expect(&toys[0], "from 1/7: ");
    ck_assert_int_eq(gw__driver_know(toys[0].driver, 1, ""), GW_OK);
    sim_node_ask(&toys[0], "send 1 lost; say forgotten");
    toy_expect(&toys[0], "forgotten");
    toy_close(&toys[0]);
    toy_close(&toys[1]);
}
END_TEST

START_TEST(a_restarted_driver_is_reached)
{
    static struct toy_node toys[2];
    begun(&toys[0], 0);
    begun(&toys[1], 1);
    toy_know(&toys[0], &toys[1]);
    sim_node_ask(&toys[0], "send 1 one");
    toy_expect(&toys[1], "from 0/7: one");
    toy_close(&toys[1]);
    toy_init(&toys[1]);
    struct gw__driver_config config = toy_config(&toys[1], 1);
    config.channel.incarnation_low = 8;
    toy_start(&toys[1], &config);
    toy_expect(&toys[1], "start 1/8 seed 5, abc, kept nothing");
    toy_expect(&toys[1], "then something");
    toy_know(&toys[1], &toys[0]);
    sim_node_ask(&toys[1], "send 0 back");
    toy_expect(&toys[0], "from 1/8: back");
    sim_node_ask(&toys[0], "send 1 two");
    toy_expect(&toys[1], "from 0/7: two");
    toy_close(&toys[0]);
    toy_close(&toys[1]);
}
END_TEST

START_TEST(foreign_messages_pass_the_machine_by)
{
    static struct toy_node toys[2];
    begun(&toys[0], 0);
    begun(&toys[1], 1);
    toy_know(&toys[0], &toys[1]);
    struct gw__driver *driver = toys[0].driver;
    ck_assert_int_eq(gw__driver_send(driver, 1, "\200abc", 4), GW_OK);
    ck_assert_int_eq(gw__driver_send(driver, 1, "\377", 1), GW_OK);
    toy_expect(&toys[1], "foreign from 0/0.7: 128+abc");
    toy_expect(&toys[1], "foreign from 0/0.7: 255+");
    ck_assert_int_eq(gw__driver_send(driver, 1, "abc", 3), GW_EINVAL);
    ck_assert_int_eq(gw__driver_send(driver, 1, "", 0), GW_EINVAL);
    ck_assert_int_eq(gw__driver_send(driver, 64, "\200", 1), GW_EINVAL);
    ck_assert_int_eq(gw__driver_send(driver, 2, "\200", 1), GW_OK); /* lost */
    toy_close(&toys[0]);
    toy_close(&toys[1]);
}
END_TEST

START_TEST(deaths_are_passed_on)
{
    static struct toy_node toy;
    begun(&toy, 0);
    ck_assert_int_eq(gw__driver_died(toy.driver, 2, 9), GW_OK);
    toy_expect(&toy, "died 2/9");
    ck_assert_int_eq(gw__driver_died(toy.driver, 64, 9), GW_EINVAL);
    toy_close(&toy);
}
END_TEST

/* ---- the queue ---- */

START_TEST(stop_drains)
{
    static struct toy_node toy;
    begun(&toy, 0);
    toy_hold(&toy, true);
    for (unsigned i = 0; i < 1000; i++)
        sim_node_ask(&toy, "say once more");
    sim_node_ask(&toy, "say last");
    toy_hold(&toy, false);
    gw__driver_stop(&toy.driver);
    ck_assert_ptr_null(toy.driver);
    ck_assert_uint_eq(toy.count, 2 + 1000 + 1);
    ck_assert_str_eq(toy.lines[toy.count - 1], "last");
    toy_close(&toy);
}
END_TEST

START_TEST(the_queue_is_bounded)
{
    enum { PLACES = (4 << 20) / (GW__MESSAGE_MAX + 24) };
    static struct toy_node toy;
    static char order[GW__MESSAGE_MAX + 1] = "say long";
    begun(&toy, 0);
    ck_assert_int_eq(gw__driver_request(toy.driver, order, sizeof order),
                     GW_EINVAL);
    toy_hold(&toy, true);
    unsigned taken = 0;
    while (gw__driver_request(toy.driver, order, GW__MESSAGE_MAX) == GW_OK)
        ck_assert_uint_le(++taken, 3 * PLACES);
    ck_assert_uint_ge(taken, PLACES);
    ck_assert_int_eq(gw__driver_request(toy.driver, order, GW__MESSAGE_MAX),
                     GW_ENOMEM);
    toy_hold(&toy, false);
    for (unsigned i = 0; i < taken; i++)
        toy_expect(&toy, "long");
    sim_node_ask(&toy, "say again");
    toy_expect(&toy, "again");
    toy_close(&toy);
}
END_TEST

/* ---- turns ---- */

static void count_turn(void *context)
{
    struct toy_node *toy = context;
    if (++toy->turns == 6)
        toy_note(toy, "6 turns");
}

/* A turn at least every 20 ms, and not much more often without input. The first
 * turn is immediate, and the actions at START cause no further one. */
START_TEST(an_idle_driver_turns_every_20_ms)
{
    static struct toy_node toy;
    toy_init(&toy);
    struct gw__driver_config config = toy_config(&toy, 0);
    config.on_turn = count_turn;
    uint64_t before = gw_now_ns();
    toy_start(&toy, &config);
    toy_await(&toy, "6 turns");
    uint64_t took = gw_now_ns() - before;
    ck_assert_msg(took >= 100 * MS && took < 10000 * MS, "%llu us",
                  (unsigned long long)took / 1000);
    toy_close(&toy);
}
END_TEST

/* Without on_turn it sleeps until there is input. */
START_TEST(an_idle_driver_takes_no_time)
{
    static struct toy_node toy;
    struct timespec before, after;
    begun(&toy, 0);
    sim_node_ask(&toy, "say ready; set 1 100");
    toy_expect(&toy, "ready");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    toy_expect(&toy, "timer 1");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t spent_ns = (after.tv_sec - before.tv_sec) * 1000000000 +
                       after.tv_nsec - before.tv_nsec;
    ck_assert_int_lt(spent_ns, 20000000);
    toy_close(&toy);
}
END_TEST

START_TEST(its_thread_blocks_signals)
{
    static struct toy_node toy;
    begun(&toy, 0);
    sim_node_ask(&toy, "signals");
    toy_expect(&toy, "signals are blocked");
    toy_close(&toy);
}
END_TEST

/* ---- failure ---- */

START_TEST(a_broken_contract_is_a_failure)
{
    static const struct {
        const char *order, *sentence;
    } cases[] = {
        {"long 1 65537",
         "toy on node 0: it sends 65537 bytes to node 1; a message has at most "
         "65536 bytes, and nodes are numbered below 64: internal error"},
        {"send 64 x",
         "toy on node 0: it sends 1 bytes to node 64; a message has at most "
         "65536 bytes, and nodes are numbered below 64: internal error"},
        {"set 64 1", "toy on node 0: it sets timer 64; timers are numbered "
                     "below 64: internal error"},
        {"load 1",
         "toy on node 0: it loads its state outside of START: internal error"},
        {"foreign", "toy on node 0: it sends a message that begins with byte "
                    "128; it must be below 128: internal error"},
    };
    static struct toy_node toy;
    struct gw_error why;
    char orders[64];
    begun(&toy, 0);
    ck_assert_int_eq(gw__driver_error(toy.driver, &why), GW_OK);
    snprintf(orders, sizeof orders, "say before;%s;say after; set 64 1",
             cases[_i].order);
    toy_hold(&toy, true);
    sim_node_ask(&toy, orders);
    ck_assert_int_eq(gw__driver_send(toy.driver, 0, "\200late", 5), GW_OK);
    toy_hold(&toy, false);
    uint64_t until = gw_now_ns() + 5000 * MS;
    enum gw_err err;
    while ((err = gw__driver_request(toy.driver, "say late", 8)) == GW_OK)
        ck_assert(gw_now_ns() < until);
    while (err == GW_ENOMEM && gw_now_ns() < until)
        err = gw__driver_request(toy.driver, "say late", 8);
    ck_assert_int_eq(err, GW_ECLOSED);
    ck_assert_int_eq(gw__driver_error(toy.driver, &why), GW_EINTERNAL);
    ck_assert_str_eq(why.text, cases[_i].sentence);
    ck_assert_int_eq(gw__driver_error(toy.driver, NULL), GW_EINTERNAL);
    gw__driver_stop(&toy.driver);
    ck_assert_uint_eq(toy.count, 3); /* start, then, before */
    toy_close(&toy);
}
END_TEST

START_TEST(who_is_known_before_the_start_can_be_told)
{
    static struct toy_node a, b;
    toy_open(&b, 1);
    toy_init(&a);
    const struct gw__driver_peer peer = {1, gw__driver_endpoint(b.driver)};
    struct gw__driver_config config = toy_config(&a, 0);
    config.peers = &peer;
    config.peer_count = 1;
    toy_start(&a, &config);
    sim_node_ask(&a, "send 1 hello");
    toy_await(&b, "from 0/7: hello");
    toy_close(&a);
    toy_close(&b);
}
END_TEST

START_TEST(a_place_that_is_none_starts_nothing)
{
    static struct toy_node toy;
    struct gw__driver *driver;
    struct gw_error why;
    toy_init(&toy);
    struct gw__driver_config config = toy_config(&toy, 0);
    config.channel.endpoint = "nowhere";
    ck_assert_int_eq(gw__driver_start(&config, &driver, &why), GW_EINVAL);
    ck_assert_str_eq(why.text,
                     "toy: control channel: \"nowhere\" is neither ipc://@name "
                     "nor tcp://host:port");
    ck_assert_ptr_null(driver);
    gw__driver_stop(&driver);
    const struct gw__driver_peer peer = {1, "nobody"};
    config = toy_config(&toy, 0);
    config.peers = &peer;
    config.peer_count = 1;
    ck_assert_int_eq(gw__driver_start(&config, &driver, &why), GW_EINVAL);
    ck_assert_ptr_null(driver);
    begun(&toy, 0);
    ck_assert_int_eq(gw__driver_know(toy.driver, 1, "nowhere"), GW_EINVAL);
    ck_assert_int_eq(gw__driver_know(toy.driver, 64, ""), GW_EINVAL);
    toy_close(&toy);
}
END_TEST

Suite *suite_driver(void)
{
    Suite *suite = suite_create("driver");
    TCase *tests = tcase_create("driver");
    tcase_add_test(tests, start_comes_first);
    tcase_add_test(tests, asks_of_many_threads_keep_their_order);
    tcase_add_test(tests, timers_fire_in_their_order);
    tcase_add_test(tests, a_timer_that_always_fires_starves_nobody);
    tcase_add_test(tests, messages_reach_the_other_machine);
    tcase_add_test(tests, a_restarted_driver_is_reached);
    tcase_add_test(tests, foreign_messages_pass_the_machine_by);
    tcase_add_test(tests, deaths_are_passed_on);
    tcase_add_test(tests, stop_drains);
    tcase_add_test(tests, the_queue_is_bounded);
    tcase_add_test(tests, an_idle_driver_turns_every_20_ms);
    tcase_add_test(tests, an_idle_driver_takes_no_time);
    tcase_add_test(tests, its_thread_blocks_signals);
    tcase_add_loop_test(tests, a_broken_contract_is_a_failure, 0, 5);
    tcase_add_test(tests, who_is_known_before_the_start_can_be_told);
    tcase_add_test(tests, a_place_that_is_none_starts_nothing);
    suite_add_tcase(suite, tests);
    return suite;
}
