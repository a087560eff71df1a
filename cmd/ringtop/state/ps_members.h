/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The view's state of a run of parameter servers: the server of each slot, the
 * item of each worker, and the staleness.
 *
 * It has two sources. Events (MEMBER, SLOT, CLOCK) report changes; a recording
 * has nothing else. The status of a live run, requested several times a second,
 * has the same and more: the contents and counters of servers, the count of
 * items, the histogram, recoveries. Both use the same few functions, so that
 * their order does not matter.
 *
 * Workers and servers are numbered separately here; a node of the events is
 * worker i for i below 32, server i for 32 + i, controller i for
 * GW_RING_CONTROLLER - i.
 */
#ifndef RINGTOP_PS_MEMBERS_H
#define RINGTOP_PS_MEMBERS_H

#include "event_log.h"
#include "failover.h"
#include "rates.h"

#include <gradwire/ps.h>
#include <jansson.h>

enum {
    PS_WORKERS = 32,
    PS_SERVERS = 24,
    PS_SERVER_NODE = 32,
    PS_CONTROLLER_NODE = GW_RING_CONTROLLER,
    PS_RECOVERIES = 16
};

enum { PS_WORD = 16, PS_REQUESTS = 128 };

struct ps_server {
    bool known;
    char state[PS_WORD]; /* "alive", "dead", ...: the run's words */
    uint64_t gone_ns;    /* 0: present */
    uint64_t gone_epoch; /* the newest at that time */
    uint64_t served;     /* slots that it served at that time, as bits */
    bool reported;       /* by a status: the following members */
    bool lease, parked;
    uint64_t rows, bytes, pushes, takeovers;
};

struct ps_worker_state {
    bool known;
    char state[PS_WORD], phase[PS_WORD];
    uint64_t gone_ns, gone_epoch;
    bool passed;  /* gone; and another worker has finished an item since, or it
                     had none */
    bool clocked; /* it has asked for an item */
    uint64_t clock;
    bool in_hand; /* it has an item: */
    uint64_t epoch, batch;
    unsigned part, parts;         /* parts 0: unknown */
    double waited;                /* share of its time; NaN */
    double work_items_per_second; /* NaN: only in a status */
};

struct ps_slot {
    unsigned char roles[PS_SERVERS]; /* enum gw_ps_role */
    bool was_assigned;               /* it has had a server */
    bool lost;                       /* no server has it any more */
    uint64_t rows, learner_rows;     /* by a status: of primary and learner */
};

/* A push or pull in transfer to a server, or its answer in transfer back. */
struct ps_request {
    bool used;
    unsigned worker, server;
    uint32_t id, slot;
    int64_t kind; /* 0 pull, 1 push, 2 both */
    uint64_t since_ns;
};

/* The newest batch of which a worker has got a part. */
struct ps_round {
    bool known;
    uint64_t epoch, batch;
    unsigned seen;         /* parts of this batch so far */
    unsigned parts;        /* per batch: as seen in this one or the last */
    uint64_t pushed, done; /* parts as bits; a part may be both */
};

/* The count of items, by the clock of the servers. */
struct ps_clock {
    bool reported; /* by a status */
    char mode[24];
    uint64_t epoch, epochs, batch, batches;
    uint64_t closed, work_items, expected, dropped, redone;
    uint64_t staleness[GW_PS_STALENESS_MAX + 1];
    bool done;
};

/* From the status: milliseconds since it began; NaN: not yet. */
struct ps_recovery {
    char names[64], how[PS_WORD];
    uint64_t epoch;
    double detected_ms, decided_ms, resumed_ms;
};

