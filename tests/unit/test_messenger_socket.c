/* SPDX-License-Identifier: MIT
 *
 * The messenger over sockets: connections that break, that come twice, that are
 * early, or that are a stranger's; with a key and without.
 */
#include "messenger_set.h"

#include "key_file.h"
#include "notice.h"

#include <wire/messenger/messenger_socket.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *suite_messenger_socket(void);

enum { WIRES = 2 };

static const char *const wires[WIRES] = {"ipc", "tcp"};
static const size_t MIB = 1 << 20;
static const uint64_t patience_ns = 20 * 1000000000ULL;

/* ---- a stranger, or a recorded connection ---- */

static int dial(struct gw__messenger *messenger)
{
    int fd =
        gw__socket_dial(&((struct gw__messenger_socket *)messenger)->address);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* All of it fits into the kernel's buffer. */
static void write_bytes(int fd, const void *data, size_t bytes)
{
    ck_assert_int_eq(send(fd, data, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

static void write_hello(int fd)
{
    unsigned char hello[GW__MESSENGER_HELLO_BYTES] = {0};
    uint32_t magic = GW__MESSENGER_HELLO_MAGIC;
    memcpy(hello, &magic, sizeof magic);
    write_bytes(fd, hello, sizeof hello);
}

/* A message of 8 bytes from node 3 to node 0. */
static struct gw__messenger_head head_of(uint32_t session)
{
    return (struct gw__messenger_head){.from = 3,
                                       .token = MESSENGER_TOKEN,
                                       .from_high = 3,
                                       .from_low = 1,
                                       .to_low = 1,
                                       .part_count = 1,
                                       .session = session,
                                       .bytes = {8}};
}

static void write_message(int fd, struct gw__messenger_head head,
                          const char text[9])
{
    gw__messenger_head_seal(&head, &head);
    write_bytes(fd, &head, sizeof head);
    write_bytes(fd, text, 8);
}

/* Waits until the messenger has ended the connection. */
static void expect_end(struct gw__messenger *messenger, int fd)
{
    char byte;
    uint64_t until_ns = gw_now_ns() + patience_ns;
    while (recv(fd, &byte, 1, MSG_DONTWAIT) != 0) {
        ck_assert_uint_lt(gw_now_ns(), until_ns);
        messenger_expect_none(messenger);
    }
    close(fd);
}

/* Node 0, which knows node 3. */
struct scene {
    struct gw__messenger *zero, *three;
    struct gw__messenger_config config;
};

static struct scene scene_open(const char *wire, const char *key_file)
{
    struct gw__messenger_config config = messenger_config(wire, 0);
    struct scene scene = {.config = messenger_config(wire, 3)};
    config.security.key_file = scene.config.security.key_file = key_file;
    scene.zero = messenger_open(config);
    scene.three = messenger_open(scene.config);
    messenger_know(scene.zero, scene.three, &scene.config);
    messenger_know(scene.three, scene.zero, &config);
    return scene;
}

static void scene_close(struct scene *scene)
{
    gw__messenger_close(&scene->three);
    gw__messenger_close(&scene->zero);
}

static uint64_t dropped(const struct gw__messenger *messenger)
{
    return gw__messenger_counts(messenger)->dropped;
}

/* ---- strangers ---- */

START_TEST(what_is_malformed_ends_its_connection)
{
    struct scene scene = scene_open(wires[_i], NULL);
    struct gw__messenger_head bad[6];
    for (unsigned i = 0; i < 6; i++)
        bad[i] = head_of(1);
    bad[0].token++;
    bad[1].to = 1;
    bad[2].to_low++;
    bad[3].from = GW__MESSENGER_NODES;
    bad[4].part_count = 5;
    bad[5].bytes[0] = (uint64_t)1 << 40;
    for (unsigned i = 0; i < 6; i++) {
        int fd = dial(scene.zero);
        write_hello(fd);
        write_message(fd, bad[i], "whatever");
        expect_end(scene.zero, fd);
        ck_assert_uint_eq(dropped(scene.zero), i + 1);
    }
    int fd = dial(scene.zero);
    write_bytes(fd, "GET / HTTP/1.0\r\n\r\n", 18);
    expect_end(scene.zero, fd);
    ck_assert_uint_eq(dropped(scene.zero), 7);
    fd = dial(scene.zero);
    write_hello(fd);
    write_message(fd, head_of(1), "is right");
    messenger_expect(scene.zero, 3, "is right");
    close(fd);
    scene_close(&scene);
}
END_TEST

START_TEST(bytes_come_one_at_a_time)
{
    struct scene scene = scene_open(wires[_i], NULL);
    struct gw__messenger_head head = head_of(1);
    unsigned char bytes[sizeof head + 8];
    int fd = dial(scene.zero);
    write_hello(fd);
    for (unsigned round = 0; round < 3; round++) {
        gw__messenger_head_seal(&head, bytes);
        memcpy(bytes + sizeof head, "one byte", 8);
        for (size_t i = 0; i < sizeof bytes; i++) {
            messenger_expect_none(scene.zero);
            write_bytes(fd, bytes + i, 1);
        }
        messenger_expect(scene.zero, 3, "one byte");
    }
    close(fd);
    scene_close(&scene);
}
END_TEST

/* Another sender in the middle of a connection. */
START_TEST(a_connection_has_one_sender)
{
    struct scene scene = scene_open(wires[_i], NULL);
    struct gw__messenger_head other = head_of(1);
    int fd = dial(scene.zero);
    write_hello(fd);
    write_message(fd, head_of(1), "is right");
    messenger_expect(scene.zero, 3, "is right");
    other.from = 4;
    write_message(fd, other, "is wrong");
    expect_end(scene.zero, fd);
    scene_close(&scene);
}
END_TEST

/* More silent guests than there is room for: each has a second. */
START_TEST(silent_guests_make_room)
{
    enum { SILENT = GW__MESSENGER_GUESTS + 10 };
    struct scene scene = scene_open(wires[_i], NULL);
    int fds[SILENT];
    for (unsigned i = 0; i < SILENT; i++)
        fds[i] = dial(scene.zero);
    messenger_send(scene.three, 0, "now me");
    messenger_expect(scene.zero, 3, "now me");
    for (unsigned i = 0; i < SILENT; i++)
        close(fds[i]);
    scene_close(&scene);
}
END_TEST

/* ---- connections ---- */

/* Sends again what the first connection has not carried whole, in its order. */
START_TEST(a_broken_connection_is_replaced)
{
    struct scene scene = scene_open(wires[_i], NULL);
    struct gw__messenger_socket *zero =
        (struct gw__messenger_socket *)scene.zero;
    void *data = malloc(8 * MIB);
    unsigned back = 0;
    messenger_fill(data, 8 * MIB, 5);
    struct gw__message_out out = {.node = 0,
                                  .part_count = 1,
                                  .parts = {{data, 8 * MIB}},
                                  .borrowed = 1,
                                  .back = messenger_count_back,
                                  .context = &back};
    ck_assert_int_eq(gw__messenger_send(scene.three, &out), GW_OK);
    messenger_send(scene.three, 0, "after it");
    ck_assert_uint_eq(back, 0);
    while (zero->conn_count == 0 || zero->conns[0]->got == 0)
        messenger_expect_none(scene.zero);
    gw__messenger_conn_close(zero, zero->conns[0], false);
    struct gw__message_in *in = messenger_await_from(scene.three, scene.zero);
    ck_assert_uint_eq(in->parts[0].bytes, 8 * MIB);
    ck_assert(!messenger_differs(in->parts[0].data, 8 * MIB, 5));
    gw__message_in_release(in);
    messenger_expect(scene.zero, 3, "after it");
    ck_assert_uint_eq(back, 1);
    scene_close(&scene);
    free(data);
}
END_TEST

/* A recorded connection has an old number. */
START_TEST(an_older_connection_is_refused)
{
    struct scene scene = scene_open(wires[_i], NULL);
    int newer = dial(scene.zero), older = dial(scene.zero);
    write_hello(newer);
    write_message(newer, head_of(7), "number 7");
    messenger_expect(scene.zero, 3, "number 7");
    write_hello(older);
    write_message(older, head_of(7), "repeated");
    expect_end(scene.zero, older);
    int newest = dial(scene.zero);
    write_hello(newest);
    write_message(newest, head_of(8), "number 8");
    messenger_expect(scene.zero, 3, "number 8");
    expect_end(scene.zero, newer);
    close(newest);
    scene_close(&scene);
}
END_TEST

/* It is not read before its sender is known, and then all of it is there. */
START_TEST(an_early_connection_is_not_read)
{
    struct gw__messenger_config config = messenger_config(wires[_i], 3);
    struct gw__messenger *zero = messenger_open(messenger_config(wires[_i], 0));
    struct gw__messenger *three = messenger_open(config);
    int fd = dial(zero);
    write_hello(fd);
    write_message(fd, head_of(1), "message1");
    write_message(fd, head_of(1), "message2");
    close(fd);
    uint64_t until_ns = gw_now_ns() + 20000000;
    while (gw_now_ns() < until_ns) {
        messenger_expect_none(zero);
        gw__messenger_wait(zero, until_ns);
    }
    messenger_know(zero, three, &config);
    messenger_expect(zero, 3, "message1");
    messenger_expect(zero, 3, "message2");
    ck_assert_uint_eq(dropped(zero), 0);
    gw__messenger_close(&three);
    gw__messenger_close(&zero);
}
END_TEST

/* A forgotten sender is not held up: its messages are read and dropped. */
START_TEST(what_a_forgotten_peer_sends_is_dropped)
{
    struct scene scene = scene_open(wires[_i], NULL);
    void *data = calloc(1, 4 * MIB);
    unsigned back = 0;
    gw__messenger_forget(scene.zero, 3);
    struct gw__message_out out = {.node = 0,
                                  .part_count = 1,
                                  .parts = {{data, 4 * MIB}},
                                  .borrowed = 1,
                                  .back = messenger_count_back,
                                  .context = &back};
    ck_assert_int_eq(gw__messenger_send(scene.three, &out), GW_OK);
    uint64_t until_ns = gw_now_ns() + patience_ns;
    while (back == 0 || dropped(scene.zero) == 0) {
        ck_assert_uint_lt(gw_now_ns(), until_ns);
        gw__messenger_wait(scene.three, 0);
        messenger_expect_none(scene.zero);
    }
    messenger_know(scene.zero, scene.three, &scene.config);
    messenger_send(scene.three, 0, "known again");
    messenger_expect(scene.zero, 3, "known again");
    scene_close(&scene);
    free(data);
}
END_TEST

/* ---- with a key ---- */

START_TEST(any_size_is_sealed)
{
    static const size_t sizes[] = {0,     1,     7,     8,       104,    16384,
                                   65535, 65536, 65537, 1 << 20, 5000001};
    struct key_file file = key_file_make(0600);
    struct scene scene = scene_open(wires[_i], file.path);
    unsigned char *data = malloc(5000001);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gw__message_out out = {
            .node = 0,
            .part_count = 3,
            .parts = {{data, sizes[i]}, {"middle", 6}, {data, sizes[i] / 3}}};
        messenger_fill(data, sizes[i], (unsigned)i);
        ck_assert_int_eq(gw__messenger_send(scene.three, &out), GW_OK);
        memset(data, 0, sizes[i]);
        struct gw__message_in *in =
            messenger_await_from(scene.three, scene.zero);
        ck_assert_uint_eq(in->parts[0].bytes, sizes[i]);
        ck_assert(!messenger_differs(in->parts[0].data, sizes[i], (unsigned)i));
        ck_assert_mem_eq(in->parts[1].data, "middle", 6);
        ck_assert(
            !messenger_differs(in->parts[2].data, sizes[i] / 3, (unsigned)i));
        gw__message_in_release(in);
    }
    scene_close(&scene);
    free(data);
}
END_TEST

/* Without the key nothing that looks like a message is one. */
START_TEST(who_has_no_key_is_reported)
{
    struct key_file file = key_file_make(0600);
    struct scene scene = scene_open(wires[_i], file.path);
    const char *notice = notice_listen();
    for (unsigned i = 0; i < 2; i++) {
        int fd = dial(scene.zero);
        write_hello(fd);
        write_message(fd, head_of(1), "a secret");
        write_message(fd, head_of(1), "a secret");
        expect_end(scene.zero, fd);
    }
    notice_await(1);
    ck_assert_ptr_nonnull(strstr(notice, "without the key"));
    messenger_send(scene.three, 0, "with the key");
    messenger_expect(scene.zero, 3, "with the key");
    scene_close(&scene);
    ck_assert_uint_eq(notice_count(), 1);
    gw_notice_to(NULL, NULL);
}
END_TEST

Suite *suite_messenger_socket(void)
{
    Suite *suite = suite_create("messenger_socket");
    TCase *tests = tcase_create("messenger_socket");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, what_is_malformed_ends_its_connection, 0, WIRES);
    tcase_add_loop_test(tests, bytes_come_one_at_a_time, 0, WIRES);
    tcase_add_loop_test(tests, a_connection_has_one_sender, 0, WIRES);
    tcase_add_loop_test(tests, silent_guests_make_room, 0, WIRES);
    tcase_add_loop_test(tests, a_broken_connection_is_replaced, 0, WIRES);
    tcase_add_loop_test(tests, an_older_connection_is_refused, 0, WIRES);
    tcase_add_loop_test(tests, an_early_connection_is_not_read, 0, WIRES);
    tcase_add_loop_test(tests, what_a_forgotten_peer_sends_is_dropped, 0,
                        WIRES);
    tcase_add_loop_test(tests, any_size_is_sealed, 0, WIRES);
    tcase_add_loop_test(tests, who_has_no_key_is_reported, 0, WIRES);
    suite_add_tcase(suite, tests);
    return suite;
}
