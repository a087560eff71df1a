/* SPDX-License-Identifier: MIT
 *
 * A ring under the test's control: its members are threads of the test, each
 * with an elastic communicator over a real wire. Node i contributes 4^i to the
 * all-reduces, so in base 4 each digit of a value counts how often its node is
 * in it.
 */
#ifndef TESTS_ELASTIC_RING_H
#define TESTS_ELASTIC_RING_H

#include <cluster/registry/report.h>
#include <coll/elastic.h>
#include <ring/recover.h>

#include <check.h>

enum { RING_MOST = 8, RING_CHUNKS_MOST = 16 };

struct elastic_ring {
    const char *wire;
    unsigned size;
    size_t slice_bytes; /* 0: the wire's own */
    unsigned timeout_ms;
    struct gw__link_profiles *profiles; /* of all links; NULL: none */
    unsigned nodes[RING_MOST];
    uint32_t epochs[RING_MOST]; /* [rank]; equal unless a test falsifies one */
    struct gw_sink *sinks[RING_MOST];
    _Atomic bool stops[RING_MOST]; /* these also interrupt the wires */
    struct gw_comm *comms[RING_MOST];
};

/* Names of the wires by number: shm, ipc, tcp. */
enum { RING_WIRES = 3 };
extern const char *const ring_wires[RING_WIRES];

/* Members 0 .. size-1; node numbers are below 32, and not in order. */
struct elastic_ring ring_of(const char *wire, unsigned size);
/* Makes and connects the communicators. */
void ring_open(struct elastic_ring *ring);
/* All members leave at the same time. */
void ring_leave(struct elastic_ring *ring);
/* Runs `body` for every member on a thread of its own. Check's assertions do
 * not work on those threads, so failures abort. */
typedef void (*ring_body)(struct elastic_ring *ring, unsigned rank,
                          void *context);
void ring_each(struct elastic_ring *ring, ring_body body, void *context);

uint64_t ring_bit(const struct elastic_ring *ring, unsigned rank);
uint64_t ring_all_members(const struct elastic_ring *ring);

/* ---- one member's part in an op ---- */

struct share {
    uint32_t op;
    struct gw_call call; /* of i64, sum */
    struct gw__contributors contributors;
    struct gw_nodes sets[RING_CHUNKS_MOST];
    struct gw__program *program;
    struct gw_request *request;
    enum gw_err err; /* result of the call; GW_PENDING: stopped */
};

/* Fills the input with `count` values of 4^node and the result with a value
 * that no sum has; memory is from gw_alloc if `shared`. */
void share_init(struct share *share, const struct elastic_ring *ring,
                unsigned rank, size_t count, bool shared);
void share_fini(struct share *share, bool shared);
/* Takes a copy of the plan, and the member's initial contributor sets. */
void share_plan(struct share *share, const struct elastic_ring *ring,
                unsigned rank, const struct gw_plan *plan, uint64_t target,
                const struct gw_nodes *sets);
/* A clean run: every member begins with its input. */
void share_plan_clean(struct share *shares, const struct elastic_ring *ring);
/* Starts all members, and waits until they are done, stopped or have failed. */
void share_run_all(struct share *shares, struct elastic_ring *ring);
/* Starts one member, and waits for it. */
void share_run(struct share *share, struct elastic_ring *ring, unsigned rank);

/* The sum of 4^node over a set. */
int64_t share_digits(uint64_t set);
/* Asserts that memory matches the sets: each value contains exactly its
 * contributors, and the input is unchanged. */
void share_check(const struct share *share, const struct elastic_ring *ring,
                 unsigned rank, const char *what);
/* All values are `want`; chunk -1: those of the input. */
void share_expect(const int64_t *values, size_t length, int64_t want,
                  const char *what, unsigned node, int chunk);
/* The member's holdings as it reports them; `places`: of the op. */
void share_report(const struct share *share, const struct gw__places *places,
                  struct gw__holdings *holdings);

#endif
