/* SPDX-License-Identifier: MIT
 *
 * Properties of the socket wires only: strangers, malformed frames, places for
 * slices. test_wire.c and test_wire_end.c have the properties of all wires.
 */
#include "wire/socket/socket_wire.h"
#include "wire_set.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *suite_wire_socket(void);

static const char *const names[] = {"ipc", "tcp"};
enum { NAMES = sizeof names / sizeof *names };

/* ---- strangers ---- */

static struct gw__socket_address address_of(const struct gw__wire *wire)
{
    struct gw__socket_address address;
    ck_assert_uint_eq(wire->address.bytes, sizeof address);
    memcpy(&address, wire->address.blob, sizeof address);
    return address;
}

/* Is this connection closed by the other end? `wire` is polled meanwhile. */
static bool is_shown_out(struct gw__wire *wire, const struct gw__address *table,
                         int fd)
{
    char byte;
    struct gw_error why;
    for (unsigned i = 0; i < 500; i++) {
        (void)wire->ops->connect(wire, table, gw_now_ns() + 2000000U, &why);
        ssize_t came = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (came == 0 || (came < 0 && errno == ECONNRESET))
            return true;
    }
    return false;
}

/* Greetings that a stranger can make up: with a wrong token, of a rank or a
 * lane that there is not, of this very rank. */
START_TEST(a_stranger_is_shown_out)
{
    static const struct {
        uint32_t rank, lane;
        bool knows_token;
    } greetings[] = {{1, 0, false}, {2, 0, true}, {1, 2, true}};
    for (size_t i = 0; i < sizeof greetings / sizeof *greetings; i++) {
        struct gw_comm_config config = wire_set_config(names[_i], 0, 2);
        struct gw__wire *wire, *peer;
        struct gw_error why;
        unsigned char greeting[GW__SOCKET_GREETING_BYTES];
        ck_assert_int_eq(gw__wire_open(&config, &wire, &why), GW_OK);
        config.rank = 1;
        ck_assert_int_eq(gw__wire_open(&config, &peer, &why), GW_OK);
        struct gw__address table[2] = {wire->address, peer->address};
        struct gw__socket_address address = address_of(wire);
        int fd = gw__socket_dial(&address);
        ck_assert_int_ge(fd, 0);
        address.token[0] ^= !greetings[i].knows_token;
        gw__socket_greeting(&address, NULL, greetings[i].rank,
                            greetings[i].lane, greeting);
        uint64_t until_ns = gw_now_ns() + 5000000000U;
        while (send(fd, greeting, sizeof greeting, MSG_NOSIGNAL) < 0 &&
               gw_now_ns() < until_ns)
            ;
        ck_assert(is_shown_out(wire, table, fd));
        close(fd);
        gw__wire_close(&wire);
        gw__wire_close(&peer);
    }
}
END_TEST

struct joiner {
    struct gw__wire *wire;
    const struct gw__address *table;
    enum gw_err err;
    struct gw_error why;
};

static void *join_one(void *context)
{
    struct joiner *joiner = context;
    joiner->err = joiner->wire->ops->connect(
        joiner->wire, joiner->table, gw_now_ns() + 10000000000U, &joiner->why);
    return NULL;
}

/* More of them than there are places at the door. */
START_TEST(silent_strangers_block_no_member)
{
    enum { STRANGERS = 2 * GW__SOCKET_GUESTS };
    struct gw__wire *wires[2];
    struct gw__address table[2];
    struct joiner joiners[2] = {0};
    pthread_t threads[2];
    struct gw_error why;
    int fds[STRANGERS];
    for (unsigned r = 0; r < 2; r++) {
        struct gw_comm_config config = wire_set_config(names[_i], r, 2);
        ck_assert_int_eq(gw__wire_open(&config, &wires[r], &why), GW_OK);
        table[r] = wires[r]->address;
    }
    struct gw__socket_address address = address_of(wires[0]);
    for (unsigned i = 0; i < STRANGERS; i++)
        fds[i] = gw__socket_dial(&address);
    for (unsigned r = 0; r < 2; r++) {
        joiners[r] = (struct joiner){.wire = wires[r], .table = table};
        pthread_create(&threads[r], NULL, join_one, &joiners[r]);
    }
    for (unsigned r = 0; r < 2; r++) {
        pthread_join(threads[r], NULL);
        ck_assert_msg(!joiners[r].err, "%s", joiners[r].why.text);
        gw__wire_close(&wires[r]);
    }
    for (unsigned i = 0; i < STRANGERS; i++)
        close(fds[i]);
}
END_TEST

/* ---- malformed frames ---- */

/* The link fails with an error that names the rank. */
static void expect_lost(struct wire_set *set, const char *sentence)
{
    struct gw__slice_view view;
    struct gw_error why;
    ck_assert_int_eq(wire_set_await(set->wires[0], 1, &view), GW_ELOST);
    ck_assert_int_eq(wire_set_await_failure(set->wires[0], 1000, &why),
                     GW_ELOST);
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
    ck_assert_ptr_nonnull(strstr(why.text, "rank 1"));
    ck_assert_int_eq(set->wires[0]->ops->peek(set->wires[0], 1, &view),
                     GW_ELOST);
    wire_set_end(set);
}

