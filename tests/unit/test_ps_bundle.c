/* SPDX-License-Identifier: MIT
 *
 * Bundles of messages (ps/bundle.h): they are unpacked in order, lent memory is
 * returned once, and invalid bytes are refused. A cluster whose servers bundle
 * sends fewer messages for the same pushes.
 */
#include "ps_cluster.h"

#include <ps/messages/bundle.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

Suite *suite_ps_bundle(void);

/* ---- a wire that records its messages ---- */

enum { NODE = 7, MESSAGES = 512 };

struct wire {
    struct gw__message_in *messages[MESSAGES];
    unsigned count, message_count; /* `letters` counts those inside, too */
    unsigned backs;
};

static void free_message(struct gw__message_in *message)
{
    for (unsigned i = 0; i < message->part_count; i++)
        free((void *)(uintptr_t)message->parts[i].data);
    free(message);
}

static struct gw__message_in *copy_of(const struct gw__message_out *out)
{
    struct gw__message_in *in = calloc(1, sizeof *in);
    ck_assert_ptr_nonnull(in);
    *in = (struct gw__message_in){.from = 3,
                                  .incarnation_high = 4,
                                  .incarnation_low = 5,
                                  .part_count = out->part_count,
                                  .free = free_message};
    atomic_init(&in->holds, 1);
    for (unsigned i = 0; i < out->part_count; i++) {
        size_t bytes = out->parts[i].bytes;
        void *data = malloc(bytes + 1);
        ck_assert_ptr_nonnull(data);
        if (bytes > 0)
            memcpy(data, out->parts[i].data, bytes);
        in->parts[i] = (struct gw__messenger_part){data, bytes};
    }
    return in;
}

static void keep(void *context, const struct gw__message_out *message)
{
    struct wire *wire = context;
    ck_assert_uint_lt(wire->count, MESSAGES);
    ck_assert_uint_eq(message->node, NODE);
    wire->messages[wire->count++] = copy_of(message);
    if (message->borrowed)
        message->back(message->context);
}

static void count_back(void *context)
{
    struct wire *wire = context;
    wire->backs++;
}

static struct gw__bundles bundles_on(struct wire *wire)
{
    return (struct gw__bundles){.send = keep, .context = wire};
}

/* ---- distinguishable messages ---- */

static uint8_t byte_of(unsigned message, unsigned part, size_t i)
{
    return (uint8_t)(message * 31 + part * 7 + i);
}

/* Sends parts of these sizes; only the last one may be lent. */
static void send_one(struct gw__bundles *bundles, struct wire *wire,
                     const size_t *bytes, unsigned part_count, bool borrowed)
{
    uint8_t *data[GW__MESSENGER_PARTS];
    struct gw__message_out message = {.node = NODE, .part_count = part_count};
    unsigned number = wire->message_count++;
    for (unsigned p = 0; p < part_count; p++) {
        data[p] = malloc(bytes[p] + 1);
        ck_assert_ptr_nonnull(data[p]);
        for (size_t i = 0; i < bytes[p]; i++)
            data[p][i] = byte_of(number, p, i);
        message.parts[p] = (struct gw__messenger_part){data[p], bytes[p]};
    }
    if (borrowed) {
        message.borrowed = 1U << (part_count - 1);
        message.back = count_back;
        message.context = wire;
    }
    gw__bundles_send(bundles, &message);
    /* A lent part may be read until the flush. */
    for (unsigned p = 0; p < part_count - borrowed; p++) {
        memset(data[p], 0xee, bytes[p]);
        free(data[p]);
    }
    if (borrowed) {
        gw__bundles_flush(bundles);
        free(data[part_count - 1]);
    }
}

static void expect_message(const struct gw__message_in *message,
                           unsigned number, const size_t *bytes,
                           unsigned part_count)
{
    ck_assert_uint_eq(message->from, 3);
    ck_assert_uint_eq(message->incarnation_high, 4);
    ck_assert_uint_eq(message->incarnation_low, 5);
    ck_assert_uint_eq(message->part_count, part_count);
    for (unsigned p = 0; p < part_count; p++) {
        const uint8_t *data = message->parts[p].data;
        ck_assert_uint_eq(message->parts[p].bytes, bytes[p]);
        ck_assert_uint_eq((uintptr_t)data % 8, 0);
        for (size_t i = 0; i < bytes[p]; i++)
            ck_assert_uint_eq(data[i], byte_of(number, p, i));
    }
}

