/* SPDX-License-Identifier: MIT
 *
 * A set of messengers in one process, for tests of the bulk messages. Only the
 * test's thread uses them, unless a test hands them to other threads.
 */
#ifndef POST_SET_H
#define POST_SET_H

#include <wire/messenger/messenger.h>

#include <check.h>

enum { POST_SET_MAX = 4, POST_TOKEN = 4711, POST_WIRES = 3 };

extern const char *const post_wires[POST_WIRES];

struct post_set {
    unsigned size;
    struct gw__messenger *posts[POST_SET_MAX];
};

/* The configuration of node `node`, as incarnation (node, 1). */
struct gw__messenger_config post_config(const char *wire, unsigned node);
/* Opens it or fails the test. */
struct gw__messenger *post_open(struct gw__messenger_config config);
/* Gives `post` the address of `of`, which was opened with `config`. */
void post_tell(struct gw__messenger *messenger, const struct gw__messenger *of,
               const struct gw__messenger_config *config);

/* Nodes 0 to size - 1; each knows all others. */
void post_set_open(struct post_set *set, const char *wire, unsigned size);
void post_set_close(struct post_set *set);

/* Bytes that depend on the seed and their position. */
void post_fill(void *data, size_t bytes, unsigned seed);
bool post_differs(const void *data, size_t bytes, unsigned seed);

/* Sends a copy of one part. */
enum gw_err post_try(struct gw__messenger *messenger, unsigned node,
                     const void *data, size_t bytes);
/* Sends a text, which must be accepted. */
void post_say(struct gw__messenger *messenger, unsigned node, const char *text);
/* The next message; the test fails if none comes within seconds. The caller
 * releases it. */
struct gw__message_in *post_await(struct gw__messenger *messenger);
/* It must come from `from` and be `text`. */
void post_expect(struct gw__messenger *messenger, unsigned from,
                 const char *text);
/* No message is there now. */
void post_expect_none(struct gw__messenger *messenger);
/* Receives until *value is `wanted`; an incoming message fails the test. */
void post_await_count(struct gw__messenger *messenger, const unsigned *value,
                      unsigned wanted);
/* Counts calls in *context, an unsigned. */
void post_count_back(void *context);

#endif
