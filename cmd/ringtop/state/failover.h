/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stages of a member's failure:
 *
 *     noticed -> confirmed -> new view -> decided -> resumed
 *
 * A plain communicator goes no further than the first: it fails as a whole. The
 * elastic ring continues. It has resumed when the last survivor has completed
 * the interrupted op, the newest of those decided on; if there was none, when a
 * first op has ended. Parameter servers decide nothing: they have resumed when
 * every slot of the dead server is served again, or, after a worker's death,
 * when another worker has finished an item (ps_gone.c).
 */
#ifndef RINGTOP_FAILOVER_H
#define RINGTOP_FAILOVER_H

#include "event_log.h"
#include "sets.h"

enum stage { NOTICED, DECLARED_DEAD, VIEWED, DECIDED, RESUMED, STAGES };

/* What becomes of the interrupted op's data. Each member reports its copies of
 * the chunks. A chunk is kept if one of its copies is. */
struct recovered {
    unsigned kept, redone;            /* copies */
    uint64_t chunks[CHUNKS_MAX / 64]; /* with a report */
    uint64_t kept_chunks[CHUNKS_MAX / 64];
};

struct failover {
    uint32_t who, noticed_by;
    bool reached[STAGES];
    uint64_t time_ns[STAGES];
    uint32_t epoch, op;
    int64_t members, fate;
    struct recovered recovered;
    int64_t done; /* survivors that have completed it */
};

enum { FAILOVERS_KEPT = 16 };
struct failovers {
    struct failover list[FAILOVERS_KEPT]; /* the oldest first */
    unsigned count;
    bool ps;    /* members are workers and servers, by their nodes */
    bool nodes; /* members are nodes of a ring, which have ranks in views */
};

/* "rank 2", "node 2"; of servers "worker 2", "server 0", "controller 1". */
const char *failovers_name(const struct failovers *failovers, uint32_t who,
                           char out[24]);
/* The member's work continues: its failover ends, unless its death is not
 * confirmed yet. */
void failovers_resume(struct failovers *failovers, uint32_t who,
                      uint64_t time_ns, struct event_log *log);
/* The member has an open failover, and its death is confirmed. */
void failovers_declared_dead(struct failovers *failovers, uint32_t who,
                             uint64_t time_ns);
/* Applies an event of any kind and writes a line if it concerns a failure. A
 * member that was only suspected and is heard again has no failover. */
void failovers_event(struct failovers *failovers, const struct gw_event *event,
                     struct event_log *log);
/* The member has given a sign of life. */
void failovers_clear_suspect(struct failovers *failovers, uint32_t who);
/* "chunks 1 kept, 3 redone (copies 1 and 10)". */
const char *failover_counts(const struct failover *failover, char out[64]);
/* "noticed", "confirmed", "view", "decided", "resumed". */
const char *stage_name(enum stage stage);
/* The time of the first stage reached. */
uint64_t failover_begin_ns(const struct failover *failover);

#endif
