/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chunks in transfer: SEND was seen, APPLY not yet. Each rank reports its own
 * side, so an APPLY may be seen first; the later SEND must not leave a chunk in
 * transfer for ever.
 */
#ifndef RINGTOP_INFLIGHTS_H
#define RINGTOP_INFLIGHTS_H

#include <gradwire/gradwire.h>

enum { INFLIGHTS_MAX = 512 };

struct inflight {
    uint32_t epoch, op, step, chunk, src, dst;
    uint64_t since_ns;
    bool landed; /* the APPLY came before the SEND */
};

struct inflights {
    struct inflight list[INFLIGHTS_MAX]; /* the oldest first */
    unsigned count;
    uint64_t missed; /* for which there was no room */
    double usual_ns; /* usual duration, a decaying average */
};

/* A SEND or an APPLY. */
void inflights_event(struct inflights *inflights, const struct gw_event *event);
/* Drops the transfers of an op that is over, and of epochs before `epoch`. */
void inflights_forget_op(struct inflights *inflights, uint32_t op);
void inflights_forget_before(struct inflights *inflights, uint32_t epoch);
/* The estimated progress of the chunk, 0 to 1, from the usual duration. */
double inflight_progress(const struct inflights *inflights,
                         const struct inflight *inflight, uint64_t now_ns);

#endif
