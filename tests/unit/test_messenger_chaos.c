/* SPDX-License-Identifier: MIT
 *
 * Random use of the messenger: three nodes in one process send, hold, release,
 * forget, learn again and start again in any order. Invariants:
 *
 *   - a message arrives whole, and after earlier messages of its link;
 *   - a received message is constant until its release, unless its memory was
 *     lent and has been returned;
 *   - lent memory is returned exactly once.
 */
#include "messenger_set.h"

#include <gradwire/wire.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_messenger_chaos(void);

enum {
    NODES = 3,
    STEPS = 4000,
    MESSAGE_COUNT = STEPS,
    HELD = 100,
    LARGEST = 300000,
    BREAK_ROUNDS = 40,
    BREAK_MESSAGES = 4,
    PART_BYTES = 1 << 20,
};

/* The header at the beginning of part 0. */
struct test_header {
    unsigned number; /* of the message */
    uint64_t from_low, to_low;
};

struct test_message {
    struct gw__message_out sent;
    struct test_header header;
    bool shared; /* in gw_alloc memory */
    void *memory;
    unsigned back;
};

struct chaos {
    const char *wire;
    struct gw_rng chance;
    struct gw__messenger *messengers[NODES];
    struct gw__messenger_config configs[NODES];
    struct test_message messages[MESSAGE_COUNT];
    unsigned message_count;
    unsigned newest[NODES][NODES]; /* number + 1 of the last one received */
    struct gw__message_in *held[HELD];
    unsigned held_count;
    unsigned received;
};

/* Node 1 of the set, which a thread closes when the test is ready, too. */
struct leaving_peer {
    struct messenger_set *set;
    pthread_barrier_t both;
};

static unsigned below(struct chaos *chaos, unsigned bound)
{
    return (unsigned)gw_rng_below(&chaos->chance, bound);
}

/* Part 0 begins with the header; all other bytes follow from number and
 * part. */
static bool is_wrong(const struct gw__message_in *message,
                     const struct test_message *known)
{
    const struct test_header *header = &known->header;
    for (unsigned i = 0; i < known->sent.part_count; i++) {
        const unsigned char *data = message->parts[i].data;
        size_t bytes = known->sent.parts[i].bytes;
        size_t head = i == 0 ? sizeof *header : 0;
        if (message->parts[i].bytes != bytes ||
            (i == 0 && memcmp(data, header, sizeof *header) != 0) ||
            messenger_differs(data + head, bytes - head, header->number + i))
            return true;
    }
    return message->part_count != known->sent.part_count;
}

static size_t random_size(struct chaos *chaos)
{
    static const unsigned bounds[] = {9, 200, 5000, 20000, LARGEST};
    return below(chaos, bounds[below(chaos, 5)]);
}

/* ---- messages sent ---- */

static void come_back(void *context)
{
    struct test_message *known = context;
    known->back++;
    if (known->back > 1)
        return;
    memset(known->memory, 0xee, 4); /* the memory is ours again */
}

static void fill_message(struct chaos *chaos, struct test_message *known)
{
    struct gw__message_out *sent = &known->sent;
    size_t bytes[GW__MESSENGER_PARTS], total = 0;
    sent->part_count = below(chaos, GW__MESSENGER_PARTS) + 1;
    for (unsigned i = 0; i < sent->part_count; i++) {
        bytes[i] =
            random_size(chaos) + (i == 0 ? sizeof(struct test_header) : 0);
        total += (bytes[i] + 7) & ~(size_t)7;
    }
    known->shared = below(chaos, 2);
    known->memory =
        known->shared ? gw_alloc(total, NULL) : malloc(total ? total : 1);
    ck_assert_ptr_nonnull(known->memory);
    unsigned char *at = known->memory;
    for (unsigned i = 0; i < sent->part_count; i++) {
        size_t head = i == 0 ? sizeof known->header : 0;
        memcpy(at, &known->header, head);
        messenger_fill(at + head, bytes[i] - head, known->header.number + i);
        sent->parts[i] = (struct gw__messenger_part){at, bytes[i]};
        at += (bytes[i] + 7) & ~(size_t)7;
    }
    sent->borrowed = below(chaos, 2) ? below(chaos, 16) : 0;
    sent->back = come_back;
    sent->context = known;
}

