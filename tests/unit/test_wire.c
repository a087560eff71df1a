/* SPDX-License-Identifier: MIT
 *
 * Slices on every wire: the conformance suite, with the same functions for each
 * wire. The ends of links are in test_wire_end.c.
 */
#include "wire_set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_wire(void);

static struct gw__header header_of(size_t bytes, uint32_t number)
{
    return (struct gw__header){
        .epoch = 7,
        .op = number,
        .step = number + 1,
        .chunk = number + 2,
        .slice = number + 3,
        .bytes = (uint32_t)bytes,
        .call = {.collective = 2, .count = bytes, .plan = number},
        .contributors = ~(uint64_t)number};
}

/* The head of the link must be slice `number`, which is released. `sender` as
 * in wire_set_await_from. */
static void expect(struct gw__wire *sender, struct gw__wire *wire,
                   unsigned peer, size_t bytes, uint32_t number)
{
    struct gw__slice_view view;
    struct gw__header due = header_of(bytes, number);
    enum gw_err err = wire_set_await_from(sender, wire, peer, &view);
    ck_assert_msg(err == GW_OK, "slice %u of %zu bytes: %s", number, bytes,
                  gw_err_name(err));
    due.sent_ns = view.header->sent_ns; /* a wire may have stamped it */
    ck_assert_msg(memcmp(view.header, &due, sizeof due) == 0,
                  "header %u: got op %u, %u bytes", number, view.header->op,
                  view.header->bytes);
    ck_assert_uint_eq((uintptr_t)view.data % 8, 0);
    ck_assert_msg(!wire_set_differs(view.data, bytes, number),
                  "slice %u of %zu bytes has other content", number, bytes);
    wire->ops->release(wire, peer);
}

static const size_t sizes[] = {0,       1,
                               7,       8,
                               48,      100,
                               152,     153,
                               4095,    4096,
                               8127,    8128,
                               8129,    8191,
                               8192,    8193,
                               8256,    65536,
                               262144,  1048589,
                               3145729, SET_SLICE_BYTES};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_sizes(const char *name, unsigned lanes, bool copy)
{
    struct wire_set set;
    wire_set_start(&set, name, 2, lanes);
    unsigned char *data = malloc(SET_SLICE_BYTES);
    for (uint32_t i = 0; i < SIZES; i++) {
        struct gw__header header = header_of(sizes[i], i);
        wire_set_fill(data, sizes[i], i);
        wire_set_send(set.wires[1], 0, &header, data, copy);
        memset(&header, 0, sizeof header); /* the header was already copied */
        if (copy)
            memset(data, 0xee, sizes[i]);
        expect(set.wires[1], set.wires[0], 1, sizes[i], i);
        ck_assert(wire_set_await_done(set.wires[1], 0, i + 1));
    }
    wire_set_end(&set);
    free(data);
}

START_TEST(slices_of_all_sizes_arrive_as_they_were)
{
    test_sizes(wire_set_name(_i), 0, false);
}
END_TEST

START_TEST(copied_slices_may_be_overwritten_at_once)
{
    test_sizes(wire_set_name(_i), 0, true);
}
END_TEST

START_TEST(slices_keep_their_order_over_several_lanes)
{
    test_sizes(wire_set_name(_i), 3, false);
}
END_TEST

/* One rank's half of a conversation: it sends `count` slices to the peer and
 * reads as many, in whichever order is possible. */
struct converser {
    pthread_t thread;
    struct gw__wire *wire;
    unsigned peer;
    uint32_t count;
    size_t (*size)(uint32_t number);
    unsigned char **data; /* by number modulo `buffers` */
    uint32_t buffers;
};

static void *converse_main(void *context)
{
    struct converser *t = context;
    const struct gw__wire_ops *ops = t->wire->ops;
    uint32_t sent = 0, read = 0;
    uint64_t deadline = gw_now_ns() + 20 * 1000000000ULL;
    while (sent < t->count || read < t->count) {
        struct gw__slice_view view;
        bool moved = false;
        ck_assert_msg(gw_now_ns() < deadline, "stuck: sent %u, read %u of %u",
                      sent, read, t->count);
        if (sent < t->count &&
            ops->sends_done(t->wire, t->peer) + t->buffers > sent) {
            struct gw__header header = header_of(t->size(sent), sent);
            unsigned char *data = t->data[sent % t->buffers];
            wire_set_fill(data, header.bytes, sent);
            enum gw_err err = ops->send(t->wire, t->peer, &header, data, false);
            ck_assert(err == GW_OK || err == GW_PENDING);
            moved = err == GW_OK;
            sent += moved;
        }
        if (read < t->count && ops->peek(t->wire, t->peer, &view) == GW_OK) {
            expect(NULL, t->wire, t->peer, t->size(read), read);
            read++;
            moved = true;
        }
        if (!moved)
            ops->wait(t->wire, 50000000);
    }
    ck_assert(wire_set_await_done(t->wire, t->peer, t->count));
    return NULL;
}

