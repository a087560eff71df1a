/* SPDX-License-Identifier: MIT
 *
 * The aggregator of a host (ps/aggregate): envelopes keep the sender or
 * receiver of each message, and invalid bytes are refused. W workers in step
 * need S messages to S servers. Only the aggregator of its host may send for a
 * worker; and each push counts once even if the aggregator ends.
 */
#include "ps_cluster.h"

#include <ps/aggregate/gather.h>
#include <ps/node/node.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

Suite *suite_ps_aggregate(void);

/* ---- recorded messages ---- */

enum { MESSAGES = 64 };

struct wire {
    struct gw__message_in messages[MESSAGES];
    unsigned to[MESSAGES];
    unsigned count, backs;
};

static void keep(void *context, const struct gw__message_out *message)
{
    struct wire *wire = context;
    size_t bytes = message->parts[0].bytes;
    ck_assert_uint_lt(wire->count, MESSAGES);
    ck_assert_uint_eq(message->part_count, 1);
    ck_assert_uint_eq(message->borrowed, 0);
    void *data = malloc(bytes);
    ck_assert_ptr_nonnull(data);
    memcpy(data, message->parts[0].data, bytes);
    wire->to[wire->count] = message->node;
    wire->messages[wire->count++] = (struct gw__message_in){
        .from = 60, .part_count = 1, .holds = 100, .parts = {{data, bytes}}};
}

static void drop(struct wire *wire)
{
    for (unsigned i = 0; i < wire->count; i++)
        free((void *)(uintptr_t)wire->messages[i].parts[0].data);
    wire->count = 0;
}

static void count_back(void *context)
{
    ((struct wire *)context)->backs++;
}

static struct gw__message_out to_node(unsigned node, const void *data,
                                      size_t bytes)
{
    return (struct gw__message_out){
        .node = node, .part_count = 2, .parts = {{data, bytes}, {data, 3}}};
}

static struct gw__bundle_end end_of(unsigned node)
{
    return (struct gw__bundle_end){node, 100 + node, 200 + node};
}

/* ---- envelopes ---- */

START_TEST(an_envelope_keeps_the_other_end_of_each_message)
{
    static const uint8_t data[100] = {1, 2, 3};
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = {.send = keep, .context = &wire};
    unsigned count;
    size_t at = 0;
    for (unsigned n = 0; n < 3; n++) {
        const struct gw__bundle_end end = end_of(n);
        struct gw__message_out message = to_node(9, data, 10 + n);
        message.borrowed = 1;
        message.back = count_back;
        message.context = &wire;
        ck_assert(gw__bundles_forward(&bundles, &message, &end));
        ck_assert_uint_eq(wire.backs, n + 1);
    }
    ck_assert_uint_eq(wire.count, 0); /* they wait */
    gw__bundles_flush(&bundles);
    ck_assert_uint_eq(wire.count, 1);
    ck_assert_uint_eq(wire.to[0], 9);
    ck_assert(gw__is_envelope(&wire.messages[0]));
    ck_assert(!gw__is_bundle(&wire.messages[0]));
    ck_assert(!gw__bundle_check(&wire.messages[0], &count, NULL));
    ck_assert_uint_eq(count, 3);
    for (unsigned n = 0; n < 3; n++) {
        struct gw__message_in *in = gw__bundle_next(&wire.messages[0], &at);
        ck_assert_uint_eq(in->from, n);
        ck_assert_uint_eq(in->incarnation_high, 100 + n);
        ck_assert_uint_eq(in->incarnation_low, 200 + n);
        ck_assert_uint_eq(in->part_count, 2);
        ck_assert_uint_eq(in->parts[0].bytes, 10 + n);
        ck_assert_mem_eq(in->parts[0].data, data, 10 + n);
        gw__message_in_release(in);
    }
    drop(&wire);
    gw__bundles_fini(&bundles);
}
END_TEST

/* One message is an envelope, too; a node's own messages keep their order. */
START_TEST(an_envelope_and_a_bundle_do_not_mix)
{
    static const uint8_t data[GW__BUNDLE_SMALL] = {0};
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = {.send = keep, .context = &wire};
    const struct gw__bundle_end end = end_of(1);
    struct gw__message_out one = to_node(9, data, 10);
    one.part_count = 1;
    gw__bundles_send(&bundles, &one); /* the first leaves at once */
    gw__bundles_send(&bundles, &one);
    ck_assert(gw__bundles_forward(&bundles, &one, &end));
    gw__bundles_send(&bundles, &one);
    gw__bundles_flush(&bundles);
    ck_assert_uint_eq(wire.count, 4);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(gw__is_envelope(&wire.messages[i]), i == 2);
    const struct gw__message_out large = to_node(9, data, sizeof data);
    ck_assert(!gw__bundles_forward(&bundles, &large, &end));
    gw__bundles_flush(&bundles);
    ck_assert_uint_eq(wire.count, 4);
    drop(&wire);
    gw__bundles_fini(&bundles);
}
END_TEST

