/* SPDX-License-Identifier: MIT
 *
 * For tests of elastic calls: plans of one chunk, a transfer a step, from any
 * beginning, and slices whose headers a test writes itself.
 */
#ifndef TESTS_ELASTIC_HAND_H
#define TESTS_ELASTIC_HAND_H

#include "elastic_ring.h"

struct hop {
    unsigned src, dst;
    enum gw_action action;
    bool beside; /* in the step of the one before */
};

/* Opens the ring, and gives each member `count` values. */
void hand_open(struct elastic_ring *ring, struct share *shares, size_t count);
void hand_leave(struct elastic_ring *ring, struct share *shares);

/* All members take the plan of these hops. They begin with `sets` (0: their
 * input), and have in memory what that says. */
void hand_plan(struct elastic_ring *ring, struct share *shares,
               const struct hop *hops, unsigned count, uint64_t target,
               const uint64_t *sets);

/* A slice of the input in `share`, as `from` would send it, but with this in
 * its header. */
struct hand_slice {
    uint32_t epoch, step, slice, bytes;
    uint64_t contributors;
};
void hand_send(struct elastic_ring *ring, const struct share *share,
               unsigned from, unsigned to, const struct hand_slice *slice);

/* How the member's call ended, and what its sentence says. */
void hand_expect(const struct elastic_ring *ring, const struct share *shares,
                 unsigned rank, enum gw_err code, const char *text);

#endif
