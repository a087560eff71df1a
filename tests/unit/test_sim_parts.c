/* SPDX-License-Identifier: MIT
 *
 * The parts of the virtual network: the queue keeps its order for any
 * insertions and removals, a node's clock and its inverse agree to the
 * nanosecond, and a disk keeps the newest value of each key.
 */
#include <base/disk.h>
#include <sim/node_clock.h>
#include <sim/queue.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_sim_parts(void);

/* ---- the queue ---- */

START_TEST(the_queue_is_ordered_by_time_and_then_by_arrival)
{
    static const uint64_t times[] = {5, 3, 5, 1, 3, 3, 9, 1};
    static const uint32_t order[] = {3, 7, 1, 4, 5, 0, 2, 6};
    struct gw__queue queue = {.most = 100};
    uint64_t time_ns;
    for (uint32_t i = 0; i < 8; i++) {
        struct gw__event *event = gw__queue_acquire(&queue, 0);
        event->index = (uint16_t)i;
        gw__queue_add(&queue, event, times[i]);
    }
    for (uint32_t i = 0; i < 8; i++) {
        ck_assert_uint_eq(gw__queue_next_ns(&queue), times[order[i]]);
        struct gw__event *event = gw__queue_pop(&queue, &time_ns);
        ck_assert_uint_eq(event->index, order[i]);
        ck_assert_uint_eq(time_ns, times[order[i]]);
        gw__queue_release(&queue, event);
    }
    ck_assert_ptr_null(gw__queue_pop(&queue, &time_ns));
    ck_assert_uint_eq(gw__queue_next_ns(&queue), UINT64_MAX);
    gw__queue_fini(&queue);
}
END_TEST

enum { EVENTS = 200 };

struct model {
    struct gw__queue queue;
    struct gw__event *events[EVENTS]; /* NULL: not in use */
    uint64_t times[EVENTS];
    struct gw_rng rng;
};

static size_t least(const struct model *model)
{
    size_t best = EVENTS;
    for (size_t i = 0; i < EVENTS; i++)
        if (model->events[i] &&
            (best == EVENTS || model->times[i] < model->times[best]))
            best = i;
    return best;
}

/* All times differ, so that the least is unique. */
static void add_one(struct model *model, size_t i, uint64_t round)
{
    size_t bytes = gw_rng_below(&model->rng, 300);
    struct gw__event *event = gw__queue_acquire(&model->queue, bytes);
    ck_assert_ptr_nonnull(event);
    ck_assert_uint_eq(event->bytes, bytes);
    memset(event->data, 0xee, bytes);
    event->index = (uint16_t)i;
    model->events[i] = event;
    model->times[i] = gw_rng_below(&model->rng, 1000) << 32 | round;
    gw__queue_add(&model->queue, event, model->times[i]);
}

static void pop_one(struct model *model)
{
    uint64_t time_ns = 0;
    size_t i = least(model);
    struct gw__event *event = gw__queue_pop(&model->queue, &time_ns);
    ck_assert_ptr_eq(event, i == EVENTS ? NULL : model->events[i]);
    if (!event)
        return;
    ck_assert_uint_eq(time_ns, model->times[i]);
    gw__queue_release(&model->queue, event);
    model->events[i] = NULL;
}

START_TEST(events_can_be_taken_out_from_anywhere)
{
    static struct model model = {.queue = {.most = EVENTS}};
    gw_rng_seed(&model.rng, (uint64_t)_i);
    for (uint64_t round = 0; round < 5000; round++) {
        size_t i = gw_rng_below(&model.rng, EVENTS);
        uint64_t what = gw_rng_below(&model.rng, 3);
        if (what == 0) {
            pop_one(&model);
        } else if (!model.events[i]) {
            add_one(&model, i, round);
        } else if (what == 1) {
            gw__queue_remove(&model.queue, model.events[i]);
            gw__queue_release(&model.queue, model.events[i]);
            model.events[i] = NULL;
        }
    }
    while (model.queue.count)
        pop_one(&model);
    ck_assert_uint_eq(model.queue.in_use, 0);
    gw__queue_fini(&model.queue);
}
END_TEST

START_TEST(a_queue_is_bounded_and_events_come_again)
{
    struct gw__queue queue = {.most = 3};
    struct gw__event *events[3];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 3; i++) {
            events[i] = gw__queue_acquire(&queue, 100000 - i);
            ck_assert_ptr_nonnull(events[i]);
            ck_assert_uint_eq((uintptr_t)events[i]->data % 16, 0);
        }
        ck_assert_ptr_null(gw__queue_acquire(&queue, 0));
        for (unsigned i = 0; i < 3; i++)
            gw__queue_release(&queue, events[i]);
    }
    ck_assert_uint_eq(queue.arena_count, 3);
    gw__queue_fini(&queue);
}
END_TEST

/* ---- clocks ---- */

