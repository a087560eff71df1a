/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What chaos does to a run, and when: a sequence that follows from the seed and
 * from the members that are there at first. It is planned on a picture of the
 * run in which everything succeeds, not on the run itself, so the same seed
 * gives the same sequence whatever becomes of it. Pure.
 *
 * Members are numbered; in a run with servers those from `servers_from` on are
 * servers, and enough of each kind stay.
 */
#ifndef CHAOS_H
#define CHAOS_H

#include <gradwire/gradwire.h>

enum { CHAOS_NODES = 64, CHAOS_FLOOR = 2 };

enum chaos_kind {
    CHAOS_KILL,
    CHAOS_PAUSE,
    CHAOS_RESUME,
    CHAOS_RESTART,
    CHAOS_ADD,
    CHAOS_SLOW_LINK, /* delay, jitter and loss on the way from node to peer */
    CHAOS_CLEAR_LINK,
    CHAOS_KINDS
};
const char *chaos_word(enum chaos_kind kind);

enum chaos_state { CHAOS_ABSENT, CHAOS_ALIVE, CHAOS_PAUSED, CHAOS_DEAD };

struct chaos {
    struct gw_rng rng;
    double rate; /* actions a second, on average */
    uint64_t at_ns;
    enum chaos_state nodes[CHAOS_NODES];
    unsigned servers_from; /* 0: there are none */
    unsigned floor[2];     /* of workers and servers that stay alive */
    unsigned first[2];     /* alive at first: it never grows far above that */
    bool link_slow;
    unsigned link_from, link_to;
};

struct chaos_action {
    enum chaos_kind kind;
    uint64_t at_ns; /* since the beginning */
    unsigned node, peer;
    unsigned delay_us, loss_ppm;
};

/* Mark the members in chaos->nodes after this. */
void chaos_begin(struct chaos *chaos, uint64_t seed, double rate);
void chaos_next(struct chaos *chaos, struct chaos_action *action);
/* What is left to undo at the end: false when there is nothing. */
bool chaos_undo(struct chaos *chaos, struct chaos_action *action);

#endif
