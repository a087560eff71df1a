/* SPDX-License-Identifier: MIT
 *
 * Modes of a parameter server (ps.h): when a round closes, how far ahead workers
 * may be; and policies that change the mode after each round.
 */
#ifndef GRADWIRE_PS_MODE_H
#define GRADWIRE_PS_MODE_H

#include <gradwire/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gw_ps_mode_kind {
    GW_PS_BSP,
    GW_PS_SSP,
    GW_PS_ASP,
    GW_PS_KOFN,
    GW_PS_MODES
};

struct gw_ps_mode {
    enum gw_ps_mode_kind kind;
    unsigned bound; /* S of ssp, K of kofn; else 0 */
    /* What a worker that dies had of a batch is left out, so the model learns
     * from less data for a while; else other workers do it again. */
    bool drop;
};
/* "bsp", "ssp:2", "asp", "kofn:3"; "+drop" after any of them */
GW_API GW_MUST_CHECK enum gw_err gw_ps_mode_parse(const char *text,
                                                  struct gw_ps_mode *mode,
                                                  struct gw_error *why);
/* Writes at most `room` bytes with the end; returns out. */
GW_API char *gw_ps_mode_print(const struct gw_ps_mode *mode, char *out,
                              size_t room);

/* ---- stragglers: a policy of one's own (gradwire-plugin(7)) ---- */

/* What a round was like, as the server with the clock saw it, or psnode sim. In
 * ssp and asp, which have no rounds, it is the time in which as many units were
 * done as a batch has parts. Times are seconds. */
struct gw_straggler_round {
    uint64_t number;        /* of rounds that were looked at, from 1 */
    struct gw_ps_mode mode; /* in which it ended */
    double seconds;         /* from its beginning to its end */
    unsigned parts, workers;
    /* [parts]: when that part was done, counted from the round's beginning;
     * infinite: the round closed without it. In ssp and asp, where parts are
     * not dealt by rounds, in the order in which units were done. */
    const double *arrivals;
    /* [workers]: how long the newest unit of each took, from its grant until it
     * was done; if the one that it works on takes longer, how long that has
     * taken so far. */
    const double *units;
    /* [workers]: the same over the last few units: an eighth of the way from
     * the old mean to the new value, each time. */
    const double *means;
    double staleness; /* mean clocks that a unit was ahead of the slowest */
};

struct gw_straggler {
    /* The mode for what comes next: the same one, another K or S, or another
     * kind; `drop` stays as it is. Pure: what it answers depends on what it is given, and on nothing
     * else. An answer that makes no sense (kofn:0, more than the parts) is
     * refused, with a sentence, and the mode stays. */
    struct gw_ps_mode (*choose)(const struct gw_straggler_round *round);
};

#ifdef __cplusplus
}
#endif
#endif
