/* SPDX-License-Identifier: MIT
 *
 * A set of control channels in one process, for tests of the control messages.
 * Only the test's thread uses them, unless a test hands them to other threads.
 */
#ifndef CHANNEL_SET_H
#define CHANNEL_SET_H

#include <wire/control_channel/control_channel.h>

#include <check.h>

enum { CHANNEL_SET_MAX = 4, CHANNEL_TOKEN = 4711 };

struct channel_set {
    unsigned size;
    struct gw__control_channel *channels[CHANNEL_SET_MAX];
};

/* The configuration of node `node`, as incarnation (node, 1). */
struct gw__control_channel_config channel_config(unsigned node,
                                                 const char *endpoint);
/* "ipc://@gw-mesh-<pid>-<tag>" in static memory; the last 8 results are
 * valid. */
const char *channel_name(const char *tag);
/* Opens it or fails the test. */
struct gw__control_channel *
channel_open(struct gw__control_channel_config config);

/* Nodes 0 to size - 1, over "ipc" or "tcp"; each knows all others. */
void channel_set_open(struct channel_set *set, const char *wire, unsigned size);
void channel_set_know(struct channel_set *set);
void channel_set_close(struct channel_set *set);

/* The next message; the test fails if none comes within seconds. */
struct gw__control_channel_message
channel_await(struct gw__control_channel *channel);
/* It must come from `from` and be `text`. */
void channel_expect(struct gw__control_channel *channel, unsigned from,
                    const char *text);
/* No message is there now. */
void channel_expect_none(struct gw__control_channel *channel);
/* Sends a text, which must be accepted. */
void channel_send(struct gw__control_channel *channel, unsigned node,
                  const char *text);

#endif
