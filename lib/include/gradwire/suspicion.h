/* SPDX-License-Identifier: MIT
 *
 * Suspicion policies: they decide when a silent member is suspected. Members
 * send heartbeats; up to three other members observe each. An observer reports
 * its suspicion, and two observers suffice to declare a member dead. The
 * built-in policy is phi-accrual (Hayashibara, Defago, Yared, Katayama, SRDS
 * 2004); a plug-in of kind GW_PLUGIN_SUSPICION replaces it (gradwire/plugin.h,
 * gradwire-plugin(7)).
 */
#ifndef GRADWIRE_SUSPICION_H
#define GRADWIRE_SUSPICION_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GW_SILENCE_INTERVALS = 64, GW_SILENCE_LATE = 8 };

/* An observer's data about a member, by its own clock. */
struct gw_silence {
    /* The time since the last sign of life, a heartbeat or data, without
     * the time in which the observer itself did not run. It is 0 for a
     * while after a change of the ring, when members connect. */
    uint64_t silence_ns;
    uint64_t beat_ns; /* interval of heartbeats */
    /* The intervals between the last heartbeats on arrival, the newest
     * last; at most GW_SILENCE_INTERVALS. None after a change of the
     * ring. */
    const uint64_t *intervals_ns;
    unsigned interval_count;
    /* The recent lateness of the observer's own timers: from 0, none, to
     * GW_SILENCE_LATE. */
    unsigned late;
};

/* A suspicion policy. */
struct gw_suspicion {
    /* Returns whether to suspect the member now. It is called for each
     * member that an observer observes, once per `beat_ns`. It must be
     * pure and fast: heartbeats are sent in the same thread. */
    bool (*suspects)(const struct gw_silence *silence);
};

#ifdef __cplusplus
}
#endif
#endif
