/* SPDX-License-Identifier: MIT
 *
 * Sealed bodies outside ZeroMQ: the seal itself, a stream of them over a pair
 * of sockets, and access control at the listener. Their use in a wire is tested
 * by the conformance suite ("keyed tcp") and by test_wire_key.c.
 */
#include "skip.h"
#include "wire/zmq/stream.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *suite_stream(void);

enum { BYTES = 1000003 };

/* ---- the seal ---- */

/* Test case 16 of "The Galois/Counter Mode of Operation" (McGrew, Viega), whose
 * nonce is rank 0xbebafeca (as bytes ca fe ba be) and number 88f8cadadbfaceca.
 */
START_TEST(seals_as_the_standard_defines)
{
    static const unsigned char key[] = {
        0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f,
        0x94, 0x67, 0x30, 0x83, 0x08, 0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65,
        0x73, 0x1c, 0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
    static const unsigned char plain[] = {
        0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09, 0xc5,
        0xaf, 0xf5, 0x26, 0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda,
        0x2e, 0x4c, 0x30, 0x3d, 0x8a, 0x31, 0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95,
        0x95, 0x68, 0x09, 0x53, 0x2f, 0xcf, 0x0e, 0x24, 0x49, 0xa6, 0xb5, 0x25,
        0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d, 0xe6, 0x57, 0xba, 0x63, 0x7b, 0x39};
    static const unsigned char bound[] = {
        0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed,
        0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2};
    static const unsigned char due[] = {
        0x52, 0x2d, 0xc1, 0xf0, 0x99, 0x56, 0x7d, 0x07, 0xf4, 0x7f, 0x37, 0xa3,
        0x2a, 0x84, 0x42, 0x7d, 0x64, 0x3a, 0x8c, 0xdc, 0xbf, 0xe5, 0xc0, 0xc9,
        0x75, 0x98, 0xa2, 0xbd, 0x25, 0x55, 0xd1, 0xaa, 0x8c, 0xb0, 0x8e, 0x48,
        0x59, 0x0d, 0xbb, 0x3d, 0xa7, 0xb0, 0x8b, 0x10, 0x56, 0x82, 0x88, 0x38,
        0xc5, 0xf6, 0x1e, 0x63, 0x93, 0xba, 0x7a, 0x0a, 0xbc, 0xc9, 0xf6, 0x62};
    static const unsigned char due_tag[] = {0x76, 0xfc, 0x6e, 0xce, 0x0f, 0x4e,
                                            0x17, 0x68, 0xcd, 0xdf, 0x88, 0x53,
                                            0xbb, 0x2d, 0x55, 0x1b};
    static const unsigned char nonce[] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce,
                                          0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88};
    unsigned char out[sizeof plain], tag[GW__SEAL_TAG_BYTES];
    uint32_t from;
    uint64_t number;
    memcpy(&from, nonce, sizeof from);
    memcpy(&number, nonce + sizeof from, sizeof number);
    struct gw__seal *seal = gw__seal_new(key);
    struct gw__seal_pass pass;
    gw__seal_begin(seal, false, from, number, bound, sizeof bound, &pass);
    gw__seal_go_on(&pass, plain, out, 7); /* in two pieces, not whole blocks */
    gw__seal_go_on(&pass, plain + 7, out + 7, sizeof plain - 7);
    gw__seal_end(&pass, tag);
    ck_assert_mem_eq(out, due, sizeof due);
    ck_assert_mem_eq(tag, due_tag, sizeof due_tag);
    gw__seal_begin(seal, true, from, number, bound, sizeof bound, &pass);
    gw__seal_go_on(&pass, out, out, 33);
    gw__seal_go_on(&pass, out + 33, out + 33, sizeof out - 33);
    ck_assert(gw__seal_fits(&pass, tag));
    ck_assert_mem_eq(out, plain, sizeof plain);
    gw__seal_free(&seal);
    ck_assert_ptr_null(seal);
}
END_TEST

/* ---- a stream ---- */

struct pair {
    struct gw__seal *keys[2];
    struct gw__stream ends[2];
    unsigned char *data;
};

