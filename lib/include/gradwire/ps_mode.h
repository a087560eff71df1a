/* SPDX-License-Identifier: MIT
 *
 * Modes of a parameter server (ps.h): they define when a round closes and how
 * far ahead workers may be. Policies can change the mode after each round.
 */
#ifndef GRADWIRE_PS_MODE_H
#define GRADWIRE_PS_MODE_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of modes; gradwire-parameter-server(7) describes them. */
enum gw_ps_mode_kind {
    GW_PS_BSP,
    GW_PS_SSP,
    GW_PS_ASP,
    GW_PS_KOFN,
    GW_PS_MODES
};

/* A mode. */
struct gw_ps_mode {
    enum gw_ps_mode_kind kind;
    unsigned bound; /* S of ssp, K of kofn; otherwise 0 */
    /* The work of a dead worker in a batch is skipped, so the model learns
     * from less data for a while; otherwise other workers do it again. */
    bool drop;
};
/* Reads a mode: "bsp", "ssp:2", "asp", "kofn:3"; "+drop" after any of them.
 * GW_EINVAL: any other text; *mode is unchanged. */
GW_API GW_MUST_CHECK enum gw_err gw_ps_mode_parse(const char *text,
                                                  struct gw_ps_mode *mode,
                                                  struct gw_error *why);
/* Writes a mode in that form, at most `room` bytes including the final 0;
 * returns out. */
GW_API char *gw_ps_mode_print(const struct gw_ps_mode *mode, char *out,
                              size_t room);

/* ---- straggler policies (gradwire-plugin(7)) ---- */

/* The record of a round, from the server with the clock or from psnode sim. ssp
 * and asp have no rounds: there it is the time in which as many work items were
 * done as a batch has parts. Times are in seconds. */
struct gw_straggler_round {
    uint64_t number;        /* of the round, from 1 */
    struct gw_ps_mode mode; /* at its end */
    double seconds;         /* from its beginning to its end */
    unsigned parts, workers;
    /* [parts]: the time when that part was done, from the beginning of the
     * round; infinite: the round closed without it. In ssp and asp, where
     * parts do not belong to rounds, in the order of completion. */
    const double *arrivals;
    /* [workers]: the duration of each worker's newest work item, from its
     * grant until it was done; or the time of the current one so far, if
     * that is longer. */
    const double *durations;
    /* [workers]: the moving mean of these durations: each time the mean
     * changes by an eighth of the difference to the new value. */
    const double *means;
    double staleness; /* mean clocks of a work item ahead of the slowest */
};

/* A straggler policy. */
struct gw_straggler {
    /* Returns the next mode: the same one, another K or S, or another
     * kind; `drop` stays as it is. It must be pure: the result depends
     * only on the argument. An invalid result (kofn:0, or more than the
     * parts) is refused with an error message, and the mode stays. */
    struct gw_ps_mode (*choose)(const struct gw_straggler_round *round);
};

#ifdef __cplusplus
}
#endif
#endif
