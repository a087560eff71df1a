/* SPDX-License-Identifier: MIT
 *
 * Access control of the controllers' log. test_raft_log.c tests the log itself,
 * with a key and without.
 */
#include "logs.h"
#include "notice.h"

#include <cluster/raft/raft_log_parts.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

Suite *suite_raft_log_key(void);

static struct logs logs, others;

static void begin(bool secured)
{
    logs_begin(&logs, 3);
    if (secured)
        logs_secure(&logs);
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
}

/* ---- addresses to listen at ---- */

static void expect_closed(struct gw__raft_log_config config,
                          const char *sentence)
{
    struct gw_error why = {0};
    struct gw__raft_log *log;
    ck_assert_int_ne(gw__raft_log_open(&config, &log, &why), GW_OK);
    ck_assert_ptr_null(log);
    ck_assert_msg(strstr(why.text, sentence) != NULL, "%s", why.text);
}

/* 192.0.2.1 belongs to no host (RFC 5737), so the remaining error is that it
 * cannot listen. */
START_TEST(an_open_network_needs_a_key_or_a_word)
{
    const char *addresses[2] = {"192.0.2.1:7001", "192.0.2.2:7001"};
    char path[128];
    logs_begin(&logs, 1);
    logs_secure(&logs);
    logs_path(&logs, 0, path);
    struct gw__raft_log_config config = {.count = 2,
                                         .addresses = addresses,
                                         .directory = path,
                                         .election_ms = 150,
                                         .heartbeat_ms = 30};
    expect_closed(config, "192.0.2.1:7001 is open to the network; give a key");
    config.security.insecure = true;
    expect_closed(config, "192.0.2.1:7001");
    config.security.insecure = false;
    config.security.key_file = logs.key.path;
    expect_closed(config, "cannot listen at tcp://192.0.2.1:7001");
    addresses[0] = "0.0.0.0:7001";
    expect_closed(config, "name one address");
    addresses[0] = "somewhere";
    expect_closed(config, "the host and the port must be numbers");
    addresses[0] = logs.addresses[0];
    config.security.key_file = "/nonexistent/key";
    expect_closed(config, "key file /nonexistent/key");
    logs_end(&logs);
}
END_TEST

static bool has_ipv6(void)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&in, sizeof in) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

/* libraft's own streams do not support it. */
START_TEST(they_agree_over_ipv6)
{
    if (!has_ipv6())
        return;
    logs_begin(&logs, 3);
    logs_secure(&logs);
    for (unsigned i = 0; i < 3; i++) {
        unsigned long port =
            strtoul(strchr(logs.addresses[i], ':') + 1, NULL, 10);
        snprintf(logs.addresses[i], sizeof logs.addresses[i], "[::1]:%lu",
                 port);
    }
    for (unsigned i = 0; i < 3; i++)
        logs_open(&logs, i);
    logs_propose(&logs, logs_leader(&logs), 1);
    for (unsigned i = 0; i < 3; i++)
        logs_await(&logs, i, 1);
    logs_end(&logs);
}
END_TEST

/* ---- strangers ---- */

/* The logs agree on another entry. A change of the leader loses the proposal,
 * so it is repeated. */
static void expect_to_go_on(unsigned missing)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    unsigned leader = logs_leader(&logs);
    uint64_t next = logs_sight(&logs, leader)->index + 1, again_ns = 0;
    uint64_t until_ns = gw_now_ns() + 20000000000U;
    while (logs_sight(&logs, leader)->index < next) {
        ck_assert(gw_now_ns() < until_ns);
        if (gw_now_ns() > again_ns) {
            leader = logs_leader(&logs);
            logs_propose(&logs, leader, next);
            again_ns = gw_now_ns() + 300000000;
        }
        nanosleep(&moment, NULL);
    }
    for (unsigned i = 0; i < 3; i++)
        if (i != missing)
            logs_await(&logs, i, next);
}

/* Replaces a log that is away, from another address, with another key (1) or
 * with none. */
START_TEST(another_key_or_none_does_not_join)
{
    begin(true);
    unsigned late = (logs_leader(&logs) + 1) % 3;
    expect_to_go_on(logs.count);
    logs_close(&logs, late);
    logs_begin(&others, 3);
    if (_i)
        logs_secure(&others);
    for (unsigned i = 0; i < 3; i++)
        if (i != late)
            memcpy(others.addresses[i], logs.addresses[i],
                   sizeof logs.addresses[i]);
    const char *sentence = notice_listen();
    logs_open(&others, late);
    notice_await(2); /* from both others */
    ck_assert_msg(strstr(sentence, "without the key"), "%s", sentence);
    expect_to_go_on(late);
    ck_assert_uint_eq(logs_sight(&others, late)->leader, others.count);
    ck_assert_uint_eq(logs_sight(&others, late)->index, 0);
    logs_end(&others);
    expect_to_go_on(late);
    logs_end(&logs); /* no accept filter reports anything after this */
    ck_assert_uint_eq(notice_count(), 2);
    gw_notice_to(NULL, NULL);
}
END_TEST

