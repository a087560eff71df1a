/* SPDX-License-Identifier: MIT
 *
 * Between the parts of the clock:
 *   clock.c        a command: who it is from, what it changes
 *   clock_deal.c   who gets which unit
 *   clock_close.c  what is closed, and when
 *   clock_bytes.c  commands and closings as bytes
 *   clock_save.c   the state as bytes
 *   clock_look.c   what others want to know
 */
#ifndef GW__PS_CLOCK_PARTS_H
#define GW__PS_CLOCK_PARTS_H

#include "clock.h"

enum {
    CLOSINGS_KEPT = 1024,
    CLOSINGS_SPARE = 2 * GW_PS_NODES, /* no grants when fewer are free */
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
    PART_GONE,   /* not of this round (any more) */
    PART_DROPPED /* its worker has died, and the mode drops its share */
};

/* Of losses, as workers report them. */
struct reported {
    double sum, weight;
};

/* One part of the open round. */
struct part {
    uint32_t state;
    struct gw__unit unit;     /* LEASED, DONE: whose */
    struct reported reported; /* DONE */
};

/* LOOSE: closes alone, when it is done. LATE: its round closed without it. */
enum hold { HOLDS_NONE, HOLDS_PART, HOLDS_LOOSE, HOLDS_LATE };

struct worker {
    struct gw__alive who;
    uint64_t base;     /* its clock when it came */
    uint64_t finished; /* units since; clock = base + finished */
    bool asks;
    uint32_t hold;
    struct gw__place_of_work work; /* that it holds, or held last */
    /* What it got with its last grant. */
    uint64_t closed, staleness;
};

struct barrier {
    uint64_t number;
    uint64_t nodes; /* that have come */
    bool used, open;
};

struct gw__clock {
    struct gw_ps_mode mode;
    bool planned, started;
    struct gw_ps_plan plan;

    unsigned worker_count; /* by node */
    struct worker workers[GW_PS_NODES];
    unsigned alive_count; /* as WORKERS said last */
    struct gw__alive alive[GW_PS_NODES];

    /* bsp, kofn: the open round. ssp, asp: what is dealt next. */
    struct gw__place_of_work next;
    bool open;           /* `parts` are those of a round */
    uint32_t part_count; /* of the batch `next`; 0: none of it is dealt yet */
    struct part parts[GW_PS_NODES];
    /* Units of the dead that are dealt again, each alone. */
    unsigned returned_count;
    struct gw__place_of_work returned[RETURNED_MAX];

    struct barrier barriers[BARRIERS_KEPT];
    unsigned barrier_next;

    struct reported epoch; /* of the units closed since it began */
    bool until;            /* the plan's stop rule holds: deal no more */

    uint64_t dealt; /* parts of all batches that were begun */
    uint64_t units, skipped, dropped, redone;
    uint64_t parts_dropped; /* of the skipped: their worker had died */
    uint64_t staleness[GW_PS_STALENESS_MAX + 1];

    uint64_t closed; /* the newest closing */
    uint64_t pruned; /* closings up to this one are forgotten */
    /* Those between, by number % CLOSINGS_KEPT; the others are not written:
     * this is 1.6 MB. */
    struct gw__round_commit closings[CLOSINGS_KEPT];
};

static inline bool gw__clock_by_rounds(const struct gw__clock *clock)
{
    return clock->mode.kind == GW_PS_BSP || clock->mode.kind == GW_PS_KOFN;
}

static inline struct gw__unit gw__unit_of(const struct worker *worker)
{
    return (struct gw__unit){worker->who.node, worker->who.incarnation,
                             worker->finished};
}

/* ---- clock.c ---- */

/* Zero, and no closings. */
void gw__clock_clear(struct gw__clock *clock);

/* NULL: it never asked, or is gone. */
struct worker *gw__clock_worker(struct gw__clock *clock, struct gw__alive who);

/* ---- clock_deal.c ---- */

/* Deals to those who ask, as far as the mode allows. True: somebody got a
 * unit. */
bool gw__clock_deal(struct gw__clock *clock);
/* The worker at this place is gone: its unit is free again or, if the mode
 * drops, its share of the open round is left out. */
void gw__clock_return(struct gw__clock *clock, unsigned place);
/* All that the plan has was dealt, done and closed. */
bool gw__clock_is_done(const struct gw__clock *clock);
uint64_t gw__clock_slowest(const struct gw__clock *clock);
/* Of one worker. */
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
/* All parts of the batch `next` are dealt or closed. */
void gw__clock_next_batch(struct gw__clock *clock);
/* Is there room for what the units under way may close? */
bool gw__clock_has_room(const struct gw__clock *clock);

/* ---- clock_bytes.c ---- */

void gw__put_mode(struct gw__writer *writer, const struct gw_ps_mode *mode);
void gw__get_mode(struct gw__reader *reader, struct gw_ps_mode *mode);
void gw__put_plan(struct gw__writer *writer, const struct gw_ps_plan *plan);
void gw__get_plan(struct gw__reader *reader, struct gw_ps_plan *plan);

/* ---- clock_look.c ---- */

/* Of the batch that is dealt, or will be next; at least 1. */
uint32_t gw__clock_parts_now(const struct gw__clock *clock);

/* ---- clock_close.c ---- */

/* The worker has finished the unit that it holds. */
void gw__clock_finish(struct gw__clock *clock, struct worker *worker,
                      struct reported reported);
/* What it pushed of the unit that it holds never happened. */
void gw__clock_drop(struct gw__clock *clock, const struct worker *worker);
/* Closes the open round if it is complete. True: it did. */
bool gw__clock_close_round(struct gw__clock *clock);
/* The open round ends as it is: its done parts close one by one, those that
 * are leased become loose. */
void gw__clock_break_round(struct gw__clock *clock);
void gw__clock_mark(struct gw__clock *clock, uint64_t mark);

#endif
