/* SPDX-License-Identifier: MIT
 *
 * The messenger: lent memory is returned exactly once, and received messages
 * are released late, in another thread, in another order, or after their
 * messenger.
 */
#include "messenger_set.h"

#include <gradwire/wire.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_messenger_borrow(void);

static const size_t MIB = 1 << 20;

static void *shared(size_t bytes, unsigned seed)
{
    void *memory = gw_alloc(bytes, NULL);
    ck_assert_ptr_nonnull(memory);
    messenger_fill(memory, bytes, seed);
    return memory;
}

static void lend(struct gw__messenger *messenger, unsigned node,
                 const void *data, size_t bytes, unsigned *back)
{
    struct gw__message_out message = {.node = node,
                                      .part_count = 1,
                                      .parts = {{data, bytes}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = back};
    ck_assert_int_eq(gw__messenger_send(messenger, &message), GW_OK);
}

static void expect_filled(const struct gw__message_in *message, unsigned part,
                          size_t bytes, unsigned seed)
{
    ck_assert_uint_lt(part, message->part_count);
    ck_assert_uint_eq(message->parts[part].bytes, bytes);
    ck_assert(!messenger_differs(message->parts[part].data, bytes, seed));
}

/* ---- return of lent memory ---- */

static const size_t sizes[] = {1, 100, 151, 4096, 8193, 1 << 20, 40 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void lend_all_sizes(const char *wire, bool from_gw_alloc)
{
    struct messenger_set set;
    messenger_set_open(&set, wire, 2);
    for (unsigned i = 0; i < SIZES; i++) {
        unsigned back = 0;
        void *memory = from_gw_alloc ? shared(sizes[i], i) : malloc(sizes[i]);
        messenger_fill(memory, sizes[i], i);
        lend(set.messengers[0], 1, memory, sizes[i], &back);
        struct gw__message_in *message =
            messenger_await_from(set.messengers[0], set.messengers[1]);
        expect_filled(message, 0, sizes[i], i);
        gw__message_in_release(message);
        messenger_await_count(set.messengers[0], &back, 1);
        if (from_gw_alloc)
            gw_free(memory);
        else
            free(memory);
    }
    messenger_set_close(&set);
}

START_TEST(borrowed_gw_alloc_comes_back)
{
    lend_all_sizes(messenger_wires[_i], true);
}
END_TEST

START_TEST(borrowed_malloc_comes_back)
{
    lend_all_sizes(messenger_wires[_i], false);
}
END_TEST

/* One of each kind in a message; the parts that are not lent may change. */
START_TEST(parts_of_all_kinds_in_one_message)
{
    struct messenger_set set;
    unsigned back = 0;
    char small[64];
    void *named = shared(MIB, 1), *borrowed = malloc(MIB),
         *copied = malloc(MIB);
    messenger_set_open(&set, messenger_wires[_i], 2);
    messenger_fill(small, sizeof small, 0);
    messenger_fill(borrowed, MIB, 2);
    messenger_fill(copied, MIB, 3);
    struct gw__message_out out = {
        .node = 1,
        .part_count = 4,
        .parts = {{copied, MIB}, {named, MIB}, {small, 64}, {borrowed, MIB}},
        .borrowed = 1U << 1 | 1U << 3,
        .back = messenger_count_back,
        .context = &back};
    ck_assert_int_eq(gw__messenger_send(set.messengers[0], &out), GW_OK);
    memset(copied, 0, MIB);
    memset(small, 0, sizeof small);
    struct gw__message_in *in =
        messenger_await_from(set.messengers[0], set.messengers[1]);
    expect_filled(in, 0, MIB, 3);
    expect_filled(in, 1, MIB, 1);
    expect_filled(in, 2, 64, 0);
    expect_filled(in, 3, MIB, 2);
    gw__message_in_release(in);
    messenger_await_count(set.messengers[0], &back, 1);
    messenger_set_close(&set);
    gw_free(named);
    free(borrowed);
    free(copied);
}
END_TEST

/* Over shm the receiver reads the sender's own memory, unless configured to
 * copy or unable to map it. */
START_TEST(memory_is_borrowed_without_a_copy)
{
    struct gw__messenger_config configs[2];
    struct gw__messenger *messengers[2];
    unsigned back = 0;
    bool copy = _i;
    for (unsigned i = 0; i < 2; i++) {
        configs[i] = messenger_config("shm", i);
        configs[i].copy_always = copy;
        messengers[i] = messenger_open(configs[i]);
    }
    messenger_know(messengers[0], messengers[1], &configs[1]);
    messenger_know(messengers[1], messengers[0], &configs[0]);
    char *memory = shared(MIB, 1);
    lend(messengers[0], 1, memory, MIB, &back);
    ck_assert_uint_eq(back, copy);
    struct gw__message_in *message = messenger_await(messengers[1]);
    expect_filled(message, 0, MIB, 1);
    memory[0] = 99;
    ck_assert_int_eq(((const char *)message->parts[0].data)[0] == 99, !copy);
    ck_assert_uint_eq(gw__messenger_counts(messengers[0])->borrowed_bytes,
                      copy ? 0 : MIB);
    gw__message_in_release(message);
    messenger_await_count(messengers[0], &back, 1);
    gw__messenger_close(&messengers[0]);
    gw__messenger_close(&messengers[1]);
    gw_free(memory);
}
END_TEST

/* ---- release ---- */

enum { MANY = 300 };

/* More messages than the ring has slots, all held at once and released in a
 * scrambled order. */
START_TEST(messages_are_released_in_any_order)
{
    struct gw__message_in *messages[MANY];
    struct messenger_set set;
    unsigned back = 0;
    char *memory = shared(MANY * 1000, 0);
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned i = 0; i < MANY; i++) {
        messenger_fill(memory + i * 1000, 1000, i);
        lend(set.messengers[0], 1, memory + i * 1000, 1000, &back);
    }
    for (unsigned i = 0; i < MANY; i++) {
        gw__messenger_wait(set.messengers[0], 0);
        messages[i] = messenger_await(set.messengers[1]);
    }
    for (unsigned i = 0; i < MANY; i++) {
        unsigned at = i * 7 % MANY; /* 7 and 300 have no common factor */
        expect_filled(messages[at], 0, 1000, at);
        gw__message_in_release(messages[at]);
    }
    messenger_await_count(set.messengers[0], &back, MANY);
    messenger_set_close(&set);
    gw_free(memory);
}
END_TEST

/* Staging memory is reused only after its release. */
START_TEST(copies_stay_until_released)
{
    struct gw__message_in *messages[MANY];
    struct messenger_set set;
    char *data = malloc(5000);
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < MANY; i++) {
            messenger_fill(data, 5000, round * MANY + i);
            ck_assert_int_eq(messenger_try(set.messengers[0], 1, data, 5000),
                             GW_OK);
            messages[i] = messenger_await(set.messengers[1]);
            if (i % 3 == 0)
                continue;
            expect_filled(messages[i], 0, 5000, round * MANY + i);
            gw__message_in_release(messages[i]);
        }
        for (unsigned i = 0; i < MANY; i += 3) {
            expect_filled(messages[i], 0, 5000, round * MANY + i);
            gw__message_in_release(messages[i]);
        }
    }
    messenger_set_close(&set);
    free(data);
}
END_TEST