static void free_memory(struct test_message *known)
{
    if (known->shared)
        gw_free(known->memory);
    else
        free(known->memory);
    known->memory = NULL;
}

static void send_one(struct chaos *chaos)
{
    unsigned from = below(chaos, NODES), to = below(chaos, NODES);
    struct test_message *known = &chaos->messages[chaos->message_count];
    known->header =
        (struct test_header){.number = chaos->message_count,
                             .from_low = chaos->configs[from].incarnation_low,
                             .to_low = chaos->configs[to].incarnation_low};
    fill_message(chaos, known);
    known->sent.node = to;
    known->sent.borrowed &= (1U << known->sent.part_count) - 1;
    ck_assert_int_eq(gw__messenger_send(chaos->messengers[from], &known->sent),
                     GW_OK);
    chaos->message_count++;
    if (!known->sent.borrowed)
        free_memory(known);
}

/* ---- messages received ---- */

static struct test_message *
test_message_of(struct chaos *chaos, const struct gw__message_in *message)
{
    struct test_header header;
    memcpy(&header, message->parts[0].data, sizeof header);
    return header.number < chaos->message_count
               ? &chaos->messages[header.number]
               : NULL;
}

static void receive_one(struct chaos *chaos)
{
    struct gw__message_in *message;
    unsigned to = below(chaos, NODES);
    gw__messenger_wait(chaos->messengers[to], 0);
    if (gw__messenger_receive(chaos->messengers[to], &message) != GW_OK)
        return;
    struct test_message *known = test_message_of(chaos, message);
    ck_assert_ptr_nonnull(known);
    ck_assert(!is_wrong(message, known));
    ck_assert_uint_eq(known->sent.node, to);
    ck_assert_uint_eq(known->header.from_low, message->incarnation_low);
    ck_assert_uint_eq(known->header.to_low, chaos->configs[to].incarnation_low);
    unsigned *newest = &chaos->newest[message->from][to];
    ck_assert_uint_ge(known->header.number, *newest);
    *newest = known->header.number + 1;
    chaos->received++;
    if (chaos->held_count < HELD && below(chaos, 2))
        chaos->held[chaos->held_count++] = message;
    else
        gw__message_in_release(message);
}

static void release_one(struct chaos *chaos)
{
    if (chaos->held_count == 0)
        return;
    unsigned at = below(chaos, chaos->held_count);
    struct gw__message_in *message = chaos->held[at];
    chaos->held[at] = chaos->held[--chaos->held_count];
    struct test_message *known = test_message_of(chaos, message);
    if (known && !known->sent.borrowed)
        ck_assert(!is_wrong(message, known));
    gw__message_in_release(message);
}

/* ---- comings and goings ---- */

static void learn(struct chaos *chaos, unsigned node, unsigned of)
{
    messenger_know(chaos->messengers[node], chaos->messengers[of],
                   &chaos->configs[of]);
}

static void forget_some(struct chaos *chaos)
{
    unsigned a = below(chaos, NODES), b = below(chaos, NODES);
    gw__messenger_forget(chaos->messengers[a], b);
    if (below(chaos, 2))
        gw__messenger_forget(chaos->messengers[b], a);
    learn(chaos, a, b);
    learn(chaos, b, a);
}

static void start_again(struct chaos *chaos)
{
    unsigned node = below(chaos, NODES);
    gw__messenger_close(&chaos->messengers[node]);
    chaos->configs[node].incarnation_low++;
    chaos->messengers[node] = messenger_open(chaos->configs[node]);
    for (unsigned other = 0; other < NODES; other++) {
        if (below(chaos, 2))
            gw__messenger_forget(chaos->messengers[other], node);
        learn(chaos, node, other);
        learn(chaos, other, node);
    }
}

