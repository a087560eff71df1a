/* SPDX-License-Identifier: MIT
 *
 * The worker's machine against fake servers (ps_fake.h): for any faults of the
 * network and any moves of slots, each push counts once, and pulled values are
 * at the caller's addresses.
 */
#include "ps_fake.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_ps_worker_weather(void);

enum { SEED = 77, PUSH_COUNT = 24, KEYS_A_PUSH = 300 };

struct push {
    uint64_t request, keys[KEYS_A_PUSH];
    size_t count;
    float *values, *out;
};

static float *expected;
static struct push pushes[PUSH_COUNT];

/* Distinct keys, in some order. */
static void draw_keys(struct push *push)
{
    push->count = 1 + gw_rng_below(&fake.rng, KEYS_A_PUSH - 1);
    uint64_t stride = 1 + 2 * gw_rng_below(&fake.rng, FAKE_KEYS / 2);
    uint64_t key = gw_rng_next(&fake.rng);
    for (size_t i = 0; i < push->count; i++)
        push->keys[i] = (key + i * stride) % FAKE_KEYS;
}

static void begin_push(struct push *push)
{
    struct gw_error why;
    uint32_t width = fake.truth.tables[0].width;
    draw_keys(push);
    push->values = malloc(push->count * width * sizeof(float));
    for (size_t i = 0; i < push->count * width; i++) {
        push->values[i] = (float)gw_rng_below(&fake.rng, 8);
        expected[push->keys[i / width] * width + i % width] += push->values[i];
    }
    const struct gw__request_args wanted = {.keys = push->keys,
                                            .count = push->count,
                                            .values = push->values,
                                            .clock = GW__NO_CLOCK};
    ck_assert(!gw__worker_push_pull(fake.worker, fake.now_ns, &wanted,
                                    &push->request, &why));
}

static void end_push(struct push *push)
{
    ck_assert_int_eq(fake_wait(push->request), GW_OK);
    free(push->values);
    push->request = 0;
}

static void check_all(void)
{
    struct gw_error why;
    uint32_t width = fake.truth.tables[0].width;
    uint64_t request, *keys = malloc(FAKE_KEYS * sizeof *keys);
    float *out = malloc((size_t)FAKE_KEYS * width * sizeof *out);
    for (uint64_t i = 0; i < FAKE_KEYS; i++)
        keys[i] = (i * 977 + 5) % FAKE_KEYS;
    const struct gw__request_args wanted = {
        .keys = keys, .count = FAKE_KEYS, .out = out, .clock = GW__NO_CLOCK};
    ck_assert(!gw__worker_push_pull(fake.worker, fake.now_ns, &wanted, &request,
                                    &why));
    ck_assert_int_eq(fake_wait(request), GW_OK);
    for (size_t i = 0; i < FAKE_KEYS; i++)
        ck_assert_msg(memcmp(out + i * width, expected + keys[i] * width,
                             width * sizeof *out) == 0,
                      "key %llu", (unsigned long long)keys[i]);
    free(keys);
    free(out);
}

static const struct weather {
    unsigned slots;
    uint32_t width;
    size_t segment_bytes;
    unsigned loss, twice, moves;
    bool no_key_cache, half, halves, forgetful;
} weathers[] = {
    {.slots = 1, .width = 1},
    {.slots = 64, .width = 1},
    {.slots = 64, .width = 3, .segment_bytes = 64},
    {.slots = 8, .width = 1, .loss = 20, .twice = 20},
    {.slots = 64, .width = 1, .loss = 20, .twice = 20, .moves = 3},
    {.slots = 16, .width = 5, .segment_bytes = 100, .loss = 10, .moves = 2},
    {.slots = 64, .width = 2, .loss = 5, .moves = 1, .forgetful = true},
    {.slots = 64, .width = 2, .moves = 1, .no_key_cache = true},
    {.slots = 64, .width = 2, .loss = 10, .half = true, .halves = true},
    {.slots = 7, .width = 200, .loss = 10, .half = true},
};

static void in_weather(const struct weather *w, uint64_t seed)
{
    const struct gw__worker_config config = {.range_bytes = w->segment_bytes,
                                             .no_key_cache = w->no_key_cache,
                                             .half = w->half};
    fake_begin(seed, w->slots, w->width, &config);
    fake.loss = w->loss;
    fake.twice = w->twice;
    fake.halves = w->halves;
    fake.forgetful = w->forgetful;
    expected = calloc((size_t)FAKE_KEYS * w->width, sizeof *expected);
    memset(pushes, 0, sizeof pushes);
    for (unsigned i = 0; i < 150; i++) {
        struct push *push = &pushes[gw_rng_below(&fake.rng, PUSH_COUNT)];
        if (push->request)
            end_push(push);
        begin_push(push);
        if (gw_rng_below(&fake.rng, 10) == 0)
            fake_move(w->moves);
    }
    for (unsigned i = 0; i < PUSH_COUNT; i++)
        if (pushes[i].request)
            end_push(&pushes[i]);
    ck_assert_uint_eq(gw__worker_pushes(fake.worker), 0);
    check_all();
    free(expected);
    fake_end();
    ck_assert_uint_eq(fake.borrowed, fake.back);
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
