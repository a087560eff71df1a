/* SPDX-License-Identifier: MIT
 *
 * The worker's machine against fake servers (ps_fake.h), one aspect at a time.
 * test_ps_worker_weather.c has all faults at once.
 */
#include "ps_fake.h"

#include <gradwire/wire.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_worker(void);

enum { SEED = 77 };

static const struct gw__worker_config plain;
static uint64_t some_keys[FAKE_KEYS];
static float some_values[FAKE_KEYS];

static void fill_keys(void)
{
    for (uint64_t i = 0; i < FAKE_KEYS; i++) {
        some_keys[i] = i;
        some_values[i] = (float)i;
    }
}

static uint64_t begin(struct gw__request_args wanted)
{
    struct gw_error why;
    uint64_t request;
    if (!wanted.keys)
        wanted.keys = some_keys;
    ck_assert(!gw__worker_push_pull(fake.worker, fake.now_ns, &wanted, &request,
                                    &why));
    return request;
}

static struct gw_ps_counts counts(void)
{
    struct gw_ps_counts now;
    gw__worker_counts(fake.worker, &now);
    return now;
}

START_TEST(a_push_and_pull_gets_what_it_has_made)
{
    float out[1000];
    fake_begin(SEED, 64, 1, &plain);
    for (unsigned round = 1; round <= 3; round++) {
        uint64_t request =
            begin((struct gw__request_args){.count = 1000,
                                            .values = some_values,
                                            .out = out,
                                            .clock = GW__NO_CLOCK});
        ck_assert_int_eq(fake_wait(request), GW_OK);
        for (unsigned i = 0; i < 1000; i++)
            ck_assert(out[i] == (float)(round * i));
    }
    fake_end();
}
END_TEST

START_TEST(a_known_key_list_is_sent_as_its_signature)
{
    fake_begin(SEED, 64, 1, &plain);
    for (unsigned round = 0; round < 10; round++)
        ck_assert_int_eq(
            fake_wait(begin((struct gw__request_args){
                .count = 4000, .values = some_values, .clock = GW__NO_CLOCK})),
            GW_OK);
    ck_assert_uint_eq(counts().key_lists_sent, FAKE_SERVERS);
    ck_assert_uint_eq(counts().key_lists_cached, 9 * FAKE_SERVERS);
    ck_assert_uint_eq(fake.bare, 9 * FAKE_SERVERS);
    fake_end();
}
END_TEST

START_TEST(no_more_than_64_pushes_are_in_flight)
{
    const struct gw__worker_config config = {.range_bytes = 16};
    fake_begin(SEED, 64, 1, &config);
    uint64_t request = begin((struct gw__request_args){
        .count = 4000, .values = some_values, .clock = GW__NO_CLOCK});
    ck_assert_uint_eq(fake.mail_count, GW__PUSHES_MAX);
    ck_assert_uint_le(fake.largest, 16);
    /* Pulls go on. */
    float out[3];
    uint64_t pull = begin((struct gw__request_args){
        .count = 3, .out = out, .clock = GW__NO_CLOCK});
    ck_assert_uint_gt(fake.mail_count, GW__PUSHES_MAX);
    ck_assert_int_eq(fake_wait(pull), GW_OK);
    ck_assert_int_eq(fake_wait(request), GW_OK);
    ck_assert_uint_ge(fake.messages, 1000);
    fake_end();
}
END_TEST

START_TEST(too_many_requests_have_to_wait)
{
    struct gw_error why;
    uint64_t request, requests[GW__REQUESTS_MAX];
    fake_begin(SEED, 64, 1, &plain);
    struct gw__request_args wanted = {.keys = some_keys,
                                      .count = 1,
                                      .values = some_values,
                                      .clock = GW__NO_CLOCK};
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        requests[i] = begin(wanted);
    ck_assert_int_eq(
        gw__worker_push_pull(fake.worker, fake.now_ns, &wanted, &request, &why),
        GW_PENDING);
    ck_assert_uint_eq(gw__worker_pushes(fake.worker), GW__REQUESTS_MAX);
    for (unsigned i = 0; i < GW__REQUESTS_MAX; i++)
        ck_assert_int_eq(fake_wait(requests[i]), GW_OK);
    ck_assert_int_eq(gw__worker_result(fake.worker, requests[0], &why),
                     GW_EINVAL);
    fake_end();
}
END_TEST

