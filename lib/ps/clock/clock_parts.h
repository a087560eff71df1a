/* SPDX-License-Identifier: MIT
 *
 * Internals of the clock:
 *   clock.c        commands: senders and effects
 *   clock_assign.c assignment of items
 *   clock_close.c  round commits
 *   clock_bytes.c  encoding of commands and round commits
 *   clock_save.c   the state as bytes
 *   clock_query.c  queries
 */
#ifndef GW__PS_CLOCK_PARTS_H
#define GW__PS_CLOCK_PARTS_H

#include "clock.h"

#include "base/nodes/nodes.h"

enum {
    ROUND_COMMITS_KEPT = 1024,
    /* No grants when fewer entries are free, or fewer than 2 per worker: each
     * item and each part may still close alone. */
    ROUND_COMMITS_SPARE = 128,
    RETURNED_MAX = 2 * GW_PS_NODES,
    BARRIERS_KEPT = 16
};

struct gw__place_of_work {
    uint64_t epoch, batch;
    uint32_t part, parts;
};

enum part_state {
    PART_FREE,
    PART_LEASED,
    PART_DONE,
    PART_GONE,   /* not part of this round (any more) */
    PART_DROPPED /* its worker has died, and the mode drops its share */
};

/* Sums of the losses that workers report. */
struct reported {
    double sum, weight;
};

/* One part of the open round. */
struct part {
    uint32_t state;
    struct gw__work_item item; /* LEASED, DONE: the owner */
    struct reported reported;  /* DONE */
};

/* LOOSE: closes alone when it is done. LATE: its round has closed
 * without it. */
enum hold { HOLDS_NONE, HOLDS_PART, HOLDS_LOOSE, HOLDS_LATE };

struct worker {
    struct gw__alive who;
    uint64_t base;     /* clock when it joined */
    uint64_t finished; /* items since then; clock = base + finished */
    bool is_waiting;
    uint32_t hold;
    struct gw__place_of_work work; /* current or last item */
    /* As of the last grant. */
    uint64_t closed, staleness;
};

struct barrier {
    uint64_t number;
    struct gw_nodes nodes; /* that have arrived */
    bool used, open;
};

struct gw__clock {
    struct gw_ps_mode mode;
    bool planned, started;
    struct gw_ps_plan plan;

    unsigned worker_count; /* sorted by node */
    struct worker workers[GW_PS_NODES];
    unsigned alive_count; /* of the last WORKERS */
    struct gw__alive alive[GW_PS_NODES];

    /* bsp, kofn: the open round. ssp, asp: the next part to assign. */
    struct gw__place_of_work next;
    bool open;           /* `parts` belong to an open round */
    uint32_t part_count; /* of the batch `next`; 0: no part is assigned yet */
    struct part parts[GW_PS_NODES];
    /* Items of dead workers to assign again, each closes alone. */
    unsigned returned_count;
    struct gw__place_of_work returned[RETURNED_MAX];

    struct barrier barriers[BARRIERS_KEPT];
    unsigned barrier_next;

    struct reported epoch; /* items closed since the epoch began */
    bool until;            /* the plan's stop rule holds: assign no more */

    uint64_t parts_begun; /* parts of all batches begun */
    uint64_t items, skipped, dropped, redone;
    uint64_t parts_dropped; /* of the skipped ones: their worker died */
    uint64_t staleness[GW_PS_STALENESS_MAX + 1];

    uint64_t closed; /* newest round commit */
    uint64_t pruned; /* round commits through this one are forgotten */
    /* Round commits pruned + 1 to closed, by number % ROUND_COMMITS_KEPT. Other
     * entries, and their items that do not exist, are not initialised: the
     * array has 8 MB. */
    struct gw__round_commit round_commits[ROUND_COMMITS_KEPT];
};

static inline bool gw__clock_by_rounds(const struct gw__clock *clock)
{
    return clock->mode.kind == GW_PS_BSP || clock->mode.kind == GW_PS_KOFN;
}

static inline struct gw__work_item gw__work_item_of(const struct worker *worker)
{
    return (struct gw__work_item){worker->who.node, worker->who.incarnation,
                                  worker->finished};
}

/* ---- clock.c ---- */

/* Clears the state, without touching the array of round commits. */
void gw__clock_clear(struct gw__clock *clock);

/* ---- clock_assign.c ---- */

/* Assigns items to waiting workers as far as the mode allows. True: at least
 * one was assigned. */
bool gw__clock_assign(struct gw__clock *clock);
/* The worker at this position has died. Its item becomes free again or, if the
 * mode drops, its share of the open round is dropped. */
void gw__clock_return(struct gw__clock *clock, unsigned place);
/* True if all items of the plan were assigned, done and closed. */
bool gw__clock_is_done(const struct gw__clock *clock);
uint64_t gw__clock_slowest(const struct gw__clock *clock);
/* The clock of one worker. */
static inline uint64_t gw__clock_of(const struct worker *worker)
{
    return worker->base + worker->finished;
}
/* Raises the worker's clock to `at`. */
static inline void gw__clock_raise(struct worker *worker, uint64_t at)
{
    if (gw__clock_of(worker) < at)
        worker->base = at - worker->finished;
}
/* All parts of the batch `next` are assigned or closed. */
void gw__clock_next_batch(struct gw__clock *clock);
/* Is there room for the round commits of all current items? */
bool gw__clock_has_room(const struct gw__clock *clock);

/* ---- clock_bytes.c ---- */

void gw__put_mode(struct gw__writer *writer, const struct gw_ps_mode *mode);
void gw__get_mode(struct gw__reader *reader, struct gw_ps_mode *mode);
void gw__put_plan(struct gw__writer *writer, const struct gw_ps_plan *plan);
void gw__get_plan(struct gw__reader *reader, struct gw_ps_plan *plan);

/* ---- clock_query.c ---- */

/* Of the current or next batch; at least 1. */
uint32_t gw__clock_parts_now(const struct gw__clock *clock);

/* ---- clock_close.c ---- */

/* The worker has finished its current item. */
void gw__clock_finish(struct gw__clock *clock, struct worker *worker,
                      struct reported reported);
/* Drops all pushes of the worker's current item. */
void gw__clock_drop(struct gw__clock *clock, const struct worker *worker);
/* Closes the open round if it is complete. True: it did. */
bool gw__clock_close_round(struct gw__clock *clock);
/* Ends the open round: its done parts close one by one, its leased parts become
 * loose. */
void gw__clock_break_round(struct gw__clock *clock);
void gw__clock_mark(struct gw__clock *clock, uint64_t mark);

#endif
