/* SPDX-License-Identifier: MIT
 *
 * The clock of a group: who works on what, what is closed, who may go on. A
 * deterministic state machine; its commands are entries in the log of one slot
 * (gw__clock_slot), so it is replicated, fails over and is saved with that
 * slot, and there is one decision about each unit for all servers.
 *
 *   NEXT     a worker has finished the unit it had (all pushes of it are
 *            acknowledged) and wants another; numbered by its clock, so a
 *            repetition does nothing
 *   WORKERS  who is alive (the registry's view): units of the others return to
 *            the pool, and what they pushed of them is dropped
 *   PLAN, MODE, BARRIER   see gradwire/ps.h
 *   MARK     a marker among the closings: every slot saves itself when it
 *            applies it, which makes a consistent cut
 *   PRUNE    closings that all slots have applied are forgotten
 *
 * What comes out are closings, numbered from 1: an ordered list of units to
 * apply and of units to drop. Every slot applies the closings in order, so all
 * slots agree on what has happened, in which order, and, with closing k, on
 * what a pull that was granted k sees.
 *
 * A mode with `drop` does not give back what a worker that died had: its share
 * of the open round (the part that it held and those that it would have got) is
 * skipped, and the sum of what came is multiplied by parts / parts that came.
 * The model learns from less data for a while, and no worker does anything
 * twice. A part that was done when its worker died has come.
 *
 *     unit:   free --granted--> leased --NEXT--> done --round closes--> closed
 *               ^                  |                       (ssp, asp: at once)
 *               +--- its worker dies
 *
 * A round of bsp and kofn is one batch; its parts are dealt to the live workers
 * (part j to the one at place j mod n), and are applied in the order of parts.
 * Without a plan a round has one part for each worker that has asked. In ssp
 * and asp the parts of an epoch are dealt as they are asked for; the units of
 * the dead go first. An epoch of bsp and kofn ends with its last round; in ssp
 * and asp the next one may begin while the last units of one are out.
 *
 * How many parts a batch has is fixed when its first one is dealt: as many as
 * the plan says or, if it says 0, as there are workers then. So a worker that
 * joins has work from the next batch on.
 *
 * The clock of a worker is the number of units it has finished; one that joins
 * begins with the smallest clock of the others. A worker for which a round had
 * no part is raised to the slowest of those that worked, and all clocks are
 * equal when ssp begins: a bound holds for what comes after, and nobody waits
 * for a worker that had nothing to do.
 *
 * A plan may end before its last epoch: NEXT says what the unit's loss was, and
 * an epoch whose mean over all units closed while it was dealt is below `until`
 * is the last one. The rounds of bsp make that the mean of the epoch, with the
 * same bits each time.
 *
 * Every part that was dealt out of a batch ends once: applied (`units`), or
 * `skipped` (kofn: its round closed without it; drop: its worker died).
 */
#ifndef GW__PS_CLOCK_H
#define GW__PS_CLOCK_H

#include <base/bytes.h>
#include <gradwire/ps.h>

/* Which pushes: of this process, in the unit that it began with that clock. */
#define GW__NO_CLOCK UINT64_MAX /* of no unit: applied at once */

struct gw__unit {
    unsigned node;
    uint64_t incarnation; /* the low half */
    uint64_t clock;
};

struct gw__round_commit {
    uint64_t number;
    uint64_t mark;  /* not 0: a marker, of this id */
    float scale;    /* kofn: parts / parts that came; else 1 */
    unsigned apply; /* units to apply, as one update (sum in this order), */
    unsigned drop;  /* and units to forget, behind them in `units` */
    struct gw__unit units[GW_PS_NODES];
};
enum { GW__ROUND_COMMIT_BYTES_MAX = 32 + GW_PS_NODES * 20 };
void gw__put_round_commit(struct gw__writer *writer,
                          const struct gw__round_commit *);
void gw__get_round_commit(struct gw__reader *reader,
                          struct gw__round_commit *closing);

