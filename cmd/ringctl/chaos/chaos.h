/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The actions of chaos on a run, and their times: a sequence determined by the
 * seed and the first members. It is planned on a model of the run in which
 * everything succeeds, not on the run itself, so the same seed gives the same
 * sequence whatever happens. Pure.
 *
 * Members are numbered; in a run with servers those from `servers_from` on are
 * servers, and enough of each kind stay.
 */
#ifndef CHAOS_H
#define CHAOS_H

#include <gradwire/gradwire.h>

enum { CHAOS_NODES = 64, CHAOS_MIN_ALIVE = 2 };

enum chaos_kind {
    CHAOS_KILL,
    CHAOS_PAUSE,
    CHAOS_RESUME,
    CHAOS_RESTART,
    CHAOS_ADD,
    CHAOS_SLOW_LINK, /* delay, jitter and loss on the way from node to peer */
    CHAOS_CLEAR_LINK,
    CHAOS_CUT, /* node and peer cannot reach each other */
    CHAOS_HEAL,
    CHAOS_SLOW, /* node is a straggler */
    CHAOS_QUICK,
    CHAOS_DRIFT, /* the node's clock runs at `rate` */
    CHAOS_RIGHT,
    CHAOS_KILL_LEADER,
    CHAOS_FULL_DISK,  /* of controller `node` */
    CHAOS_CONTROLLER, /* those that are down return, with disk space */
    CHAOS_KINDS
};
const char *chaos_word(enum chaos_kind kind);

/* CUT: the other one may declare it dead. */
enum chaos_state {
    CHAOS_ABSENT,
    CHAOS_ALIVE,
    CHAOS_PAUSED,
    CHAOS_CUT_OFF,
    CHAOS_DEAD
};

struct chaos {
    struct gw_rng rng;
    double rate; /* actions a second, on average */
    uint64_t at_ns;
    enum chaos_state nodes[CHAOS_NODES];
    unsigned servers_from; /* 0: none */
    unsigned min_alive[2]; /* of workers and servers that stay alive */
    unsigned first[2];     /* alive at first: it never grows far beyond that */
    bool link_slow;
    unsigned link_from, link_to;
    bool cut; /* one pair at a time; likewise the next ones */
    unsigned cut_from, cut_to;
    bool slow, drifts;
    unsigned slow_node, drift_node;
    unsigned controllers; /* processes; fewer than 3 are spared */
    bool controller_down;
};

struct chaos_action {
    enum chaos_kind kind;
    uint64_t at_ns; /* since the beginning */
    unsigned node, peer;
    unsigned delay_us, loss_ppm; /* SLOW: delay_us */
    double rate;
};

/* Mark the members in chaos->nodes after this, and set the number of
 * controllers. */
void chaos_begin(struct chaos *chaos, uint64_t seed, double rate);
void chaos_next(struct chaos *chaos, struct chaos_action *action);
/* The next action that restores the run at the end; false: none. */
bool chaos_undo(struct chaos *chaos, struct chaos_action *action);

#endif
