/* SPDX-License-Identifier: MIT
 *
 * Generated events for the tests of the live view.
 */
#ifndef TAPE_H
#define TAPE_H

#include <gradwire/gradwire.h>

enum { TAPE_MAX = 8192 };

struct tape {
    struct gw_event events[TAPE_MAX];
    size_t count;
    uint64_t now_ns; /* of the next event; increases by one */
};

/* An event with only these fields; the others are GW_NONE, op and epoch 0. */
struct gw_event *tape_add(struct tape *tape, enum gw_event_kind kind,
                          uint32_t rank, int64_t value);
/* A whole op that runs `plan`: all ranks begin, each transfer is sent and then
 * applied, step by step, and all ranks end. */
void tape_op(struct tape *tape, const struct gw_plan *plan, uint32_t op,
             uint64_t bytes);
/* Shuffles the events from `first` on. */
void tape_shuffle(struct tape *tape, size_t first, uint64_t seed);
/* The ring all-reduce; the caller destroys it. */
struct gw_plan *tape_ring(unsigned ranks);
struct gw_plan *tape_plan(const char *text);

#endif
