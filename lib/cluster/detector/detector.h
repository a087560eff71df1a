/* SPDX-License-Identifier: MIT
 *
 * The failure detector of one member. It beats, listens to the beats of those
 * that it watches (observers.h), and notifies its owner whom to accuse; the
 * registry convicts. It is part of a machine (base/machine.h), which passes on
 * what concerns it and calls gw__detector_tick at the time that gw__detector_due
 * says, so it is pure. What it knows, best first:
 *
 *     certain   DIED: the process has ended. Accused at once, as certain.
 *     silent    phi above the threshold (phi.h), or longer than a plug-in
 *               allows (gradwire/suspicion.h), without an excuse: a member on
 *               this host may wait for a CPU (silence.h). Accused, and again
 *               every `repeat_ns` while it lasts, since accusations lapse.
 *     stuck     beats, but makes no progress: a watchdog, not a conviction. The
 *               root of the waits is reported (laggard.h).
 *
 *     of each watched member:    trusted <----> suspected
 *                                     phi > threshold
 *
 * Its own health counts (health.h): after a timer that fired late, the time in
 * which it slept is nobody's silence, and the threshold is raised for a while.
 *
 * It never accuses itself, does not know who is not in its view, and forgets
 * all doubts with a new view; facts about ended processes it keeps.
 *
 * A beat carries where the sender stands and what it has heard of others, so
 * that the waits-for graph gets to everybody without a controller.
 *
 * Incarnations: the machine's 64 bits are the low half of the registry's 128.
 */
#ifndef GW__CLUSTER_DETECTOR_H
#define GW__CLUSTER_DETECTOR_H

#include "cluster/controller/stall_diagnosis.h"
#include "cluster/registry/view.h"
#include "observers.h"
#include "silence.h"

#include <gradwire/suspicion.h>

enum gw__notice_kind {
    GW__NOTICE_ACCUSE, /* propose ACCUSE to the controllers */
    GW__NOTICE_TRUST,  /* the silence is over */
    GW__NOTICE_STUCK   /* `laggard` */
};

struct gw__notice {
    enum gw__notice_kind kind;
    uint64_t epoch;
    unsigned node;
    struct gw__id incarnation;
    bool certain;
    uint64_t silence_ns;
    uint32_t phi_milli;
    struct gw__stall_diagnosis laggard;
};

struct gw__detector_config {
    uint64_t beat_ns;                     /* 20 ms */
    uint64_t deviation_ns;                /* 20 ms */
    uint64_t pause_ns;                    /* 100 ms */
    uint64_t repeat_ns;                   /* 200 ms */
    uint64_t stall_ns;                    /* 2 s */
    uint32_t threshold_milli;             /* phi 8 */
    const struct gw_suspicion *suspicion; /* instead of phi; NULL: none */
    void *owner;
    void (*notify)(void *owner, const struct gw__notice *notice);
};
extern const struct gw__detector_config gw__detector_defaults; /* no owner */

struct gw__detector;

/* As this node and incarnation. Before it, in zeroed memory, no view is taken,
 * so nobody is accused. */
void gw__detector_start(struct gw__detector *d,
                        const struct gw__detector_config *config, unsigned node,
                        uint64_t incarnation, uint64_t now_ns);
/* When gw__detector_tick is due. */
uint64_t gw__detector_due(const struct gw__detector *d);
void gw__detector_tick(struct gw__detector *d, uint64_t now_ns,
                       const struct gw__actions *act);
/* A view that is not newer than the last is ignored. */
void gw__detector_view(struct gw__detector *d, const struct gw__view *view,
                       uint64_t now_ns);
/* Where this member stands now; the stamp is the detector's. */
void gw__detector_stand(struct gw__detector *d,
                        const struct gw__standing *standing, uint64_t now_ns);
/* A message whose first byte is GW__PROTOCOL_BEAT, and what DIED and SEEN bring;
 * what makes no sense is ignored. */
void gw__detector_beat(struct gw__detector *d, const struct gw__input *input);
void gw__detector_died(struct gw__detector *d, unsigned node,
                       uint64_t incarnation);
void gw__detector_seen(struct gw__detector *d, const struct gw__input *input);

#endif