static void open_end(struct pair *pair, unsigned rank, int fd)
{
    unsigned char key[GW__SEAL_KEY_BYTES];
    struct gw__stream *s = &pair->ends[rank];
    *s = (struct gw__stream){.fd = fd, .rank = rank, .peer = 1 - rank};
    memset(s->token, (int)rank, sizeof s->token);
    memset(s->their_token, (int)(1 - rank), sizeof s->their_token);
    memset(key, 10 + (int)(1 - rank), sizeof key);
    s->theirs = gw__seal_new(key);
    memset(key, 10 + (int)rank, sizeof key);
    pair->keys[rank] = gw__seal_new(key);
    s->own = pair->keys[rank];
}

static void open_pair(struct pair *pair)
{
    int ends[2], room = 20000; /* so that every body goes in many pieces */
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (unsigned r = 0; r < 2; r++) {
        setsockopt(ends[r], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        open_end(pair, r, ends[r]);
    }
    pair->data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        pair->data[i] = (unsigned char)(i * 7 + (i >> 9));
}

static void close_pair(struct pair *pair)
{
    for (unsigned r = 0; r < 2; r++) {
        gw__stream_close(&pair->ends[r]);
        gw__seal_free(&pair->keys[r]);
    }
    free(pair->data);
}

/* The result of `pull` after all possible progress. */
static enum gw_err move(struct pair *pair)
{
    enum { TURNS = 10000 };
    enum gw_err err = GW_PENDING;
    for (int i = 0; i < TURNS && err == GW_PENDING; i++) {
        gw__stream_push(&pair->ends[0]);
        err = gw__stream_pull(&pair->ends[1]);
    }
    return err;
}

START_TEST(bodies_come_as_they_went)
{
    static const uint32_t sizes[] = {1, 15, 65536, 65537, 131072, BYTES, 3};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct pair pair;
    open_pair(&pair);
    for (uint32_t i = 0; i < SIZES; i++) {
        struct gw__header header = {.bytes = sizes[i], .op = i};
        ck_assert(gw__stream_queue(&pair.ends[0], pair.data, &header, 100 + i));
    }
    ck_assert_uint_eq(pair.ends[0].bodies[0].number, 100);
    for (uint32_t i = 0; i < SIZES; i++) {
        struct gw__header header = {.bytes = sizes[i], .op = i};
        ck_assert(gw__stream_expect(&pair.ends[1], &header));
        ck_assert_int_eq(move(&pair), GW_OK);
        ck_assert_int_eq(gw__stream_pull(&pair.ends[1]), GW_OK);
        ck_assert_mem_eq(pair.ends[1].body, pair.data, sizes[i]);
    }
    ck_assert_uint_eq(pair.ends[0].sent, SIZES);
    close_pair(&pair);
}
END_TEST

/* One bit changed on the way: anywhere in a short body and its tag. */
START_TEST(what_was_altered_does_not_open)
{
    enum { SHORT = 40 };
    unsigned char sealed[SHORT + GW__SEAL_TAG_BYTES];
    for (size_t at = 0; at < sizeof sealed; at++) {
        struct pair pair;
        struct gw__header header = {.bytes = SHORT};
        int direction[2];
        open_pair(&pair);
        ck_assert(gw__stream_queue(&pair.ends[0], pair.data, &header, 0));
        ck_assert(gw__stream_push(&pair.ends[0]));
        ck_assert_int_eq(recv(pair.ends[1].fd, sealed, sizeof sealed, 0),
                         sizeof sealed);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, direction), 0);
        close(pair.ends[1].fd);
        pair.ends[1].fd = direction[0];
        sealed[at] ^= 1;
        ck_assert_int_eq(write(direction[1], sealed, sizeof sealed),
                         sizeof sealed);
        ck_assert(gw__stream_expect(&pair.ends[1], &header));
        ck_assert_int_eq(gw__stream_pull(&pair.ends[1]), GW_EDATA);
        close(direction[1]);
        close_pair(&pair);
    }
}
END_TEST

