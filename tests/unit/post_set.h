/* SPDX-License-Identifier: MIT
 *
 * A set of posts in one process, for tests of the bulk messages. All are used
 * from the test's thread, unless a test gives them to threads.
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

/* What node `node` is opened with, as incarnation (node, 1). */
struct gw__messenger_config post_config(const char *wire, unsigned node);
/* Opens it or fails the test. */
struct gw__messenger *post_open(struct gw__messenger_config config);
/* `post` learns of `of`, which was opened as `config` says. */
void post_tell(struct gw__messenger *post, const struct gw__messenger *of,
               const struct gw__messenger_config *config);

/* Nodes 0 to size - 1, all known to all. */
void post_set_open(struct post_set *set, const char *wire, unsigned size);
void post_set_close(struct post_set *set);

/* Bytes that depend on the seed and their place. */
void post_fill(void *data, size_t bytes, unsigned seed);
bool post_differs(const void *data, size_t bytes, unsigned seed);

/* One part, copied. */
enum gw_err post_try(struct gw__messenger *post, unsigned node,
                     const void *data, size_t bytes);
/* Sends a text, which must be taken. */
void post_say(struct gw__messenger *post, unsigned node, const char *text);
/* The next parcel, which must come within seconds; the caller releases it. */
struct gw__message_in *post_await(struct gw__messenger *post);
/* It must come from `from` and be `text`. */
void post_expect(struct gw__messenger *post, unsigned from, const char *text);
/* Nothing is there now. */
void post_expect_none(struct gw__messenger *post);
/* Receives until *value is `wanted`; what comes meanwhile fails the test. */
void post_await_count(struct gw__messenger *post, const unsigned *value,
                      unsigned wanted);
/* Counts, in *context: an unsigned. */
void post_count_back(void *context);

#endif