static void step(struct chaos *chaos)
{
    unsigned what = below(chaos, 1000);
    if (what < 10)
        forget_some(chaos);
    else if (what < 14)
        start_again(chaos);
    else if (what < 350)
        send_one(chaos);
    else if (what < 750)
        receive_one(chaos);
    else
        release_one(chaos);
}

START_TEST(whatever_happens)
{
    struct chaos *chaos = calloc(1, sizeof *chaos);
    uint64_t seed = gw_now_ns() ^ (uint64_t)getpid();
    const char *seed_text = getenv("SEED");
    if (seed_text)
        seed = strtoull(seed_text, NULL, 0);
    printf("post_chaos %s: SEED=%llu\n", messenger_wires[_i],
           (unsigned long long)seed);
    gw_rng_seed(&chaos->chance, seed);
    for (unsigned i = 0; i < NODES; i++) {
        chaos->configs[i] = messenger_config(messenger_wires[_i], i);
        chaos->messengers[i] = messenger_open(chaos->configs[i]);
    }
    for (unsigned i = 0; i < NODES; i++)
        for (unsigned j = 0; j < NODES; j++)
            learn(chaos, i, j);
    for (unsigned i = 0; i < STEPS; i++)
        step(chaos);
    for (unsigned i = 0; i < NODES; i++)
        gw__messenger_close(&chaos->messengers[i]);
    while (chaos->held_count > 0)
        release_one(chaos);
    for (unsigned i = 0; i < chaos->message_count; i++) {
        struct test_message *known = &chaos->messages[i];
        ck_assert_uint_eq(known->back, known->sent.borrowed != 0);
        if (known->sent.borrowed)
            free_memory(known);
    }
    ck_assert_uint_gt(chaos->received, chaos->message_count / 4);
    free(chaos);
}
END_TEST

/* ---- a connection that breaks ---- */

static void *close_now(void *context)
{
    struct leaving_peer *peer = context;
    pthread_barrier_wait(&peer->both);
    gw__messenger_close(&peer->set->messengers[1]);
    return NULL;
}

static void send_large(struct gw__messenger *messenger, const void *data,
                       unsigned *back)
{
    struct gw__message_out message = {.node = 1,
                                      .part_count = GW__MESSENGER_PARTS,
                                      .borrowed = 15,
                                      .back = messenger_count_back,
                                      .context = back};
    for (unsigned i = 0; i < message.part_count; i++)
        message.parts[i] = (struct gw__messenger_part){data, PART_BYTES};
    ck_assert_int_eq(gw__messenger_send(messenger, &message), GW_OK);
}

/* Large messages are on their way when one end forgets the other, which closes
 * at the same time. A half-sent message is dropped, and lent memory comes back. */
START_TEST(a_peer_is_forgotten_while_it_closes)
{
    void *data = calloc(1, PART_BYTES);
    ck_assert_ptr_nonnull(data);
    for (unsigned round = 0; round < BREAK_ROUNDS; round++) {
        struct messenger_set set;
        struct leaving_peer peer = {.set = &set};
        pthread_t thread;
        unsigned back = 0;
        messenger_set_open(&set, messenger_wires[_i], 2);
        for (unsigned i = 0; i < BREAK_MESSAGES; i++)
            send_large(set.messengers[0], data, &back);
        pthread_barrier_init(&peer.both, NULL, 2);
        ck_assert_int_eq(pthread_create(&thread, NULL, close_now, &peer), 0);
        pthread_barrier_wait(&peer.both);
        gw__messenger_forget(set.messengers[0], 1);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&peer.both);
        messenger_set_close(&set);
        ck_assert_uint_eq(back, BREAK_MESSAGES);
    }
    free(data);
}
END_TEST

Suite *suite_messenger_chaos(void)
{
    Suite *suite = suite_create("messenger_chaos");
    TCase *tests = tcase_create("messenger_chaos");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, whatever_happens, 0, MESSENGER_WIRES);
    /* Not over zmq, whose library aborts there at times. */
    tcase_add_loop_test(tests, a_peer_is_forgotten_while_it_closes, 0,
                        MESSENGER_WIRES - 1);
    suite_add_tcase(suite, tests);
    return suite;
}