/* Buffers are reused as soon as the wire returns them. */
static void converse(const char *name, uint32_t count,
                     size_t (*size)(uint32_t number), size_t most)
{
    enum { BUFFERS = 4 };
    struct wire_set set;
    struct converser talkers[2];
    unsigned char *data[2][BUFFERS];
    wire_set_start(&set, name, 2, 0);
    for (unsigned r = 0; r < 2; r++) {
        for (unsigned b = 0; b < BUFFERS; b++)
            data[r][b] = malloc(most);
        talkers[r] = (struct converser){.wire = set.wires[r],
                                        .peer = 1 - r,
                                        .count = count,
                                        .size = size,
                                        .data = data[r],
                                        .buffers = BUFFERS};
        pthread_create(&talkers[r].thread, NULL, converse_main, &talkers[r]);
    }
    for (unsigned r = 0; r < 2; r++) {
        pthread_join(talkers[r].thread, NULL);
        for (unsigned b = 0; b < BUFFERS; b++)
            free(data[r][b]);
    }
    wire_set_end(&set);
}

static size_t small_size(uint32_t number)
{
    return number * 7 % 300;
}

static size_t mixed_size(uint32_t number)
{
    return number % 3 ? 200000 + number * 13 : number;
}

START_TEST(many_small_slices_both_ways)
{
    converse(wire_set_name(_i), 4000, small_size, 300);
}
END_TEST

START_TEST(large_slices_both_ways_at_once)
{
    converse(wire_set_name(_i), 60, mixed_size, 300000);
}
END_TEST

/* Faster than libzmq checks its own notifications: once per millisecond. */
START_TEST(bursts_of_small_slices_find_room)
{
    enum { BURST = 48, BURSTS = 300 };
    struct wire_set set;
    unsigned char data[16];
    wire_set_start(&set, wire_set_name(_i), 2, 1);
    wire_set_fill(data, sizeof data, 1);
    for (int i = 0; i < BURSTS; i++) {
        struct gw__header header = header_of(sizeof data, 1);
        enum gw_err err = GW_OK;
        int sent = 0;
        while (sent < BURST && err == GW_OK) {
            err = set.wires[0]->ops->send(set.wires[0], 1, &header, data, true);
            sent += err == GW_OK;
        }
        ck_assert(err == GW_OK || err == GW_PENDING);
        if (sent == 0)
            set.wires[0]->ops->wait(set.wires[0], 20000000);
        while (sent-- > 0)
            expect(NULL, set.wires[1], 0, sizeof data, 1);
    }
    wire_set_end(&set);
}
END_TEST

/* Without a reader the wire accepts a bounded amount of slices. */
static void test_full(const char *name, size_t bytes)
{
    enum { MORE_THAN_ENOUGH = 100000 };
    struct wire_set set;
    unsigned char *data = malloc(bytes);
    uint32_t sent = 0;
    wire_set_start(&set, name, 2, 0);
    wire_set_fill(data, bytes, 5);
    for (; sent < MORE_THAN_ENOUGH; sent++) {
        struct gw__header header = header_of(bytes, 5);
        enum gw_err err =
            set.wires[0]->ops->send(set.wires[0], 1, &header, data, false);
        if (err == GW_PENDING)
            break;
        ck_assert_int_eq(err, GW_OK);
    }
    ck_assert_uint_gt(sent, 1);
    ck_assert_uint_lt(sent, MORE_THAN_ENOUGH);
    ck_assert_uint_lt(sent * bytes, 64 << 20);
    for (uint32_t i = 0; i < sent; i++)
        expect(set.wires[0], set.wires[1], 0, bytes, 5);
    struct gw__header header = header_of(bytes, 5);
    wire_set_send(set.wires[0], 1, &header, data, false);
    expect(set.wires[0], set.wires[1], 0, bytes, 5);
    ck_assert(wire_set_await_done(set.wires[0], 1, sent + 1));
    wire_set_end(&set);
    free(data);
}

