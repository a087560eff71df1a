/* SPDX-License-Identifier: MIT
 *
 * The worker's machine against toy servers (ps_toy.h): for any faults of the
 * network and any moves of slots, each push counts once, and pulled values are
 * at the caller's addresses.
 */
#include "ps_toy.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_worker_weather(void);

enum { SEED = 77, JOBS = 24, KEYS_A_PUSH = 300 };

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
    const struct gw__worker_config config = {.range_bytes = w->piece_bytes,
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

Suite *suite_ps_worker_weather(void)
{
    Suite *suite = suite_create("ps_worker_weather");
    TCase *weather = tcase_create("ps_worker weather");
    tcase_add_loop_test(weather, each_push_counts_once_in_any_weather, 0,
                        sizeof weathers / sizeof *weathers);
    suite_add_tcase(suite, weather);
    return suite;
}