/* More than the limit of loans: the rest waits, and arrives as loans return. */
START_TEST(more_is_held_than_can_be_borrowed)
{
    enum { OVER = 1024 + 200 };
    struct gw__message_in *messages[OVER];
    struct messenger_set set;
    unsigned back = 0;
    char *memory = shared(4096, 5);
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned i = 0; i < OVER; i++)
        lend(set.messengers[0], 1, memory, 4096, &back);
    unsigned held = 0;
    uint64_t until = gw_now_ns() + 20 * 1000000000ULL;
    for (unsigned i = 0; i < OVER;) {
        ck_assert(gw_now_ns() < until);
        gw__messenger_wait(set.messengers[0], 0);
        if (gw__messenger_receive(set.messengers[1], &messages[held]) ==
            GW_OK) {
            i++;
            held++;
        } else if (held > 1000) {
            expect_filled(messages[held - 1], 0, 4096, 5);
            gw__message_in_release(messages[--held]);
        }
    }
    while (held > 0)
        gw__message_in_release(messages[--held]);
    messenger_await_count(set.messengers[0], &back, OVER);
    messenger_set_close(&set);
    gw_free(memory);
}
END_TEST

/* More pieces of memory than a receiver keeps mappings of. */
START_TEST(many_regions_are_held_at_once)
{
    enum { REGIONS = 80 };
    struct gw__message_in *messages[REGIONS];
    char *memory[REGIONS];
    struct messenger_set set;
    unsigned back = 0;
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned i = 0; i < REGIONS; i++)
        memory[i] = shared(10000, i);
    for (unsigned round = 1; round <= 3; round++) {
        for (unsigned i = 0; i < REGIONS; i++)
            lend(set.messengers[0], 1, memory[i], 10000, &back);
        for (unsigned i = 0; i < REGIONS; i++) {
            gw__messenger_wait(set.messengers[0], 0);
            messages[i] = messenger_await(set.messengers[1]);
        }
        for (unsigned i = 0; i < REGIONS; i++) {
            expect_filled(messages[i], 0, 10000, i);
            gw__message_in_release(messages[i]);
        }
        messenger_await_count(set.messengers[0], &back, round * REGIONS);
    }
    messenger_set_close(&set);
    for (unsigned i = 0; i < REGIONS; i++)
        gw_free(memory[i]);
}
END_TEST

