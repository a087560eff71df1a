/* SPDX-License-Identifier: MIT
 *
 * The worker's machine against toy servers (ps_toy.h), one aspect at a time.
 * test_ps_worker_weather.c has all faults at once.
 */
#include "ps_toy.h"

#include <gradwire/wire.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_worker(void);

enum { SEED = 77 };

static const struct gw__worker_config plain;
static uint64_t some_keys[TOY_KEYS];
static float some_values[TOY_KEYS];

static void fill_keys(void)
{
    for (uint64_t i = 0; i < TOY_KEYS; i++) {
        some_keys[i] = i;
        some_values[i] = (float)i;
    }
}

static uint64_t begin(struct gw__access access)
{
    struct gw_error why;
    uint64_t request;
    if (!access.keys)
        access.keys = some_keys;
    ck_assert(
        !gw__worker_access(toy.worker, toy.now_ns, &access, &request, &why));
    return request;
}

static struct gw_ps_counts counts(void)
{
    struct gw_ps_counts now;
    gw__worker_counts(toy.worker, &now);
    return now;
}

START_TEST(a_push_and_pull_gets_what_it_has_made)
{
    float out[1000];
    toy_begin(SEED, 64, 1, &plain);
    for (unsigned round = 1; round <= 3; round++) {
        uint64_t request = begin((struct gw__access){.count = 1000,
                                                     .values = some_values,
                                                     .out = out,
                                                     .clock = GW__NO_CLOCK});
        ck_assert_int_eq(toy_wait(request), GW_OK);
        for (unsigned i = 0; i < 1000; i++)
            ck_assert(out[i] == (float)(round * i));
    }
    toy_end();
}
END_TEST

START_TEST(a_known_key_list_travels_as_its_signature)
{
    toy_begin(SEED, 64, 1, &plain);
    for (unsigned round = 0; round < 10; round++)
        ck_assert_int_eq(
            toy_wait(begin((struct gw__access){
                .count = 4000, .values = some_values, .clock = GW__NO_CLOCK})),
            GW_OK);
    ck_assert_uint_eq(counts().key_lists_sent, TOY_SERVERS);
    ck_assert_uint_eq(counts().key_lists_cached, 9 * TOY_SERVERS);
    ck_assert_uint_eq(toy.bare, 9 * TOY_SERVERS);
    toy_end();
}
END_TEST

START_TEST(no_more_than_64_pushes_are_under_way)
{
    const struct gw__worker_config config = {.range_bytes = 16};
    toy_begin(SEED, 64, 1, &config);
    uint64_t request = begin((struct gw__access){
        .count = 4000, .values = some_values, .clock = GW__NO_CLOCK});
    ck_assert_uint_eq(toy.mail_count, GW__PUSHES_MAX);
    ck_assert_uint_le(toy.largest, 16);
    /* Pulls go on. */
    float out[3];
    uint64_t pull = begin(
        (struct gw__access){.count = 3, .out = out, .clock = GW__NO_CLOCK});
    ck_assert_uint_gt(toy.mail_count, GW__PUSHES_MAX);
    ck_assert_int_eq(toy_wait(pull), GW_OK);
    ck_assert_int_eq(toy_wait(request), GW_OK);
    ck_assert_uint_ge(toy.letters, 1000);
    toy_end();
}
END_TEST

START_TEST(too_many_requests_are_asked_to_wait)
{
    struct gw_error why;
    uint64_t request, requests[GW__REQUESTS_MAX];
    toy_begin(SEED, 64, 1, &plain);
    struct gw__access access = {.keys = some_keys,
                                .count = 1,
                                .values = some_values,
                                .clock = GW__NO_CLOCK};
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        requests[i] = begin(access);
    ck_assert_int_eq(
        gw__worker_access(toy.worker, toy.now_ns, &access, &request, &why),
        GW_PENDING);
    ck_assert_uint_eq(gw__worker_pushes(toy.worker), GW__REQUESTS_MAX);
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        ck_assert_int_eq(toy_wait(requests[i]), GW_OK);
    ck_assert_int_eq(gw__worker_result(toy.worker, requests[0], &why),
                     GW_EINVAL);
    toy_end();
}
END_TEST

START_TEST(what_is_not_finite_is_never_sent)
{
    struct gw_error why;
    uint64_t request;
    float bad[3] = {1, NAN, 3};
    toy_begin(SEED, 64, 1, &plain);
    const struct gw__access access = {
        .keys = some_keys, .count = 3, .values = bad, .clock = GW__NO_CLOCK};
    ck_assert_int_eq(
        gw__worker_access(toy.worker, toy.now_ns, &access, &request, &why),
        GW_ENUMERIC);
    ck_assert_ptr_nonnull(strstr(why.text, "key 1"));
    ck_assert_uint_eq(toy.letters, 0);
    bad[1] = 2; /* the servers get the count with the next push */
    ck_assert_int_eq(toy_wait(begin(access)), GW_OK);
    ck_assert_uint_eq(toy.nans, 1);
    toy_end();
    const struct gw__worker_config half = {.half = true};
    bad[1] = 1e6F;
    toy_begin(SEED, 64, 1, &half);
    ck_assert_int_eq(
        gw__worker_access(toy.worker, toy.now_ns, &access, &request, &why),
        GW_ENUMERIC);
    ck_assert_ptr_nonnull(strstr(why.text, "half"));
    toy_end();
}
END_TEST

