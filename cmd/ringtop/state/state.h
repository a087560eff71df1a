/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of the live view, advanced by one event at a time. Pure: no clock
 * but the events' own, no terminal, no file. Drawing (draw.h) reads it, and
 * never changes it.
 *
 * Ranks are numbered as in the events, up to RANKS_MAX. In a ring with views,
 * these are the numbers of nodes, as in ringctl; a node's rank is its place in
 * the view. The ranks and the shapes of ops become known with the events. A
 * recording is read once before it is played, so that its view knows them from
 * the start (state_learn).
 */
#ifndef RINGTOP_STATE_H
#define RINGTOP_STATE_H

#include "controllers.h"
#include "event_log.h"
#include "failover.h"
#include "inflights.h"
#include "losses.h"
#include "op.h"
#include "pipe_state.h"
#include "ps_members.h"
#include "rates.h"

/* Ordered from calm to alarming. */
enum condition {
    RANK_UNKNOWN, /* no event of it yet */
    RANK_IDLE,    /* between ops */
    RANK_BUSY,
    RANK_LATE, /* others are in an op that it has not begun */
    RANK_JOINING,
    RANK_PARKED,
    RANK_LEFT,
    RANK_PAUSED,  /* stopped by ringctl pause */
    RANK_SUSPECT, /* another rank suspects it */
    RANK_FAILED,  /* its op ended with an error */
    RANK_LOST,    /* a peer lost it: the run fails */
    RANK_DEAD     /* declared dead */
};

struct rank {
    bool known;        /* it is or was a member */
    bool has_reported; /* it has sent an event */
    bool joined;       /* later than the others */
    enum gw_membership member;
    bool out; /* of the view: left, or declared dead; possibly parked since */
    bool paused; /* reported by the status of a live run */
    bool suspected, lost;
    uint64_t suspected_ns, gone_ns; /* since when; gone: dead, or left */
    bool in_op;
    uint32_t op, step;  /* GW_NONE: none yet */
    uint32_t op_epoch;  /* in which it began the op */
    int64_t error;      /* the result of its last op */
    enum action action; /* its last action in this op */
    bool acted;         /* it has acted in this op */
    uint64_t sent_bytes, received_bytes;
    uint64_t active_ns; /* of its last event, but for WAIT */
    uint32_t waits_on;  /* reported, or derived from the op's shape */
    bool wait_reported;
    int64_t train_step; /* -1: none */
};

enum { OPS_KEPT = 4 };

struct state {
    struct rank ranks[RANKS_MAX];
    unsigned rank_count;
    struct op ops[OPS_KEPT];
    struct shapes shapes;
    struct inflights inflights;
    struct rates rates;
    struct losses losses;
    struct event_log log;
    struct failovers failovers;
    struct controllers controllers;
    struct ps_members ps; /* of parameter servers */
    struct pipe pipe;     /* of a pipeline */
    bool begun;
    bool resyncing; /* the next events are from before now */
    uint64_t begin_ns, now_ns;
    uint64_t events;
    uint64_t skipped_ns;  /* time without events */
    uint64_t beyond;      /* events of ranks past RANKS_MAX */
    uint64_t ops_done;    /* by all */
    uint64_t ops_failed;  /* ends with an error */
    uint64_t ops_doubled; /* ops that count a rank twice */
    uint32_t epoch;
    unsigned ring_count, ring[RANKS_MAX]; /* members whose order was reported */
    unsigned first_ranks; /* of the first run, if another has begun */
    size_t recoveries;    /* reported by the status of a live run */
    struct gw_event last;
    uint32_t shown;  /* index of the shown op, or GW_NONE */
    uint32_t pinned; /* the op to show while it is known, or GW_NONE */
};

GW_MUST_CHECK enum gw_err state_new(struct state **state, struct gw_error *why);
void state_destroy(struct state **state);
void state_event(struct state *state, const struct gw_event *event);
/* Applies the known state of a run before its first event. An observer that
 * attaches late has missed the earlier events, and they must not look like
 * present ones. The same after a gap in the events; `skipped_ns`: the sum of
 * all gaps. */
void state_resync(struct state *state, const struct gw_event *known,
                  size_t count, uint64_t skipped_ns);
/* Applies the supervisor's status of a live run at `now_ns`. */
void state_status(struct state *state, const json_t *status, uint64_t now_ns);
/* Advances the time to `now_ns` without an event. Never goes back. */
void state_time(struct state *state, uint64_t now_ns);
/* Evaluates the op that is shown, and which ranks wait for which. To be called
 * after events and before the functions below. */
void state_evaluate(struct state *state);
/* Copies from `other`, which has seen the whole recording, the number of ranks
 * and the shapes of the ops. */
void state_learn(struct state *state, struct state *other);

/* The oldest op that is not over, else the newest; NULL: there was none. */
const struct op *state_op(const struct state *state);
/* The steps, and the chunks, of the shown op, including those to come. */
unsigned state_steps(const struct state *state);
unsigned state_chunks(const struct state *state);
enum condition state_condition(const struct state *state, unsigned rank);
/* Does the run have nodes with ranks in views? Else a rank is a rank. */
bool state_has_nodes(const struct state *state);
/* "node" or "rank". */
const char *state_noun(const struct state *state);
/* Left or declared dead, and not a process that may return. */
bool state_gone(const struct state *state, unsigned rank);
/* Known, and not gone for so long that it is no longer shown. */
bool state_minds(const struct state *state, unsigned rank);
/* How many ranks are members. */
unsigned state_members(const struct state *state);
/* Members in the order of the ring, by rank; returns how many. */
unsigned state_ring(const struct state *state, unsigned ring[RANKS_MAX]);
/* The node that an order most likely means, "2": the last alive member, or
 * worker; "": none. */
void state_usual_node(const struct state *state, char out[4]);
/* The last event, in words. */
void state_last_text(const struct state *state, char *out, size_t size);

#endif
