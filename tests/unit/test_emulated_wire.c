/* SPDX-License-Identifier: MIT
 *
 * The wire that emulates link profiles. The conformance suites of test_wire.c
 * and test_wire_end.c check that it is a wire, with profiles and without; here
 * are the effects of the profiles. Rank r is node 10 + r.
 */
#include "wire_set.h"

#include "wire/emulation/link_profiles.h"

#include <pthread.h>
#include <time.h>

Suite *suite_emulated_wire(void);

enum { NODE = 10, BYTES = 48 };
static const uint64_t ms = 1000000U;
static const uint64_t hour = 3600000U * (uint64_t)1000000U;
static const char *const names[] = {"shm", "ipc", "tcp"};
enum { NAMES = sizeof names / sizeof *names };
static const struct gw_link_profile none, down = {.down = true};

/* Two ranks, and the link profiles of each. */
struct pair {
    struct wire_set set;
    struct gw__link_profiles *profiles[2];
    struct gw__wire *sender, *reader; /* ranks 0 and 1 */
};

static void start(struct pair *pair, int name)
{
    static const unsigned nodes[2] = {NODE, NODE + 1};
    struct gw_error why;
    wire_set_start(&pair->set, names[name], 2, 0);
    for (unsigned r = 0; r < 2; r++) {
        struct gw__wire *emulated;
        ck_assert_int_eq(gw__link_profiles_new(r, &pair->profiles[r], &why),
                         GW_OK);
        ck_assert_int_eq(gw__wire_emulated(&pair->set.wires[r],
                                           pair->profiles[r], nodes, &emulated,
                                           &why),
                         GW_OK);
        ck_assert_ptr_null(pair->set.wires[r]);
        pair->set.wires[r] = emulated;
    }
    pair->sender = pair->set.wires[0];
    pair->reader = pair->set.wires[1];
}

static void end(struct pair *pair)
{
    wire_set_end(&pair->set);
    for (unsigned r = 0; r < 2; r++)
        gw__link_profiles_destroy(&pair->profiles[r]);
}

/* Of the link from rank 0 to rank 1. */
static void set(struct pair *pair, const struct gw_link_profile *profile)
{
    gw__link_profiles_set(pair->profiles[1], NODE, profile);
}

static void send_slice(struct gw__wire *wire, uint32_t chunk, uint32_t slice)
{
    unsigned char data[BYTES];
    struct gw__header header = {
        .chunk = chunk, .slice = slice, .bytes = sizeof data};
    wire_set_fill(data, sizeof data, chunk);
    wire_set_send(wire, 1 - wire->rank, &header, data, true);
}

/* Waits for that slice and takes it; returns the time of its sending. */
static uint64_t await_slice(struct gw__wire *wire, uint32_t chunk,
                            uint32_t slice)
{
    struct gw__slice_view view;
    enum gw_err err = wire_set_await(wire, 1 - wire->rank, &view);
    ck_assert_msg(err == GW_OK, "chunk %u: %s", chunk, gw_err_name(err));
    ck_assert_uint_eq(view.header->chunk, chunk);
    ck_assert_uint_eq(view.header->slice, slice);
    ck_assert(!wire_set_differs(view.data, view.header->bytes, chunk));
    uint64_t sent_ns = view.header->sent_ns;
    wire->ops->release(wire, 1 - wire->rank);
    return sent_ns;
}

/* No slice is visible for `ns`; returns the time of the last look. */
static uint64_t expect_nothing(struct gw__wire *wire, uint64_t ns)
{
    uint64_t begin = gw_now_ns(), now = begin;
    struct gw__slice_view view;
    while (now - begin < ns) {
        ck_assert_int_eq(wire->ops->peek(wire, 1 - wire->rank, &view),
                         GW_PENDING);
        wire->ops->wait(wire, ms);
        now = gw_now_ns();
    }
    ck_assert_int_eq(wire->ops->peek(wire, 1 - wire->rank, &view), GW_PENDING);
    return now;
}