/* A repeated body and the body of another slice do not open. */
START_TEST(a_body_opens_in_its_place_alone)
{
    struct pair pair;
    struct gw__header header = {.bytes = 100, .op = 1}, other = header;
    other.op = 2;
    open_pair(&pair);
    ck_assert(gw__stream_queue(&pair.ends[0], pair.data, &header, 0));
    ck_assert(gw__stream_expect(&pair.ends[1], &other));
    ck_assert_int_eq(move(&pair), GW_EDATA);
    ck_assert(gw__stream_queue(&pair.ends[0], pair.data, &header, 1));
    pair.ends[1].opened = 0; /* as if the first came again */
    ck_assert(gw__stream_expect(&pair.ends[1], &header));
    ck_assert_int_eq(move(&pair), GW_EDATA);
    close_pair(&pair);
}
END_TEST

START_TEST(an_end_is_pending_for_ever_and_known)
{
    struct pair pair;
    struct gw__header header = {.bytes = BYTES};
    open_pair(&pair);
    ck_assert(gw__stream_queue(&pair.ends[0], pair.data, &header, 0));
    gw__stream_push(&pair.ends[0]);
    ck_assert_uint_eq(pair.ends[0].sent, 0);
    close(pair.ends[1].fd);
    pair.ends[1].fd = -1;
    ck_assert(!gw__stream_push(&pair.ends[0]));
    ck_assert_uint_gt(pair.ends[0].ended_ns, 0);
    gw__stream_drop(&pair.ends[0]);
    ck_assert_uint_eq(pair.ends[0].sent, pair.ends[0].queued);
    close_pair(&pair);

    open_pair(&pair);
    ck_assert(gw__stream_queue(&pair.ends[0], pair.data, &header, 0));
    gw__stream_push(&pair.ends[0]);
    shutdown(pair.ends[0].fd, SHUT_RDWR);
    ck_assert(gw__stream_expect(&pair.ends[1], &header));
    ck_assert_int_eq(gw__stream_pull(&pair.ends[1]), GW_PENDING);
    ck_assert_uint_gt(pair.ends[1].ended_ns, 0);
    ck_assert_int_eq(gw__stream_pull(&pair.ends[1]), GW_PENDING);
    close_pair(&pair);
}
END_TEST

/* ---- the listener ---- */

static int call(uint16_t port)
{
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&place, sizeof place), 0);
    return fd;
}

/* The connection of an admitted peer, or -1 after a while. */
static int await_guest(struct gw__door *door, const struct gw__stream *host,
                       uint32_t *rank)
{
    uint64_t until = gw_now_ns() + 10000000000ULL;
    int fd = -1;
    while (fd < 0 && gw_now_ns() < until)
        fd = gw__door_admit(door, host->own, host->token, rank);
    return fd;
}

static bool was_shown_out(struct gw__door *door, const struct gw__stream *host,
                          int fd)
{
    uint64_t until = gw_now_ns() + 10000000000ULL;
    uint32_t rank;
    char byte;
    while (gw_now_ns() < until) {
        ck_assert_int_eq(gw__door_admit(door, host->own, host->token, &rank),
                         -1);
        if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
            return true;
    }
    return false;
}

START_TEST(members_handshake)
{
    static const char *const hosts[] = {"127.0.0.1", "::1", "[::1]"};
    struct pair pair;
    struct gw__door door = {.fd = -1};
    struct gw_error why;
    uint16_t port;
    uint32_t rank;
    open_pair(&pair);
    for (unsigned r = 0; r < 2; r++)
        close(pair.ends[r].fd);
    if (gw__door_open(&door, hosts[_i], &port, &why) != GW_OK) {
        ck_assert_msg(_i > 0, "%s", why.text); /* a host without IPv6 */
        gw__door_close(&door);
        pair.ends[0].fd = pair.ends[1].fd = -1;
        close_pair(&pair);
        SKIP("stream", "this host has no IPv6");
    }
    ck_assert_int_eq(gw__stream_call(&pair.ends[1], hosts[_i], port, &why),
                     GW_OK);
    uint64_t until = gw_now_ns() + 10000000000ULL;
    pair.ends[0].fd = -1;
    enum gw_err code = GW_PENDING;
    while (code == GW_PENDING && gw_now_ns() < until) {
        if (pair.ends[0].fd < 0)
            pair.ends[0].fd = gw__door_admit(&door, pair.ends[0].own,
                                             pair.ends[0].token, &rank);
        pair.ends[0].has_called = true;
        if (pair.ends[0].fd >= 0)
            ck_assert_int_eq(gw__stream_greet(&pair.ends[0], &why), GW_OK);
        code = gw__stream_greet(&pair.ends[1], &why);
    }
    ck_assert_int_eq(code, GW_OK);
    ck_assert_uint_eq(rank, 1);
    gw__door_close(&door);
    close_pair(&pair);
}
END_TEST