struct ps_members {
    bool here; /* the run has parameter servers */
    char model[PS_WORD];
    double loss; /* NaN */
    uint64_t epoch;
    unsigned server_count, worker_count, slot_count; /* highest number + 1 */
    struct ps_server servers[PS_SERVERS];
    struct ps_worker_state workers[PS_WORKERS];
    struct ps_slot slots[GW_PS_SLOTS_MAX];
    struct ps_clock clock;
    /* Without a status: staleness of the items that were in events, which are
     * not all. */
    uint64_t seen[GW_PS_STALENESS_MAX + 1];
    struct ps_request requests[PS_REQUESTS];
    uint64_t answers;
    double answer_ns; /* time of an answer: a moving mean */
    struct ps_round round;
    struct rates pushes;                          /* by server */
    uint64_t reported_ns;                         /* time of the last status */
    struct ps_recovery recoveries[PS_RECOVERIES]; /* the oldest first */
    unsigned recovery_count;
};

void ps_init(struct ps_members *ps);
/* Applies an event of any kind. */
void ps_event(struct ps_members *ps, const struct gw_event *event,
              struct event_log *log);
/* Applies the status of a run (common/rpc_client.h), which may be incomplete;
 * does nothing when the run has no servers. */
void ps_status(struct ps_members *ps, const json_t *status, uint64_t now_ns,
               struct event_log *log);
/* Ends the failovers of members whose work has been taken over, as far as is
 * known, and writes a line about each. To be called after every event and
 * status. */
void ps_end_failovers(const struct ps_members *ps, struct failovers *failovers,
                      uint64_t now_ns, struct event_log *log);

/* ---- ps_requests.c ---- */

void ps_request_begins(struct ps_members *ps, const struct gw_event *event);
void ps_request_ends(struct ps_members *ps, const struct gw_event *event);
/* The worker's item has ended: it has finished it or has gone; `worker` is its
 * present state. */
void ps_round_work_item(struct ps_members *ps,
                        const struct ps_worker_state *before,
                        const struct ps_worker_state *worker);

enum ps_part { PART_FREE, PART_ASSIGNED, PART_PUSHED, PART_DONE };
/* The state of a part of the open round. */
enum ps_part ps_part_of(const struct ps_members *ps, unsigned part);

/* ---- questions ---- */

/* The primary of the slot, and its learner; -1: none. */
int ps_primary(const struct ps_members *ps, unsigned slot);
/* Slots in which the server has the role. */
unsigned ps_count(const struct ps_members *ps, unsigned server,
                  enum gw_ps_role role);
/* The number of lost slots; of slots that are held, but have no primary. */
unsigned ps_lost(const struct ps_members *ps);
unsigned ps_unserved(const struct ps_members *ps);
/* Clocks of the slowest and the fastest worker that is there; false: none. */
bool ps_span(const struct ps_members *ps, uint64_t *least, uint64_t *most);
/* The best known histogram. */
const uint64_t *ps_staleness(const struct ps_members *ps);
/* Gone for so long that it is no longer shown. */
bool ps_gone(uint64_t gone_ns, uint64_t now_ns);
/* Does the state mean that the process exists? */
bool ps_is_there(const char *state);

/* ---- for ps_members.c, ps_event.c, ps_status.c and ps_gone.c ---- */

/* NULL: not the number of a server, or worker. */
struct ps_server *ps_server_of(struct ps_members *ps, unsigned number);
struct ps_worker_state *ps_worker_of(struct ps_members *ps, unsigned number);
/* Sets the role of a server in a slot; writes a line when the slot is lost. */
void ps_set_role(struct ps_members *ps, unsigned slot, unsigned server,
                 enum gw_ps_role role);
/* An event or a status reports that it has gone; the first report counts. */
void ps_server_goes(struct ps_members *ps, unsigned server, uint64_t now_ns);
void ps_worker_goes(struct ps_members *ps, unsigned worker, uint64_t now_ns);
/* The worker has finished an item. */
void ps_work_item_finished(struct ps_members *ps, unsigned worker);
/* Finds slots that no server has any more, and writes a line about them. */
void ps_find_lost_slots(struct ps_members *ps, uint64_t now_ns,
                        struct event_log *log);

#endif
