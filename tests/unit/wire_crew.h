/* SPDX-License-Identifier: MIT
 *
 * A crew: the ranks of one communicator with their wires, for tests of the
 * wires themselves. All wires of a crew are in this process and are used from
 * the test's thread (or each from one thread of its own), except those in a
 * child process.
 */
#ifndef WIRE_CREW_H
#define WIRE_CREW_H

#include "wire/wire.h"

#include <check.h>
#include <sys/types.h>

enum {
    CREW_MAX = 8,
    CREW_SLICE_BYTES = 4 << 20,
    FULL_CREW_SLICE_BYTES = 64 << 10
};

struct crew {
    const char *name;
    unsigned size;
    struct gw__wire *wires[CREW_MAX];
    struct gw__address table[CREW_MAX];
    /* The rank that is a child process, or 0; its wire is NULL here. */
    unsigned child_rank;
    pid_t child;
};

/* The child's use of its wire; after it the child waits to be killed. */
typedef void (*crew_child)(struct gw__wire *wire, void *context);

/* The number of wires of the suite, and their names. "ipc" is the plain wire.
 * "quiet ipc" is inside a wire that emulates link profiles, without profiles,
 * and "rough ipc" has a profile on every link. "keyed ipc" has the key of a
 * cluster. GW_TEST_WIRES=ipc,tcp restricts them. verbs needs a device, and is
 * among them only if that variable names it. */
int crew_wire_count(void);
const char *crew_wire_name(int index);
/* "ipc", for each of these names. */
const char *crew_inner_name(const char *name);

/* The configuration of every wire of these tests. Over shm each pair may have
 * staging memory of several slices, so those of a full crew are small. */
struct gw_comm_config crew_config(const char *name, unsigned rank,
                                  unsigned size);
/* One rank's wire, inside the wires that its name implies. `lanes` as below. */
struct gw__wire *crew_open(const char *name, unsigned rank, unsigned size,
                           unsigned lanes);

/* Opens and connects. `lanes` 0: the wire's default. */
void crew_start(struct crew *crew, const char *name, unsigned size,
                unsigned lanes);
/* As crew_start, but rank `child_rank` (not 0) is a forked process that runs
 * `body`. Call it before this process has opened any wire. */
void crew_start_with_child(struct crew *crew, const char *name, unsigned size,
                           unsigned child_rank, crew_child body, void *context);
/* Closes all open wires at the same time, and reaps the child. */
void crew_end(struct crew *crew);

/* Sends, waiting for room. */
void crew_send(struct gw__wire *wire, unsigned peer,
               const struct gw__header *header, const void *data, bool copy);
/* Waits for the head of the link; at most 10 s. Returns the last result of
 * `peek`. */
enum gw_err crew_await(struct gw__wire *wire, unsigned peer,
                       struct gw__slice_view *view);
/* The same, while `sender`, the peer's wire in this thread, is polled: some
 * wires make progress only while polled. NULL: it is elsewhere. */
enum gw_err crew_await_from(struct gw__wire *sender, struct gw__wire *wire,
                            unsigned peer, struct gw__slice_view *view);
/* Waits until `check` is no longer GW_OK, at most `ms`; returns its result. */
enum gw_err crew_await_failure(struct gw__wire *wire, unsigned ms,
                               struct gw_error *why);
/* Waits until the first `count` sends are done; false after 10 s. */
bool crew_await_done(struct gw__wire *wire, unsigned peer, uint64_t count);

/* Bytes that are functions of `seed`; `differs` is true if any byte is
 * wrong. */
void crew_fill(void *data, size_t bytes, uint64_t seed);
bool crew_differs(const void *data, size_t bytes, uint64_t seed);

#endif