static struct gw__socket_link *link_of(struct wire_set *set, unsigned rank)
{
    return &gw__socket_of(set->wires[rank])->links[!rank];
}

START_TEST(malformed_notes_lose_the_link)
{
    struct gw__control_message messages[] = {
        {.kind = 99, .from = 1},
        {.kind = GW__CREDIT, .from = 1, .count = 1},
        {.kind = GW__ABORT, .from = 5},
        {.kind = GW__ABORT, .from = 1, .code = 3},
        {.kind = GW__HELLO, .from = 1},
    };
    static const char *const sentences[] = {
        "unknown kind 99", "a note of another wire", "from rank 5",
        "unknown code 3", "a note of another wire"};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct wire_set set;
        unsigned char frame[GW__CONTROL_FRAME_MAX];
        wire_set_start(&set, names[_i], 2, 0);
        uint64_t length = gw__control_seal(&messages[i]);
        memcpy(frame, &length, sizeof length);
        memcpy(frame + sizeof length, &messages[i], length);
        ssize_t bytes = (ssize_t)(sizeof length + length);
        ck_assert_int_eq(
            write(link_of(&set, 1)->control_fd, frame, (size_t)bytes), bytes);
        expect_lost(&set, sentences[i]);
    }
    static const uint64_t lengths[] = {3, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        unsigned char frame[11] = "........boo";
        struct wire_set set;
        wire_set_start(&set, names[_i], 2, 0);
        memcpy(frame, &lengths[i], sizeof lengths[i]);
        ck_assert_int_eq(write(link_of(&set, 1)->control_fd, frame, 11), 11);
        expect_lost(&set, "malformed note");
    }
}
END_TEST

/* An attacker between two ranks writes into their connection. Lengths that
 * could be true, of a small and of a large slice, and one that cannot. */
START_TEST(what_its_key_does_not_open_loses_the_link)
{
    enum { BYTES = 100000 };
    static const uint64_t lengths[] = {72, 60000, 7};
    static const char *const sentences[] = {
        "a slice that its key does not open",
        "a slice that its key does not open", "malformed slice: 7 bytes"};
    unsigned char *rubbish = calloc(1, BYTES);
    for (size_t i = 0; i < 3 && gw__seal_is_built(); i++) {
        struct wire_set set;
        wire_set_start(&set, _i ? "keyed tcp" : "keyed ipc", 2, 0);
        memcpy(rubbish, &lengths[i], sizeof lengths[i]);
        ck_assert_int_gt(write(link_of(&set, 1)->lanes[0].fd, rubbish, BYTES),
                         0);
        expect_lost(&set, sentences[i]);
    }
    free(rubbish);
}
END_TEST

/* A frame that was seen is sent again: it has the number of another. */
START_TEST(a_repeated_frame_does_not_open)
{
    struct wire_set set;
    struct gw__slice_view view;
    struct gw__header header = {.bytes = 8};
    if (!gw__seal_is_built())
        return;
    wire_set_start(&set, _i ? "keyed tcp" : "keyed ipc", 2, 0);
    wire_set_send(set.wires[1], 0, &header, "8 bytes.", true);
    const struct gw__socket_lane *lane = &link_of(&set, 1)->lanes[0];
    size_t bytes = lane->out.block_end;
    ck_assert_uint_eq(bytes, GW__SOCKET_LENGTH_BYTES + sizeof header + 8 +
                                 GW__SEAL_TAG_BYTES);
    ck_assert_int_eq(wire_set_await(set.wires[0], 1, &view), GW_OK);
    ck_assert_mem_eq(view.data, "8 bytes.", 8);
    set.wires[0]->ops->release(set.wires[0], 1);
    ck_assert_int_eq(write(lane->fd, lane->out.block, bytes), (ssize_t)bytes);
    expect_lost(&set, "a slice that its key does not open");
}
END_TEST

/* The data cannot be read from the connection. */
START_TEST(a_frame_with_a_key_shows_nothing)
{
    struct wire_set set;
    struct gw__header header = {.bytes = 64};
    unsigned char data[64];
    if (!gw__seal_is_built())
        return;
    memset(data, 'x', sizeof data);
    wire_set_start(&set, "keyed tcp", 2, 0);
    wire_set_send(set.wires[1], 0, &header, data, true);
    const struct gw__socket_out *out = &link_of(&set, 1)->lanes[0].out;
    ck_assert_ptr_null(memmem(out->block, out->block_end, data, 8));
    wire_set_end(&set);
}
END_TEST

/* ---- where slices go ---- */

/* Large ones arrive at the place that was named, also if their beginning has
 * come with others; with a key and for small ones there is no place. */
