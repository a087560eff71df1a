/* SPDX-License-Identifier: MIT
 *
 * The worker's machine against toy servers (ps_toy.h): whatever the network
 * does and wherever slots move, each push counts once, and what is pulled lies
 * where the caller wants it.
 */
#include "ps_toy.h"

#include <gradwire/wire.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_worker(void);

enum { SEED = 77, JOBS = 24, KEYS_A_PUSH = 300 };

/* ---- pushes and pulls at random ---- */

struct push {
    uint64_t request, keys[KEYS_A_PUSH];
    size_t count;
    float *values, *out;
};

static float *expected;
static struct push jobs[JOBS];

/* Distinct keys, in some order. */
static void draw_keys(struct push *job)
{
    job->count = 1 + gw_rng_below(&toy.rng, KEYS_A_PUSH - 1);
    uint64_t stride = 1 + 2 * gw_rng_below(&toy.rng, TOY_KEYS / 2);
    uint64_t key = gw_rng_next(&toy.rng);
    for (size_t i = 0; i < job->count; i++)
        job->keys[i] = (key + i * stride) % TOY_KEYS;
}

static void begin_push(struct push *job)
{
    struct gw_error why;
    uint32_t width = toy.truth.tables[0].width;
    draw_keys(job);
    job->values = malloc(job->count * width * sizeof(float));
    for (size_t i = 0; i < job->count * width; i++) {
        job->values[i] = (float)gw_rng_below(&toy.rng, 8);
        expected[job->keys[i / width] * width + i % width] += job->values[i];
    }
    const struct gw__access access = {.keys = job->keys,
                                      .count = job->count,
                                      .values = job->values,
                                      .clock = GW__NO_CLOCK};
    ck_assert(!gw__worker_access(toy.worker, toy.now_ns, &access, &job->request,
                                 &why));
}

static void end_push(struct push *job)
{
    ck_assert_int_eq(toy_wait(job->request), GW_OK);
    free(job->values);
    job->request = 0;
}

static void check_all(void)
{
    struct gw_error why;
    uint32_t width = toy.truth.tables[0].width;
    uint64_t request, *keys = malloc(TOY_KEYS * sizeof *keys);
    float *out = malloc((size_t)TOY_KEYS * width * sizeof *out);
    for (uint64_t i = 0; i < TOY_KEYS; i++)
        keys[i] = (i * 977 + 5) % TOY_KEYS;
    const struct gw__access access = {
        .keys = keys, .count = TOY_KEYS, .out = out, .clock = GW__NO_CLOCK};
    ck_assert(
        !gw__worker_access(toy.worker, toy.now_ns, &access, &request, &why));
    ck_assert_int_eq(toy_wait(request), GW_OK);
    for (size_t i = 0; i < TOY_KEYS; i++)
        ck_assert_msg(memcmp(out + i * width, expected + keys[i] * width,
                             width * sizeof *out) == 0,
                      "key %llu", (unsigned long long)keys[i]);
    free(keys);
    free(out);
}

static const struct weather {
    unsigned slots;
    uint32_t width;
    size_t piece_bytes;
    unsigned loss, twice, moves;
    bool no_key_cache, half, halves, forgetful;
} weathers[] = {
    {.slots = 1, .width = 1},
    {.slots = 64, .width = 1},
    {.slots = 64, .width = 3, .piece_bytes = 64},
    {.slots = 8, .width = 1, .loss = 20, .twice = 20},
    {.slots = 64, .width = 1, .loss = 20, .twice = 20, .moves = 3},
    {.slots = 16, .width = 5, .piece_bytes = 100, .loss = 10, .moves = 2},
    {.slots = 64, .width = 2, .loss = 5, .moves = 1, .forgetful = true},
    {.slots = 64, .width = 2, .moves = 1, .no_key_cache = true},
    {.slots = 64, .width = 2, .loss = 10, .half = true, .halves = true},
    {.slots = 7, .width = 200, .loss = 10, .half = true},
};

static void in_weather(const struct weather *w, uint64_t seed)
{
    const struct gw__worker_config config = {.piece_bytes = w->piece_bytes,
                                             .no_key_cache = w->no_key_cache,
                                             .half = w->half};
    toy_begin(seed, w->slots, w->width, &config);
    toy.loss = w->loss;
    toy.twice = w->twice;
    toy.halves = w->halves;
    toy.forgetful = w->forgetful;
    expected = calloc((size_t)TOY_KEYS * w->width, sizeof *expected);
    memset(jobs, 0, sizeof jobs);
    for (unsigned i = 0; i < 150; i++) {
        struct push *job = &jobs[gw_rng_below(&toy.rng, JOBS)];
        if (job->request)
            end_push(job);
        begin_push(job);
        if (gw_rng_below(&toy.rng, 10) == 0)
            toy_move(w->moves);
    }
    for (unsigned i = 0; i < JOBS; i++)
        if (jobs[i].request)
            end_push(&jobs[i]);
    ck_assert_uint_eq(gw__worker_pushes(toy.worker), 0);
    check_all();
    free(expected);
    toy_end();
    ck_assert_uint_eq(toy.lent, toy.back);
}

START_TEST(each_push_counts_once_in_any_weather)
{
    for (uint64_t seed = SEED; seed < SEED + 6; seed++) {
        printf("weather %d, seed %llu\n", _i, (unsigned long long)seed);
        in_weather(&weathers[_i], seed);
    }
}
END_TEST

/* ---- one thing at a time ---- */

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
    const struct gw__worker_config config = {.piece_bytes = 16};
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
    bad[1] = 2; /* the servers hear of it with the next one */
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
    ck_assert_uint_eq(counts().bytes_in_place, bytes);
    ck_assert_int_eq(toy_wait(request), GW_OK);
    ck_assert_uint_eq(toy.lent, toy.back); /* or it has not ended */
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
    ck_assert_str_eq(text, "nobody");
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

Suite *suite_ps_worker(void)
{
    Suite *suite = suite_create("ps_worker");
    TCase *weather = tcase_create("ps_worker weather");
    TCase *parts = tcase_create("ps_worker");
    tcase_add_loop_test(weather, each_push_counts_once_in_any_weather, 0,
                        sizeof weathers / sizeof *weathers);
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
    suite_add_tcase(suite, weather);
    suite_add_tcase(suite, parts);
    return suite;
}