START_TEST(it_is_the_wrapped_wire_but_for_the_profiles)
{
    struct pair pair;
    struct gw__slice_view view;
    start(&pair, _i);
    struct gw__wire *wire = pair.reader;
    ck_assert_str_eq(wire->ops->name, names[_i]);
    ck_assert_uint_ge(wire->ops->slice_bytes, 1024);
    ck_assert_uint_eq(wire->rank, 1);
    ck_assert_uint_eq(wire->size, 2);
    ck_assert_uint_eq(wire->address.bytes, pair.set.table[1].bytes);
    ck_assert_mem_eq(wire->address.blob, pair.set.table[1].blob,
                     wire->address.bytes);
    ck_assert_ptr_null(wire->ops->windows(wire));
    uint64_t before = gw_now_ns();
    send_slice(pair.sender, 0, 0);
    uint64_t sent_ns = await_slice(wire, 0, 0);
    ck_assert_uint_ge(sent_ns, before);
    ck_assert_uint_le(sent_ns, gw_now_ns());
    struct gw__header stamped = {.sent_ns = 77};
    wire_set_send(pair.sender, 1, &stamped, NULL, true);
    ck_assert_int_eq(wire_set_await(wire, 0, &view), GW_OK);
    ck_assert_uint_eq(view.header->sent_ns, 77);
    end(&pair);
}
END_TEST

START_TEST(a_cut_holds_slices_until_the_link_is_up)
{
    struct pair pair;
    start(&pair, _i);
    set(&pair, &down);
    for (uint32_t i = 0; i < 3; i++)
        send_slice(pair.sender, i, 0);
    send_slice(pair.reader, 9, 0);
    await_slice(pair.sender, 9, 0); /* the other way is open */
    expect_nothing(pair.reader, 30 * ms);
    set(&pair, &none);
    for (uint32_t i = 0; i < 3; i++)
        await_slice(pair.reader, i, 0);
    end(&pair);
}
END_TEST

/* Time during the cut does not count for the rate. */
START_TEST(what_a_cut_held_keeps_to_the_rate_after_it)
{
    struct pair pair;
    static const struct gw_link_profile stopped = {.down = true,
                                                   .rate = BYTES * 50},
                                        slow = {.rate = BYTES * 50};
    start(&pair, _i);
    set(&pair, &stopped);
    for (uint32_t i = 0; i < 2; i++)
        send_slice(pair.sender, i, 0);
    uint64_t last = expect_nothing(pair.reader, 60 * ms);
    set(&pair, &slow);
    for (uint32_t i = 0; i < 2; i++)
        await_slice(pair.reader, i, 0);
    ck_assert_uint_ge(gw_now_ns() - last, 40 * ms); /* 20 each */
    end(&pair);
}
END_TEST

struct change {
    pthread_t thread;
    struct pair *pair;
    uint64_t at_ns;
};

static void *make_change(void *context)
{
    struct change *change = context;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    change->at_ns = gw_now_ns();
    set(change->pair, &none);
    return NULL;
}

/* Returns how long a profile held a slice after its end. */
static uint64_t end_profile(struct pair *pair,
                            const struct gw_link_profile *profile)
{
    struct change change = {.pair = pair};
    struct gw__slice_view view;
    set(pair, profile);
    send_slice(pair->sender, 0, 0);
    pthread_create(&change.thread, NULL, make_change, &change);
    while (pair->reader->ops->peek(pair->reader, 0, &view) == GW_PENDING)
        pair->reader->ops->wait(pair->reader, hour);
    uint64_t now = gw_now_ns();
    pthread_join(change.thread, NULL);
    ck_assert_uint_ge(now, change.at_ns);
    await_slice(pair->reader, 0, 0);
    return now - change.at_ns;
}

/* The best of a few tries, since the machine may be busy. */
START_TEST(a_change_of_the_profiles_wakes_a_sleeper)
{
    enum { TRIES = 20, SOON_MS = 6 };
    static const struct gw_link_profile profiles[] = {
        {.down = true}, {.delay_us = 3600000000U}};
    struct pair pair;
    start(&pair, _i);
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++) {
        uint64_t soonest = UINT64_MAX;
        for (int try = 0; try < TRIES && soonest > SOON_MS * ms; try++) {
            uint64_t after = end_profile(&pair, &profiles[i]);
            soonest = after < soonest ? after : soonest;
        }
        ck_assert_msg(soonest <= SOON_MS * ms, "%llu us after the change",
                      (unsigned long long)soonest / 1000);
    }
    end(&pair);
}
END_TEST

