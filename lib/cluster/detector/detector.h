/* SPDX-License-Identifier: MIT
 *
 * The failure detector of one member. It sends beats, listens to the beats of
 * the members that it watches (observers.h), and notifies its owner of the
 * members to suspect; the registry declares them dead. It is part of a machine
 * (base/machine.h), which passes on its inputs and calls gw__detector_tick at
 * the time of gw__detector_due, so it is pure. Its findings, most certain
 * first:
 *
 *     certain   DIED: the process has ended. Suspected at once, as certain.
 *     silent    phi above the threshold (phi.h), or longer than a plug-in
 *               allows (gradwire/suspicion.h), without an excuse: a member on
 *               this host may wait for a CPU (silence.h). Suspected, and again
 *               every `repeat_ns` while it lasts, since suspicions lapse.
 *     stuck     beats, but makes no progress: a watchdog only reports it. The
 *               root of the waits is in the report (stall_diagnosis.h).
 *
 *     of each watched member:    trusted <----> suspected
 *                                     phi > threshold
 *
 * Its own health counts (health.h): after a timer that fired late, the time in
 * which this process was stopped does not count as silence of others, and the
 * threshold is raised for a while.
 *
 * It never suspects its own process, ignores members outside its view, and
 * drops all suspicions with a new view. Facts about ended processes are kept.
 *
 * A beat carries the progress report of its sender and reports of other
 * members, so that the waits-for graph reaches all members without a
 * controller.
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
    GW__NOTICE_SUSPECT, /* propose SUSPECT to the controllers */
    GW__NOTICE_TRUST,   /* the silence has ended */
    GW__NOTICE_STUCK    /* `stall` */
};

struct gw__notice {
    enum gw__notice_kind kind;
    uint64_t epoch;
    unsigned node;
    struct gw__id incarnation;
    bool certain;
    uint64_t silence_ns;
    uint32_t phi_milli;
    struct gw__stall_diagnosis stall;
};

struct gw__detector_config {
    uint64_t beat_ns;                     /* 20 ms, in a small ring */
    uint64_t deviation_ns;                /* 20 ms */
    uint64_t pause_ns;                    /* 100 ms */
    uint64_t repeat_ns;                   /* 200 ms */
    uint64_t stall_ns;                    /* 2 s */
    uint32_t threshold_milli;             /* phi 8 */
    const struct gw_suspicion *suspicion; /* instead of phi; NULL: none */
    void *owner;
    void (*notify)(void *owner, const struct gw__notice *notice);
};
extern const struct gw__detector_config gw__detector_defaults; /* without an
                                                                  owner */

/* An interval of a small ring, in a ring of this size: from 32 members on it
 * grows with their number, up to ten times. Many members of a large ring share a
 * host, whose cores would do little but exchange signs of life. */
static inline uint64_t gw__interval_ns(uint64_t small_ns, unsigned members)
{
    enum { LARGE = 32, MOST = 10 };
    unsigned most = MOST * LARGE;
    unsigned n = members < LARGE ? LARGE : members > most ? most : members;
    return small_ns * n / LARGE;
}

struct gw__detector;

/* Starts as this node and incarnation. Before, in zeroed memory, there is no
 * view and no suspicion. */
/* As if zeroed: before the start. */
void gw__detector_clear(struct gw__detector *d);
void gw__detector_start(struct gw__detector *d,
                        const struct gw__detector_config *config, unsigned node,
                        uint64_t incarnation, uint64_t now_ns);
/* The time at which gw__detector_tick is due. */
uint64_t gw__detector_due(const struct gw__detector *d);
void gw__detector_tick(struct gw__detector *d, uint64_t now_ns,
                       const struct gw__actions *act);
/* A view that is not newer than the last is ignored. */
void gw__detector_view(struct gw__detector *d, const struct gw__view *view,
                       uint64_t now_ns);
/* Sets the progress of this member; the detector sets the stamp. */
void gw__detector_set_progress(struct gw__detector *d,
                               const struct gw__progress_report *report,
                               uint64_t now_ns);
/* Inputs: a message whose first byte is GW__PROTOCOL_BEAT, the certain end of a
 * process, and the result of a look. Invalid data is ignored. */
void gw__detector_beat(struct gw__detector *d, const struct gw__input *input);
void gw__detector_died(struct gw__detector *d, unsigned node,
                       uint64_t incarnation);
void gw__detector_sight(struct gw__detector *d, const struct gw__input *input);

#endif
