/* SPDX-License-Identifier: MIT
 *
 * Access control of the ZeroMQ wires: exposure, limits, and keys.
 */
#include "key_file.h"
#include "wire/zmq/zmq_wire.h"
#include "wire_set.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

Suite *suite_wire_key(void);

static const char *const names[] = {"ipc", "tcp", "zmq"};

static void expect_refusal(struct gw_comm_config config, enum gw_err due,
                           const char *sentence)
{
    struct gw__wire *wire;
    struct gw_error why;
    enum gw_err err = gw__wire_open(&config, &wire, &why);
    ck_assert_msg(err == due, "%s", gw_err_name(err));
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
    ck_assert_ptr_null(wire);
}

/* ---- exposure ---- */

START_TEST(only_loopback_without_a_key)
{
    struct gw_comm_config config = wire_set_config("tcp", 0, 2);
    config.interface = "192.0.2.1";
    expect_refusal(
        config, GW_EINVAL,
        "tcp wire: 192.0.2.1 is open to the network; give a key file");
    config.insecure = true;
    config.interface = "0.0.0.0";
    expect_refusal(config, GW_EINVAL, "name one interface, not \"0.0.0.0\"");
    config.interface = "no-such-interface";
    expect_refusal(config, GW_EUNREACH, "no-such-interface");
}
END_TEST

START_TEST(limits_are_reported)
{
    struct gw_comm_config config = wire_set_config("ipc", 0, 2);
    config.lanes = 9;
    expect_refusal(config, GW_EINVAL, "ipc wire: 9 lanes; use at most 8");
    ck_assert_uint_gt(gw__zmq_endpoint_address_bytes(0, 256, 2, GW__ZMQ_TCP),
                      0);
    ck_assert_uint_gt(gw__zmq_endpoint_address_bytes(0, 1000, 8, GW__ZMQ_IPC),
                      0);
    ck_assert_uint_eq(gw__zmq_endpoint_address_bytes(0, 1000, 8, GW__ZMQ_TCP),
                      0);
}
END_TEST

/* libzmq would end the program when descriptors run out. The library therefore
 * refuses to open, or raises the limit. */
START_TEST(open_files_are_reserved)
{
    struct rlimit few = {.rlim_cur = 64, .rlim_max = 4096};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct wire_set set;
    wire_set_start(&set, "tcp", WIRE_SET_MAX, 4);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &few), 0);
    ck_assert_uint_gt(few.rlim_cur, 64);
    wire_set_end(&set);
    few.rlim_cur = few.rlim_max = 100;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    expect_refusal(wire_set_config("tcp", 0, 20), GW_ESYS,
                   "the limit is 100; raise it");
}
END_TEST

/* ---- keys ---- */

static void expect_bad_key(const char *text, mode_t mode, const char *sentence)
{
    struct key_file file = key_file_write(text, mode);
    struct gw_comm_config config = wire_set_config("tcp", 0, 2);
    config.key_file = file.path;
    expect_refusal(config, GW_EINVAL, sentence);
}

START_TEST(bad_key_files_are_refused)
{
    char one[] = "0123456789012345678901234567890123456789\n";
    char both[sizeof one * 2];
    snprintf(both, sizeof both, "%s%s", one, one);
    expect_bad_key(one, 0600, "must be two lines of 40 characters");
    expect_bad_key("", 0600, "must be two lines of 40 characters");
    expect_bad_key(both, 0600, "do not belong together");
    expect_bad_key(both, 0644, "(mode 0644); run chmod 600 on it");
    struct gw_comm_config config = wire_set_config("tcp", 0, 2);
    config.key_file = "/nonexistent/key";
    expect_refusal(config, GW_EINVAL, "No such file");
}
END_TEST

/* Two ranks, each with its own configuration, connected by two threads. */
struct pair {
    struct gw__wire *wires[2];
    struct gw__address table[2];
    enum gw_err errors[2];
    struct gw_error why[2];
    uint64_t patience_ns;
};

struct pair_half {
    struct pair *pair;
    unsigned rank;
};

static void *connect_half(void *context)
{
    struct pair_half *half = context;
    struct pair *p = half->pair;
    unsigned r = half->rank;
    p->errors[r] = p->wires[r]->ops->connect(
        p->wires[r], p->table, gw_now_ns() + p->patience_ns, &p->why[r]);
    return NULL;
}

static void open_pair(struct pair *pair, const struct gw_comm_config configs[2])
{
    for (unsigned r = 0; r < 2; r++) {
        enum gw_err err =
            gw__wire_open(&configs[r], &pair->wires[r], &pair->why[r]);
        ck_assert_msg(err == GW_OK, "%s", pair->why[r].text);
        pair->table[r] = pair->wires[r]->address;
    }
}

static void connect_pair(struct pair *pair, uint64_t patience_ns)
{
    pthread_t threads[2];
    struct pair_half halves[2];
    pair->patience_ns = patience_ns;
    for (unsigned r = 0; r < 2; r++) {
        halves[r] = (struct pair_half){pair, r};
        pthread_create(&threads[r], NULL, connect_half, &halves[r]);
    }
    for (unsigned r = 0; r < 2; r++)
        pthread_join(threads[r], NULL);
}

static void close_pair(struct pair *pair)
{
    for (unsigned r = 0; r < 2; r++)
        gw__wire_close(&pair->wires[r]);
}

