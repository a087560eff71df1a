/* SPDX-License-Identifier: MIT
 *
 * Rendezvous: all ranks get all addresses, in whatever order they come; and
 * errors are reported to all ranks present.
 */
#include "key_file.h"
#include "notice.h"
#include "wire/rendezvous/rendezvous.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

Suite *suite_rendezvous(void);

enum { RANKS_MAX = 9 };

struct comer {
    pthread_t thread;
    const char *endpoint;
    const char *key_file;
    unsigned rank, size;
    unsigned delay_ms, timeout_ms;
    size_t address_bytes;
    struct gw__address *table;
    enum gw_err err;
    struct gw_error why;
};

static void fill_address(struct gw__address *address, unsigned rank,
                         size_t bytes)
{
    address->bytes = bytes;
    memset(address->blob, (int)(rank + 1), bytes);
}

static void *come(void *context)
{
    struct comer *c = context;
    struct gw__address *mine = calloc(1, sizeof *mine);
    fill_address(mine, c->rank, c->address_bytes);
    c->table = calloc(c->size, sizeof *c->table);
    usleep(c->delay_ms * 1000);
    c->err = gw__rendezvous_with_key(c->endpoint, c->key_file, c->rank, c->size,
                                     mine, c->table, c->timeout_ms, &c->why);
    free(mine);
    return NULL;
}

/* An endpoint that no other test uses. */
static const char *fresh_endpoint(void)
{
    static char endpoint[64];
    static unsigned count;
    snprintf(endpoint, sizeof endpoint, "ipc://@gradwire-test-%d-%u",
             (int)getpid(), count++);
    return endpoint;
}

static void prepare(struct comer *comers, unsigned count, unsigned size)
{
    const char *endpoint = fresh_endpoint();
    for (unsigned i = 0; i < count; i++)
        comers[i] = (struct comer){.endpoint = endpoint,
                                   .rank = i,
                                   .size = size,
                                   .timeout_ms = 5000,
                                   .address_bytes = 100 + i};
}

static void run(struct comer *comers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_create(&comers[i].thread, NULL, come, &comers[i]);
    for (unsigned i = 0; i < count; i++)
        pthread_join(comers[i].thread, NULL);
}

static void forget(struct comer *comers, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(comers[i].table);
}

static void expect_all_joined(struct comer *comers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ck_assert_msg(comers[i].err == GW_OK, "rank %u: %s", i,
                      comers[i].why.text);
        for (unsigned r = 0; r < count; r++) {
            const struct gw__address *address = &comers[i].table[r];
            ck_assert_uint_eq(address->bytes, comers[r].address_bytes);
            for (size_t b = 0; b < address->bytes; b++)
                ck_assert_uint_eq(address->blob[b], r + 1);
        }
    }
    forget(comers, count);
}

/* The error text after "rendezvous ENDPOINT: ". */
static const char *sentence(const struct comer *comer)
{
    size_t length = strlen("rendezvous ") + strlen(comer->endpoint);
    ck_assert_msg(strncmp(comer->why.text, "rendezvous ipc://@", 18) == 0 &&
                      strncmp(comer->why.text + length, ": ", 2) == 0,
                  "%s", comer->why.text);
    return comer->why.text + length + 2;
}

START_TEST(everyone_gets_every_address)
{
    struct comer comers[RANKS_MAX];
    prepare(comers, RANKS_MAX, RANKS_MAX);
    comers[4].address_bytes = 0;
    comers[5].address_bytes = GW__ADDRESS_MAX;
    run(comers, RANKS_MAX);
    expect_all_joined(comers, RANKS_MAX);
}
END_TEST

START_TEST(a_rank_alone_completes)
{
    struct gw__address mine = {.bytes = 3, .blob = "me"}, table[1];
    ck_assert_int_eq(gw__rendezvous(NULL, 0, 1, &mine, table, 0, NULL), GW_OK);
    ck_assert_uint_eq(table[0].bytes, 3);
    ck_assert_str_eq((char *)table[0].blob, "me");
}
END_TEST

START_TEST(rank_0_may_come_last)
{
    struct comer comers[3];
    prepare(comers, 3, 3);
    comers[0].delay_ms = 150;
    run(comers, 3);
    expect_all_joined(comers, 3);
}
END_TEST

