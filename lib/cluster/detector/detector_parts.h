/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the detector:
 *   detector.c         what its owner calls, and the watchdog
 *   detector_suspect.c silence, health and accusations
 *   detector_beat.c    beats: what they carry, who gets them
 */
#ifndef GW__CLUSTER_DETECTOR_PARTS_H
#define GW__CLUSTER_DETECTOR_PARTS_H

#include "detector.h"
#include "health.h"
#include "silence.h"

enum { GW__WATCHED_MAX = 3, GW__BEAT_STANDINGS_MAX = 16 };

/* A member that this one watches. */
struct gw__watched {
    unsigned node;
    struct gw__id incarnation;
    struct gw__silence silence;
    uint64_t connected_ns; /* until then it may connect; 0: it has */
    bool suspected;
    uint64_t accused_ns; /* when last */
};

/* What is known of a node, whoever watches it. */
struct gw__known {
    struct gw__standing standing;
    uint64_t changed_ns; /* when that was heard first */
};

struct gw__detector {
    struct gw__detector_config config;
    unsigned self;
    uint64_t incarnation;
    uint64_t due_ns;  /* of the tick */
    uint64_t late_ns; /* how much so it fired last, if that was much */
    struct gw__health health;
    struct gw__view view;
    int rank;           /* in it; -1: not in the ring */
    uint64_t receivers; /* nodes that get our beats, as bits */
    unsigned watched_count;
    struct gw__watched watched[GW__WATCHED_MAX];
    struct gw__known known[GW__NODES_MAX];
    unsigned gossip_next;            /* the rank whose standing goes out next */
    struct gw__stall_diagnosis told; /* the last one, and when */
    uint64_t told_ns;
    uint64_t ended[GW__NODES_MAX]; /* incarnation of which the end is a fact */
};

/* The member of the view that is this very process; NULL when none is. */
const struct gw__ring_member *gw__detector_member(const struct gw__detector *d,
                                                  unsigned node,
                                                  uint64_t incarnation);
struct gw__watched *gw__detector_watched(struct gw__detector *d, unsigned node);

/* Another ring: of the `count` that were watched before. */
void gw__suspect_begin(struct gw__detector *d, const struct gw__watched *before,
                       unsigned count, uint64_t now_ns);
/* A beat. */
void gw__suspect_heard(struct gw__detector *d, unsigned node, uint64_t now_ns);
/* The tick came `late_ns` after it should. */
void gw__suspect_health(struct gw__detector *d, uint64_t late_ns,
                        uint64_t now_ns);
void gw__suspect_check(struct gw__detector *d, uint64_t now_ns,
                       const struct gw__actions *act);
/* Accuses those whose end is a fact. */
void gw__suspect_certain(const struct gw__detector *d);
/* Nodes of the view that are dead for all that this member knows. */
uint64_t gw__suspect_dead(const struct gw__detector *d);

void gw__beat_send(struct gw__detector *d, const struct gw__actions *act);
/* False for what is no beat. */
bool gw__beat_receive(struct gw__detector *d, const struct gw__input *input);

#endif
