/* SPDX-License-Identifier: MIT
 *
 * Access control of the control channel: malformed messages and those of
 * another run, of another user or without the key are dropped.
 */
#include "channel_set.h"
#include "key_file.h"
#include "notice.h"
#include "skip.h"

#include <wire/control_channel/control_channel_parts.h>

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_control_closed(void);

/* ---- refused messages ---- */

static const struct gw__control_channel_head good = {
    .from = 3, .to = 0, .token = CHANNEL_TOKEN, .incarnation_low = 8};

static void expect_fault(struct gw__control_channel_head head,
                         const char *sentence)
{
    unsigned char frame[GW__CONTROL_CHANNEL_HEAD_BYTES];
    struct gw_error why;
    gw__control_channel_frame_seal(&head, NULL, 0, frame);
    ck_assert_int_eq(gw__control_channel_frame_read(frame, sizeof frame, 0,
                                                    CHANNEL_TOKEN, &head, &why),
                     GW_EDATA);
    ck_assert_str_eq(why.text, sentence);
}

START_TEST(a_frame_is_right_or_refused)
{
    static unsigned char frame[GW__CONTROL_CHANNEL_FRAME_BULK + 1];
    struct gw__control_channel_head head = good, read;
    struct gw_error why;
    gw__control_channel_frame_seal(&head, "data", 4, frame);
    ck_assert_int_eq(gw__control_channel_frame_read(
                         frame, GW__CONTROL_CHANNEL_HEAD_BYTES + 4, 0,
                         CHANNEL_TOKEN, &read, &why),
                     GW_OK);
    ck_assert_mem_eq(&read, &head, sizeof read);
    ck_assert_mem_eq(frame + GW__CONTROL_CHANNEL_HEAD_BYTES, "data", 4);
    static const size_t bad_sizes[] = {0, GW__CONTROL_CHANNEL_HEAD_BYTES - 1,
                                       GW__CONTROL_CHANNEL_FRAME_BULK + 1};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(gw__control_channel_frame_read(frame, bad_sizes[i], 0,
                                                        CHANNEL_TOKEN, &read,
                                                        &why),
                         GW_EDATA);
        ck_assert_ptr_nonnull(strstr(why.text, "malformed message of "));
    }
    frame[0] ^= 1;
    ck_assert_int_eq(
        gw__control_channel_frame_read(frame, GW__CONTROL_CHANNEL_HEAD_BYTES, 0,
                                       CHANNEL_TOKEN, &read, &why),
        GW_EDATA);
    ck_assert_str_eq(why.text, "the message is of another program or version");
}
END_TEST

START_TEST(each_fault_has_its_sentence)
{
    struct gw__control_channel_head head = good;
    head.token++;
    expect_fault(head, "the message is of another run");
    head = good;
    head.to = 1;
    expect_fault(head, "a message for node 1 arrived at node 0");
    head = good;
    head.from = GW__CONTROL_CHANNEL_NODES;
    expect_fault(head, "a message from node 576 to node 0");
    head.from = 0;
    expect_fault(head, "a message from node 0 to node 0");
}
END_TEST

/* A stranger with a socket of its own. */
struct stranger {
    void *context, *socket;
};

static struct stranger come(const char *endpoint)
{
    struct stranger stranger = {.context = zmq_ctx_new()};
    int linger = 0;
    stranger.socket = zmq_socket(stranger.context, ZMQ_DEALER);
    zmq_setsockopt(stranger.socket, ZMQ_LINGER, &linger, sizeof linger);
    ck_assert_int_eq(zmq_connect(stranger.socket, endpoint), 0);
    return stranger;
}

static void go(struct stranger *stranger)
{
    zmq_close(stranger->socket);
    zmq_ctx_term(stranger->context);
}

static void utter(struct stranger *stranger,
                  struct gw__control_channel_head head, size_t bytes, int flags)
{
    unsigned char frame[GW__CONTROL_CHANNEL_HEAD_BYTES + 2];
    gw__control_channel_frame_seal(&head, "ok", 2, frame);
    ck_assert_int_ge(zmq_send(stranger->socket, frame, bytes, flags), 0);
}

