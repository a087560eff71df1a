/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What happened to a member that failed, stage by stage:
 *
 *     noticed -> convicted -> new view -> decided -> resumed
 *
 * A plain communicator goes no further than the first: it fails as one. The
 * elastic ring goes on. It is resumed when the last survivor has
 * completed the op that was cut short, the newest of those decided on; if none
 * was, when a first op has ended. Parameter servers decide nothing: they are
 * resumed when every slot that the dead one served is served again, or, after a
 * worker's death, when another one has finished a unit (crew_gone.c).
 */
#ifndef RINGTOP_FAILOVER_H
#define RINGTOP_FAILOVER_H

#include "journal.h"

enum stage { NOTICED, CONVICTED, VIEWED, DECIDED, RESUMED, STAGES };

struct failover {
    uint32_t who, noticed_by;
    bool reached[STAGES];
    uint64_t time_ns[STAGES];
    uint32_t epoch, op;
    int64_t members, fate;
    unsigned kept, redone; /* copies of that op's chunks */
    int64_t done;          /* survivors that have completed it */
};

enum { FAILOVERS_KEPT = 16 };
struct failovers {
    struct failover list[FAILOVERS_KEPT]; /* the oldest first */
    unsigned count;
    bool crew; /* members are workers and servers, by their nodes */
};

/* "rank 2"; of a crew "worker 2", "server 0", "controller 1". */
const char *failovers_name(const struct failovers *failovers, uint32_t who,
                           char out[24]);
/* What `who` did is done again: its story ends, unless it has not come to that
 * yet. */
void failovers_resume(struct failovers *failovers, uint32_t who,
                      uint64_t time_ns, struct journal *journal);
/* `who` has an open story, and is known to be out. */
void failovers_convicted(struct failovers *failovers, uint32_t who,
                         uint64_t time_ns);
/* Takes an event of any kind and writes what it means for a failure. Who was
 * only missed, and is heard again, has no story. */
void failovers_event(struct failovers *failovers, const struct gw_event *event,
                     struct journal *journal);
/* `who` shows signs of life. */
void failovers_heard(struct failovers *failovers, uint32_t who);
/* "noticed", "convicted", "view", "decided", "resumed". */
const char *stage_name(enum stage stage);
/* The first stage that was reached, in time. */
uint64_t failover_begin_ns(const struct failover *failover);

#endif
