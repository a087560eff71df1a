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
#include "post_set.h"

#include <gradwire/wire.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *suite_post_chaos(void);

enum {
    NODES = 3,
    STEPS = 4000,
    LETTERS = STEPS,
    HELD = 100,
    LARGEST = 300000,
};

/* The header at the beginning of part 0. */
struct note {
    unsigned number; /* of the message */
    uint64_t from_low, to_low;
};

struct letter {
    struct gw__message_out sent;
    struct note note;
    bool shared; /* in gw_alloc memory */
    void *memory;
    unsigned back;
};

struct chaos {
    const char *wire;
    struct gw_rng chance;
    struct gw__messenger *posts[NODES];
    struct gw__messenger_config configs[NODES];
    struct letter letters[LETTERS];
    unsigned letter_count;
    unsigned newest[NODES][NODES]; /* number + 1 of the last one received */
    struct gw__message_in *held[HELD];
    unsigned held_count;
    unsigned received;
};

static unsigned below(struct chaos *chaos, unsigned bound)
{
    return (unsigned)gw_rng_below(&chaos->chance, bound);
}

/* Part 0 begins with the header; all other bytes follow from number and
 * part. */
static bool is_wrong(const struct gw__message_in *message,
                     const struct letter *letter)
{
    const struct note *note = &letter->note;
    for (unsigned i = 0; i < letter->sent.part_count; i++) {
        const unsigned char *data = message->parts[i].data;
        size_t bytes = letter->sent.parts[i].bytes;
        size_t head = i == 0 ? sizeof *note : 0;
        if (message->parts[i].bytes != bytes ||
            (i == 0 && memcmp(data, note, sizeof *note) != 0) ||
            post_differs(data + head, bytes - head, note->number + i))
            return true;
    }
    return message->part_count != letter->sent.part_count;
}

static size_t random_size(struct chaos *chaos)
{
    static const unsigned bounds[] = {9, 200, 5000, 20000, LARGEST};
    return below(chaos, bounds[below(chaos, 5)]);
}

/* ---- messages sent ---- */

static void come_back(void *context)
{
    struct letter *letter = context;
    letter->back++;
    if (letter->back > 1)
        return;
    memset(letter->memory, 0xee, 4); /* the memory is ours again */
}

static void fill_letter(struct chaos *chaos, struct letter *letter)
{
    struct gw__message_out *sent = &letter->sent;
    size_t bytes[GW__MESSENGER_PARTS], total = 0;
    sent->part_count = below(chaos, GW__MESSENGER_PARTS) + 1;
    for (unsigned i = 0; i < sent->part_count; i++) {
        bytes[i] = random_size(chaos) + (i == 0 ? sizeof(struct note) : 0);
        total += (bytes[i] + 7) & ~(size_t)7;
    }
    letter->shared = below(chaos, 2);
    letter->memory =
        letter->shared ? gw_alloc(total, NULL) : malloc(total ? total : 1);
    ck_assert_ptr_nonnull(letter->memory);
    unsigned char *at = letter->memory;
    for (unsigned i = 0; i < sent->part_count; i++) {
        size_t head = i == 0 ? sizeof letter->note : 0;
        memcpy(at, &letter->note, head);
        post_fill(at + head, bytes[i] - head, letter->note.number + i);
        sent->parts[i] = (struct gw__messenger_part){at, bytes[i]};
        at += (bytes[i] + 7) & ~(size_t)7;
    }
    sent->lent = below(chaos, 2) ? below(chaos, 16) : 0;
    sent->back = come_back;
    sent->context = letter;
}

static void free_memory(struct letter *letter)
{
    if (letter->shared)
        gw_free(letter->memory);
    else
        free(letter->memory);
    letter->memory = NULL;
}

static void send_one(struct chaos *chaos)
{
    unsigned from = below(chaos, NODES), to = below(chaos, NODES);
    struct letter *letter = &chaos->letters[chaos->letter_count];
    letter->note =
        (struct note){.number = chaos->letter_count,
                      .from_low = chaos->configs[from].incarnation_low,
                      .to_low = chaos->configs[to].incarnation_low};
    fill_letter(chaos, letter);
    letter->sent.node = to;
    letter->sent.lent &= (1U << letter->sent.part_count) - 1;
    ck_assert_int_eq(gw__messenger_send(chaos->posts[from], &letter->sent),
                     GW_OK);
    chaos->letter_count++;
    if (!letter->sent.lent)
        free_memory(letter);
}

