/* SPDX-License-Identifier: MIT
 *
 * Between the files of the virtual network (see sim.h for who does what).
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
    uint64_t life;        /* how many times it started */
    uint64_t incarnation; /* of this life */
    bool up;
    bool paused;
    bool armed;      /* it crashes inside of its next step, */
    uint32_t spared; /* after so many actions */
    struct gw__node_clock clock;
    struct gw__disk disk;
    struct gw_rng lives; /* for incarnations and seeds */
    struct gw_rng luck;  /* for timers, facts and the order after a pause */
    struct gw__event *timers[GW__TIMERS_MAX];
    struct gw__event *backlog; /* what waits while it is paused */
    struct gw__event **backlog_end;
};

struct gw__link {
    struct gw__link_rule rule;
    struct gw_rng luck;
    uint64_t latest_ns; /* when the latest message arrives */
    /* What the faults that last add to the rule. */
    bool cut;
    double keep;   /* the chance that no fault drops a message, */
    double single; /* that none doubles it */
    uint64_t least_ns, most_ns;
};

struct gw__injected {
    struct gw__fault fault; /* `nodes` loses those that it no longer holds */
    bool lasts;             /* it has begun and not ended */
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
    uint32_t stepping; /* whose step it is */
    bool starting;     /* and is it START? */
    bool ended;        /* by gw__sim_end */
    struct gw_error error;
};

/* ---- sim.c ---- */

/* As gw__queue_take; fails the run when it answers NULL. */
struct gw__event *gw__sim_take(struct gw__sim *sim, size_t bytes);

/* ---- sim_node.c ---- */

/* An input arrives: delivered, kept while the node is paused, or missed. */
void gw__node_arrive(struct gw__sim *sim, struct gw__event *event);
/* A new life; the node is down. */
void gw__node_start(struct gw__sim *sim, uint32_t node);
/* The end of a life; the node is up. */
void gw__node_crash(struct gw__sim *sim, uint32_t node);
void gw__node_pause(struct gw__sim *sim, uint32_t node);
void gw__node_resume(struct gw__sim *sim, uint32_t node);

/* ---- sim_actions.c ---- */

/* The actions of the node whose step it is. */
struct gw__actions gw__sim_actions(struct gw__sim *sim);
/* Queues a timer for when the node's clock shows its time. */
void gw__timer_queue(struct gw__sim *sim, struct gw__event *timer);

/* ---- sim_link.c ---- */

void gw__link_send(struct gw__sim *sim, uint32_t from, uint32_t to,
                   const void *data, size_t bytes);

/* ---- sim_inject.c ---- */

void gw__inject_begin(struct gw__sim *sim, size_t fault);
void gw__inject_end(struct gw__sim *sim, size_t fault);

#endif