START_TEST(the_endpoint_can_be_used_again_at_once)
{
    struct comer comers[2];
    prepare(comers, 2, 2);
    for (int i = 0; i < 5; i++) {
        run(comers, 2);
        expect_all_joined(comers, 2);
    }
}
END_TEST

START_TEST(names_of_hosts_are_resolved)
{
    struct comer comers[2];
    char endpoint[40];
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_PAIR);
    size_t size = sizeof endpoint;
    zmq_bind(socket, "tcp://127.0.0.1:*");
    zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
    zmq_close(socket);
    zmq_ctx_term(context);
    unsigned port = (unsigned)atoi(strrchr(endpoint, ':') + 1);
    snprintf(endpoint, sizeof endpoint, "tcp://localhost:%u", port);
    prepare(comers, 2, 2);
    comers[0].endpoint = comers[1].endpoint = endpoint;
    run(comers, 2);
    expect_all_joined(comers, 2);
}
END_TEST

START_TEST(who_is_missing_is_reported_to_all)
{
    struct comer comers[2];
    prepare(comers, 2, 4);
    comers[0].timeout_ms = 200;
    comers[1].timeout_ms = 5000;
    uint64_t begin = gw_now_ns();
    run(comers, 2);
    ck_assert_uint_lt(gw_now_ns() - begin, 3000000000U);
    ck_assert_int_eq(comers[0].err, GW_ETIMEOUT);
    ck_assert_str_eq(sentence(&comers[0]),
                     "ranks 2, 3 of 4 did not connect in 200 ms: timed out");
    ck_assert_int_eq(comers[1].err, GW_ETIMEOUT);
    ck_assert_ptr_nonnull(
        strstr(sentence(&comers[1]), "ranks 2, 3 of 4 did not connect"));
    forget(comers, 2);
    prepare(comers, 2, 3);
    comers[0].timeout_ms = 5000;
    comers[0].delay_ms = 0;
    comers[1].timeout_ms = 400; /* the first to give up, with the reason */
    comers[0].timeout_ms = 600;
    run(comers, 2);
    ck_assert_str_eq(sentence(&comers[1]),
                     "rank 2 of 3 did not connect in 400 ms: timed out");
    forget(comers, 2);
}
END_TEST

START_TEST(without_rank_0_it_is_named)
{
    struct comer comer[2];
    prepare(comer, 2, 2);
    comer[1].timeout_ms = 100;
    run(comer + 1, 1);
    ck_assert_int_eq(comer[1].err, GW_ETIMEOUT);
    ck_assert_str_eq(sentence(&comer[1]),
                     "rank 0 did not answer in 100 ms: timed out");
    forget(comer + 1, 1);
}
END_TEST

START_TEST(two_joins_as_one_rank_are_reported_to_both)
{
    struct comer comers[4];
    prepare(comers, 4, 4);
    comers[3].rank = 1;
    run(comers, 4);
    for (unsigned i = 0; i < 4; i++) {
        if (i == 2)
            continue; /* may come too late for the error */
        ck_assert_msg(comers[i].err == GW_EMISMATCH, "%u: %s", i,
                      comers[i].why.text);
        ck_assert_str_eq(sentence(&comers[i]),
                         "two processes claim to be rank 1");
    }
    forget(comers, 4);
}
END_TEST

START_TEST(two_ranks_0_are_reported)
{
    struct comer comers[2];
    prepare(comers, 2, 3);
    comers[1].rank = 0;
    run(comers, 2);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(comers[i].err, GW_EMISMATCH);
        ck_assert_str_eq(sentence(&comers[i]),
                         "two processes claim to be rank 0");
    }
    forget(comers, 2);
}
END_TEST

START_TEST(other_sizes_are_reported_to_both)
{
    struct comer comers[2];
    prepare(comers, 2, 4);
    comers[1].size = 5;
    run(comers, 2);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(comers[i].err, GW_EMISMATCH);
        ck_assert_str_eq(
            sentence(&comers[i]),
            "rank 1 was started as one of 5 ranks, but rank 0 as one of 4");
    }
    forget(comers, 2);
}
END_TEST