/* ---- a forged message ---- */

enum { HIGH_TERM = 1000000, UNKNOWN_ID = 9 };

/* As in libraft's streams: the sender's identity, and a claim to lead in
 * HIGH_TERM. */
static void send_as_leader(int fd, const char *address)
{
    uint64_t data[3 + 4 + 2 + 5] = {1, UNKNOWN_ID, 32};
    uint64_t *message = data + 3 + 4;
    snprintf((char *)(data + 3), 32, "%s", address);
    message[0] = RAFT_IO_APPEND_ENTRIES;
    message[1] = 5 * sizeof *message;
    message[2] = HIGH_TERM;
    ck_assert_int_eq(write(fd, data, sizeof data), sizeof data);
}

static struct sockaddr_in parse(const char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    const char *colon = strchr(address, ':');
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return in;
}

static int come(const char *address)
{
    struct sockaddr_in in = parse(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
    return fd;
}

static int listen_at(const char *address)
{
    struct sockaddr_in in = parse(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1; /* the port is also held by another socket */
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes),
                     0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

/* Without a key any process of the host is believed, and answered. */
START_TEST(a_stranger_cannot_pretend_to_lead)
{
    char address[32];
    notice_listen();
    begin(_i);
    unsigned victim = logs_leader(&logs);
    expect_to_go_on(logs.count);
    logs_free_address(address);
    int answers = listen_at(address), fd = come(logs.addresses[victim]);
    send_as_leader(fd, address);
    if (_i)
        notice_await(1);
    else
        close(accept(answers, NULL, NULL));
    expect_to_go_on(logs.count);
    gw__raft_log_stop(logs.logs[victim].log);
    raft_term term = logs.logs[victim].log->raft.current_term;
    ck_assert_msg((term >= HIGH_TERM) == !_i, "term %llu", term);
    close(fd);
    close(answers);
    logs_end(&logs);
    ck_assert_uint_eq(notice_count(), (unsigned)_i);
    gw_notice_to(NULL, NULL);
}
END_TEST

/* A process with the key that sends other data. */
START_TEST(what_is_no_message_is_dropped)
{
    char endpoint[64];
    struct gw__control_channel *channel;
    struct gw__control_channel_config config = {.node = 17,
                                                .endpoint = "tcp://127.0.0.1:*",
                                                .security.token = LOGS_TOKEN,
                                                .bulk = true};
    begin(true);
    unsigned victim = logs_leader(&logs);
    snprintf(endpoint, sizeof endpoint, "tcp://%s", logs.addresses[victim]);
    config.security.key_file = logs.key.path;
    for (unsigned round = 0; round < 2; round++) {
        config.node = round ? (victim + 1) % 3 : 17;
        ck_assert_int_eq(gw__control_channel_open(&config, &channel, NULL),
                         GW_OK);
        ck_assert_int_eq(
            gw__control_channel_know(channel, victim, endpoint, NULL), GW_OK);
        while (gw__control_channel_send(channel, victim, "gwr1\1 and more",
                                        14) != GW_OK)
            gw__control_channel_wait(channel, -1, gw_now_ns() + 1000000);
        for (unsigned i = 0; i < 500; i++)
            if (gw__control_channel_send(channel, victim, "rubbish", i % 8))
                gw__control_channel_wait(channel, -1, gw_now_ns() + 1000000);
        expect_to_go_on(logs.count);
        gw__control_channel_close(&channel);
    }
    for (unsigned i = 0; i < 3; i++)
        logs_check(&logs, i);
    logs_end(&logs);
}
END_TEST

/* More than one message holds, and too few entries for a snapshot. */
START_TEST(who_is_far_behind_is_sent_chunk_by_chunk)
{
    enum { ENTRIES = 300, BYTES = 2000 };
    static const char entry[BYTES];
    begin(true);
    unsigned leader = logs_leader(&logs), late = (leader + 1) % 3;
    logs_close(&logs, late);
    for (unsigned i = 0; i < ENTRIES; i++)
        ck_assert_int_eq(
            gw__raft_log_propose(logs.logs[leader].log, entry, sizeof entry),
            GW_OK);
    logs_await(&logs, leader, ENTRIES);
    logs_open(&logs, late);
    logs_await(&logs, late, ENTRIES);
    ck_assert_uint_eq(logs_sight(&logs, late)->snapshots, 0);
    for (unsigned i = 0; i < 3; i++)
        logs_check(&logs, i);
    logs_end(&logs);
}
END_TEST

Suite *suite_raft_log_key(void)
{
    Suite *suite = suite_create("raft_log_key");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, an_open_network_needs_a_key_or_a_word);
    tcase_add_test(t, they_agree_over_ipv6);
    tcase_add_loop_test(t, another_key_or_none_does_not_join, 0, 2);
    tcase_add_loop_test(t, a_stranger_cannot_pretend_to_lead, 0, 2);
    tcase_add_test(t, what_is_no_message_is_dropped);
    tcase_add_test(t, who_is_far_behind_is_sent_chunk_by_chunk);
    suite_add_tcase(suite, t);
    return suite;
}