enum gw__clock_kind {
    GW__CLOCK_NEXT = 1,
    GW__CLOCK_WORKERS,
    GW__CLOCK_PLAN,
    GW__CLOCK_MODE,
    GW__CLOCK_BARRIER,
    GW__CLOCK_MARK,
    GW__CLOCK_PRUNE,
    GW__CLOCK_KINDS
};

struct gw__alive {
    unsigned node;
    uint64_t incarnation;
};

struct gw__clock_command {
    enum gw__clock_kind kind;
    struct gw__alive who;   /* NEXT, BARRIER */
    uint64_t number;        /* NEXT: units finished; BARRIER, MARK: its number;
                               PRUNE: through this closing */
    double sum, weight;     /* NEXT: of the finished unit; see gw_ps_report */
    unsigned count;         /* BARRIER: how many; WORKERS: of `alive` */
    struct gw_ps_mode mode; /* PLAN, MODE */
    struct gw_ps_plan plan; /* PLAN */
    struct gw__alive alive[GW_PS_NODES]; /* WORKERS */
};
enum { GW__CLOCK_COMMAND_MAX = 64 + GW_PS_NODES * 9 };
size_t gw__clock_encode(const struct gw__clock_command *command, void *out,
                        size_t room);
GW_MUST_CHECK enum gw_err gw__clock_decode(const void *data, size_t bytes,
                                           struct gw__clock_command *command,
                                           struct gw_error *why);

/* In the log of which slot a group's clock is. */
static inline unsigned gw__clock_slot(unsigned group, unsigned slot_count)
{
    return group % slot_count;
}

struct gw__clock;

GW_MUST_CHECK enum gw_err gw__clock_new(struct gw__clock **clock,
                                        struct gw_error *why);
void gw__clock_destroy(struct gw__clock **clock);
/* GW_OK; GW_EINVAL, GW_EMISMATCH with a sentence: refused, on all replicas
 * alike (a plan that is another, a mode without sense). */
enum gw_err gw__clock_apply(struct gw__clock *clock,
                            const struct gw__clock_command *command,
                            struct gw_error *why);
/* Would MODE be refused? GW_EINVAL. */
GW_MUST_CHECK enum gw_err gw__clock_check_mode(const struct gw__clock *clock,
                                               const struct gw_ps_mode *mode,
                                               struct gw_error *why);
/* The newest closing's number; 0: none yet. */
uint64_t gw__clock_closed(const struct gw__clock *clock);
/* NULL: not yet, or forgotten. */
const struct gw__round_commit *
gw__clock_round_commit(const struct gw__clock *clock, uint64_t number);
/* What NEXT `number` of this worker has got: GW_OK with *work (waited_ns 0);
 * GW_PENDING: the mode lets it wait, or too many closings are kept (PRUNE);
 * GW_EINVAL: it never asked so. */
enum gw_err gw__clock_granted(const struct gw__clock *clock,
                              struct gw__alive who, uint64_t number,
                              struct gw_ps_work *work);
/* Whom it waits for, as a sentence, for a NEXT that is pending. */
void gw__clock_waits_for(const struct gw__clock *clock, char *out, size_t room);
/* Are these the workers that WORKERS said last? */
bool gw__clock_knows(const struct gw__clock *clock,
                     const struct gw__alive *alive, unsigned count);
/* Is this one of them? */
bool gw__clock_has(const struct gw__clock *clock, struct gw__alive who);
/* GW_OK: all have come to barrier `number`; else GW_PENDING. */
enum gw_err gw__clock_barrier(const struct gw__clock *clock, uint64_t number);
void gw__clock_status(const struct gw__clock *clock,
                      struct gw_ps_clock_status *status);

/* The whole state as bytes, to copy and to save. */
size_t gw__clock_save(const struct gw__clock *clock, void *out, size_t room);
/* Into a new one. `fresh`: the processes of that time are gone (a restore):
 * nobody holds a unit, what was leased or done but not closed is free. */
GW_MUST_CHECK enum gw_err gw__clock_load(struct gw__clock *clock,
                                         const void *data, size_t bytes,
                                         bool fresh, struct gw_error *why);

#endif