static void drop(struct wire *wire)
{
    for (unsigned i = 0; i < wire->count; i++)
        gw__message_in_release(wire->messages[i]);
    wire->count = 0;
}

/* ---- packing ---- */

START_TEST(messages_come_out_in_order)
{
    enum { MANY = 300 };
    static size_t bytes[MANY][GW__MESSENGER_PARTS];
    static unsigned part_counts[MANY];
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = bundles_on(&wire);
    struct gw_rng rng;
    uint64_t seed = (uint64_t)_i + 1;
    printf("seed %llu\n", (unsigned long long)seed);
    gw_rng_seed(&rng, seed);
    for (unsigned n = 0; n < MANY; n++) {
        bool large = gw_rng_below(&rng, 20) == 0;
        part_counts[n] = 1 + (unsigned)gw_rng_below(&rng, GW__MESSENGER_PARTS);
        for (unsigned p = 0; p < part_counts[n]; p++)
            bytes[n][p] = gw_rng_below(&rng, large ? 20000 : 600);
        send_one(&bundles, &wire, bytes[n], part_counts[n], false);
        if (gw_rng_below(&rng, 10) == 0)
            gw__bundles_flush(&bundles);
    }
    gw__bundles_flush(&bundles);
    ck_assert_uint_lt(wire.count, MANY / 2);
    unsigned number = 0;
    for (unsigned m = 0; m < wire.count; m++) {
        struct gw__message_in *message = wire.messages[m];
        unsigned count = 1;
        size_t at = 0;
        bool bundle = gw__is_bundle(message);
        if (bundle)
            ck_assert(!gw__bundle_check(message, &count, NULL));
        ck_assert(count > 1 || !bundle);
        for (unsigned i = 0; i < count; i++, number++) {
            struct gw__message_in *in =
                bundle ? gw__bundle_next(message, &at) : message;
            expect_message(in, number, bytes[number], part_counts[number]);
            if (bundle)
                gw__message_in_release(in);
        }
    }
    ck_assert_uint_eq(number, MANY);
    drop(&wire);
    gw__bundles_fini(&bundles);
}
END_TEST

/* A message from a bundle may outlive the release of the bundle. */
START_TEST(a_message_holds_its_bundle)
{
    const size_t bytes[2] = {24, 100};
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = bundles_on(&wire);
    size_t at = 0;
    for (unsigned i = 0; i < 3; i++)
        send_one(&bundles, &wire, bytes, 2, false);
    ck_assert_uint_eq(wire.count, 1); /* the first one left at once */
    gw__bundles_flush(&bundles);
    ck_assert_uint_eq(wire.count, 2);
    struct gw__message_in *first = gw__bundle_next(wire.messages[1], &at);
    struct gw__message_in *second = gw__bundle_next(wire.messages[1], &at);
    gw__message_in_release(first);
    drop(&wire);
    expect_message(second, 2, bytes, 2);
    gw__message_in_release(second);
    gw__bundles_fini(&bundles);
}
END_TEST

