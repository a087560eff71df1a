/* SPDX-License-Identifier: MIT
 *
 * Sets of messengers; see messenger_set.h.
 */
#include "messenger_set.h"

#include <string.h>

static const uint64_t patience_ns = 20 * 1000000000ULL;
static const uint64_t nap_ns = 1000000;

const char *const messenger_wires[MESSENGER_WIRES] = {"shm", "ipc", "tcp",
                                                      "zmq"};

struct gw__messenger_config messenger_config(const char *wire, unsigned node)
{
    return (struct gw__messenger_config){.node = node,
                                         .incarnation_high = node,
                                         .incarnation_low = 1,
                                         .wire = wire,
                                         .security.token = MESSENGER_TOKEN};
}

struct gw__messenger *messenger_open(struct gw__messenger_config config)
{
    struct gw__messenger *messenger;
    struct gw_error why;
    enum gw_err err = gw__messenger_open(&config, &messenger, &why);
    ck_assert_msg(err == GW_OK, "%s: %s", gw_err_name(err), why.text);
    return messenger;
}

void messenger_know(struct gw__messenger *messenger,
                    const struct gw__messenger *of,
                    const struct gw__messenger_config *config)
{
    struct gw_error why;
    enum gw_err err = gw__messenger_know(
        messenger, config->node, config->incarnation_high,
        config->incarnation_low, gw__messenger_address(of), &why);
    ck_assert_msg(err == GW_OK, "%s: %s", gw_err_name(err), why.text);
}

void messenger_set_open(struct messenger_set *set, const char *wire,
                        unsigned size)
{
    *set = (struct messenger_set){.size = size};
    for (unsigned i = 0; i < size; i++)
        set->messengers[i] = messenger_open(messenger_config(wire, i));
    for (unsigned i = 0; i < size; i++)
        for (unsigned j = 0; j < size; j++) {
            struct gw__messenger_config config = messenger_config(wire, j);
            messenger_know(set->messengers[i], set->messengers[j], &config);
        }
}

void messenger_set_close(struct messenger_set *set)
{
    for (unsigned i = 0; i < set->size; i++)
        gw__messenger_close(&set->messengers[i]);
}

static unsigned char byte_at(size_t place, unsigned seed)
{
    return (unsigned char)(place * 7 + (place >> 8) * 13 + seed * 31);
}

void messenger_fill(void *data, size_t bytes, unsigned seed)
{
    unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        at[i] = byte_at(i, seed);
}

bool messenger_differs(const void *data, size_t bytes, unsigned seed)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_at(i, seed))
            return true;
    return false;
}

enum gw_err messenger_try(struct gw__messenger *messenger, unsigned node,
                          const void *data, size_t bytes)
{
    struct gw__message_out message = {
        .node = node, .part_count = 1, .parts = {{data, bytes}}};
    return gw__messenger_send(messenger, &message);
}

void messenger_send(struct gw__messenger *messenger, unsigned node,
                    const char *text)
{
    enum gw_err err = messenger_try(messenger, node, text, strlen(text));
    ck_assert_msg(err == GW_OK, "\"%s\": %s", text, gw_err_name(err));
}

struct gw__message_in *messenger_await(struct gw__messenger *messenger)
{
    return messenger_await_from(NULL, messenger);
}

struct gw__message_in *messenger_await_from(struct gw__messenger *sender,
                                            struct gw__messenger *messenger)
{
    struct gw__message_in *message;
    uint64_t until = gw_now_ns() + patience_ns;
    while (gw__messenger_receive(messenger, &message) != GW_OK) {
        ck_assert_ptr_null(message);
        ck_assert_msg(gw_now_ns() < until, "no message came");
        if (sender)
            gw__messenger_wait(sender, 0);
        gw__messenger_wait(messenger, sender ? gw_now_ns() + nap_ns : until);
    }
    for (unsigned i = 0; i < message->part_count; i++)
        ck_assert_uint_eq((uintptr_t)message->parts[i].data % 8, 0);
    return message;
}

void messenger_expect(struct gw__messenger *messenger, unsigned from,
                      const char *text)
{
    struct gw__message_in *message = messenger_await(messenger);
    const struct gw__messenger_part *part = &message->parts[0];
    ck_assert_uint_eq(message->part_count, 1);
    ck_assert_msg(part->bytes == strlen(text) &&
                      memcmp(part->data, text, part->bytes) == 0,
                  "\"%.*s\" instead of \"%s\"", (int)part->bytes,
                  (const char *)part->data, text);
    ck_assert_uint_eq(message->from, from);
    gw__message_in_release(message);
}

void messenger_expect_none(struct gw__messenger *messenger)
{
    struct gw__message_in *message;
    ck_assert_int_eq(gw__messenger_receive(messenger, &message), GW_PENDING);
}

void messenger_await_count(struct gw__messenger *messenger,
                           const unsigned *value, unsigned wanted)
{
    uint64_t until = gw_now_ns() + patience_ns;
    messenger_expect_none(messenger);
    while (*value != wanted) {
        ck_assert_msg(gw_now_ns() < until && *value < wanted,
                      "%u instead of %u", *value, wanted);
        gw__messenger_wait(messenger, until);
        messenger_expect_none(messenger);
    }
}

void messenger_count_back(void *context)
{
    ++*(unsigned *)context;
}