START_TEST(a_shared_key_joins)
{
    struct key_file file = key_file_make(0600);
    struct gw_comm_config configs[2];
    struct pair pair;
    struct gw__slice_view view;
    struct gw__header header = {.bytes = 100000};
    unsigned char *data = malloc(100000);
    for (unsigned r = 0; r < 2; r++) {
        configs[r] = wire_set_config(names[_i], r, 2);
        configs[r].key_file = file.path;
        configs[r].interface = "127.0.0.2";
    }
    open_pair(&pair, configs);
    connect_pair(&pair, 5000000000U);
    ck_assert_msg(!pair.errors[0] && !pair.errors[1], "%s", pair.why[0].text);
    wire_set_fill(data, 100000, 1);
    wire_set_send(pair.wires[0], 1, &header, data, false);
    ck_assert_int_eq(wire_set_await(pair.wires[1], 0, &view), GW_OK);
    ck_assert(!wire_set_differs(view.data, 100000, 1));
    close_pair(&pair);
    free(data);
}
END_TEST

START_TEST(another_key_does_not_join)
{
    struct key_file files[2] = {key_file_make(0600), key_file_make(0600)};
    struct gw_comm_config configs[2];
    struct pair pair;
    for (unsigned r = 0; r < 2; r++) {
        configs[r] = wire_set_config("tcp", r, 2);
        configs[r].key_file = files[r].path;
    }
    open_pair(&pair, configs);
    connect_pair(&pair, 200000000U);
    for (unsigned r = 0; r < 2; r++) {
        ck_assert_int_eq(pair.errors[r], GW_ETIMEOUT);
        ck_assert_ptr_nonnull(
            strstr(pair.why[r].text, "check that all have the same key file"));
    }
    close_pair(&pair);
    configs[1].key_file = NULL;
    open_pair(&pair, configs);
    connect_pair(&pair, 200000000U);
    for (unsigned r = 0; r < 2; r++)
        ck_assert_int_eq(pair.errors[r], GW_EMISMATCH);
    ck_assert_ptr_nonnull(strstr(
        pair.why[0].text, "rank 1 has no key file, but this rank has one"));
    close_pair(&pair);
}
END_TEST

START_TEST(other_lanes_or_sizes_are_a_mismatch)
{
    struct gw_comm_config configs[2] = {wire_set_config("tcp", 0, 2),
                                        wire_set_config("tcp", 1, 2)};
    struct pair pair;
    configs[1].lanes = 3;
    open_pair(&pair, configs);
    connect_pair(&pair, 200000000U);
    ck_assert_int_eq(pair.errors[0], GW_EMISMATCH);
    ck_assert_ptr_nonnull(strstr(pair.why[0].text, "with 3 lanes"));
    close_pair(&pair);
    configs[1] = wire_set_config("tcp", 1, 5);
    open_pair(&pair, configs);
    pair.patience_ns = 0;
    struct pair_half half = {&pair, 0};
    connect_half(&half);
    ck_assert_int_eq(pair.errors[0], GW_EMISMATCH);
    ck_assert_ptr_nonnull(
        strstr(pair.why[0].text, "a different number of ranks"));
    close_pair(&pair);
}
END_TEST

/* ---- large slices ---- */

/* What the kernel has taken does not need the sender. */
START_TEST(copied_slices_come_without_their_sender)
{
    enum { BYTES = 300000 };
    struct wire_set set;
    struct gw__slice_view view;
    unsigned char *data = calloc(1, BYTES);
    struct gw__header header = {.bytes = BYTES};
    wire_set_start(&set, "keyed tcp", 2, 0);
    wire_set_send(set.wires[1], 0, &header, data, true);
    ck_assert_uint_eq(set.wires[1]->ops->sends_done(set.wires[1], 0), 1);
    ck_assert_int_eq(wire_set_await(set.wires[0], 1, &view), GW_OK);
    ck_assert_mem_eq(view.data, data, BYTES);
    wire_set_end(&set);
    free(data);
}
END_TEST

static void *close_it(void *wire)
{
    gw__wire_close(wire);
    return NULL;
}

/* Rank 1 has sent all its data, and leaves without reading that of rank 0. The
 * kernel drops unread data in such a connection. (Over zmq the result depends on
 * how far libzmq's thread has read: no collective leaves unread data.) */
START_TEST(what_was_sent_arrives_though_the_reverse_is_unread)
{
    enum { BYTES = 400000 };
    struct wire_set set;
    struct gw__slice_view view;
    pthread_t closer;
    unsigned char *data = malloc(BYTES);
    struct gw__header header = {.bytes = BYTES};
    wire_set_fill(data, BYTES, 1);
    wire_set_start(&set, "keyed tcp", 2, 0);
    wire_set_send(set.wires[0], 1, &header, data, false);
    wire_set_send(set.wires[1], 0, &header, data, false);
    ck_assert(wire_set_await_done(set.wires[1], 0, 1));
    pthread_create(&closer, NULL, close_it, &set.wires[1]);
    ck_assert_int_eq(wire_set_await(set.wires[0], 1, &view), GW_OK);
    ck_assert(!wire_set_differs(view.data, BYTES, 1));
    pthread_join(closer, NULL);
    wire_set_end(&set);
    free(data);
}
END_TEST

Suite *suite_wire_key(void)
{
    Suite *suite = suite_create("wire_key");
    TCase *tests = tcase_create("key");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, only_loopback_without_a_key);
    tcase_add_test(tests, limits_are_reported);
    tcase_add_test(tests, open_files_are_reserved);
    tcase_add_test(tests, bad_key_files_are_refused);
    tcase_add_loop_test(tests, a_shared_key_joins, 0, 3);
    tcase_add_test(tests, another_key_does_not_join);
    tcase_add_test(tests, other_lanes_or_sizes_are_a_mismatch);
    tcase_add_test(tests, copied_slices_come_without_their_sender);
    tcase_add_test(tests, what_was_sent_arrives_though_the_reverse_is_unread);
    suite_add_tcase(suite, tests);
    return suite;
}
