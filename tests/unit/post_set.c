/* SPDX-License-Identifier: MIT
 *
 * Sets of messengers; see post_set.h.
 */
#include "post_set.h"

#include <string.h>

static const uint64_t patience_ns = 20 * 1000000000ULL;

const char *const post_wires[POST_WIRES] = {"shm", "ipc", "tcp"};

struct gw__messenger_config post_config(const char *wire, unsigned node)
{
    return (struct gw__messenger_config){.node = node,
                                         .incarnation_high = node,
                                         .incarnation_low = 1,
                                         .wire = wire,
                                         .token = POST_TOKEN};
}

struct gw__messenger *post_open(struct gw__messenger_config config)
{
    struct gw__messenger *messenger;
    struct gw_error why;
    enum gw_err err = gw__messenger_open(&config, &messenger, &why);
    ck_assert_msg(err == GW_OK, "%s: %s", gw_err_name(err), why.text);
    return messenger;
}

void post_tell(struct gw__messenger *messenger, const struct gw__messenger *of,
               const struct gw__messenger_config *config)
{
    struct gw_error why;
    enum gw_err err = gw__messenger_know(
        messenger, config->node, config->incarnation_high,
        config->incarnation_low, gw__messenger_address(of), &why);
    ck_assert_msg(err == GW_OK, "%s: %s", gw_err_name(err), why.text);
}

void post_set_open(struct post_set *set, const char *wire, unsigned size)
{
    *set = (struct post_set){.size = size};
    for (unsigned i = 0; i < size; i++)
        set->posts[i] = post_open(post_config(wire, i));
    for (unsigned i = 0; i < size; i++)
        for (unsigned j = 0; j < size; j++) {
            struct gw__messenger_config config = post_config(wire, j);
            post_tell(set->posts[i], set->posts[j], &config);
        }
}

void post_set_close(struct post_set *set)
{
    for (unsigned i = 0; i < set->size; i++)
        gw__messenger_close(&set->posts[i]);
}

static unsigned char byte_at(size_t place, unsigned seed)
{
    return (unsigned char)(place * 7 + (place >> 8) * 13 + seed * 31);
}

void post_fill(void *data, size_t bytes, unsigned seed)
{
    unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        at[i] = byte_at(i, seed);
}

bool post_differs(const void *data, size_t bytes, unsigned seed)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_at(i, seed))
            return true;
    return false;
}

enum gw_err post_try(struct gw__messenger *messenger, unsigned node,
                     const void *data, size_t bytes)
{
    struct gw__message_out message = {
        .node = node, .part_count = 1, .parts = {{data, bytes}}};
    return gw__messenger_send(messenger, &message);
}

void post_say(struct gw__messenger *messenger, unsigned node, const char *text)
{
    enum gw_err err = post_try(messenger, node, text, strlen(text));
    ck_assert_msg(err == GW_OK, "\"%s\": %s", text, gw_err_name(err));
}

struct gw__message_in *post_await(struct gw__messenger *messenger)
{
    struct gw__message_in *message;
    uint64_t until = gw_now_ns() + patience_ns;
    while (gw__messenger_receive(messenger, &message) != GW_OK) {
        ck_assert_ptr_null(message);
        ck_assert_msg(gw_now_ns() < until, "no message came");
        gw__messenger_wait(messenger, until);
    }
    for (unsigned i = 0; i < message->part_count; i++)
        ck_assert_uint_eq((uintptr_t)message->parts[i].data % 8, 0);
    return message;
}

void post_expect(struct gw__messenger *messenger, unsigned from,
                 const char *text)
{
    struct gw__message_in *message = post_await(messenger);
    const struct gw__messenger_part *part = &message->parts[0];
    ck_assert_uint_eq(message->part_count, 1);
    ck_assert_msg(part->bytes == strlen(text) &&
                      memcmp(part->data, text, part->bytes) == 0,
                  "\"%.*s\" instead of \"%s\"", (int)part->bytes,
                  (const char *)part->data, text);
    ck_assert_uint_eq(message->from, from);
    gw__message_in_release(message);
}

void post_expect_none(struct gw__messenger *messenger)
{
    struct gw__message_in *message;
    ck_assert_int_eq(gw__messenger_receive(messenger, &message), GW_PENDING);
}

void post_await_count(struct gw__messenger *messenger, const unsigned *value,
                      unsigned wanted)
{
    uint64_t until = gw_now_ns() + patience_ns;
    post_expect_none(messenger);
    while (*value != wanted) {
        ck_assert_msg(gw_now_ns() < until && *value < wanted,
                      "%u instead of %u", *value, wanted);
        gw__messenger_wait(messenger, until);
        post_expect_none(messenger);
    }
}

void post_count_back(void *context)
{
    ++*(unsigned *)context;
}