START_TEST(slices_are_shown_when_they_are_due_and_delays_overlap)
{
    enum { SLICES = 6 };
    static const struct gw_link_profile profile = {.delay_us = 400000};
    struct pair pair;
    struct gw__slice_view view;
    start(&pair, _i);
    set(&pair, &profile);
    uint64_t begin = gw_now_ns();
    for (uint32_t i = 0; i < SLICES; i++)
        send_slice(pair.sender, i, 0);
    for (uint32_t i = 0; i < SLICES; i++) {
        while (pair.reader->ops->peek(pair.reader, 0, &view) == GW_PENDING)
            pair.reader->ops->wait(pair.reader, hour);
        ck_assert_uint_ge(gw_now_ns(), view.header->sent_ns + 400 * ms);
        await_slice(pair.reader, i, 0);
    }
    ck_assert_uint_lt(gw_now_ns() - begin, (SLICES - 1) * 400 * ms);
    end(&pair);
}
END_TEST

START_TEST(pace_slows_chunks_not_slices)
{
    enum { CHUNKS = 3, SLICES = 2 };
    struct pair pair;
    start(&pair, _i);
    gw__link_profiles_pace(pair.profiles[1], 30 * ms);
    uint64_t begin = gw_now_ns();
    for (uint32_t i = 0; i < CHUNKS * SLICES; i++)
        send_slice(pair.sender, i / SLICES, i % SLICES);
    for (uint32_t i = 0; i < CHUNKS * SLICES; i++) {
        await_slice(pair.reader, i / SLICES, i % SLICES);
        ck_assert_uint_ge(gw_now_ns() - begin, (i / SLICES + 1) * 30 * ms);
    }
    gw__link_profiles_pace(pair.profiles[1], hour);
    send_slice(pair.sender, 7, 0);
    send_slice(pair.sender, 8, 0);
    expect_nothing(pair.reader, 10 * ms);
    gw__link_profiles_pace(pair.profiles[1], 0);
    await_slice(pair.reader, 7, 0);
    await_slice(pair.reader, 8, 0);
    end(&pair);
}
END_TEST

START_TEST(what_is_shown_stays_whatever_the_profiles_become)
{
    struct pair pair;
    struct gw__slice_view view, again;
    start(&pair, _i);
    send_slice(pair.sender, 1, 0);
    send_slice(pair.sender, 2, 0);
    ck_assert_int_eq(wire_set_await(pair.reader, 0, &view), GW_OK);
    set(&pair, &down);
    ck_assert_int_eq(pair.reader->ops->peek(pair.reader, 0, &again), GW_OK);
    ck_assert_ptr_eq(view.data, again.data);
    await_slice(pair.reader, 1, 0);
    expect_nothing(pair.reader, 10 * ms);
    set(&pair, &none);
    await_slice(pair.reader, 2, 0);
    end(&pair);
}
END_TEST

START_TEST(the_end_of_a_link_shows_after_what_is_due)
{
    static const struct gw_link_profile profile = {.delay_us = 30000};
    struct pair pair;
    struct gw__slice_view view;
    start(&pair, _i);
    set(&pair, &profile);
    send_slice(pair.sender, 1, 0);
    send_slice(pair.sender, 2, 0);
    uint64_t sent = gw_now_ns();
    gw__wire_close(&pair.set.wires[0]);
    await_slice(pair.reader, 1, 0);
    uint64_t stamp = await_slice(pair.reader, 2, 0);
    ck_assert_uint_le(stamp, sent);
    ck_assert_uint_ge(gw_now_ns(), stamp + 30 * ms);
    ck_assert_int_eq(wire_set_await(pair.reader, 0, &view), GW_ECLOSED);
    end(&pair);
}
END_TEST

/* A due slice ends one wait, not all: a caller that does not read it would
 * spin. */
