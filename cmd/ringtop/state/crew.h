/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view's state of a run of parameter servers: the server of each slot, the
 * unit of each worker, and the staleness.
 *
 * It has two sources. Events (MEMBER, SLOT, CLOCK) report changes; a recording
 * has nothing else. The status of a live run, requested several times a second,
 * has the same and more: the contents and counters of servers, the count of
 * units, the histogram, recoveries. Both use the same few functions, so that
 * their order does not matter.
 *
 * Workers and servers are numbered separately here; a node of the events is
 * worker i for i below 32, server i for 32 + i, controller i for 63 - i.
 */
#ifndef RINGTOP_CREW_H
#define RINGTOP_CREW_H

#include "failover.h"
#include "journal.h"
#include "rates.h"

#include <gradwire/ps.h>
#include <jansson.h>

enum {
    CREW_WORKERS = 32,
    CREW_SERVERS = 24,
    CREW_SERVER_NODE = 32,
    CREW_CONTROLLER_NODE = 63,
    CREW_RECOVERIES = 16
};

enum { CREW_WORD = 16, CREW_REQUESTS = 128 };

struct crew_server {
    bool known;
    char state[CREW_WORD]; /* "alive", "dead", ...: the run's words */
    uint64_t gone_ns;      /* 0: present */
    uint64_t gone_epoch;   /* the newest at that time */
    uint64_t served;       /* slots that it served at that time, as bits */
    bool told;             /* by a status: the following members */
    bool lease, parked;
    uint64_t rows, bytes, pushes, takeovers;
};

struct crew_worker {
    bool known;
    char state[CREW_WORD], phase[CREW_WORD];
    uint64_t gone_ns, gone_epoch;
    bool passed;  /* gone; and another worker has finished a unit since, or it
                     had none */
    bool clocked; /* it has asked for a unit */
    uint64_t clock;
    bool in_hand; /* it has a unit: */
    uint64_t epoch, batch;
    unsigned part, parts;    /* parts 0: unknown */
    double waited;           /* share of its time; NaN */
    double units_per_second; /* NaN: only in a status */
};

struct crew_slot {
    unsigned char roles[CREW_SERVERS]; /* enum gw_ps_role */
    bool placed;                       /* it has had a server */
    bool lost;                         /* no server has it any more */
    uint64_t rows, learner_rows;       /* by a status: of primary and learner */
};

/* A push or pull in transfer to a server, or its answer in transfer back. */
struct crew_request {
    bool used;
    unsigned worker, server;
    uint32_t id, slot;
    int64_t kind; /* 0 pull, 1 push, 2 both */
    uint64_t since_ns;
};

/* The newest batch of which a worker has got a part. */
struct crew_round {
    bool known;
    uint64_t epoch, batch;
    unsigned seen;         /* parts of this batch so far */
    unsigned parts;        /* per batch: as seen in this one or the last */
    uint64_t pushed, done; /* parts as bits; a part may be both */
};

/* The count of units, by the clock of the servers. */
struct crew_clock {
    bool told; /* by a status */
    char mode[24];
    uint64_t epoch, epochs, batch, batches;
    uint64_t closed, units, expected, dropped, redone;
    uint64_t staleness[GW_PS_STALENESS_MAX + 1];
    bool done;
};

/* From the status: milliseconds since it began; NaN: not yet. */
struct crew_recovery {
    char names[64], how[CREW_WORD];
    uint64_t epoch;
    double detected_ms, decided_ms, resumed_ms;
};

struct crew {
    bool here; /* the run has parameter servers */
    char model[CREW_WORD];
    double loss; /* NaN */
    uint64_t epoch;
    unsigned server_count, worker_count, slot_count; /* highest number + 1 */
    struct crew_server servers[CREW_SERVERS];
    struct crew_worker workers[CREW_WORKERS];
    struct crew_slot slots[GW_PS_SLOTS_MAX];
    struct crew_clock clock;
    /* Without a status: staleness of the units that were in events, which are
     * not all. */
    uint64_t seen[GW_PS_STALENESS_MAX + 1];
    struct crew_request requests[CREW_REQUESTS];
    uint64_t answers;
    double answer_ns; /* time of an answer: a moving mean */
    struct crew_round round;
    struct rates pushes; /* by server */
    uint64_t told_ns;    /* time of the last status */
    struct crew_recovery recoveries[CREW_RECOVERIES]; /* the oldest first */
    unsigned recovery_count;
};

void crew_init(struct crew *crew);
/* Applies an event of any kind. */
void crew_event(struct crew *crew, const struct gw_event *event,
                struct journal *journal);
/* Applies the status of a run (common/attach.h), which may be incomplete; does
 * nothing when the run has no servers. */
void crew_status(struct crew *crew, const json_t *status, uint64_t now_ns,
                 struct journal *journal);
/* Ends the failovers of members whose work has been taken over, as far as is
 * known, and writes a line about each. To be called after every event and
 * status. */
void crew_end_stories(const struct crew *crew, struct failovers *failovers,
                      uint64_t now_ns, struct journal *journal);

/* ---- crew_requests.c ---- */

void crew_request_begins(struct crew *crew, const struct gw_event *event);
void crew_request_ends(struct crew *crew, const struct gw_event *event);
/* The worker's unit has ended: it has finished it or has gone; `worker` is its
 * present state. */
void crew_round_unit(struct crew *crew, const struct crew_worker *before,
                     const struct crew_worker *worker);

enum crew_part { PART_FREE, PART_ASSIGNED, PART_PUSHED, PART_DONE };
/* The state of a part of the open round. */
enum crew_part crew_part_of(const struct crew *crew, unsigned part);

/* ---- questions ---- */

/* The primary of the slot, and its learner; -1: none. */
int crew_primary(const struct crew *crew, unsigned slot);
/* Slots in which the server has the role. */
unsigned crew_count(const struct crew *crew, unsigned server,
                    enum gw_ps_role role);
/* The number of lost slots; of slots that are held, but have no primary. */
unsigned crew_lost(const struct crew *crew);
unsigned crew_unserved(const struct crew *crew);
/* Clocks of the slowest and the fastest worker that is there; false: none. */
bool crew_span(const struct crew *crew, uint64_t *least, uint64_t *most);
/* The best known histogram. */
const uint64_t *crew_staleness(const struct crew *crew);
/* Gone for so long that it is no longer shown. */
bool crew_gone(uint64_t gone_ns, uint64_t now_ns);
/* Does the state mean that the process exists? */
bool crew_is_there(const char *state);

/* ---- for crew.c, crew_event.c, crew_status.c and crew_gone.c ---- */

/* NULL: not the number of a server, or worker. */
struct crew_server *crew_meet_server(struct crew *crew, unsigned number);
struct crew_worker *crew_meet_worker(struct crew *crew, unsigned number);
/* Sets the role of a server in a slot; writes a line when the slot is lost. */
void crew_set_role(struct crew *crew, unsigned slot, unsigned server,
                   enum gw_ps_role role);
/* An event or a status reports that it has gone; the first report counts. */
void crew_server_goes(struct crew *crew, unsigned server, uint64_t now_ns);
void crew_worker_goes(struct crew *crew, unsigned worker, uint64_t now_ns);
/* The worker has finished a unit. */
void crew_unit_finished(struct crew *crew, unsigned worker);
/* Finds slots that no server has any more, and writes a line about them. */
void crew_look_for_loss(struct crew *crew, uint64_t now_ns,
                        struct journal *journal);

#endif
