/* SPDX-License-Identifier: MIT
 *
 * The messenger under link profiles: incoming messages are delayed until they
 * are due, and a link that is down drops them. No test measures durations; they
 * only check that nothing arrives early.
 */
#include "messenger_set.h"

#include <wire/messenger/messenger_parts.h>

#include <stdlib.h>
#include <string.h>

Suite *suite_messenger_profiles(void);

static const uint64_t MS = 1000000;

/* Node 0 sends, node 1 has the link profile. */
struct scene {
    struct messenger_set set;
    struct gw__link_profiles *profiles;
    struct gw__messenger *from, *to;
};

static void scene_open(struct scene *scene, const char *wire)
{
    struct gw__messenger_config configs[2] = {messenger_config(wire, 0),
                                              messenger_config(wire, 1)};
    ck_assert_int_eq(gw__link_profiles_new(1, &scene->profiles, NULL), GW_OK);
    configs[1].profiles = scene->profiles;
    scene->set.size = 2;
    for (unsigned i = 0; i < 2; i++)
        scene->set.messengers[i] = messenger_open(configs[i]);
    for (unsigned i = 0; i < 2; i++)
        messenger_know(scene->set.messengers[i], scene->set.messengers[1 - i],
                       &configs[1 - i]);
    scene->from = scene->set.messengers[0];
    scene->to = scene->set.messengers[1];
}

static void scene_close(struct scene *scene)
{
    messenger_set_close(&scene->set);
    gw__link_profiles_destroy(&scene->profiles);
}

static void set_profile(struct scene *scene, struct gw_link_profile profile)
{
    gw__link_profiles_set(scene->profiles, 0, &profile);
}

/* Waits until `count` messages have arrived and are delayed. */
static void await_held(struct scene *scene, unsigned count)
{
    while (scene->to->held.count < count) {
        messenger_expect_none(scene->to);
        gw__messenger_wait(scene->to, gw_now_ns() + 5 * MS);
    }
}

static unsigned number_of(struct gw__message_in *message)
{
    unsigned number;
    memcpy(&number, message->parts[0].data, sizeof number);
    gw__message_in_release(message);
    return number;
}

START_TEST(a_delay_is_kept_and_the_order_too)
{
    struct scene scene;
    scene_open(&scene, messenger_wires[_i]);
    set_profile(&scene,
                (struct gw_link_profile){.delay_us = 20000, .jitter_us = 5000});
    uint64_t begin = gw_now_ns();
    for (unsigned i = 0; i < 200; i++)
        ck_assert_int_eq(messenger_try(scene.from, 1, &i, sizeof i), GW_OK);
    for (unsigned i = 0; i < 200; i++) {
        gw__messenger_wait(scene.from, 0);
        ck_assert_uint_eq(number_of(messenger_await(scene.to)), i);
        ck_assert_uint_ge(gw_now_ns() - begin, 20 * MS);
    }
    scene_close(&scene);
}
END_TEST

START_TEST(a_rate_and_pace_take_their_time)
{
    enum { BYTES = 100000 };
    struct scene scene;
    char *data = malloc(BYTES);
    scene_open(&scene, messenger_wires[_i]);
    set_profile(&scene, (struct gw_link_profile){.rate = 10 * 1000 * 1000});
    gw__link_profiles_pace(scene.profiles, 5 * MS);
    messenger_fill(data, BYTES, 1);
    uint64_t begin = gw_now_ns();
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(messenger_try(scene.from, 1, data, BYTES), GW_OK);
    for (unsigned i = 1; i <= 3; i++) {
        struct gw__message_in *message = messenger_await(scene.to);
        ck_assert_uint_ge(gw_now_ns() - begin, i * 15 * MS);
        ck_assert(!messenger_differs(message->parts[0].data, BYTES, 1));
        gw__message_in_release(message);
    }
    scene_close(&scene);
    free(data);
}
END_TEST