START_TEST(a_push_that_is_refused_for_good_ends_and_others_go_on)
{
    toy_begin(SEED, 64, 1, &plain);
    toy.refuse_for_good = GW_EINVAL;
    struct gw__access access = {
        .count = 500, .values = some_values, .clock = GW__NO_CLOCK};
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(toy_wait(begin(access)), GW_EINVAL);
    toy.refuse_for_good = GW_OK;
    ck_assert_int_eq(toy_wait(begin(access)), GW_OK);
    for (unsigned i = 0; i < 500; i++)
        ck_assert(toy.values[i] == (float)i);
    toy_end();
}
END_TEST

START_TEST(rows_that_lie_as_they_travel_are_lent)
{
    struct gw_error why;
    enum { WIDTH = GW__LONE_ROW_BYTES / 4, ROWS = 20 };
    toy_begin(SEED, 64, WIDTH, &plain);
    size_t bytes = (size_t)ROWS * WIDTH * 4;
    float *values = gw_alloc(bytes, &why);
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        values[i] = (float)(i % 1000);
    uint64_t request = begin((struct gw__access){
        .count = ROWS, .values = values, .lend = true, .clock = GW__NO_CLOCK});
    for (unsigned i = 0; i < TOY_LETTERS; i++)
        if (toy.mail[i].used) {
            const float *lent = toy.mail[i].lent_data;
            ck_assert(lent >= values && lent < values + bytes / 4);
        }
    ck_assert_int_eq(toy_wait(request), GW_OK);
    ck_assert_uint_eq(toy.lent, toy.back); /* otherwise it has not ended */
    ck_assert(memcmp(toy.values, values, bytes) == 0);
    toy_end();
    gw_free(values);
}
END_TEST

START_TEST(silence_names_the_server_and_ends_with_it)
{
    char text[200];
    toy_begin(SEED, 64, 1, &plain);
    toy.loss = 100;
    uint64_t request = begin((struct gw__access){
        .count = 4000, .values = some_values, .clock = GW__NO_CLOCK});
    for (unsigned i = 0; i < 30000; i++)
        toy_step();
    gw__worker_waits_for(toy.worker, toy.now_ns, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "server 33 (slots "));
    ck_assert_uint_gt(counts().retries, 5);
    ck_assert_uint_lt(counts().retries, 200); /* it backs off */
    toy.loss = 0;
    ck_assert_int_eq(toy_wait(request), GW_OK);
    gw__worker_waits_for(toy.worker, toy.now_ns, text, sizeof text);
    ck_assert_str_eq(text, "no server");
    toy_end();
}
END_TEST

START_TEST(a_slot_without_primary_is_waited_for)
{
    toy_begin(SEED, 64, 1, &plain);
    for (unsigned slot = 0; slot < 64; slot += 2)
        toy.truth.slots[slot].primary = GW__NO_NODE;
    toy.truth.version++;
    gw__worker_routes(toy.worker, toy.now_ns, &toy.truth);
    uint64_t request = begin((struct gw__access){
        .count = 4000, .values = some_values, .clock = GW__NO_CLOCK});
    for (unsigned i = 0; i < 1000; i++)
        toy_step();
    struct gw_error why;
    ck_assert_int_eq(gw__worker_result(toy.worker, request, &why), GW_PENDING);
    for (unsigned slot = 0; slot < 64; slot += 2)
        toy.truth.slots[slot].primary = TOY_FIRST + 1;
    toy.truth.version++;
    gw__worker_routes(toy.worker, toy.now_ns, &toy.truth);
    ck_assert_int_eq(toy_wait(request), GW_OK);
    toy_end();
}
END_TEST

START_TEST(commands_are_brought_to_the_clock_and_to_servers)
{
    struct gw_error why;
    struct gw_ps_work work = {0};
    enum gw_err said = GW_EINTERNAL;
    uint64_t request;
    toy_begin(SEED, 64, 1, &plain);
    toy.loss = 30;
    toy_move(64);
    const struct gw__clock_command next = {
        .kind = GW__CLOCK_NEXT, .who = {1, 5}, .number = 3};
    ck_assert(!gw__worker_clock(toy.worker, toy.now_ns, 2, &next, &work,
                                &request, &why));
    ck_assert_int_eq(toy_wait(request), GW_OK);
    ck_assert_uint_eq(work.epoch, 7);
    for (unsigned i = 0; i < 20 && said != GW_OK; i++) {
        ck_assert(!gw__worker_save(toy.worker, toy.now_ns, TOY_FIRST + 2, 9,
                                   "/here", &said, &request, &why));
        ck_assert_int_eq(toy_wait(request), GW_OK);
        ck_assert(said == (toy.saves > 1 ? said : GW_PENDING));
    }
    ck_assert_int_eq(said, GW_OK);
    toy_end();
}
END_TEST

