/* SPDX-License-Identifier: MIT
 *
 * Sends from memory of gw_alloc on every wire: a returned buffer may be
 * overwritten at once; memory that is freed and allocated again at the same
 * address is sent with its new contents; and freed memory is not kept. A wire
 * that registers memory with a device, and caches that, has to notice. Part of
 * the conformance suite of test_wire.c.
 */
#include "wire_set.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

Suite *suite_wire_memory(void);

static const size_t region_bytes[] = {1 << 20, 3 << 20, 200000, 4 << 20};
enum { REGIONS = sizeof region_bytes / sizeof *region_bytes, OVERWRITES = 20 };

/* Sends from a region of its own, which is freed when this returns. */
static void send_from_anew(struct wire_set *set, uint32_t number)
{
    size_t bytes = region_bytes[number % REGIONS];
    struct gw__header header = {.slice = number, .bytes = (uint32_t)bytes};
    struct gw__slice_view view;
    struct gw_error why = {0};
    struct gw__wire *reader = set->wires[0], *sender = set->wires[1];
    unsigned char *data = gw_alloc(bytes, NULL);
    ck_assert_ptr_nonnull(data);
    wire_set_fill(data, bytes, number);
    wire_set_send(set->wires[1], 0, &header, data, false);
    enum gw_err err = wire_set_await_from(sender, reader, 1, &view);
    (void)reader->ops->check(reader, &why);
    ck_assert_msg(err == GW_OK, "%s %s", gw_err_name(err), why.text);
    ck_assert_uint_eq(view.header->slice, number);
    ck_assert_msg(!wire_set_differs(view.data, bytes, number),
                  "slice %u is not what its memory held", number);
    reader->ops->release(reader, 1);
    ck_assert(wire_set_await_done(set->wires[1], 0, number + 1));
    gw_free(data);
}

START_TEST(reallocated_memory_is_sent_as_it_is_now)
{
    struct wire_set set;
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    for (uint32_t i = 0; i < 5 * REGIONS; i++)
        send_from_anew(&set, i);
    wire_set_end(&set);
}
END_TEST

static void *read_all(void *context)
{
    struct gw__wire *reader = context;
    struct gw__slice_view view;
    for (uint32_t i = 0; i < OVERWRITES; i++) {
        ck_assert_int_eq(wire_set_await(reader, 1, &view), GW_OK);
        ck_assert_uint_eq(view.header->slice, i);
        ck_assert_msg(!wire_set_differs(view.data, view.header->bytes, i),
                      "slice %u is not what was sent", i);
        reader->ops->release(reader, 1);
    }
    return NULL;
}

/* All from one buffer. Over shm a returned buffer has already been released. */
START_TEST(what_was_released_may_be_overwritten)
{
    enum { BYTES = 500000 };
    struct wire_set set;
    pthread_t thread;
    unsigned char *data = gw_alloc(BYTES, NULL);
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    pthread_create(&thread, NULL, read_all, set.wires[0]);
    for (uint32_t i = 0; i < OVERWRITES; i++) {
        struct gw__header header = {.slice = i, .bytes = BYTES};
        wire_set_fill(data, BYTES, i);
        wire_set_send(set.wires[1], 0, &header, data, false);
        ck_assert(wire_set_await_done(set.wires[1], 0, i + 1));
    }
    pthread_join(thread, NULL);
    wire_set_end(&set);
    gw_free(data);
}
END_TEST

/* In KiB, of this process: memory that devices hold, and locked memory. */
static unsigned long held_kib(void)
{
    unsigned long sum = 0, kib;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmPin: %lu kB", &kib) == 1 ||
            sscanf(line, "VmLck: %lu kB", &kib) == 1)
            sum += kib;
    fclose(status);
    return sum;
}

START_TEST(freed_memory_is_not_held)
{
    struct wire_set set;
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    unsigned long begin = held_kib();
    for (uint32_t i = 0; i < 4 * REGIONS; i++)
        send_from_anew(&set, i);
    ck_assert_int_eq(set.wires[1]->ops->check(set.wires[1], NULL), GW_OK);
    ck_assert_uint_le(held_kib(), begin);
    wire_set_end(&set);
}
END_TEST

Suite *suite_wire_memory(void)
{
    int wires = wire_set_count();
    Suite *suite = suite_create("wire_memory");
    TCase *tests = tcase_create("memory");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, reallocated_memory_is_sent_as_it_is_now, 0,
                        wires);
    tcase_add_loop_test(tests, what_was_released_may_be_overwritten, 0, wires);
    tcase_add_loop_test(tests, freed_memory_is_not_held, 0, wires);
    suite_add_tcase(suite, tests);
    return suite;
}
