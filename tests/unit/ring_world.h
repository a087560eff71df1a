/* SPDX-License-Identifier: MIT
 *
 * For tests of recovery: a ring all-reduce in the hand. Each member has its
 * ledger and, of each chunk, two values: digits in base 4, to which node i
 * gives 4^i, so that a digit counts how often i is in it; and a double whose
 * low bits tell in which order it was summed.
 */
#ifndef TESTS_RING_WORLD_H
#define TESTS_RING_WORLD_H

#include <cluster/registry/decide.h>
#include <ring/contributor_sets.h>
#include <ring/recover.h>

#include <check.h>

enum { WORLD_MOST = 16 };

struct world_member {
    bool alive;
    bool begun;  /* has called the op */
    bool asleep; /* hears nothing until the next loss */
    struct gw__contributor_sets ledger;
    uint64_t digits[WORLD_MOST];
    double value[WORLD_MOST];
};

struct world {
    unsigned count; /* members at first = chunks */
    unsigned nodes[WORLD_MOST];
    struct world_member members[WORLD_MOST]; /* in the ring's order */
    uint64_t earlier; /* what the last decision said; 0: none */
    struct gw__decision decision;
    struct gw__recovery recovery;
    unsigned survivors[WORLD_MOST]; /* [new rank]: index of the member */
    unsigned survivor_count;
};

/* All alive; node numbers are neither ranks nor in order. */
void world_begin(struct world *world, unsigned count);
uint64_t world_node_bit(const struct world *world, unsigned member);
/* Hop `hop` (0 .. 2(count-1) - 1) of a chunk: the members from and to. */
void world_hop(const struct world *world, unsigned chunk, unsigned hop,
               unsigned *from, unsigned *to);
/* Does it; false when one of the two has not begun. */
bool world_do_hop(struct world *world, unsigned chunk, unsigned hop);

/* These members (bits) die; the others freeze, report, and by the rule of
 * decide.h and recover.h go on: decision and recovery are made and verified. */
void world_lose(struct world *world, unsigned members);
/* As world_lose; these survivors (bits) sleep through it: they have reported,
 * but do not hear what was decided until they report again. */
void world_lose_asleep(struct world *world, unsigned members, unsigned asleep);
/* The transfers of one step of the recovery, counted from 0. */
void world_do_step(struct world *world, unsigned step);
/* False when one of the two is asleep. */
bool world_do_transfer(struct world *world, const struct gw_transfer *x);
/* Everything that is left of it. */
void world_finish(struct world *world, unsigned from_step);

/* Every survivor is complete and holds, in all digits and bits, what a clean
 * run of the contributors gives. `what` says where. */
void world_check(const struct world *world, const char *what);
void world_end(struct world *world);

#endif