/* Peers with another key or token, and a replayed greeting to another host. */
START_TEST(strangers_are_shown_out)
{
    struct pair pair;
    struct gw__door door = {.fd = -1};
    struct gw_error why;
    uint16_t port;
    unsigned char greeting[GW__STREAM_GREETING_BYTES];
    open_pair(&pair);
    ck_assert_int_eq(gw__door_open(&door, "127.0.0.1", &port, &why), GW_OK);
    struct gw__stream *member = &pair.ends[1], *host = &pair.ends[0];
    ck_assert_int_eq(gw__stream_greet(member, &why), GW_PENDING);
    ck_assert_int_eq(recv(host->fd, greeting, sizeof greeting, 0),
                     sizeof greeting);
    for (size_t at = 0; at < sizeof greeting; at++) {
        int fd = call(port);
        greeting[at] ^= 1;
        ck_assert_int_eq(write(fd, greeting, sizeof greeting), sizeof greeting);
        greeting[at] ^= 1;
        ck_assert(was_shown_out(&door, host, fd));
        close(fd);
    }
    host->token[3] ^= 1;
    int fd = call(port);
    ck_assert_int_eq(write(fd, greeting, sizeof greeting), sizeof greeting);
    ck_assert(was_shown_out(&door, host, fd));
    close(fd);
    gw__door_close(&door);
    close_pair(&pair);
}
END_TEST

/* They occupy at most all places, and for a second only. */
START_TEST(silent_peers_block_no_other)
{
    enum { SILENT = 40 }; /* more than the places */
    struct pair pair;
    struct gw__door door = {.fd = -1};
    struct gw_error why;
    uint16_t port;
    uint32_t rank = 0;
    int silent[SILENT];
    open_pair(&pair);
    ck_assert_int_eq(gw__door_open(&door, "127.0.0.1", &port, &why), GW_OK);
    for (int i = 0; i < SILENT; i++)
        silent[i] = call(port);
    close(pair.ends[1].fd);
    ck_assert_int_eq(gw__stream_call(&pair.ends[1], "127.0.0.1", port, &why),
                     GW_OK);
    while (pair.ends[1].greeted < GW__STREAM_GREETING_BYTES)
        ck_assert_int_eq(gw__stream_greet(&pair.ends[1], &why), GW_PENDING);
    int fd = await_guest(&door, &pair.ends[0], &rank);
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(rank, 1);
    close(fd);
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    gw__door_close(&door);
    close_pair(&pair);
}
END_TEST

Suite *suite_stream(void)
{
    Suite *suite = suite_create("stream");
    TCase *tests = tcase_create("stream");
    tcase_set_timeout(tests, 60);
    if (gw__seal_is_built()) {
        tcase_add_test(tests, seals_as_the_standard_defines);
        tcase_add_test(tests, bodies_come_as_they_went);
        tcase_add_test(tests, what_was_altered_does_not_open);
        tcase_add_test(tests, a_body_opens_in_its_place_alone);
        tcase_add_test(tests, an_end_is_pending_for_ever_and_known);
        tcase_add_loop_test(tests, members_handshake, 0, 3);
        tcase_add_test(tests, strangers_are_shown_out);
        tcase_add_test(tests, silent_peers_block_no_other);
    }
    suite_add_tcase(suite, tests);
    return suite;
}