/* For any bytes, an envelope is refused or stays within them. */
START_TEST(garbage_is_refused)
{
    static const uint8_t data[64] = {0};
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = {.send = keep, .context = &wire};
    struct gw_error why;
    struct gw_rng rng;
    unsigned count, refused = 0;
    gw_rng_seed(&rng, 5);
    for (unsigned n = 0; n < 4; n++) {
        const struct gw__bundle_end end = end_of(n);
        const struct gw__message_out out = to_node(9, data, sizeof data);
        ck_assert(gw__bundles_forward(&bundles, &out, &end));
    }
    gw__bundles_flush(&bundles);
    struct gw__message_in *message = &wire.messages[0];
    uint8_t *bytes = (uint8_t *)(uintptr_t)message->parts[0].data;
    size_t whole = message->parts[0].bytes;
    for (size_t some = 0; some < whole; some++) {
        message->parts[0].bytes = some;
        ck_assert_int_eq(gw__bundle_check(message, &count, &why), GW_EDATA);
    }
    message->parts[0].bytes = whole;
    for (unsigned i = 0; i < 2000; i++) {
        size_t place = 4 + gw_rng_below(&rng, whole - 4), at = 0;
        uint8_t before = bytes[place];
        bytes[place] = (uint8_t)gw_rng_below(&rng, 256);
        refused += gw__bundle_check(message, &count, &why) != GW_OK;
        for (unsigned n = 0; n < count; n++) {
            struct gw__message_in *in = gw__bundle_next(message, &at);
            ck_assert_uint_le(at, whole);
            gw__message_in_release(in);
        }
        bytes[place] = before;
    }
    ck_assert_uint_gt(refused, 100);
    drop(&wire);
    gw__bundles_fini(&bundles);
}
END_TEST

/* ---- gathering ---- */

enum { WORKERS = 4, SERVERS = 3, ROUNDS = 5, WINDOW_NS = 1000 };

static void put(struct gw__gather *gather, uint64_t now_ns, unsigned worker,
                unsigned server)
{
    static const uint8_t data[40] = {0};
    const struct gw__bundle_end end = end_of(worker);
    const struct gw__message_out message =
        to_node(32 + server, data, sizeof data);
    ck_assert(gw__gather_for_server(gather, now_ns, &message, &end));
    gw__gather_flush(gather, now_ns);
}

/* W workers in step: S messages a round instead of W S. */
START_TEST(all_workers_of_a_host_share_a_message_per_server)
{
    struct wire wire = {.count = 0};
    struct gw__gather gather;
    gw__gather_init(&gather, WINDOW_NS, keep, &wire);
    gather.ps_members = gw__nodes_first(WORKERS);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned w = 0; w < WORKERS; w++) {
            for (unsigned s = 0; s < SERVERS; s++)
                put(&gather, round, w, s);
            ck_assert_uint_eq(wire.count,
                              SERVERS * (round + (w == WORKERS - 1)));
        }
    ck_assert_uint_eq(gather.forwarded, ROUNDS * WORKERS * SERVERS);
    ck_assert_uint_eq(gather.servers.saved, ROUNDS * SERVERS * (WORKERS - 1));
    ck_assert_uint_eq(gw__gather_due(&gather), UINT64_MAX);
    drop(&wire);
    gw__gather_fini(&gather);
}
END_TEST

START_TEST(the_first_message_waits_no_longer_than_the_window)
{
    struct wire wire = {.count = 0};
    struct gw__gather gather;
    gw__gather_init(&gather, WINDOW_NS, keep, &wire);
    gather.ps_members = gw__nodes_first(WORKERS);
    put(&gather, 10, 0, 0);
    put(&gather, 500, 1, 0);
    put(&gather, 700, 1, 0); /* two of one worker */
    put(&gather, 900, 2, 1);
    ck_assert_uint_eq(wire.count, 0);
    ck_assert_uint_eq(gw__gather_due(&gather), 10 + WINDOW_NS);
    gw__gather_flush(&gather, 10 + WINDOW_NS);
    ck_assert_uint_eq(wire.count, 1);
    ck_assert_uint_eq(wire.to[0], 32);
    ck_assert_uint_eq(gw__gather_due(&gather), 900 + WINDOW_NS);
    gather.ps_members = gw__nodes_only(2); /* the others have gone */
    gw__gather_flush(&gather, 1100);
    ck_assert_uint_eq(wire.count, 2);
    ck_assert_uint_eq(gather.servers.saved, 2);
    drop(&wire);
    gw__gather_fini(&gather);
}
END_TEST

