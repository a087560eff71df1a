/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of the detector:
 *   detector.c         the public functions, and the watchdog
 *   detector_suspect.c silence, health and suspicions
 *   detector_beat.c    contents and receivers of beats
 */
#ifndef GW__CLUSTER_DETECTOR_PARTS_H
#define GW__CLUSTER_DETECTOR_PARTS_H

#include "detector.h"
#include "health.h"
#include "silence.h"

enum { GW__OBSERVED_MAX = 3, GW__BEAT_REPORTS_MAX = 16 };

/* A member that this one watches. */
struct gw__observed {
    unsigned node;
    struct gw__id incarnation;
    struct gw__silence silence;
    uint64_t connected_ns; /* until then it may connect; 0: it has connected */
    bool suspected;
    uint64_t suspected_ns; /* last time */
};

/* The state of a node, from all its observers. */
struct gw__known {
    struct gw__progress_report report;
    uint64_t changed_ns; /* when it was first received */
};

struct gw__detector {
    struct gw__detector_config config;
    unsigned self;
    uint64_t incarnation;
    uint64_t beat_ns; /* in this ring */
    uint64_t due_ns;  /* of the tick */
    uint64_t late_ns; /* how late it fired last, if that counts as late */
    struct gw__health health;
    int rank;                  /* in the view; -1: not in the ring */
    struct gw_nodes receivers; /* nodes that receive our beats */
    unsigned observed_count;
    struct gw__observed observed[GW__OBSERVED_MAX];
    struct gw_nodes known_nodes; /* nodes whose state in `known` is valid */
    unsigned gossip_next;        /* the rank whose progress is sent next */
    struct gw__stall_diagnosis reported; /* the last report, and its time */
    uint64_t reported_ns;
    struct gw_nodes ended_nodes; /* in `ended` */

    /* From here on lists, of which only parts are valid. */
    struct gw__view view;
    struct gw__known known[GW__NODES_MAX];
    uint64_t ended[GW__NODES_MAX]; /* incarnation that has certainly ended */
};

/* The last progress report of a node; NULL: none. */
static inline const struct gw__progress_report *
gw__detector_progress(const struct gw__detector *d, unsigned node)
{
    return gw__nodes_has(&d->known_nodes, node) ? &d->known[node].report : NULL;
}

/* A new ring. `before` are the `count` members that were watched in the old
 * one. */
void gw__suspect_begin(struct gw__detector *d,
                       const struct gw__observed *before, unsigned count,
                       uint64_t now_ns);
/* A beat has been received. */
void gw__suspect_contact(struct gw__detector *d, unsigned node,
                         uint64_t now_ns);
/* The tick came `late_ns` after it should. */
void gw__suspect_health(struct gw__detector *d, uint64_t late_ns,
                        uint64_t now_ns);
void gw__suspect_check(struct gw__detector *d, uint64_t now_ns,
                       const struct gw__actions *act);
/* Suspects members that have certainly ended. */
void gw__suspect_certain(const struct gw__detector *d);
/* Nodes of the view that are dead as far as this member knows. */
struct gw_nodes gw__suspect_dead(const struct gw__detector *d);

void gw__beat_send(struct gw__detector *d, const struct gw__actions *act);
/* False if the message is not a beat. */
bool gw__beat_receive(struct gw__detector *d, const struct gw__input *input);

#endif
