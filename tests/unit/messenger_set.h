/* SPDX-License-Identifier: MIT
 *
 * A set of messengers in one process, for tests of the bulk messages. Only the
 * test's thread uses them, unless a test hands them to other threads.
 */
#ifndef MESSENGER_SET_H
#define MESSENGER_SET_H

#include <wire/messenger/messenger.h>

#include <check.h>

enum { MESSENGER_SET_MAX = 4, MESSENGER_TOKEN = 4711, MESSENGER_WIRES = 4 };

extern const char *const messenger_wires[MESSENGER_WIRES];

struct messenger_set {
    unsigned size;
    struct gw__messenger *messengers[MESSENGER_SET_MAX];
};

/* The configuration of node `node`, as incarnation (node, 1). */
struct gw__messenger_config messenger_config(const char *wire, unsigned node);
/* Opens it or fails the test. */
struct gw__messenger *messenger_open(struct gw__messenger_config config);
/* Gives `post` the address of `of`, which was opened with `config`. */
void messenger_know(struct gw__messenger *messenger,
                    const struct gw__messenger *of,
                    const struct gw__messenger_config *config);

/* Nodes 0 to size - 1; each knows all others. */
void messenger_set_open(struct messenger_set *set, const char *wire,
                        unsigned size);
void messenger_set_close(struct messenger_set *set);

/* Bytes that depend on the seed and their position. */
void messenger_fill(void *data, size_t bytes, unsigned seed);
bool messenger_differs(const void *data, size_t bytes, unsigned seed);

/* Sends a copy of one part. */
enum gw_err messenger_try(struct gw__messenger *messenger, unsigned node,
                          const void *data, size_t bytes);
/* Sends a text, which must be accepted. */
void messenger_send(struct gw__messenger *messenger, unsigned node,
                    const char *text);
/* The next message; the test fails if none comes within seconds. The caller
 * releases it. */
struct gw__message_in *messenger_await(struct gw__messenger *messenger);
/* The same, from a sender of this thread: what the kernel does not take at once
 * leaves while the sender is used. */
struct gw__message_in *messenger_await_from(struct gw__messenger *sender,
                                            struct gw__messenger *messenger);
/* It must come from `from` and be `text`. */
void messenger_expect(struct gw__messenger *messenger, unsigned from,
                      const char *text);
/* No message is there now. */
void messenger_expect_none(struct gw__messenger *messenger);
/* Receives until *value is `wanted`; an incoming message fails the test. */
void messenger_await_count(struct gw__messenger *messenger,
                           const unsigned *value, unsigned wanted);
/* Counts calls in *context, an unsigned. */
void messenger_count_back(void *context);

#endif
