/* SPDX-License-Identifier: MIT
 *
 * The failure detector of one member, as a machine (base/machine.h). It beats,
 * listens to the beats of those that it watches (observers.h), and tells the
 * application whom to accuse; the registry convicts. What it knows, best first:
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

#include "cluster/controller/laggard.h"
#include "cluster/registry/view.h"
#include "observers.h"
#include "silence.h"

#include <gradwire/suspicion.h>

/* What START brings; without data these are the defaults. */
struct gw__detector_config {
    uint64_t beat_ns;                     /* 20 ms */
    uint64_t deviation_ns;                /* 20 ms */
    uint64_t pause_ns;                    /* 100 ms */
    uint64_t repeat_ns;                   /* 200 ms */
    uint64_t stall_ns;                    /* 2 s */
    uint32_t threshold_milli;             /* phi 8 */
    const struct gw_suspicion *suspicion; /* instead of phi; NULL: none */
};
extern const struct gw__detector_config gw__detector_defaults;

extern const struct gw__machine_kind gw__detector_machine;

/* ---- what the application asks (GW__ASKED) ---- */

enum { GW__DETECTOR_ASK_MAX = GW__VIEW_BYTES_MAX + 8 };

/* Each fills `out` and returns the bytes. A view that is not newer than the
 * last is ignored, and so is whatever else makes no sense. */
size_t gw__detector_ask_view(uint8_t out[GW__DETECTOR_ASK_MAX],
                             const struct gw__view *view);
/* Data came from this member: as good as a beat. Not needed more often than a
 * few times in `pause_ns`. */
size_t gw__detector_ask_heard(uint8_t out[GW__DETECTOR_ASK_MAX], unsigned node,
                              uint64_t incarnation);
/* Where this member stands now; the stamp is the detector's. */
size_t gw__detector_ask_standing(uint8_t out[GW__DETECTOR_ASK_MAX],
                                 const struct gw__standing *standing);

/* ---- what it tells ---- */

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
    struct gw__laggard laggard;
};

GW_MUST_CHECK enum gw_err gw__notice_decode(const void *data, size_t bytes,
                                            struct gw__notice *notice,
                                            struct gw_error *why);

#endif