START_TEST(what_is_not_finite_is_never_sent)
{
    struct gw_error why;
    uint64_t request;
    float bad[3] = {1, NAN, 3};
    fake_begin(SEED, 64, 1, &plain);
    const struct gw__request_args wanted = {
        .keys = some_keys, .count = 3, .values = bad, .clock = GW__NO_CLOCK};
    ck_assert_int_eq(
        gw__worker_push_pull(fake.worker, fake.now_ns, &wanted, &request, &why),
        GW_ENUMERIC);
    ck_assert_ptr_nonnull(strstr(why.text, "key 1"));
    ck_assert_uint_eq(fake.messages, 0);
    bad[1] = 2; /* the servers get the count with the next push */
    ck_assert_int_eq(fake_wait(begin(wanted)), GW_OK);
    ck_assert_uint_eq(fake.nans, 1);
    fake_end();
    const struct gw__worker_config half = {.half = true};
    bad[1] = 1e6F;
    fake_begin(SEED, 64, 1, &half);
    ck_assert_int_eq(
        gw__worker_push_pull(fake.worker, fake.now_ns, &wanted, &request, &why),
        GW_ENUMERIC);
    ck_assert_ptr_nonnull(strstr(why.text, "half"));
    fake_end();
}
END_TEST

START_TEST(a_push_that_is_refused_for_good_ends_and_others_go_on)
{
    fake_begin(SEED, 64, 1, &plain);
    fake.refuse_for_good = GW_EINVAL;
    struct gw__request_args wanted = {
        .count = 500, .values = some_values, .clock = GW__NO_CLOCK};
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(fake_wait(begin(wanted)), GW_EINVAL);
    fake.refuse_for_good = GW_OK;
    ck_assert_int_eq(fake_wait(begin(wanted)), GW_OK);
    for (unsigned i = 0; i < 500; i++)
        ck_assert(fake.values[i] == (float)i);
    fake_end();
}
END_TEST

START_TEST(rows_laid_out_as_sent_are_borrowed)
{
    struct gw_error why;
    enum { WIDTH = GW__LONE_ROW_BYTES / 4, ROWS = 20 };
    fake_begin(SEED, 64, WIDTH, &plain);
    size_t bytes = (size_t)ROWS * WIDTH * 4;
    float *values = gw_alloc(bytes, &why);
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++)
        values[i] = (float)(i % 1000);
    uint64_t request = begin((struct gw__request_args){
        .count = ROWS, .values = values, .lend = true, .clock = GW__NO_CLOCK});
    for (unsigned i = 0; i < FAKE_MESSAGES; i++)
        if (fake.mail[i].used) {
            const float *borrowed = fake.mail[i].borrowed_data;
            ck_assert(borrowed >= values && borrowed < values + bytes / 4);
        }
    ck_assert_int_eq(fake_wait(request), GW_OK);
    ck_assert_uint_eq(fake.borrowed,
                      fake.back); /* otherwise it has not ended */
    ck_assert(memcmp(fake.values, values, bytes) == 0);
    fake_end();
    gw_free(values);
}
END_TEST

START_TEST(silence_names_the_server_and_ends_with_it)
{
    char text[200];
    fake_begin(SEED, 64, 1, &plain);
    fake.loss = 100;
    uint64_t request = begin((struct gw__request_args){
        .count = 4000, .values = some_values, .clock = GW__NO_CLOCK});
    for (unsigned i = 0; i < 30000; i++)
        fake_step();
    gw__worker_describe_wait(fake.worker, fake.now_ns, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "server 33 (slots "));
    ck_assert_uint_gt(counts().retries, 5);
    ck_assert_uint_lt(counts().retries, 200); /* it backs off */
    fake.loss = 0;
    ck_assert_int_eq(fake_wait(request), GW_OK);
    gw__worker_describe_wait(fake.worker, fake.now_ns, text, sizeof text);
    ck_assert_str_eq(text, "no server");
    fake_end();
}
END_TEST

START_TEST(a_slot_without_primary_is_waited_for)
{
    fake_begin(SEED, 64, 1, &plain);
    for (unsigned slot = 0; slot < 64; slot += 2)
        fake.truth.slots[slot].primary = GW__NO_NODE;
    fake.truth.version++;
    gw__worker_routes(fake.worker, fake.now_ns, &fake.truth);
    uint64_t request = begin((struct gw__request_args){
        .count = 4000, .values = some_values, .clock = GW__NO_CLOCK});
    for (unsigned i = 0; i < 1000; i++)
        fake_step();
    struct gw_error why;
    ck_assert_int_eq(gw__worker_result(fake.worker, request, &why), GW_PENDING);
    for (unsigned slot = 0; slot < 64; slot += 2)
        fake.truth.slots[slot].primary = FAKE_FIRST + 1;
    fake.truth.version++;
    gw__worker_routes(fake.worker, fake.now_ns, &fake.truth);
    ck_assert_int_eq(fake_wait(request), GW_OK);
    fake_end();
}
END_TEST