/* ---- messages received ---- */

static struct letter *letter_of(struct chaos *chaos,
                                const struct gw__message_in *message)
{
    struct note note;
    memcpy(&note, message->parts[0].data, sizeof note);
    return note.number < chaos->letter_count ? &chaos->letters[note.number]
                                             : NULL;
}

static void receive_one(struct chaos *chaos)
{
    struct gw__message_in *message;
    unsigned to = below(chaos, NODES);
    gw__messenger_wait(chaos->posts[to], 0);
    if (gw__messenger_receive(chaos->posts[to], &message) != GW_OK)
        return;
    struct letter *letter = letter_of(chaos, message);
    ck_assert_ptr_nonnull(letter);
    ck_assert(!is_wrong(message, letter));
    ck_assert_uint_eq(letter->sent.node, to);
    ck_assert_uint_eq(letter->note.from_low, message->incarnation_low);
    ck_assert_uint_eq(letter->note.to_low, chaos->configs[to].incarnation_low);
    unsigned *newest = &chaos->newest[message->from][to];
    ck_assert_uint_ge(letter->note.number, *newest);
    *newest = letter->note.number + 1;
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
    struct letter *letter = letter_of(chaos, message);
    if (letter && !letter->sent.lent)
        ck_assert(!is_wrong(message, letter));
    gw__message_in_release(message);
}

/* ---- comings and goings ---- */

static void learn(struct chaos *chaos, unsigned node, unsigned of)
{
    post_tell(chaos->posts[node], chaos->posts[of], &chaos->configs[of]);
}

static void forget_some(struct chaos *chaos)
{
    unsigned a = below(chaos, NODES), b = below(chaos, NODES);
    gw__messenger_forget(chaos->posts[a], b);
    if (below(chaos, 2))
        gw__messenger_forget(chaos->posts[b], a);
    learn(chaos, a, b);
    learn(chaos, b, a);
}

static void start_again(struct chaos *chaos)
{
    unsigned node = below(chaos, NODES);
    gw__messenger_close(&chaos->posts[node]);
    chaos->configs[node].incarnation_low++;
    chaos->posts[node] = post_open(chaos->configs[node]);
    for (unsigned other = 0; other < NODES; other++) {
        if (below(chaos, 2))
            gw__messenger_forget(chaos->posts[other], node);
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
    const char *given = getenv("SEED");
    if (given)
        seed = strtoull(given, NULL, 0);
    printf("post_chaos %s: SEED=%llu\n", post_wires[_i],
           (unsigned long long)seed);
    gw_rng_seed(&chaos->chance, seed);
    for (unsigned i = 0; i < NODES; i++) {
        chaos->configs[i] = post_config(post_wires[_i], i);
        chaos->posts[i] = post_open(chaos->configs[i]);
    }
    for (unsigned i = 0; i < NODES; i++)
        for (unsigned j = 0; j < NODES; j++)
            learn(chaos, i, j);
    for (unsigned i = 0; i < STEPS; i++)
        step(chaos);
    for (unsigned i = 0; i < NODES; i++)
        gw__messenger_close(&chaos->posts[i]);
    while (chaos->held_count > 0)
        release_one(chaos);
    for (unsigned i = 0; i < chaos->letter_count; i++) {
        struct letter *letter = &chaos->letters[i];
        ck_assert_uint_eq(letter->back, letter->sent.lent != 0);
        if (letter->sent.lent)
            free_memory(letter);
    }
    ck_assert_uint_gt(chaos->received, chaos->letter_count / 4);
    free(chaos);
}
END_TEST

Suite *suite_post_chaos(void)
{
    Suite *suite = suite_create("post_chaos");
    TCase *tests = tcase_create("post_chaos");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, whatever_happens, 0, POST_WIRES);
    suite_add_tcase(suite, tests);
    return suite;
}