START_TEST(a_full_link_is_pending_until_it_is_read)
{
    test_full(wire_set_name(_i), 100);
    test_full(wire_set_name(_i), 1 << 20);
}
END_TEST

/* When a send is done, the sender may write, and the receiver still gets the
 * sent data. A wire that passes pointers reports it with the release. */
START_TEST(a_released_buffer_is_no_longer_read)
{
    enum { BYTES = 300000 };
    struct wire_set set;
    struct gw__slice_view view;
    unsigned char *data = malloc(BYTES);
    struct gw__header header = header_of(BYTES, 1);
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    struct gw__wire *sender = set.wires[0], *reader = set.wires[1];
    wire_set_fill(data, BYTES, 1);
    ck_assert_uint_eq(sender->ops->sends_done(sender, 1), 0);
    wire_set_send(sender, 1, &header, data, false);
    sender->ops->wait(sender, 30000000);
    if (sender->ops->sends_done(sender, 1) == 1)
        memset(data, 0, BYTES);
    ck_assert_int_eq(wire_set_await(reader, 0, &view), GW_OK);
    ck_assert(!wire_set_differs(view.data, BYTES, 1));
    if (sender->ops->sends_done(sender, 1) == 1)
        memset(data, 0, BYTES);
    ck_assert(!wire_set_differs(view.data, BYTES, 1));
    reader->ops->release(reader, 0);
    ck_assert(wire_set_await_done(sender, 1, 1));
    wire_set_end(&set);
    free(data);
}
END_TEST

START_TEST(a_view_stays_until_it_is_released)
{
    struct wire_set set;
    struct gw__slice_view first, again;
    unsigned char data[2][64];
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct gw__header header = header_of(64, i);
        wire_set_fill(data[i], 64, i);
        wire_set_send(set.wires[0], 1, &header, data[i], true);
    }
    ck_assert_int_eq(wire_set_await(set.wires[1], 0, &first), GW_OK);
    set.wires[1]->ops->wait(set.wires[1], 1000000);
    ck_assert_int_eq(set.wires[1]->ops->peek(set.wires[1], 0, &again), GW_OK);
    ck_assert_ptr_eq(first.data, again.data);
    ck_assert_ptr_eq(first.header, again.header);
    expect(NULL, set.wires[1], 0, 64, 0);
    expect(NULL, set.wires[1], 0, 64, 1);
    ck_assert_int_eq(set.wires[1]->ops->peek(set.wires[1], 0, &again),
                     GW_PENDING);
    wire_set_end(&set);
}
END_TEST

/* Eight ranks, each a thread, all to all. */
struct mingler {
    pthread_t thread;
    struct gw__wire *wire;
};

enum { ROUNDS = 12 };

static size_t mingle_size(unsigned from, unsigned to, uint32_t round)
{
    return round % 4 == 3 ? 20000 + from * 100 + to : from * 10 + to + round;
}

static void *mingle(void *context)
{
    struct gw__wire *wire = ((struct mingler *)context)->wire;
    unsigned me = wire->rank;
    unsigned char *data = malloc(30000);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (unsigned p = 0; p < wire->size; p++) {
            if (p == me)
                continue;
            struct gw__header header =
                header_of(mingle_size(me, p, round), round);
            wire_set_fill(data, header.bytes, round);
            wire_set_send(wire, p, &header, data, true);
        }
        for (unsigned p = 0; p < wire->size; p++)
            if (p != me)
                expect(NULL, wire, p, mingle_size(p, me, round), round);
    }
    free(data);
    return NULL;
}

START_TEST(eight_ranks_all_to_all)
{
    struct wire_set set;
    struct mingler minglers[WIRE_SET_MAX];
    wire_set_start(&set, wire_set_name(_i), WIRE_SET_MAX, 0);
    for (unsigned r = 0; r < WIRE_SET_MAX; r++) {
        minglers[r].wire = set.wires[r];
        pthread_create(&minglers[r].thread, NULL, mingle, &minglers[r]);
    }
    for (unsigned r = 0; r < WIRE_SET_MAX; r++)
        pthread_join(minglers[r].thread, NULL);
    for (unsigned r = 0; r < WIRE_SET_MAX; r++)
        ck_assert_int_eq(set.wires[r]->ops->check(set.wires[r], NULL), GW_OK);
    wire_set_end(&set);
}
END_TEST