START_TEST(a_link_that_is_down_drops)
{
    struct scene scene;
    unsigned back = 0;
    scene_open(&scene, messenger_wires[_i]);
    messenger_send(scene.from, 1, "before");
    messenger_expect(scene.to, 0, "before");
    set_profile(&scene, (struct gw_link_profile){.down = true});
    struct gw__message_out message = {.node = 1,
                                      .part_count = 1,
                                      .parts = {{"lost", 4}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &back};
    ck_assert_int_eq(gw__messenger_send(scene.from, &message), GW_OK);
    messenger_send(scene.from, 1, "lost too");
    while (gw__messenger_counts(scene.to)->dropped < 2) {
        messenger_expect_none(scene.to);
        gw__messenger_wait(scene.to, gw_now_ns() + 100 * MS);
    }
    messenger_send(scene.to, 0, "the other way is open");
    messenger_expect(scene.from, 1, "the other way is open");
    set_profile(&scene, (struct gw_link_profile){.down = false});
    messenger_send(scene.from, 1, "healed");
    messenger_expect(scene.to, 0, "healed");
    ck_assert_uint_eq(back, 1);
    scene_close(&scene);
}
END_TEST

/* A change of the profile applies to delayed messages: they arrive at once and
 * in order when the delay ends, and never if the link is cut. */
START_TEST(a_change_of_the_profiles_is_obeyed)
{
    struct scene scene;
    scene_open(&scene, messenger_wires[_i]);
    set_profile(&scene, (struct gw_link_profile){.delay_us = 3600 * 1000000U});
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(messenger_try(scene.from, 1, &i, sizeof i), GW_OK);
    await_held(&scene, 10);
    set_profile(&scene, (struct gw_link_profile){.down = false});
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(number_of(messenger_await(scene.to)), i);
    set_profile(&scene, (struct gw_link_profile){.delay_us = 3600 * 1000000U});
    messenger_send(scene.from, 1, "held, then lost");
    await_held(&scene, 1);
    uint64_t dropped = gw__messenger_counts(scene.to)->dropped;
    set_profile(&scene, (struct gw_link_profile){.down = true});
    messenger_expect_none(scene.to);
    ck_assert_uint_eq(gw__messenger_counts(scene.to)->dropped, dropped + 1);
    scene_close(&scene);
}
END_TEST

START_TEST(some_are_lost_the_others_keep_their_order)
{
    enum { MANY = 1000 };
    struct scene scene;
    unsigned last = 0, received = 0;
    scene_open(&scene, messenger_wires[_i]);
    set_profile(&scene, (struct gw_link_profile){.loss_ppm = 200000});
    for (unsigned i = 1; i <= MANY; i++)
        ck_assert_int_eq(messenger_try(scene.from, 1, &i, sizeof i), GW_OK);
    const struct gw__messenger_counts *counts = gw__messenger_counts(scene.to);
    while (received + counts->dropped < MANY) {
        struct gw__message_in *message;
        gw__messenger_wait(scene.from, 0);
        if (gw__messenger_receive(scene.to, &message) != GW_OK) {
            gw__messenger_wait(scene.to, gw_now_ns() + 100 * MS);
            continue;
        }
        unsigned number = number_of(message);
        ck_assert_uint_gt(number, last);
        last = number;
        received++;
    }
    ck_assert_uint_gt(counts->dropped, MANY / 10);
    ck_assert_uint_lt(counts->dropped, MANY * 3 / 10);
    scene_close(&scene);
}
END_TEST

/* Delayed lent memory is returned when its sender is forgotten. */
START_TEST(what_is_held_back_is_dropped_with_its_sender)
{
    struct scene scene;
    unsigned back = 0;
    char *data = malloc(100000);
    scene_open(&scene, messenger_wires[_i]);
    set_profile(&scene, (struct gw_link_profile){.delay_us = 3600 * 1000000U});
    struct gw__message_out message = {.node = 1,
                                      .part_count = 1,
                                      .parts = {{data, 100000}},
                                      .borrowed = 1,
                                      .back = messenger_count_back,
                                      .context = &back};
    messenger_fill(data, 100000, 1);
    ck_assert_int_eq(gw__messenger_send(scene.from, &message), GW_OK);
    await_held(&scene, 1);
    gw__messenger_forget(scene.to, 0);
    messenger_await_count(scene.from, &back, 1);
    ck_assert_uint_eq(gw__messenger_counts(scene.to)->dropped, 1);
    set_profile(&scene, (struct gw_link_profile){.down = false});
    messenger_expect_none(scene.to);
    scene_close(&scene);
    free(data);
}
END_TEST

Suite *suite_messenger_profiles(void)
{
    Suite *suite = suite_create("messenger_profiles");
    TCase *tests = tcase_create("messenger_profiles");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_delay_is_kept_and_the_order_too, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_rate_and_pace_take_their_time, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_link_that_is_down_drops, 0, MESSENGER_WIRES);
    tcase_add_loop_test(tests, a_change_of_the_profiles_is_obeyed, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, some_are_lost_the_others_keep_their_order, 0,
                        MESSENGER_WIRES);
    tcase_add_loop_test(tests, what_is_held_back_is_dropped_with_its_sender, 0,
                        MESSENGER_WIRES);
    suite_add_tcase(suite, tests);
    return suite;
}
