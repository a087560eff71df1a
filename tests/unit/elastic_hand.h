/* SPDX-License-Identifier: MIT
 *
 * For tests of elastic calls: plans of one chunk with one transfer per step,
 * from any initial state, and slices whose headers the test writes.
 */
#ifndef TESTS_ELASTIC_HAND_H
#define TESTS_ELASTIC_HAND_H

#include "elastic_ring.h"

struct hop {
    unsigned src, dst;
    enum gw_action action;
    bool same_step; /* in the same step as the previous hop */
};

/* Opens the ring, and gives each member `count` values. */
void hand_open(struct elastic_ring *ring, struct share *shares, size_t count);
void hand_leave(struct elastic_ring *ring, struct share *shares);

/* Gives all members the plan of these hops. Members begin with the contributor
 * sets `sets` (0: their input), and their memory holds the matching sums. */
void hand_plan(struct elastic_ring *ring, struct share *shares,
               const struct hop *hops, unsigned count, uint64_t target,
               const uint64_t *sets);

/* Sends a slice of the input in `share` as `from` would, but with this
 * header. */
struct hand_slice {
    uint32_t epoch, step, slice, bytes;
    uint64_t contributors;
};
void hand_send(struct elastic_ring *ring, const struct share *share,
               unsigned from, unsigned to, const struct hand_slice *slice);

/* The code and the error text with which the member's call ended. */
void hand_expect(const struct elastic_ring *ring, const struct share *shares,
                 unsigned rank, enum gw_err code, const char *text);

#endif