START_TEST(a_detached_push_still_counts)
{
    struct gw_error why;
    float *values = malloc(1000 * sizeof *values);
    toy_begin(SEED, 64, 1, &plain);
    toy.loss = 50;
    memcpy(values, some_values, 1000 * sizeof *values);
    uint64_t request = begin((struct gw__access){
        .count = 1000, .values = values, .clock = GW__NO_CLOCK});
    ck_assert(!gw__worker_detach(toy.worker, request));
    free(values);
    ck_assert_int_eq(gw__worker_result(toy.worker, request, &why), GW_EINVAL);
    for (unsigned i = 0; i < 100000 && gw__worker_pushes(toy.worker); i++)
        toy_step();
    ck_assert_uint_eq(gw__worker_pushes(toy.worker), 0);
    for (unsigned i = 0; i < 1000; i++)
        ck_assert(toy.values[i] == (float)i);
    toy_end();
}
END_TEST

/* From the right server, to the right request, and wrong in all other
 * fields. */
static void forge(unsigned server)
{
    static float junk[4000];
    struct gw__ps_head head = {.magic = GW__PS_MAGIC,
                               .kind = GW__PS_REPLY,
                               .flags = (uint16_t)gw_rng_below(&toy.rng, 16),
                               .request = gw_rng_below(&toy.rng, 2000),
                               .done = gw_rng_next(&toy.rng) &
                                       gw_rng_next(&toy.rng),
                               .code = -(int32_t)gw_rng_below(&toy.rng, 20)};
    struct gw__message_in message = {.from = TOY_FIRST + server,
                                     .part_count = 3};
    atomic_init(&message.holds, 2);
    message.parts[0] = (struct gw__messenger_part){&head, sizeof head};
    message.parts[1] =
        (struct gw__messenger_part){junk, gw_rng_below(&toy.rng, 9000)};
    message.parts[2] =
        (struct gw__messenger_part){junk, 4 * gw_rng_below(&toy.rng, 100)};
    if (gw_rng_below(&toy.rng, 10) == 0)
        message.parts[0].bytes = gw_rng_below(&toy.rng, sizeof head);
    gw__worker_message_in(toy.worker, toy.now_ns, &message);
    ck_assert_uint_eq(atomic_load(&message.holds), 1);
}

/* The worker believes false acknowledgements, but does not crash. */
START_TEST(forged_replies_do_no_harm_here)
{
    float out[300];
    toy_begin(SEED, 64, 1, &plain);
    toy.lied = true;
    for (unsigned round = 0; round < 50; round++) {
        uint64_t requests[2];
        const struct gw__access access = {
            .keys = some_keys, .count = 300, .clock = GW__NO_CLOCK};
        struct gw__access push = access, pull = access;
        push.values = some_values;
        pull.out = out;
        requests[0] = begin(push);
        requests[1] = begin(pull);
        for (unsigned i = 0; i < 300; i++)
            forge((unsigned)gw_rng_below(&toy.rng, TOY_SERVERS));
        (void)toy_wait(requests[0]);
        (void)toy_wait(requests[1]);
    }
    toy_end();
}
END_TEST

Suite *suite_ps_worker(void)
{
    Suite *suite = suite_create("ps_worker");
    TCase *parts = tcase_create("ps_worker");
    tcase_add_checked_fixture(parts, fill_keys, NULL);
    tcase_add_test(parts, a_push_and_pull_gets_what_it_has_made);
    tcase_add_test(parts, a_known_key_list_travels_as_its_signature);
    tcase_add_test(parts, no_more_than_64_pushes_are_under_way);
    tcase_add_test(parts, too_many_requests_are_asked_to_wait);
    tcase_add_test(parts, what_is_not_finite_is_never_sent);
    tcase_add_test(parts,
                   a_push_that_is_refused_for_good_ends_and_others_go_on);
    tcase_add_test(parts, rows_that_lie_as_they_travel_are_lent);
    tcase_add_test(parts, silence_names_the_server_and_ends_with_it);
    tcase_add_test(parts, a_slot_without_primary_is_waited_for);
    tcase_add_test(parts, commands_are_brought_to_the_clock_and_to_servers);
    tcase_add_test(parts, a_detached_push_still_counts);
    tcase_add_test(parts, forged_replies_do_no_harm_here);
    suite_add_tcase(suite, parts);
    return suite;
}
