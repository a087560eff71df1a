/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the live view knows, advanced by one event at a time. Pure: no clock but
 * the events' own, no terminal, no file. Drawing (draw.h) reads it, and calls
 * nothing here that changes it.
 *
 * Ranks are numbered as in the events, up to RANKS_MAX. Which ranks there are
 * and what an op will do is learned on the way; a recording is read once before
 * it is played, so that its view knows from the start (state_learn).
 */
#ifndef RINGTOP_STATE_H
#define RINGTOP_STATE_H

#include "controllers.h"
#include "crew.h"
#include "failover.h"
#include "flights.h"
#include "journal.h"
#include "losses.h"
#include "op.h"
#include "pipe_state.h"
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
    RANK_SUSPECT, /* somebody misses it */
    RANK_FAILED,  /* its op ended with an error */
    RANK_LOST,    /* a peer lost it: the run fails */
    RANK_DEAD     /* convicted */
};

struct rank {
    bool known;  /* takes part, or did */
    bool heard;  /* an event was its own */
    bool joined; /* later than the others */
    enum gw_membership member;
    bool out; /* of the view: left, convicted; it may be parked since */
    bool suspected, lost;
    uint64_t suspected_ns, gone_ns; /* since when; gone: dead, or left */
    bool in_op;
    uint32_t op, step; /* GW_NONE: none yet */
    uint32_t op_epoch; /* in which it began the op */
    int64_t error;     /* how its last op ended */
    enum deed deed;    /* the last one of this op */
    bool acted;        /* there was one */
    uint64_t sent_bytes, received_bytes;
    uint64_t active_ns; /* of its last event, but for WAIT */
    uint32_t waits_on;  /* it said so, or it follows from the op's shape */
    bool wait_told;
    int64_t train_step; /* -1: none */
};

enum { OPS_KEPT = 4 };

struct state {
    struct rank ranks[RANKS_MAX];
    unsigned rank_count;
    struct op ops[OPS_KEPT];
    struct shapes shapes;
    struct flights flights;
    struct rates rates;
    struct losses losses;
    struct journal journal;
    struct failovers failovers;
    struct controllers controllers;
    struct crew crew; /* of parameter servers */
    struct pipe pipe; /* of a pipeline */
    bool begun;
    bool attaching; /* what comes happened before */
    uint64_t begin_ns, now_ns;
    uint64_t events;
    uint64_t skipped_ns;  /* of which nothing was told */
    uint64_t beyond;      /* events of ranks past RANKS_MAX */
    uint64_t ops_done;    /* by all */
    uint64_t ops_failed;  /* ends with an error */
    uint64_t ops_doubled; /* ops that count somebody twice */
    uint32_t epoch;
    unsigned ring_count, ring[RANKS_MAX]; /* members whose order was reported */
    unsigned first_ranks; /* of the first run, when another has begun */
    struct gw_event last;
    uint32_t shown; /* index of the op to look at, or GW_NONE */
};

GW_MUST_CHECK enum gw_err state_new(struct state **state, struct gw_error *why);
void state_destroy(struct state **state);
void state_event(struct state *state, const struct gw_event *event);
/* What is known of a run before its first event: who attaches late has missed
 * how it came about, and is not told that it happened now. The same after a gap
 * in what is told; `skipped_ns`: of all gaps. */
void state_attach(struct state *state, const struct gw_event *known,
                  size_t count, uint64_t skipped_ns);
/* What the supervisor of a live run says of it at `now_ns`, as a whole. */
void state_status(struct state *state, const json_t *status, uint64_t now_ns);
/* Time has come to `now_ns` without an event. Never goes back. */
void state_time(struct state *state, uint64_t now_ns);
/* Evaluates what is to be looked at: the op that is shown, and who waits. To
 * be called after events and before anything below. */
void state_settle(struct state *state);
/* Takes from `other`, which has seen the whole recording, how many ranks there
 * are and the shapes of the ops. */
void state_learn(struct state *state, struct state *other);

/* The oldest op that is not over, else the newest; NULL: there was none. */
const struct op *state_op(const struct state *state);
/* Steps and chunks that the shown op has or will have. */
unsigned state_steps(const struct state *state);
unsigned state_chunks(const struct state *state);
enum condition state_condition(const struct state *state, unsigned rank);
/* Known, and not gone for so long that nobody looks for it any more. */
bool state_minds(const struct state *state, unsigned rank);
/* How many ranks are members. */
unsigned state_members(const struct state *state);
/* Alive members in the order of the ring; returns how many. */
unsigned state_ring(const struct state *state, unsigned ring[RANKS_MAX]);
/* What the last event was, in words. */
void state_last_text(const struct state *state, char *out, size_t size);

#endif