START_TEST(a_clock_and_its_inverse_agree)
{
    struct gw_rng rng;
    gw_rng_seed(&rng, 4);
    for (unsigned i = 0; i < 100000; i++) {
        struct gw__node_clock clock = {
            .since_ns = gw_rng_below(&rng, 1000000000),
            .shown_ns = gw_rng_below(&rng, UINT64_C(1) << 50),
            .ppm = (int32_t)gw_rng_below(&rng, 2 * GW__CLOCK_PPM_MAX + 1) -
                   GW__CLOCK_PPM_MAX,
        };
        uint64_t range = UINT64_C(1) << gw_rng_below(&rng, 47);
        uint64_t shown = clock.shown_ns + 1 + gw_rng_below(&rng, range);
        uint64_t when = gw__clock_when(&clock, shown);
        ck_assert_uint_ge(gw__clock_at(&clock, when), shown);
        ck_assert_uint_gt(when, clock.since_ns);
        ck_assert_uint_lt(gw__clock_at(&clock, when - 1), shown);
    }
}
END_TEST

START_TEST(a_clock_never_falls_when_its_rate_changes)
{
    struct gw__node_clock clock = {.shown_ns = 1000};
    struct gw_rng rng;
    uint64_t time_ns = 0, before = 1000;
    gw_rng_seed(&rng, 5);
    for (unsigned i = 0; i < 10000; i++) {
        time_ns += gw_rng_below(&rng, 50);
        int32_t ppm = (int32_t)gw_rng_below(&rng, 1000001) - 500000;
        gw__clock_rate(&clock, time_ns, ppm);
        uint64_t shown = gw__clock_at(&clock, time_ns);
        ck_assert_uint_ge(shown, before);
        before = shown;
    }
    ck_assert_uint_eq(gw__clock_when(&clock, before), clock.since_ns);
    ck_assert_uint_eq(gw__clock_when(&clock, 0), clock.since_ns);
    ck_assert_uint_eq(gw__clock_when(&clock, UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(a_clock_runs_at_its_rate)
{
    struct gw__node_clock clock = {.since_ns = 10, .shown_ns = 100};
    ck_assert_uint_eq(gw__clock_at(&clock, 1000010), 1000100);
    clock.ppm = 2000;
    ck_assert_uint_eq(gw__clock_at(&clock, 1000010), 1002100);
    ck_assert_uint_eq(gw__clock_at(&clock, 509), 599);
    ck_assert_uint_eq(gw__clock_at(&clock, 510), 601);
    clock.ppm = -500000;
    ck_assert_uint_eq(gw__clock_at(&clock, 1000010), 500100);
    ck_assert_uint_eq(gw__clock_when(&clock, 101), 12);
}
END_TEST

/* ---- disks ---- */

START_TEST(a_disk_keeps_the_newest_value_of_each_key)
{
    enum { KEYS = 300, LONGEST = 500 };
    static unsigned char newest[KEYS][LONGEST];
    static size_t length[KEYS];
    static bool written[KEYS];
    struct gw__disk disk = {0};
    struct gw_rng rng;
    size_t bytes = 0;
    gw_rng_seed(&rng, 6);
    ck_assert_ptr_null(gw__disk_read(&disk, 0, &bytes));
    for (unsigned i = 0; i < 5000; i++) {
        uint32_t key = (uint32_t)gw_rng_below(&rng, KEYS);
        const void *value = gw__disk_read(&disk, key * 4096, &bytes);
        ck_assert((value != NULL) == written[key]);
        if (value) {
            ck_assert_uint_eq(bytes, length[key]);
            ck_assert_int_eq(memcmp(value, newest[key], bytes), 0);
        }
        length[key] = gw_rng_below(&rng, LONGEST);
        memset(newest[key], (int)(i & 255), length[key]);
        written[key] = true;
        ck_assert(gw__disk_write(&disk, key * 4096, newest[key], length[key]));
    }
    ck_assert_uint_eq(disk.used, KEYS);
    ck_assert(gw__disk_write(&disk, 9, NULL, 0));
    ck_assert_ptr_nonnull(
        gw__disk_read(&disk, 9, &bytes)); /* empty, but present */
    ck_assert_uint_eq(bytes, 0);
    gw__disk_fini(&disk);
}
END_TEST

Suite *suite_sim_parts(void)
{
    Suite *suite = suite_create("sim_parts");
    TCase *queue = tcase_create("sim queue");
    tcase_add_test(queue, the_queue_is_ordered_by_time_and_then_by_arrival);
    tcase_add_loop_test(queue, events_can_be_taken_out_from_anywhere, 0, 5);
    tcase_add_test(queue, a_queue_is_bounded_and_events_come_again);
    suite_add_tcase(suite, queue);
    TCase *clock = tcase_create("sim clock");
    tcase_add_test(clock, a_clock_and_its_inverse_agree);
    tcase_add_test(clock, a_clock_never_falls_when_its_rate_changes);
    tcase_add_test(clock, a_clock_runs_at_its_rate);
    suite_add_tcase(suite, clock);
    TCase *disk = tcase_create("sim disk");
    tcase_add_test(disk, a_disk_keeps_the_newest_value_of_each_key);
    suite_add_tcase(suite, disk);
    return suite;
}
