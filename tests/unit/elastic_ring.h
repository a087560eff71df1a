/* SPDX-License-Identifier: MIT
 *
 * A ring in the hand: its members as threads of a test, each with an elastic
 * communicator over a real wire, and all-reduces in which node i gives 4^i, so
 * that in base 4 a digit of any value counts how often its node is in it.
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
    struct gw__rules *rules; /* of the links to all members; NULL: none */
    unsigned nodes[RING_MOST];
    uint32_t epochs[RING_MOST]; /* [rank]; equal but where a test lies */
    struct gw_sink *sinks[RING_MOST];
    _Atomic bool stops[RING_MOST]; /* also what interrupts the wires */
    struct gw_comm *comms[RING_MOST];
};

/* The wires by number: shm, ipc, tcp. */
enum { RING_WIRES = 3 };
extern const char *const ring_wires[RING_WIRES];

/* Members 0 .. size-1; node numbers are below 32, and not in order. */
struct elastic_ring ring_of(const char *wire, unsigned size);
/* Makes and connects the communicators. */
void ring_open(struct elastic_ring *ring);
/* All leave, all at the same time. */
void ring_leave(struct elastic_ring *ring);
/* Runs `body` for every member on a thread of its own. Check's assertions do
 * not work there: what fails, aborts. */
typedef void (*ring_body)(struct elastic_ring *ring, unsigned rank,
                          void *context);
void ring_each(struct elastic_ring *ring, ring_body body, void *context);

uint64_t ring_bit(const struct elastic_ring *ring, unsigned rank);
uint64_t ring_everybody(const struct elastic_ring *ring);

/* ---- one member's part in an op ---- */

struct share {
    uint32_t op;
    struct gw_call call; /* of i64, sum */
    struct gw__contributors shares;
    uint64_t sets[RING_CHUNKS_MOST];
    struct gw__program *program;
    struct gw_request *request;
    enum gw_err err; /* how it ended; GW_PENDING: stopped */
};

/* `count` values of 4^node as input, and a result of nothing yet; gw_alloc
 * memory when `shared`. */
void share_init(struct share *share, const struct elastic_ring *ring,
                unsigned rank, size_t count, bool shared);
void share_fini(struct share *share, bool shared);
/* Takes the plan (copied) and what the member begins with. */
void share_plan(struct share *share, const struct elastic_ring *ring,
                unsigned rank, const struct gw_plan *plan, uint64_t target,
                const uint64_t *sets);
/* A clean run: everybody has its input. */
void share_plan_clean(struct share *shares, const struct elastic_ring *ring);
/* All members start, and wait until they are done, stopped or fail. */
void share_run_all(struct share *shares, struct elastic_ring *ring);
/* One of them. */
void share_run(struct share *share, struct elastic_ring *ring, unsigned rank);

/* The sum of 4^node over a set. */
int64_t share_digits(uint64_t set);
/* Asserts that memory is what the sets say: a value of exactly their
 * contributors, and the input as it was. */
void share_check(const struct share *share, const struct elastic_ring *ring,
                 unsigned rank, const char *what);
/* All of them are `want`; chunk -1: of the input. */
void share_expect(const int64_t *values, size_t length, int64_t want,
                  const char *what, unsigned node, int chunk);
/* What a member reports of it. */
void share_report(const struct share *share, struct gw__holdings *holdings);

#endif
