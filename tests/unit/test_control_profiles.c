/* SPDX-License-Identifier: MIT
 *
 * The control channel emulates link profiles: delay, cut, rate, loss, and their
 * changes. The last part tests its queue of delayed messages.
 */
#include "channel_set.h"

#include <wire/control_channel/control_channel_parts.h>

#include <stdio.h>
#include <string.h>

Suite *suite_control_profiles(void);

static const uint64_t MS = 1000000;

/* Node 1 of the set has link profiles; node 0 sends to it. */
static struct gw__link_profiles *open_emulated(struct channel_set *set)
{
    struct gw__link_profiles *profiles;
    channel_set_open(set, "ipc", 2);
    ck_assert_int_eq(gw__link_profiles_new(1, &profiles, NULL), GW_OK);
    char endpoint[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    snprintf(endpoint, sizeof endpoint, "%s",
             gw__control_channel_endpoint(set->channels[1]));
    gw__control_channel_close(&set->channels[1]);
    struct gw__control_channel_config config = channel_config(1, endpoint);
    config.profiles = profiles;
    set->channels[1] = channel_open(config);
    channel_set_know(set);
    return profiles;
}

/* Waits until node 1 has decided about `count` messages. */
static void await_fates(struct channel_set *set, uint64_t count)
{
    const struct gw__control_channel_counts *counts =
        gw__control_channel_counts(set->channels[1]);
    uint64_t until = gw_now_ns() + 5000 * MS;
    while (counts->dropped_by_profile + counts->overflowed +
               set->channels[1]->later.count <
           count) {
        channel_expect_none(set->channels[1]);
        gw__control_channel_wait(set->channels[1], -1, gw_now_ns() + 5 * MS);
        ck_assert(gw_now_ns() < until);
    }
}

START_TEST(a_delay_keeps_back)
{
    struct channel_set set;
    struct gw__link_profiles *profiles = open_emulated(&set);
    gw__link_profiles_set(profiles, 0,
                          &(struct gw_link_profile){.delay_us = 30000});
    uint64_t sent = gw_now_ns();
    channel_send(set.channels[0], 1, "a");
    channel_send(set.channels[0], 1, "b");
    channel_expect(set.channels[1], 0, "a");
    channel_expect(set.channels[1], 0, "b");
    ck_assert_uint_ge(gw_now_ns() - sent, 30 * MS);
    channel_send(set.channels[1], 0, "no rule this way");
    channel_expect(set.channels[0], 1, "no rule this way");
    channel_send(set.channels[1], 1, "nor to oneself");
    channel_expect(set.channels[1], 1, "nor to oneself");
    channel_set_close(&set);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(a_cut_link_delivers_nothing)
{
    struct channel_set set;
    struct gw__link_profiles *profiles = open_emulated(&set);
    gw__link_profiles_set(profiles, 0, &(struct gw_link_profile){.down = true});
    for (unsigned i = 0; i < 5; i++)
        channel_send(set.channels[0], 1, "lost");
    await_fates(&set, 5);
    ck_assert_uint_eq(
        gw__control_channel_counts(set.channels[1])->dropped_by_profile, 5);
    gw__link_profiles_set(profiles, 0,
                          &(struct gw_link_profile){.down = false});
    channel_send(set.channels[0], 1, "healed");
    channel_expect(set.channels[1], 0, "healed");
    channel_set_close(&set);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

/* A change of the profile applies to delayed messages, too. */
START_TEST(a_change_takes_or_frees_what_is_kept_back)
{
    struct channel_set set;
    struct gw__link_profiles *profiles = open_emulated(&set);
    const struct gw_link_profile slow = {.delay_us = 3600000000U};
    gw__link_profiles_set(profiles, 0, &slow);
    channel_send(set.channels[0], 1, "a");
    channel_send(set.channels[0], 1, "b");
    await_fates(&set, 2);
    gw__link_profiles_set(profiles, 0,
                          &(struct gw_link_profile){.down = false});
    channel_expect(set.channels[1], 0, "a");
    channel_expect(set.channels[1], 0, "b");
    gw__link_profiles_set(profiles, 0, &slow);
    channel_send(set.channels[0], 1, "taken");
    await_fates(&set, 1);
    gw__link_profiles_set(profiles, 0, &(struct gw_link_profile){.down = true});
    channel_expect_none(set.channels[1]);
    ck_assert_uint_eq(
        gw__control_channel_counts(set.channels[1])->dropped_by_profile, 1);
    ck_assert_uint_eq(set.channels[1]->later.count, 0);
    ck_assert_uint_eq(set.channels[1]->later.bytes, 0);
    channel_set_close(&set);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(a_slow_link_is_a_bounded_queue)
{
    enum { BLOCK = 60000, SENDS = 90, FIT = GW__LATER_BYTES / (BLOCK + 40) };
    static const unsigned char block[BLOCK];
    struct channel_set set;
    struct gw__link_profiles *profiles = open_emulated(&set);
    gw__link_profiles_set(profiles, 0, &(struct gw_link_profile){.rate = 1});
    for (unsigned i = 0; i < SENDS; i++)
        ck_assert_int_eq(
            gw__control_channel_send(set.channels[0], 1, block, BLOCK), GW_OK);
    await_fates(&set, SENDS);
    ck_assert_uint_eq(set.channels[1]->later.count, FIT);
    ck_assert_uint_eq(gw__control_channel_counts(set.channels[1])->overflowed,
                      SENDS - FIT);
    channel_set_close(&set);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

START_TEST(chance_loses_its_share)
{
    enum { SENDS = 500 };
    struct channel_set set;
    struct gw__link_profiles *profiles = open_emulated(&set);
    gw__link_profiles_set(profiles, 0,
                          &(struct gw_link_profile){.loss_ppm = 500000});
    const struct gw__control_channel_counts *counts =
        gw__control_channel_counts(set.channels[1]);
    for (unsigned i = 0; i < SENDS; i++)
        channel_send(set.channels[0], 1, "?");
    uint64_t until = gw_now_ns() + 5000 * MS;
    while (counts->dropped_by_profile + counts->received < SENDS) {
        struct gw__control_channel_message message;
        if (gw__control_channel_receive(set.channels[1], &message) != GW_OK)
            gw__control_channel_wait(set.channels[1], -1, gw_now_ns() + 5 * MS);
        ck_assert(gw_now_ns() < until);
    }
    ck_assert_uint_gt(counts->dropped_by_profile, SENDS / 3);
    ck_assert_uint_gt(counts->received, SENDS / 3);
    channel_set_close(&set);
    gw__link_profiles_destroy(&profiles);
}
END_TEST

/* ---- the queue ---- */

/* A message with its due time and its number. */
struct queued {
    uint64_t due_ns, number;
};

static bool enqueue(struct gw__later *later, struct queued item)
{
    zmq_msg_t message;
    zmq_msg_init_size(&message, sizeof item);
    memcpy(zmq_msg_data(&message), &item, sizeof item);
    bool fits = gw__later_put(later, item.due_ns, &message);
    zmq_msg_close(&message);
    return fits;
}

static struct queued dequeue(struct gw__later *later)
{
    struct queued item;
    zmq_msg_t message;
    uint64_t due_ns = gw__later_due(later);
    zmq_msg_init(&message);
    gw__later_pop(later, &message);
    memcpy(&item, zmq_msg_data(&message), sizeof item);
    zmq_msg_close(&message);
    ck_assert_uint_eq(item.due_ns, due_ns);
    return item;
}

/* Takes all: by time, then by number. */
static unsigned expect_in_order(struct gw__later *later)
{
    struct queued before = {0}, now;
    unsigned count = 0;
    for (; gw__later_due(later) != UINT64_MAX; before = now, count++) {
        now = dequeue(later);
        ck_assert(count == 0 || now.due_ns > before.due_ns ||
                  (now.due_ns == before.due_ns && now.number > before.number));
    }
    ck_assert_uint_eq(later->bytes, 0);
    return count;
}

START_TEST(the_queue_keeps_time_and_order)
{
    struct gw__later later;
    struct gw_rng rng;
    gw_rng_seed(&rng, 42);
    ck_assert_int_eq(gw__later_init(&later, NULL), GW_OK);
    for (unsigned round = 0, number = 0; round < 20; round++) {
        unsigned count = (unsigned)gw_rng_below(&rng, 300);
        for (unsigned i = 0; i < count; i++)
            ck_assert(enqueue(
                &later, (struct queued){gw_rng_below(&rng, 50), number++}));
        ck_assert_uint_eq(expect_in_order(&later), count);
    }
    for (unsigned i = 0; i < GW__LATER_MESSAGES; i++)
        ck_assert(enqueue(&later, (struct queued){i * 7 % 100, i}));
    ck_assert(!enqueue(&later, (struct queued){0, 0}));
    ck_assert_uint_eq(expect_in_order(&later), GW__LATER_MESSAGES);
    ck_assert(enqueue(&later, (struct queued){1, 1}));
    gw__later_fini(&later);
}
END_TEST

/* Drops the multiples of three, and reverses the times of the others. Messages
 * come in the order of their arrival. */
static uint64_t turn_round(void *context, zmq_msg_t *message)
{
    uint64_t *next_number = context;
    struct queued item;
    memcpy(&item, zmq_msg_data(message), sizeof item);
    ck_assert_uint_eq(item.number, (*next_number)++);
    if (item.number % 3 == 0)
        return UINT64_MAX;
    item.due_ns = 1000 - item.due_ns;
    memcpy(zmq_msg_data(message), &item, sizeof item);
    return item.due_ns;
}

START_TEST(the_queue_can_be_revised)
{
    enum { COUNT = 300 };
    struct gw__later later;
    uint64_t next_number = 0;
    ck_assert_int_eq(gw__later_init(&later, NULL), GW_OK);
    ck_assert_uint_eq(gw__later_revise(&later, turn_round, &next_number), 0);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert(enqueue(&later, (struct queued){i * 7 % 100, i}));
    ck_assert_uint_eq(gw__later_revise(&later, turn_round, &next_number),
                      COUNT / 3);
    ck_assert_uint_eq(next_number, COUNT);
    ck_assert_uint_eq(expect_in_order(&later), COUNT - COUNT / 3);
    gw__later_fini(&later);
}
END_TEST

Suite *suite_control_profiles(void)
{
    Suite *suite = suite_create("control_profiles");
    TCase *tests = tcase_create("control channel profiles");
    tcase_add_test(tests, a_delay_keeps_back);
    tcase_add_test(tests, a_cut_link_delivers_nothing);
    tcase_add_test(tests, a_change_takes_or_frees_what_is_kept_back);
    tcase_add_test(tests, a_slow_link_is_a_bounded_queue);
    tcase_add_test(tests, chance_loses_its_share);
    tcase_add_test(tests, the_queue_keeps_time_and_order);
    tcase_add_test(tests, the_queue_can_be_revised);
    suite_add_tcase(suite, tests);
    return suite;
}