/* ---- in a cluster ---- */

enum { AGGREGATOR = 50, STRANGER = 51, PUSHES = 10, KEYS = 200 };

static struct gw_ps *join(struct gw_ps_cluster *cluster)
{
    const struct gw_ps_config config = {.aggregate = true,
                                        .aggregator_node = AGGREGATOR};
    return cluster_join_with(cluster, &config);
}

static uint64_t sent_by(struct gw_ps *ps, struct gw_ps_counts *counts)
{
    gw_ps_get_counts(ps, counts);
    return counts->messages_sent;
}

/* A worker's messages for all servers are one message, to the aggregator. */
START_TEST(a_push_is_one_message_for_any_number_of_servers)
{
    struct gw_ps_cluster *cluster =
        cluster_start(cluster_wires[_i], SERVERS, 1);
    struct gw_ps *ps[2] = {join(cluster), join(cluster)};
    unsigned table = cluster_table(ps[0], 1);
    struct gw_ps_counts counts;
    ck_assert_uint_eq(cluster_table(ps[1], 1), table);
    cluster_push(ps[0], table, KEYS);
    cluster_push(ps[1], table, KEYS);
    for (unsigned w = 0; w < 2; w++) {
        uint64_t before = sent_by(ps[w], &counts), again = counts.retries;
        for (unsigned i = 0; i < PUSHES; i++)
            cluster_push(ps[w], table, KEYS);
        uint64_t sent = sent_by(ps[w], &counts) - before;
        again = counts.retries - again;
        ck_assert_uint_ge(sent, PUSHES);
        if (again == 0)
            ck_assert_uint_eq(sent, PUSHES);
    }
    cluster_expect(ps[1], table, KEYS, 2 * PUSHES + 2);
    gw_ps_get_counts(ps[0], &counts);
    ck_assert_uint_gt(counts.aggregator_sent, 0);
    ck_assert_uint_eq(counts.envelopes_refused, 0);
    gw_ps_get_counts(ps[1], &counts);
    ck_assert_uint_eq(counts.aggregator_sent, 0); /* the first one hosts it */
    gw_ps_close(&ps[1]);
    gw_ps_close(&ps[0]);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* The host dies: the other one goes on, and hosts the next; no push is lost. */
START_TEST(workers_outlive_their_aggregator)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    struct gw_ps_cluster *cluster = cluster_start("shm", SERVERS, 1);
    struct gw_ps *ps[2] = {join(cluster), join(cluster)};
    unsigned table = cluster_table(ps[1], 1);
    struct gw_ps_counts counts;
    float pushes = 0;
    for (; pushes < PUSHES; pushes++)
        cluster_push(ps[1], table, KEYS);
    gw_ps_abandon(&ps[0]);
    do {
        cluster_push(ps[1], table, KEYS);
        pushes++;
        nanosleep(&moment, NULL);
        gw_ps_get_counts(ps[1], &counts);
    } while (counts.aggregator_sent == 0);
    cluster_expect(ps[1], table, KEYS, pushes);
    gw_ps_close(&ps[1]);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* ---- strangers ---- */

static struct gw__node *enter(struct gw_ps_cluster *cluster, enum gw__role role)
{
    struct gw_error why;
    struct gw__node *node;
    struct gw_ps_config like = {.node = 0};
    char endpoint[128];
    gw_ps_cluster_client(cluster, &like);
    snprintf(endpoint, sizeof endpoint, "%s-stranger", like.endpoint);
    const struct gw__node_config config = {
        .node = STRANGER,
        .role = role,
        .endpoint = endpoint,
        .security.token = like.token,
        .controller_count = like.controller_count,
        .controllers = like.controllers,
        .controller_endpoints = like.controller_endpoints,
        .wire = like.wire};
    ck_assert_msg(!gw__node_open(&config, &node, &why), "%s", why.text);
    return node;
}

static const struct gw__ps_member *await_member(struct gw__node *node,
                                                unsigned number)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    while (!gw__node_reaches(node, number)) {
        gw__node_turn(node);
        nanosleep(&moment, NULL);
    }
    return gw__node_member(node, number);
}