static void *release_all(void *context)
{
    struct gw__message_in **messages = context;
    for (unsigned i = MANY; i-- > 0;)
        gw__message_in_release(messages[i]);
    return NULL;
}

START_TEST(another_thread_releases)
{
    struct gw__message_in *messages[MANY];
    struct messenger_set set;
    pthread_t threads[2];
    unsigned back = 0;
    char *memory = shared(9000, 3);
    messenger_set_open(&set, messenger_wires[_i], 2);
    for (unsigned i = 0; i < MANY; i++)
        lend(set.messengers[0], 1, memory, 9000, &back);
    for (unsigned i = 0; i < MANY; i++) {
        gw__messenger_wait(set.messengers[0], 0);
        messages[i] = messenger_await(set.messengers[1]);
        gw__message_in_hold(messages[i]);
    }
    for (unsigned t = 0; t < 2; t++)
        pthread_create(&threads[t], NULL, release_all, messages);
    messenger_await_count(set.messengers[0], &back, MANY);
    for (unsigned t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    messenger_set_close(&set);
    gw_free(memory);
}
END_TEST

/* ---- the end ---- */

/* _i / MESSENGER_WIRES: 0 the receiver forgets, 1 the receiver closes, 2 the
 * sender closes, before the messages are released. */
START_TEST(messages_outlive_their_messenger)
{
    struct gw__message_in *borrowed, *copied, *small;
    struct messenger_set set;
    unsigned back = 0, end = (unsigned)_i / MESSENGER_WIRES;
    char *memory = shared(MIB, 1), *data = malloc(MIB);
    messenger_fill(data, MIB, 2);
    messenger_set_open(&set, messenger_wires[_i % MESSENGER_WIRES], 2);
    lend(set.messengers[0], 1, memory, MIB, &back);
    ck_assert_int_eq(messenger_try(set.messengers[0], 1, data, MIB), GW_OK);
    messenger_send(set.messengers[0], 1, "small");
    borrowed = messenger_await_from(set.messengers[0], set.messengers[1]);
    copied = messenger_await_from(set.messengers[0], set.messengers[1]);
    small = messenger_await_from(set.messengers[0], set.messengers[1]);
    if (end == 0)
        gw__messenger_forget(set.messengers[1], 0);
    else
        gw__messenger_close(&set.messengers[end == 1 ? 1 : 0]);
    ck_assert(end != 2 || back == 1);
    expect_filled(borrowed, 0, MIB, 1);
    expect_filled(copied, 0, MIB, 2);
    ck_assert_mem_eq(small->parts[0].data, "small", 5);
    gw__message_in_release(copied);
    gw__message_in_release(borrowed);
    gw__message_in_release(small);
    if (end != 2)
        messenger_await_count(set.messengers[0], &back, 1);
    messenger_set_close(&set);
    ck_assert_uint_eq(back, 1);
    gw_free(memory);
    free(data);
}
END_TEST

/* Before anything is received; _i / MESSENGER_WIRES: forget or close. */
START_TEST(what_is_in_flight_comes_back_at_the_end)
{
    struct messenger_set set;
    unsigned back = 0;
    char *memory = shared(MIB, 1);
    messenger_set_open(&set, messenger_wires[_i % MESSENGER_WIRES], 2);
    for (unsigned i = 0; i < MANY; i++)
        lend(set.messengers[0], 1, memory, i % 2 ? MIB : 9000, &back);
    if (_i / MESSENGER_WIRES) {
        gw__messenger_close(&set.messengers[0]);
    } else {
        gw__messenger_forget(set.messengers[0], 1);
        messenger_await_count(set.messengers[0], &back, MANY);
    }
    ck_assert_uint_eq(back, MANY);
    messenger_set_close(&set);
    ck_assert_uint_eq(back, MANY);
    gw_free(memory);
}
END_TEST

/* Forgets twice. Over sockets the kernel may still deliver some forgotten
 * messages, but only before all new ones. */
static void expect_new(struct gw__messenger *messenger, bool strictly)
{
    struct gw__message_in *message = messenger_await(messenger);
    while (!strictly && message->parts[0].bytes != 3) {
        gw__message_in_release(message);
        message = messenger_await(messenger);
    }
    ck_assert_uint_eq(message->parts[0].bytes, 3);
    ck_assert_mem_eq(message->parts[0].data, "new", 3);
    gw__message_in_release(message);
}

START_TEST(what_was_forgotten_does_not_come)
{
    struct messenger_set set;
    struct gw__messenger_config config =
        messenger_config(messenger_wires[_i], 1);
    unsigned back = 0;
    char *memory = shared(MIB, 1);
    messenger_set_open(&set, messenger_wires[_i], 2);
    messenger_send(set.messengers[0], 1, "hello");
    messenger_expect(set.messengers[1], 0, "hello");
    lend(set.messengers[0], 1, memory, MIB, &back);
    struct gw__message_in *held = messenger_await(set.messengers[1]);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MANY; i++)
            lend(set.messengers[1], 0, memory, i % 2 ? MIB : 9000, &back);
        gw__messenger_forget(set.messengers[1], 0);
        gw__messenger_forget(set.messengers[0], 1);
        messenger_expect_none(set.messengers[0]);
        messenger_know(set.messengers[0], set.messengers[1], &config);
        struct gw__messenger_config other =
            messenger_config(messenger_wires[_i], 0);
        messenger_know(set.messengers[1], set.messengers[0], &other);
        messenger_send(set.messengers[1], 0, "new");
        expect_new(set.messengers[0], _i == 0);
        messenger_await_count(set.messengers[1], &back, 1 + (round + 1) * MANY);
    }
    gw__message_in_release(held);
    messenger_expect_none(set.messengers[0]);
    messenger_send(set.messengers[0], 1, "newer");
    messenger_expect(set.messengers[1], 0, "newer");
    messenger_set_close(&set);
    ck_assert_uint_eq(back, 1 + 2 * MANY);
    gw_free(memory);
}
END_TEST

Suite *suite_messenger_borrow(void)
{
    Suite *suite = suite_create("messenger_borrow");
    TCase *tests = tcase_create("messenger_borrow");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, borrowed_gw_alloc_comes_back, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, borrowed_malloc_comes_back, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, parts_of_all_kinds_in_one_message, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, memory_is_borrowed_without_a_copy, 0, 2);
    tcase_add_loop_test(tests, messages_are_released_in_any_order, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, copies_stay_until_released, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, more_is_held_than_can_be_borrowed, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, many_regions_are_held_at_once, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, another_thread_releases, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, messages_outlive_their_messenger, 0,
                        3 * MESSENGER_WIRES);
    tcase_add_loop_test(tests, what_is_in_flight_comes_back_at_the_end, 0,
                        2 * MESSENGER_WIRES);
    tcase_add_loop_test(tests, what_was_forgotten_does_not_come, 0,
                        MESSENGER_WIRES);
    suite_add_tcase(suite, tests);
    return suite;
}
