/* SPDX-License-Identifier: MIT
 *
 * For tests of recovery: a ring all-reduce that the test drives hop by hop.
 * Each member has its contributor sets and, for each chunk, two values. One is
 * digits in base 4, to which node i adds 4^i, so that a digit counts how often
 * node i is in it. The other is a double whose low bits depend on the order of
 * the sum.
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
    bool asleep; /* receives nothing until the next loss */
    struct gw__contributor_sets sets;
    uint64_t digits[WORLD_MOST];
    double value[WORLD_MOST];
};

struct world {
    unsigned count; /* initial members = chunks */
    unsigned nodes[WORLD_MOST];
    struct world_member members[WORLD_MOST]; /* in the ring's order */
    uint64_t earlier; /* contributors by the last decision; 0: none */
    struct gw__decision decision;
    struct gw__recovery recovery;
    unsigned survivors[WORLD_MOST]; /* [new rank]: index of the member */
    unsigned survivor_count;
};

/* All members alive; node numbers are neither ranks nor in order. */
void world_begin(struct world *cluster, unsigned count);
uint64_t world_node_bit(const struct world *cluster, unsigned member);
/* The two members of hop `hop` (0 .. 2(count-1) - 1) of a chunk. */
void world_hop(const struct world *cluster, unsigned chunk, unsigned hop,
               unsigned *from, unsigned *to);
/* Does the hop; false if one of the two has not begun. */
bool world_do_hop(struct world *cluster, unsigned chunk, unsigned hop);

/* These members (bits) die. The others freeze and report. The rules of decide.h
 * and recover.h then give a decision and a recovery, which is verified. */
void world_lose(struct world *cluster, unsigned members);
/* As world_lose; these survivors (bits) miss the decision: they have reported,
 * but do not receive it until they report again. */
void world_lose_asleep(struct world *cluster, unsigned members,
                       unsigned asleep);
/* The transfers of one step of the recovery, counted from 0. */
void world_do_step(struct world *cluster, unsigned step);
/* False if one of the two is asleep. */
bool world_do_transfer(struct world *cluster, const struct gw_transfer *x);
/* Does all remaining steps. */
void world_finish(struct world *cluster, unsigned from_step);

/* Every survivor is complete and has, in all digits and bits, the result of a
 * clean run of the contributors. Failure messages begin with `what`. */
void world_check(const struct world *cluster, const char *what);
void world_end(struct world *cluster);

#endif