static void send_message(void *context, const struct gw__message_out *message)
{
    ck_assert(!gw__messenger_send(gw__node_messenger(context), message));
}

/* Waits until server 0 has refused so many envelopes. */
static void await_refused(struct gw_ps_cluster *cluster, uint64_t refused)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    static struct gw_ps_server_status status;
    do {
        nanosleep(&moment, NULL);
        gw_ps_server_get_status(gw_ps_cluster_server(cluster, 0), &status);
    } while (status.envelopes_refused < refused);
    ck_assert_uint_eq(status.envelopes_refused, refused);
}

/* A worker that sends for another one, and an aggregator that sends for a
 * server, an ended worker or an unknown node. */
START_TEST(no_sender_speaks_for_others)
{
    static const uint8_t data[40] = {0};
    const bool aggregator = _i;
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 1);
    struct gw_ps *ps = cluster_join(cluster);
    struct gw__node *node =
        enter(cluster, aggregator ? GW__AGGREGATOR : GW__WORKER);
    struct gw__bundles bundles = {.send = send_message, .context = node};
    unsigned server = 32, other = 33, refused = 0;
    await_member(node, server);
    const struct gw__ps_member *second = await_member(node, other);
    const struct gw__message_out message = to_node(server, data, sizeof data);
    const struct gw__ps_member *worker =
        aggregator ? await_member(node, gw_ps_node(ps))
                   : gw__node_member(node, gw_ps_node(ps));
    struct gw__bundle_end ends[] = {
        {other, second->incarnation.high, second->incarnation.low},
        {worker->node, worker->incarnation.high, worker->incarnation.low + 2},
        {worker->node + 1, 1, 1},
        {1000, 1, 1},
        {worker->node, worker->incarnation.high, worker->incarnation.low}};
    for (; refused < 5U - aggregator; refused++)
        ck_assert(gw__bundles_forward(&bundles, &message, &ends[refused]));
    gw__bundles_flush(&bundles);
    await_refused(cluster, refused);
    const struct gw__message_out truncated = {
        .node = server, .part_count = 1, .parts = {{"gWE1\1\0\0\0\0", 9}}};
    send_message(node, &truncated);
    await_refused(cluster, refused + 1);
    gw__bundles_fini(&bundles);
    gw__node_close(&node);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

/* A greeting before the update is refused, so workers send theirs: answered. */
START_TEST(a_greeting_is_answered)
{
    struct gw_ps_cluster *cluster = cluster_start("shm", 2, 1);
    struct gw_ps *ps = join(cluster);
    struct gw__node *node = enter(cluster, GW__WORKER);
    struct gw__bundles bundles = {.send = send_message, .context = node};
    struct gw__message_in *message;
    await_member(node, AGGREGATOR);
    for (unsigned answered = 0; answered < 2 * PUSHES;) {
        gw__bundles_greet(&bundles, AGGREGATOR);
        gw__node_turn(node);
        gw__messenger_wait(gw__node_messenger(node), gw_now_ns() + 1000000);
        while (gw__messenger_receive(gw__node_messenger(node), &message) ==
               GW_OK) {
            answered += gw__is_envelope(message);
            gw__message_in_release(message);
        }
    }
    gw__bundles_fini(&bundles);
    gw__node_close(&node);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
}
END_TEST

Suite *suite_ps_aggregate(void)
{
    Suite *suite = suite_create("ps_aggregate");
    TCase *pure = tcase_create("pure");
    TCase *cluster = tcase_create("cluster");
    tcase_add_test(pure, an_envelope_keeps_the_other_end_of_each_message);
    tcase_add_test(pure, an_envelope_and_a_bundle_do_not_mix);
    tcase_add_test(pure, garbage_is_refused);
    tcase_add_test(pure, all_workers_of_a_host_share_a_message_per_server);
    tcase_add_test(pure, the_first_message_waits_no_longer_than_the_window);
    suite_add_tcase(suite, pure);
    tcase_add_unchecked_fixture(cluster, cluster_setup, NULL);
    tcase_add_loop_test(cluster,
                        a_push_is_one_message_for_any_number_of_servers, 0, 3);
    tcase_add_test(cluster, a_greeting_is_answered);
    tcase_add_test(cluster, workers_outlive_their_aggregator);
    tcase_add_loop_test(cluster, no_sender_speaks_for_others, 0, 2);
    suite_add_tcase(suite, cluster);
    return suite;
}
