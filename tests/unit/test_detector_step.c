/* SPDX-License-Identifier: MIT
 *
 * The detector step by step, driven by hand: reports that it does not believe.
 */
#include "detector_machine.h"

#include <cluster/messages/protocol.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

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

static void forbid_notify(void *driver, const void *data, size_t bytes)
{
    (void)driver, (void)data, (void)bytes;
    ck_abort_msg("tells something");
}

static const struct gw__actions silence = {
    .send = ignore_send, .set_timer = ignore_timer, .notify = forbid_notify};

START_TEST(a_member_does_not_suspect_itself)
{
    const struct detector_command two = {
        .view = {.epoch = 1,
                 .ring_epoch = 1,
                 .ring_count = 2,
                 .ring = {{0, {.low = 7}, 0}, {1, {.low = 8}, 0}}}};
    struct gw__input start = {.kind = GW__START, .incarnation = 7};
    struct gw__input command = {
        .kind = GW__REQUESTED, .data = &two, .bytes = sizeof two};
    struct gw__input died = {.kind = GW__DIED, .incarnation = 7};
    void *state = calloc(1, detector_machine.state_bytes);
    ck_assert_ptr_nonnull(state);
    detector_machine.step(state, &start, &silence);
    detector_machine.step(state, &command, &silence);
    detector_machine.step(state, &died, &silence);
    died.from = 1; /* another incarnation of node 1 */
    detector_machine.step(state, &died, &silence);
    free(state);
}
END_TEST

START_TEST(rubbish_is_ignored)
{
    void *state = calloc(1, detector_machine.state_bytes);
    ck_assert_ptr_nonnull(state);
    struct gw_rng rng;
    gw_rng_seed(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t bytes[64];
        for (size_t j = 0; j < sizeof bytes; j++)
            bytes[j] =
                (uint8_t)(j ? gw_rng_below(&rng, 256) : GW__PROTOCOL_BEAT);
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
        detector_machine.step(state, &input, &silence);
    }
    free(state);
}
END_TEST

/* ---- a policy instead of phi ---- */

static struct {
    struct gw_silence last;
    uint64_t intervals_ns[GW_SILENCE_INTERVALS];
    unsigned queries;
    struct gw__notice notice;
    unsigned notified;
    uint8_t beat[1024];
    size_t beat_bytes;
} seen;

static bool suspects(const struct gw_silence *s)
{
    seen.queries++;
    seen.last = *s;
    for (unsigned i = 0; i < s->interval_count; i++)
        seen.intervals_ns[i] = s->intervals_ns[i];
    return s->silence_ns >= 70 * MS;
}

static void keep_beat(void *driver, uint32_t to, const void *data, size_t bytes)
{
    (void)driver, (void)to;
    ck_assert_uint_le(bytes, sizeof seen.beat);
    memcpy(seen.beat, data, bytes);
    seen.beat_bytes = bytes;
}

static void keep_notice(void *driver, const void *data, size_t bytes)
{
    (void)driver;
    ck_assert_uint_eq(bytes, sizeof seen.notice);
    memcpy(&seen.notice, data, sizeof seen.notice);
    seen.notified++;
}

/* Node `self` of two, whose incarnations are 7 and 8. */
static void *detector_of(unsigned self, const struct gw_suspicion *policy,
                         const struct gw__actions *actions)
{
    const struct detector_command two = {
        .view = {.epoch = 1,
                 .ring_epoch = 1,
                 .ring_count = 2,
                 .ring = {{0, {.low = 7}, 0}, {1, {.low = 8}, 0}}}};
    struct gw__detector_config config = gw__detector_defaults;
    config.suspicion = policy;
    struct gw__input start = {.kind = GW__START,
                              .from = self,
                              .incarnation = 7 + self,
                              .data = &config,
                              .bytes = sizeof config};
    struct gw__input command = {
        .kind = GW__REQUESTED, .data = &two, .bytes = sizeof two};
    void *state = calloc(1, detector_machine.state_bytes);
    ck_assert_ptr_nonnull(state);
    detector_machine.step(state, &start, actions);
    detector_machine.step(state, &command, actions);
    return state;
}

static void beat_at(void *state, uint64_t ms, const struct gw__actions *actions)
{
    const struct gw__input beat = {.kind = GW__MESSAGE,
                                   .now_ns = ms * MS,
                                   .from = 1,
                                   .incarnation = 8,
                                   .data = seen.beat,
                                   .bytes = seen.beat_bytes};
    detector_machine.step(state, &beat, actions);
}

static void tick_at(void *state, uint64_t ms, const struct gw__actions *actions)
{
    const struct gw__input tick = {.kind = GW__TIMER, .now_ns = ms * MS};
    detector_machine.step(state, &tick, actions);
}

START_TEST(a_policy_is_queried_in_place_of_phi)
{
    static const struct gw_suspicion policy = {.suspects = suspects};
    static const struct gw__actions acts = {
        .send = keep_beat, .set_timer = ignore_timer, .notify = keep_notice};
    memset(&seen, 0, sizeof seen);
    void *other = detector_of(1, NULL, &acts);
    tick_at(other, 20, &acts);
    ck_assert_uint_gt(seen.beat_bytes, 0);
    void *state = detector_of(0, &policy, &acts);
    const uint64_t beats[] = {200, 220, 250, 265};
    for (unsigned i = 0; i < 4; i++) {
        beat_at(state, beats[i], &acts);
        tick_at(state, beats[i], &acts);
    }
    ck_assert_uint_eq(seen.last.silence_ns, 0);
    for (unsigned ms = 285; ms <= 325; ms += 20)
        tick_at(state, ms, &acts);
    ck_assert_uint_eq(seen.notified, 0);
    ck_assert_uint_eq(seen.last.silence_ns, 60 * MS);
    ck_assert_uint_eq(seen.last.beat_ns, 20 * MS);
    ck_assert_uint_eq(seen.last.interval_count, 3);
    ck_assert_uint_eq(seen.intervals_ns[0], 20 * MS);
    ck_assert_uint_eq(seen.intervals_ns[2], 15 * MS); /* the newest last */
    tick_at(state, 345, &acts);
    ck_assert_uint_eq(seen.notified, 1);
    ck_assert_int_eq(seen.notice.kind, GW__NOTICE_SUSPECT);
    ck_assert(!seen.notice.certain);
    ck_assert_uint_eq(seen.notice.silence_ns, 80 * MS);
    ck_assert_uint_eq(seen.queries, 8);
    free(state);
    free(other);
}
END_TEST

Suite *suite_detector_step(void)
{
    Suite *suite = suite_create("detector_step");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_member_does_not_suspect_itself);
    tcase_add_test(t, rubbish_is_ignored);
    tcase_add_test(t, a_policy_is_queried_in_place_of_phi);
    suite_add_tcase(suite, t);
    return suite;
}
