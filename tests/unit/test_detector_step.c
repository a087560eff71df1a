/* SPDX-License-Identifier: MIT
 *
 * The detector step by step, by hand: what it does not believe.
 */
#include <control/detector.h>

#include <check.h>
#include <stdlib.h>

Suite *suite_detector_step(void);

static const uint64_t MS = 1000000;

static void ignore_send(void *driver, uint32_t to, const void *data,
                        size_t bytes)
{
    (void)driver, (void)to, (void)data, (void)bytes;
}

static void ignore_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    (void)driver, (void)timer, (void)at_ns;
}

static void forbid_tell(void *driver, const void *data, size_t bytes)
{
    (void)driver, (void)data, (void)bytes;
    ck_abort_msg("tells something");
}

static const struct gw__actions silence = {
    .send = ignore_send, .set_timer = ignore_timer, .tell = forbid_tell};

START_TEST(a_member_does_not_accuse_itself)
{
    uint8_t bytes[GW__DETECTOR_ASK_MAX];
    const struct gw__view view = {
        .epoch = 1,
        .ring_epoch = 1,
        .ring_count = 2,
        .ring = {{0, {.low = 7}, 0}, {1, {.low = 8}, 0}}};
    struct gw__input start = {.kind = GW__START, .incarnation = 7};
    struct gw__input ask = {.kind = GW__ASKED,
                            .data = bytes,
                            .bytes = gw__detector_ask_view(bytes, &view)};
    struct gw__input died = {.kind = GW__DIED, .incarnation = 7};
    void *state = calloc(1, gw__detector_machine.state_bytes);
    ck_assert_ptr_nonnull(state);
    gw__detector_machine.step(state, &start, &silence);
    gw__detector_machine.step(state, &ask, &silence);
    gw__detector_machine.step(state, &died, &silence);
    died.from = 1; /* another incarnation of node 1 */
    gw__detector_machine.step(state, &died, &silence);
    free(state);
}
END_TEST

START_TEST(rubbish_is_ignored)
{
    void *state = calloc(1, gw__detector_machine.state_bytes);
    ck_assert_ptr_nonnull(state);
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bytes[64];
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] = (uint8_t)gw_rng_below(&rng, j ? 256 : 5);
        struct gw__input input = {
            .kind = (enum gw__input_kind)(i == 0 ? GW__START
                                                 : 1 + gw_rng_below(&rng, 4)),
            .now_ns = i * MS,
            .from = (uint32_t)gw_rng_below(&rng, 70),
            .incarnation = gw_rng_below(&rng, 3),
            .data = bytes,
            .bytes = gw_rng_below(&rng, sizeof bytes)};
        if (i == 0)
            input.from = 0;
        gw__detector_machine.step(state, &input, &silence);
    }
    free(state);
}
END_TEST

Suite *suite_detector_step(void)
{
    Suite *suite = suite_create("detector_step");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_member_does_not_accuse_itself);
    tcase_add_test(t, rubbish_is_ignored);
    suite_add_tcase(suite, t);
    return suite;
}