START_TEST(refused_messages_are_counted)
{
    enum { WHOLE = GW__CONTROL_CHANNEL_HEAD_BYTES + 2 };
    struct gw__control_channel *channel =
        channel_open(channel_config(0, channel_name("raw")));
    struct stranger stranger = come(gw__control_channel_endpoint(channel));
    struct gw__control_channel_head another_run = good, misled = good,
                                    bad_sender = good;
    another_run.token = 1;
    misled.to = 1;
    bad_sender.from = 65535;
    utter(&stranger, good, 0, 0);
    utter(&stranger, good, GW__CONTROL_CHANNEL_HEAD_BYTES - 1, 0);
    utter(&stranger, another_run, WHOLE, 0);
    utter(&stranger, misled, WHOLE, 0);
    utter(&stranger, bad_sender, WHOLE, 0);
    ck_assert_int_ge(zmq_send(stranger.socket, "garbage", 7, 0), 0);
    utter(&stranger, good, WHOLE, ZMQ_SNDMORE); /* two parts */
    utter(&stranger, good, WHOLE, 0);
    utter(&stranger, good, 0, ZMQ_SNDMORE); /* three parts */
    utter(&stranger, good, WHOLE, ZMQ_SNDMORE);
    utter(&stranger, good, 0, 0);
    utter(&stranger, good, WHOLE, 0);
    channel_expect(channel, 3, "ok");
    ck_assert_uint_eq(gw__control_channel_counts(channel)->refused, 8);
    ck_assert_uint_eq(gw__control_channel_counts(channel)->received, 1);
    go(&stranger);
    gw__control_channel_close(&channel);
}
END_TEST

/* libzmq ends the connection of the sender. */
START_TEST(an_endless_message_is_not_read)
{
    static unsigned char block[GW__CONTROL_CHANNEL_FRAME_MAX + 1];
    struct gw__control_channel_head head = good;
    struct gw__control_channel *channel =
        channel_open(channel_config(0, channel_name("long")));
    struct stranger stranger = come(gw__control_channel_endpoint(channel));
    struct stranger other = come(gw__control_channel_endpoint(channel));
    char name[] = "inproc://lost";
    ck_assert_int_eq(
        zmq_socket_monitor(stranger.socket, name, ZMQ_EVENT_DISCONNECTED), 0);
    void *monitor = zmq_socket(stranger.context, ZMQ_PAIR);
    ck_assert_int_eq(zmq_connect(monitor, name), 0);
    gw__control_channel_frame_seal(&head, NULL, 0, block);
    ck_assert_int_ge(zmq_send(stranger.socket, block, sizeof block, 0), 0);
    ck_assert_int_ge(zmq_recv(monitor, block, sizeof block, 0), 0);
    utter(&other, good, GW__CONTROL_CHANNEL_HEAD_BYTES + 2, 0);
    channel_expect(channel, 3, "ok");
    channel_expect_none(channel);
    zmq_close(monitor);
    go(&stranger);
    go(&other);
    gw__control_channel_close(&channel);
}
END_TEST

START_TEST(a_flood_of_refused_ones_delays_no_other)
{
    enum { FLOOD = 900 };
    struct gw__control_channel *channel =
        channel_open(channel_config(0, channel_name("flood")));
    struct stranger stranger = come(gw__control_channel_endpoint(channel));
    for (unsigned i = 0; i < FLOOD; i++)
        utter(&stranger, good, 1, 0);
    utter(&stranger, good, GW__CONTROL_CHANNEL_HEAD_BYTES + 2, 0);
    channel_expect(channel, 3, "ok");
    ck_assert_uint_eq(gw__control_channel_counts(channel)->refused, FLOOD);
    go(&stranger);
    gw__control_channel_close(&channel);
}
END_TEST

/* ---- addresses to listen at ---- */

static void expect_closed(struct gw__control_channel_config config,
                          enum gw_err due, const char *sentence)
{
    struct gw__control_channel *channel;
    struct gw_error why;
    enum gw_err err = gw__control_channel_open(&config, &channel, &why);
    ck_assert_ptr_null(channel);
    ck_assert_msg(err == due, "%s: %s", gw_err_name(err), why.text);
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
}