START_TEST(an_endpoint_that_is_none_is_unreachable)
{
    static const char *const endpoints[] = {"nonsense", "tcp://127.0.0.1",
                                            "tcp://192.0.2.1:7", "ftp://x:1"};
    struct gw__address mine = {.bytes = 1}, table[2];
    struct gw_error why;
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++) {
        ck_assert_int_eq(
            gw__rendezvous(endpoints[i], 0, 2, &mine, table, 100, &why),
            GW_EUNREACH);
        ck_assert_ptr_nonnull(strstr(why.text, endpoints[i]));
    }
    ck_assert_int_eq(gw__rendezvous(NULL, 1, 2, &mine, table, 100, &why),
                     GW_EINVAL);
}
END_TEST

/* The endpoint belongs to another program. */
START_TEST(an_endpoint_in_use_is_unreachable)
{
    struct gw__address mine = {.bytes = 1}, table[2];
    struct gw_error why;
    const char *endpoint = fresh_endpoint();
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_ROUTER);
    ck_assert_int_eq(zmq_bind(socket, endpoint), 0);
    ck_assert_int_eq(gw__rendezvous(endpoint, 0, 2, &mine, table, 200, &why),
                     GW_EUNREACH);
    ck_assert_ptr_nonnull(strstr(why.text, "already in use"));
    zmq_close(socket);
    zmq_ctx_term(context);
}
END_TEST

static void *babble(void *context)
{
    const char *endpoint = context;
    unsigned char bytes[200] = {0};
    void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_DEALER);
    int linger = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_connect(socket, endpoint);
    for (unsigned i = 0; i < 100; i++) {
        memset(bytes, (int)i, sizeof bytes);
        memcpy(bytes, "gwm1", i % 2 ? 4 : 0);
        zmq_send(socket, bytes, i * 2, i % 7 ? 0 : ZMQ_SNDMORE);
        usleep(500);
    }
    zmq_close(socket);
    zmq_ctx_term(zmq);
    return NULL;
}

START_TEST(rubbish_is_ignored)
{
    struct comer comers[2];
    pthread_t babbler;
    prepare(comers, 2, 2);
    comers[1].delay_ms = 80;
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "%s", comers[0].endpoint);
    pthread_create(&babbler, NULL, babble, endpoint);
    run(comers, 2);
    expect_all_joined(comers, 2);
    pthread_join(babbler, NULL);
}
END_TEST

START_TEST(a_key_keeps_others_out)
{
    struct key_file file = key_file_make(0600);
    struct comer comers[2];
    prepare(comers, 2, 2);
    comers[0].key_file = comers[1].key_file = file.path;
    run(comers, 2);
    expect_all_joined(comers, 2);
    const char *notice = notice_listen();
    comers[0].timeout_ms = comers[1].timeout_ms = 300;
    comers[1].key_file = NULL;
    run(comers, 2);
    gw_notice_to(NULL, NULL);
    ck_assert_uint_eq(notice_count(), 1);
    ck_assert_ptr_nonnull(strstr(notice, "without the key"));
    ck_assert_int_eq(comers[0].err, GW_ETIMEOUT);
    ck_assert_str_eq(sentence(&comers[0]),
                     "rank 1 of 2 did not connect in 300 ms (check that all "
                     "have the same key file): timed out");
    ck_assert_int_eq(comers[1].err, GW_ETIMEOUT);
    forget(comers, 2);
}
END_TEST

Suite *suite_rendezvous(void)
{
    Suite *suite = suite_create("rendezvous");
    TCase *tests = tcase_create("rendezvous");
    tcase_set_timeout(tests, 30);
    tcase_add_test(tests, everyone_gets_every_address);
    tcase_add_test(tests, a_rank_alone_completes);
    tcase_add_test(tests, rank_0_may_come_last);
    tcase_add_test(tests, the_endpoint_can_be_used_again_at_once);
    tcase_add_test(tests, names_of_hosts_are_resolved);
    tcase_add_test(tests, who_is_missing_is_reported_to_all);
    tcase_add_test(tests, without_rank_0_it_is_named);
    tcase_add_test(tests, two_joins_as_one_rank_are_reported_to_both);
    tcase_add_test(tests, two_ranks_0_are_reported);
    tcase_add_test(tests, other_sizes_are_reported_to_both);
    tcase_add_test(tests, an_endpoint_that_is_none_is_unreachable);
    tcase_add_test(tests, an_endpoint_in_use_is_unreachable);
    tcase_add_test(tests, rubbish_is_ignored);
    tcase_add_test(tests, a_key_keeps_others_out);
    suite_add_tcase(suite, tests);
    return suite;
}