static void *send_soon(void *context)
{
    struct gw__wire *wire = context;
    struct gw__header header = header_of(8, 0);
    unsigned char data[8];
    wire_set_fill(data, 8, 0);
    wire->ops->wait(wire, 20000000);
    wire_set_send(wire, 0, &header, data, true);
    return NULL;
}

START_TEST(a_sleeper_is_woken_by_a_slice)
{
    struct wire_set set;
    struct gw__slice_view view;
    pthread_t thread;
    wire_set_start(&set, wire_set_name(_i), 2, 0);
    uint64_t begin = gw_now_ns(), limit = begin + 5000000000ULL;
    pthread_create(&thread, NULL, send_soon, set.wires[1]);
    while (set.wires[0]->ops->peek(set.wires[0], 1, &view) == GW_PENDING &&
           gw_now_ns() < limit)
        set.wires[0]->ops->wait(set.wires[0], 5000000000ULL);
    ck_assert_uint_lt(gw_now_ns() - begin, 2000000000ULL);
    pthread_join(thread, NULL);
    expect(NULL, set.wires[0], 1, 8, 0);
    begin = gw_now_ns();
    set.wires[0]->ops->wait(set.wires[0], 3000000);
    ck_assert_uint_lt(gw_now_ns() - begin, 1000000000ULL);
    wire_set_end(&set);
}
END_TEST

START_TEST(a_rank_alone_needs_no_peers)
{
    struct wire_set set;
    struct gw_error why;
    wire_set_start(&set, wire_set_name(_i), 1, 0);
    ck_assert_int_eq(set.wires[0]->ops->check(set.wires[0], &why), GW_OK);
    set.wires[0]->ops->wait(set.wires[0], 1000);
    ck_assert_str_eq(set.wires[0]->ops->name,
                     wire_plain_name(wire_set_name(_i)));
    ck_assert_uint_gt(set.wires[0]->ops->slice_bytes, 0);
    wire_set_end(&set);
}
END_TEST

START_TEST(opening_refuses_nonsense_with_a_sentence)
{
    struct gw_error why;
    struct gw__wire *wire = (struct gw__wire *)&why;
    struct gw_comm_config config = wire_set_config("pigeon", 0, 2);
    ck_assert_int_eq(gw__wire_open(&config, &wire, &why), GW_EINVAL);
    ck_assert_str_eq(
        why.text, "unknown wire \"pigeon\"; use shm, ipc, tcp, zmq or verbs");
    ck_assert_ptr_null(wire);
    gw__wire_close(&wire);
    config = wire_set_config("tcp", 2, 2);
    ck_assert_int_eq(gw__wire_open(&config, &wire, &why), GW_EINVAL);
    ck_assert_ptr_nonnull(strstr(why.text, "rank 2 of 2"));
}
END_TEST

Suite *suite_wire(void)
{
    int wires = wire_set_count();
    Suite *suite = suite_create("wire");
    TCase *tests = tcase_create("slices"), *crowd = tcase_create("crowd");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, slices_of_all_sizes_arrive_as_they_were, 0,
                        wires);
    tcase_add_loop_test(tests, copied_slices_may_be_overwritten_at_once, 0,
                        wires);
    tcase_add_loop_test(tests, slices_keep_their_order_over_several_lanes, 0,
                        wires);
    tcase_add_loop_test(tests, many_small_slices_both_ways, 0, wires);
    tcase_add_loop_test(tests, bursts_of_small_slices_find_room, 0, wires);
    tcase_add_loop_test(tests, large_slices_both_ways_at_once, 0, wires);
    tcase_add_loop_test(tests, a_full_link_is_pending_until_it_is_read, 0,
                        wires);
    tcase_add_loop_test(tests, a_released_buffer_is_no_longer_read, 0, wires);
    tcase_add_loop_test(tests, a_view_stays_until_it_is_released, 0, wires);
    tcase_add_loop_test(tests, a_sleeper_is_woken_by_a_slice, 0, wires);
    tcase_add_loop_test(tests, a_rank_alone_needs_no_peers, 0, wires);
    tcase_add_test(tests, opening_refuses_nonsense_with_a_sentence);
    suite_add_tcase(suite, tests);
    tcase_set_timeout(crowd, 30);
    tcase_add_loop_test(crowd, eight_ranks_all_to_all, 0, wires);
    suite_add_tcase(suite, crowd);
    return suite;
}