START_TEST(a_slice_that_is_not_read_ends_one_wait)
{
    enum { MANY = 4000 };
    static const struct gw_link_profile profile = {.delay_us = 60000};
    struct pair pair;
    start(&pair, _i);
    set(&pair, &profile);
    send_slice(pair.sender, 1, 0);
    uint64_t sent = gw_now_ns();
    expect_nothing(pair.reader, 10 * ms);
    while (gw_now_ns() < sent + 60 * ms)
        pair.reader->ops->wait(pair.reader, ms);
    int waits = 0;
    bool slept = false;
    for (; waits < MANY && !slept; waits++) {
        uint64_t begin = gw_now_ns();
        pair.reader->ops->wait(pair.reader, 10 * ms);
        slept = gw_now_ns() - begin >= 9 * ms;
    }
    ck_assert_msg(slept, "%d waits ended at once", waits);
    await_slice(pair.reader, 1, 0);
    end(&pair);
}
END_TEST

START_TEST(an_abort_is_passed_through_it)
{
    struct gw_error why, reason = {GW_EMISMATCH, "rank 0 wants something else"};
    struct pair pair;
    start(&pair, _i);
    ck_assert(!pair.reader->aborted_by_peer);
    pair.sender->ops->abort(pair.sender, &reason);
    ck_assert_int_eq(wire_set_await_failure(pair.reader, 1000, &why),
                     GW_EMISMATCH);
    ck_assert_str_eq(why.text, reason.text);
    ck_assert(pair.reader->aborted_by_peer);
    end(&pair);
}
END_TEST

START_TEST(a_read_race_is_passed_through_it)
{
    enum { BORROWED = 4096 };
    struct gw_error reason = {GW_EINTR, "interrupted"};
    struct gw__header header = {.bytes = BORROWED};
    struct gw__slice_view view;
    struct pair pair;
    start(&pair, 0);
    void *data = gw_alloc(BORROWED, NULL);
    wire_set_send(pair.sender, 1, &header, data, false);
    ck_assert_int_eq(wire_set_await(pair.reader, 0, &view), GW_OK);
    pair.sender->ops->abort(pair.sender, &reason);
    ck_assert(!pair.reader->read_raced);
    pair.reader->ops->release(pair.reader, 0);
    ck_assert(pair.reader->read_raced);
    end(&pair);
    gw_free(data);
}
END_TEST

START_TEST(a_node_beyond_the_table_is_refused)
{
    static const unsigned nodes[1] = {GW__LINK_PROFILE_NODES};
    struct gw__wire *wrapped = wire_set_open(names[_i], 0, 1, 0),
                    *wire = wrapped;
    struct gw__link_profiles *profiles;
    struct gw_error why;
    ck_assert_int_eq(gw__link_profiles_new(1, &profiles, &why), GW_OK);
    ck_assert_int_eq(gw__wire_emulated(&wrapped, profiles, nodes, &wire, &why),
                     GW_EINVAL);
    ck_assert_str_eq(
        why.text,
        "link rules: rank 0 is node 576, but nodes are numbered below 576");
    ck_assert_ptr_null(wrapped);
    ck_assert_ptr_null(wire);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

Suite *suite_emulated_wire(void)
{
    Suite *suite = suite_create("emulated_wire");
    TCase *tests = tcase_create("rules on a wire");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, it_is_the_wrapped_wire_but_for_the_profiles, 0,
                        NAMES);
    tcase_add_loop_test(tests, a_cut_holds_slices_until_the_link_is_up, 0,
                        NAMES);
    tcase_add_loop_test(tests, what_a_cut_held_keeps_to_the_rate_after_it, 0,
                        NAMES);
    tcase_add_loop_test(tests, a_change_of_the_profiles_wakes_a_sleeper, 0,
                        NAMES);
    tcase_add_loop_test(
        tests, slices_are_shown_when_they_are_due_and_delays_overlap, 0, NAMES);
    tcase_add_loop_test(tests, pace_slows_chunks_not_slices, 0, NAMES);
    tcase_add_loop_test(tests, what_is_shown_stays_whatever_the_profiles_become,
                        0, NAMES);
    tcase_add_loop_test(tests, the_end_of_a_link_shows_after_what_is_due, 0,
                        NAMES);
    tcase_add_loop_test(tests, a_slice_that_is_not_read_ends_one_wait, 0,
                        NAMES);
    tcase_add_loop_test(tests, an_abort_is_passed_through_it, 0, NAMES);
    tcase_add_loop_test(tests, a_node_beyond_the_table_is_refused, 0, NAMES);
    tcase_add_test(tests, a_read_race_is_passed_through_it);
    suite_add_tcase(suite, tests);
    return suite;
}
