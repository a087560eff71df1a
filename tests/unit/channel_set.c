/* SPDX-License-Identifier: MIT
 *
 * Sets of control channels; see channel_set.h.
 */
#include "channel_set.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t patience_ns = 5 * 1000000000ULL;

const char *channel_name(const char *tag)
{
    enum { NAMES = 8 };
    static char names[NAMES][GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    static unsigned next;
    char *name = names[next++ % NAMES];
    snprintf(name, GW__CONTROL_CHANNEL_ENDPOINT_MAX, "ipc://@gw-mesh-%ld-%s",
             (long)getpid(), tag);
    return name;
}

struct gw__control_channel_config channel_config(unsigned node,
                                                 const char *endpoint)
{
    return (struct gw__control_channel_config){.node = node,
                                               .incarnation_high = node,
                                               .incarnation_low = 1,
                                               .endpoint = endpoint,
                                               .security.token = CHANNEL_TOKEN};
}

struct gw__control_channel *
channel_open(struct gw__control_channel_config config)
{
    struct gw__control_channel *channel;
    struct gw_error why;
    enum gw_err err = gw__control_channel_open(&config, &channel, &why);
    ck_assert_msg(err == GW_OK, "%s: %s", gw_err_name(err), why.text);
    return channel;
}

void channel_set_know(struct channel_set *set)
{
    for (unsigned i = 0; i < set->size; i++)
        for (unsigned j = 0; j < set->size; j++)
            if (i != j)
                ck_assert_int_eq(
                    gw__control_channel_know(
                        set->channels[i], j,
                        gw__control_channel_endpoint(set->channels[j]), NULL),
                    GW_OK);
}

void channel_set_open(struct channel_set *set, const char *wire, unsigned size)
{
    *set = (struct channel_set){.size = size};
    for (unsigned i = 0; i < size; i++) {
        char tag[2] = {(char)('0' + i), 0};
        bool ipc = strcmp(wire, "ipc") == 0;
        set->channels[i] = channel_open(
            channel_config(i, ipc ? channel_name(tag) : "tcp://127.0.0.1:*"));
    }
    channel_set_know(set);
}

void channel_set_close(struct channel_set *set)
{
    for (unsigned i = 0; i < set->size; i++)
        gw__control_channel_close(&set->channels[i]);
}

struct gw__control_channel_message
channel_await(struct gw__control_channel *channel)
{
    struct gw__control_channel_message message;
    uint64_t until = gw_now_ns() + patience_ns;
    while (gw__control_channel_receive(channel, &message) != GW_OK) {
        ck_assert_msg(gw_now_ns() < until, "no message came");
        gw__control_channel_wait(channel, -1, until);
    }
    return message;
}

void channel_expect(struct gw__control_channel *channel, unsigned from,
                    const char *text)
{
    struct gw__control_channel_message message = channel_await(channel);
    ck_assert_msg(message.bytes == strlen(text) &&
                      memcmp(message.data, text, message.bytes) == 0,
                  "\"%.*s\" instead of \"%s\"", (int)message.bytes,
                  (const char *)message.data, text);
    ck_assert_uint_eq(message.from, from);
}

void channel_expect_none(struct gw__control_channel *channel)
{
    struct gw__control_channel_message message;
    ck_assert_int_eq(gw__control_channel_receive(channel, &message),
                     GW_PENDING);
}

void channel_send(struct gw__control_channel *channel, unsigned node,
                  const char *text)
{
    ck_assert_int_eq(
        gw__control_channel_send(channel, node, text, strlen(text)), GW_OK);
}