START_TEST(what_is_borrowed_comes_back_once)
{
    const size_t bytes[2] = {24, 1000};
    static uint8_t data[1000];
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = bundles_on(&wire);
    const struct gw__message_out borrowed = {
        .node = NODE,
        .part_count = 1,
        .parts = {{data, sizeof data}},
        .borrowed = 1,
        .back = count_back,
        .context = &wire,
    };
    send_one(&bundles, &wire, bytes, 2, false);
    send_one(&bundles, &wire, bytes, 2, true); /* alone: sent as it is */
    ck_assert_uint_eq(wire.backs, 1);
    ck_assert_uint_eq(wire.messages[1]->part_count, 2);
    expect_message(wire.messages[1], 1, bytes, 2);
    send_one(&bundles, &wire, bytes, 2, false);
    send_one(&bundles, &wire, bytes, 2, false);
    send_one(&bundles, &wire, bytes, 2, true); /* after another one */
    ck_assert_uint_eq(wire.backs, 2);
    send_one(&bundles, &wire, bytes, 2, false);
    gw__bundles_send(&bundles, &borrowed); /* before another one */
    ck_assert_uint_eq(wire.backs, 2);
    send_one(&bundles, &wire, bytes, 2, false);
    ck_assert_uint_eq(wire.backs, 3);
    gw__bundles_flush(&bundles);
    ck_assert_uint_eq(wire.backs, 3);
    send_one(&bundles, &wire, bytes, 2, false);
    gw__bundles_send(&bundles, &borrowed); /* and discarded */
    gw__bundles_fini(&bundles);
    ck_assert_uint_eq(wire.backs, 4);
    ck_assert_uint_eq(wire.count, 7);
    drop(&wire);
}
END_TEST

START_TEST(off_means_a_message_each)
{
    const size_t bytes[1] = {24};
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = bundles_on(&wire);
    bundles.off = true;
    send_one(&bundles, &wire, bytes, 1, false);
    send_one(&bundles, &wire, bytes, 1, false);
    ck_assert_uint_eq(wire.count, 2);
    drop(&wire);
    gw__bundles_fini(&bundles);
}
END_TEST

/* ---- invalid bundles ---- */

START_TEST(bytes_that_lie_are_refused)
{
    const size_t bytes[2] = {24, 100};
    struct wire wire = {.count = 0};
    struct gw__bundles bundles = bundles_on(&wire);
    struct gw_error why;
    unsigned count;
    for (unsigned i = 0; i < 3; i++)
        send_one(&bundles, &wire, bytes, 2, false);
    gw__bundles_flush(&bundles);
    struct gw__message_in *message = wire.messages[1];
    uint8_t *data = (uint8_t *)(uintptr_t)message->parts[0].data;
    size_t whole = message->parts[0].bytes;
    ck_assert_int_eq(gw__bundle_check(message, &count, &why), GW_OK);
    for (size_t some = 0; some < whole; some++) {
        message->parts[0].bytes = some;
        ck_assert_int_eq(gw__bundle_check(message, &count, &why), GW_EDATA);
        ck_assert_uint_eq(count, 0);
    }
    message->parts[0].bytes = whole;
    const size_t places[] = {4, 8, 32}; /* letters, parts, bytes of a part */
    for (unsigned i = 0; i < 3; i++) {
        uint8_t before = data[places[i] + 3];
        data[places[i] + 3] = 0xff;
        ck_assert_int_eq(gw__bundle_check(message, &count, &why), GW_EDATA);
        data[places[i] + 3] = before;
    }
    data[0]++;
    ck_assert(!gw__is_bundle(message));
    drop(&wire);
    gw__bundles_fini(&bundles);
}
END_TEST

/* ---- in a cluster ---- */

/* Counts the messages for ten pushes to all slots, none of which was
 * repeated. */
static uint64_t messages_of_pushes(bool no_bundle, unsigned servers,
                                   unsigned slots, uint64_t *saved)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster;
    const struct gw_ps_cluster_config config = {.servers = servers,
                                                .slots = slots};
    const struct gw_ps_config client = {.no_bundle = no_bundle};
    struct gw_ps_counts before, after;
    ck_assert_msg(!gw_ps_cluster_start(&config, &cluster, &why), "%s",
                  why.text);
    struct gw_ps *ps = cluster_join_with(cluster, &client);
    unsigned table = cluster_table(ps, 1);
    cluster_push(ps, table, CLUSTER_KEYS);
    do {
        gw_ps_get_counts(ps, &before);
        for (unsigned i = 0; i < 10; i++)
            cluster_push(ps, table, CLUSTER_KEYS);
        gw_ps_get_counts(ps, &after);
    } while (after.retries != before.retries);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
    *saved = after.messages_saved - before.messages_saved;
    return after.messages_sent - before.messages_sent;
}

