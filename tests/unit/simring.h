/* SPDX-License-Identifier: MIT
 *
 * For tests of recovery: a ring all-reduce that the test drives hop by hop.
 * Each member has its contributor sets and, for each chunk, two values. One is
 * digits in base 4, to which node i adds 4^i, so that a digit counts how often
 * node i is in it. The other is a double whose low bits depend on the order of
 * the sum.
 */
#ifndef TESTS_SIMRING_H
#define TESTS_SIMRING_H

#include "node_bits.h"

#include <cluster/registry/decide.h>
#include <ring/contributor_sets.h>
#include <ring/recover.h>

enum { SIMRING_MOST = 16 };

struct simring_member {
    bool alive;
    bool begun;  /* has called the op */
    bool asleep; /* receives nothing until the next loss */
    struct gw__contributor_sets sets;
    uint64_t digits[SIMRING_MOST];
    double value[SIMRING_MOST];
};

struct simring {
    unsigned count; /* initial members = chunks */
    unsigned nodes[SIMRING_MOST];
    struct simring_member members[SIMRING_MOST]; /* in the ring's order */
    struct gw_nodes earlier; /* contributors by the last decision; or none */
    struct gw__decision decision;
    struct gw__recovery recovery;
    unsigned survivors[SIMRING_MOST]; /* [new rank]: index of the member */
    unsigned survivor_count;
};

/* All members alive; node numbers are neither ranks nor in order. */
void simring_begin(struct simring *ring, unsigned count);
uint64_t simring_node_bit(const struct simring *ring, unsigned member);
/* The two members of hop `hop` (0 .. 2(count-1) - 1) of a chunk. */
void simring_hop(const struct simring *ring, unsigned chunk, unsigned hop,
                 unsigned *from, unsigned *to);
/* Does the hop; false if one of the two has not begun. */
bool simring_hop_once(struct simring *ring, unsigned chunk, unsigned hop);

/* These members (bits) die. The others freeze and report. The rules of decide.h
 * and recover.h then give a decision and a recovery, which is verified. */
void simring_lose(struct simring *ring, unsigned members);
/* As simring_lose; these survivors (bits) miss the decision: they have
 * reported, but do not receive it until they report again. */
void simring_lose_asleep(struct simring *ring, unsigned members,
                         unsigned asleep);
/* The transfers of one step of the recovery, counted from 0. */
void simring_do_step(struct simring *ring, unsigned step);
/* False if one of the two is asleep. */
bool simring_do_transfer(struct simring *ring, const struct gw_transfer *x);
/* Does all remaining steps. */
void simring_finish(struct simring *ring, unsigned from_step);

/* Every survivor is complete and has, in all digits and bits, the result of a
 * clean run of the contributors. Failure messages begin with `what`. */
void simring_check(struct simring *ring, const char *what);
void simring_end(struct simring *ring);

#endif
