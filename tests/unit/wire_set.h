/* SPDX-License-Identifier: MIT
 *
 * A wire set: the ranks of one communicator with their wires, for tests of the
 * wires themselves. All wires of a set are in this process and are used from
 * the test's thread (or each from one thread of its own), except those in a
 * child process.
 */
#ifndef WIRE_SET_H
#define WIRE_SET_H

#include "wire/wire.h"

#include <check.h>
#include <sys/types.h>

enum {
    WIRE_SET_MAX = 8,
    SET_SLICE_BYTES = 4 << 20,
    FULL_SET_SLICE_BYTES = 64 << 10
};

struct wire_set {
    const char *name;
    unsigned size;
    struct gw__wire *wires[WIRE_SET_MAX];
    struct gw__address table[WIRE_SET_MAX];
    /* The rank that is a child process, or 0; its wire is NULL here. */
    unsigned child_rank;
    pid_t child;
};

/* The child's use of its wire; after it the child waits to be killed. */
typedef void (*wire_set_child)(struct gw__wire *wire, void *context);

/* The number of wires of the suite, and their names. "ipc" is the plain wire.
 * "quiet ipc" is inside a wire that emulates link profiles, without profiles,
 * and "rough ipc" has a profile on every link. "keyed ipc" has the key of a
 * cluster. GW_TEST_WIRES=ipc,tcp restricts them. verbs needs a device, and is
 * among them only if that variable names it. */
int wire_set_count(void);
const char *wire_set_name(int index);
/* "ipc", for each of these names. */
const char *wire_plain_name(const char *name);

/* The configuration of every wire of these tests. Over shm each pair may have
 * staging memory of several slices, so those of a full set are small. */
struct gw_comm_config wire_set_config(const char *name, unsigned rank,
                                      unsigned size);
/* One rank's wire, inside the wires that its name implies. `lanes` as below. */
struct gw__wire *wire_set_open(const char *name, unsigned rank, unsigned size,
                               unsigned lanes);

/* Opens and connects. `lanes` 0: the wire's default. */
void wire_set_start(struct wire_set *set, const char *name, unsigned size,
                    unsigned lanes);
/* As wire_set_start, but rank `child_rank` (not 0) is a forked process that
 * runs `body`. Call it before this process has opened any wire. */
void wire_set_start_with_child(struct wire_set *set, const char *name,
                               unsigned size, unsigned child_rank,
                               wire_set_child body, void *context);
/* Closes all open wires at the same time, and reaps the child. */
void wire_set_end(struct wire_set *set);

/* Sends, waiting for room. */
void wire_set_send(struct gw__wire *wire, unsigned peer,
                   const struct gw__header *header, const void *data,
                   bool copy);
/* Waits for the head of the link; at most 10 s. Returns the last result of
 * `peek`. */
enum gw_err wire_set_await(struct gw__wire *wire, unsigned peer,
                           struct gw__slice_view *view);
/* The same, while `sender`, the peer's wire in this thread, is polled: some
 * wires make progress only while polled. NULL: it is elsewhere. */
enum gw_err wire_set_await_from(struct gw__wire *sender, struct gw__wire *wire,
                                unsigned peer, struct gw__slice_view *view);
/* Waits until `check` is no longer GW_OK, at most `ms`; returns its result. */
enum gw_err wire_set_await_failure(struct gw__wire *wire, unsigned ms,
                                   struct gw_error *why);
/* Waits until the first `count` sends are done; false after 10 s. */
bool wire_set_await_done(struct gw__wire *wire, unsigned peer, uint64_t count);

/* Bytes that are functions of `seed`; `differs` is true if any byte is
 * wrong. */
void wire_set_fill(void *data, size_t bytes, uint64_t seed);
bool wire_set_differs(const void *data, size_t bytes, uint64_t seed);

#endif