/* One message per server that has slots, or one per slot. */
START_TEST(a_push_is_a_message_a_server_or_a_message_a_slot)
{
    static const unsigned member_counts[][2] = {{1, 8}, {2, 12}, {3, 16}};
    uint64_t saved;
    unsigned servers = member_counts[_i][0], slots = member_counts[_i][1];
    ck_assert_uint_eq(messages_of_pushes(false, servers, slots, &saved),
                      10 * servers);
    ck_assert_uint_eq(saved, 10 * (slots - servers));
    ck_assert_uint_eq(messages_of_pushes(true, servers, slots, &saved),
                      10 * slots);
    ck_assert_uint_eq(saved, 0);
}
END_TEST

enum { PUSHES = 20, SLOTS = 12, SERVERS = 2 };

/* The messages of a server at the time when its status, which may be 50 ms old,
 * has all pushes. Without bundles each slot's part of a push counts as one. */
static uint64_t messages_then(struct gw_ps_server *server, bool no_bundle)
{
    uint64_t pushes = no_bundle ? PUSHES * SLOTS / SERVERS : PUSHES;
    const struct timespec moment = {.tv_nsec = 1000000};
    struct gw_ps_server_status status;
    do {
        nanosleep(&moment, NULL);
        gw_ps_server_get_status(server, &status);
    } while (status.pushes < pushes);
    ck_assert_uint_eq(status.pushes, pushes);
    return status.messages_sent;
}

static uint64_t messages_of(const char *wire, bool no_bundle)
{
    struct gw_error why;
    struct gw_ps_cluster *cluster;
    const struct gw_ps_server_config server = {.no_bundle = no_bundle};
    const struct gw_ps_cluster_config config = {.servers = SERVERS,
                                                .slots = SLOTS,
                                                .replicas = 2,
                                                .wire = wire,
                                                .server = &server};
    const struct gw_ps_config client = {.no_bundle = no_bundle};
    struct gw_ps_counts counts;
    uint64_t sent = 0;
    ck_assert_msg(!gw_ps_cluster_start(&config, &cluster, &why), "%s",
                  why.text);
    struct gw_ps *ps = cluster_join_with(cluster, &client);
    unsigned table = cluster_table(ps, 1);
    for (unsigned i = 0; i < PUSHES; i++)
        cluster_push(ps, table, 100);
    cluster_expect(ps, table, 100, PUSHES);
    gw_ps_get_counts(ps, &counts);
    ck_assert_uint_ge(counts.messages_sent, 2 * PUSHES);
    for (unsigned i = 0; i < SERVERS; i++)
        sent += messages_then(gw_ps_cluster_server(cluster, i), no_bundle);
    gw_ps_close(&ps);
    gw_ps_cluster_stop(&cluster);
    return sent;
}

/* Each server sends the log entries of six slots to the other one. */
START_TEST(servers_send_fewer_messages)
{
    uint64_t alone = messages_of(cluster_wires[_i], true);
    uint64_t bundled = messages_of(cluster_wires[_i], false);
    printf("%llu messages with bundles, %llu without\n",
           (unsigned long long)bundled, (unsigned long long)alone);
    ck_assert_msg(3 * bundled < 2 * alone, "%llu with bundles, %llu without",
                  (unsigned long long)bundled, (unsigned long long)alone);
}
END_TEST

Suite *suite_ps_bundle(void)
{
    Suite *suite = suite_create("ps_bundle");
    TCase *pure = tcase_create("pure");
    TCase *cluster = tcase_create("cluster");
    tcase_add_loop_test(pure, messages_come_out_in_order, 0, 10);
    tcase_add_test(pure, a_message_holds_its_bundle);
    tcase_add_test(pure, what_is_borrowed_comes_back_once);
    tcase_add_test(pure, off_means_a_message_each);
    tcase_add_test(pure, bytes_that_lie_are_refused);
    suite_add_tcase(suite, pure);
    tcase_add_unchecked_fixture(cluster, cluster_setup, NULL);
    tcase_add_loop_test(cluster,
                        a_push_is_a_message_a_server_or_a_message_a_slot, 0, 3);
    tcase_add_loop_test(cluster, servers_send_fewer_messages, 0, 3);
    suite_add_tcase(suite, cluster);
    return suite;
}