START_TEST(commands_are_brought_to_the_clock_and_to_servers)
{
    struct gw_error why;
    struct gw_ps_work work = {0};
    enum gw_err code = GW_EINTERNAL;
    uint64_t request;
    fake_begin(SEED, 64, 1, &plain);
    fake.loss = 30;
    fake_move(64);
    const struct gw__clock_command next = {
        .kind = GW__CLOCK_NEXT, .who = {1, 5}, .number = 3};
    ck_assert(!gw__worker_clock(fake.worker, fake.now_ns, 2, &next, &work,
                                &request, &why));
    ck_assert_int_eq(fake_wait(request), GW_OK);
    ck_assert_uint_eq(work.epoch, 7);
    for (unsigned i = 0; i < 20 && code != GW_OK; i++) {
        ck_assert(!gw__worker_save(fake.worker, fake.now_ns, FAKE_FIRST + 2, 9,
                                   "/here", &code, &request, &why));
        ck_assert_int_eq(fake_wait(request), GW_OK);
        ck_assert(code == (fake.saves > 1 ? code : GW_PENDING));
    }
    ck_assert_int_eq(code, GW_OK);
    fake_end();
}
END_TEST

START_TEST(a_detached_push_still_counts)
{
    struct gw_error why;
    float *values = malloc(1000 * sizeof *values);
    fake_begin(SEED, 64, 1, &plain);
    fake.loss = 50;
    memcpy(values, some_values, 1000 * sizeof *values);
    uint64_t request = begin((struct gw__request_args){
        .count = 1000, .values = values, .clock = GW__NO_CLOCK});
    ck_assert(!gw__worker_detach(fake.worker, request));
    free(values);
    ck_assert_int_eq(gw__worker_result(fake.worker, request, &why), GW_EINVAL);
    for (unsigned i = 0; i < 100000 && gw__worker_pushes(fake.worker); i++)
        fake_step();
    ck_assert_uint_eq(gw__worker_pushes(fake.worker), 0);
    for (unsigned i = 0; i < 1000; i++)
        ck_assert(fake.values[i] == (float)i);
    fake_end();
}
END_TEST

/* From the right server, to the right request, and wrong in all other
 * fields. */
static void forge(unsigned server)
{
    static float junk[4000];
    struct gw__ps_head head = {.magic = GW__PS_MAGIC,
                               .kind = GW__PS_REPLY,
                               .flags = (uint16_t)gw_rng_below(&fake.rng, 16),
                               .request = gw_rng_below(&fake.rng, 2000),
                               .done = gw_rng_next(&fake.rng) &
                                       gw_rng_next(&fake.rng),
                               .code = -(int32_t)gw_rng_below(&fake.rng, 20)};
    struct gw__message_in message = {.from = FAKE_FIRST + server,
                                     .part_count = 3};
    atomic_init(&message.holds, 2);
    message.parts[0] = (struct gw__messenger_part){&head, sizeof head};
    message.parts[1] =
        (struct gw__messenger_part){junk, gw_rng_below(&fake.rng, 9000)};
    message.parts[2] =
        (struct gw__messenger_part){junk, 4 * gw_rng_below(&fake.rng, 100)};
    if (gw_rng_below(&fake.rng, 10) == 0)
        message.parts[0].bytes = gw_rng_below(&fake.rng, sizeof head);
    gw__worker_message_in(fake.worker, fake.now_ns, &message);
    ck_assert_uint_eq(atomic_load(&message.holds), 1);
}

/* The worker believes false acknowledgements, but does not crash. */
START_TEST(forged_replies_do_no_harm_here)
{
    float out[300];
    fake_begin(SEED, 64, 1, &plain);
    fake.lied = true;
    for (unsigned round = 0; round < 50; round++) {
        uint64_t requests[2];
        const struct gw__request_args wanted = {
            .keys = some_keys, .count = 300, .clock = GW__NO_CLOCK};
        struct gw__request_args push = wanted, pull = wanted;
        push.values = some_values;
        pull.out = out;
        requests[0] = begin(push);
        requests[1] = begin(pull);
        for (unsigned i = 0; i < 300; i++)
            forge((unsigned)gw_rng_below(&fake.rng, FAKE_SERVERS));
        (void)fake_wait(requests[0]);
        (void)fake_wait(requests[1]);
    }
    fake_end();
}
END_TEST

Suite *suite_ps_worker(void)
{
    Suite *suite = suite_create("ps_worker");
    TCase *parts = tcase_create("ps_worker");
    tcase_add_checked_fixture(parts, fill_keys, NULL);
    tcase_add_test(parts, a_push_and_pull_gets_what_it_has_made);
    tcase_add_test(parts, a_known_key_list_is_sent_as_its_signature);
    tcase_add_test(parts, no_more_than_64_pushes_are_in_flight);
    tcase_add_test(parts, too_many_requests_have_to_wait);
    tcase_add_test(parts, what_is_not_finite_is_never_sent);
    tcase_add_test(parts,
                   a_push_that_is_refused_for_good_ends_and_others_go_on);
    tcase_add_test(parts, rows_laid_out_as_sent_are_borrowed);
    tcase_add_test(parts, silence_names_the_server_and_ends_with_it);
    tcase_add_test(parts, a_slot_without_primary_is_waited_for);
    tcase_add_test(parts, commands_are_brought_to_the_clock_and_to_servers);
    tcase_add_test(parts, a_detached_push_still_counts);
    tcase_add_test(parts, forged_replies_do_no_harm_here);
    suite_add_tcase(suite, parts);
    return suite;
}