START_TEST(a_large_slice_arrives_at_its_place)
{
    enum { LARGE = 300000, SMALL = 24 };
    struct wire_set set;
    struct gw__slice_view view;
    unsigned char *data = malloc(LARGE), *place = calloc(1, LARGE);
    wire_set_fill(data, LARGE, 1);
    wire_set_start(&set, names[_i], 2, 0);
    for (uint32_t i = 0; i < 20; i++) {
        struct gw__header header = {.slice = i,
                                    .bytes = i % 5 == 4 ? SMALL : LARGE - i};
        struct gw__header other = header;
        bool alone = i % 2, named = i % 3;
        other.op += i == 9;
        if (!alone)
            wire_set_send(set.wires[1], 0, &header, data, false);
        if (named)
            set.wires[0]->ops->expect(set.wires[0], 1, &other, place);
        if (alone)
            wire_set_send(set.wires[1], 0, &header, data, false);
        ck_assert_int_eq(
            wire_set_await_from(set.wires[1], set.wires[0], 1, &view), GW_OK);
        ck_assert_uint_eq(view.header->slice, i);
        ck_assert(!wire_set_differs(view.data, header.bytes, 1));
        if (!named)
            ck_assert_ptr_ne(view.data, place);
        else if (header.bytes > GW__SOCKET_BUFFER_BYTES)
            ck_assert_ptr_eq(view.data, place);
        memset(place, 0, LARGE);
        set.wires[0]->ops->release(set.wires[0], 1);
    }
    wire_set_end(&set);
    free(place);
    free(data);
}
END_TEST

/* The header of another call shows, whatever was expected. */
START_TEST(an_unexpected_slice_shows_its_header)
{
    enum { LARGE = 300000 };
    struct wire_set set;
    struct gw__slice_view view;
    struct gw__header header = {.op = 7, .bytes = LARGE};
    struct gw__header expected = {.op = 8, .bytes = LARGE / 2};
    unsigned char *data = calloc(2, LARGE), *place = data + LARGE;
    wire_set_start(&set, names[_i], 2, 0);
    set.wires[0]->ops->expect(set.wires[0], 1, &expected, place);
    wire_set_send(set.wires[1], 0, &header, data, false);
    ck_assert_int_eq(wire_set_await_from(set.wires[1], set.wires[0], 1, &view),
                     GW_OK);
    ck_assert_uint_eq(view.header->op, 7);
    ck_assert_uint_eq(view.header->bytes, LARGE);
    wire_set_end(&set);
    free(data);
}
END_TEST

/* A probe, then the expected slice: the bytes that were read to its place too
 * early are put back. */
START_TEST(a_probe_may_come_before_the_expected_slice)
{
    enum { LARGE = 300000 };
    struct wire_set set;
    struct gw__slice_view view;
    struct gw__header probe = {.op = 7, .step = GW__PROBE};
    struct gw__header header = {.op = 7, .bytes = LARGE};
    unsigned char *data = malloc(LARGE), *place = calloc(1, LARGE);
    wire_set_fill(data, LARGE, 5);
    wire_set_start(&set, names[_i], 2, 0);
    struct gw__wire *reader = set.wires[0];
    for (unsigned round = 0; round < 3; round++) {
        header.slice = round;
        wire_set_send(set.wires[1], 0, &probe, NULL, true);
        wire_set_send(set.wires[1], 0, &header, data, false);
        reader->ops->expect(reader, 1, &header, place);
        ck_assert_int_eq(wire_set_await_from(set.wires[1], reader, 1, &view),
                         GW_OK);
        ck_assert_uint_eq(view.header->step, GW__PROBE);
        reader->ops->release(reader, 1);
        if (round > 0)
            reader->ops->expect(reader, 1, &header, place);
        ck_assert_int_eq(wire_set_await_from(set.wires[1], reader, 1, &view),
                         GW_OK);
        ck_assert_uint_eq(view.header->slice, round);
        ck_assert(!wire_set_differs(view.data, LARGE, 5));
        reader->ops->release(reader, 1);
    }
    wire_set_end(&set);
    free(place);
    free(data);
}
END_TEST

Suite *suite_wire_socket(void)
{
    Suite *suite = suite_create("wire_socket");
    TCase *tests = tcase_create("socket");
    tcase_set_timeout(tests, 30);
    tcase_add_loop_test(tests, a_stranger_is_shown_out, 0, NAMES);
    tcase_add_loop_test(tests, silent_strangers_block_no_member, 0, NAMES);
    tcase_add_loop_test(tests, malformed_notes_lose_the_link, 0, NAMES);
    tcase_add_loop_test(tests, what_its_key_does_not_open_loses_the_link, 0, 2);
    tcase_add_loop_test(tests, a_repeated_frame_does_not_open, 0, 2);
    tcase_add_test(tests, a_frame_with_a_key_shows_nothing);
    tcase_add_loop_test(tests, a_large_slice_arrives_at_its_place, 0, NAMES);
    tcase_add_loop_test(tests, an_unexpected_slice_shows_its_header, 0, NAMES);
    tcase_add_loop_test(tests, a_probe_may_come_before_the_expected_slice, 0,
                        NAMES);
    suite_add_tcase(suite, tests);
    return suite;
}
