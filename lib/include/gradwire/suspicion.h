/* SPDX-License-Identifier: MIT
 *
 * A suspicion of one's own: when is a silent member to be suspected? Members
 * beat; each is watched by up to three others, its observers; what an observer
 * suspects it accuses, and two accusations convict. In place of the built-in
 * rule (phi-accrual: Hayashibara, Defago, Yared, Katayama, SRDS 2004) a plug-in
 * of kind GW_PLUGIN_SUSPICION answers (gradwire/plugin.h, gradwire-plugin(7)).
 */
#ifndef GRADWIRE_SUSPICION_H
#define GRADWIRE_SUSPICION_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GW_SILENCE_INTERVALS = 64, GW_SILENCE_LATE = 8 };

/* What an observer knows of a member, by its own clock. */
struct gw_silence {
    /* Since the last sign of life, a beat or data. A time in which the
     * observer itself did not run is taken out. Just after a change of the
     * ring, when members connect, it is 0 for a while. */
    uint64_t silence_ns;
    uint64_t beat_ns; /* members beat once in this time */
    /* Between the last beats as they arrived, the newest last; at most
     * GW_SILENCE_INTERVALS. None after a change of the ring. */
    const uint64_t *intervals_ns;
    unsigned interval_count;
    /* How late the observer's own timers were of late: 0 not, up to
     * GW_SILENCE_LATE. */
    unsigned late;
};

struct gw_suspicion {
    /* Is it to be suspected now? Asked of each member that an observer watches,
     * once in `beat_ns`. Pure, and quick: members beat in the same thread. */
    bool (*suspects)(const struct gw_silence *silence);
};

#ifdef __cplusplus
}
#endif
#endif
