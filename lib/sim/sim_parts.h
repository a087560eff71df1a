/* SPDX-License-Identifier: MIT
 *
 * Internals of the virtual network; sim.h describes the files.
 */
#ifndef GW__SIM_PARTS_H
#define GW__SIM_PARTS_H

#include "node_clock.h"
#include "queue.h"
#include "sim.h"
#include <base/disk.h>

enum { GW__PERSIST_MAX = 1 << 24 }; /* bytes of one value */

struct gw__sim_node {
    const struct gw__machine_kind *kind;
    void *state;
    uint64_t life;        /* number of starts */
    uint64_t incarnation; /* of the current life */
    bool up;
    bool paused;
    bool armed;      /* it crashes inside its next step */
    uint32_t spared; /* after this many actions */
    struct gw__node_clock clock;
    struct gw__disk disk;
    struct gw_rng lives; /* random numbers for incarnations and seeds */
    /* for timers, notifications of deaths and the order after a pause */
    struct gw_rng luck;
    struct gw__event *timers[GW__TIMERS_MAX];
    struct gw__event *backlog; /* inputs that arrived during the pause */
    struct gw__event **backlog_end;
};

struct gw__link {
    struct gw__sim_link_profile profile;
    struct gw_rng luck;
    uint64_t latest_ns; /* latest arrival time so far */
    /* The combined effect of all active faults. */
    bool cut;
    double keep;   /* probability that no fault drops a message */
    double single; /* probability that none duplicates it */
    uint64_t least_ns, most_ns;
};

struct gw__injected {
    struct gw__fault fault; /* nodes that it no longer affects are removed */
    bool lasts;             /* it is active */
};

struct gw__sim {
    struct gw__sim_options options;
    struct gw__sim_node *nodes;
    struct gw__link *links; /* nodes x nodes */
    unsigned node_count;
    uint64_t now_ns;
    struct gw__queue queue;
    struct gw__injected *faults;
    size_t fault_count;
    size_t fault_capacity;
    uint64_t hash;
    struct gw__sim_counts counts;
    uint32_t stepping; /* the node in its step */
    bool starting;     /* the step is START */
    bool ended;        /* by gw__sim_end */
    struct gw_error error;
};

/* ---- sim.c ---- */

/* As gw__queue_acquire, but fails the run instead of returning NULL. */
struct gw__event *gw__sim_event_new(struct gw__sim *sim, size_t bytes);

/* ---- sim_node.c ---- */

/* An input arrives: it is delivered, put into the backlog, or ignored. */
void gw__node_arrive(struct gw__sim *sim, struct gw__event *event);
/* Starts a new life of a node that is down. */
void gw__node_start(struct gw__sim *sim, uint32_t node);
/* Ends the life of a node that is up. */
void gw__node_crash(struct gw__sim *sim, uint32_t node);
void gw__node_pause(struct gw__sim *sim, uint32_t node);
void gw__node_resume(struct gw__sim *sim, uint32_t node);

/* ---- sim_actions.c ---- */

/* The actions for the node in its step. */
struct gw__actions gw__sim_actions(struct gw__sim *sim);
/* Queues a timer for the moment when the node's clock shows its time. */
void gw__timer_queue(struct gw__sim *sim, struct gw__event *timer);

/* ---- sim_link.c ---- */

void gw__link_send(struct gw__sim *sim, uint32_t from, uint32_t to,
                   const void *data, size_t bytes);

/* ---- sim_inject.c ---- */

void gw__inject_begin(struct gw__sim *sim, size_t fault);
void gw__inject_end(struct gw__sim *sim, size_t fault);

#endif
