/* SPDX-License-Identifier: MIT
 *
 * A caller that is needed elsewhere: `interrupt` ends `connect` and `wait` of
 * every wire immediately. The measured delay is the best of several tries,
 * since the machine may be busy.
 */
#include "wire_set.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

Suite *suite_wire_interrupt(void);

enum { TRIES = 20, RANKS = 2 };
static const uint64_t ms = 1000000U;
static const uint64_t promised_ns = 2 * 1000000U, slack_ns = 1000000U;

struct interrupter {
    pthread_t thread;
    _Atomic bool flag;
    uint64_t at_ns; /* just before it was set */
};

static void *set_soon(void *context)
{
    struct interrupter *interrupter = context;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    interrupter->at_ns = gw_now_ns();
    atomic_store(&interrupter->flag, true);
    return NULL;
}

/* The time from setting the flag to the return. */
static uint64_t finish(struct interrupter *interrupter)
{
    uint64_t now = gw_now_ns();
    pthread_join(interrupter->thread, NULL);
    ck_assert_uint_ge(now, interrupter->at_ns);
    return now - interrupter->at_ns;
}

static void expect_interrupted(enum gw_err err, const struct gw_error *why)
{
    ck_assert_msg(err == GW_EINTR, "%s: %s", gw_err_name(err), why->text);
    ck_assert_int_eq(why->code, GW_EINTR);
    ck_assert_msg(strstr(why->text, "interrupted") != NULL, "%s", why->text);
}

/* Rank 0 connects, rank 1 does not. */
static uint64_t interrupt_connecting(const char *name)
{
    struct gw__wire *wires[RANKS];
    struct gw__address table[RANKS];
    struct interrupter interrupter = {.flag = false};
    struct gw_error why;
    for (unsigned r = 0; r < RANKS; r++) {
        wires[r] = wire_set_open(name, r, RANKS, 0);
        table[r] = wires[r]->address;
    }
    wires[0]->interrupt = &interrupter.flag;
    pthread_create(&interrupter.thread, NULL, set_soon, &interrupter);
    enum gw_err err =
        wires[0]->ops->connect(wires[0], table, gw_now_ns() + 20000 * ms, &why);
    uint64_t after = finish(&interrupter);
    expect_interrupted(err, &why);
    for (unsigned r = 0; r < RANKS; r++)
        gw__wire_close(&wires[r]);
    return after;
}

static uint64_t interrupt_waiting(const char *name)
{
    struct wire_set set;
    struct interrupter interrupter = {.flag = false};
    wire_set_start(&set, name, RANKS, 0);
    struct gw__wire *wire = set.wires[0];
    wire->interrupt = &interrupter.flag;
    pthread_create(&interrupter.thread, NULL, set_soon, &interrupter);
    while (!atomic_load(&interrupter.flag))
        wire->ops->wait(wire, 20000 * ms);
    uint64_t after = finish(&interrupter);
    wire_set_end(&set);
    return after;
}

static void expect_soon(uint64_t (*interrupt)(const char *name),
                        const char *name)
{
    uint64_t soonest = UINT64_MAX;
    for (int i = 0; i < TRIES && soonest > promised_ns + slack_ns; i++) {
        uint64_t after = interrupt(name);
        soonest = after < soonest ? after : soonest;
    }
    ck_assert_msg(soonest <= promised_ns + slack_ns, "%s: after %llu us", name,
                  (unsigned long long)soonest / 1000);
}

START_TEST(connecting_is_interrupted)
{
    expect_soon(interrupt_connecting, wire_set_name(_i));
}
END_TEST

START_TEST(waiting_is_interrupted)
{
    expect_soon(interrupt_waiting, wire_set_name(_i));
}
END_TEST

START_TEST(an_interrupt_that_is_false_changes_nothing)
{
    static const _Atomic bool flag = false;
    struct wire_set set;
    struct gw__slice_view view;
    struct gw__header header = {.bytes = 0};
    struct gw__wire *wires[RANKS];
    wire_set_start(&set, wire_set_name(_i), RANKS, 0);
    for (unsigned r = 0; r < RANKS; r++) {
        wires[r] = set.wires[r];
        wires[r]->interrupt = &flag;
    }
    wire_set_send(wires[0], 1, &header, NULL, true);
    ck_assert_int_eq(wire_set_await(wires[1], 0, &view), GW_OK);
    wires[1]->ops->release(wires[1], 0);
    ck_assert_int_eq(wires[1]->ops->check(wires[1], NULL), GW_OK);
    wire_set_end(&set);
}
END_TEST

Suite *suite_wire_interrupt(void)
{
    int wires = wire_set_count();
    Suite *suite = suite_create("wire_interrupt");
    TCase *tests = tcase_create("interrupts");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, connecting_is_interrupted, 0, wires);
    tcase_add_loop_test(tests, waiting_is_interrupted, 0, wires);
    tcase_add_loop_test(tests, an_interrupt_that_is_false_changes_nothing, 0,
                        wires);
    suite_add_tcase(suite, tests);
    return suite;
}