START_TEST(bad_endpoints_are_refused)
{
    static const struct {
        const char *endpoint, *sentence;
    } cases[] = {
        {"",
         "control channel: \"\" is neither ipc://@name nor tcp://host:port"},
        {"ipc:///tmp/file", "is neither"},
        {"ipc://@", "is neither"},
        {"ipc://@a b", "is neither"},
        {"inproc://x", "is neither"},
        {"tcp://127.0.0.1",
         "tcp://127.0.0.1: the host and the port must be numbers"},
        {"tcp://127.0.0.1:", "the host and the port must be numbers"},
        {"tcp://127.0.0.1:0", "the host and the port must be numbers"},
        {"tcp://127.0.0.1:65536", "the host and the port must be numbers"},
        {"tcp://127.0.0.1:1x", "the host and the port must be numbers"},
        {"tcp://:1", "the host and the port must be numbers"},
        {"tcp://*:1", "the host and the port must be numbers"},
        {"tcp://1.2.3.4;127.0.0.1:1", "the host and the port must be numbers"},
        {"tcp://0.0.0.0:*", "name one address"},
        {"tcp://[::]:*", "name one address"},
        {"tcp://192.0.2.1:*", "is open to the network; give a key file, or "
                              "allow it with --insecure"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_closed(channel_config(0, cases[i].endpoint), GW_EINVAL,
                      cases[i].sentence);
    char name[GW__CONTROL_CHANNEL_ENDPOINT_MAX + 1];
    memset(name, 'x', sizeof name);
    memcpy(name, "ipc://@", 7);
    name[GW__CONTROL_CHANNEL_ENDPOINT_MAX] = 0;
    expect_closed(channel_config(0, name), GW_EINVAL,
                  "an endpoint must have at most 119 characters");
    name[7 + 107] = 0;
    expect_closed(channel_config(0, name), GW_EINVAL, "is neither");
    expect_closed(channel_config(GW__CONTROL_CHANNEL_NODES, "ipc://@x"),
                  GW_EINVAL, "node 576: nodes are numbered below 576");
    ck_assert_int_eq(
        gw__control_channel_check_endpoint("tcp://127.0.0.1:*", NULL),
        GW_EINVAL);
    ck_assert_int_eq(
        gw__control_channel_check_endpoint("tcp://192.0.2.1:80", NULL), GW_OK);
}
END_TEST

/* 192.0.2.1 belongs to no host (RFC 5737), so the remaining error is that it
 * cannot listen. */
START_TEST(an_open_network_needs_a_key_or_a_word)
{
    struct key_file file = key_file_make(0600);
    struct gw__control_channel_config config =
        channel_config(0, "tcp://192.0.2.1:*");
    expect_closed(config, GW_EINVAL, "is open to the network");
    config.security.insecure = true;
    expect_closed(config, GW_EUNREACH, "cannot listen at");
    config.security.insecure = false;
    config.security.key_file = file.path;
    expect_closed(config, GW_EUNREACH, "cannot listen at");
}
END_TEST

START_TEST(the_longest_name_works)
{
    char name[7 + 106 + 1];
    memset(name, 'x', sizeof name);
    memcpy(name, "ipc://@", 7);
    name[sizeof name - 1] = 0;
    struct gw__control_channel *channel = channel_open(channel_config(0, name));
    ck_assert_str_eq(gw__control_channel_endpoint(channel), name);
    gw__control_channel_close(&channel);
}
END_TEST

START_TEST(an_endpoint_in_use_is_refused)
{
    const char *wanted = _i ? "tcp://127.0.0.1:*" : channel_name("taken");
    struct gw__control_channel *channel =
        channel_open(channel_config(0, wanted));
    ck_assert_ptr_null(strchr(gw__control_channel_endpoint(channel), '*'));
    expect_closed(channel_config(1, gw__control_channel_endpoint(channel)),
                  GW_EUNREACH, "control channel: cannot listen at ");
    gw__control_channel_close(&channel);
}
END_TEST

/* Connects as `user` to the listener of an abstract name. Returns whether it
 * sends its greeting (1) or nothing (0). */
static int greeted_as(uid_t user, const char *endpoint)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = endpoint + strlen("ipc://@");
    memcpy(address.sun_path + 1, name, strlen(name));
    int status;
    pid_t child = fork();
    if (child == 0) {
        char greeting[64];
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                       1 + strlen(name));
        if ((user != getuid() && setuid(user) != 0) ||
            connect(fd, (struct sockaddr *)&address, length) != 0)
            _exit(2);
        _exit(read(fd, greeting, sizeof greeting) > 0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(other_users_are_not_let_in)
{
    enum { UNKNOWN_NODE = 65534 };
    struct gw__control_channel *channel =
        channel_open(channel_config(0, channel_name("user")));
    ck_assert_int_eq(
        greeted_as(getuid(), gw__control_channel_endpoint(channel)), 1);
    if (getuid() == 0)
        ck_assert_int_eq(
            greeted_as(UNKNOWN_NODE, gw__control_channel_endpoint(channel)), 0);
    gw__control_channel_close(&channel);
    if (getuid() != 0)
        SKIP("mesh_closed", "only root can be another user");
}
END_TEST

/* ---- keys ---- */

static struct gw__control_channel *open_with(unsigned node, const char *key)
{
    static const char *const names[] = {"0", "1", "2", "3"};
    struct gw__control_channel_config config =
        channel_config(node, channel_name(names[node]));
    config.security.key_file = key;
    return channel_open(config);
}

START_TEST(a_shared_key_lets_in)
{
    struct key_file file = key_file_make(0600);
    struct channel_set set = {.size = 2};
    struct gw__control_channel_config config =
        channel_config(0, "tcp://127.0.0.2:*");
    for (config.node = 0; config.node < 2; config.node++) {
        config.security.key_file = file.path;
        set.channels[config.node] = channel_open(config);
    }
    channel_set_know(&set);
    channel_send(set.channels[0], 1, "secret");
    channel_expect(set.channels[1], 0, "secret");
    channel_send(set.channels[1], 0, "too");
    channel_expect(set.channels[0], 1, "too");
    channel_set_close(&set);
}
END_TEST

START_TEST(another_key_or_none_does_not)
{
    struct key_file right = key_file_make(0600), wrong = key_file_make(0600);
    const char *const keys[] = {right.path, right.path, wrong.path, NULL};
    struct channel_set set = {.size = 4};
    for (unsigned i = 0; i < 4; i++)
        set.channels[i] = open_with(i, keys[i]);
    channel_set_know(&set);
    const char *sentence = notice_listen();
    channel_send(set.channels[_i ? 2 : 3], 0, _i ? "wrong key" : "no key");
    notice_await(1);
    ck_assert_msg(strstr(sentence, gw__control_channel_endpoint(
                                       set.channels[0])) == sentence,
                  "%s", sentence);
    ck_assert_ptr_nonnull(strstr(sentence, "without the key"));
    channel_send(set.channels[_i ? 3 : 2], 0, "another");
    channel_send(set.channels[1], 0, "right key");
    channel_expect(set.channels[0], 1, "right key");
    channel_expect_none(set.channels[0]);
    channel_set_close(&set); /* no accept filter reports anything after this */
    ck_assert_uint_eq(notice_count(), 1);
    gw_notice_to(NULL, NULL);
}
END_TEST

START_TEST(a_bad_key_file_opens_nothing)
{
    struct key_file file = key_file_make(0644);
    struct gw__control_channel_config config =
        channel_config(0, channel_name("key"));
    config.security.key_file = file.path;
    expect_closed(config, GW_EINVAL, "(mode 0644); run chmod 600 on it");
    config.security.key_file = "/nonexistent/key";
    expect_closed(config, GW_EINVAL,
                  "control channel: key file /nonexistent/key: No such");
}
END_TEST

Suite *suite_control_closed(void)
{
    Suite *suite = suite_create("control_closed");
    TCase *tests = tcase_create("control channel closed");
    tcase_add_test(tests, a_frame_is_right_or_refused);
    tcase_add_test(tests, each_fault_has_its_sentence);
    tcase_add_test(tests, refused_messages_are_counted);
    tcase_add_test(tests, an_endless_message_is_not_read);
    tcase_add_test(tests, a_flood_of_refused_ones_delays_no_other);
    tcase_add_test(tests, bad_endpoints_are_refused);
    tcase_add_test(tests, an_open_network_needs_a_key_or_a_word);
    tcase_add_test(tests, the_longest_name_works);
    tcase_add_loop_test(tests, an_endpoint_in_use_is_refused, 0, 2);
    tcase_add_test(tests, other_users_are_not_let_in);
    tcase_add_test(tests, a_shared_key_lets_in);
    tcase_add_loop_test(tests, another_key_or_none_does_not, 0, 2);
    tcase_add_test(tests, a_bad_key_file_opens_nothing);
    suite_add_tcase(suite, tests);
    return suite;
}
